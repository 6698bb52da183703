"""The router: an OpenAI-compatible front that gives each request a room on prefill and decode."""

import contextlib
import itertools
import time

import prompt
from service import Call, Json, RequestError, log, post, serve, setting

MODEL = "demo-pd"


class Router:
    def __init__(self) -> None:
        self._prefill, self._decode = setting("PREFILL_URL"), setting("DECODE_URL")
        # Rooms start from the clock, so that a restart does not use one again.
        self._rooms = itertools.count(time.time_ns() // 1_000_000 * 100_000)

    def complete(self, body: Json) -> Json:
        """POST /v1/chat/completions, with the room added to the answer."""
        if body.get("stream"):
            raise RequestError(400, "streaming is not offered: leave out stream")
        asked = prompt.render(body)
        room = str(next(self._rooms))
        reply = self._dispatch({**body, "room": room})
        log(f"router room={room} tokens={reply['tokens']}")
        return _completion(room, len(asked.tokens), reply)

    def _dispatch(self, request: Json) -> Json:
        """Decode gets the request at once and waits there for prefill's word."""
        with contextlib.closing(Call(self._decode, "/decode", request)) as answer:
            post(self._prefill, "/prefill", request)
            return answer.result()


def _completion(room: str, prompt_tokens: int, reply: Json) -> Json:
    calls = [
        {"id": f"call_{room}_{number}", "type": "function", "function": call}
        for number, call in enumerate(reply["tool_calls"])
    ]
    message = {"role": "assistant", "content": reply["content"], "tool_calls": calls}
    reason = "tool_calls" if calls else "stop"
    return {
        "id": f"chatcmpl-{room}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": MODEL,
        "room": room,
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": reply["tokens"],
            "total_tokens": prompt_tokens + reply["tokens"],
        },
    }


if __name__ == "__main__":
    serve("router", {"/v1/chat/completions": Router().complete})
