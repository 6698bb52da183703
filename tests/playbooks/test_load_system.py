"""campaign.yaml: what is read, and what is said of each mistake, at its place."""

from pathlib import Path

import pytest
from load_workspace import CAMPAIGN, ENVIRON, Workspace, edited, said

from hypotheses.assumptions import DEFAULTS, Grid, Settings
from playbooks.language.load import LoadError, load_system
from playbooks.system import (
    CommandProbe,
    Cost,
    EnvMethod,
    HealthCheck,
    HttpProbe,
    LogProbe,
    ParseSpec,
    ProcessSpec,
    TcpProbe,
)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """One for all: each test writes what it loads."""
    return Workspace(tmp_path_factory.mktemp("workspace"))


def test_services_are_read(workspace: Workspace) -> None:
    system, root = workspace.system(), workspace.root
    prefill, decode, router = system.services.values()
    assert prefill.manager == ProcessSpec(("python", "prefill.py"), str(root / "system"))
    assert prefill.env == EnvMethod("env_file", str(root / "env/prefill.env"))
    probe = HttpProbe("http://127.0.0.1:30000/health")
    assert prefill.health == (HealthCheck(probe, timeout_s=300, settle_s=2),)
    assert prefill.ports == (30000,)
    assert decode.host == "here"
    assert decode.manager == ProcessSpec(("/bin/sh", "-c", "exec python decode.py"), str(root))
    assert [check.probe for check in decode.health] == [
        TcpProbe("127.0.0.1:30001"),
        LogProbe("ready"),
        CommandProbe(("test", "-e", "up")),
    ]
    assert (decode.stop_timeout_s, router.stop_timeout_s) == (5, 20)
    assert (router.manager.log_max_bytes, router.manager.log_keep) == (10_000_000, 2)
    assert router.env is None


def test_reproducers_are_read(workspace: Workspace) -> None:
    sessions, bisect = workspace.system().reproducers.values()
    assert sessions.parse == ParseSpec(
        "counts", frozenset({"leak"}), frozenset({"done", "maxrounds"})
    )
    assert (sessions.timeout_s, sessions.on_timeout, sessions.crash_is) == (
        900,
        "censored",
        "invalid",
    )
    assert sessions.trials == "{{ sessions }}"
    assert bisect.parse == ParseSpec("exit")
    assert (bisect.on, bisect.cwd, bisect.trials) == ("here", str(workspace.root), None)
    assert (bisect.env, bisect.crash_is) == ({"SEED": "{{ seed }}"}, "fail")


def test_the_rest_is_read(workspace: Workspace) -> None:
    system = workspace.system()
    assert (system.campaign, system.root, system.protected) == (
        "pd-toolcalls",
        workspace.root,
        True,
    )
    assert system.restart_groups == (("prefill", "decode"),)
    assert system.cost == Cost("USD", 400, 38.4)
    assert system.secrets == {"API_KEY": ENVIRON["API_KEY"]}
    assert system.record_env == ("CUDA_VISIBLE_DEVICES",)


def test_parsers_keep_their_options(workspace: Workspace) -> None:
    counts = "{counts: {fail: [leak], pass: [done, maxrounds]}}"
    jsonl = "{jsonl: {outcome: what, id: session, key: rooms, fail: [leak], censored: [cut]}}"
    parse = workspace.system(edited(CAMPAIGN, (counts, jsonl))).reproducers["agent-sessions"].parse
    options = {"outcome": "what", "id": "session", "key": "rooms"}
    assert parse == ParseSpec(
        "jsonl", frozenset({"leak"}), frozenset(), frozenset({"cut"}), options
    )
    regex = "{regex: {match: '(?P<fail>.+)/(?P<total>.+)'}}"
    parse = workspace.system(edited(CAMPAIGN, (counts, regex))).reproducers["agent-sessions"].parse
    assert parse == ParseSpec("regex", options={"match": "(?P<fail>.+)/(?P<total>.+)"})


STATISTICS = """\
statistics:
  prior: {singles: 60%, pairs: 30%}
  grid: {p0: [1%, 2.5%], residual: [{value: 0%, weight: 3}, {value: 50%, weight: 1}]}
  supported: 99.5%
  control_every: 3
"""


