"""Whoever is to be told how a run ended, and plans that are confirmed for a time."""

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from toy import Toy

FAILING = """\
name: failing
kind: fix
question: Does it fail?
steps:
  - patch: {root: src, diff: patches/fix.diff}
  - restart: {services: [app]}
  - command: {do: [sh, -c, "echo key $TOKEN; exit 3"], undo: ["true"]}
"""
TOKEN = "hush-hush-hush"


@pytest.fixture
def posted() -> Iterator[tuple[str, list[dict[str, object]]]]:
    """An address, and what was posted there."""
    told: list[dict[str, object]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/hook?key=x", told
    server.shutdown()
    server.server_close()


def added(toy: Toy, text: str) -> None:
    with (toy.root / "campaign.yaml").open("a", encoding="utf-8") as file:
        file.write(text)


def test_a_command_and_a_url_are_told_how_a_run_ended(
    toy: Toy, posted: tuple[str, list[dict[str, object]]]
) -> None:
    url, told = posted
    added(toy, "secrets: {TOKEN: {env: TOY_TOKEN}}\n")
    added(toy, "notify:\n  - {command: 'cat > told.json; env > told.env'}\n")
    added(toy, f'  - {{url: "{url}", when: [failed, dirty]}}\n')
    added(toy, "  - {command: 'echo nobody home >&2; exit 9', when: [finished]}\n")
    toy.playbook("failing", FAILING)
    failed = toy.run("run", "failing", "-y", TOY_TOKEN=TOKEN)
    assert failed.returncode == 3, failed.stderr
    (message,) = told
    assert (message["ended"], message["exit"], message["campaign"]) == ("failed", 3, "toy")
    assert "exited 3: key [redacted]" in str(message["text"])
    assert json.loads((toy.root / "told.json").read_text("utf-8")) == message
    for name in ("told.json", "told.env"):
        assert TOKEN not in (toy.root / name).read_text("utf-8")
    done = toy.run("run", "baseline", "-y", "-e", "trials=5", TOY_TOKEN=TOKEN)
    assert done.returncode == 0, "that nobody could be told fails no run"
    assert "/bin/sh was not told: it exited 9: nobody home" in done.stderr
    assert len(told) == 1
    finished = json.loads((toy.root / "told.json").read_text("utf-8"))
    assert finished["ended"] == "finished"
    assert finished["runs"][0]["status"] == "completed"


def test_a_url_that_does_not_answer_is_told_without_its_key(toy: Toy) -> None:
    added(toy, 'notify: [{url: "http://127.0.0.1:1/hook?key=x"}]\n')
    done = toy.run("run", "baseline", "-y", "-e", "trials=5")
    assert done.returncode == 0
    assert "127.0.0.1:1 was not told: " in done.stderr
    assert "key=x" not in done.stderr


def test_a_confirmation_covers_these_plans_for_a_time(toy: Toy) -> None:
    added(toy, "protected: true\n")
    assert toy.run("hypothesis", "import", str(toy.root / "hypotheses.yaml")).returncode == 0
    alone = toy.run("run", "fix", "--for", "2h")
    assert alone.returncode == 2
    assert "--for says how long --yes-i-mean NAME holds" in alone.stderr
    few = ("-e", "trials=5")
    first = toy.run("run", "baseline", "fix", *few, "--yes-i-mean", "toy", "--for", "2h")
    assert first.returncode == 0, first.stderr
    assert "Confirmed until " in first.stderr
    covered = toy.run("run", "fix", *few)
    assert covered.returncode == 0, covered.stderr
    assert "Confirmed by " in covered.stderr
    for words in (("fix", "-e", "trials=6"), ("safe-mode", *few), ("fix", "safe-mode", *few)):
        other = toy.run("run", *words)
        assert other.returncode == 6, words
        assert "add --yes-i-mean toy to run it" in other.stderr
    with closing(sqlite3.connect(toy.root / "campaign.db")) as ledger, ledger:
        kept = ledger.execute("SELECT playbook, until - given_at FROM confirmation").fetchall()
        ledger.execute("UPDATE confirmation SET until = given_at")
    assert kept == [("baseline", 7200.0), ("fix", 7200.0)]
    assert toy.run("run", "fix", *few).returncode == 6, "its time is over"
