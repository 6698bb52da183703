"""The floor of `http_sessions.py`: the same requests by aiohttp alone, nothing kept."""

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

import aiohttp


async def converse(
    client: aiohttp.ClientSession, load: dict[str, Any], number: int, requests: list[float]
) -> None:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "How is the weather?"}]
    own = {"model": "endless", "seed": number, "tools": load["tools"], "stream": load["stream"]}
    for _ in range(load["rounds"]):
        began = time.monotonic()
        body = {**own, "messages": messages}
        async with client.post(f"{load['url']}/chat/completions", json=body) as answer:
            if load["stream"]:
                await answer.read()
                message: dict[str, Any] = {"role": "assistant", "tool_calls": [{"id": "c"}]}
            else:
                message = (await answer.json())["choices"][0]["message"]
        requests.append(time.monotonic() - began)
        result = {"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "ok"}
        messages += [message, result]


async def drive(load: dict[str, Any]) -> dict[str, Any]:
    numbers = iter(range(load["sessions"]))
    requests: list[float] = []

    async def lane(client: aiohttp.ClientSession) -> None:
        for number in numbers:
            await converse(client, load, number, requests)

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as client:
        began = time.monotonic()
        await asyncio.gather(*(lane(client) for _ in range(load["concurrency"])))
        return {"seconds": time.monotonic() - began, "requests": requests}


if __name__ == "__main__":
    measured = asyncio.run(drive(json.loads(sys.argv[1])))
    Path(sys.argv[2]).write_text(json.dumps(measured), encoding="utf-8")
