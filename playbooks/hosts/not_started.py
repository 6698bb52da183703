"""Why an agent did not start on another machine, and what to do about it."""

from playbooks.hosts.connection import HostError
from playbooks.hosts.ssh_config import Endpoint, SshTarget


def why_not_started(
    target: SshTarget, endpoint: Endpoint, word: str, status: int, said: str
) -> HostError:
    """The error for an agent that did not say it is ready, but `word`, if anything.

    `status` is what it ended with, negative where that is not known; `said` is from its standard
    error, where a shell and sudo speak, too. Kinds: "no-python", "no-sudo", "sudo-password",
    "sudo-refused", "start-failed".
    """
    where, python = endpoint.where, target.python
    last_line = said.strip().rpartition("\n")[2].strip()
    if word.startswith("python "):
        return HostError(
            "no-python",
            f"{where}: {python} is Python {word[7:]} and the agent needs 3.8 or newer: install "
            "one there and name it, python: /path/to/python3",
        )
    if target.sudo and status == 127:
        return HostError("no-sudo", f"{where}: there is no sudo there ({last_line}): install it")
    if status in (126, 127) or f"sudo: {python}:" in said:
        return HostError(
            "no-python",
            f"{where}: cannot run {python} ({_about(python, said)}): install Python 3.8 or newer "
            "there, or name it, python: /path/to/python3",
        )
    if last_line.startswith(("sudo:", "Sorry, user")) or "sudoers" in last_line:
        return _sudo_refused(endpoint, last_line)
    ended = f"exit status {status}" if status >= 0 else "no exit status"
    what = f"the agent did not start ({ended}): {said or 'it said nothing'}"
    return HostError("start-failed", f"{where}: {what}")


def _sudo_refused(endpoint: Endpoint, said: str) -> HostError:
    """The line of sudoers that mends it, where one does."""
    where, user = endpoint.where, endpoint.user
    kind, what = "sudo-refused", f"sudo does not let {user} in"
    rule = f"{user} ALL=(root) NOPASSWD: ALL"
    if "password" in said:
        kind, what = "sudo-password", f"{what} without a password"
    elif "tty" in said:
        what, rule = f"{what} without a terminal", f"Defaults:{user} !requiretty"
    elif "not allowed to" not in said and "not in the sudoers" not in said:
        return HostError("no-sudo", f"{where}: sudo does not work there: {said}")
    fix = f"allow it there, visudo -f /etc/sudoers.d/campaign, with the line `{rule}`"
    return HostError(kind, f"{where}: {what} ({said}): {fix}")


def _about(python: str, said: str) -> str:
    """The first line of `said` that names `python`, or the last: advice may follow it."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return next((line for line in lines if python in line), lines[-1] if lines else "nothing said")
