"""run --junit-xml and --expect: what a nightly job is built from."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from toy import Toy

BREAKS = """\
name: breaks
kind: probe
question: Does a broken step end the run?
steps:
  - restart: {services: [app]}
  - command: {do: [sh, -c, "echo '<&>' >&2; exit 3"], undo: ["true"]}
"""


@pytest.fixture
def ready(toy: Toy) -> Toy:
    assert toy.run("hypothesis", "import", str(toy.root / "hypotheses.yaml")).returncode == 0
    return toy


def cases(file: Path) -> dict[str, ET.Element]:
    suite = ET.parse(file).getroot().find("testsuite")
    assert suite is not None
    assert suite.get("name") == "toy"
    found = list(suite.iter("testcase"))
    assert suite.get("tests") == str(len(found))
    return {one.get("name", ""): one for one in found}


def test_a_nightly_job_tells_each_run_and_what_was_not_as_expected(
    ready: Toy, tmp_path: Path
) -> None:
    file = tmp_path / "night.xml"
    words = ("run", "baseline", "fix", "-y", "--expect", "supported", "--junit-xml", str(file))
    done = ready.run(*words)
    assert done.returncode == 1, done.stderr
    found = cases(file)
    assert list(found) == ["baseline", "fix"]
    assert found["baseline"].find("failure") is None
    (failure,) = found["fix"].findall("failure")
    assert failure.get("message") == "inconclusive, leading, expected supported"
    said = found["fix"].findtext("system-out") or ""
    assert "verdict: inconclusive, leading\n" in said
    assert "\nstill needed: " in said
    assert float(found["fix"].get("time", "0")) > 0


def test_a_run_that_breaks_is_an_error_of_its_own(ready: Toy, tmp_path: Path) -> None:
    ready.playbook("breaks", BREAKS)
    file = tmp_path / "night.xml"
    done = ready.run("run", "breaks", "-y", "--junit-xml", str(file))
    assert done.returncode == 3, done.stderr
    found = cases(file)
    (error,) = found["breaks"].findall("error")
    assert (error.get("message") or "").startswith("failed: ")
    assert found["the invocation"].findall("error")


def test_a_file_that_cannot_be_written_is_told_before_anything_runs(
    ready: Toy, tmp_path: Path
) -> None:
    for file, why in (
        (tmp_path, "it is a folder; name a file"),
        (tmp_path / "no" / "x.xml", f"there is no folder {tmp_path / 'no'}; make it first"),
    ):
        done = ready.run("run", "fix", "-y", "--junit-xml", str(file))
        assert done.returncode == 2
        assert done.stderr == f"campaign: cannot write {file}: {why}\n"
