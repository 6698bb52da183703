"""One request to the endpoint: httpx over the transport of aiohttp, without limits of its own."""

import json
import ssl
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from msgspec import Struct, field

from playbooks.sessions.deadlines import Deadlines
from playbooks.sessions.message import Assembly, Malformed, Message, find
from playbooks.sessions.rules import Answer
from playbooks.sessions.spec import Sessions
from playbooks.sessions.sse import Events

if TYPE_CHECKING:
    import httpx

KEEP_ALIVE_S = 2.0
"""A connection idle for longer is not used again: the server may be closing it."""

END = "[DONE]"


class Round(Struct):
    """One request with what came of it: seconds from its start, None where it never came to that.

    `events` are the data of a stream's events as they came.
    """

    started_at: float
    answer: Answer
    status: int | None = None
    key: str = ""
    first_s: float | None = None
    seconds: float = 0.0
    events: list[str] = field(default_factory=list)
    body: str = ""


class Client:
    """Asks the endpoint of `spec`; `api_key` is its secret, where it has one. Close it at the end.

    Proxies of the environment are not asked: what is measured is the endpoint.
    """

    def __init__(self, spec: Sessions, api_key: str | None) -> None:
        import aiohttp
        import httpx
        from httpx_aiohttp import AiohttpTransport

        plain = {"content-type": "application/json", "accept-encoding": "identity"}
        headers = httpx.Headers({**plain, **spec.headers}, encoding="utf-8")
        if api_key is not None:
            headers["authorization"] = f"Bearer {api_key}"
        self._spec = spec
        self._url = httpx.URL(f"{spec.url.rstrip('/')}/{spec.path.lstrip('/')}")
        self._headers = headers
        self._timeouts = {"timeout": {"connect": spec.connect_timeout_s}}
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE_S)
        session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
        # The session has its own way with TLS; the transport's is slow to make, and never used.
        unused = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._deadlines = Deadlines(spec.timeout_s)
        self._transport = AiohttpTransport(verify=unused, client=session)

    async def close(self) -> None:
        self._deadlines.close()
        await self._transport.aclose()

    async def ask(self, body: bytes) -> Round:
        """Sends `body` and reads the answer, for `timeout_s` at most."""
        import aiohttp
        import httpx

        exchange = _Exchange(self._spec)
        # As a stream, it is not looked through for headers that aiohttp adds anyway.
        data = httpx.ByteStream(body)
        request = httpx.Request(
            "POST", self._url, headers=self._headers, stream=data, extensions=self._timeouts
        )
        request.read()
        try:
            with self._deadlines.limited():
                response = await self._transport.handle_async_request(request)
                try:
                    await exchange.read(response)
                finally:
                    await response.aclose()
        except TimeoutError:
            exchange.fail("timeout", f"no whole answer within {self._spec.timeout_s:g} s")
        except Malformed as error:
            exchange.fail("http_error", str(error))
        except (httpx.HTTPError, aiohttp.ClientError, OSError, ValueError) as error:
            late = isinstance(error.__cause__, aiohttp.ServerTimeoutError)
            exchange.fail("timeout" if late else "http_error", _words(error))
        return exchange.over()


def _words(error: Exception) -> str:
    cause = error.__cause__ or error
    words = (
        str(cause).replace(" ssl:default", "").split()
    )  # aiohttp's, where nothing is said of TLS
    return " ".join(words)[:200] or type(cause).__name__


class _Exchange:
    """A request under way."""

    def __init__(self, spec: Sessions) -> None:
        self._spec = spec
        self._start = time.monotonic()
        self._assembly = Assembly()
        self._round = Round(time.time(), Answer(Message()))
        self._fault = ("", "")

    async def read(self, response: "httpx.Response") -> None:
        """Reads the answer to its end. Raises Malformed, httpx.HTTPError."""
        self._round.status = response.status_code
        if self._spec.key_header:
            self._round.key = response.headers.get(self._spec.key_header, "")
        parts: AsyncIterator[bytes] = response.stream.__aiter__()  # type: ignore[union-attr]
        streamed = response.headers.get("content-type", "").startswith("text/event-stream")
        if streamed and response.status_code < 400:
            await self._stream(parts)
        else:
            await self._whole(parts)
        if not self._assembly.has_choices:
            raise Malformed("the answer has no choices")

    def fail(self, fault: str, why: str) -> None:
        self._fault = (fault, why)

    def over(self) -> Round:
        self._round.seconds = time.monotonic() - self._start
        self._round.answer = Answer(self._assembly.message(), *self._fault)
        return self._round

    async def _whole(self, parts: AsyncIterator[bytes]) -> None:
        text = b"".join([part async for part in parts]).decode("utf-8", "replace")
        if not 200 <= (self._round.status or 0) < 300:
            self._round.body = text
            said = " ".join(text.split())[:200]
            raise Malformed(f"status {self._round.status}{f': {said}' if said else ''}")
        try:
            self._add(text)
        except Malformed:
            self._round.body = text
            raise

    async def _stream(self, parts: AsyncIterator[bytes]) -> None:
        events = Events()
        async for part in parts:
            for data in events.feed(part):
                self._event(data)
        for data in events.finish():
            self._event(data)
        ended = END in self._round.events[-1:] or self._assembly.message().finish
        if not ended:
            raise Malformed(f"the stream ended before its {END}")

    def _event(self, data: str) -> None:
        self._round.events.append(data)
        if data != END and self._add(data) and self._round.first_s is None:
            self._round.first_s = time.monotonic() - self._start

    def _add(self, text: str) -> bool:
        try:
            part = json.loads(text)
        except (ValueError, RecursionError):
            raise Malformed(f"not JSON: {text[:80]!r}") from None
        if self._spec.key_field and not self._round.key:
            self._round.key = find(part, self._spec.key_field)
        return self._assembly.add(part)
