"""A small OpenAI-compatible endpoint that misbehaves on demand: `python endpoint.py [PORT]`.

What it does goes by the model's name, and by the request's seed where that is `mixed`.
"""

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.request import urlopen

from aiohttp import web

ARGUMENTS = '{"city": "Oslo"}'
LEAK = '<|tool_call|>{"name": "weather", "arguments": {"city": "Oslo"}}'
DELAYS_S = {"slow": 600.0, "delayed": 0.2}
COUNT = web.AppKey("count", list[int])
MIXED = (
    "leak",
    "garbled",
    "mistyped",
    "mute",
    "broken",
    "busy",
    "cut",
    "endless",
    "calls",
    "calls",
)


def behaviour(body: dict[str, Any]) -> str:
    model = str(body["model"])
    return MIXED[body["seed"] % len(MIXED)] if model == "mixed" else model


def message(how: str, body: dict[str, Any]) -> dict[str, Any]:
    """The assistant's whole answer: a call of a tool first, and words once it has a result."""
    results = [one for one in body["messages"] if one["role"] == "tool"]
    if how == "leak":
        return {"role": "assistant", "content": f"One moment. {LEAK}"}
    if how in ("mute", "delayed", "echo"):
        said = body["messages"][-1]["content"] if how == "echo" else "It is fine."
        return {"role": "assistant", "content": said}
    if results and how != "endless":
        return {"role": "assistant", "content": f"It says {results[-1]['content']}."}
    arguments = {"garbled": '{"city": "Os', "mistyped": '{"city": 7}'}.get(how, ARGUMENTS)
    call = {"name": "weather", "arguments": arguments}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": f"c{len(results)}", "type": "function", "function": call}],
    }


def parts(whole: dict[str, Any]) -> list[dict[str, Any]]:
    """The same as the deltas of a stream: content and arguments in pieces of a few letters."""
    said = whole.get("content") or ""
    found: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    found += [{"content": said[at : at + 9]} for at in range(0, len(said), 9)]
    for index, call in enumerate(whole.get("tool_calls", ())):
        function = call["function"]
        begun = {"name": function["name"], "arguments": ""}
        found.append({"tool_calls": [{**call, "index": index, "function": begun}]})
        text = function["arguments"]
        found += [
            {"tool_calls": [{"index": index, "function": {"arguments": text[at : at + 5]}}]}
            for at in range(0, len(text), 5)
        ]
    return found


async def complete(request: web.Request) -> web.StreamResponse:
    request.app[COUNT].append(1)
    body = await request.json()
    how = behaviour(body)
    if how == "keyed" and request.headers.get("authorization") != "Bearer swordfish-swordfish":
        return web.json_response({"error": {"message": "who are you?"}}, status=401)
    if how == "busy":
        return web.json_response({"error": {"message": "too many"}}, status=503)
    await asyncio.sleep(DELAYS_S.get(how, 0.0))
    whole = message(how, body)
    room = {"x-room": f"room-{body['seed']}"}
    if body.get("stream"):
        return await _stream(request, how, whole, room)
    choice = {"index": 0, "message": whole, "finish_reason": "stop"}
    answer = {"id": f"room-{body['seed']}", "choices": [choice]}
    if how == "echo":
        answer["headers"] = dict(request.headers)
    return web.json_response(answer, headers=room)


async def _stream(
    request: web.Request, how: str, whole: dict[str, Any], headers: dict[str, str]
) -> web.StreamResponse:
    response = web.StreamResponse(headers={"content-type": "text/event-stream", **headers})
    await response.prepare(request)
    events = [
        json.dumps({"id": headers["x-room"], "choices": [{"delta": d}]}) for d in parts(whole)
    ]
    if how == "cut":
        await response.write(f"data: {events[0]}\n\n".encode())
        assert request.transport
        request.transport.abort()
        return response
    events[1:2] = ['{"choices": [{"del'] if how == "broken" else events[1:2]
    text = "".join(f"data: {event}\n\n" for event in (*events, "[DONE]"))
    await response.write(text.encode())
    await response.write_eof()
    return response


async def count(request: web.Request) -> web.Response:
    """How many requests there were."""
    return web.json_response(len(request.app[COUNT]))


async def serve(port: int) -> None:
    app = web.Application()
    app[COUNT] = []
    app.router.add_post("/v1/chat/completions", complete)
    app.router.add_get("/count", count)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, backlog=4096)
    await site.start()
    print(json.dumps({"port": runner.addresses[0][1]}), flush=True)
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    await stopped.wait()


def count_at(port: int) -> int:
    """How many requests the endpoint at that port has had."""
    with urlopen(f"http://127.0.0.1:{port}/count", timeout=30) as answer:
        return int(answer.read())


@contextmanager
def running() -> Iterator[int]:
    """The port of an endpoint in a process of its own."""
    process = subprocess.Popen([sys.executable, __file__], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    with process:
        try:
            yield int(json.loads(process.stdout.readline())["port"])
        finally:
            process.terminate()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]) if len(sys.argv) > 1 else 0))
