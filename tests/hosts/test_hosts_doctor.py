"""doctor on real machines: the way in, root's rights, units of systemd, what others left."""

import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hosts_machine import Machine, wait_until
from ports import free_port
from toy import Toy

from playbooks.hosts.files import Change
from playbooks.hosts.host import Host
from playbooks.hosts.ssh_config import SshTarget

Reach = Callable[..., SshTarget]
OpenHost = Callable[..., Host]
Found = dict[str, tuple[str, str, str]]

pytestmark = pytest.mark.hosts


@dataclass(frozen=True)
class Ward:
    """A workspace with the service `svc`, a unit on alpha, which doctor looks at.

    `name` is the unit's, without .service, and that of its folder in /opt.
    """

    toy: Toy
    alpha: Machine
    host: str
    health: str
    name: str

    @property
    def service(self) -> str:
        return f"{self.name}.service"

    @property
    def fragment(self) -> str:
        return f"/etc/systemd/system/{self.service}"

    @property
    def folder(self) -> str:
        return f"/opt/{self.name}"

    def systemctl(self, verb: str) -> None:
        self.alpha.run("systemctl", verb, self.service)

    def write(self, path: str, text: str) -> None:
        where = self.alpha.root / path.lstrip("/")
        where.parent.mkdir(parents=True, exist_ok=True)
        where.write_text(text)

    def unit(self, text: str) -> None:
        """Its [Service] section, started afresh."""
        self.write(self.fragment, f"[Service]\n{text}")
        self.alpha.run("systemctl", "daemon-reload")
        self.systemctl("restart")

    def campaign(self, more: str = "", env: str = "{via: dropin}", others: str = "") -> None:
        """campaign.yaml, with `more` of alpha, and `others` beside it."""
        (self.toy.root / "campaign.yaml").write_text(
            f"campaign: ward\nsymptom: none\nhosts:\n  alpha: {{{self.host}{more}}}\n{others}"
            f"services:\n  svc:\n    host: alpha\n    systemd: {self.service}\n    env: {env}\n"
            f"    health: [{self.health}]\n"
        )

    def looked(self, code: int) -> Found:
        """What doctor found by place and check: state, what, fix. It ends with `code`."""
        done = self.toy.run("doctor", "--json")
        assert (done.returncode, done.stderr) == (code, ""), done.stdout
        found = json.loads(done.stdout)["findings"]
        assert all("\n" not in one["what"] for one in found)
        return {
            f"{one['place']} {one['check']}": (one["state"], one["what"], one["fix"])
            for one in found
        }


