"""Files that a playbook lays into a service, to be called from its code."""

from pathlib import Path


def file(probe: str) -> Path:
    """The one file of a probe, by the probe's name in a patch step."""
    return Path(__file__).with_name(f"{probe}_probe.py")
