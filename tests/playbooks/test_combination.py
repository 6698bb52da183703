"""Several playbooks as one restart, and those that do not go together."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from hypotheses.verdict import Expect
from playbooks.combination import combine, removes, share_a_file, unfit
from playbooks.plan import PlanError
from playbooks.playbook import (
    Diff,
    Env,
    Kind,
    Patch,
    Playbook,
    RateRule,
    Replace,
    Reproduce,
    Restart,
    Step,
    Upload,
    Wait,
)

DRIVE = Step("drive", Reproduce("trials"))


def toggle(name: str, *changes: Patch | Env, services: tuple[str, ...] = ("app",)) -> Playbook:
    steps = [Step(f"{name} {at}", change) for at, change in enumerate(changes)]
    return Playbook(
        name,
        Kind.FIX,
        Path(f"{name}.yaml"),
        (*steps, Step("restart", Restart(services)), DRIVE),
        hypotheses=(name,),
        vars={"trials": "40"},
        verdict=RateRule(Expect.DROP),
        text=f"name: {name}",
    )


def switched(slug: str, value: str, name: str = "MODE") -> Env:
    return Env(("app",), {name: value}, removes=(slug,))


def replaced(slug: str, path: str) -> Patch:
    return Patch(("here",), "/srv", Replace(path, "a", "b"), (slug,))


def test_all_changes_one_restart_and_the_trials_of_the_first() -> None:
    one = toggle("one", switched("topk", "off", "TOPK"), services=("app", "db"))
    other = toggle("other", replaced("mtp", "x.py"), services=("web", "app"))
    both = combine([one, other])
    assert (both.name, both.kind, both.hypotheses) == ("one+other", Kind.TOGGLE, ("one", "other"))
    assert [step.name for step in both.steps] == ["one 0", "other 0", "restart", "drive"]
    assert both.steps[2].action == Restart(("app", "db", "web"))
    assert removes(both) == {"topk", "mtp"}
    assert both.question == "Does it fail without mtp and topk?"
    assert (both.verdict, both.vars) == (one.verdict, one.vars)
    assert both.text == "name: one\n---\nname: other"
    assert len({one.sha256, both.sha256, combine([other, one]).sha256}) == 3


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"arms": ("a", "b")}, "it has arms"),
        (
            {"steps": (Step("r", Restart(("app",))), DRIVE)},
            "none of its steps says what it removes",
        ),
        ({"steps": (Step("e", switched("mtp", "x")), DRIVE)}, "it has not exactly one restart"),
        (
            {
                "steps": (
                    Step("e", switched("mtp", "x")),
                    Step("r", Restart(("app",))),
                    Step("w", Wait(1)),
                    DRIVE,
                )
            },
            "it has a wait step",
        ),
    ],
)
def test_what_cannot_be_part_of_one_restart(changed: dict[str, object], why: str) -> None:
    one = toggle("one", switched("topk", "off"))
    other = replace(toggle("other", switched("mtp", "off")), **changed)
    assert unfit(one) is None
    with pytest.raises(PlanError, match=f"^other cannot be combined with others: {why}"):
        combine([one, other])


def test_what_does_not_go_together() -> None:
    one, other = toggle("one", switched("topk", "off")), toggle("other", switched("mtp", "on"))
    with pytest.raises(PlanError, match="one and other do not go together: both change MODE of"):
        combine([one, other])
    combine([one, toggle("other", switched("mtp", "off"))])
    with pytest.raises(PlanError, match="their trials differ"):
        combine([one, replace(toggle("other", replaced("mtp", "x")), vars={"trials": "4"})])


def test_playbooks_conflict_whichever_of_them_says_so() -> None:
    one = replace(toggle("one", switched("topk", "off", "TOPK")), conflicts_with=("other",))
    other = toggle("other", switched("mtp", "off"))
    for pair in ([one, other], [other, one]):
        with pytest.raises(PlanError, match="one says that it conflicts with other"):
            combine(pair)


def test_whether_two_change_the_same_file(tmp_path: Path) -> None:
    diff = tmp_path / "a.diff"
    diff.write_text("--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n")
    by_diff = toggle("diff", Patch(("here",), "/srv", Diff(diff), ("topk",)))
    by_upload = toggle("upload", Patch(("here",), "/srv", Upload(diff, "x.py"), ("mtp",)))
    elsewhere = toggle("elsewhere", Patch(("there",), "/srv", Upload(diff, "x.py"), ("mtp",)))
    assert share_a_file(by_diff, by_upload)
    assert share_a_file(by_upload, toggle("replace", replaced("mtp", "x.py")))
    assert not share_a_file(by_diff, elsewhere)
    assert not share_a_file(by_diff, toggle("env", switched("mtp", "x")))
    diff.write_text("no diff")
    assert not share_a_file(by_diff, by_upload)
