"""What was typed to choose a run, kept while the app lives."""

from msgspec import Struct, field


class Typed(Struct):
    """The playbook that was planned last, and the variables typed for each playbook."""

    playbook: str = ""
    variables: dict[str, dict[str, str]] = field(default_factory=dict)
