"""An origin in memory: a test edits what it answers, asks through the engine, and reads what was sent.

    origin.respond("/a", max_age=60, etag='"1"', body=b"one")
    ...
    assert [sent.path for sent in origin.requests] == ["/a"]

A path is answered for every host; a whole URI in its place, for that one alone. A conditional request whose
validator is the current one is answered 304, as a real origin would. `fail` makes every exchange end in a fault,
`hold` keeps requests waiting until `release`, `answer` gives a path to a function.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field, replace

from proxy.caching.freshness import Exchange
from proxy.http.dates import format_http_date
from proxy.http.fields import Fields
from proxy.http.messages import Request, ResponseHead
from proxy.metering import current_meter
from proxy.ports import (
    Body,
    ByteStream,
    Clock,
    Interim,
    OriginFault,
    OriginResponse,
    OriginUnavailable,
    Overflow,
    Upgraded,
)

Lines = Iterable[tuple[str, str]]
NO_FIELDS = Fields()
# Seconds after which a request that has not arrived will not.
_PATIENCE = 5.0
# What a message without its body is taken to be long.
_OCTETS = 200


@dataclass(frozen=True)
class Sent:
    """A request as it reached the origin, its body read."""

    request: Request
    body: bytes | None
    at: float

    @property
    def method(self) -> str:
        return self.request.method

    @property
    def path(self) -> str:
        return self.request.target.request_target

    def field(self, name: str) -> str | None:
        return self.request.fields.get(name)


@dataclass(frozen=True)
class Reply:
    """What the origin says. With `cut` the body breaks off after these bytes."""

    status: int = 200
    fields: Fields = NO_FIELDS
    body: bytes = b""
    cut: bool = False
    interim: tuple[ResponseHead, ...] = ()


@dataclass
class SimulatedResponse:
    """Implements `ports.OriginResponse`; one byte string at a time, `chunk` long."""

    reply: Reply
    exchange: Exchange
    chunk: int
    closed: bool = False
    finished: bool = False
    _position: int = field(default=0, repr=False)

    @property
    def head(self) -> ResponseHead:
        return ResponseHead(self.reply.status, "Simulated", self.reply.fields)

    async def read(self, max_bytes: int) -> bytes | Overflow:
        body = b""
        async for piece in self.chunks():
            body += piece
            if len(body) > max_bytes:
                return Overflow(body)
        return body

    async def chunks(self) -> AsyncIterator[bytes]:
        while self._position < len(self.reply.body):
            piece = self.reply.body[self._position : self._position + self.chunk]
            self._position += len(piece)
            yield piece
        if self.reply.cut:
            raise OriginUnavailable(OriginFault.INVALID_RESPONSE, "cut short")
        self.finished = True

    def close(self) -> None:
        self.closed = True


Answering = Callable[[Request], Reply]


class OriginSimulator:
    """Implements `ports.Origin`. See the module's text."""

    def __init__(self, clock: Clock) -> None:
        self.requests: list[Sent] = []
        self.responses: list[SimulatedResponse] = []
        self.fault: OriginFault | None = None
        self.seconds = 0.0
        self.chunk = 2**16
        self.upgraded: Upgraded | None = None
        self._clock = clock
        self._answers: dict[str, Answering] = {}
        self._hanging: dict[str, asyncio.Event] = {}
        self._arrival = asyncio.Event()
        self._released = asyncio.Event()
        self._released.set()

    def respond(
        self,
        path: str,
        status: int = 200,
        *,
        max_age: int | None = None,
        cache_control: str | None = None,
        etag: str | None = None,
        last_modified: str | None = None,
        vary: str | None = None,
        content_type: str | None = None,
        body: bytes = b"",
        fields: Lines = (),
        cut: bool = False,
    ) -> None:
        """From now on `path` is this; a condition that it meets is answered 304."""
        named = {
            "Cache-Control": cache_control if max_age is None else f"max-age={max_age}",
            "ETag": etag,
            "Last-Modified": last_modified,
            "Vary": vary,
            "Content-Type": content_type,
        }
        lines = [(name, value) for name, value in named.items() if value is not None]
        reply = Reply(status, Fields([*lines, *fields]), body, cut)
        self._answers[path] = lambda request: _conditional(request, reply, etag, last_modified)

    def answer(self, path: str, answering: Answering) -> None:
        """From now on `answering` makes each answer for `path`."""
        self._answers[path] = answering

    def answering(self, path: str) -> Answering:
        """What answers for `path` now, for a test to wrap."""
        return self._answers.get(path, _absent)

    def fail(self, fault: OriginFault = OriginFault.UNREACHABLE) -> None:
        """From now on every exchange ends in `fault`."""
        self.fault = fault

    def recover(self) -> None:
        """The end of `fail`."""
        self.fault = None

    def hang(self, path: str) -> None:
        """From now on requests for `path` arrive and are not answered until `unhang`."""
        self._hanging[path] = asyncio.Event()

    def unhang(self, path: str) -> None:
        """Answer the requests for `path`, those that wait and those to come."""
        self._hanging.pop(path).set()

    def hold(self) -> None:
        """From now on requests arrive and are not answered."""
        self._released.clear()

    def release(self) -> None:
        """Answer every held request and those to come."""
        self._released.set()

    def leave_held(self) -> asyncio.Event:
        """From now on answer at once; what is held already stays so until the event is set."""
        held, self._released = self._released, asyncio.Event()
        self._released.set()
        return held

    @property
    def paths(self) -> list[str]:
        """What was asked for, in order."""
        return [sent.path for sent in self.requests]

    @property
    def leaked(self) -> list[SimulatedResponse]:
        """Responses that were neither read to their end nor closed."""
        return [response for response in self.responses if not (response.closed or response.finished)]

    async def arrived(self, count: int) -> None:
        """Let the loop run until `count` requests have come in altogether."""
        try:
            async with asyncio.timeout(_PATIENCE):
                while len(self.requests) < count:
                    self._arrival.clear()
                    await self._arrival.wait()
        except TimeoutError:
            raise AssertionError(f"{len(self.requests)} requests instead of {count}: {self.paths}") from None

    async def fetch(self, request: Request, body: Body = None, interim: Interim | None = None) -> OriginResponse:
        sent_at = self._clock()
        self.requests.append(Sent(request, await _read(body), sent_at))
        self._arrival.set()
        fault, answering = self.fault, self._answering(request)
        meter = current_meter.get()
        if meter is not None:
            meter.http_sent(request.target.host, _OCTETS)
        await self._hanging.get(request.target.request_target, self._released).wait()
        if fault is not None:
            raise OriginUnavailable(fault, "simulated")
        reply = answering(request)
        for head in reply.interim:
            if interim is not None:
                interim(head)
        if "date" not in reply.fields:
            reply = replace(reply, fields=reply.fields.plus(("Date", format_http_date(self._clock()))))
        if request.method == "HEAD":
            length = ("Content-Length", str(len(reply.body)))
            reply = replace(reply, fields=reply.fields.plus(length), body=b"")
        if meter is not None:
            meter.received(_OCTETS + len(reply.body))
        exchange = Exchange(sent_at, self._clock() + self.seconds)
        response = SimulatedResponse(reply, exchange, self.chunk)
        self.responses.append(response)
        return response

    def _answering(self, request: Request) -> Answering:
        of_all = self._answers.get(request.target.request_target, _absent)
        return self._answers.get(request.target.uri, of_all)

    async def upgrade(self, request: Request) -> Upgraded | OriginResponse:
        if self.upgraded is None:
            return await self.fetch(request)
        self.requests.append(Sent(request, None, self._clock()))
        return self.upgraded

    async def connect(self, host: str, port: int) -> ByteStream:
        raise OriginUnavailable(OriginFault.UNREACHABLE, "no tunnels here")

    async def close(self) -> None:
        pass


async def _read(body: Body) -> bytes | None:
    return b"".join([piece async for piece in body]) if isinstance(body, AsyncIterator) else body


def _absent(request: Request) -> Reply:
    return Reply(404, Fields([("Cache-Control", "no-store")]))


def _conditional(request: Request, reply: Reply, etag: str | None, last_modified: str | None) -> Reply:
    tags, since = request.fields.get("if-none-match"), request.fields.get("if-modified-since")
    if reply.status != 200:
        return reply
    matches = tags == etag if tags is not None else since is not None and since == last_modified
    return Reply(304, reply.fields) if matches else reply
