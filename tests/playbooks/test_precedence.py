"""Who wins where a variable is set twice, for services that are no units too."""

from collections.abc import Mapping

import pytest

from playbooks.services import precedence
from playbooks.system import CommandSpec, EnvMethod, Manager, ProcessSpec, Service

FILES = {
    "/srv/serve.sh": b"#!/bin/sh\nexport A=script\nexec serve\n",
    "/srv/serve.env": b"A=file\nB=file\n",
    "/srv/serve.py": b"print()\n",
}
ENV = EnvMethod("env_file", "/srv/serve.env")


def layers(
    manager: Manager, env: EnvMethod | None = ENV, files: Mapping[str, bytes] = FILES
) -> tuple[precedence.Layer, ...]:
    return precedence.layers(Service("svc", "here", manager, env), None, files.get)


@pytest.mark.parametrize(
    "command",
    [
        ("/srv/serve.sh",),
        ("./serve.sh", "--tp", "4"),
        ("bash", "serve.sh"),
        ("/bin/sh", "-c", "exec ./serve.sh --port 1"),
    ],
)
def test_a_serve_script_beats_an_env_file(command: tuple[str, ...]) -> None:
    found = layers(ProcessSpec(command, "/srv"))
    assert precedence.origin(found, "A").value == "script"
    assert precedence.origin(found, "B").value == "file"
    assert precedence.loses(ENV, found, "A", "file") == (
        "A is set in /srv/serve.sh, which beats /srv/serve.env: "
        "use env: {via: script, path: /srv/serve.sh}"
    )
    assert precedence.loses(ENV, found, "B", "file") == ""


def test_what_is_no_shell_script_decides_nothing() -> None:
    found = layers(ProcessSpec(("/usr/bin/python3", "serve.py"), "/srv"))
    assert [one.path for one in found] == ["/srv/serve.env"]


def test_the_script_of_a_start_command_counts() -> None:
    spec = CommandSpec(("./serve.sh",), ("stop",), ("status",), "/srv")
    assert precedence.origin(layers(spec), "A").value == "script"


def test_a_script_method_wins() -> None:
    script = EnvMethod("script", "/srv/serve.sh")
    found = layers(ProcessSpec(("/srv/serve.sh",), "/srv"), script)
    assert precedence.loses(script, found, "A", "script") == ""
    assert precedence.origin(found, "B") == precedence.Origin(None, None)
