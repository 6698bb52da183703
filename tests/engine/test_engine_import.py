"""A past result is a run marked as imported, and counts as far as its conditions match."""

import json

import pytest
from engine_stage import Stage

SEEN = ("--fail", "9", "--trials", "40", "--censored", "2")


def test_a_past_result_is_kept_and_marked(bare: Stage) -> None:
    log = bare.root / "past.log"
    log.write_text("nine of forty\n")
    done = bare.run(
        "import-run", "baseline", *SEEN, "--date", "2025-03-04", "--by", "Ada", "--log", str(log)
    )
    assert done.code == 0, done.err
    run = bare.newest()
    assert done.out == f"imported {run['id']}\n"
    assert (run["status"], run["state"]) == ("completed", "clean")
    listed = bare.run("runs", "list").out
    assert all(word in listed for word in ("2025-03-04", "imported", "9/40, 22.5%"))
    shown = bare.run("runs", "show", "baseline").out
    assert all(word in shown for word in ("by Ada", "(imported)"))
    assert bare.run("runs", "log", "baseline").out == "nine of forty\n"
    assert "baseline: 9/40" in bare.run("status").out
    assert bare.run("report").code == 0
    assert bare.rows("SELECT * FROM cycle") == []
    cost = bare.rows("SELECT total(money) AS money, total(occupied_s) AS s FROM charges")
    assert cost == [{"money": 0.0, "s": 0.0}]


def test_it_counts_only_under_the_same_conditions(stage: Stage) -> None:
    stage.run("import-run", "baseline", *SEEN, "--condition", "commit=old")
    alone = stage.run("run", "-y", "fix").err
    assert "invalid, arms not comparable" in alone
    assert "commit not recorded against old" in alone
    stage.run("run", "-y", "baseline")
    assert "baseline 8/40" in stage.run("run", "-y", "fix").err, "the comparable one alone"
    query = "SELECT conditions FROM observation WHERE stop_reason = 'fixed' LIMIT 1"
    held = json.loads(stage.rows(query)[0]["conditions"])
    given = [word for name, value in held.items() for word in ("--condition", f"{name}={value}")]
    assert stage.run("import-run", "baseline", *SEEN, *given).code == 0
    assert "baseline 17/80" in stage.run("run", "-y", "fix").err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("baseline", "--fail", "5", "--trials", "4"), "5 of 4 trials cannot have failed"),
        (("baseline", "--fail", "0", "--trials", "0"), "a result without trials says nothing"),
        (("baseline", *SEEN, "--arm", "x"), "baseline has no arms; leave --arm out"),
        (("baseline", *SEEN, "--date", "2999-01-01"), "cannot be of the future"),
        (("baseline", *SEEN, "--log", "no.log"), "no.log is not a file"),
        (("baseline", *SEEN, "--condition", "x"), "--condition 'x' is not NAME=VALUE"),
        (("basline", *SEEN), "did you mean 'baseline'?"),
    ],
)
def test_what_cannot_be_is_refused(bare: Stage, arguments: tuple[str, ...], said: str) -> None:
    done = bare.run("import-run", *arguments)
    assert done.code == 2
    assert said in done.err
    assert bare.rows("SELECT * FROM run") == []
