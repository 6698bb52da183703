"""Where a host is and how to get in, as the operator's own `ssh` would.

The `ssh` program itself reads its configuration (`ssh -G`): Include, Match, tokens and defaults
mean here what they mean there.
"""

import getpass
import os
import re
import shlex
import shutil
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from playbooks.hosts.connection import HostError
from playbooks.hosts.identities import beside

_READ_LIMIT_S = 30.0

_Options = Mapping[str, Sequence[str]]


class SshTarget(Struct, frozen=True):
    """A host to be reached by SSH: `name` is an address or an alias of the configuration.

    What is None is left to the configuration. `python` runs the agent, as root by `sudo`;
    `state_dir` None: the usual place. `accept_new` takes the key of a host that is not known.
    `config` None: the operator's own file.
    """

    name: str
    user: str | None = None
    port: int | None = None
    sudo: bool = False
    python: str = "python3"
    state_dir: str | None = None
    accept_new: bool = False
    connect_timeout_s: float = 10.0
    config: Path | None = None


class Endpoint(Struct, frozen=True):
    """One sshd and how to get in there. `known_hosts`: the first is the one that is added to.

    `asked` is the name the operator knows it by, `key_name` the name its key is known under;
    `certificates` are where those of the identity files may be.
    """

    asked: str
    address: str
    port: int
    user: str
    key_name: str
    identity_files: tuple[Path, ...]
    certificates: tuple[Path, ...]
    identities_only: bool
    identity_agent: str | None
    known_hosts: tuple[Path, ...]
    hash_names: bool
    proxy_command: str | None
    config: Path | None

    @property
    def by_hand(self) -> str:
        """How a person logs in there."""
        return _by_hand(self.config, self.port, self.user, self.asked)

    @property
    def where(self) -> str:
        """For people: user, name, and the address where that is another."""
        place = self.address if self.port == 22 else f"{self.address}:{self.port}"
        suffix = "" if place == self.asked else f" ({place})"
        return f"{self.user}@{self.asked}{suffix}"


def by_hand(target: SshTarget) -> str:
    """What a person types to log in there by the same configuration."""
    return _by_hand(target.config, target.port, target.user, target.name)


def _by_hand(config: Path | None, port: int | None, user: str | None, name: str) -> str:
    by = ["-F", str(config)] if config is not None else []
    at = ["-p", str(port)] if port not in (None, 22) else []
    return shlex.join(["ssh", *by, *at, f"{user}@{name}" if user else name])


def route(target: SshTarget) -> tuple[Endpoint, ...]:
    """The sshds to pass, in order; the last one is the target's.

    Raises HostError("ssh-config") where the configuration cannot be read, or its ProxyJumps go
    round in a circle.
    """
    return tuple(_hops(target, None, ()))


def _hops(target: SshTarget, jumps: Sequence[str] | None, seen: tuple[str, ...]) -> list[Endpoint]:
    """With `jumps` None by those that the configuration has for the target."""
    if target.name in seen:
        circle = " -> ".join((*seen, target.name))
        raise HostError("ssh-config", f"ProxyJump goes round in a circle: {circle}")
    options = _options(target)
    if jumps is None:
        jumps = [jump for jump in ",".join(options.get("proxyjump", ())).split(",") if jump]
    endpoint = _endpoint(target, options)
    if not jumps:
        return [endpoint]
    before = _hops(_jump(target, jumps[-1]), jumps[:-1] or None, (*seen, target.name))
    return [*before, replace(endpoint, proxy_command=None)]


def _jump(target: SshTarget, text: str) -> SshTarget:
    """A hop, from [user@]host[:port]; an IPv6 address with a port is in brackets."""
    user, _, rest = text.removeprefix("ssh://").rpartition("@")
    found = re.fullmatch(r"\[(.+)\](?::(\d+))?|([^:]+)(?::(\d+))?", rest)
    bracketed, port, host, other_port = found.groups() if found else (None, None, rest, None)
    number = port or other_port
    return replace(
        target, name=bracketed or host, user=user or None, port=int(number) if number else None
    )


