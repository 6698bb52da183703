"""What tools print, in each format that is not a campaign's own, for k failures in n trials."""

import json
from collections.abc import Callable

from playbooks.system import ParseSpec


def spec(form: str) -> ParseSpec:
    """How the format is parsed here: as it is by itself."""
    named = (frozenset({"leak"}), frozenset({"done"})) if form == "json" else ()
    return ParseSpec(form, *named)


def totals(k: int, n: int) -> str:
    return json.dumps({"leak": k, "done": n - k})


def pytest(k: int, n: int) -> str:
    return f"{k} failed, {n - k} passed in 1.20s\n" if k else f"{n} passed in 1.20s\n"


def junit(k: int, n: int) -> str:
    bad, good = '<testcase name="a"><failure/></testcase>', '<testcase name="a"/>'
    return f"<testsuite>{bad * k}{good * (n - k)}</testsuite>"


def go_test_json(k: int, n: int) -> str:
    ends = ["fail"] * k + ["pass"] * (n - k)
    events = [{"Action": action, "Test": "A"} for end in ends for action in ("run", end)]
    return "".join(
        json.dumps({"Package": "kv", **one}) + "\n" for one in (*events, {"Action": "pass"})
    )


def go_stress(k: int, n: int) -> str:
    return f"5s: {n} runs total, {k} failures ({100 * k / n:.2f}%)\n"


def nextest(k: int, n: int) -> str:
    words = ["FAIL"] * k + ["PASS"] * (n - k)
    lines = [f"  {word} [   0.010s] ({i}/{n}) kv tests::t{i}" for i, word in enumerate(words, 1)]
    summary = f"  Summary [   0.031s] {n} tests run: {n - k} passed, {k} failed, 0 skipped"
    return "\n".join([f"    Starting {n} tests across 1 binary", *lines, summary, ""])


def bazel(k: int, n: int) -> str:
    line = f"FLAKY, failed in {k} out of {n} in 0.5s" if k else "PASSED in 0.5s"
    stats = f"  Stats over {n} runs: max = 0.5s"
    return f"//kv:a_test {line}\n{stats}\nExecuted 1 out of 1 test: 1 test passes.\n"


def hyperfine(k: int, n: int) -> str:
    codes = [1] * k + [0] * (n - k)
    return json.dumps({"results": [{"command": "x", "exit_codes": codes, "times": [0.1] * n}]})


def k6(k: int, n: int) -> str:
    share = 100 * (n - k) / n
    return f"    checks_succeeded...................: {share:.2f}% {n - k} out of {n}\n"


def serving_bench(k: int, n: int) -> str:
    errors = ["gone"] * k + [""] * (n - k)
    return json.dumps({"completed": n - k, "errors": errors, "generated_texts": ["Rome"] * n})


FORMATS: dict[str, Callable[[int, int], str]] = {
    "json": totals,
    "pytest": pytest,
    "junit": junit,
    "go_test_json": go_test_json,
    "go_stress": go_stress,
    "nextest": nextest,
    "bazel": bazel,
    "hyperfine": hyperfine,
    "k6": k6,
    "serving_bench": serving_bench,
}
