"""Services with a replica on each of several hosts, as both files say them."""

from pathlib import Path

import pytest
from load_workspace import Workspace, edited, said

from playbooks.language.load import LoadError
from playbooks.playbook import Env, LogSide, Patch, Restart, RowSpec
from playbooks.rollout import batches
from playbooks.system import Availability, HttpProbe, SystemdSpec

CAMPAIGN = """\
campaign: rolling
symptom: one request in a hundred is slow
hosts:
  n0: {ssh: n0.lab}
  n1: {ssh: n1.lab}
  front: {ssh: front.lab}
services:
  api:
    hosts: [n0, n1]
    systemd: "api@{{ host }}.service"
    env: {via: env_file, path: /srv/api.env}
    health: [{http: "http://{{ host }}.lab:8000/health", on: front}]
    availability: {http: "http://front.lab/", on: front, every: 250ms}
    ports: [8000]
  sidecar: {hosts: [n0, n1], systemd: sidecar.service}
  balancer: {host: front, systemd: nginx.service}
restart_groups: [[api, sidecar]]
versions: {api: [api, --version]}
on_failure: {collect: [api], capture: [{do: py-spy dump, service: api}]}
reproducers:
  load: {command: ./load.sh, on: front, cwd: /srv, timeout: 1m, on_timeout: censored}
"""

