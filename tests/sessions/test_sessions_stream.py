"""A stream of an answer, cut anywhere, gives the same message."""

import json
from itertools import pairwise

import pytest
from endpoint import message, parts
from hypothesis import given
from hypothesis import strategies as st

from playbooks.sessions.message import Assembly, Malformed, Message
from playbooks.sessions.sse import Events

BODY = {"messages": [{"role": "user", "content": "Wetter in Ås? 🌦"}], "model": "", "seed": 1}
ENDS = ("\n", "\r\n", "\r")


def stream(how: str, end: str) -> bytes:
    """What an endpoint sends, with a comment, an event's name, and data over two lines."""
    events = [json.dumps({"choices": [{"delta": one}]}) for one in parts(message(how, BODY))]
    halved = events[0].replace(": [", f": [{end}data: ", 1)
    lines = [": hello", "", "event: part", f"data: {halved}", ""]
    lines += [line for event in events[1:] for line in (f"data:{event}", "")]
    return "\ufeff".encode() + end.join([*lines, "data: [DONE]", "", ""]).encode()


def read(chunks: list[bytes]) -> tuple[Message, list[str]]:
    events, assembly = Events(), Assembly()
    data = [one for chunk in chunks for one in events.feed(chunk)]
    data += events.finish()
    for one in data:
        if one != "[DONE]":
            assembly.add(json.loads(one))
    return assembly.message(), data


@given(st.sampled_from(["calls", "echo", "leak"]), st.sampled_from(ENDS), st.data())
def test_any_split_of_the_bytes_gives_the_same_message(
    how: str, end: str, data: st.DataObject
) -> None:
    raw = stream(how, end)
    whole, events = read([raw])
    assert events[-1] == "[DONE]"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=40)))
    split = [raw[start:stop] for start, stop in pairwise([0, *cuts, len(raw)])]
    assert read(split) == (whole, events)


@pytest.mark.parametrize("how", ["calls", "echo", "leak", "garbled"])
def test_a_stream_says_what_the_whole_answer_says(how: str) -> None:
    whole = Assembly()
    whole.add({"choices": [{"message": message(how, BODY)}]})
    streamed, _ = read([stream(how, "\n")])
    assert streamed == whole.message()
    assert streamed.content or streamed.calls


def test_an_answer_without_choices_is_told_from_one_that_says_nothing() -> None:
    usage, silent = Assembly(), Assembly()
    assert not usage.add({"choices": [], "usage": {"total_tokens": 7}})
    assert not silent.add({"choices": [{"message": {"role": "assistant", "content": ""}}]})
    assert (usage.has_choices, silent.has_choices) == (False, True)


def test_the_last_event_counts_without_its_empty_line() -> None:
    events = Events()
    assert events.feed(b"data: 1\n\ndata: 2") == ["1"]
    assert events.finish() == ["2"]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ([], "not a JSON object"),
        ({"error": {"message": "out of memory"}}, "an error: out of memory"),
        ({"object": "chat.completion"}, "no list of choices"),
        ({"choices": [{"delta": {"tool_calls": ["weather"]}}]}, "a tool call"),
    ],
)
def test_an_answer_that_is_none_says_why(answer: object, said: str) -> None:
    with pytest.raises(Malformed, match=said):
        Assembly().add(answer)


def test_calls_of_a_stream_are_told_apart_by_their_index() -> None:
    assembly = Assembly()
    for index, text in ((1, "{"), (0, '{"a"'), (1, "}"), (0, ": 1}")):
        call = {"index": index, "function": {"name": "", "arguments": text}}
        assembly.add({"choices": [{"delta": {"tool_calls": [call]}}]})
    assert [one.arguments for one in assembly.message().calls] == ['{"a": 1}', "{}"]
