"""Playbooks: what is read, and what is said of each mistake, at its place."""

import hashlib

import pytest
from load_workspace import CAMPAIGN, PLAYBOOK, SLUGS, Workspace, edited, said

from hypotheses.verdict import Expect
from playbooks import probes
from playbooks.language.load import LoadError, load_playbook
from playbooks.playbook import (
    Action,
    Collect,
    Command,
    Compare,
    Diff,
    Env,
    Http,
    Kind,
    LogSide,
    MismatchRule,
    Patch,
    RateRule,
    Replace,
    Reproduce,
    Restart,
    RowSpec,
    Upload,
    Wait,
)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """One for all: each test writes what it loads."""
    return Workspace(tmp_path_factory.mktemp("workspace"))


def actions(
    workspace: Workspace, *steps: str, variables: dict[str, str] | None = None
) -> list[Action]:
    """The actions of a playbook of these steps."""
    text = "name: p\nkind: probe\nvars: {port: 80, sessions: 2, rounds: 1}\nsteps:\n"
    text += "".join(f"  - {step}\n" for step in steps)
    return [step.action for step in workspace.playbook(text, variables=variables).steps]


def test_the_designs_example_is_read(workspace: Workspace) -> None:
    playbook = workspace.playbook()
    side = r"room=(?P<key>\d+) sum=(?P<value>[0-9a-f]+)"
    both = ("prefill", "decode")
    root = workspace.root
    assert (playbook.name, playbook.kind) == ("idxk-checksum", Kind.PROBE)
    assert playbook.hypotheses == ("idxk-transfer",)
    assert playbook.if_false == "every room matches"
    assert playbook.vars == {"sessions": "40", "rounds": "3"}
    assert playbook.verdict == MismatchRule(0.95)
    assert [step.action for step in playbook.steps] == [
        Patch(("here",), str(root / "system"), Diff(root / "patches/idxk.diff")),
        Env(both, {"IDXK_CKSUM": "1"}),
        Restart(both),
        Reproduce("agent-sessions"),
        Collect(both),
        Compare(LogSide("prefill", RowSpec(side)), LogSide("decode", RowSpec(side))),
    ]
    assert (playbook.text, playbook.sha256) == (
        PLAYBOOK,
        hashlib.sha256(PLAYBOOK.encode()).hexdigest(),
    )


def test_steps_know_their_place_and_have_names(workspace: Workspace) -> None:
    playbook = workspace.playbook()
    assert playbook.steps[1].where == f"{playbook.path}:12"
    assert [step.name for step in playbook.steps] == [
        "instrument both engines",
        "switch the checksum log on",
        "restart prefill, decode",
        "reproduce agent-sessions",
        "collect prefill, decode",
        "compare prefill with decode",
    ]


def test_changes_are_read(workspace: Workspace) -> None:
    root, probe = str(workspace.root / "system"), probes.file("checksum")
    assert actions(
        workspace,
        "patch: {root: system, upload: patches/new.py, to: a/new.py, mode: '0755'}",
        "patch: {root: /opt, replace: {path: a.py, old: x, new: '', count: 2}, removes: [topk-v2]}",
        "patch: {root: ., diff: patches/idxk.diff, strip: 0}",
        "patch: {root: /opt, probe: checksum, into: engine/srt}",
        "patch: {root: /opt, probe: checksum}",
        "env: {services: [decode], unset: [OLD], removes: topk-v2}",
        "restart: {services: [decode]}",
    )[:-1] == [
        Patch(("here",), root, Upload(workspace.root / "patches/new.py", "a/new.py", 0o755)),
        Patch(("here",), "/opt", Replace("a.py", "x", "", 2), ("topk-v2",)),
        Patch(("here",), str(workspace.root), Diff(workspace.root / "patches/idxk.diff", 0)),
        Patch(("here",), "/opt", Upload(probe, "engine/srt/checksum_probe.py")),
        Patch(("here",), "/opt", Upload(probe, "checksum_probe.py")),
        Env(("decode",), {}, ("OLD",), ("topk-v2",)),
    ]


