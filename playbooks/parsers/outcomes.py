"""What outcomes mean, and which trials an output has named."""

from collections.abc import Mapping

from hypotheses.observation import Result
from playbooks.parsers.parser import ParseError, quoted
from playbooks.system import ParseSpec


def declared(spec: ParseSpec) -> dict[str, Result]:
    """What `parse` says of each outcome. Raises ParseError for one that it says two things of."""
    named = {Result.FAIL: spec.fail, Result.PASS: spec.passed, Result.CENSORED: spec.censored}
    results: dict[str, Result] = {}
    for result, names in named.items():
        for name in sorted(names):
            first = results.setdefault(name, result)
            if first is not result:
                raise ParseError(
                    f"parse: {spec.format}: outcome {quoted(name)} is under both {first} and "
                    f"{result}: leave it under one"
                )
    return results


class Outcomes:
    """Which outcome means what, where the reproducer names them."""

    def __init__(self, spec: ParseSpec) -> None:
        self._results = declared(spec)

    def result(self, outcome: str, where: str) -> Result:
        """What `outcome` means. Raises ParseError, naming `where`, for one that is not known."""
        try:
            return self._results[outcome]
        except KeyError:
            raise ParseError(
                f"{where}: outcome {quoted(outcome)} is in none of fail, pass, censored "
                f"(known: {', '.join(self._results) or 'none'}): add it to one of them in `parse`"
            ) from None


def meanings(spec: ParseSpec, usual: Mapping[str, Result | None]) -> Mapping[str, Result | None]:
    """What each outcome of a format with its own ones means: as usual, but for what `parse` says.

    None: no trial. Raises ParseError for an outcome that the format does not have.
    """
    said = declared(spec)
    for name in said:
        if name not in usual:
            raise ParseError(
                f"parse: {spec.format}: no outcome {quoted(name)}; it has: {', '.join(usual)}"
            )
    return {**usual, **said}


class Idents:
    """The ids of an output's trials, to tell a trial that is there twice."""

    def __init__(self) -> None:
        self._places: dict[str, str] = {}

    def take(self, ident: str | None, where: str) -> str | None:
        """`ident`, where it is new or None. Raises ParseError for one seen before."""
        if ident is None:
            return None
        if ident in self._places:
            raise ParseError(
                f"{where}: trial {quoted(ident)} was on {self._places[ident]} already: "
                "are there two runs in this output? give each trial one line and an id of its own"
            )
        self._places[ident] = where
        return ident
