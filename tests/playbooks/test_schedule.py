"""Every block has each arm as often as it should, and a seed fixes the order."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from load_workspace import PLAYBOOK, Workspace

from playbooks.schedule import Schedule, order

ARMS = st.lists(st.sampled_from("ABCDE"), min_size=2, max_size=5, unique=True)
BLOCKS = st.integers(1, 12)
SEEDS = st.integers(0, 10**6)


@pytest.mark.parametrize("schedule", Schedule)
@given(arms=ARMS, blocks=BLOCKS, seed=SEEDS)
def test_each_block_holds_each_arm_as_often_as_it_should(
    schedule: Schedule, arms: list[str], blocks: int, seed: int
) -> None:
    made = list(order(arms, schedule, blocks, seed))
    times = 2 if schedule is Schedule.ABBA else 1
    assert len(made) == blocks
    assert all(Counter(block) == dict.fromkeys(arms, times) for block in made)


@given(arms=ARMS, blocks=BLOCKS, seed=SEEDS)
def test_the_same_seed_draws_the_same_order(arms: list[str], blocks: int, seed: int) -> None:
    first, again = (tuple(order(arms, Schedule.RANDOMISED, blocks, seed)) for _ in range(2))
    assert first == again


def test_seeds_differ_and_the_other_schedules_know_none() -> None:
    drawn = {tuple(order("AB", Schedule.RANDOMISED, 8, seed)) for seed in range(20)}
    assert len(drawn) > 10
    assert list(order("AB", Schedule.ABBA, 1, None)) == [("A", "B", "B", "A")]
    assert list(order("AB", Schedule.ALTERNATE, 2, None)) == [("A", "B"), ("A", "B")]


@pytest.fixture
def workspace(tmp_path) -> Workspace:
    return Workspace(tmp_path)


WITH_ARMS = PLAYBOOK.replace(
    "steps:\n", "arms: [control, treatment]\nschedule: randomised\nblocks: 3\nseed: 7\nsteps:\n"
).replace("  - name: switch the", "  - when: treatment\n    name: switch the")


def test_a_playbook_says_its_order(workspace: Workspace) -> None:
    playbook = workspace.playbook(WITH_ARMS)
    assert (playbook.schedule, playbook.blocks, playbook.seed) == (Schedule.RANDOMISED, 3, 7)
    assert playbook.order == tuple(order(("control", "treatment"), Schedule.RANDOMISED, 3, 7))
    assert workspace.playbook().order == (("",),)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("arms: [control, treatment]\n", "", "a schedule needs arms: there is nothing to"),
        ("randomised", "abba", "only 'schedule: randomised' draws an order: leave the seed out"),
        ("randomised", "shuffled", "shuffled"),
        ("blocks: 3", "blocks: 0", "0"),
        ("  - restart: ", "  - when: control\n    restart: ", "add a restart step in arm"),
    ],
)
def test_an_order_that_cannot_be_is_refused(
    workspace: Workspace, old: str, new: str, said: str
) -> None:
    assert any(said in one for one in workspace.playbook_problems((old, new), text=WITH_ARMS))
