"""The ways that `cycle.py` compares: each goes through the same cycle on all hosts of a fleet."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import venv
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cycle_hosts import DIFF, UNIT, Fleet, Target

ROOT = Path(__file__).parents[1]
QUICK = "MODE=quick"
HEALTHY = "until curl --fail --silent --output /dev/null {url}; do sleep 0.05; done"


class Peer(ABC):
    """One way; `cycle` goes through it once and raises where it fails."""

    name: str

    def __init__(self, folder: Path, fleet: Fleet) -> None:
        self.folder, self.fleet = folder, fleet

    @abstractmethod
    def cycle(self) -> None: ...


def succeed(command: list[str], given: str = "", cwd: Path | None = None, **environ: str) -> None:
    """Runs a command, in `cwd` if it is given. Raises SystemExit with what it said if it fails."""
    inherited = {**os.environ, **environ}
    inherited.pop("PYTHONDONTWRITEBYTECODE", None)  # installed commands have theirs written
    done = subprocess.run(
        command, input=given, capture_output=True, text=True, env=inherited, cwd=cwd, check=False
    )
    if done.returncode:
        raise SystemExit(f"{shlex.join(command)}: {done.stdout[-2000:]}{done.stderr[-2000:]}")


class Floor(Peer):
    """The same as plain shell, through one ssh a host, all hosts at once; nothing is checked."""

    name = "floor"

    def cycle(self) -> None:
        with ThreadPoolExecutor(len(self.fleet.targets)) as pool:
            list(pool.map(self._through, self.fleet.targets))

    def _through(self, target: Target) -> None:
        ssh = ["ssh", "-F", str(self.fleet.ssh_config), target.name, "sh -e"]
        succeed(ssh, self._script(target))

    def _script(self, target: Target) -> str:
        lines = [
            f"cd {target.there}",
            "cp -a src base",
            f"patch --silent --strip=1 --directory=src <<'EOF'\n{DIFF}EOF",
            *_environment(target),
            *_restart(target),
            "true",
            "rm -r src",
            "mv base src",
            *_environment_back(target),
            *_restart(target),
        ]
        return "\n".join([*lines, ""])


def _environment(target: Target) -> list[str]:
    if target.unit:
        section = f"[Service]\\nEnvironment={QUICK}\\n"
        return [f"mkdir {target.dropins}", f"printf '{section}' >{target.dropins}/bench.conf"]
    return ["cp -a app.env app.env.base", f"sed -i s/MODE=plain/{QUICK}/ app.env"]


def _environment_back(target: Target) -> list[str]:
    return [f"rm -r {target.dropins}"] if target.unit else ["mv app.env.base app.env"]


def _restart(target: Target) -> list[str]:
    restart = ["./service.sh stop", "./service.sh start"]
    if target.unit:
        restart = ["systemctl daemon-reload", f"systemctl restart {UNIT}"]
    return [*restart, HEALTHY.format(url=target.url)]


class Campaign(Peer):
    """Ours, with journal, proof, checks and ledger."""

    name = "campaign"

    def __init__(self, folder: Path, fleet: Fleet) -> None:
        super().__init__(folder, fleet)
        self.workspace = folder / "workspace"
        self.describe()
        self.succeed(self.command("hypothesis", "add", "pace", "--claim", "it is slow"))

    def describe(self, python: str = "/usr/bin/python3") -> None:
        """Writes the workspace; `python` is what starts the agents."""
        (self.workspace / "playbooks").mkdir(parents=True, exist_ok=True)
        (self.workspace / "patches").mkdir(exist_ok=True)
        (self.workspace / "patches/pace.diff").write_text(DIFF)
        targets = self.fleet.targets
        first = targets[0].name
        files = {
            "campaign.yaml": {
                "campaign": "bench",
                "symptom": "a cycle takes its time",
                "hosts": {one.name: self._host(one, python) for one in targets},
                "services": {f"app-{one.name}": _service(one) for one in targets},
                "reproducers": {
                    "nothing": {
                        "command": ["true"], "on": first, "cwd": "/",
                        "timeout": "1m", "on_timeout": "censored",
                    }
                },
            },
            "playbooks/cycle.yaml": {
                "name": "cycle",
                "kind": "probe",
                "hypothesis": "pace",
                "question": "How long does it take?",
                "predicts": {"if_true": "long", "if_false": "not long"},
                "steps": _steps(targets),
            },
        }  # fmt: skip
        for name, content in files.items():
            (self.workspace / name).write_text(json.dumps(content))

    def _host(self, target: Target, python: str) -> dict[str, str]:
        return {
            "ssh": target.name,
            "config": str(self.fleet.ssh_config),
            "python": python.format(there=target.there),
            "state_dir": f"{target.there}/.state",
        }

    def command(self, *arguments: str) -> list[str]:
        program = [sys.executable, "-m", "campaign.cli", "--workspace", str(self.workspace)]
        return [*program, *arguments]

    def succeed(self, command: list[str]) -> None:
        """Runs a command on this tree's code; what Python compiles of it goes aside."""
        aside = str(self.folder / "compiled")
        succeed(command, PYTHONPATH=str(ROOT), PYTHONPYCACHEPREFIX=aside)

    def cycle(self) -> None:
        self.succeed(self.command("run", "cycle", "-y"))


