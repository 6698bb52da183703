"""The JSON results of sglang's bench_serving and of vLLM's `vllm bench serve`.

Both count a request as a success whose text is garbage. With the generated texts in the result
(sglang: --output-details, vLLM: --save-detailed) each request is a trial, and the options
`reject` and `require` judge its text.
"""

from collections.abc import Iterator, Mapping, Sequence

from hypotheses.observation import Result, Trial
from playbooks.expressions import Expression
from playbooks.parsers.document import Documents, Found, only
from playbooks.parsers.lines import DOCUMENT_LIMIT, Line
from playbooks.parsers.outcomes import meanings
from playbooks.parsers.parser import (
    ExitInfo,
    Format,
    Parsed,
    ParseError,
    expression,
    quoted,
    total,
)
from playbooks.system import ParseSpec

OPTIONS = frozenset({"reject", "require"})

USUAL = {
    "ok": Result.PASS,
    "garbled": Result.FAIL,
    "empty": Result.FAIL,
    "error": Result.FAIL,
}
_DETAILS = "write them with --output-details (sglang) or --save-detailed (vLLM)"


class ServingBenchFormat(Format):
    """`reject`: a text in which it is found is garbled; `require`: one in which it is not."""

    expected = "the JSON result of a serving benchmark, with completed"
    line_limit = DOCUMENT_LIMIT

    def __init__(self, spec: ParseSpec) -> None:
        self._meanings = meanings(spec, USUAL)
        self._reject = _option(spec, "reject")
        self._require = _option(spec, "require")
        self._documents = Documents()

    def line(self, line: Line) -> Sequence[Trial]:
        self._documents.add(line)
        return ()

    def end(self, exit: ExitInfo) -> Parsed:
        results = [
            one
            for one in self._documents.found(cut=exit.cut_short)
            if isinstance(one.value, dict) and "completed" in one.value
        ]
        what = "benchmarks append to their file: remove it before each run"
        result = only(results, what)
        if result is None:
            return Parsed()
        assert isinstance(result.value, dict)
        errors, texts = result.value.get("errors"), result.value.get("generated_texts")
        if isinstance(errors, list) and isinstance(texts, list):
            return Parsed(tuple(self._requests(result.value, errors, texts, result.where)))
        return self._totals(result)

    def _requests(
        self, result: Mapping[str, object], errors: list[object], texts: list[object], where: str
    ) -> Iterator[Trial]:
        done = sum(not error for error in errors)
        if len(errors) != len(texts) or done != result["completed"]:
            raise ParseError(
                f"{where}: {quoted(result['completed'])} completed, {len(texts)} texts and {done} "
                f"of {len(errors)} requests without an error do not add up"
            )
        total(len(errors), where)
        lengths = result.get("input_lens")
        known = isinstance(lengths, list) and len(lengths) == len(errors)
        for number, (error, text) in enumerate(zip(errors, texts, strict=True)):
            length = lengths[number] if known and isinstance(lengths, list) else None
            attributes = () if length is None else (("input_len", str(length)),)
            outcome = self._outcome(error, str(text or ""))
            yield self._trial(outcome, str(number), _seconds(result, number), attributes)

    def _outcome(self, error: object, text: str) -> str:
        if error:
            return "error"
        if not text.strip():
            return "empty"
        rejected = self._reject is not None and self._reject.find(text) is not None
        lacking = self._require is not None and self._require.find(text) is None
        return "garbled" if rejected or lacking else "ok"

    def _trial(
        self,
        outcome: str,
        ident: str | None = None,
        seconds: float | None = None,
        attributes: tuple[tuple[str, str], ...] = (),
    ) -> Trial:
        result = self._meanings[outcome]
        assert result is not None
        return Trial(outcome, result, ident, (), seconds, None, attributes)

    def _totals(self, found: Found) -> Parsed:
        assert isinstance(found.value, dict)
        if self._reject or self._require:
            raise ParseError(f"{found.where}: the texts to be checked are not in it: {_DETAILS}")
        completed, planned = found.value["completed"], found.value.get("num_prompts")
        failed = found.value.get("failed")
        if isinstance(planned, int) and isinstance(completed, int) and failed is None:
            failed = planned - completed
        if not isinstance(completed, int) or not isinstance(failed, int):
            raise ParseError(f"{found.where}: how many requests failed is not in it: {_DETAILS}")
        if min(completed, failed) < 0 or planned not in (None, completed + failed):
            raise ParseError(
                f"{found.where}: {completed} completed and {failed} failed of {planned} "
                "do not add up"
            )
        total(completed + failed, found.where)
        trials = (self._trial("error"),) * failed + (self._trial("ok"),) * completed
        note = f"no generated texts, so that garbled and empty ones count as ok: {_DETAILS}"
        return Parsed(trials, (note,))


def _option(spec: ParseSpec, name: str) -> Expression | None:
    source = spec.options.get(name)
    return None if source is None else expression(source, f"parse: serving_bench: {name}")


def _seconds(result: Mapping[str, object], number: int) -> float | None:
    """From the request to its last token: the time to the first one and those between."""
    firsts, betweens = result.get("ttfts"), result.get("itls")
    if not isinstance(firsts, list) or not isinstance(betweens, list):
        return None
    try:
        return float(firsts[number]) + sum(float(one) for one in betweens[number])
    except (IndexError, TypeError, ValueError):
        return None
