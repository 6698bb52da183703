"""Boot algebra: each boot is the base and its own edits, and transitions lead from one to the next.

The model is what a reader of the playbook would do by hand: copy the base, do the steps in order.
"""

import difflib
import hashlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from campaign.engine.transition import HostChange, difference
from playbooks.edits import FileState
from playbooks.plan import Boot, Plan, make
from playbooks.playbook import (
    Diff,
    Env,
    Kind,
    Patch,
    Playbook,
    Replace,
    Reproduce,
    Restart,
    Step,
    Upload,
)
from playbooks.system import EnvMethod, Host, ProcessSpec, Service, System

ROOT = "/srv"
FILES = ("a.py", "b.py", "sub/c.py", "env/x.env")
SERVICES = ("x", "y", "z")
BASE: dict[str, bytes] = {
    "a.py": b"one\ntwo\nthree\n",
    "b.py": b"crlf\r\nno newline",
    "env/x.env": b"# kept\nA=0\n",
    "env/y.env": b"",
}
"""No sub/c.py and no env/z.env."""

Tree = dict[str, bytes]


def service(name: str) -> Service:
    env = EnvMethod("env_file", f"{ROOT}/env/{name}.env")
    return Service(name, "here", ProcessSpec(("true",), ROOT), env)


SYSTEM = System(
    "test",
    "it fails",
    Path("/"),
    {"here": Host("here")},
    {name: service(name) for name in SERVICES},
    restart_groups=(("x", "y"),),
)


class NoHistory:
    def took(self, _boot: Boot) -> None:
        return None


FOLDER: list[str] = []
"""Where uploads and diffs lie."""


@pytest.fixture(scope="module", autouse=True)
def folder() -> Iterator[None]:
    with tempfile.TemporaryDirectory(prefix="boots-") as made:
        FOLDER[:] = [made]
        yield


def sha(content: bytes | None) -> str | None:
    return None if content is None else hashlib.sha256(content).hexdigest()


def read(_host: str, root: str, path: str) -> tuple[FileState, bytes | None]:
    content = BASE.get(f"{root}/{path}".removeprefix(f"{ROOT}/"))
    return FileState(sha(content), 0o640), content


@dataclass
class Drawn:
    """Playbooks, and for each of their boots, in order, the tree it should have."""

    playbooks: list[Playbook] = field(default_factory=list)
    trees: list[Tree] = field(default_factory=list)


CONTENTS = st.binary(max_size=6).map(lambda raw: raw.replace(b"\0", b"\n")) | st.sampled_from(
    [b"one\ntwo\n", b"one\n2\nthree\n", b"x\r\n", b""]
)


def as_diff(path: str, old: bytes | None, new: bytes | None) -> bytes:
    """A unified diff of texts, as `diff -u` writes it."""
    left, right = ((content or b"").decode().splitlines(keepends=True) for content in (old, new))
    before = "/dev/null" if old is None else f"a/{path}"
    after = "/dev/null" if new is None else f"b/{path}"
    lines = difflib.unified_diff(left, right, before, after, n=1)
    marked = (x if x.endswith("\n") else f"{x}\n\\ No newline at end of file\n" for x in lines)
    return "".join(marked).encode()


class Writer:
    """Draws one playbook, and does by hand to `trees` (one an arm) what its steps say."""

    def __init__(self, draw: st.DrawFn, folder: Path, arms: tuple[str, ...]) -> None:
        self._draw, self._folder, self._arms = draw, folder, arms
        self.trees: dict[str, Tree] = {arm: dict(BASE) for arm in arms or ("",)}
        self.steps: list[Step] = []
        self.boots: dict[str, list[Tree]] = {arm: [] for arm in self.trees}

    def change(self) -> None:
        when = self._draw(st.sampled_from((None, *self._arms)))
        where = [when] if when else list(self.trees)
        kind = self._draw(st.sampled_from(("upload", "replace", "diff", "env")))
        path = self._draw(st.sampled_from(FILES))
        olds = {self.trees[arm].get(path) for arm in where}
        action: Env | Patch | None = self._env(where) if kind == "env" else None
        if action is None and kind != "upload" and len(olds) == 1:
            action = self._in_place(kind, path, olds.pop(), where)
        made = action or self._upload(path, where)
        self.steps.append(Step(f"step {len(self.steps)}", made, when))

    def restart(self) -> None:
        services = tuple(self._draw(st.sets(st.sampled_from(SERVICES), min_size=1)))
        changed = {s for one in self.steps if isinstance(one.action, Env)
                   for s in one.action.services}  # fmt: skip
        both = tuple({*services, *changed})
        self.steps += [Step("restart", Restart(both)), Step("drive", Reproduce("r"))]
        for arm, tree in self.trees.items():
            self.boots[arm].append(dict(tree))

    def _write(self, where: list[str], path: str, content: bytes | None) -> None:
        for arm in where:
            if content is None:
                self.trees[arm].pop(path, None)
            else:
                self.trees[arm][path] = content

    def _file(self, content: bytes) -> Path:
        file = self._folder / f"{len(list(self._folder.iterdir()))}"
        file.write_bytes(content)
        return file

    def _upload(self, path: str, where: list[str]) -> Patch:
        content = self._draw(CONTENTS)
        self._write(where, path, content)
        return Patch(("here",), ROOT, Upload(self._file(content), path))

    def _in_place(self, kind: str, path: str, old: bytes | None, where: list[str]) -> Patch | None:
        text = st.sampled_from([b"one\ntwo\n", b"one\n2\nthree\n", b"four", b"x\r\ny\n", None])
        new = self._draw(text)
        try:
            readable = (old or b"").decode()
        except UnicodeDecodeError:
            return None
        if kind == "diff" and old != new and (old or b"") != (new or b"") and "\r" not in readable:
            if b"\r" in (new or b""):
                return None
            self._write(where, path, new)
            return Patch(("here",), ROOT, Diff(self._file(as_diff(path, old, new))))
        if kind == "replace" and old and new is not None:
            self._write(where, path, old.replace(old, new))
            return Patch(("here",), ROOT, Replace(path, readable, new.decode()))
        return None

    def _env(self, where: list[str]) -> Env | None:
        name = self._draw(st.sampled_from(SERVICES))
        path, value = f"env/{name}.env", self._draw(st.sampled_from(["1", "2"]))
        if any(self.trees[arm].get(path) != BASE.get(path) for arm in where):
            return None
        kept = "# kept\n" if name == "x" else ""
        self._write(where, path, f"{kept}A={value}\n".encode())
        return Env((name,), {"A": value})


