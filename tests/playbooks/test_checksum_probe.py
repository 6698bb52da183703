"""The checksum probe, as a service has it: a file beside its own, in a process of its own."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
import zlib
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbooks import probes
from playbooks.probes import checksum_probe

LINE = re.compile(
    r"checksum_probe name=(\S+) side=(\S+) key=(\S+) crc32=([0-9a-f]{8}) bytes=(\d+) seq=(\d+) "
    r"pid=(\d+) dropped=(\d+)"
)
Service = Callable[..., list[str]]


@pytest.fixture
def service(tmp_path: Path) -> Service:
    """Runs a program that may import the probe; returns the lines of its standard error."""
    shutil.copy(probes.file("checksum"), tmp_path)

    def run(program: str, python: str = sys.executable, **environ: str) -> list[str]:
        file = tmp_path / "service.py"
        file.write_text("from checksum_probe import checkpoint, flush\n" + textwrap.dedent(program))
        done = subprocess.run(
            [python, str(file)],
            env={"PATH": os.environ["PATH"], "CHECKSUM_PROBE": "1", **environ},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stderr.splitlines()

    return run


def sums(lines: list[str]) -> dict[str, str]:
    """Key -> checksum, of the lines that tell one."""
    found = [one.groups() for one in map(LINE.fullmatch, lines) if one]
    return {unquote(key): crc for _, _, key, crc, *_ in found}


def crc(data: bytes) -> str:
    return f"{zlib.crc32(data):08x}"


def test_the_same_elements_have_the_same_sum_whatever_holds_them(service: Service) -> None:
    lines = service(
        """
        import array, numpy
        data = bytes(range(240)) * 1000
        grid = numpy.frombuffer(data, numpy.uint8).reshape(480, 500)
        whole = {
            "bytes": data, "bytearray": bytearray(data), "view": memoryview(data),
            "array": array.array("H", data), "numpy": numpy.frombuffer(data, "<f8"), "grid": grid,
            "transposed twice": numpy.asfortranarray(grid),
        }
        for key, buffer in whole.items():
            checkpoint("idxk", buffer, key=key, side="src")
        checkpoint("idxk", grid[:, ::2], key="every second", side="src")
        checkpoint("idxk", numpy.array("2026-11-30", "datetime64[D]"), key="a date", side="src")
        checkpoint("idxk", b"", key="none", side="src")
        checkpoint("idxk", numpy.zeros((0, 3)), key="no rows", side="src")
        """
    )
    data = bytes(range(240)) * 1000
    found = sums(lines)
    same = ("bytes", "bytearray", "view", "array", "numpy", "grid", "transposed twice")
    assert {found[key] for key in same} == {crc(data)}
    assert found["every second"] == crc(data[::2])
    assert found["a date"] == crc((20787).to_bytes(8, "little"))
    assert found["none"] == found["no rows"] == crc(b"")
    assert {one.group(8) for one in map(LINE.fullmatch, lines) if one} == {"0"}


def test_a_buffer_is_read_as_it_is_at_the_call(service: Service) -> None:
    lines = service(
        """
        for size in (100, 5_000_000):
            buffer = bytearray(size)
            for key in range(20):
                buffer[key] = 1
                checkpoint("kv", buffer, key=f"{size}-{key}", side="dst")
        """
    )
    expected = {
        f"{size}-{key}": crc(b"\1" * (key + 1) + bytes(size - key - 1))
        for size in (100, 5_000_000)
        for key in range(20)
    }
    assert sums(lines) == expected


@pytest.mark.parametrize("value", ["", "0"])
def test_it_is_off_until_switched_on(service: Service, value: str) -> None:
    lines = service(
        """
        import threading
        checkpoint("kv", object(), key=1, side="src")
        assert flush() and threading.active_count() == 1
        """,
        CHECKSUM_PROBE=value,
    )
    assert lines == []


def test_lines_go_where_the_environment_says(service: Service, tmp_path: Path) -> None:
    call = 'checkpoint("kv", b"abc", key=1, side="src")'
    assert service(call, CHECKSUM_PROBE="stdout") == []
    file = tmp_path / "sums.log"
    for _ in range(2):
        assert service(call, CHECKSUM_PROBE=str(file)) == []
    assert file.read_text().count(crc(b"abc")) == 2
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("bound", ["CHECKSUM_PROBE_LINES", "CHECKSUM_PROBE_BYTES"])
def test_what_finds_no_room_is_dropped_and_counted(service: Service, bound: str) -> None:
    """Nobody reads the pipe until it is full, the queue behind it too, and every call returned."""
    lines = service(
        """
        import os, threading
        kept, (reader, writer) = os.dup(2), os.pipe()
        os.dup2(writer, 2)
        os.close(writer)
        for key in range(3000):
            checkpoint("kv", bytearray(100), key=key, side="src")

        def read():
            with open(reader, "rb") as pipe, open(kept, "wb") as out:
                out.write(pipe.read())

        thread = threading.Thread(target=read)
        thread.start()
        assert flush(50)
        checkpoint("kv", b"last", key="last", side="src")
        assert flush(50)
        os.close(2)
        thread.join()
        """,
        **{bound: "50" if bound.endswith("LINES") else "5000"},
    )
    told = sums(lines)
    (last,) = [one for one in map(LINE.fullmatch, lines) if one and one.group(3) == "last"]
    dropped = int(last.group(8))
    assert dropped > 0
    assert len(told) - 1 + dropped == 3000


def test_what_cannot_be_read_does_not_stop_the_service(service: Service) -> None:
    lines = service(
        """
        for key in (1, 2):
            checkpoint("kv", object(), key=key, side="src")
        checkpoint("kv", b"abc", key=3, side="src")
        """
    )
    assert sums(lines) == {"3": crc(b"abc")}
    (told,) = [line for line in lines if "error=" in line]
    assert "no%20attribute%20'tobytes'" in told
    assert "dropped=2" in lines[-1] or "dropped=2" in lines[-2]


def test_a_child_process_has_a_probe_of_its_own(service: Service) -> None:
    lines = service(
        """
        import os
        checkpoint("kv", b"parent", key="parent", side="src")
        child = os.fork()
        if not child:
            checkpoint("kv", b"child", key="child", side="src")
            flush()
            os._exit(0)
        os.waitpid(child, 0)
        """
    )
    found = [one for one in map(LINE.fullmatch, lines) if one]
    assert {one.group(3) for one in found} == {"parent", "child"}
    assert len({one.group(7) for one in found}) == 2


def test_many_threads_lose_nothing(service: Service) -> None:
    lines = service(
        """
        import threading
        def work(number):
            for key in range(500):
                checkpoint("kv", bytearray(b"%d" % key), key=f"{number}-{key}", side="src")
        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for one in threads: one.start()
        for one in threads: one.join()
        """
    )
    found = sums(lines)
    assert len(found) == 4000
    assert found["7-499"] == crc(b"499")
    numbers = sorted(int(one.group(6)) for one in map(LINE.fullmatch, lines) if one)
    assert numbers == list(range(4000))


@pytest.mark.parametrize("version", ["3.8", "3.13"])
def test_other_pythons(service: Service, version: str) -> None:
    real = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    if not real:
        pytest.skip(f"no Python {version} on this machine")
    call = 'checkpoint("kv", bytearray(b"abc"), key=1, side="src")'
    assert sums(service(call, python=str(real[-1]))) == {"1": crc(b"abc")}


@given(st.text(st.characters(codec=None)))
def test_any_key_is_one_word_that_reads_back(text: str) -> None:
    word = checksum_probe.as_word(text)
    assert not re.search(r'[\s="]', word)
    assert word.isascii()
    assert unquote(word, errors="surrogatepass") == text
