"""What a recovery did, for people and for programs."""

from collections.abc import Iterator

from campaign.cli.text import lapse_text, when
from campaign.engine.kept import Kept as KeptRun
from campaign.operations.kept import Kept
from campaign.operations.recover import Recovered


def recovered_text(done: Recovered) -> str:
    """What was put back and what is left to do, as a person reads it."""
    return "\n".join(_recovered(done))


def recovered_data(done: Recovered) -> dict[str, object]:
    """The same for programs."""
    return {
        "accepted": [
            {"host": one.host, "path": one.name, "original": one.original, "compare": one.compare}
            for one in done.accepted
        ],
        "restored": done.restored.paths,
        "undone": done.restored.undone,
        "lapses": done.restored.lapses,
        "restarted": [one.services for one in done.restored.cycles],
        "runs": done.runs,
        "remaining": done.remaining,
        "unreached": {
            one.host: {"error": str(one.error), "outstanding": one.paths} for one in done.unreached
        },
        "released": done.released,
        "kept": [kept_data(one) for one in done.stack],
        "note": done.note,
        "unrecorded": done.unrecorded,
    }


def _kept(one: Kept) -> Iterator[str]:
    yield f"kept {one} as it is now"
    if one.original is not None:
        yield f"  its original: {one.original}"
        yield f"  it may still hold what the run had changed; to see: {one.compare}"


def _recovered(done: Recovered) -> list[str]:
    lines = [f"note: {done.note}"] if done.note else []
    lines += [line for one in done.accepted for line in _kept(one)]
    lines += map(lapse_text, done.restored.lapses)
    lines += [f"undid {' '.join(command.split())}" for command in done.restored.undone]
    lines += [f"restored {path}" for path in done.restored.paths]
    for lived in done.restored.cycles:
        if lived.healthy_at is not None:
            lines.append(f"restarted {', '.join(lived.services)}")
    lines += [f"closed run {run}" for run in done.runs]
    lines += [f"{done.released} keeps nothing any more"] if done.released else []
    did_something = len(lines) > bool(done.note)
    if done.remaining:
        lines.append("DIRTY: what is left to do:")
        lines += [f"  - {one}" for one in done.remaining]
    elif done.unreached:
        lines.append("All else was put back." if did_something else "Nothing to recover elsewhere.")
    elif not did_something:
        lines.append("Nothing to recover.")
    elif done.accepted:
        lines.append("Everything else was put back.")
    else:
        lines.append("Everything was put back.")
    lines += [line for one in done.stack for line in kept_lines(one)]
    return lines


def kept_lines(kept: KeptRun) -> Iterator[str]:
    """What a run keeps, and how it is put back."""
    yield f"kept by {kept.id} since {when(kept.kept_at)} ({kept.back} puts it back):"
    for host, path in kept.paths:
        yield f"  {host}:{path.path}{'' if path.as_kept else '  (someone else has changed it)'}"


def kept_data(kept: KeptRun) -> dict[str, object]:
    """The same for programs."""
    return {
        "run": kept.id,
        "playbook": kept.facts.playbook,
        "hypotheses": kept.facts.hypotheses,
        "by": kept.who,
        "since": kept.kept_at,
        "paths": [
            {"host": host, "path": path.path, "as_kept": path.as_kept} for host, path in kept.paths
        ],
        "put_back": kept.back,
    }
