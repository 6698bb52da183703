"""The toy workspace with its service on several hosts: a replica each, all of them this machine.

A host is called after the loopback address that its replica listens on, and has a folder and a
state directory of its own.
"""

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import toy

HOSTS = ("127.0.0.2", "127.0.0.3", "127.0.0.4")

CAMPAIGN = """\
campaign: toy
symptom: every fifth trial fails while the bug is in
hosts:
{hosts}
services:
  app:
    hosts: [{names}]
    process:
      command: >-
        test "$MODE$(cat broken 2>/dev/null)" != safeyes &&
        ADDRESS={{{{ host }}}} exec {python} -S -B src/app.py
      cwd: "srv/{{{{ host }}}}"
    env: {{via: env_file, path: "srv/{{{{ host }}}}/env/app.env"}}
    health: [{{http: "http://{{{{ host }}}}:{port}/health", timeout: 20s, settle: 20ms}}]
    stop_timeout: 5s
    {more}
reproducers:
  trials:
    command: [{python}, -S, repro.py, "{port}", "{{{{ trials }}}}"]
    env: {{ADDRESS: {first}}}
    on: {first}
    timeout: 2m
    on_timeout: censored
    trials: "{{{{ trials }}}}"
    parse: {{jsonl: {{outcome: outcome, key: key, fail: [bad], pass: [good]}}}}
cost: {{currency: USD, downtime_per_hour: 3600, occupied_per_hour: 360}}
"""

PLAYBOOK = """\
name: {name}
hypothesis: {hypothesis}
kind: {kind}
question: {question}
vars: {{trials: 10}}
steps:
{steps}
  - restart: {{services: [app]{batch}}}
  - reproduce: {{use: trials}}
"""


@dataclass
class Replicated(toy.Toy):
    """A workspace whose service `app` has a replica on each of `hosts`."""

    hosts: tuple[str, ...] = HOSTS

    def folder(self, host: str) -> Path:
        return self.root / "srv" / host

    def state(self, host: str) -> Path:
        return self.root / ".campaign" / host

    def break_on(self, host: str) -> None:
        """The replica there does not come up in safe mode."""
        (self.folder(host) / "broken").write_text("yes")

    def modes(self) -> dict[str, str]:
        """What each replica says its mode is."""
        return {host: self.ask_at(host, "/env") for host in self.hosts}

    def ask_at(self, host: str, path: str) -> str:
        """What the replica on a host answers right now."""
        from urllib.request import urlopen

        with urlopen(f"http://{host}:{self.port}{path}", timeout=5) as answer:
            return str(answer.read().decode())

    def files(self) -> dict[str, bytes]:
        """What the playbooks change, on all hosts."""
        found = sorted((self.root / "srv").rglob("*"))
        kept = [one for one in found if one.is_file() and "__pycache__" not in one.parts]
        return {str(one.relative_to(self.root)): one.read_bytes() for one in kept}


def make(folder: Path, *, more: str = "", hosts: tuple[str, ...] = HOSTS) -> Replicated:
    """The workspace in `folder`; `more` are lines of its service."""
    made = Replicated(folder, 0, hosts=hosts)
    toy.fill(made)
    for host in hosts:
        for part in ("src", "env"):
            shutil.copytree(folder / part, folder / "srv" / host / part)
    locals_ = (f"  {host}: {{local: true, state_dir: .campaign/{host}}}" for host in hosts)
    text = CAMPAIGN.format(
        hosts="\n".join(locals_),
        names=", ".join(hosts),
        first=hosts[0],
        python=sys.executable,
        port=made.port,
        more=more,
    )
    (folder / "campaign.yaml").write_text(text)
    made.playbook("rolling", _playbook("rolling", "mode", ENV, ", batch: 1"))
    made.playbook("at-once", _playbook("at-once", "mode", ENV, ""))
    made.playbook("patched", _playbook("patched", "rule", PATCH, ", batch: 2"))
    for left in ("fix", "safe-mode", "baseline"):
        (folder / "playbooks" / f"{left}.yaml").unlink()
    return made


ENV = "  - env: {services: [app], set: {MODE: safe}, removes: [mode]}"
PATCH = (
    '  - patch: {services: [app], root: "srv/{{ host }}/src", diff: patches/fix.diff,'
    " removes: [rule]}"
)


def _playbook(name: str, hypothesis: str, change: str, batch: str) -> str:
    return PLAYBOOK.format(
        name=name, hypothesis=hypothesis, kind="toggle", question="Does it fail without it?",
        steps=change, batch=batch,
    )  # fmt: skip
