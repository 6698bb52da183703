"""Verbs that look before anything is done: who the agent is here, and what it could do."""

import os
import pwd
import re
import stat
from typing import Any, Dict, List, Optional, Tuple

from playbooks.agent import lock
from playbooks.agent.places import place
from playbooks.agent.session import Handler, Session

Reply = Tuple[Dict[str, Any], bytes]

_INTERPRETER = re.compile(r"(python|(ba|da|z|k)?sh|perl|ruby|node)[0-9.]*\Z")
_SCRIPT = re.compile(r"[^-].*\.(py|sh|bash|pl|rb|js|mjs)\Z")
_NO_SCRIPT = frozenset(["-c", "-m", "-e"])


def survey(session: Session, _request: Dict[str, Any], _body: bytes) -> Reply:
    """Whom the agent runs as, who holds the host's lock, and the disk that the journal goes to.

    `obstacle`: why no journal can be kept there. `free_bytes` and `free_files` are what is left
    for us; a file system that counts no files has None.
    """
    uid, existing = os.geteuid(), _existing(session.state_dir)
    disk = os.statvfs(existing)
    header = {
        "uid": uid,
        "user": _name(uid),
        "holder": lock.holder(session.state_dir),
        "state_dir": session.state_dir,
        "free_bytes": disk.f_bavail * disk.f_frsize,
        "free_files": disk.f_favail if disk.f_files else None,
        "obstacle": _refused(existing),
    }
    return header, b""


def obstacle(_session: Session, request: Dict[str, Any], _body: bytes) -> Reply:
    """Why `path` below `root` could not be replaced; empty where nothing is seen to prevent it.

    The file is not opened: what watches it sees nothing. Errors: those of `place`.
    """
    with place(request["root"], request["path"]) as at:
        return {"obstacle": _refused(_existing(os.path.dirname(at.where))) or _kept(at.where)}, b""


def changed(_session: Session, request: Dict[str, Any], _body: bytes) -> Reply:
    """When each of `paths` was last written, in seconds since the epoch; None: no such file."""
    return {"changed": [_written(path) for path in request["paths"]]}, b""


def lacking(_session: Session, request: Dict[str, Any], _body: bytes) -> Reply:
    """What is not there to start each of `commands` (argv, cwd, PATH): [why, path], or None."""
    return {"lacking": [_lack(*command) for command in request["commands"]]}, b""


def _lack(argv: List[str], cwd: str, path: Optional[str]) -> Optional[Tuple[str, str]]:
    if not os.path.isdir(cwd):
        return f"there is no folder {cwd}", cwd
    where = os.path.normpath(os.path.join(cwd, argv[0]))
    if "/" not in argv[0]:
        import shutil

        where = shutil.which(argv[0], path=path or os.environ.get("PATH")) or ""
        if not where:
            return f"there is no program {argv[0]} in PATH", argv[0]
    if not os.path.isfile(where):
        return f"there is no program {where}", where
    if not os.access(where, os.X_OK):
        return f"{where} may not be run: chmod +x", where
    script = os.path.normpath(os.path.join(cwd, _script(argv)))
    return None if os.path.exists(script) else (f"there is no file {script}", script)


def _script(argv: List[str]) -> str:
    """The file that an interpreter is to run, as far as it can be told; else none."""
    if not _INTERPRETER.match(os.path.basename(argv[0])):
        return ""
    for word in argv[1:]:
        if word in _NO_SCRIPT:
            return ""
        if _SCRIPT.match(word):
            return word
    return ""


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _existing(folder: str) -> str:
    """The folder, or the nearest one above it that is there."""
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return folder


def _refused(folder: str) -> str:
    """Why nothing can be put into this folder."""
    if os.access(folder, os.W_OK | os.X_OK):
        return ""
    if os.statvfs(folder).f_flag & os.ST_RDONLY:
        return f"{folder} is on a read-only file system"
    return f"{_name(os.geteuid())} may not write in {folder}"


def _kept(where: str) -> str:
    """Why this file cannot give way to another one with its owner."""
    try:
        found = os.lstat(where)
    except FileNotFoundError:
        return ""
    if stat.S_ISLNK(found.st_mode):
        return f"it is a link to {os.path.realpath(where)}"
    if not stat.S_ISREG(found.st_mode):
        return f"{where} is no regular file"
    if os.geteuid() == 0:
        return "" if os.access(where, os.W_OK) else f"{where} is immutable (lsattr)"
    if found.st_uid != os.geteuid():
        return f"{where} belongs to {_name(found.st_uid)}, and only root could leave it so"
    return ""


def _written(path: str) -> Optional[float]:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_mtime if stat.S_ISREG(found.st_mode) else None


VERBS: Dict[str, Handler] = {
    "survey": survey,
    "obstacle": obstacle,
    "changed": changed,
    "lacking": lacking,
}
