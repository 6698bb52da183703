"""The row of a run, from the playbook that it executes."""

import json

from campaign.engine.session import Session
from campaign.ledger import records
from campaign.ledger.owner import current_owner
from playbooks.playbook import Playbook


def run_row(session: Session, playbook: Playbook, started_at: float) -> records.Run:
    """A run of `playbook` that has just begun, owned by this process."""
    owner = current_owner()
    return records.Run(
        id=session.recorder.new_id(playbook.name),
        batch=session.batch,
        playbook=playbook.name,
        kind=playbook.kind.value,
        question=playbook.question,
        if_true=playbook.if_true,
        if_false=playbook.if_false,
        playbook_text=playbook.text,
        playbook_sha256=playbook.sha256,
        variables=json.dumps(dict(playbook.vars), sort_keys=True),
        command=session.command,
        status="running",
        state="clean",
        started_at=started_at,
        owner_pid=owner.pid,
        owner_start=owner.start,
        owner_boot=owner.boot,
    )
