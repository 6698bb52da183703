"""The way to an agent on another machine: one channel of an SSH connection.

The only module that knows the SSH library.
"""

import collections
import contextlib
import logging
import shlex
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from playbooks.absent import without
from playbooks.agent.boot import MARK
from playbooks.hosts.bundle import bundle
from playbooks.hosts.connection import HostError
from playbooks.hosts.identities import certificate, public
from playbooks.hosts.known_hosts import HostKey, KnownHosts
from playbooks.hosts.not_started import why_not_started
from playbooks.hosts.proxy import Proxy
from playbooks.hosts.ssh_config import Endpoint, SshTarget, route

with without("invoke"):  # it is for reading ssh's configuration, which `ssh` itself does for us
    import paramiko

CLOSING_LIMIT_S = 20.0
STARTING_LIMIT_S = 30.0
KEEPALIVE_S = 15.0
"""How often a connection is asked whether it lives, and how long it may take to answer."""

_STATUS_LIMIT_S = 2.0
_LAST_LINES = 20
_LAST_BYTES = 8192
_PIECE = 65536

_LIBRARY_ERRORS = (paramiko.SSHException, EOFError, OSError)

logging.getLogger("paramiko").addHandler(logging.NullHandler())  # what matters is raised too


class SshChannel:
    """Starts an agent on another machine, as root where the target says `sudo`.

    The agent's code goes along where the host does not have it yet. `way` are the sshds to pass,
    where they are known: `route(target)`. `replaces` is the pid of our own agent there whose
    connection was lost: it may not have learnt of it, and is told to end, so that its lock can be
    taken. Raises HostError, kinds: "ssh-config", "unreachable", "unknown-key", "changed-key",
    "revoked-key", "auth", "no-sudo", "sudo-password", "sudo-refused",
    "no-python", "start-failed".
    """

    def __init__(
        self, target: SshTarget, way: Sequence[Endpoint] | None = None, *, replaces: int = 0
    ) -> None:
        self._target = target
        self._closing = threading.Event()
        self._stderr = collections.deque[bytes](maxlen=_LAST_LINES)
        self._threads: list[threading.Thread] = []
        self._hops = contextlib.ExitStack()
        try:
            self._endpoint, self._transport = _dial(target, way or route(target), self._hops)
            with _reaching(self._endpoint, STARTING_LIMIT_S):
                self._channel = self._transport.open_session(timeout=STARTING_LIMIT_S)
            self._run_beside(self._drain_stderr)
            self._start_agent(replaces)
            self._run_beside(self._keep_alive)
        except BaseException:
            self._hang_up()
            raise

    def read(self, size: int) -> bytes:
        return self._channel.recv(size)

    def write(self, data: bytes) -> None:
        try:
            self._channel.sendall(data)
        except (paramiko.SSHException, EOFError) as error:
            raise ConnectionResetError(str(error) or "the connection ended") from None

    def close(self) -> None:
        """Closes the agent's input and waits for its end, which takes what it spawned along."""
        with contextlib.suppress(*_LIBRARY_ERRORS):
            self._channel.shutdown_write()
        self._channel.status_event.wait(CLOSING_LIMIT_S)
        self._hang_up()

    def abandon(self) -> None:
        self._hops.close()

    def last_words(self) -> str:
        text = b"".join(self._stderr)[-_LAST_BYTES:].decode("utf-8", "replace")
        return "\n".join(text.splitlines()[-_LAST_LINES:])

    def _hang_up(self) -> None:
        self._closing.set()
        self._hops.close()
        for thread in self._threads:
            thread.join()

    def _run_beside(self, function: Callable[[], None]) -> None:
        thread = threading.Thread(target=function, name=function.__name__, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _drain_stderr(self) -> None:
        """Unread, it would hold up the agent."""
        while piece := self._channel.recv_stderr(_PIECE):
            self._stderr.append(piece)

    def _keep_alive(self) -> None:
        """Hangs up where the host no longer answers: the agent's end may never reach us."""
        while not self._closing.wait(KEEPALIVE_S):
            watch = threading.Timer(KEEPALIVE_S, self._give_up)
            watch.daemon = True
            watch.start()
            try:
                self._transport.global_request("keepalive@openssh.com")
            except _LIBRARY_ERRORS:
                return
            finally:
                watch.cancel()

    def _give_up(self) -> None:
        self._stderr.append(f"nothing came back for {KEEPALIVE_S:.0f} s\n".encode())
        self._transport.close()

    def _start_agent(self, replaces: int) -> None:
        """One round trip where the host has the agent's code, two where it does not."""
        said = _Words(self._channel)
        agent = bundle()
        program = agent.program(self._target.state_dir or "", replaces)
        try:
            self._channel.exec_command(_command(self._target, len(program)))
            with contextlib.suppress(OSError):  # it has ended, and what it said is still to be read
                self._channel.sendall(program)
            word = said.next()
            if word == "send":
                self._channel.sendall(agent.data)
                word = said.next()
        except _LIBRARY_ERRORS:
            word = ""
        if word != "ready":
            raise self._not_started(word, said.chatter)
        self._channel.settimeout(None)

    def _not_started(self, word: str, chatter: str) -> HostError:
        self._channel.status_event.wait(_STATUS_LIMIT_S)
        status = self._channel.exit_status
        self._hang_up()
        said = self.last_words() or chatter
        return why_not_started(self._target, self._endpoint, word, status, said)


class _Words:
    """What the program that starts the agent says, picked from what a login shell prints.

    `chatter` is the last line that the shell printed.
    """

    def __init__(self, channel: paramiko.Channel) -> None:
        self._channel = channel
        self._deadline = time.monotonic() + STARTING_LIMIT_S
        self._rest = b""
        self.chatter = ""

    def next(self) -> str:
        """The next words; none where the output ends. Raises TimeoutError."""
        while True:
            line, newline, rest = self._rest.partition(b"\n")
            if newline:
                self._rest = rest
                if line.startswith(MARK):
                    return line.removeprefix(MARK).decode()
                self.chatter = line.decode("utf-8", "replace").strip() or self.chatter
                continue
            self._channel.settimeout(max(self._deadline - time.monotonic(), 0.001))
            piece = self._channel.recv(_PIECE)
            if not piece:
                return ""
            self._rest = line[-_LAST_BYTES:] + piece


def _command(target: SshTarget, length: int) -> str:
    """For the login shell: Python, to read its program of `length` bytes from its input."""
    sudo = ["sudo", "-n", "--"] if target.sudo else []
    code = f"import sys;exec(sys.stdin.buffer.read({length}))"
    return shlex.join(["exec", *sudo, target.python, "-I", "-S", "-c", code])


def _dial(
    target: SshTarget, way: Sequence[Endpoint], hops: contextlib.ExitStack
) -> tuple[Endpoint, paramiko.Transport]:
    """Connects and logs in, hop by hop; `hops` closes it all, the last hop first."""
    transport: paramiko.Transport | None = None
    *jumps, last = way
    for jump in jumps:
        transport = _pass(jump, transport, target, hops)
    return last, _pass(last, transport, target, hops)


def _pass(
    endpoint: Endpoint,
    through: paramiko.Transport | None,
    target: SshTarget,
    hops: contextlib.ExitStack,
) -> paramiko.Transport:
    limit = target.connect_timeout_s
    known = KnownHosts(endpoint.known_hosts, endpoint.key_name)
    proxy = Proxy(endpoint.proxy_command, hops) if endpoint.proxy_command else None
    with _reaching(endpoint, limit, proxy):
        line = proxy.line if proxy else _line(endpoint, through, limit, hops)
        transport = paramiko.Transport(line)
        hops.callback(transport.close)
        transport.banner_timeout = transport.auth_timeout = limit
        _prefer(transport, known.kinds())
        transport.start_client(timeout=limit)
        key = transport.get_remote_server_key()
    _verify(endpoint, known, HostKey(key.get_name(), key.asbytes()), target.accept_new)
    with _reaching(endpoint, limit):
        _log_in(transport, endpoint)
    return transport


@contextlib.contextmanager
def _reaching(endpoint: Endpoint, limit_s: float, proxy: Proxy | None = None) -> Iterator[None]:
    """Whatever keeps us from a host, as one line."""
    try:
        yield
    except socket.gaierror as error:
        reason = f"its name {endpoint.address} is not known: {error.strerror}"
    except TimeoutError:
        reason = f"no answer within {limit_s:g} s"
    except paramiko.ChannelException as error:
        reason = f"the host before it cannot connect to it: {error.text}"
    except OSError as error:
        reason = error.strerror or str(error)
    except (paramiko.SSHException, EOFError) as error:
        reason = str(error) or "it hung up"
    else:
        return
    reason = (proxy and proxy.complaint()) or reason
    raise HostError("unreachable", f"cannot reach {endpoint.where}: {reason}")


def _line(
    endpoint: Endpoint,
    through: paramiko.Transport | None,
    limit_s: float,
    hops: contextlib.ExitStack,
) -> socket.socket | paramiko.Channel:
    address = (endpoint.address, endpoint.port)
    line: socket.socket | paramiko.Channel
    if through:
        line = through.open_channel("direct-tcpip", address, ("127.0.0.1", 0), timeout=limit_s)
    else:
        line = socket.create_connection(address, limit_s)
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    hops.callback(line.close)
    return line


def _prefer(transport: paramiko.Transport, kinds: tuple[str, ...]) -> None:
    """Asks for a key of a type that we know of this host: any other one would look changed."""
    options = transport.get_security_options()
    wanted = {"ssh-rsa", "rsa-sha2-256", "rsa-sha2-512"} if "ssh-rsa" in kinds else set()
    wanted |= set(kinds)
    options.key_types = sorted(options.key_types, key=lambda kind: kind not in wanted)


def _verify(endpoint: Endpoint, known: KnownHosts, key: HostKey, accept_new: bool) -> None:
    try:
        known.check(key, endpoint.where)
    except HostError as error:
        if error.kind != "unknown-key" or not accept_new:
            raise
        known.add(key, hash_name=endpoint.hash_names)


def _log_in(transport: paramiko.Transport, endpoint: Endpoint) -> None:
    """By the operator's keys. Raises HostError("auth")."""
    refused: list[str] = []
    for name, key in _keys(endpoint, refused):
        try:
            wanted = transport.auth_publickey(endpoint.user, key)
        except paramiko.BadAuthenticationType as error:
            raise _not_let_in(endpoint, f"it takes {', '.join(error.allowed_types)}") from None
        except paramiko.AuthenticationException:
            refused.append(name)
            continue
        except (paramiko.SSHException, EOFError):
            many = f"it hung up after {len(refused) + 1} keys: set IdentityFile and IdentitiesOnly"
            raise _not_let_in(endpoint, many) from None
        if wanted:
            raise _not_let_in(endpoint, f"beside the key it wants {', '.join(wanted)}")
        return
    tried = "; ".join(refused) or "there is no key to try: make one with ssh-keygen"
    raise _not_let_in(endpoint, tried)


def _not_let_in(endpoint: Endpoint, why: str) -> HostError:
    return HostError(
        "auth",
        f"{endpoint.where} does not let {endpoint.user} in ({why}): this has to work without a "
        f"question, {endpoint.by_hand} true",
    )


def _keys(endpoint: Endpoint, refused: list[str]) -> Iterator[tuple[str, paramiko.PKey]]:
    """The keys to try, named: those of the key agent that the configuration names come first.

    A file that cannot be used is added to `refused`, with the reason.
    """
    files = {path: public(path) for path in endpoint.identity_files}
    agent = _KeyAgent(endpoint.identity_agent)
    try:
        held = sorted(agent.get_keys(), key=lambda key: key.asbytes() not in files.values())
        for key in held:
            if key.asbytes() in files.values() or not endpoint.identities_only:
                yield from _offers(f"{key.comment} of the key agent", key, endpoint)
        offered = {key.asbytes() for key in held}
    finally:
        agent.close()
    for path, half in files.items():
        if path.exists() and half not in offered:
            loaded = _load_key(path, refused)
            if loaded:
                yield from _offers(str(path), loaded, endpoint)


def _offers(
    name: str, key: paramiko.PKey, endpoint: Endpoint
) -> Iterator[tuple[str, paramiko.PKey]]:
    """A key, first with its certificate where there is one."""
    found = certificate(key.asbytes(), endpoint.certificates)
    if found:
        key.load_certificate(str(found))
        yield f"{name} with {found}", key
        key.public_blob = None
    yield name, key


class _KeyAgent(paramiko.agent.AgentSSH):
    """The keys of the agent at a socket: none where there is no agent."""

    def __init__(self, path: str | None) -> None:
        super().__init__()
        if path:
            with contextlib.suppress(OSError, paramiko.SSHException):
                connection = socket.socket(socket.AF_UNIX)
                connection.connect(path)
                self._connect(connection)  # type: ignore[attr-defined]

    def close(self) -> None:
        self._close()  # type: ignore[attr-defined]


def _load_key(path: Path, refused: list[str]) -> paramiko.PKey | None:
    try:
        return paramiko.PKey.from_path(path)
    except (paramiko.PasswordRequiredException, TypeError):
        refused.append(f"{path} has a passphrase and no key agent holds it: ssh-add {path}")
    except Exception as error:  # noqa: BLE001 - what a key of another kind raises is not said
        refused.append(f"{path} cannot be used: {str(error) or type(error).__name__}")
    return None
