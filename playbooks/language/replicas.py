"""Services with a replica on each of several hosts: each replica becomes a service of its own.

It is done on the nodes, before anything else looks at them: what checks and builds a service does
so for each replica, and complains at the place where all of them are written.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec.structs import replace

from playbooks.language.known import check_distinct, check_host, check_known
from playbooks.language.marks import Document, Node
from playbooks.language.problems import shown
from playbooks.system import AT
from playbooks.templates import on_host

Replicas = Mapping[str, tuple[str, ...]]
"""The names of the replicas, by the name that they share."""


def spread(document: Document) -> Replicas:
    """Writes a service with `hosts` as one service a host, NAME@HOST, in the document itself.

    In all services `{{ host }}` becomes the name of the service's host. Reports hosts that cannot
    be those of a service.
    """
    hosts = tuple(document.root.get("hosts").entries)
    services = document.root.get("services")
    found: dict[str, tuple[str, ...]] = {}
    entries: dict[str, Node] = {}
    for name, service in services.entries.items():
        _check(document, name, service, hosts)
        alone = service.get("host").text or "".join(hosts[:1])
        replicas = {f"{name}{AT}{one.text}": one for one in _homes(service)}
        for replica, home in replicas.items():
            entries[replica] = _filled(_at(service, home), home.text)
        if replicas:
            found[name] = tuple(replicas)
        else:
            entries[name] = _filled(service, alone)
    if services.kind == "mapping":
        _write(document, replace(services, entries=entries))
    return found


def _write(document: Document, services: Node) -> None:
    root = document.root
    document.root = replace(root, entries={**root.entries, "services": services})


def _homes(service: Node) -> tuple[Node, ...]:
    """The hosts of its replicas; none where it has one place, says both, or no list of names."""
    hosts = service.get("hosts")
    named = hosts.kind == "list" and len(hosts.texts()) == len(hosts.items)
    return hosts.items if named and not service.get("host") else ()


def _check(document: Document, name: str, service: Node, hosts: Collection[str]) -> None:
    if AT in name:
        what = f"{shown(name)} names a replica: write the service once, with 'hosts'"
        document.report(service.key, what)
    if service.get("hosts") and service.get("host"):
        document.report(service.get("hosts").key, "'hosts' beside 'host': give one of the two")
    check_known(document, service.get("hosts"), "host", hosts)
    check_distinct(document, service.get("hosts").texts())
    check_known(document, service.get("availability", "on"), "host", hosts)
    if len(_homes(service)) > 1:
        check_host(document, service.get("availability"), "on", hosts)


def _at(service: Node, home: Node) -> Node:
    """The service as it is on one of its hosts."""
    entries = {name: one for name, one in service.entries.items() if name != "hosts"}
    return replace(service, entries={"host": home, **entries})


def _filled(node: Node, host: str) -> Node:
    """The node with the host's name in its templates; availability is of no one host."""
    if isinstance(node.scalar, str):
        text = on_host(node.text, host)
        return replace(node, text=text, scalar=text)
    items = tuple(_filled(one, host) for one in node.items)
    entries = {
        name: one if name == "availability" else _filled(one, host)
        for name, one in node.entries.items()
    }
    return replace(node, items=items, entries=entries)


def together(names: Iterable[str], replicas: Replicas) -> tuple[str, ...]:
    """The services that `names` stand for, in their order: of a shared name all its replicas."""
    found = (one for name in names for one in replicas.get(name, (name,)))
    return tuple(dict.fromkeys(found))


def groups(named: Iterable[Iterable[str]], replicas: Replicas) -> Iterator[tuple[str, ...]]:
    """The restart groups: of services that all have replicas on the same hosts one a host."""
    for group in named:
        members = [replicas.get(name, (name,)) for name in group]
        homes = {tuple(one.partition(AT)[2] for one in member) for member in members}
        if len(homes) == 1 and "" not in homes.pop():
            yield from zip(*members, strict=True)
        else:
            yield tuple(name for member in members for name in member)
