"""The manual: its generated pages are fresh, its commands are taken, its links lead somewhere."""

import re
import shlex
import subprocess
from pathlib import Path

import click
import pytest

from campaign.cli import commands_doc
from campaign.cli.main import cli
from playbooks.language import reference_doc

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
GENERATED = {
    "commands.md": (commands_doc, "campaign.cli.commands_doc"),
    "files.md": (reference_doc, "playbooks.language.reference_doc"),
}


def typed(page: Path) -> list[str]:
    """The commands of a page, as far as they are this program's."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```(?:console|sh)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    lines = [line.removeprefix("$ ") for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.startswith("campaign ")]


@pytest.mark.parametrize("name", GENERATED)
def test_a_generated_page_is_fresh(name: str) -> None:
    module, spelled = GENERATED[name]
    command = f"python -m {spelled} > docs/{name}"
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert page == module.document(), f"out of date: run `{command}`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_of_the_manual_is_taken(page: Path) -> None:
    for line in typed(page):
        words = shlex.split(line, comments=True)[1:]
        context = cli.make_context("campaign", words[:2] if words[0] == "-w" else [], None,
                                   resilient_parsing=True)  # fmt: skip
        rest = words[2:] if words[0] == "-w" else words
        command: click.Command = cli
        while isinstance(command, click.Group):
            found = command.get_command(context, rest[0])
            assert found is not None, line
            command, rest = found, rest[1:]
        try:
            command.make_context(command.name, list(rest), parent=context)
        except click.UsageError as error:
            pytest.fail(f"{line}: {error.format_message()}")


def test_scripts_of_the_manual_are_shell() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for script in re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            subprocess.run(["sh", "-n"], input=script, text=True, check=True)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if not target.startswith("http"):
            name, _, anchor = target.partition("#")
            file = page.parent / name if name else page
            assert file.exists(), target
            assert not anchor or anchor in anchors(file), target


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", one.lower()).replace(" ", "-") for one in headings}


def test_what_the_page_on_safety_names_exists() -> None:
    text = (ROOT / "docs" / "safety.md").read_text(encoding="utf-8")
    for name in re.findall(r"`((?:tests|benchmarks)/[\w./]+)`", text):
        assert (ROOT / name).exists(), name
