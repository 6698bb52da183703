"""The playbooks of a workspace, as far as they can be read."""

from msgspec import Struct

from campaign.errors import CampaignError
from campaign.operations.plan import Request, load
from campaign.workspace import Workspace
from playbooks.language.problems import LoadError
from playbooks.playbook import Playbook


class Offered(Struct, frozen=True):
    """A playbook by its name; None, and why, where its file is not valid."""

    name: str
    playbook: Playbook | None
    problem: str = ""


def offered(workspace: Workspace) -> tuple[Offered, ...]:
    """All playbooks, by name. Errors: LoadError, where campaign.yaml is not valid."""
    workspace.load_system()
    return tuple(_offered(workspace, name) for name in workspace.playbook_names())


def _offered(workspace: Workspace, name: str) -> Offered:
    try:
        _, (playbook,) = load(workspace, Request((name,), {}))
    except (LoadError, CampaignError) as error:
        return Offered(name, None, str(error))
    return Offered(name, playbook)