def test_what_the_model_assumes_can_be_said(workspace: Workspace) -> None:
    assert workspace.system().statistics == DEFAULTS
    grid = Grid(p0=(0.01, 0.025), residual=((0.0, 3.0), (0.5, 1.0)))
    assert workspace.system(CAMPAIGN + STATISTICS).statistics == Settings(
        singles=0.6, pairs=0.3, grid=grid, supported=0.995, control_every=3
    )


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("99.5%", "90%", "40:3: supported is 0.9: need decided or more, and under 1"),
        ("99.5%", "0.999", "42:14: expected a percentage such as 95%, not the number 0.999"),
        ("control_every: 3", "max_trials: 500", "40:3: max_trials is 500: need 1 to 400"),
        ("control_every", "control_evry", "43:3: unknown key 'control_evry'"),
        ("[1%, 2.5%]", "[]", "41:14: empty: expected at least one"),
        ("[1%, 2.5%]", "[0%]", "40:3: grid of baseline rates (0.0,): need rates between 0 and 1"),
        ("weight: 3", "weight: 0", "41:57: expected a number above 0, not the number 0"),
    ],
)
def test_a_mistake_in_what_is_assumed(
    workspace: Workspace, old: str, new: str, expected: str
) -> None:
    with pytest.raises(LoadError) as caught:
        workspace.system(CAMPAIGN + edited(STATISTICS, (old, new)))
    assert any(one.startswith(expected) for one in said(caught.value)), said(caught.value)


def test_keys_may_come_in_any_order(workspace: Workspace) -> None:
    head, tail = CAMPAIGN.split("hosts:\n")
    assert workspace.system("hosts:\n" + tail + head) == workspace.system()


def test_trials_are_kept_as_they_are_written(workspace: Workspace) -> None:
    text = edited(CAMPAIGN, ('trials: "{{ sessions }}"', "trials: 040"))
    assert workspace.system(text).reproducers["agent-sessions"].trials == "040"