def test_measures_are_read(workspace: Workspace) -> None:
    assert actions(
        workspace,
        "reproduce: {use: bisect, vars: {seed: 007}, timeout: 30s}",
        "collect: {services: [router], grep: 'a|b', max_bytes: 64MiB}",
        "command: {do: [ls, '{{ port }}'], undo: 'rm {{ port }}', check: [test], cwd: x}",
        "wait: 1m30s",
        "http: {url: 'http://a:{{ port }}/', expect: 204, method: POST, body: '{{ port }}'}",
    ) == [
        Reproduce("bisect", {"seed": "007"}, 30),
        Collect(("router",), "a|b", 2**26),
        Command(
            "here",
            ("ls", "80"),
            ("/bin/sh", "-c", "rm 80"),
            ("test",),
            60,
            str(workspace.root / "x"),
        ),
        Wait(90),
        Http("here", "http://a:80/", 204, None, "POST", "80"),
    ]


def test_a_command_elsewhere_runs_at_the_root_or_where_a_whole_path_says(
    workspace: Workspace,
) -> None:
    hosts = "hosts: {there: {ssh: gpu-a.lab}}\nservices: {app: {systemd: app.service}}\n"
    system = workspace.system(f"campaign: c\nsymptom: s\n{hosts}")
    text = "name: p\nkind: probe\nsteps:\n  - command: {on: there, do: ls%s}\n"
    steps = workspace.playbook(text % "", system=system).steps
    assert isinstance(steps[0].action, Command)
    assert steps[0].action.cwd == "/"
    with pytest.raises(LoadError) as caught:
        workspace.playbook(text % ", cwd: x", system=system)
    assert said(caught.value) == ["4:39: 'x' is on another host: give the whole path, from /"]


def test_a_checkpoint_is_the_log_of_a_service(workspace: Workspace) -> None:
    left, right = "{checkpoint: idx k, of: prefill, side: src}", "{log: decode, match: '%s'}"
    (compare,) = actions(
        workspace, f"compare: {{left: {left}, right: {right % '(?P<key>a)(?P<value>b)'}}}"
    )
    assert isinstance(compare, Compare)
    line = r"checksum_probe name=idx%20k side=src key=(?P<key>\S*) crc32=(?P<value>[0-9a-f]{8}) "
    assert compare.left == LogSide("prefill", RowSpec(line), probed=True)


def test_variables_keep_their_text(workspace: Workspace) -> None:
    text = edited(
        PLAYBOOK, ("rounds: 3}", 'rounds: 3, a: 1.50, b: 0x1F, c: "no", d: 12:30, e: 2026-01-02}')
    )
    held = workspace.playbook(text).vars
    assert [held[name] for name in "abcde"] == ["1.50", "0x1F", "no", "12:30", "2026-01-02"]


def test_given_variables_win_over_the_playbooks_and_the_steps(workspace: Workspace) -> None:
    text = edited(PLAYBOOK, ("use: agent-sessions", "use: agent-sessions, vars: {rounds: 9}"))
    playbook = workspace.playbook(text, variables={"rounds": "5", "sessions": "7"})
    assert playbook.vars == {"sessions": "7", "rounds": "5"}
    assert playbook.steps[3].action == Reproduce("agent-sessions", {"rounds": "5"})


def test_a_given_variable_may_be_one_that_only_a_template_names(workspace: Workspace) -> None:
    text = edited(PLAYBOOK, ("sessions: 40, ", ""))
    assert workspace.playbook(text, variables={"sessions": "7"}).vars["sessions"] == "7"


ARMS = """\
name: ab
kind: toggle
hypothesis: [idxk-transfer, topk-v2]
vars: {sessions: 4, rounds: 3}
arms: [control, treatment]
steps:
  - env: {services: [prefill], set: {TOPK: "0"}, removes: [topk-v2]}
    when: treatment
  - restart: {services: [prefill]}
  - reproduce: {use: agent-sessions}
verdict: {by: rate, expect: drop, against: control}
"""