PLAYBOOK = """\
name: roll
kind: probe
question: Is it the new allocator?
steps:
  - patch: {services: [api], root: "/srv/{{ host }}", diff: patches/idxk.diff}
  - env: {services: [api], set: {ALLOCATOR: new}}
  - restart: {services: [api], batch: 1}
  - reproduce: {use: load}
  - compare:
      left: {log: api, match: '(?P<key>a)(?P<value>b)'}
      right: {log: balancer, match: '(?P<key>a)(?P<value>b)'}
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def test_a_service_becomes_one_on_each_host(workspace: Workspace) -> None:
    system = workspace.system(CAMPAIGN)
    assert list(system.services) == ["api@n0", "api@n1", "sidecar@n0", "sidecar@n1", "balancer"]
    one = system.services["api@n1"]
    assert (one.host, one.shared, one.replicas) == ("n1", "api", ("api@n0", "api@n1"))
    assert one.manager == SystemdSpec("api@n1.service")
    assert one.health[0].probe == HttpProbe("http://n1.lab:8000/health")
    assert one.availability == Availability(HttpProbe("http://front.lab/"), "front", 0.25)
    assert system.restart_groups == (("api@n0", "sidecar@n0"), ("api@n1", "sidecar@n1"))
    assert list(system.versions) == ["api@n0", "api@n1"]
    assert system.on_failure.collect == ("api@n0", "api@n1")
    captures = [(each.name, each.on) for each in system.on_failure.capture]
    assert captures == [("py-spy-api@n0", "n0"), ("py-spy-api@n1", "n1")]


def test_a_group_over_other_hosts_is_one(workspace: Workspace) -> None:
    text = edited(CAMPAIGN, ("[[api, sidecar]]", "[[api, balancer]]"))
    assert workspace.system(text).restart_groups == (("api@n0", "api@n1", "balancer"),)


def test_a_playbook_means_all_replicas(workspace: Workspace) -> None:
    system = workspace.system(CAMPAIGN)
    patch, env, restart, _, compare = workspace.playbook(PLAYBOOK, system=system).steps
    both = ("api@n0", "api@n1")
    assert isinstance(patch.action, Patch)
    assert patch.action.places == (("n0", "/srv/n0"), ("n1", "/srv/n1"))
    assert env.action == Env(both, {"ALLOCATOR": "new"})
    assert restart.action == Restart(both, batch=1)
    assert restart.name == "restart api in batches of 1"
    side = LogSide("api", RowSpec("(?P<key>a)(?P<value>b)"), both)
    assert getattr(compare.action, "left", None) == side
    one = edited(PLAYBOOK, ("[api], batch: 1", "[api@n1, balancer]"))
    assert workspace.playbook(one, system=system).steps[2].action == Restart(("api@n1", "balancer"))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "    hosts: [n0, n1]\n",
            "    hosts: [n0, n1]\n    host: n0\n",
            "'hosts' beside 'host': give one of the two",
        ),
        ("[n0, n1]", "[n0, n2]", "unknown host 'n2' (known: n0, n1, front)"),
        ("[n0, n1]", "[n0, 5]", "expected text, not the number 5"),
        ("[n0, n1]", "n0", "expected a list of hosts, not 'n0'"),
        ("[n0, n1]", "[n0, n0]", "'n0' is named twice"),
        ("[n0, n1]", "[]", "empty: expected at least one"),
        (
            "  balancer: {host: front,",
            "  api@front: {host: front,",
            "'api@front' names a replica: write the service once, with 'hosts'",
        ),
        (
            "on: front, every",
            "every",
            "missing key 'on': there are 3 hosts (n0, n1, front)",
        ),
        ("on: front, every", "on: fromt, every", "unknown host 'fromt' (did you mean 'front'?)"),
        ("[[api, sidecar]]", "[[api, sidecar], [api@n1]]", "in two restart groups: join them"),
        ('"http://front.lab/"', '"http://{{ host }}/"', "expected a URL such as"),
    ],
)
def test_one_mistake(workspace: Workspace, old: str, new: str, expected: str) -> None:
    with pytest.raises(LoadError) as caught:
        workspace.system(edited(CAMPAIGN, (old, new)))
    assert any(expected in one for one in said(caught.value)), said(caught.value)
    assert len(said(caught.value)) == len(set(said(caught.value)))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("[api], batch", "[apu], batch", "unknown service 'apu' (did you mean 'api'?)"),
        ("[api], batch", "[api@n2], batch", "unknown service 'api@n2' (did you mean 'api@n"),
        ("batch: 1", "batch: 0", "expected a number of at least 1, not the number 0"),
        (
            "batch: 1",
            "batch: 1, action: reload",
            "a reload takes nothing down: leave 'batch' out",
        ),
        (
            "[api], batch",
            "[balancer], batch",
            "none of balancer has replicas to restart in batches: leave 'batch' out, or give one"
            " 'hosts' in campaign.yaml",
        ),
        (
            "services: [api], root",
            "services: [api], host: n0, root",
            "'services' beside 'host': one of host, hosts, services says where it is made",
        ),
        ("services: [api], root", "root", "missing key 'host': there are 3 hosts"),
    ],
)
def test_one_mistake_of_a_playbook(workspace: Workspace, old: str, new: str, expected: str) -> None:
    with pytest.raises(LoadError) as caught:
        workspace.playbook(edited(PLAYBOOK, (old, new)), system=workspace.system(CAMPAIGN))
    assert any(expected in one for one in said(caught.value)), said(caught.value)


def test_what_restarts_together_cannot_go_in_batches(workspace: Workspace) -> None:
    system = workspace.system(edited(CAMPAIGN, ("[[api, sidecar]]", "[[api, balancer]]")))
    with pytest.raises(LoadError) as caught:
        workspace.playbook(PLAYBOOK, system=system)
    assert said(caught.value) == [
        "7:32: api@n0 and api@n1 restart together, as restart_groups says: leave 'batch' out, or"
        " have the group's services on the same hosts"
    ]


def test_batches_are_of_one_service_and_its_group() -> None:
    services = ["a@1", "s@1", "a@2", "s@2", "a@3", "s@3", "b@1", "b@2", "db"]
    groups = [("a@1", "s@1"), ("a@2", "s@2"), ("a@3", "s@3")]
    assert batches(services, groups, 0) == ()
    assert batches(services, groups, 2) == (
        ("a@1", "s@1", "a@2", "s@2"),
        ("a@3", "s@3"),
        ("b@1", "b@2"),
        ("db",),
    )
