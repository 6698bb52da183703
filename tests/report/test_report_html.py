"""The HTML page, parsed: what hostile texts become, and what readers of all kinds rely on."""

import os
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest
from report_builders import Arm, Story
from report_demo import tell

from campaign.report.content import collect
from campaign.report.html import page
from campaign.report.outlook import Outlook, Proposal
from hypotheses.hypothesis import Hypothesis
from hypotheses.observation import Counts
from hypotheses.verdict import Verdict, Word

GOLD = Path(__file__).parent / "gold" / "campaign.html"
HOSTILE = "</pre><script>alert('x')</script><b onclick=\"y\">&amp;</b>\x1b[31m{{ 7*7 }}"
OUTLOOK = Outlook(
    restarts=6,
    parts={"idxk-transfer": 0.9991, "topk-v2": 0.0004},
    none=0.0005,
    epochs=("sentinel-back-000037",),
    proposals=(Proposal("topk-v2-off", ("topk-v2",), 60, 75.0, 1.2, False, 0.3),),
    notes=("99.9% that idxk-transfer is the cause",),
)
VOID = {"meta", "link", "br", "hr", "img", "input", "use"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    path: tuple[str, ...]
    text: str = ""


@dataclass
class Page(HTMLParser):
    """A page's elements in their order, each with the text right in it."""

    elements: list[Element] = field(default_factory=list)
    open: list[Element] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(
            tag, {name: value or "" for name, value in attrs}, tuple(one.tag for one in self.open)
        )
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open[-1].tag == tag, f"</{tag}> while <{self.open[-1].tag}> is open"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.text += data

    def all(self, *tags: str) -> list[Element]:
        return [one for one in self.elements if one.tag in tags]


def parsed(text: str) -> Page:
    found = Page()
    found.feed(text)
    found.close()
    assert not found.open
    return found


def told(story: Story, outlook: Outlook = OUTLOOK) -> str:
    with story.ledger() as ledger:
        return page(collect(ledger, outlook=outlook))


def hostile(story: Story) -> None:
    """A campaign in which everything that somebody may have written is hostile."""
    story.begin(HOSTILE, HOSTILE)
    story.recorder.add_hypothesis(
        Hypothesis(
            "a<b>\"'&#",
            HOSTILE,
            HOSTILE,
            assumptions=(HOSTILE,),
            links=("javascript:alert(1)", 'https://example.org/?a=1&b="><script>'),
        )
    )
    verdict = Verdict(Word.INVALID, HOSTILE, (HOSTILE,), {"against": HOSTILE}, HOSTILE)
    arm = Arm(
        Counts(3, 5), "<i>arm</i>", "unproven", HOSTILE, f"env.app.{HOSTILE}",
        {f"/srv/{HOSTILE}": f"--- a\n+++ b\n+{HOSTILE}\n"},
    )  # fmt: skip
    run = story.run(
        "play<b>", "probe", [arm], ["a<b>\"'&#"], verdict, conditions={HOSTILE: HOSTILE},
        playbook_text=HOSTILE, command=HOSTILE, question=HOSTILE, error=HOSTILE, status="failed",
    )  # fmt: skip
    story.recorder.retract(run, HOSTILE)


def test_the_page_of_a_rich_campaign_is_told_as_in_the_gold_file(story: Story) -> None:
    tell(story)
    text = re.sub(r"<svg.*?</svg>", "<svg></svg>", told(story), flags=re.DOTALL)
    text = re.sub(r"<style>.*?</style>", "<style></style>", text, flags=re.DOTALL)
    if os.environ.get("UPDATE_GOLD"):
        GOLD.write_text(text, encoding="utf-8")
    assert text == GOLD.read_text(encoding="utf-8"), "UPDATE_GOLD=1 rewrites the gold file"


@pytest.mark.parametrize("write", [tell, hostile, lambda _story: None])
def test_whatever_is_told_the_page_is_whole_and_can_be_walked(story: Story, write: object) -> None:
    write(story)  # type: ignore[operator]
    found = parsed(told(story))
    ids = [one.attributes["id"] for one in found.elements if "id" in one.attributes]
    assert len(ids) == len(set(ids))
    assert all(re.fullmatch(r"[\w.-]+", one) for one in ids)
    targets = [one.attributes["href"] for one in found.all("a")]
    assert {one[1:] for one in targets if one.startswith("#")} <= set(ids)
    for attribute in ("aria-labelledby", "xlink:href"):
        named = " ".join(one.attributes.get(attribute, "") for one in found.elements)
        assert {one.removeprefix("#") for one in named.split()} <= set(ids), attribute
    levels = [int(one.tag[1]) for one in found.all("h1", "h2", "h3", "h4", "h5", "h6")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_tables_and_plots_speak_to_those_who_do_not_see_them(story: Story) -> None:
    tell(story)
    found = parsed(told(story))
    assert len(found.all("caption")) == len(found.all("table")) > 8
    assert all(one.attributes.get("scope") in ("row", "col") for one in found.all("th"))
    boxes = [one for one in found.elements if one.attributes.get("class") == "scroll"]
    assert all(one.attributes["aria-label"] and one.attributes["tabindex"] == "0" for one in boxes)
    titles = [one.text for one in found.all("title") if "svg" in one.path]
    assert titles == [
        "Difference of 3 runs to what they were held against",
        "Failure rate after each of 7 restarts, and what was spent by then",
    ]
    assert all(one.attributes["role"] == "img" for one in found.all("svg"))
    assert "sentinel-after-transfer-000030: 0/60 (at most 6.0%)" in found.all("desc")[1].text
    (html,) = found.all("html")
    assert html.attributes["lang"] == "en"


def test_hostile_texts_are_shown_and_never_mean_anything(story: Story) -> None:
    hostile(story)
    text = told(story)
    found = parsed(text)
    assert not found.all("script", "iframe", "object", "img", "b", "i", "form")
    attributes = {name for one in found.elements for name in one.attributes}
    assert not {name for name in attributes if name.startswith("on")}
    outside = [one.attributes["href"] for one in found.all("a")]
    assert [one for one in outside if not one.startswith("#")] == [
        'https://example.org/?a=1&b="><script>'
    ]
    shown = HOSTILE.replace("\x1b", "\ufffd")
    assert found.all("h1")[0].text == shown
    assert "javascript:alert(1)" in text
    assert "\x1b" not in text
    assert sum(shown in one.text for one in found.all("dd", "li", "p", "pre", "td")) > 12


def test_the_plots_take_the_colours_of_the_page_and_are_always_the_same(story: Story) -> None:
    tell(story)
    text = told(story)
    assert text == told(story)
    plots = "".join(re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL))
    assert not re.findall(r"#[0-9a-fA-F]{6}\b", plots)
    assert set(re.findall(r"var\((--[\w-]+)\)", plots)) <= set(re.findall(r"(--[\w-]+):", text))
    for word in ("nothing changed", "toggle", "probe", "detector", "the baseline's rate moved"):
        assert re.search(rf"<text[^>]*>{word}</text>", plots), word


def test_a_long_campaign_tells_its_newest_runs(story: Story) -> None:
    for number in range(7):
        story.run(f"run{number}", arms=[Arm(Counts(1, 3))])
    with story.ledger() as ledger:
        text = page(collect(ledger, most=5))
    assert "The newest 5 are told here; 2 older runs not" in text
    assert ">run1-" not in re.sub(r"<table>.*?</table>", "", text, flags=re.DOTALL)
    assert "It took 7 runs" in text
