"""The index-K buffer: one key a prompt position, by which decode finds its place again.

A row is `width` bytes and position p's row starts at byte p * width. Keys are compared by the
number of bits in which they differ, so a single wrong byte does no harm; a row that is not there
does.
"""

import heapq
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b

from service import number, switched_on

TOP_K = 4


def width_setting() -> int:
    """Bytes in a row, by DEMO_INDEX_WIDTH: fewer are sent sooner."""
    return number("DEMO_INDEX_WIDTH", 64, 8, 64)


@lru_cache(maxsize=8192)
def key(token: str, width: int) -> bytes:
    """The index key of a token."""
    return blake2b(token.encode(errors="surrogatepass"), digest_size=width).digest()


def build(tokens: Sequence[str], width: int) -> bytes:
    """The index-K buffer of a prompt: len(tokens) * width bytes."""
    return b"".join([key(token, width) for token in tokens])


def topk_v1(distances: Sequence[int], k: int) -> list[int]:
    """Positions of the k smallest distances; the first of equals wins."""
    return sorted(range(len(distances)), key=distances.__getitem__)[:k]


def topk_v2(distances: Sequence[int], k: int) -> list[int]:
    """The same, without sorting the rest."""
    return heapq.nsmallest(k, range(len(distances)), key=distances.__getitem__)


class Index:
    """A buffer as decode read it."""

    def __init__(self, data: bytes, width: int) -> None:
        self._width = width
        starts = range(0, len(data), width)
        self._rows = [int.from_bytes(data[start : start + width], "big") for start in starts]
        self._topk = topk_v2 if switched_on("DEMO_OPT_USE_TOPK_V2", "1") else topk_v1

    def place(self, token: str) -> int:
        """The position whose key is nearest to that of `token`."""
        wanted = int.from_bytes(key(token, self._width), "big")
        return self._topk([(row ^ wanted).bit_count() for row in self._rows], TOP_K)[0]
