"""A secret's value is nowhere to be seen, and nowhere to be found."""

import os
from pathlib import Path

from toy import Toy

SECRET = 'hunter2-"quoted"\\and\\back'
LEAKY = """\
name: leaky
kind: probe
question: Who says it?
vars: {trials: 3, note: none}
steps:
  - env: {services: [app], set: {TOKEN: "{{ note }}"}}
  - restart: {services: [app]}
  - name: say it
    command: {do: [sh, -c, 'printf %s "$API_KEY"; printf %s "$API_KEY" >&2'], undo: ["true"]}
  - reproduce: {use: trials}
"""


def test_a_secret_shows_up_nowhere(toy: Toy) -> None:
    config = toy.root / "campaign.yaml"
    text = config.read_text("utf-8") + "secrets: {API_KEY: {env: API_KEY}}\n"
    config.write_text(text.replace("-S, repro.py", "-S, leak.py"), encoding="utf-8")
    repro = (toy.root / "repro.py").read_text("utf-8")
    (toy.root / "leak.py").write_text(
        "import os\nprint(os.environ['API_KEY'], flush=True)\n" + repro, encoding="utf-8"
    )
    toy.playbook("leaky", LEAKY)
    toy.env["API_KEY"] = SECRET
    words = ("leaky", "-e", f"note={SECRET}")
    planned = [toy.run("plan", *words), toy.run("plan", *words, "--json")]
    ran = toy.run("run", *words, "-y", "--json")
    assert ran.returncode == 0, ran.stderr
    shown = [
        toy.run(*command)
        for command in (
            ("report",),
            ("runs", "show", "leaky"),
            ("runs", "show", "leaky", "--json"),
            ("runs", "log", "leaky"),
            ("status",),
        )
    ]
    for told in (*planned, ran, *shown):
        assert told.returncode == 0, told.stderr
        for form in forms():
            assert form not in told.stdout + told.stderr, told.args
    assert "[redacted]" in planned[0].stdout
    assert shown[3].stdout.startswith("[redacted]\n")
    kept = [
        path for path in files(toy) if any(form.encode() in path.read_bytes() for form in forms())
    ]
    assert kept == []


def forms() -> tuple[str, str]:
    """The secret as it is and as JSON writes it; its first word alone would do, too."""
    return "hunter2", SECRET


def files(toy: Toy) -> list[Path]:
    """The ledger with its log, and all artifacts."""
    artifacts = (toy.root / ".campaign" / "artifacts").rglob("*")
    return [*toy.root.glob("campaign.db*"), *(path for path in artifacts if path.is_file())]


def test_a_secret_of_bytes_that_are_no_text(toy: Toy) -> None:
    with (toy.root / "campaign.yaml").open("a", encoding="utf-8") as file:
        file.write("secrets: {API_KEY: {env: API_KEY}}\n")
    toy.playbook("leaky", LEAKY)
    secret = os.fsdecode(b"\xff\xfe of bytes")
    ran = toy.run("run", "leaky", "-y", API_KEY=secret)
    assert ran.returncode == 0, ran.stderr
    assert not any(b"\xff\xfe of" in path.read_bytes() for path in files(toy))


def test_a_secret_that_is_not_set_is_told_by_its_name(toy: Toy) -> None:
    config = toy.root / "campaign.yaml"
    text = config.read_text("utf-8") + "secrets: {API_KEY: {env: NO_SUCH_VARIABLE}}\n"
    config.write_text(text, encoding="utf-8")
    checked = toy.run("check")
    assert checked.returncode == 2
    assert "NO_SUCH_VARIABLE" in checked.stderr
    assert toy.run("status").returncode == 6  # the ledger alone is asked, and there is none
    for words in (("services", "start"), ("services", "list"), ("recover",)):
        assert toy.run(*words).returncode == 0  # they give none to anyone
