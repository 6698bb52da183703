"""A window on a file: the same lines as the whole file has, whichever way it was come by."""

from pathlib import Path

import pytest

from campaign.tui import window as module
from campaign.tui.window import Line, Window, find


def texts(window: Window) -> list[str]:
    return [line.text for line in window.lines]


def check(window: Window, data: bytes) -> None:
    """Each line is what the file has at that place, up to the next end of a line."""
    for line in window.lines:
        assert line.at == 0 or data[line.at - 1 : line.at] == b"\n"
        whole = data[line.at :].partition(b"\n")[0]
        assert whole.endswith(line.data) or window.end < line.at + len(whole)
    if window.lines:
        assert window.start == window.lines[0].at


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of few lines and bytes, so that short files have edges."""
    monkeypatch.setattr(module, "MOST_LINES", 7)
    monkeypatch.setattr(module, "CHUNK", 64)
    monkeypatch.setattr(module, "LONGEST", 20)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("step", [1, 3, 10, 61, 200])
def test_following_a_file_that_grows_shows_its_last_lines(tmp_path: Path, step: int) -> None:
    path, data = tmp_path / "log", b"".join(b"%d%s\n" % (n, b"x" * (n % 9)) for n in range(120))
    window = Window(path)
    for end in (*range(step, len(data), step), len(data)):
        path.write_bytes(data[:end])
        window = window.follow()
        check(window, data[:end])
        assert window.at_end
        assert len(window.lines) <= 7
    assert texts(window)[-3:] == data.decode().splitlines()[-3:]


@pytest.mark.usefixtures("small")
def test_paging_back_and_forth_passes_every_line(tmp_path: Path) -> None:
    path, lines = tmp_path / "log", [f"line {n}" for n in range(100)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    window, seen = Window(path).follow(), set[str]()
    while window.start:
        seen.update(texts(window))
        before, window = window, window.earlier()
        assert before.lines[0] in window.lines, "there is no gap"
        check(window, path.read_bytes())
    back = set[str]()
    while not window.at_end:
        back.update(texts(window)[:-1])
        window = window.later()
        check(window, path.read_bytes())
    assert set(lines) == seen | set(texts(Window(path).around(0))) == back | set(texts(window))


@pytest.mark.usefixtures("small")
def test_what_is_searched_is_the_whole_file(tmp_path: Path) -> None:
    path, data = (
        tmp_path / "log",
        b"needle\n" + b"hay\n" * 200 + b"a NEEDLE here\n" + b"hay\n" * 200,
    )
    path.write_bytes(data)
    second = data.index(b"NEEDLE")
    assert find(path, "needle", len(data), backwards=True) == second
    assert find(path, "needle", second, backwards=True) == 0
    assert find(path, "needle", 0, backwards=True) is None
    assert find(path, "needle", 1) == second
    assert find(path, "needle", second + 1) is None
    for place in range(len(data)):
        there = Window(path).around(place)
        check(there, data)
        line = there.lines[there.index(place)]
        assert line.at <= place <= line.at + len(line.data)
    there = Window(path).around(second)
    assert there.lines[there.index(second)].text == "a NEEDLE here"


@pytest.mark.usefixtures("small")
def test_a_file_that_became_shorter_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("one\ntwo\n", encoding="utf-8")
    window = Window(path).follow()
    path.write_text("new\n", encoding="utf-8")
    assert texts(window.follow()) == ["new"]
    path.unlink()
    assert texts(window.follow()) == []


@pytest.mark.usefixtures("small")
def test_of_a_line_without_an_end_only_its_end_is_kept(tmp_path: Path) -> None:
    path, window = tmp_path / "log", Window(tmp_path / "log")
    with path.open("ab") as file:
        for number in range(300):
            file.write(b"%03d," % number)
            file.flush()
            window = window.follow()
            assert sum(len(line.data) for line in window.lines) <= 20
    assert texts(window)[-1].endswith("299,")


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        (b"10%\r55%\r100%\r", "100%"),
        (b"\x1b[31mred\x1b[0m [bold]as it is[/bold]", "red [bold]as it is[/bold]"),
        (b"\x1b]0;title\x07text\x07", "text\ufffd"),
        ("weiß 漢字 e\u0301".encode(), "weiß 漢字 e\u0301"),
        (b"bytes \xff\xfe", "bytes \ufffd\ufffd"),
        (b"a\tb", "a       b"),
    ],
)
def test_what_a_line_shows_drives_no_terminal(raw: bytes, shown: str) -> None:
    assert Line(0, raw).text == shown
