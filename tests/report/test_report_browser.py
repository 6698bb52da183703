"""The HTML page in a real browser: headless Chromium, at a desk and on a phone."""

import html
import os
import re
import shutil
import struct
import subprocess
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from report_builders import Story
from report_demo import tell
from test_report_html import OUTLOOK, hostile

from campaign.report.content import collect
from campaign.report.html import page

PHONE_PX = 390
PAPER_PX = 718
PROBE = """<!doctype html><body style="margin:0">
<iframe id="f" style="width:{width}px;height:800px;border:0" srcdoc="{page}"></iframe>
<script>
addEventListener("load", () => {{
  const inner = document.getElementById("f").contentDocument;
  document.body.dataset.width = inner.scrollingElement.scrollWidth;
  document.body.dataset.tables = [...inner.querySelectorAll(".scroll")]
    .every(box => box.getBoundingClientRect().right <= {width});
  document.body.dataset.page = getComputedStyle(inner.body).backgroundColor;
  document.body.dataset.folded = [...inner.querySelectorAll("details > :not(summary)")]
    .filter(one => !one.getBoundingClientRect().height).length;
}});
</script>"""


@pytest.fixture(scope="module")
def browser() -> str:
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    if os.environ.get("CAMPAIGN_REQUIRE_BROWSER"):
        pytest.fail("CAMPAIGN_REQUIRE_BROWSER is set, and there is no Chromium")
    pytest.skip("NOT TESTED: the report in a browser; there is no Chromium")


@pytest.fixture(params=["rich", "hostile"])
def written(request: pytest.FixtureRequest, story: Story) -> Iterator[str]:
    (tell if request.param == "rich" else hostile)(story)
    with story.ledger() as ledger:
        yield page(collect(ledger, outlook=OUTLOOK))


def browse(browser: str, home: Path, file: Path, *options: str) -> str:
    return subprocess.run(
        [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         f"--user-data-dir={home / 'profile'}", *options, file.as_uri()],
        capture_output=True, text=True, check=True, timeout=300,
    ).stdout  # fmt: skip


def grey_levels(png: Path) -> set[bytes]:
    """The different lines of pixels of a picture, as a measure of how much is on it."""
    data = png.read_bytes()
    width, _height, depth, kind = struct.unpack(">IIBB", data[16:26])
    pixels = b"".join(
        data[at + 8 : at + 8 + size]
        for at, size in _chunks(data)
        if data[at + 4 : at + 8] == b"IDAT"
    )
    raw = zlib.decompress(pixels)
    stride = 1 + width * (4 if kind == 6 else 3) * depth // 8
    return {raw[at : at + stride] for at in range(0, len(raw), stride)}


def _chunks(data: bytes) -> Iterator[tuple[int, int]]:
    at = 8
    while at < len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        yield at, size
        at += 12 + size


def test_paper_shows_all_columns_and_what_a_screen_folds_away(
    browser: str, written: str, tmp_path: Path
) -> None:
    """What print changes is put on a screen as wide as a sheet of A4 between its margins."""
    paper = written.replace("@media print", "@media all").replace("@media screen", "@media print")
    assert paper != written
    probe = tmp_path / "probe.html"
    probe.write_text(PROBE.format(width=PAPER_PX, page=html.escape(paper)), encoding="utf-8")
    dom = browse(browser, tmp_path, probe, "--dump-dom", "--blink-settings=preferredColorScheme=0")
    (width,) = re.findall(r'data-width="(\d+)"', dom)
    assert int(width) <= PAPER_PX
    assert 'data-page="rgb(255, 255, 255)"' in dom
    assert 'data-folded="0"' in dom


def test_a_phone_shows_the_page_without_scrolling_sideways(
    browser: str, written: str, tmp_path: Path
) -> None:
    probe = tmp_path / "probe.html"
    probe.write_text(PROBE.format(width=PHONE_PX, page=html.escape(written)), encoding="utf-8")
    dom = browse(browser, tmp_path, probe, "--dump-dom")
    (width,) = re.findall(r'data-width="(\d+)"', dom)
    assert int(width) <= PHONE_PX
    assert 'data-tables="true"' in dom


@pytest.mark.parametrize(("width", "height"), [(1280, 1600), (500, 1600)])
def test_the_page_can_be_seen(
    browser: str, written: str, tmp_path: Path, width: int, height: int
) -> None:
    file, picture = tmp_path / "report.html", tmp_path / "report.png"
    file.write_text(written, encoding="utf-8")
    browse(
        browser, tmp_path, file, f"--screenshot={picture}", f"--window-size={width},{height}",
        "--hide-scrollbars",
    )  # fmt: skip
    assert len(grey_levels(picture)) > 200