def test_arms_are_read(workspace: Workspace) -> None:
    playbook = workspace.playbook(ARMS)
    assert playbook.arms == ("control", "treatment")
    assert [step.when for step in playbook.steps] == ["treatment", None, None]
    assert playbook.hypotheses == SLUGS
    assert playbook.verdict == RateRule(Expect.DROP, "control")


def test_a_playbook_names_those_that_it_shares_no_restart_with(workspace: Workspace) -> None:
    there = ("idxk-checksum", "fixed", "topk-off")
    made = workspace.playbook(f"{PLAYBOOK}conflicts_with: [fixed]\n", playbooks=there)
    assert made.conflicts_with == ("fixed",)
    assert workspace.playbook().conflicts_with == ()
    for named, what in (
        ("[fixd]", "21:18: unknown playbook 'fixd' (did you mean 'fixed'?)"),
        ("[fixed, fixed]", "21:25: 'fixed' is named twice"),
        ("idxk-checksum", "21:17: a playbook does not conflict with itself: name another"),
    ):
        with pytest.raises(LoadError) as caught:
            workspace.playbook(f"{PLAYBOOK}conflicts_with: {named}\n", playbooks=there)
        assert said(caught.value) == [what]


def test_a_verdict_may_stand_against_another_playbook(workspace: Workspace) -> None:
    text = edited(ARMS, ("against: control", "against: fixed"))
    assert workspace.playbook(text, playbooks=("ab", "fixed")).verdict == RateRule(
        Expect.DROP, "fixed"
    )


def test_slugs_are_left_alone_where_none_are_known(workspace: Workspace) -> None:
    path = workspace.root / "p.yaml"
    path.write_text(edited(PLAYBOOK, ("hypothesis: idxk-transfer", "hypothesis: other")))
    playbook = load_playbook(path, workspace.system(), hypotheses=None)
    assert playbook.hypotheses == ("other",)