def _service(target: Target) -> dict[str, object]:
    health = [{"http": target.url, "timeout": "1m"}]
    common = {"host": target.name, "health": health, "ports": [target.http]}
    if target.unit:
        return {**common, "systemd": f"{UNIT}.service", "env": {"via": "dropin"}}
    verbs = {verb: f"./service.sh {verb}" for verb in ("start", "stop", "status")}
    command = {**verbs, "pids": "cat pid", "cwd": target.there, "log": f"{target.there}/log"}
    env = {"via": "env_file", "path": f"{target.there}/app.env"}
    return {**common, "command": command, "env": env}


def _steps(targets: tuple[Target, ...]) -> list[dict[str, object]]:
    services = [f"app-{one.name}" for one in targets]
    patches: list[dict[str, object]] = [
        {
            "name": f"patch {one.name}",
            "patch": {"host": one.name, "diff": "patches/pace.diff", "root": f"{one.there}/src"},
        }
        for one in targets
    ]
    return [
        *patches,
        {"name": "be quick", "env": {"services": services, "set": {"MODE": "quick"}}},
        {"name": "restart", "restart": {"services": services}},
        {"name": "look", "reproduce": {"use": "nothing"}},
    ]


class _Installed(Peer):
    """A tool of its own, in a virtual environment that goes with the folder."""

    requirement: str

    def __init__(self, folder: Path, fleet: Fleet) -> None:
        super().__init__(folder, fleet)
        self.bin = folder / self.name / "bin"
        venv.create(folder / self.name, with_pip=True)
        succeed([str(self.bin / "pip"), "install", "--quiet", self.requirement])
        self.files = folder / f"{self.name}-files"
        for name, text in fleet.targets[0].pace("fast").items():
            self.files.mkdir(exist_ok=True)
            (self.files / name).write_text(text)
        self.write()

    @abstractmethod
    def write(self) -> None: ...


class Ansible(_Installed):
    """A playbook of ansible-core's own modules: pipelining, no facts, all hosts at once."""

    name, requirement = "ansible", "ansible-core"

    def write(self) -> None:
        targets = self.fleet.targets
        known = {
            one.name: {"there": one.there, "url": one.url, "dropins": one.dropins}
            for one in targets
        }
        play = {
            "hosts": "all",
            "gather_facts": False,
            "tasks": [_task(**one) for one in self._tasks(targets[0].unit)],
        }
        self._inventory = self.folder / "inventory.json"
        self._play = self.folder / "play.json"
        self._inventory.write_text(json.dumps({"all": {"hosts": known}}))
        self._play.write_text(json.dumps([play]))

    def _tasks(self, unit: bool) -> list[dict[str, object]]:
        healthy = {
            "uri": {"url": "{{ url }}"},
            "register": "answer", "until": "answer.status == 200", "retries": 1200, "delay": 0.05,
        }  # fmt: skip
        copies = {
            "copy": {"src": f"{self.files}/{{{{ item }}}}", "dest": "{{ there }}/src/{{ item }}"},
            "loop": sorted(self.fleet.targets[0].pace("fast")),
        }
        restart: list[dict[str, object]] = [
            {"command": "{{ there }}/service.sh stop"},
            {"shell": "{{ there }}/service.sh start"},
        ]
        env: dict[str, object] = {
            "lineinfile": {
                "path": "{{ there }}/app.env", "regexp": "^MODE=", "line": QUICK, "backup": True
            }
        }  # fmt: skip
        back: dict[str, object] = {
            "lineinfile": {"path": "{{ there }}/app.env", "regexp": "^MODE=", "line": "MODE=plain"}
        }
        folder: list[dict[str, object]] = []
        if unit:
            where = "{{ dropins }}"
            section = f"[Service]\nEnvironment={QUICK}\n"
            folder = [{"file": {"path": where, "state": "directory"}}]
            env = {"copy": {"content": section, "dest": f"{where}/bench.conf"}}
            back = {"file": {"path": where, "state": "absent"}}
            restart = [{"systemd": {"name": UNIT, "state": "restarted", "daemon_reload": True}}]
        keep = {"command": "cp -a {{ there }}/src {{ there }}/base"}
        put_back = {"shell": "rm -r src && mv base src", "args": {"chdir": "{{ there }}"}}
        changed = [keep, copies, *folder, env, *restart, healthy, {"command": "true"}]
        return [*changed, put_back, back, *restart, healthy]

    def cycle(self) -> None:
        succeed(
            [str(self.bin / "ansible-playbook"), "-i", str(self._inventory), str(self._play)],
            ANSIBLE_PIPELINING="1",
            ANSIBLE_FORKS=str(len(self.fleet.targets)),
            ANSIBLE_SSH_ARGS=f"-F {self.fleet.ssh_config} -o ControlMaster=auto"
            " -o ControlPersist=5s",
            ANSIBLE_SSH_CONTROL_PATH_DIR=str(self.folder / "control"),
            ANSIBLE_PYTHON_INTERPRETER="/usr/bin/python3",
            ANSIBLE_HOME=str(self.folder / "ansible-home"),
        )


