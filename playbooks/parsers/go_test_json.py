"""`go test -json`: one event a line (`go doc test2json`).

Events of a package have no test, and `-count` repeats a test's name. A test and its subtests
are one trial; with `subtests` each subtest is one instead.
"""

from collections.abc import Iterator, Mapping, Sequence

from hypotheses.observation import Result, Trial
from playbooks.parsers.attempts import OPTIONS as TESTS
from playbooks.parsers.attempts import Attempts, Times
from playbooks.parsers.jsonl import record_of
from playbooks.parsers.lines import Line
from playbooks.parsers.parser import ExitInfo, Format, Parsed, ParseError, quoted
from playbooks.system import ParseSpec

OPTIONS = frozenset({"subtests", *TESTS})

USUAL = {
    "passed": Result.PASS,
    "failed": Result.FAIL,
    "crashed": Result.FAIL,
    "timeout": Result.CENSORED,
    "unfinished": Result.CENSORED,
    "skipped": None,
}
_ENDS = {"pass": "passed", "fail": "failed", "skip": "skipped"}


class _Package:
    """What is under way in a package's test binary: its tests, and which had subtests."""

    def __init__(self, began: str) -> None:
        self.began = began
        self.running: dict[str, None] = {}
        self.parents: dict[str, bool] = {}
        self.hung = False

    def note(self, test: str, failed: bool) -> None:
        """Tells the tests above this one that it has ended."""
        parts = test.split("/")
        for depth in range(1, len(parts)):
            above = "/".join(parts[:depth])
            self.parents[above] = failed or self.parents.get(above, False)


class GoTestJsonFormat(Format):
    """Trials as the tests end. What a dead binary left unfinished is a crash, and the rest cut."""

    expected = "events of go test -json"
    exits = frozenset({1})

    def __init__(self, spec: ParseSpec) -> None:
        self._attempts = Attempts(spec, USUAL)
        self._subtests = spec.options.get("subtests") == "true"
        self._packages: dict[str, _Package] = {}
        self._done: set[str] = set()
        self._notes: list[str] = []

    def line(self, line: Line) -> Sequence[Trial]:
        event = record_of(line) if line.text.startswith("{") else None
        if event is None or "Action" not in event:
            return ()
        action, name, test = (str(event.get(key, "")) for key in ("Action", "Package", "Test"))
        if action.startswith("build"):
            self._build(action, event, line)
            return ()
        package = self._package(action, name, test, line)
        if action == "output":
            self._output(package, str(event.get("Output", "")), line)
        elif test:
            return tuple(self._test(package, action, name, event, line))
        elif action in _ENDS:
            return tuple(self._ended(package, action, name, line))
        return ()

    def end(self, exit: ExitInfo) -> Parsed:
        if self._packages and not exit.cut_short:
            name, package = next(iter(self._packages.items()))
            raise ParseError(
                f"package {name} began on {package.began} and has no end: is the output cut off?"
            )
        self._attempts.check_exit(exit)
        return Parsed((), (*self._attempts.warnings(), *self._notes))

    def _package(self, action: str, name: str, test: str, line: Line) -> _Package:
        began = self._packages.get(name)
        if action == "start" and began is not None:
            raise ParseError(
                f"{line.where}: package {name} begins, and has not ended since {began.began}: "
                "are two runs mixed in this output?"
            )
        if began is None and name in self._done and (test or action == "start"):
            self._done.discard(name)
            self._notes.append(f"{line.where}: package {name} runs again: its tests are added up")
        return self._packages.setdefault(name, _Package(line.where))

    def _test(
        self,
        package: _Package,
        action: str,
        name: str,
        event: Mapping[str, object],
        line: Line,
    ) -> Iterator[Trial]:
        test = str(event["Test"])
        if action == "run":
            if test in package.running:
                raise ParseError(
                    f"{line.where}: {test} begins while it runs: are two runs mixed in this output?"
                )
            package.running[test] = None
        elif action in _ENDS:
            package.running.pop(test, None)
            package.note(test, action == "fail")
            if self._is_trial(package, test, action):
                took = event.get("Elapsed")
                seconds = float(took) if isinstance(took, int | float) else None
                times = Times(f"{name}.{test}", _ENDS[action], seconds=seconds)
                yield from self._attempts.take(times, line.where)

    def _is_trial(self, package: _Package, test: str, action: str) -> bool:
        """With `subtests` a test that has some counts only where it failed by itself."""
        if not self._subtests:
            return "/" not in test
        failed_below = package.parents.pop(test, None)
        return failed_below is None or (action == "fail" and not failed_below)

    def _ended(self, package: _Package, action: str, name: str, line: Line) -> Iterator[Trial]:
        self._packages.pop(name)
        self._done.add(name)
        for number, test in enumerate(self._cut(package) if action == "fail" else ()):
            outcome = "timeout" if package.hung else "unfinished" if number else "crashed"
            yield from self._attempts.take(Times(f"{name}.{test}", outcome), line.where)

    def _cut(self, package: _Package) -> list[str]:
        """The tests that were running when the binary died: the innermost, or the outermost."""
        running = package.running
        if not self._subtests:
            return [test for test in running if "/" not in test]
        return [test for test in running if not any(x.startswith(f"{test}/") for x in running)]

    def _output(self, package: _Package, text: str, line: Line) -> None:
        if text.startswith("panic: test timed out"):
            package.hung = True
        elif text.startswith("ok ") and "\t(cached)" in text:
            raise ParseError(
                f"{line.where}: {quoted(text.strip())}: nothing ran, go shows an earlier result; "
                "add -count=1"
            )
        elif text.startswith("FAIL") and text.rstrip().endswith(("failed]", "[build failed]")):
            raise ParseError(f"{line.where}: {quoted(text.strip())}: its tests did not run")

    def _build(self, action: str, event: Mapping[str, object], line: Line) -> None:
        if action == "build-fail":
            what = quoted(event.get("ImportPath", ""))
            raise ParseError(f"{line.where}: {what} does not build: its tests did not run")
