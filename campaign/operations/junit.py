"""The runs of one invocation as JUnit XML, which CI servers show as tests."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from campaign.errors import CampaignError, Exit
from campaign.ledger.reads import Ledger
from campaign.workspace import Workspace

if TYPE_CHECKING:
    from junitparser import TestCase

    from campaign.engine.run import Outcome, RunResult


def check_place(path: Path) -> None:
    """Errors: CampaignError (USAGE) where `path` could not be written: better before than after."""
    if path.is_dir():
        raise CampaignError(Exit.USAGE, f"cannot write {path}: it is a folder", "name a file")
    if not path.absolute().parent.is_dir():
        raise CampaignError(
            Exit.USAGE, f"cannot write {path}: there is no folder {path.parent}", "make it first"
        )


def write(path: Path, workspace: Workspace, outcome: "Outcome", expect: str | None) -> None:
    """Writes a suite with a case for each run.

    A run that did not complete is an error, and so are one without a trial that counts and a system
    that could not be put back; a verdict other than `expect` is a failure, where that is given.
    Errors: CampaignError.
    """
    from junitparser import JUnitXml, TestSuite

    with Ledger.open(workspace.ledger) as ledger:
        campaign = ledger.campaign()
        suite = TestSuite(campaign.name if campaign else "campaign")
        for one in outcome.runs:
            suite.add_testcase(_case(ledger, suite.name, one, expect))
    if outcome.exit is not Exit.COMPLETED:
        suite.add_testcase(_invocation(suite.name, outcome))
    xml = JUnitXml()
    xml.add_testsuite(suite)
    try:
        xml.write(str(path), pretty=True)
    except OSError as error:
        raise CampaignError(Exit.USAGE, f"cannot write {path}: {error.strerror}") from error


def _case(ledger: Ledger, campaign: str, result: "RunResult", expect: str | None) -> "TestCase":
    from junitparser import Error, Failure, TestCase

    run = ledger.run(result.id)
    case = TestCase(result.playbook, campaign, (run.ended_at or run.started_at) - run.started_at)
    verdict = result.verdict
    if result.status != "completed":
        case.result = [Error(_clean(f"{result.status}: {run.error or 'no reason was kept'}"))]
    elif expect and verdict and verdict.word != expect:
        case.result = [Failure(f"{verdict}, expected {expect}")]
    elif result.uncounted:
        case.result = [Error(_clean("; ".join(result.uncounted)))]
    case.system_out = _clean("\n".join(_told(result)))
    return case


def _told(result: "RunResult") -> Iterator[str]:
    yield f"run {result.id}"
    if result.verdict is None:
        yield "no verdict"
        return
    yield f"verdict: {result.verdict}"
    yield from result.verdict.reasons
    if result.verdict.still_needed:
        yield f"still needed: {result.verdict.still_needed}"


def _invocation(campaign: str, outcome: "Outcome") -> "TestCase":
    """How the invocation as a whole failed, which need not be any one run's doing."""
    from junitparser import Error, TestCase

    case = TestCase("everything put back" if outcome.remaining else "the invocation", campaign, 0)
    what = "; ".join(outcome.remaining) or outcome.error or f"exit code {int(outcome.exit)}"
    case.result = [Error(_clean(what))]
    return case


def _clean(text: str) -> str:
    """Without what XML cannot hold."""
    return "".join(one if one in "\n\t" or one.isprintable() else "\ufffd" for one in text)
