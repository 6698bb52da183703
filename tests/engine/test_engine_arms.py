"""Arms in blocks: each boot its own restart, the order shown before and kept after."""

import pytest
from engine_stage import Stage

ARMS = """\
name: modes
hypothesis: mode
kind: toggle
vars: {trials: 20}
arms: [control, treatment]
schedule: abba
steps:
  - env: {services: [app], set: {MODE: safe}, removes: [mode]}
    when: treatment
  - restart: {services: [app]}
  - reproduce: {use: trials}
verdict: {by: rate, expect: drop, against: control}
"""


def arms_run(stage: Stage) -> list[str]:
    rows = stage.rows("SELECT arm FROM boot WHERE run IS NOT NULL ORDER BY position")
    return [row["arm"] for row in rows]


def test_abba_interleaves_and_the_verdict_uses_every_block(stage: Stage) -> None:
    stage.toy.playbook("modes", ARMS)
    done = stage.run("run", "-y", "modes")
    assert done.code == 0, done.err
    order = ["control", "treatment", "treatment", "control"]
    assert arms_run(stage) == order
    assert f"modes: abba, 1 block: {' '.join(order)}" in done.err
    assert "40 trials of the other arms in 2 restarts against 40 trials of control in 2" in done.err
    assert "treatment 0/40, at most 8.8%; control 8/40" in done.err
    assert "restarts: 2 against 2" in done.err
    cycles = stage.rows("SELECT * FROM cycle")
    assert len(cycles) == 4, "two boots of the same arm restart, and the last one is the base"
    terms = stage.rows("SELECT * FROM run_terms")[0]
    assert (terms["schedule"], terms["blocks"], terms["seed"]) == ("abba", 1, None)
    shown = stage.run("runs", "show", stage.newest()["id"]).out
    assert "order       abba, 1 block" in shown
    assert all(shown.count(f"observed [{arm} {at}] by") == 1 for arm in set(order) for at in (1, 2))
    stage.check_untouched()


@pytest.mark.parametrize("seed", ["", "seed: 11\n"])
def test_a_random_order_is_kept_with_its_seed(stage: Stage, seed: str) -> None:
    text = ARMS.replace("schedule: abba\n", f"schedule: randomised\nblocks: 3\n{seed}")
    stage.toy.playbook("modes", text.replace("trials: 20", "trials: 5"))
    done = stage.run("run", "-y", "modes")
    assert done.code == 0, done.err
    (terms,) = stage.rows("SELECT * FROM run_terms")
    assert terms["seed"] == 11 if seed else terms["seed"] is not None
    ran = arms_run(stage)
    assert all(set(ran[at : at + 2]) == {"control", "treatment"} for at in (0, 2, 4))
    blocks = " | ".join(" ".join(ran[at : at + 2]) for at in (0, 2, 4))
    assert f"randomised, 3 blocks, seed {terms['seed']}: {blocks}" in done.err
    again = stage.run("plan", "modes").out
    assert not seed or blocks in again
    stage.check_untouched()


def test_blocks_of_one_configuration_are_boots_of_their_own(stage: Stage) -> None:
    stage.edit("playbooks/baseline.yaml", "vars:", "blocks: 2\nvars:")
    done = stage.run("run", "-y", "baseline")
    assert done.code == 0, done.err
    assert "[2/3] baseline block 2" in done.err
    assert len(stage.rows("SELECT * FROM cycle")) == 2
    counted = stage.rows("SELECT sum(fail) AS fail, sum(n) AS n FROM trial_rates")[0]
    assert counted == {"fail": 16, "n": 80}
