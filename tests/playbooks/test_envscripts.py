"""What a shell really gives to what a script starts, after the script was edited."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from playbooks.agent.envfile import EnvFileError
from playbooks.env.scripts import edit, read

SHELLS = [shell for shell in ("dash", "bash") if shutil.which(shell)]

SCRIPTS = {
    "nothing": "#!/bin/sh\n# X=comment\nexec env -0\n",
    "export": "#!/bin/sh\nexport X=old\nY=$X\nexec env -0\n",
    "double": '#!/bin/bash\nset -eu\nexport Y=1 X="old $HOME" Z=2\nexec env -0\n',
    "single": "export X='old'\necho \"X=$X\" >/dev/null\nenv -0\n",
    "inline": "X=old Y=2 exec env -0\n",
    "inline with continuation": "Y=2 \\\n  X='o l d' \\\n  env -0\n",
    "env": "exec env Y=2 X=old env -0\n",
    "plain then exported": "X=old\nexport X\nexec env -0\n",
    "exported first": "export X\nX=old\nenv -0\n",
    "set -a": "set -a\nX=old\nset +a\nexec env -0\n",
    "default": ': "${X:=old}"\nexport X\nexec env -0\n',
    "if": 'if [ -n "$HOME" ]; then\n  export X=a\nelse\n  export X=b\nfi\nexec env -0\n',
    "and": "cd / && export X=old && exec env -0\n",
    "unset": "export X=old\nunset X\nexec env -0\n",
    "background": "export Y=1\nenv -0 &\nPID=$!\nwait $PID\n",
    "function": "run() {\n  export X=old\n  exec env -0\n}\nrun\n",
    "started by a function": "run() { env -0 & }\nrun\nwait\n",
    "heredoc": "cat <<'X' >/dev/null\nexport X=not this\nX\nexec env -0\n",
    "one line": "set -e; export Y=1; exec env -0\n",
    "loop": "for i in 1; do\n  env -0\ndone\n",
    "case": "case a in a|b) export X=1;; *) export X=2 ;; esac\nexec env -0 # X=3\n",
    "subshell": "(export X=old; true)\nexec env -0\n",
    "substitution": "Y=$(X=1; echo \"$X\" 'a)')\nexport Y\nexec env -0\n",
    "sourced": "export X=old\n. ./nothing.sh\nexec env -0\n",
    "no newline": "exec env -0",
}


def seen(shell: str, script: bytes, folder: Path) -> dict[str, str]:
    """The environment that the last program of the script gets."""
    path = folder / "serve.sh"
    path.write_bytes(script)
    (folder / "nothing.sh").write_text("X=sourced\nexport X\n")
    env = {"PATH": os.environ["PATH"], "HOME": "/root", "X": "outer"}
    done = subprocess.run(
        [shell, str(path)], env=env, cwd=folder, capture_output=True, check=True, timeout=20
    )
    pairs = (one.decode("utf-8", "surrogateescape") for one in done.stdout.split(b"\0") if one)
    return dict(pair.partition("=")[::2] for pair in pairs)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("name", SCRIPTS)
def test_the_shell_sees_what_was_set(name: str, shell: str, tmp_path: Path) -> None:
    script = SCRIPTS[name].encode()
    before = seen(shell, script, tmp_path)
    edited = edit(script, {"X": 'it\'s "new" $HOME \\ `z` %d\nnext'}, ())
    after = seen(shell, edited, tmp_path)
    assert after["X"] == 'it\'s "new" $HOME \\ `z` %d\nnext'
    assert read(edited)["X"] == after["X"]
    others = {key for key in before if key not in ("X", "Y", "_")}
    assert {key: after[key] for key in others} == {key: before[key] for key in others}
    assert edit(edited, {"X": after["X"]}, ()) == edited


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("name", SCRIPTS)
def test_the_shell_sees_what_was_unset(name: str, shell: str, tmp_path: Path) -> None:
    try:
        edited = edit(SCRIPTS[name].encode(), {}, ["X"])
    except EnvFileError as error:
        assert "may assign X again" in str(error)  # noqa: PT017 - some scripts are refused
    else:
        assert "X" not in seen(shell, edited, tmp_path)
        assert "X" not in read(edited)


TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(value=TEXT, name=st.sampled_from(sorted(SCRIPTS)))
@example(value="'", name="double")
@example(value="a\n'\"\\\n", name="inline")
@example(value="!x \\", name="double")
def test_any_text_survives(value: str, name: str, tmp_path: Path) -> None:
    edited = edit(SCRIPTS[name].encode(), {"X": value}, ())
    assert seen(SHELLS[0], edited, tmp_path)["X"] == value
    assert read(edited)["X"] == value


def test_quotes_comments_and_places_are_kept() -> None:
    script = (
        b"#!/bin/bash\n# export A=0\nexport A='1'  # first\nB=\"two\" C=3 exec serve --port 1\n"
    )
    assert edit(script, {"A": "x y", "B": "$1", "C": "4"}, ()) == (
        b"#!/bin/bash\n# export A=0\nexport A='x y'  # first\nB=\"\\$1\" C=4 exec serve --port 1\n"
    )


def test_a_new_variable_stands_before_the_start() -> None:
    script = (
        b"set -e\nsource venv/bin/activate\n\n# the engine\n  exec python serve.py \\\n  --tp 4\n"
    )
    assert edit(script, {"A": "1"}, ()) == (
        b"set -e\nsource venv/bin/activate\n\n# the engine\n  export A=1\n"
        b"  exec python serve.py \\\n  --tp 4\n"
    )


def test_a_container_gets_its_own() -> None:
    script = b"docker run -e A=1 --env B=2 image\n"
    assert b"-e A=5 --env B=6 image" in edit(script, {"A": "5", "B": "6"}, ())


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("#!/usr/bin/env python3\n", "is no shell script (#!/usr/bin/env python3)"),
        ("read X\nexec serve\n", "line 1 reads X from its input"),
        ("for X in 1 2; do serve; done\n", "line 1 loops over X"),
        ("X=1\nX+=2\nexec serve\n", "line 2 appends to X"),
        ("X=(1 2)\nexec serve\n", "line 1 appends to X, or makes it an array"),
        ("readonly X=1\nexec serve\n", "line 1 makes X readonly"),
        ("exec env -i PATH=/bin serve\n", "line 1 starts a command without X"),
        ("exec env -u X serve\n", "line 1 starts a command without X"),
        ("[ -n 1 ] && unset X\nexec serve\n", "line 1 may unset X"),
        ("echo 'open\n", "line 1: a quote is never closed"),
        ("if true; then\n  serve\n", "is missing"),
        ("export A=1\r\nserve\r\n", "CR LF"),
        ("# nothing\n", "it starts nothing"),
    ],
)
def test_what_cannot_be_edited_is_refused(script: str, reason: str) -> None:
    with pytest.raises(EnvFileError) as caught:
        edit(script.encode(), {"X": "1"}, ())
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_no_variable_holds_is_refused() -> None:
    with pytest.raises(EnvFileError, match="NUL"):
        edit(b"serve\n", {"X": "a\0b"}, ())
    with pytest.raises(EnvFileError, match="no such script"):
        edit(None, {"X": "1"}, ())