CHANGE = '    env: {services: [prefill, decode], set: {IDXK_CKSUM: "1"}}'
RESTART = "  - restart: {services: [prefill, decode]}\n"
REPRODUCE = "  - reproduce: {use: agent-sessions}\n"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("kind: probe\n", "", "1:1: missing key 'kind': What it is."),
        (
            "kind: probe",
            "kind: prob",
            "3:7: expected baseline, toggle, probe, detector or fix, not 'prob' "
            "(did you mean 'probe'?)",
        ),
        (
            "name: idxk-checksum",
            "name: idxk checksum",
            "1:7: expected a name (letters, digits, '_', '-' and '.', at most 64), "
            "not 'idxk checksum'",
        ),
        (
            "hypothesis: idxk-transfer",
            "hypothesis: idxk-tranfer",
            "2:13: unknown hypothesis 'idxk-tranfer' (did you mean 'idxk-transfer'?)",
        ),
        (
            "hypothesis: idxk-transfer",
            "hypothesis: [mtp]",
            "2:14: unknown hypothesis 'mtp' (known: idxk-transfer, topk-v2)",
        ),
        ("if_true:", "if_ture:", "6:3: unknown key 'if_ture' (did you mean 'if_true'?)"),
        (
            "rounds: 3}",
            "rounds: yes}",
            '8:30: expected text or a number, not the boolean yes: put it in quotes: "yes"',
        ),
        (
            "rounds: 3}",
            'rounds: "{{ n }}"}',
            "8:30: the value of 'rounds' is not filled in: write it out",
        ),
        (
            "sessions: 40",
            "sesions: 40",
            "15:22: reproducer 'agent-sessions': variable 'sessions' is not set "
            "(did you mean 'sesions'?): set it in vars or with --var",
        ),
        (
            "sessions: 40",
            "sessions: many",
            "15:22: reproducer 'agent-sessions' plans 'many' trials: "
            "expected a whole number above 0",
        ),
        ("host: here", "host: here2", "11:19: unknown host 'here2' (did you mean 'here'?)"),
        ("root: system", "rot: system", "11:50: unknown key 'rot' (did you mean 'root'?)"),
        (
            "root: system",
            "rot: system",
            "11:5: missing key 'root': "
            "The folder the change stays below, relative to the workspace.",
        ),
        (
            "diff: patches/idxk.diff, ",
            "",
            "11:12: expected exactly one of the keys diff, upload, replace, probe",
        ),
        (
            "diff: patches/idxk.diff",
            "probe: checksums",
            "11:32: expected checksum, not 'checksums' (did you mean 'checksum'?)",
        ),
        (
            "diff: patches/idxk.diff",
            "probe: checksum, into: ../lib",
            "11:48: '../lib' leaves the root: give a path below it",
        ),
        (
            "diff: patches/idxk.diff",
            "upload: patches/new.py, to: ../x",
            "11:53: '../x' leaves the root: give a path below it",
        ),
        (
            "diff: patches/idxk.diff",
            "replace: {path: /etc/passwd, old: a, new: b}",
            "11:41: '/etc/passwd' leaves the root: give a path below it",
        ),
        (
            "diff: patches/idxk.diff",
            "upload: patches/new.py, to: x, mode: 0644",
            '11:62: expected a file mode in quotes, such as "0644", not the number 0644',
        ),
        ("set: {", "st: {", "13:40: unknown key 'st' (did you mean 'set'?)"),
        (
            '{IDXK_CKSUM: "1"}',
            "{IDXK_CKSUM: 0}",
            '13:58: expected text, not the number 0: put it in quotes: "0"',
        ),
        (
            '{IDXK_CKSUM: "1"}',
            "{IDXK_CKSUM: no}",
            '13:58: expected text, not the boolean no: put it in quotes: "no"',
        ),
        (
            '{IDXK_CKSUM: "1"}',
            '{IDXK_CKSUM: "{{ rouns }}"}',
            "13:58: variable 'rouns' is not set (did you mean 'rounds'?): "
            "set it in vars or with --var",
        ),
        (
            '{IDXK_CKSUM: "1"}',
            '{IDXK_CKSUM: "{{ a.b }}"}',
            "13:58: '{{ a.b }}' is not a template: only {{ name }} is understood",
        ),
        ('set: {IDXK_CKSUM: "1"}', "set: {}", "13:5: changes nothing: give set or unset"),
        ('"1"}}', '"1"}, unset: [IDXK_CKSUM]}', "13:72: 'IDXK_CKSUM' is both set and unset"),
        (
            "env: {services: [prefill, decode]",
            "env: {services: [prefill, router]",
            "13:31: service 'router' has no 'env' in campaign.yaml: say how it is edited",
        ),
        (
            "restart: {services: [prefill, decode]}",
            "restart: {services: prefill}",
            "14:25: expected a list of services, not 'prefill'",
        ),
        (
            "restart: {services: [prefill, decode]}",
            "restart: {services: [prefil]}",
            "14:26: unknown service 'prefil' (did you mean 'prefill'?)",
        ),
        (
            "restart: {services: [prefill, decode]}",
            "restart: {services: [prefill], action: reload}",
            "14:26: service 'prefill' has no 'reload' in campaign.yaml: say how it reads its files "
            "again",
        ),
        (
            "restart: {services: [prefill, decode]}",
            "restart: {services: [decode, decode]}",
            "14:34: 'decode' is named twice",
        ),
        ("restart:", "restrat:", "14:5: unknown key 'restrat' (did you mean 'restart'?)"),
        (
            "use: agent-sessions",
            "use: agent-session",
            "15:22: unknown reproducer 'agent-session' (did you mean 'agent-sessions'?)",
        ),
        (
            "use: agent-sessions",
            "use: agent-sessions, vars: {round: 1}",
            "15:45: reproducer 'agent-sessions' has no variable 'round' (did you mean 'rounds'?)",
        ),
        (
            "log: decode",
            "log: decoder",
            "19:20: unknown service 'decoder' (did you mean 'decode'?)",
        ),
        (
            "sum=(?P<value>",
            "sum=(?P<val>",
            "18:35: the regular expression needs the named group (?P<value>...)",
        ),
        (
            "sum=(?P<value>",
            "sum=((?P<value>",
            "18:35: not a regular expression that can be used: unclosed group",
        ),
        (
            "log: prefill, match",
            "output: itself, match",
            "18:22: unknown arm or playbook 'itself' (known: idxk-checksum)",
        ),
        (
            "log: prefill, match",
            "log: prefill, key: [room, key], match",
            "18:53: the regular expression needs the named group (?P<room>...)",
        ),
        (
            "log: prefill, match",
            "log: prefill, value: [key, value], match",
            "19:7: the value of right has 1 part, that of left 2: they could never agree",
        ),
        (
            ", match: 'room=(?P<key>\\d+) sum=(?P<value>[0-9a-f]+)'}\n      right",
            "}\n      right",
            "18:7: missing key 'match': a regular expression with the groups key and value; "
            "of lines that are JSON name the fields instead",
        ),
        (
            "by: mismatch, min_coverage: 95%",
            "by: mismatc",
            "20:15: expected rate, time or mismatch, not 'mismatc' (did you mean 'mismatch'?)",
        ),
        ("by: mismatch, ", "", "20:1: missing key 'by': rate, time or mismatch"),
        (
            "95%",
            "0.95",
            "20:39: expected a percentage such as 95%, not the number 0.95",
        ),
        (
            "95%",
            "101%",
            "20:39: expected a percentage such as 95%, from 0% to 100%, not '101%'",
        ),
        (
            "by: mismatch, min_coverage: 95%",
            "by: rate, expect: fall",
            "20:29: expected drop, rise or same, not 'fall'",
        ),
        (
            "by: mismatch, min_coverage: 95%",
            "by: rate, expect: drop, against: other",
            "20:44: unknown arm or playbook 'other' (known: baseline)",
        ),
        (
            "by: mismatch, min_coverage: 95%",
            "by: rate, expect: drop, against: idxk-checksum",
            "20:44: a playbook cannot be set against itself",
        ),
        (
            RESTART,
            "",
            "11:5: a change without a restart would run nowhere: "
            "add a restart step after the changes",
        ),
        (
            "  - name: switch the checksum log on\n" + CHANGE + "\n" + RESTART,
            RESTART + "  - name: switch the checksum log on\n" + CHANGE + "\n",
            "14:5: a change after the last restart: move it before that restart",
        ),
        (REPRODUCE, "", "19:1: a verdict needs a reproduce step: there would be no trials"),
        (
            "kind: probe",
            "kind: detector",
            "3:7: a detector playbook needs a compare step with known_bad: what it must find",
        ),
        (
            REPRODUCE,
            REPRODUCE + "    when: treatment\n",
            "16:11: unknown arm 'treatment': this playbook declares no arms",
        ),
        (
            REPRODUCE,
            "  - wait: 5\n",
            "15:11: expected a duration with its unit, such as 300s, 200ms, 15m or 1m30s, "
            "not the number 5",
        ),
        (
            REPRODUCE,
            "  - http: {url: 'gopher://x'}\n",
            "15:17: expected a URL such as http://127.0.0.1:8080/health, not 'gopher://x'",
        ),
        (
            REPRODUCE,
            "  - command: {do: [ls, '{{ x }}']}\n",
            "15:24: variable 'x' is not set (known: sessions, rounds): "
            "set it in vars or with --var",
        ),
        (
            REPRODUCE,
            "  - ls\n",
            "15:5: expected a mapping with one of the keys patch, env, restart, reproduce, "
            "collect, compare, command, wait, http, not 'ls'",
        ),
        (
            REPRODUCE,
            "  - name: nothing\n",
            "15:5: expected exactly one of the keys patch, env, restart, reproduce, collect, "
            "compare, command, wait, http",
        ),
    ],
)
def test_one_mistake(workspace: Workspace, old: str, new: str, expected: str) -> None:
    assert expected in workspace.playbook_problems((old, new))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "when: treatment",
            "when: treatmnt",
            "8:11: unknown arm 'treatmnt' (did you mean 'treatment'?)",
        ),
        (
            "    when: treatment\n",
            "",
            "5:17: arm 'treatment' is the same as 'control': give it a step with 'when: treatment'",
        ),
        (
            "[control, treatment]",
            "[control, treatment, treatment]",
            "5:28: arm 'treatment' is named twice",
        ),
        ("[control, treatment]", "[treatment]", "5:7: empty: expected at least two"),
        (
            "against: control",
            "against: contrl",
            "11:44: unknown arm or playbook 'contrl' (did you mean 'control'?)",
        ),
        (
            "  - restart: {services: [prefill]}\n",
            "  - restart: {services: [prefill]}\n    when: control\n",
            "7:5: a change after the last restart in arm 'treatment': move it before that restart",
        ),
        ("[topk-v2]}", "[topkv2]}", "7:60: unknown hypothesis 'topkv2' (did you mean 'topk-v2'?)"),
        (
            "by: rate, expect: drop, against: control",
            "by: mismatch",
            "11:15: by mismatch needs a compare step",
        ),
    ],
)
def test_one_mistake_with_arms(workspace: Workspace, old: str, new: str, expected: str) -> None:
    assert expected in workspace.playbook_problems((old, new), text=ARMS)


