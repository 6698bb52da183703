"""Limits of requests: what is late times out, what is cancelled from outside stays cancelled."""

import asyncio

import pytest

from playbooks.sessions.deadlines import Deadlines


async def limited(deadlines: Deadlines, done: asyncio.Event) -> str:
    try:
        with deadlines.limited():
            await done.wait()
    except TimeoutError:
        return "late"
    return "in time"


def test_what_is_late_times_out_and_the_others_go_on() -> None:
    async def all_of_them() -> list[str]:
        deadlines, done, never = Deadlines(1.0), asyncio.Event(), asyncio.Event()
        late = [asyncio.create_task(limited(deadlines, never)) for _ in range(3)]
        early = asyncio.create_task(limited(deadlines, done))
        await asyncio.sleep(0)
        done.set()
        found = [await early, *await asyncio.gather(*late)]
        deadlines.close()
        return found

    assert asyncio.run(all_of_them()) == ["in time", "late", "late", "late"]


def test_what_is_cancelled_is_not_late() -> None:
    async def one() -> None:
        deadlines = Deadlines(600.0)
        task = asyncio.create_task(limited(deadlines, asyncio.Event()))
        await asyncio.sleep(0)
        task.cancel()
        deadlines.close()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(one())
