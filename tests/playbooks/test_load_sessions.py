"""`http_sessions` in campaign.yaml: read whole, and refused where it cannot be driven."""

from pathlib import Path

import pytest
from load_workspace import ENVIRON

from playbooks.language.load import LoadError, load_playbook, load_system
from playbooks.system import Reproducer, System

CAMPAIGN = """\
campaign: c
symptom: s
hosts: {far: {ssh: far.lab}, here: {local: true}}
services: {app: {host: here, process: {command: x}}}
secrets: {API_KEY: {env: API_KEY}}
reproducers:
  it:
    on: here
    timeout: 5m
    on_timeout: fail
    parse: {pass: [no_tool_call]}
    http_sessions:
      url: http://127.0.0.1:{{ port }}/v1
      model: "{{ model }}"
      sessions: 40
      rounds: 3
      concurrency: "{{ concurrency }}"
      ramp: 2s
      think: 100ms
      prompts: ["Session {{ session }} in {{ city }}"]
      tools:
        - function: {name: weather, parameters: {type: object}}
      tool_results: {weather: "{{ arguments }}", "*": none}
      api_key: API_KEY
      extra_body: {temperature: 0.7, stop: ["{{"]}
      key: {field: meta.room}
      checks:
        refused: {find: '(?i)as an ai'}
        shape: {fits: {type: object, required: [answer]}}
      spread: {dask: tcp://scheduler:8786}
"""
PLAY = """\
name: baseline
kind: baseline
vars: {port: 30000, model: m, concurrency: 10, city: Oslo}
steps: [{restart: {services: [app]}}, {reproduce: {use: it}}]
"""


def system(folder: Path, *changes: tuple[str, str]) -> System:
    text = CAMPAIGN
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / "campaign.yaml"
    path.write_text(text, encoding="utf-8")
    return load_system(path, ENVIRON)


def read(folder: Path, *changes: tuple[str, str]) -> Reproducer:
    return system(folder, *changes).reproducers["it"]


def test_it_is_read_whole(tmp_path: Path) -> None:
    it = read(tmp_path)
    assert it.sessions
    assert it.trials == "40"
    assert it.used == ["port", "model", "concurrency", "city"]
    assert it.parse.fail == {
        *("leak", "bad_json_args", "schema_mismatch", "timeout", "refused", "shape")
    }
    assert it.parse.passed == {"no_tool_call", "maxrounds", "done"}
    assert it.parse.censored == {"http_error"}
    assert it.sessions.outcomes[2:5] == ("leak", "refused", "shape")
    variables = {"port": "1", "model": "m", "concurrency": "8", "city": "Oslo"}
    filled = it.sessions.filled(variables, "")
    assert filled.prompts == ("Session {{ session }} in Oslo",)
    assert filled.extra_body == '{"temperature": 0.7, "stop": ["{{"]}'
    assert "http_sessions http://127.0.0.1:{{ port }}/v1 {{ model }} " in it.told


