"""What can be wrong with any output: an error or a warning in every format, never a clean run."""

from collections import Counter
from itertools import chain, pairwise, zip_longest

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parsers_samples import SAMPLES, Sample

from hypotheses.observation import Trial, count
from playbooks.parsers import FORMATS, ExitInfo, ParseError, make

ENDED = ExitInfo(0)
TRACE = b"Traceback (most recent call last):\nOSError: gone\n"

every = pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES.keys())


def outcome(
    sample: Sample, *chunks: bytes, planned: int | None = None, exit: ExitInfo = ENDED
) -> tuple[Counter[Trial], tuple[str, ...] | str]:
    """The trials, and the warnings or the error."""
    parser, trials = make(sample.spec), list[Trial]()
    try:
        for chunk in chunks:
            trials += parser.feed(chunk)
        parsed = parser.finish(exit, planned)
    except ParseError as error:
        return Counter(trials), str(error)
    return Counter([*trials, *parsed.trials]), parsed.warnings


def clean(sample: Sample) -> Counter[Trial]:
    trials, said = outcome(sample, sample.text.encode())
    assert said == ()
    return trials


def test_there_is_a_sample_of_every_format() -> None:
    assert {sample.spec.format for sample in SAMPLES.values()} == {*FORMATS} - {"exit"}


@every
def test_a_clean_output_is_read_as_it_stands(sample: Sample) -> None:
    counts = count(clean(sample).elements())
    assert (counts.fail, counts.passed, counts.censored) == (sample.fail, sample.passed, 0)


@every
def test_an_empty_output_is_an_error(sample: Sample) -> None:
    for text in (b"", b"\n\n", b"connecting\nSUCCESS\n"):
        trials, said = outcome(sample, text)
        assert not trials
        assert isinstance(said, str)
        assert "no trials" in said


@every
def test_windows_line_ends_change_nothing(sample: Sample) -> None:
    trials, said = outcome(sample, sample.text.replace("\n", "\r\n").encode())
    assert trials == clean(sample)
    assert any("carriage return" in one for one in said)


@every
def test_a_progress_bar_changes_nothing(sample: Sample) -> None:
    trials, said = outcome(sample, b" 10%|#   |\r 90%|### |\r" + sample.text.encode())
    assert trials == clean(sample)
    assert any("carriage return" in one for one in said)


@every
def test_colours_change_nothing(sample: Sample) -> None:
    lines = [f"\x1b[1m{line[:7]}\x1b[32m{line[7:]}\x1b[0m" for line in sample.text.splitlines()]
    trials, said = outcome(sample, "\n".join(lines).encode())
    assert trials == clean(sample)
    assert any("colour codes" in one for one in said)


@every
def test_bytes_that_are_no_text_are_told(sample: Sample) -> None:
    trials, said = outcome(sample, b"caf\xe9\n" + sample.text.encode())
    assert trials == clean(sample)
    assert any("not UTF-8" in one for one in said)


@every
def test_a_stack_trace_after_success_is_told(sample: Sample) -> None:
    trials, said = outcome(sample, sample.text.encode() + b"SUCCESS\n" + TRACE)
    assert trials == clean(sample)
    assert any("a stack trace" in one for one in said)


@every
def test_a_program_that_dies_is_an_error(sample: Sample) -> None:
    for exit in (ExitInfo(127), ExitInfo(137), ExitInfo(signal=9)):
        _, said = outcome(sample, sample.text.encode(), exit=exit)
        assert isinstance(said, str)


@every
def test_the_same_run_twice_is_told(sample: Sample) -> None:
    _, said = outcome(sample, (sample.text * 2).encode(), planned=sample.trials)
    assert said


@every
def test_two_runs_mixed_line_by_line_are_told(sample: Sample) -> None:
    lines = sample.text.splitlines(keepends=True)
    mixed = "".join(chain.from_iterable(zip_longest(lines, ["\n", *lines], fillvalue="")))
    _, said = outcome(sample, mixed.encode(), planned=sample.trials)
    assert said


@every
def test_an_output_that_is_cut_off_anywhere_is_told(sample: Sample) -> None:
    whole = clean(sample)
    data = sample.text.encode()
    for end in range(len(data)):
        trials, said = outcome(sample, data[:end], planned=sample.trials)
        assert said or trials == whole, data[:end]


@every
def test_a_stop_leaves_what_was_complete(sample: Sample) -> None:
    whole = clean(sample)
    data = sample.text.encode()
    for end in range(0, len(data), 7):
        trials, said = outcome(sample, data[:end], exit=ExitInfo(signal=15, stopped=True))
        assert not isinstance(said, str), said
        assert len([*trials.elements()]) <= whole.total()


@every
@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_damage_and_chunks_give_one_result_in_one_line(sample: Sample, data: st.DataObject) -> None:
    text = bytearray(sample.text.encode())
    for place in data.draw(st.lists(st.integers(0, len(text) - 1), max_size=4)):
        text[place] = data.draw(st.sampled_from(b'\n\r \x1b{}"<0\xff'))
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=5))
    chunks = [bytes(text[a:b]) for a, b in pairwise([0, *sorted(cuts), len(text)])]
    trials, said = outcome(sample, bytes(text))
    assert outcome(sample, *chunks) == (trials, said)
    assert not isinstance(said, str) or len(said.splitlines()) == 1