def test_a_baseline_needs_a_restart(workspace: Workspace) -> None:
    text = "name: b\nkind: baseline\nvars: {seed: 1}\nsteps: [{reproduce: {use: bisect}}]\n"
    assert workspace.playbook_problems(text=text) == [
        "2:7: a baseline needs a restart step: what ran before is no known configuration"
    ]


def test_a_missing_patch_is_looked_for_by_name(workspace: Workspace) -> None:
    assert workspace.playbook_problems(("idxk.diff", "idkx.diff")) == [
        "11:31: 'patches/idkx.diff': there is no such file (did you mean 'idxk.diff'?) "
        f"(paths start at {workspace.root})"
    ]


def test_a_folder_is_no_patch(workspace: Workspace) -> None:
    assert workspace.playbook_problems(("patches/idxk.diff", "patches")) == [
        f"11:31: 'patches': is not a file (paths start at {workspace.root})"
    ]


def test_several_hosts_must_be_told_apart(workspace: Workspace) -> None:
    system = workspace.system(
        edited(
            CAMPAIGN,
            ("  here: {local: true}", "  here: {local: true}\n  there: {ssh: there}"),
            ("  decode:\n", "  decode:\n    host: here\n"),
            ("  router:\n", "  router:\n    host: here\n"),
            ("    command: ./once.sh\n", "    command: ./once.sh\n    on: here\n"),
        )
    )
    with pytest.raises(LoadError) as caught:
        workspace.playbook(edited(PLAYBOOK, ("host: here, ", "")), system=system)
    assert said(caught.value) == ["11:5: missing key 'host': there are 2 hosts (here, there)"]


