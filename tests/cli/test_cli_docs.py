"""Every example of the README and the manual is one that the program takes."""

import re
import shlex
from pathlib import Path

import pytest

from campaign.cli.main import run
from playbooks.language.load import load_playbook, load_system
from playbooks.system import System

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
FENCED = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples(first: str) -> list[object]:
    """The fenced YAML whose first key is `first`, named by page and line."""
    found = []
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in FENCED.finditer(text):
            if match[1].startswith(f"{first}:"):
                line = text.count("\n", 0, match.start()) + 1
                found.append(pytest.param(match[1], id=f"{page.name}:{line}"))
    return found


def loaded(text: str, folder: Path) -> System:
    path = folder / "campaign.yaml"
    path.write_text(text, encoding="utf-8")
    return load_system(path, {"API_KEY": "correct horse battery"})


@pytest.mark.parametrize("text", examples("campaign"))
def test_a_system_of_the_manual_is_taken(text: str, tmp_path: Path) -> None:
    assert loaded(_whole(text), tmp_path).services


@pytest.mark.parametrize("text", examples("hosts"))
def test_hosts_of_the_manual_are_taken(text: str, tmp_path: Path) -> None:
    app = "services:\n  app: {host: here, process: {command: x}}\n"
    whole = f"campaign: c\nsymptom: s\n{text}{app}"
    assert len(loaded(whole, tmp_path).hosts) == 3


@pytest.mark.parametrize("text", examples("parse"))
def test_a_parser_of_the_manual_is_taken(text: str, tmp_path: Path) -> None:
    lines = "".join(f"    {line}\n" for line in text.splitlines())
    whole = (
        "campaign: c\nsymptom: s\nhosts: {here: {local: true}}\n"
        "services: {app: {process: {command: x}}}\n"
        f"reproducers:\n  it:\n    command: x\n    timeout: 1m\n    on_timeout: fail\n{lines}"
    )
    assert loaded(whole, tmp_path).reproducers["it"].parse.format != "exit"


@pytest.mark.parametrize("text", examples("reproducers"))
def test_a_reproducer_of_the_manual_is_taken(text: str, tmp_path: Path) -> None:
    (tmp_path / "prompts.jsonl").write_text('"Hello."\n', encoding="utf-8")
    whole = (
        "campaign: c\nsymptom: s\nhosts: {here: {local: true}}\n"
        "services: {app: {process: {command: x}}}\nsecrets: {API_KEY: {env: API_KEY}}\n"
    )
    assert loaded(whole + text, tmp_path).reproducers


def test_what_the_page_on_parsers_shows_is_what_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs" / "parsers.md").read_text(encoding="utf-8")
    log = re.search(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    shown = re.search(r"^```console\n\$ (.*?)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert log
    assert shown
    monkeypatch.chdir(tmp_path)
    Path("past.log").write_text(log[1], encoding="utf-8")
    assert run(shlex.split(shown[1])[1:]) == 0
    assert capsys.readouterr().out == shown[2]


@pytest.mark.parametrize("text", examples("name"))
def test_a_playbook_of_the_manual_is_taken(text: str, tmp_path: Path) -> None:
    (system_text,) = [one.values[0] for one in examples("campaign") if "README" in str(one.id)]
    system = loaded(_whole(system_text), tmp_path)
    for name in re.findall(r"patches/[\w.-]+", text):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("", encoding="utf-8")
    path = tmp_path / "playbook.yaml"
    path.write_text(text, encoding="utf-8")
    assert load_playbook(path, system, hypotheses=None).steps


@pytest.mark.parametrize("text", examples("compare"))
def test_a_comparison_of_the_manual_is_taken(text: str, tmp_path: Path) -> None:
    (system_text,) = [one.values[0] for one in examples("campaign") if "README" in str(one.id)]
    lines = "".join(f"    {line}\n" for line in text.splitlines())
    path = tmp_path / "playbook.yaml"
    path.write_text(f"name: n\nkind: probe\nsteps:\n  -\n{lines}", encoding="utf-8")
    assert load_playbook(path, loaded(_whole(system_text), tmp_path), hypotheses=None).steps


def _whole(text: str) -> str:
    """The README shows one of two services that restart together: here is the other."""
    if "restart_groups: [[prefill, decode]]" not in text or "  prefill:" in text:
        return text
    other = (
        "services:\n  prefill:\n    process: {command: x}\n"
        "    env: {via: env_file, path: /opt/engine/prefill.env}\n"
    )
    return text.replace("services:\n", other, 1)