def _options(target: SshTarget) -> _Options:
    """What `ssh -G` says: the values of each keyword, which is in lower case."""
    program = shutil.which("ssh")
    if program is None:
        raise HostError(
            "ssh-config", "there is no `ssh` here to read its configuration: install openssh-client"
        )
    command = [program, "-G", *_arguments(target), "--", target.name]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_READ_LIMIT_S,
            encoding="utf-8",
            errors="surrogateescape",
            check=False,
        )
    except subprocess.TimeoutExpired:
        said = f"it took longer than {_READ_LIMIT_S:.0f} s"
        raise HostError("ssh-config", f"`{shlex.join(command)}` failed: {said}") from None
    if done.returncode != 0:
        said = " ".join(done.stderr.split())
        raise HostError("ssh-config", f"`{shlex.join(command)}` failed: {said}")
    options: dict[str, list[str]] = {}
    for line in done.stdout.splitlines():
        keyword, _, value = line.partition(" ")
        if value != "none" or keyword == "identityagent":
            options.setdefault(keyword, []).append(value)
    return options


def _arguments(target: SshTarget) -> list[str]:
    given = [("-F", target.config), ("-l", target.user), ("-p", target.port)]
    return [part for flag, what in given if what is not None for part in (flag, str(what))]


def _endpoint(target: SshTarget, options: _Options) -> Endpoint:
    tokens = _tokens(target, options)
    address, port = tokens["h"], int(tokens["p"])
    usual_name = address.lower() if port == 22 else f"[{address.lower()}]:{port}"
    own = (_one(options, "userknownhostsfile") or os.devnull).split()
    known = own + (_one(options, "globalknownhostsfile") or "").split()
    command = _one(options, "proxycommand")
    agent = _one(options, "identityagent")
    identities = tuple(_path(each, tokens) for each in options.get("identityfile", ()))
    named = tuple(_path(each, tokens) for each in options.get("certificatefile", ()))
    return Endpoint(
        asked=target.name,
        address=address,
        port=port,
        user=tokens["r"],
        key_name=_one(options, "hostkeyalias") or usual_name,
        identity_files=identities,
        certificates=(*named, *map(beside, identities)),
        identities_only=_one(options, "identitiesonly") == "yes",
        identity_agent=_agent(agent, tokens),
        known_hosts=tuple(_path(each, tokens) for each in known),
        hash_names=_one(options, "hashknownhosts") == "yes",
        proxy_command=_expanded(command, tokens) if command else None,
        config=target.config,
    )


def _one(options: _Options, keyword: str) -> str | None:
    return next(iter(options.get(keyword, ())), None)


def _tokens(target: SshTarget, options: _Options) -> dict[str, str]:
    """What stands for %h and its like; see TOKENS in ssh_config(5)."""
    address = _one(options, "hostname") or target.name
    machine = socket.gethostname()
    return {
        "%": "%",
        "d": str(Path.home()),
        "h": address,
        "i": str(os.getuid()),
        "k": _one(options, "hostkeyalias") or target.name,
        "L": machine.partition(".")[0],
        "l": machine,
        "n": target.name,
        "p": _one(options, "port") or "22",
        "r": _one(options, "user") or getpass.getuser(),
        "u": getpass.getuser(),
    }


def _expanded(text: str, tokens: Mapping[str, str]) -> str:
    return re.sub("%(.)", lambda found: tokens.get(found[1], found[0]), text)


def _path(text: str, tokens: Mapping[str, str]) -> Path:
    return Path(os.path.expandvars(_expanded(text, tokens))).expanduser()


def _agent(text: str | None, tokens: Mapping[str, str]) -> str | None:
    """The socket of the operator's key agent, or None."""
    if text in (None, "SSH_AUTH_SOCK"):
        return os.environ.get("SSH_AUTH_SOCK") or None
    return None if text == "none" else str(_path(str(text), tokens))