def _task(**said: object) -> dict[str, object]:
    """A task with the modules' names in full."""
    modules = ("command", "shell", "copy", "file", "lineinfile", "systemd", "uri")
    return {
        f"ansible.builtin.{name}" if name in modules else name: value
        for name, value in said.items()
    }


DEPLOY = """\
from pyinfra import host
from pyinfra.operations import files, server, systemd

there, unit = host.data.there, host.data.unit

def restart():
    if unit:
        systemd.service(service=unit, running=True, restarted=True, daemon_reload=True)
    else:
        server.shell([f"{there}/service.sh stop", f"{there}/service.sh start"])
    server.shell([host.data.healthy])

server.shell([f"cp -a {there}/src {there}/base"])
for name in host.data.files:
    files.put(src=f"{host.data.source}/{name}", dest=f"{there}/src/{name}")
if unit:
    files.put(src=f"{host.data.source}/bench.conf", dest=f"{host.data.dropins}/bench.conf")
else:
    server.shell([f"cp -a {there}/app.env {there}/app.env.base"])
    files.replace(path=f"{there}/app.env", text="MODE=plain", replace="MODE=quick")
restart()
server.shell(["true"])
server.shell([f"cd {there} && rm -r src && mv base src"])
if unit:
    server.shell([f"rm -r {host.data.dropins}"])
else:
    server.shell([f"mv {there}/app.env.base {there}/app.env"])
restart()
"""


class Pyinfra(_Installed):
    """A deploy of pyinfra's own operations, all hosts at once."""

    name, requirement = "pyinfra", "pyinfra"

    def write(self) -> None:
        hosts = [(one.name, self._data(one)) for one in self.fleet.targets]
        (self.folder / "inventory.py").write_text(f"hosts = {hosts!r}\n")
        (self.folder / "deploy.py").write_text(DEPLOY)
        (self.files / "bench.conf").write_text(f"[Service]\nEnvironment={QUICK}\n")

    def _data(self, target: Target) -> dict[str, object]:
        return {
            "ssh_hostname": target.address,
            "ssh_port": target.port,
            "ssh_user": "root",
            "ssh_key": str(self.fleet.key),
            "ssh_known_hosts_file": str(self.fleet.known_hosts),
            "there": target.there,
            "unit": UNIT if target.unit else "",
            "dropins": target.dropins,
            "source": str(self.files),
            "files": sorted(target.pace("fast")),
            "healthy": HEALTHY.format(url=target.url),
        }

    def cycle(self) -> None:
        pyinfra = str(self.bin / "pyinfra")
        files = [str(self.folder / name) for name in ("inventory.py", "deploy.py")]
        succeed([pyinfra, "-y", *files], cwd=self.files)  # it leaves a log where it is started


def peers(folder: Path, fleet: Fleet, names: list[str]) -> list[Peer]:
    """Those of the ways that can be gone here; the others are named with the reason."""
    made: list[Peer] = []
    for kind in (Floor, Campaign, Pyinfra, Ansible):
        if kind.name not in names:
            continue
        try:
            made.append(kind(folder, fleet))
        except SystemExit as error:
            if not issubclass(kind, _Installed):
                raise
            print(f"without {kind.name}, which cannot be installed: {str(error)[-300:]}")
            shutil.rmtree(folder / kind.name, ignore_errors=True)
    return made
