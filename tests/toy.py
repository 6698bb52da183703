"""A workspace whose system is one small service, quick to start and right or wrong on demand."""

import hashlib
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import forked
from ports import free_port

SOURCE = Path(__file__).parent / "toy"
CAMPAIGN = [sys.executable, "-m", "campaign.cli"]


@dataclass
class Toy:
    """A copy of the toy workspace, with a port of its own."""

    root: Path
    port: int
    env: dict[str, str] = field(default_factory=dict)

    def command(self, *arguments: str) -> list[str]:
        return [*CAMPAIGN, "--workspace", str(self.root), *arguments]

    def run(
        self, *arguments: str, stdin: str | None = None, **env: str
    ) -> subprocess.CompletedProcess[str]:
        """The command to its end, in a forked process."""
        words = ["--workspace", str(self.root), *arguments]
        with TemporaryDirectory(prefix="command-") as folder:
            ended = forked.start(
                words, Path(folder, "command"), {**os.environ, **self.env, **env}, stdin or ""
            ).wait(120)
            return subprocess.CompletedProcess(words, ended.code, ended.out, ended.err)

    def start(self, *arguments: str, **env: str) -> subprocess.Popen[str]:
        """The command as a user types it, under way in a process of its own."""
        return subprocess.Popen(
            self.command(*arguments),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **self.env, **env},
        )

    def playbook(self, name: str, text: str) -> None:
        (self.root / "playbooks" / f"{name}.yaml").write_text(text, encoding="utf-8")

    def tree(self) -> dict[str, tuple[str, int, int]]:
        """The files that playbooks change: hash, mode and modification time of each."""
        found = {}
        for folder in ("src", "env"):
            for path in sorted((self.root / folder).rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    state = path.stat()
                    digest = hashlib.sha256(path.read_bytes()).hexdigest()
                    where = str(path.relative_to(self.root))
                    found[where] = (digest, state.st_mode & 0o7777, state.st_mtime_ns)
        return found

    def journal(self) -> list[str]:
        """Whatever the host still keeps for putting back."""
        host = self.root / ".campaign" / "host"
        found = (path.relative_to(host) for path in host.rglob("*") if path.is_file())
        return sorted(str(path) for path in found if path.parts[0] not in ("lock", "services"))

    def ask(self, path: str) -> str:
        """What the service answers right now."""
        from urllib.request import urlopen

        with urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
            return str(answer.read().decode())


def make(folder: Path) -> Toy:
    """Copies the toy workspace into `folder`."""
    made = Toy(folder, 0)
    fill(made)
    return made


def fill(made: Toy) -> None:
    """Copies the toy workspace into the folder of `made`, and gives it a port of its own."""
    shutil.copytree(SOURCE, made.root)
    made.port = free_port(made)
    for path in (made.root / "campaign.yaml", made.root / "env" / "app.env"):
        text = path.read_text(encoding="utf-8")
        text = text.replace("@PORT@", str(made.port)).replace("@PYTHON@", sys.executable)
        path.write_text(text, encoding="utf-8")