def test_what_it_says_is_a_condition_and_how_many_there_are_is_none(tmp_path: Path) -> None:
    told = read(tmp_path).told
    assert read(tmp_path, ("sessions: 40", "sessions: 80")).told == told
    assert read(tmp_path, ("think: 100ms", "think: 101ms")).told != told
    (tmp_path / "p.jsonl").write_text('"a"\n', encoding="utf-8")
    file = ('prompts: ["Session {{ session }} in {{ city }}"]', "prompts_file: p.jsonl")
    first = read(tmp_path, file).told
    (tmp_path / "p.jsonl").write_text('"b"\n', encoding="utf-8")
    assert read(tmp_path, file).told != first


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("on: here", "on: far", "http_sessions run on this machine, and 'far' is another one"),
        ("{{ port }}/v1", "x/v1", "expected a URL such as http://127.0.0.1:30000/v1"),
        ("{{ model }}", "{{ session }}", "there is no {{ session }} here yet"),
        ("{{ city }}", "{{ arguments }}", "it is known in tool_results"),
        ("{{ city }}", "{{ city", "is not a template"),
        ("sessions: 40", "session: 40", "unknown key 'session' (did you mean 'sessions'?)"),
        ("    timeout: 5m", "    command: x\n    timeout: 5m", "'http_sessions' beside 'command'"),
        ("api_key: API_KEY", "api_key: API_KEI", "unknown secret 'API_KEI' (did you mean"),
        ("{type: object}", "{type: objekt}", "not a JSON Schema: type: 'objekt' is not valid"),
        ("{weather: ", "{whether: ", "unknown tool 'whether' (did you mean 'weather'?)"),
        ("(?i)as an ai", "(?=a)", "not a regular expression that can be used"),
        ("refused:", "leak:", "'leak' is an outcome already: name it otherwise"),
        ("[no_tool_call]", "[no_tool_cal]", "unknown outcome 'no_tool_cal' (did you mean"),
        ("think:", "classify: [leak, shape]\n      think:", "'refused' is not in 'classify'"),
        ("[no_tool_call]", "[leak], fail: [leak]", "outcome 'leak' is fail already"),
        ("tcp://scheduler:8786", "scheduler", "expected a scheduler such as tcp://scheduler:8786"),
        ("{type: object}", '{pattern: "("}', "not a JSON Schema: pattern: '(' is not a 'regex'"),
        ("{type: object}", '{$ref: "#/$defs/a"}', "$ref '#/$defs/a' is not in it: write it out"),
        ("{type: object}", '{$ref: "http://h/a"}', "$ref 'http://h/a' is not in it: write it out"),
        ("ramp: 2s", 'headers: {x-a: "b\\n"}', "'x-a' is no header with a value of one line"),
        ("temperature: 0.7", "tools: []", "'tools' has a key of its own: say it there"),
        ("ramp: 2s", "prompts_file: none.jsonl", "'none.jsonl': no such file or directory"),
        ("ramp: 2s", "prompts_file: none.jsonl", "'prompts_file' beside 'prompts'"),
    ],
)
def test_what_cannot_be_driven_is_reported(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(LoadError) as caught:
        read(tmp_path, (old, new))
    assert said in str(caught.value)


def test_sessions_that_say_nothing_are_reported(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="12:5: nothing is said: give messages, prompts or"):
        read(tmp_path, ('prompts: ["Session {{ session }} in {{ city }}"]', "prompts: []"))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"prompt": 1}', "line 2: expected JSON: a text, or"),
        ("Hello", "line 2: expected JSON"),
        ('{"messages": []}', "line 2: expected JSON"),
    ],
)
def test_a_file_of_prompts_is_read_line_by_line(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "p.jsonl"
    change = ('prompts: ["Session {{ session }} in {{ city }}"]', "prompts_file: p.jsonl")
    good = ['"a"', '{"prompt": "b"}', '{"messages": [{"role": "user", "content": "c"}]}']
    path.write_text("\n".join([*good, ""]), encoding="utf-8")
    assert read(tmp_path, change).sessions
    path.write_text(f'"a"\n{line}\n', encoding="utf-8")
    with pytest.raises(LoadError, match=said):
        read(tmp_path, change)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            ("concurrency: 10", "concurrency: 0"),
            "concurrency is '0': expected a whole number",
        ),
        (("port: 30000", "port: none"), "expected a URL such as"),
        ((", city: Oslo", ""), "variable 'city' is not set"),
        (("use: it", "use: it, vars: {place: x}"), "has no variable 'place'"),
    ],
)
def test_a_playbook_gives_what_it_needs(tmp_path: Path, change: tuple[str, str], said: str) -> None:
    whole = system(tmp_path)
    path = tmp_path / "baseline.yaml"
    path.write_text(PLAY, encoding="utf-8")
    assert load_playbook(path, whole, hypotheses=())
    path.write_text(PLAY.replace(*change), encoding="utf-8")
    with pytest.raises(LoadError) as caught:
        load_playbook(path, whole, hypotheses=())
    assert said in str(caught.value)