@pytest.fixture
def ward(
    alpha: Machine,
    ssh_config: Path,
    reach: Reach,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> Iterator[Ward]:
    root = tmp_path / "ward"
    root.mkdir()
    toy = Toy(root, 0)
    port = toy.port = free_port(toy)
    host = f"ssh: alpha, config: {ssh_config}, state_dir: {reach('alpha').state_dir}"
    health = f'{{http: "http://127.0.0.1:{port}/"}}'
    name = f"doctored-{zlib.crc32(request.node.name.encode()):x}"
    made = Ward(toy, alpha, host, health, name)
    made.campaign()
    server = f"/usr/bin/python3 -m http.server --bind 127.0.0.1 {port}"
    made.unit(f"WorkingDirectory=/etc/ssh\nExecStart={server}\n")
    ready = f"until python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}))'"
    alpha.run("sh", "-c", f"{ready} 2>&-; do sleep .1; done")
    try:
        yield made
    finally:
        for verb in ("stop", "unmask"):
            alpha.run("systemctl", verb, made.service, check=False)
        alpha.run("rm", "-rf", made.fragment, f"{made.fragment}.d", made.folder)
        alpha.run("systemctl", "daemon-reload")


def test_all_is_well_and_stays_as_it_is(ward: Ward, reach: Reach) -> None:
    dropin = f"{ward.fragment}.d/zz-campaign.conf"
    found = ward.looked(0)
    assert {state for state, _, _ in found.values()} == {"ok"}
    for check, said in (
        ("alpha reach", "with the key that is known"),
        ("alpha agent", "as root"),
        ("alpha clock", "within 1 s"),
        ("alpha lock", "nobody works on it"),
        ("svc service", f"runs, active (running), from {ward.fragment}"),
        ("svc env", f"env steps can write {dropin}, and nothing beats it"),
        ("svc health", "status 200"),
        ("svc environ", "1 of 1 processes"),
        ("svc files", "is newer than it"),
    ):
        assert said in found[check][1]
    state_dir = ward.alpha.root / str(reach("alpha").state_dir).lstrip("/")
    assert [one.name for one in state_dir.iterdir()] == ["agent"]
    assert not (ward.alpha.root / dropin.lstrip("/")).exists()


def test_a_host_that_is_not_there_hides_no_other(ward: Ward, ssh_config: Path) -> None:
    nobodys = free_port(ward)
    ward.campaign(others=f"  gone: {{ssh: 127.0.0.1, port: {nobodys}, config: {ssh_config}}}\n")
    found = ward.looked(4)
    state, what, fix = found["gone reach"]
    assert (state, "Connection refused" in what) == ("fail", True)
    assert f"ssh -F {ssh_config} -p {nobodys} 127.0.0.1 answers" in fix
    assert found["svc health"][0] == "ok"
    (ward.toy.root / "playbooks").mkdir()
    ward.toy.playbook("look", "name: look\nkind: probe\nsteps:\n  - wait: 1ms\n")
    for command in (("plan", "look"), ("run", "look", "-y")):
        refused = ward.toy.run(*command)
        assert refused.returncode == 4
        assert f"host gone: {what}; {fix}; or take a host that is gone" in refused.stderr


def test_a_key_that_is_not_known_stays_so(ward: Ward, ssh_config: Path) -> None:
    known = ssh_config.with_name("known_hosts")
    known.write_text("# nobody\n")
    (refused,) = ward.looked(4).values()
    assert (refused[0], f">> {known}" in refused[1]) == ("fail", True)
    ward.campaign(more=", accept_new: true")
    (warned,) = ward.looked(0).values()
    assert (warned[0], "the first run takes it as it is" in warned[1]) == ("warn", True)
    assert known.read_text() == "# nobody\n"


def test_without_the_rights_that_it_takes(ward: Ward) -> None:
    ward.campaign(more=", user: typist, sudo: true")
    (refused,) = ward.looked(4).values()
    assert (refused[0], "NOPASSWD: ALL" in refused[1]) == ("fail", True)
    ward.campaign(more=", user: guest")
    found = ward.looked(6)
    state, what, fix = found["alpha agent"]
    assert (state, fix) == ("warn", "say sudo: true for this host")
    assert "as guest, and systemd lets only root restart svc, unless polkit permits it" in what
    state, what, fix = found["svc log"]
    assert (state, "the journal is not ours to read" in what) == ("warn", True)
    assert "the group systemd-journal" in fix
    assert found["svc env"][0] == "fail"
    assert "guest may not write in /etc/systemd/system" in found["svc env"][1]
    state, what, fix = found["svc environ"]
    assert (state, "not permitted" in what, "sudo: true" in fix) == ("warn", True, True)


def test_a_unit_that_cannot_be_started(ward: Ward) -> None:
    ward.systemctl("stop")
    state, what, _ = ward.looked(0)["svc service"]
    assert (state, what.startswith("does not run, inactive (dead)")) == ("warn", True)
    ward.alpha.run("rm", ward.fragment)
    ward.systemctl("mask")
    found = ward.looked(6)
    assert found["svc service"][0] == "fail"
    assert f"systemctl unmask {ward.service}" in found["svc service"][1]
    assert [check for check in found if check.startswith("svc")] == ["svc service"]
    ward.systemctl("unmask")
    assert "systemd knows no such unit" in ward.looked(6)["svc service"][1]


def test_files_that_systemd_has_not_read_again(ward: Ward) -> None:
    looked = []

    def is_told() -> bool:
        """Other tests have systemd read everything again; one look comes between those."""
        with (ward.alpha.root / ward.fragment.lstrip("/")).open("a") as file:
            file.write("# a change\n")
        looked.append(ward.toy.run("doctor"))
        return looked[-1].returncode == 6

    wait_until(is_told, 120, "a change that systemd has not read")
    done = looked[-1]
    changed = f"the files of {ward.service} were changed and systemd has not read them again"
    assert changed in done.stdout
    assert f"newer than what runs: {ward.fragment}" in done.stdout


def test_a_unit_that_a_generator_makes(ward: Ward) -> None:
    """Its files are written anew whenever systemd reads all units again."""
    made = f"/etc/systemd/system-generators/{ward.name}"
    text = (ward.alpha.root / ward.fragment[1:]).read_text()
    ward.write(made, f"#!/bin/sh\ncat >$1/{ward.service} <<E\n{text}E\n")
    ward.alpha.run("chmod", "+x", made)
    ward.alpha.run("rm", ward.fragment)
    try:
        for _ in range(2):
            ward.alpha.run("systemctl", "daemon-reload")
        found = ward.looked(0)
        assert f"from /run/systemd/generator/{ward.service}" in found["svc service"][1]
        assert found["svc files"][0] == "ok"
    finally:
        ward.alpha.run("rm", made)


def test_a_log_that_is_not_in_the_journal(ward: Ward) -> None:
    """What is told mends it."""
    log = f"/var/log/{ward.service}.log"
    ward.unit(f"StandardOutput=append:{log}\nExecStart=/bin/sh -c 'echo up; exec sleep 600'\n")
    ward = replace(ward, health="{command: ['true']}")
    ward.campaign()
    state, what, fix = ward.looked(0)["svc log"]
    assert (state, "the journal has none of it" in what) == ("warn", True)
    assert f"systemd: {{unit: {ward.service}, log: PATH}}" in fix
    config = ward.toy.root / "campaign.yaml"
    named = f"systemd: {{unit: {ward.service}, log: {log}}}"
    config.write_text(config.read_text().replace(f"systemd: {ward.service}", named))
    assert "svc log" not in ward.looked(0)
    assert log in ward.toy.run("services", "list").stdout
    ward.unit("LogNamespace=own\nExecStart=/bin/sleep 600\n")
    ward.campaign()
    shown = f"journalctl --namespace=own --unit={ward.service}"
    assert shown in ward.toy.run("services", "list").stdout


def test_who_wins_for_a_variable(ward: Ward) -> None:
    env_file, script = f"{ward.folder}/a.env", f"{ward.folder}/serve.sh"
    ward.write(env_file, "MODE=plain\nOTHER=1\n")
    ward.write(script, "#!/bin/sh\nexport MODE=fast\nexec sleep 600\n")
    ward.campaign(env=f"{{via: env_file, path: {env_file}}}")
    state, what, _ = ward.looked(6)["svc env"]
    assert (state, f"nothing reads {env_file}" in what) == ("fail", True)
    ward.unit(f"EnvironmentFile={env_file}\nExecStart=/bin/sh {script}\n")
    found = ward.looked(6)
    assert found["svc health"][0] == "fail"
    state, what, fix = found["svc env"]
    assert (state, what) == (
        "warn",
        f"{script} beats {env_file} for MODE: env steps cannot set that",
    )
    by_script = f"{{via: script, path: {script}}}"
    assert f"use env: {by_script}" in fix
    ward.campaign(env=by_script)
    assert "nothing beats it" in ward.looked(6)["svc env"][1]


def test_what_another_left_and_who_works_there(
    ward: Ward, reach: Reach, open_host: OpenHost
) -> None:
    ward.write(f"{ward.folder}/file", "base\n")
    other = open_host(reach("alpha"), run="other-1")
    digest = other.read(f"{ward.folder}", "file")[0].sha256
    other.apply([Change(f"{ward.folder}", "file", digest, b"new")], run="other-1")
    found = ward.looked(6)
    state, what, fix = found["alpha lock"]
    assert (state, fix) == ("fail", "wait for it to end")
    holder = f"tester works on it for other-1 (agent pid {other.greeting.pid}, since 20"
    assert holder in what
    assert found["alpha leftovers"][0] == "warn"
    other.close()
    found = ward.looked(6)
    assert found["alpha lock"][0] == "ok"
    assert found["alpha leftovers"] == (
        "fail",
        f"changed by other-1 of another ledger (tester): {ward.folder}/file",
        "put it back first: campaign recover",
    )
    assert ward.toy.run("recover").returncode == 0
    assert ward.looked(0)["alpha leftovers"][0] == "ok"
