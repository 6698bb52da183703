"""The whole page: its sentences, its tables and its costs, from ledgers told as stories."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_builders import NO_OWNER, Arm, Story
from report_demo import tell

from campaign.ledger.recorder import Recorder
from campaign.report.content import collect
from campaign.report.layout import columns
from hypotheses.hypothesis import Standing
from hypotheses.observation import Counts
from hypotheses.verdict import Verdict, Word

GOLD = Path(__file__).parent / "gold"


def section(page: str, title: str) -> str:
    """The part of a page from the heading that begins with `title` to the next one as high."""
    level = title.partition(" ")[0]
    found = re.search(rf"^{re.escape(title)}.*?(?=^#{{1,{len(level)}}} |\Z)", page, re.M | re.S)
    assert found is not None, f"{title} is not in the page"
    return found[0]


def flat(text: str) -> str:
    """Without the line breaks of wrapping."""
    return " ".join(text.split())


def tables(page: str) -> list[list[str]]:
    prose = re.sub(r"^(`{3,})diff\n.*?^\1$", "", page, flags=re.M | re.S)
    return [found[0].splitlines() for found in re.finditer(r"(?:^\|.*\n)+", prose, re.M)]


def test_a_rich_campaign_is_told_as_in_the_gold_file(story: Story) -> None:
    tell(story)
    page = story.report()
    gold = GOLD / "campaign.md"
    if os.environ.get("UPDATE_GOLD"):
        gold.write_text(page, encoding="utf-8")
    assert page == gold.read_text(encoding="utf-8"), "UPDATE_GOLD=1 rewrites the gold file"


def test_tables_are_aligned_and_the_page_keeps_to_its_width(story: Story) -> None:
    tell(story)
    story.hypothesis("漢字", "wide | characters")
    page = story.report(width=72)
    assert len(tables(page)) == 6
    for table in tables(page):
        assert len({columns(line) for line in table}) == 1
    outside = re.sub(r"^\|.*\n|^(`{3,})diff\n.*?^\1$", "", page, flags=re.M | re.S)
    assert max(map(columns, outside.splitlines())) <= 72


def test_an_empty_ledger_says_what_to_do(story: Story) -> None:
    page = story.report()
    assert page.startswith("# Campaign\n\nBaseline: not measured yet; without it no failure rate")
    assert "'campaign hypothesis add'" in page
    assert "Nothing has been run yet: begin with 'campaign run' and a baseline playbook." in page
    assert "## Runs (0)\n\nNone yet" in page
    assert tables(page) == []


def test_a_campaign_begins_with_its_name_and_symptom(story: Story) -> None:
    story.begin("p*d", "markup\nleaks | <b>sometimes</b>\x1b[31m")
    page = story.report()
    symptom = "Symptom: markup leaks | \\<b>sometimes\\</b>\ufffd[31m"
    assert page.startswith(f"# p\\*d\n\n{symptom}\n")


def test_no_failures_are_never_told_as_a_rate(story: Story) -> None:
    story.run("baseline", arms=[Arm(Counts(0, 40))])
    page = story.report()
    assert (
        "Baseline: 0/40 fail, at most 8.8%, in 1 restart: the failure has not been reproduced."
        in page
    )
    assert "| 0/40 (at most 8.8%) |" in page
    assert not re.search(r"(?<![\d.])0(\.0+)?%", page)


def test_baselines_under_other_conditions_are_not_pooled(story: Story) -> None:
    story.run("baseline", arms=[Arm(Counts(21, 39))])
    story.run("baseline", arms=[Arm(Counts(19, 41))])
    story.run("baseline", arms=[Arm(Counts(0, 30))], conditions={"concurrency": "1"})
    assert (
        "Baseline: 40/120 fail, 33.3% (25.5-42.2%), in 2 restarts;"
        " 30 more trials under other conditions not counted here." in flat(story.report())
    )


def test_a_retracted_baseline_is_no_baseline(story: Story) -> None:
    run = story.run("baseline", arms=[Arm(Counts(21, 39))])
    story.recorder.retract(run, "another | host\nentirely")
    page = story.report()
    assert "Baseline: not measured yet" in page
    assert "| 21/60 (24.2-47.6%), not counted | retracted |" in page
    assert re.search(r"^- Retracted 2026-\S+ \S+ UTC: another \| host entirely$", page, re.M)


def test_the_standings_of_all_hypotheses_are_one_sentence(story: Story) -> None:
    for slug, standing in (
        ("one", Standing.OPEN),
        ("two", Standing.REFUTED),
        ("three", Standing.LEADING),
        ("four", Standing.SUPPORTED),
    ):
        story.hypothesis(slug)
        story.recorder.set_standing(slug, standing, "seen", "rule")
    story.recorder.set_standing("two", Standing.REFUTED, "I know it", "operator")
    page = story.report()
    assert (
        "Supported: four; leading: three; ruled out: two (set by the operator); open: one.\n"
        in page
    )
    assert "## Standings set by the operator (1)\n\n- 2026-01-05" in page
    assert page.endswith("UTC, two refuted: I know it\n")


def test_while_nothing_leads_the_page_says_so(story: Story) -> None:
    for number in range(9):
        story.hypothesis(f"h{number}")
    assert (
        "No hypothesis is confirmed, supported or leading;"
        " open: h0, h1, h2, h3, h4, h5 and 3 more; nothing is ruled out." in flat(story.report())
    )


def test_thin_counts_rule_nothing_out(story: Story) -> None:
    story.hypothesis("topk-v2", "It picks wrong positions.")
    verdict = Verdict(
        Word.INCONCLUSIVE,
        reasons=("treatment 3/40, 7.5% (2.6-19.9%); baseline 7/40, 17.5% (8.8-32.0%)",),
        still_needed="about 165 trials an arm would settle it four times in five",
    )
    story.run("topk-v2-off", "toggle", [Arm(Counts(3, 37))], ["topk-v2"], verdict)
    page = story.report()
    assert "nothing is ruled out" in page
    assert "refuted" not in page
    told = flat(section(page, "### topk-v2: open"))
    assert (
        "It picks wrong positions. - topk-v2-off-000001 (toggle): inconclusive: treatment" in told
    )
    assert "Still needed: - topk-v2-off: about 165 trials an arm" in told


def test_only_the_newest_need_of_a_playbook_is_told(story: Story) -> None:
    story.hypothesis("h")
    for needed in ("a detector run", "fresh restarts"):
        verdict = Verdict(Word.INCONCLUSIVE, still_needed=needed)
        story.run("probe", "probe", [Arm(Counts(3, 4))], ["h"], verdict)
    told = section(story.report(), "### h: open")
    assert "- probe: fresh restarts" in told
    assert "a detector run" not in told


def test_hypotheses_without_runs_are_told_as_not_tested(story: Story) -> None:
    story.hypothesis("mtp", "It runs past | a call.", "DEMO_MTP=0 works")
    page = story.report()
    assert "| mtp        | open     | none     |      - |        0 |    0.0 s |" in page
    assert "### Not tested yet\n\n- mtp: It runs past | a call.\n" in page
    assert "## Assumptions (1)\n\n- mtp: DEMO_MTP=0 works (nothing relies on it yet)\n" in page


def test_failed_runs_alone_are_no_evidence(story: Story) -> None:
    story.hypothesis("h")
    arm = Arm(Counts(5, 7), effect=None, invalid="reproducer died | exit 3")
    run = story.run("probe", "probe", [arm], ["h"], status="failed", error="no log `decode`")
    page = story.report()
    assert f"| {run} | probe | -      | failed  |" in page
    told = section(page, f"### {run}: failed")
    assert "- Trials: 12 trials not counted: reproducer died | exit 3\n" in told
    assert "- Effect: not read\n" in told
    assert "- Verdict: none\n" in told
    assert "- Status: failed: no log \\`decode\\`, ended 2026-01-05 09:31:01 UTC\n" in told
    assert f"- {run} (probe): failed, does not count: no log \\`decode\\`\n" in page
    assert "Still needed:\n\n- a completed run that tests it\n" in page


def test_an_interrupted_run_asks_for_recovery(story: Story) -> None:
    run = story.run(
        "probe", "probe", [Arm(Counts(1, 2), diffs={"/a": "+x"})], status="running", ended_at=None,
        **NO_OWNER,
    )  # fmt: skip
    page = story.report()
    assert f"**To look after:**\n\n- {run} was interrupted, its process is gone:" in page
    told = section(page, f"### {run}: interrupted")
    assert "- Status: interrupted, its process is gone\n" in told
    assert "- Put back: not known, its process is gone: 'campaign recover' asks the hosts\n" in told
    assert "1/3 (6.1-79.2%), not counted" in page


def test_a_run_under_way_and_a_dirty_one_are_looked_after(story: Story) -> None:
    arm = Arm(Counts(1, 2), diffs={"/a": "+x"})
    running = story.run("baseline", arms=[arm], status="running", ended_at=None)
    dirty = story.run("probe", "probe", [arm], state="dirty")
    page = story.report()
    assert f"- {running} is still running: its trials do not count" in page
    assert f"- {dirty} left the system dirty, not everything could be put back:" in flat(page)
    assert "- Put back: not yet, the run is still under way\n" in page
    assert "- Put back: not everything: 'campaign recover' puts the rest back" in page
    assert f"### {dirty}: no verdict" in page
    assert "| no verdict, dirty |" in page


def test_arms_are_told_apart(story: Story) -> None:
    arms = [
        Arm(Counts(7, 33), "control", diffs={"/both": "+b"}),
        Arm(
            Counts(3, 35, 2),
            "treatment",
            "unproven",
            "worker 12: unreadable\nworker 13: unreadable",
            "env.pre.fill.A\nenv.decode.B\nenv.decode.C\nfile.here:/both",
            {"/both": "+b", "/one": "+o"},
            killed="decode prefill",
        ),
    ]
    run = story.run("ab", "toggle", arms)
    page = story.report()
    told = section(page, f"### {run}")
    assert "| control 7/40, treatment 3/38 |" in page
    assert "- Trials: control: 7/40, 17.5% (8.7-31.9%)\n" in told
    assert "- Trials: treatment: 3/38, 7.9% (2.7-20.8%), 2 censored\n" in told
    assert "- Changed: `/both` on here (control, treatment)\n" in told
    assert "- Changed: `/one` on here (treatment)\n" in told
    assert "- Environment of pre.fill: `A`\n- Environment of decode: `B`, `C`\n" in told
    assert (
        "- Effect: control: effective; treatment: unproven: worker 12: unreadable; worker 13:"
        " unreadable" in flat(told)
    )
    assert "- Restart: killed after its time to stop was over: decode, prefill\n" in told


def test_one_run_for_several_hypotheses_has_one_verdict(story: Story) -> None:
    for slug in ("a", "b", "c"):
        story.hypothesis(slug)
    run = story.run(
        "ab", "toggle", [Arm(Counts(1, 2))], ["a", "b", "c"], Verdict(Word.INCONCLUSIVE)
    )
    story.judge(run, Verdict(Word.INVALID, "not effective", ("it was off",)), "c")
    page = story.report()
    assert "- Verdict on a, b: inconclusive\n- Verdict on c: invalid, not effective\n" in page
    assert f"### {run}: inconclusive; invalid, not effective\n" in page
    assert "A restart shared by several hypotheses counts for each" in page
    assert f"- {run} (toggle): invalid, not effective: it was off\n" in section(page, "### c: open")


def test_a_mismatch_is_told_with_both_shares(story: Story) -> None:
    numbers = {
        "matched": 50, "mismatched": 7, "left_only": 2, "right_only": 1, "duplicate": 1, "lost": 4,
        "fail_mismatch": 6, "fail_match": 1, "pass_match": 30, "uncovered": 3,
    }  # fmt: skip
    story.run("probe", "probe", [Arm(Counts(8, 32))], comparison=numbers)
    assert (
        "- Mismatches: 7 keys mismatched, 50 matched, 2 only on the left, 1 only on the right,"
        " 1 twice on a side; 100% of keys could be compared, log lines lost: 4;"
        " a mismatch in 6/7 failing trials (85.7%, 48.7-97.4%);"
        " a mismatch in 0/30 passing trials (at most 11.4%); 3 trials without such a key"
    ) in flat(story.report())


def test_a_diff_is_shown_once_whole_and_inside_a_longer_fence(story: Story) -> None:
    arm = Arm(Counts(1, 2), diffs={"/a b/`c`.py": "-```old```\n+new\x1b[0m\n"})
    first = story.run("one", "probe", [arm, arm])
    story.run("two", "probe", [arm])
    page = story.report()
    assert page.count("````diff\n-```old```\n+new\ufffd[0m\n````\n") == 1
    assert page.count("- Changed: ``/a b/`c`.py`` on here") == 2
    assert f"on here, as in {first}\n" in page


def test_a_very_long_diff_is_cut_and_says_so(story: Story) -> None:
    diff = "".join(f"+line {number}\n" for number in range(1000))
    run = story.run("one", "probe", [Arm(Counts(1, 2), diffs={"/a": diff})])
    page = story.report()
    assert f"+line 299\n... 700 more lines: 'campaign runs show {run}'\n```" in page


def test_without_prices_there_is_no_money(story: Story) -> None:
    story.recorder.set_campaign("free", "", "")
    story.hypothesis("h")
    page = story.report()
    assert "downtime |\n" in page
    assert "money" not in page


RUNS = st.lists(
    st.tuples(
        st.sampled_from(["baseline", "toggle", "probe", "detector", "fix"]),
        st.sets(st.sampled_from(["a", "b", "c"])),
        st.integers(0, 3),
        st.booleans(),
    ),
    max_size=6,
)


@settings(max_examples=15, deadline=None)
@given(RUNS)
def test_costs_sum_to_the_campaigns(
    tmp_path_factory: pytest.TempPathFactory, runs: list[tuple[str, set[str], int, bool]]
) -> None:
    path = tmp_path_factory.mktemp("costs") / "campaign.db"
    with Recorder.open(path, create=True) as recorder:
        story = Story(recorder)
        for slug in ("a", "b", "c"):
            story.hypothesis(slug)
        for kind, slugs, boots, way_back in runs:
            run = story.run(kind, kind, [Arm(Counts())] * boots, sorted(slugs))
            if way_back:
                story.way_back(run)
        with story.ledger() as ledger:
            costs = collect(ledger).costs
    for parts in (costs.by_run, costs.by_hypothesis, costs.by_kind):
        for name in ("money", "downtime_s", "occupied_s"):
            found = sum(getattr(one.costs, name) for one in parts)
            assert found == pytest.approx(getattr(costs.total, name))
    for parts in (costs.by_run, costs.by_kind):
        assert sum(one.costs.restarts for one in parts) == costs.total.restarts
    assert sum(one.costs.restarts for one in costs.by_hypothesis) >= costs.total.restarts
