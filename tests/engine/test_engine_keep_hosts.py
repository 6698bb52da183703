"""What a run keeps on several hosts is kept on all of them or on none, whatever is interrupted."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import cast

import pytest

from campaign.engine.hosts import Hosts
from campaign.engine.kept import kept_as_told, kept_on
from campaign.operations.release import settle_undecided
from playbooks.hosts.host import Change, Host
from playbooks.hosts.local import LocalChannel
from playbooks.hosts.stack import AGREEING, KEPT, LEAVING, KeptFacts

FACTS = KeptFacts("fix-abcdef", hosts=("a", "b"))
Step = tuple[str, str]

TO_KEEP: Sequence[Step] = (("a", AGREEING), ("b", AGREEING), ("a", KEPT), ("b", KEPT))
BACK: Sequence[Step] = (("a", LEAVING), ("b", LEAVING), ("a", "release"), ("b", "release"))


class Two:
    """Two hosts with a file each, whose agents go on from one test to the next."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.open = {name: self._opened(name) for name in ("a", "b")}

    def _opened(self, name: str) -> Host:
        (self.folder / name).mkdir()
        (self.folder / name / "file").write_text("base", encoding="utf-8")
        channel = LocalChannel(self.folder / f"state-{name}")
        return Host.open(channel, lock=True, who="tester", run="one", name=name)

    def names(self) -> tuple[str, ...]:
        return ("a", "b")

    def __getitem__(self, name: str) -> Host:
        return self.open[name]

    peek = __getitem__

    def begin(self) -> None:
        for name, host in self.open.items():
            tree = str(self.folder / name)
            known, _ = host.read(tree, "file")
            host.apply([Change(tree, "file", known.sha256, b"kept")], run="one")

    def take(self, steps: Sequence[Step]) -> None:
        for name, stage in steps:
            if stage == "release":
                self.open[name].release("one")
            else:
                self.open[name].keep("one", stage, FACTS)

    def lapse(self, name: str) -> None:
        """What an agent does alone."""
        self.open[name].put_back()

    def recover(self, absent: Sequence[str] = ()) -> Sequence[str]:
        hosts = cast(Hosts, self)
        self._put_back(absent)
        found = settle_undecided(hosts, absent, kept_as_told(hosts, absent)[0])
        self._put_back(absent)
        return found.remaining

    def _put_back(self, absent: Sequence[str]) -> None:
        for name, host in self.open.items():
            if name not in absent:
                assert host.put_back().conflicts == ()

    def files(self) -> list[str]:
        return [(self.folder / name / "file").read_text(encoding="utf-8") for name in self.open]

    def end(self) -> None:
        """Everything is the base again for the next test."""
        for host in self.open.values():
            host.release("one")
            host.put_back()
            host.settle()


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Two]:
    two = Two(tmp_path_factory.mktemp("two"))
    yield two
    for host in two.open.values():
        host.close()


@pytest.fixture
def two(agents: Two) -> Iterator[Two]:
    agents.begin()
    yield agents
    agents.end()


def nobody(_two: Two) -> None:
    """No lease is over before the recovery."""


@pytest.mark.parametrize("alone", [nobody, lambda two: two.lapse("a"), lambda two: two.lapse("b")])
@pytest.mark.parametrize("count", range(5))
def test_on_the_way_to_being_kept(two: Two, count: int, alone: Callable[[Two], None]) -> None:
    two.take(TO_KEEP[:count])
    alone(two)
    assert two.recover() == ()
    assert two.files() == ["kept" if count > 2 else "base"] * 2
    assert two.recover() == ()


@pytest.mark.parametrize("alone", [nobody, lambda two: two.lapse("a"), lambda two: two.lapse("b")])
@pytest.mark.parametrize("count", range(5))
def test_on_the_way_back(two: Two, count: int, alone: Callable[[Two], None]) -> None:
    two.take([*TO_KEEP, *BACK[:count]])
    alone(two)
    assert two.recover() == ()
    assert two.files() == ["base" if count else "kept"] * 2


def test_what_a_silent_host_may_keep_waits_for_it(two: Two) -> None:
    two.take(TO_KEEP[:2])
    (waiting,) = two.recover(absent=["b"])
    assert "whether fix-abcdef is kept is not known before b answers" in waiting
    assert two.files() == ["kept"] * 2
    two.take(TO_KEEP[3:])
    assert two.recover() == ()
    assert two.files() == ["kept"] * 2
    assert {one.stage for one in kept_on(cast(Hosts, two))[0].on.values()} == {KEPT}
