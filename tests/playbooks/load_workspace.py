"""A valid workspace, and the means to break it in one place."""

from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from playbooks.language.json_schema import json_schemas
from playbooks.language.load import LoadError, load_playbook, load_system
from playbooks.language.marks import read
from playbooks.playbook import Playbook
from playbooks.system import System

ENVIRON = {"API_KEY": "correct horse battery"}
SCHEMAS = {name: Draft202012Validator(one) for name, one in json_schemas().items()}
SLUGS = ("idxk-transfer", "topk-v2")

CAMPAIGN = """\
campaign: pd-toolcalls
symptom: tool-call markup leaks into assistant content under load
hosts:
  here: {local: true}
services:
  prefill:
    host: here
    process: {command: [python, prefill.py], cwd: system}
    env: {via: env_file, path: env/prefill.env}
    health:
      - {http: "http://127.0.0.1:30000/health", expect: 200, timeout: 300s, settle: 2s}
    ports: [30000]
  decode:
    process: {command: exec python decode.py}
    env: {via: env_file, path: env/decode.env}
    health: [{tcp: "127.0.0.1:30001"}, {log: ready}, {command: [test, -e, up]}]
    stop_timeout: 5s
  router:
    process: {command: [python, router.py], log_max_bytes: 10MB, log_keep: 2}
restart_groups: [[prefill, decode]]
reproducers:
  agent-sessions:
    command: [python, repro.py, --sessions, "{{ sessions }}", --rounds, "{{ rounds }}"]
    on: here
    timeout: 15m
    on_timeout: censored
    trials: "{{ sessions }}"
    parse: {counts: {fail: [leak], pass: [done, maxrounds]}}
  bisect:
    command: ./once.sh
    env: {SEED: "{{ seed }}"}
    timeout: 1m30s
    on_timeout: fail
    crash_is: fail
cost: {currency: USD, downtime_per_hour: 400, occupied_per_hour: 38.4}
protected: true
secrets: {API_KEY: {env: API_KEY}}
record_env: [CUDA_VISIBLE_DEVICES]
"""

PLAYBOOK = """\
name: idxk-checksum
hypothesis: idxk-transfer
kind: probe
question: Is the buffer the same on both sides?
predicts:
  if_true: rooms of corrupted sessions differ
  if_false: every room matches
vars: {sessions: 40, rounds: 3}
steps:
  - name: instrument both engines
    patch: {host: here, diff: patches/idxk.diff, root: system}
  - name: switch the checksum log on
    env: {services: [prefill, decode], set: {IDXK_CKSUM: "1"}}
  - restart: {services: [prefill, decode]}
  - reproduce: {use: agent-sessions}
  - collect: {services: [prefill, decode]}
  - compare:
      left: {log: prefill, match: 'room=(?P<key>\\d+) sum=(?P<value>[0-9a-f]+)'}
      right: {log: decode, match: 'room=(?P<key>\\d+) sum=(?P<value>[0-9a-f]+)'}
verdict: {by: mismatch, min_coverage: 95%}
"""


def edited(text: str, *changes: tuple[str, str]) -> str:
    """`text` with each `old` (which must be there) replaced once by its `new`."""
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new, 1)
    return text


class Workspace:
    """A workspace folder with a campaign, a patch to apply and a file to upload.

    Whatever loads here has to be what its JSON Schema allows.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "patches").mkdir()
        (root / "patches" / "idxk.diff").write_text("")
        (root / "patches" / "new.py").write_text("")
        self.config = root / "campaign.yaml"
        self._system = self.system()

    def system(self, text: str | bytes = CAMPAIGN, environ: dict[str, str] = ENVIRON) -> System:
        self.config.write_bytes(text.encode() if isinstance(text, str) else text)
        found = load_system(self.config, environ)
        SCHEMAS["campaign"].validate(read(self.config).root.plain())
        return found

    def playbook(
        self,
        text: str | bytes = PLAYBOOK,
        *,
        system: System | None = None,
        variables: dict[str, str] | None = None,
        playbooks: tuple[str, ...] = (),
    ) -> Playbook:
        path = self.root / "playbook.yaml"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        found = load_playbook(
            path,
            system or self._system,
            hypotheses=SLUGS,
            variables=variables or {},
            playbooks=playbooks,
        )
        SCHEMAS["playbook"].validate(read(path).root.plain())
        return found

    def campaign_problems(self, *changes: tuple[str, str]) -> list[str]:
        """What is said of the campaign after these changes: `line:column: what` each."""
        with pytest.raises(LoadError) as caught:
            self.system(edited(CAMPAIGN, *changes))
        return said(caught.value)

    def playbook_problems(self, *changes: tuple[str, str], text: str = PLAYBOOK) -> list[str]:
        """What is said of the playbook after these changes: `line:column: what` each."""
        with pytest.raises(LoadError) as caught:
            self.playbook(edited(text, *changes))
        return said(caught.value)


def said(error: LoadError) -> list[str]:
    return [f"{one.line}:{one.column}: {one.what}" for one in error.problems]
