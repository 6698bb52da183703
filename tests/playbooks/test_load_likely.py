"""What campaign.yaml seems to say of its hosts, before it is checked."""

from pathlib import Path

import pytest

from playbooks.language.likely import likely_hosts
from playbooks.language.load import load_system

CAMPAIGN = """\
campaign: likely
symptom: none
hosts:
{hosts}
services:
  app: {{host: here, process: {{command: serve}}}}
"""

HOSTS = """\
  here: {local: true, python: /usr/bin/python3}
  plain: {ssh: gpu-a.lab}
  full:
    ssh: gpu-b
    user: ops
    port: 2222
    sudo: yes
    accept_new: true
    state_dir: /srv/state
    connect_timeout: 1m30s
    config: etc/ssh
    python: /opt/python
"""


def written(folder: Path, hosts: str) -> Path:
    path = folder / "campaign.yaml"
    path.write_text(CAMPAIGN.format(hosts=hosts))
    return path


def test_it_is_what_the_checked_file_says(tmp_path: Path) -> None:
    path = written(tmp_path, HOSTS)
    assert likely_hosts(path) == tuple(load_system(path, {}).hosts.values())


@pytest.mark.parametrize(
    "hosts",
    [
        "  a: {ssh: [b]}\n",
        "  a: {ssh: b, user: 7}\n",
        "  a: {ssh: b, connect_timeout: soon}\n",
        "  a: {ssh: b}\n  a: {ssh: c}\n",
        "  a: {ssh: b\n",
        "  - a\n",
        "",
    ],
)
def test_none_where_there_is_doubt(tmp_path: Path, hosts: str) -> None:
    assert likely_hosts(written(tmp_path, hosts)) == ()
    assert likely_hosts(tmp_path / "none.yaml") == ()