def test_a_relative_path_to_the_file_gives_absolute_paths(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.system()
    monkeypatch.chdir(workspace.root)
    system = load_system(Path("campaign.yaml"), ENVIRON)
    assert system.root == workspace.root
    assert system.services["decode"].manager.cwd == str(workspace.root)


def test_folders_on_another_host_are_whole_paths(workspace: Workspace) -> None:
    service = "process: {command: [python, router.py], log_max_bytes: 10MB, log_keep: 2}"
    hook = "before_stop: [{do: drain, undo: undrain, cwd: lb}]"
    new = "command: {start: up, stop: down, status: up, %s}\n    host: there\n    " + hook
    there = ("{local: true}", "{local: true}\n  there: {ssh: gpu-a.lab}")
    for keys, complaint in (
        ("log: /l", "missing key 'cwd': on another host it has no default"),
        ("cwd: x", "'x' is on another host: give the whole path, from /"),
        ("cwd: /x, log: l", "'l' is on another host: give the whole path, from /"),
    ):
        problems = workspace.campaign_problems(there, (service, new % keys))
        told = {one.partition(": ")[2] for one in problems}
        assert {complaint, "'lb' is on another host: give the whole path, from /"} <= told


TWO_HOSTS = ("  here: {local: true}", "  here: {local: true}\n  there: {local: true}")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("services:\n", "servcies:\n", "5:1: unknown key 'servcies' (did you mean 'services'?)"),
        ("services:\n", "servcies:\n", "1:1: missing key 'services': What runs there."),
        (
            "local: true",
            "local: false",
            "4:17: expected true, not the boolean false",
        ),
        (
            "{local: true}",
            "{local: true}\n  there: {local: true}",
            "5:3: 'there' is this machine, and so is 'here': keep one of them, or give it a"
            " 'state_dir' of its own",
        ),
        ("{local: true}", "{ssh: gpu-a.lab, locl: true}", "4:26: unknown key 'locl'"),
        (
            "{local: true}",
            "{ssh: gpu-a.lab}",
            "8:51: 'system' is on another host: give the whole path, from /",
        ),
        ("host: here", "host: her", "7:11: unknown host 'her' (did you mean 'here'?)"),
        (
            "{command: [test",
            "{on: her, command: [test",
            "16:59: unknown host 'her' (did you mean 'here'?)",
        ),
        (
            "{log: ready}",
            "{log: ready, on: here}",
            "16:53: unknown key 'on' (known: timeout, settle, log)",
        ),
        ("host: here", "host: [here]", "7:11: expected text, not a list"),
        (*TWO_HOSTS, "14:3: missing key 'host': there are 2 hosts (here, there)"),
        (*TWO_HOSTS, "30:3: missing key 'on': there are 2 hosts (here, there)"),
        (
            "    process: {command: [python, prefill.py], cwd: system}\n",
            "",
            "7:5: expected exactly one of the keys process, systemd, command",
        ),
        (
            "[python, prefill.py]",
            "[python, 3]",
            '8:33: expected text, not the number 3: put it in quotes: "3"',
        ),
        (
            "[python, prefill.py]",
            "[]",
            "8:24: expected a list of words, or one text for /bin/sh, not a list",
        ),
        (
            "via: env_file",
            "via: scripts",
            "9:16: expected env_file, dropin or script, not 'scripts' (did you mean 'script'?)",
        ),
        (
            'http: "http://127.0.0.1:30000/health", ',
            "",
            "11:9: expected exactly one of the keys http, tcp, command, log",
        ),
        (
            "expect: 200",
            'tcp: "a:1"',
            "11:49: 'tcp' beside 'http': exactly one of http, tcp, command, log may stand here",
        ),
        (
            "http://127.0.0.1:30000/health",
            "ftp://a",
            "11:16: expected a URL such as http://127.0.0.1:8080/health, not 'ftp://a'",
        ),
        (
            "expect: 200",
            "expect: 42",
            "11:57: expected a number of at least 100, not the number 42",
        ),
        (
            "timeout: 300s",
            "timeout: 300",
            "11:71: expected a duration with its unit, such as 300s, 200ms, 15m or 1m30s, "
            "not the number 300",
        ),
        ("timeout: 300s", "timeout: 0s", "11:71: expected more than nothing, not '0s'"),
        (
            "ports: [30000]",
            "ports: [70000]",
            "12:13: expected a port from 1 to 65535, not the number 70000",
        ),
        ("ports: [30000]", "ports: [30000, 30000]", "12:20: '30000' is named twice"),
        ("stop_timeout: 5s", "ports: [30000]", "17:13: port 30000 is already that of 'prefill'"),
        (
            "127.0.0.1:30001",
            "127.0.0.1:99999",
            "16:20: expected an address such as \"127.0.0.1:8080\", not '127.0.0.1:99999'",
        ),
        (
            "log: ready",
            "log: '(ready'",
            "16:46: not a regular expression: missing ), unterminated subpattern at position 0",
        ),
        (
            "log_max_bytes: 10MB",
            "log_max_bytes: 10 mb",
            "19:60: expected a size such as 10MB, 64MiB, 512KB or a whole number of bytes, "
            "not '10 mb'",
        ),
        (
            "[[prefill, decode]]",
            "[[prefill, decoder]]",
            "20:28: unknown service 'decoder' (did you mean 'decode'?)",
        ),
        (
            "[[prefill, decode]]",
            "[[prefill, decode], [router, decode]]",
            "20:46: 'decode' is in two restart groups: join them",
        ),
        ("[[prefill, decode]]", "[prefill, decode]", "20:18: expected a list, not 'prefill'"),
        (
            "    on_timeout: censored\n",
            "",
            "22:3: missing key 'on_timeout': What a trial that the timeout cuts short counts as: "
            "censored, fail, or (a soak) pass.",
        ),
        (
            "on_timeout: censored",
            "on_timeout: censor",
            "26:17: expected censored, fail or pass, not 'censor' (did you mean 'censored'?)",
        ),
        (
            '"{{ rounds }}"',
            '"{{ rounds + 1 }}"',
            "23:73: '{{ rounds + 1 }}' is not a template: only {{ name }} is understood",
        ),
        (
            "{counts: {fail: [leak], ",
            "{count: {fail: [leak], ",
            "28:13: unknown key 'count' (did you mean 'counts'?)",
        ),
        ("fail: [leak]", "fail: []", "28:28: empty: expected at least one"),
        (
            "pass: [done, maxrounds]",
            "pass: [done, leak]",
            "28:49: outcome 'leak' is fail already: it cannot be both",
        ),
        (
            "{counts: {fail: [leak], pass: [done, maxrounds]}}",
            "{regex: {match: '(?P<what>.*)'}}",
            "28:28: the regular expression needs the named group (?P<outcome>...), or both "
            "(?P<fail>...) and (?P<total>...)",
        ),
        (
            "pass: [done, maxrounds]",
            "pass: [yes]",
            '28:43: expected text, not the boolean yes: put it in quotes: "yes"',
        ),
        (
            "SEED:",
            "1SEED:",
            "31:11: expected a variable's name (letters, digits and '_'), not '1SEED'",
        ),
        (
            "downtime_per_hour: 400",
            "downtime_per_hour: -1",
            "35:42: expected a number of at least 0, not the number -1",
        ),
        (
            "occupied_per_hour: 38.4",
            "occupied_per_hour: .inf",
            "35:66: expected a finite number, not the number .inf",
        ),
        ("protected: true", "protected: maybe", "36:12: expected true or false, not 'maybe'"),
        (
            "env: API_KEY",
            "env: API_KEYS",
            "37:26: secret 'API_KEY': environment variable API_KEYS is not set",
        ),
        (
            "protected: true",
            "budget: {restart: 30}",
            "36:10: unknown key 'restart' (did you mean 'restarts'?)",
        ),
    ],
)
def test_one_mistake(workspace: Workspace, old: str, new: str, expected: str) -> None:
    assert expected in workspace.campaign_problems((old, new))


