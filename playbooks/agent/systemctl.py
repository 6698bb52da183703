"""Asks systemd's manager, of the system or of the agent's user, through systemctl."""

import os
import subprocess
from typing import Dict, List, Sequence

from playbooks.agent import subtree
from playbooks.agent.session import VerbError

_LIMIT_S = 90.0
_NO_SYSTEMD = "is not there: this host is not run by systemd"


def environment() -> Dict[str, str]:
    """What systemd's own commands are run with: plain words, no pager, the user's manager."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", f"/run/user/{os.getuid()}")
    words = {"LC_ALL": "C", "SYSTEMD_COLORS": "0", "SYSTEMD_PAGER": "", "SYSTEMD_LESS": ""}
    return {**subtree.base_environment(), **words, "XDG_RUNTIME_DIR": runtime}


def run(argv: Sequence[str], limit_s: float = _LIMIT_S) -> "subprocess.CompletedProcess[bytes]":
    """Runs one of systemd's commands. Errors: "no-systemd", "systemd"."""
    try:
        return subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
            cwd="/",
            timeout=limit_s,
            check=False,
        )
    except FileNotFoundError:
        raise VerbError("no-systemd", f"{argv[0]} {_NO_SYSTEMD}") from None
    except subprocess.TimeoutExpired:
        words = " ".join(argv)
        raise VerbError("systemd", f"{words} did not answer within {limit_s:g} s") from None


class Manager:
    """The system's manager, or with `user` the one of the user that the agent runs as."""

    def __init__(self, *, user: bool) -> None:
        self.user = user
        self._argv = ["systemctl", "--no-ask-password", *(["--user"] if user else [])]

    def show(self, unit: str, names: Sequence[str]) -> Dict[str, str]:
        """Properties of a unit, "" of the manager; those with several lines have them all."""
        target = ["--", unit] if unit else []
        said = self.call("show", f"--property={','.join(names)}", *target)
        found: Dict[str, List[str]] = {name: [] for name in names}
        for line in said.splitlines():
            name, _, value = line.partition("=")
            if name in found:
                found[name].append(value)
        return {name: "\n".join(values) for name, values in found.items()}

    def call(self, verb: str, *arguments: str) -> str:
        """Runs a verb of systemctl; what it prints. Errors: "denied", "systemd"."""
        done = run([*self._argv, verb, *arguments])
        if done.returncode == 0:
            return done.stdout.decode("utf-8", "replace")
        said = done.stderr.decode("utf-8", "replace").strip().replace("\n", " ")
        raise self._refusal(f"systemctl {verb}", said or f"exit {done.returncode}")

    def _refusal(self, what: str, said: str) -> VerbError:
        if "Interactive authentication required" in said or "Access denied" in said:
            return VerbError("denied", f"{what}: not permitted; say sudo: true for this host")
        if "Failed to connect to bus" in said or "not been booted with systemd" in said:
            fix = "the host is not run by systemd, or not for us"
            if self.user:
                fix = f"user {os.getuid()} has no manager of its own: loginctl enable-linger"
            return VerbError("no-systemd", f"{what}: {fix} ({said})")
        return VerbError("systemd", f"{what}: {said}")
