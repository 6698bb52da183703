"""The sessions of `http_sessions.py` by locust's quick client; needs locust and nothing of ours."""

import json
import sys
import time
from pathlib import Path

import gevent
from locust import FastHttpUser, constant, task
from locust.env import Environment
from locust.exception import StopUser

LOAD = json.loads(sys.argv[1])
REQUESTS: list[float] = []


class Person(FastHttpUser):
    """Each drives its sessions, one after another, and stops."""

    host = LOAD["url"]
    wait_time = constant(0)

    @task
    def converse(self) -> None:
        for _ in range(LOAD["sessions"] // LOAD["concurrency"]):
            messages = [{"role": "user", "content": "How is the weather?"}]
            for _ in range(LOAD["rounds"]):
                self.ask(messages)
        raise StopUser

    def ask(self, messages: list[dict[str, object]]) -> None:
        body = {"model": "endless", "seed": 1, "tools": LOAD["tools"], "messages": messages}
        began = time.monotonic()
        answer = self.client.post("/chat/completions", json={**body, "stream": LOAD["stream"]})
        call = "c" if LOAD["stream"] else ""
        message: dict[str, object] = {"role": "assistant", "tool_calls": [{"id": call}]}
        if not LOAD["stream"]:
            message = answer.json()["choices"][0]["message"]
        REQUESTS.append(time.monotonic() - began)
        messages += [message, {"role": "tool", "tool_call_id": call, "content": "ok"}]


def main() -> None:
    environment = Environment(user_classes=[Person])
    runner = environment.create_local_runner()
    began = time.monotonic()
    runner.start(LOAD["concurrency"], spawn_rate=LOAD["concurrency"])
    while len(REQUESTS) < LOAD["sessions"] * LOAD["rounds"]:
        gevent.sleep(0.01)
    measured = {"seconds": time.monotonic() - began, "requests": REQUESTS}
    runner.quit()
    Path(sys.argv[2]).write_text(json.dumps(measured), encoding="utf-8")


if __name__ == "__main__":
    main()
