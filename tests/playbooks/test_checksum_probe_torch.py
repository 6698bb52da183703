"""The checksum probe on tensors, where torch is installed; on a CUDA device, where there is one."""

import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from playbooks.probes import checksum_probe

torch = pytest.importorskip("torch")
needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=needs_cuda)])
def device(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file in which an enabled probe of this process writes."""
    probe = checksum_probe._Probe(str(tmp_path / "lines"), 10_000, 1 << 30)
    monkeypatch.setattr(checksum_probe, "_probe", probe)
    yield tmp_path / "lines"
    assert checksum_probe.flush(60)


def sums(file: Path) -> dict[str, str]:
    assert checksum_probe.flush(60)
    words = [
        dict(w.split("=") for w in line.split()[1:]) for line in file.read_text().splitlines()[1:]
    ]
    assert not any("error" in one for one in words), words
    return {one["key"]: one["crc32"] for one in words}


def crc(tensor: Any) -> str:
    raw = tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes()
    return f"{zlib.crc32(raw):08x}"


@pytest.mark.parametrize("kind", ["uint8", "float32", "bfloat16", "float8_e4m3fn", "int64"])
def test_a_tensor_has_the_sum_of_its_elements(lines: Path, device: str, kind: str) -> None:
    raw = torch.frombuffer(bytearray(os.urandom(64 * 48 * 8)), dtype=torch.uint8).to(device)
    whole = raw.view(getattr(torch, kind)).reshape(48, -1)
    parts = {
        "whole": whole,
        "transposed": whole.t(),
        "every second": whole[:, ::2],
        "none": whole[:0],
    }
    for key, tensor in parts.items():
        checksum_probe.checkpoint("kv", tensor, key=key.replace(" ", "_"), side="src")
    expected = {key.replace(" ", "_"): crc(tensor) for key, tensor in parts.items()}
    assert sums(lines) == expected


def test_a_tensor_is_read_as_it_is_at_the_call(lines: Path, device: str) -> None:
    tensor = torch.zeros(5_000_000, dtype=torch.uint8, device=device)
    expected = {}
    for key in range(10):
        tensor.fill_(key)
        checksum_probe.checkpoint("kv", tensor, key=key, side="src")
        expected[str(key)] = f"{zlib.crc32(bytes([key]) * 5_000_000):08x}"
    assert sums(lines) == expected


@needs_cuda
@pytest.mark.parametrize("by_handle", [False, True])
def test_the_work_of_the_given_stream_is_seen_and_not_waited_for(
    lines: Path, by_handle: bool
) -> None:
    """The stream is kept busy for about a second; the call returns while it still is."""
    stream = torch.cuda.Stream()
    tensor = torch.zeros(1 << 20, dtype=torch.uint8, device="cuda")
    checksum_probe.checkpoint("kv", tensor, key="warm", side="src")
    assert checksum_probe.flush(60)
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(1_500_000_000)
        tensor.fill_(7)
    chosen = stream.cuda_stream if by_handle else stream
    checksum_probe.checkpoint("kv", tensor, key="late", side="src", stream=chosen)
    assert not stream.query()
    assert sums(lines)["late"] == f"{zlib.crc32(bytes([7]) * (1 << 20)):08x}"


@needs_cuda
def test_memory_that_is_used_again_at_once_does_not_change_the_sum(lines: Path) -> None:
    """The tensor is freed after the call: its memory may not be given out before it was read."""
    expected = {}
    side = torch.cuda.Stream()
    for key in range(50):
        tensor = torch.full((1 << 20,), key, dtype=torch.uint8, device="cuda")
        torch.cuda.current_stream().synchronize()
        checksum_probe.checkpoint("kv", tensor, key=key, side="src", stream=side)
        del tensor
        torch.full((1 << 20,), 255, dtype=torch.uint8, device="cuda")
        expected[str(key)] = f"{zlib.crc32(bytes([key]) * (1 << 20)):08x}"
    assert sums(lines) == expected


@needs_cuda
def test_a_graph_that_is_captured_is_left_alone(lines: Path) -> None:
    tensor = torch.zeros(1024, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        tensor.add_(1)
        checksum_probe.checkpoint("kv", tensor, key="captured", side="src")
    graph.replay()
    torch.cuda.synchronize()
    checksum_probe.checkpoint("kv", tensor, key="after", side="src")
    assert checksum_probe.flush(60)
    text = lines.read_text()
    assert "a%20CUDA%20graph%20is%20being%20captured" in text
    assert "key=after" in text
    assert "key=captured" not in text