@st.composite
def campaigns(draw: st.DrawFn) -> Drawn:
    folder = Path(tempfile.mkdtemp(dir=FOLDER[0]))
    drawn = Drawn()
    for number in range(draw(st.integers(1, 3))):
        arms = draw(st.sampled_from(((), (), ("control", "treatment"))))
        writer = Writer(draw, folder, arms)
        for _ in range(draw(st.integers(1, 2))):
            for _ in range(draw(st.integers(0, 3))):
                writer.change()
            writer.restart()
        steps = tuple(writer.steps)
        drawn.playbooks.append(
            Playbook(f"p{number}", Kind.FIX, Path(f"p{number}.yaml"), steps, arms=arms)
        )
        for arm in writer.trees:
            drawn.trees += writer.boots[arm]
    return drawn


given_campaigns = given(campaigns())
QUICK = settings(
    max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


def planned(drawn: Drawn) -> Plan:
    return make(SYSTEM, drawn.playbooks, read, NoHistory(), lambda _: None)


def tree_of(boot: Boot) -> Tree:
    tree = dict(BASE)
    for edit in boot.edits:
        path = edit.where.removeprefix(f"{ROOT}/")
        assert edit.before.sha256 == sha(BASE.get(path)) != edit.after.sha256 == sha(edit.content)
        if edit.content is None:
            del tree[path]
        else:
            tree[path] = edit.content
    return tree


@QUICK
@given_campaigns
def test_a_boot_is_the_base_and_its_own_edits(drawn: Drawn) -> None:
    plan = planned(drawn)
    assert [tree_of(boot) for boot in plan.boots] == [*drawn.trees, BASE]


@QUICK
@given_campaigns
def test_transitions_lead_from_boot_to_boot(drawn: Drawn) -> None:
    live, previous = dict(BASE), None
    for boot in planned(drawn).boots:
        for change in difference(previous, boot).values():
            apply(live, change)
        assert live == tree_of(boot)
        previous = boot
    assert live == BASE


def apply(live: Tree, change: HostChange) -> None:
    """What the agent does, down to its refusal where the live hash is not the planned one."""
    for one in change.changes:
        path = f"{one.root}/{one.path}".removeprefix(f"{ROOT}/")
        assert one.expect == sha(live.get(path))
        if one.content is None:
            del live[path]
        else:
            live[path] = one.content
    for root, path in change.restore:
        where = f"{root}/{path}".removeprefix(f"{ROOT}/")
        assert live.get(where) != BASE.get(where)
        live.pop(where, None)
        if where in BASE:
            live[where] = BASE[where]


@QUICK
@given_campaigns
def test_measured_boots_and_the_way_back_cost_a_cycle_each(drawn: Drawn) -> None:
    plan = planned(drawn)
    measured = len(drawn.trees)
    assert len(plan.boots) == measured + 1
    assert [boot.position for boot in plan.boots] == list(range(measured + 1))
    leaves = any(tree != BASE for tree in drawn.trees)
    assert measured <= plan.cycles <= measured + leaves
    if drawn.trees[-1] != BASE:
        assert plan.cycles == measured + 1


@QUICK
@given_campaigns
def test_no_service_goes_on_running_what_is_no_longer_so(drawn: Drawn) -> None:
    started_in: dict[str, Tree] = {}
    for boot in planned(drawn).boots:
        tree = tree_of(boot)
        started_in.update(dict.fromkeys(boot.services, tree))
        for service, then in started_in.items():
            stale = [path for path in {*then, *BASE}
                     if then.get(path) not in (BASE.get(path), tree.get(path))]  # fmt: skip
            assert not stale, (boot.title, service, stale)
        assert ("x" in boot.services) == ("y" in boot.services), "they restart together"
