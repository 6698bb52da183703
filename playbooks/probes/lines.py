"""The lines of the checksum probe, as regular expressions of both engines."""

import re

from playbooks.probes.checksum_probe import as_word

DROPPED = r"checksum_probe .*\bpid=(?P<key>\d+) dropped=(?P<value>[1-9][0-9]*)"
"""Finds a process that has dropped something (`key`), and how much so far (`value`)."""

IMPORTED = "checksum_probe imported "
"""Finds a process that imported the probe, switched on."""


def checkpoint(name: str, side: str) -> str:
    """Finds the groups `key` and `value` of a checkpoint: what the call was given, its CRC-32."""
    where = f"name={re.escape(as_word(name))} side={re.escape(as_word(side))}"
    return rf"checksum_probe {where} key=(?P<key>\S*) crc32=(?P<value>[0-9a-f]{{8}}) "
