"""Changes that do not fit, that leave their root, or that somebody else makes meanwhile."""

import re
import subprocess
from pathlib import Path

import pytest
from engine_stage import Stage

PATCH = """
name: sly
kind: fix
question: Does it get out?
steps:
  - patch: {{root: src, {change}}}
  - restart: {{services: [app]}}
  - reproduce: {{use: trials, vars: {{trials: 1}}}}
"""

DIFF = "--- {old}\n+++ {new}\n@@ -1 +1 @@\n-MODE=plain\n+MODE=safe\n"

MEDDLE = """
with open("src/rule.py", "a") as file:
    file.write("# mine\\n")
"""


def test_a_patch_that_does_not_apply_changes_nothing(stage: Stage) -> None:
    pid = stage.toy.ask("/health")
    stage.edit("patches/fix.diff", "-BUG = True", "-BUG = Maybe")
    ended = stage.run("run", "fix", "-y")
    assert ended.code == 2, ended.err
    assert "rule.py" in ended.err
    assert stage.toy.ask("/health") == pid
    assert stage.rows("SELECT id FROM run") == []
    stage.check_untouched()


@pytest.mark.parametrize(
    "change",
    [
        "upload: {file: repro.py, to: ../env/app.env}",
        "upload: {file: repro.py, to: /etc/app.env}",
        "upload: {file: repro.py, to: link/app.env}",
        "replace: {path: ../env/app.env, old: plain, new: safe}",
        "replace: {path: link/app.env, old: plain, new: safe}",
    ],
)
def test_a_path_that_leaves_its_root_is_refused(stage: Stage, change: str) -> None:
    (stage.root / "src" / "link").symlink_to(stage.root / "env")
    stage.toy.playbook("sly", PATCH.format(change=change))
    refused(stage)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a/../env/app.env", "b/../env/app.env"),
        ("/etc/hostname", "/etc/hostname"),
        ("a/link/app.env", "b/link/app.env"),
    ],
)
def test_a_diff_that_leaves_its_root_is_refused(stage: Stage, old: str, new: str) -> None:
    (stage.root / "src" / "link").symlink_to(stage.root / "env")
    diff = stage.root / "patches" / "sly.diff"
    diff.write_text(DIFF.format(old=old, new=new), encoding="utf-8")
    stage.toy.playbook("sly", PATCH.format(change="diff: patches/sly.diff"))
    refused(stage)


def refused(stage: Stage) -> None:
    pid = stage.toy.ask("/health")
    ended = stage.run("run", "sly", "-y")
    assert ended.code == 2, ended.err
    assert "Traceback" not in ended.err
    assert stage.toy.ask("/health") == pid
    (stage.root / "src" / "link").unlink()
    stage.check_untouched()


def meddled(stage: Stage) -> str:
    """A run in which somebody else changes a file of ours; what it says to do."""
    with (stage.root / "repro.py").open("a", encoding="utf-8") as file:
        file.write(MEDDLE)
    stage.run("run", "baseline", "-y", "-e", "trials=5")
    rule = stage.root / "src" / "rule.py"
    rule.write_text(rule.read_text(encoding="utf-8").replace("# mine\n", ""), encoding="utf-8")
    stage.up_again()
    ended = stage.run("run", "fix", "-y")
    assert ended.code == 5, ended.err
    assert rule.read_text(encoding="utf-8").endswith("BUG = False\n# mine\n"), "not clobbered"
    assert "DIRTY" in ended.err
    assert "changed during the measures" in ended.err
    assert stage.newest()["state"] == "dirty"
    assert stage.run("run", "fix", "-y").code == 6, "it is to be put back first"
    return ended.err


def test_what_somebody_else_changed_is_not_clobbered(stage: Stage) -> None:
    told = meddled(stage)
    copy = re.search(r"To bring the original back: (cp \S+ \S+), then campaign recover", told)
    assert copy, told
    assert stage.run("recover").code == 5, "nothing was done about it yet"
    subprocess.run(copy[1], shell=True, check=True)
    recovered = stage.run("recover")
    assert recovered.code == 0, recovered.out
    stage.check_untouched()
    stage.check_recovered()


def test_what_somebody_else_changed_may_stay(stage: Stage) -> None:
    told = meddled(stage)
    accept = re.search(r"campaign (recover --accept \S+)", told)
    assert accept, told
    ended = stage.run(*accept[1].split())
    assert ended.code == 0, ended.err
    rule = Path(stage.root / "src" / "rule.py").read_text(encoding="utf-8")
    assert rule.endswith("BUG = False\n# mine\n")
    assert "bug False" in stage.toy.ask("/health")
    assert stage.toy.journal() == []
    stage.check_recovered()
