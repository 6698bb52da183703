"""How many checkpoints the checksum probe could not log, as its own lines tell."""

from collections import Counter

import polars as pl

from playbooks.join.blocks import Source
from playbooks.join.rows import rows
from playbooks.playbook import RowSpec
from playbooks.probes.lines import DROPPED


def dropped(source: Source) -> int:
    """The sum over the processes of a log: each line tells the number of its process so far.

    Errors: what `source` raises on reading.
    """
    most: Counter[str] = Counter()
    for frame in rows(source, RowSpec(DROPPED)):
        told = frame.group_by("key").agg(pl.col("value").cast(pl.UInt64, strict=False).max())
        most |= Counter({pid: count or 0 for pid, count in told.iter_rows()})
    return most.total()