def test_an_unknown_given_variable_is_named(workspace: Workspace) -> None:
    with pytest.raises(LoadError) as caught:
        workspace.playbook(variables={"sesions": "1"})
    assert said(caught.value) == [
        "8:1: --var sesions: there is no such variable (did you mean 'sessions'?)"
    ]


def test_all_mistakes_come_at_once_in_their_order(workspace: Workspace) -> None:
    found = workspace.playbook_problems(
        ("kind: probe", "kind: probes"),
        ("hypothesis: idxk-transfer", "hypothesis: idxk"),
        ("host: here", "host: gpu"),
        ('{IDXK_CKSUM: "1"}', "{IDXK_CKSUM: on}"),
        ("use: agent-sessions", "use: sessions"),
        ("95%", "95"),
    )
    assert [line.split(":")[0] for line in found] == ["2", "3", "11", "13", "15", "20"]


def test_a_step_that_is_not_understood_is_not_said_to_be_missing(workspace: Workspace) -> None:
    assert workspace.playbook_problems(("restart:", "restrat:")) == [
        "14:5: unknown key 'restrat' (did you mean 'restart'?)"
    ]


def test_a_problem_is_shown_with_its_line_and_a_caret(workspace: Workspace) -> None:
    with pytest.raises(LoadError) as caught:
        workspace.playbook(edited(PLAYBOOK, ("kind: probe", "kind: prob")))
    first, line, caret = str(caught.value).splitlines()
    assert first.startswith(f"{workspace.root}/playbook.yaml:3:7: expected baseline")
    assert (line, caret) == ("  kind: prob", "        ^")