def test_a_short_secret_is_refused_and_not_shown(workspace: Workspace) -> None:
    with pytest.raises(LoadError) as caught:
        workspace.system(CAMPAIGN, {"API_KEY": "hunter2"})
    assert said(caught.value) == [
        "37:26: secret 'API_KEY': the value of API_KEY is under 8 characters: "
        "too short to be redacted safely"
    ]
    assert "hunter2" not in str(caught.value)


def test_all_mistakes_come_at_once_in_their_order(workspace: Workspace) -> None:
    found = workspace.campaign_problems(
        ("symptom:", "symptoms:"),
        ("host: here", "host: gpu"),
        ("timeout: 300s", "timeout: soon"),
        ("[[prefill, decode]]", "[[prefill, dcode]]"),
        ("env: API_KEY", "env: NOT_THERE"),
    )
    assert [line.split(":")[0] for line in found] == ["1", "2", "7", "11", "20", "37"]


def test_versions_are_commands_of_services(workspace: Workspace) -> None:
    versions = ("cost:", "versions: {decode: [git, rev-parse, HEAD]}\ncost:")
    system = workspace.system(edited(CAMPAIGN, versions))
    assert system.versions == {"decode": ("git", "rev-parse", "HEAD")}
    (problem,) = workspace.campaign_problems(("cost:", "versions: {decod: [git]}\ncost:"))
    assert "unknown service 'decod' (did you mean 'decode'?)" in problem


SOAK = """\
  soak:
    command: ./soak.sh
    timeout: 10m
    on_timeout: pass
    exposure: seconds
"""


def test_a_soak_passes_by_running_its_time(workspace: Workspace) -> None:
    text = CAMPAIGN.replace("  bisect:\n", f"{SOAK}  bisect:\n")
    soak = workspace.system(text).reproducers["soak"]
    assert (soak.exposure, soak.on_timeout, soak.parse.format) == ("seconds", "pass", "exit")
    attempts = "{outcome: o, fail: [x], attempts: tries}"
    told = f"    exposure: attempts\n    parse: {{jsonl: {attempts}}}\n    timeout"
    counted = CAMPAIGN.replace("    timeout: 1m30s", f"{told}: 1m30s")
    assert workspace.system(counted).reproducers["bisect"].parse.options["attempts"] == "tries"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (
            "on_timeout: censored",
            "on_timeout: pass",
            "only a soak passes by running its time: give 'exposure: seconds', or say censored",
        ),
        (
            "    on_timeout: censored",
            "    exposure: seconds\n    on_timeout: censored",
            "exposure: seconds needs trials that tell theirs: give 'parse' jsonl with a field"
            " 'seconds', or regex with a group (?P<seconds>...), or leave 'parse' out, and its own"
            " run is timed",
        ),
        ("    on_timeout: fail", "    exposure: hours\n    on_timeout: fail", "'hours'"),
    ],
)
def test_an_exposure_that_nothing_tells_is_refused(
    workspace: Workspace, old: str, new: str, problem: str
) -> None:
    (found,) = workspace.campaign_problems((old, new))
    assert problem in found
