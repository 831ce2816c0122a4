"""One request from the socket to its log line: bytes to messages, messages to bytes, nothing else."""

from __future__ import annotations

import logging
import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Protocol

from aiohttp import web

from proxy.caching.serving import VIA, CacheStatus
from proxy.caching.vouching import rejected
from proxy.discovery.classes import DocumentClass
from proxy.engine.gateway import Gateway
from proxy.engine.outcome import Complete, Outcome, Refusal, Served, Streaming, Switched
from proxy.engine.relay import relay
from proxy.http.dates import format_http_date
from proxy.http.fields import Fields
from proxy.http.messages import Request, ResponseHead
from proxy.http.problems import MEDIA_TYPE, Problem, Slug
from proxy.ports import ByteStream, Clock, Origin, OriginUnavailable
from proxy.server.api import Api
from proxy.server.forms import Form, Site, ToApi, ToTarget, ToTunnel, Unroutable, destination
from proxy.server.incoming import Incoming
from proxy.server.own import OF_API
from proxy.server.protocol import ClientStream, Connection
from proxy.server.rewriting import in_gateway_form
from proxy.server.usage import Usage
from proxy.server.wire import WireResponse, complete, may_have_body, send, serialise_head, stream

_log = logging.getLogger("proxy.server")

_ESTABLISHED = ResponseHead(200, "Connection Established", Fields((("Via", VIA),)))
_CLIENT_GONE = "client-gone"
# Problems that there is a document of the origin's behind.
_OF_DOCUMENTS = frozenset({Slug.NOT_A_DOCUMENT, Slug.TOO_LARGE})
_MALFORMED_BODY = Problem(Slug.BAD_REQUEST, "The request body is not well-formed HTTP/1.1.")


class Journal(Protocol):
    """Told of every request when it has ended."""

    def ended(self, entry: Entry, outcome: Outcome, seconds: float, body_bytes: int) -> None:
        """Log and count it."""
        ...


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of a request before it is answered."""

    request_id: str
    method: str
    request_target: str
    form: Form
    traceparent: str | None


@dataclass(frozen=True, slots=True)
class Front:
    """What may change on reload: the engine in force and the forms it is reached by."""

    gateway: Gateway
    origin: Origin
    api: Api
    sites: tuple[Site, ...]
    connect: bool
    connect_ports: tuple[int, ...]
    usage: Usage


class Handler:
    """Answers the data port's requests. `front` is read once per request, so a reload is never half seen."""

    def __init__(self, front: Callable[[], Front], journal: Journal, clock: Clock, under_way: Usage) -> None:
        self._front = front
        self._journal = journal
        self._clock = clock
        self._under_way = under_way

    async def __call__(self, http: web.BaseRequest) -> web.StreamResponse:
        """The framework's handler."""
        front = self._front()
        with self._under_way, front.usage:
            return await _Exchange(front, self._journal, self._clock, http).run()

    def report(self, http: web.BaseRequest, problem: Problem, error: BaseException | None) -> WireResponse:
        """The response to a request that never became one, or whose handling failed."""
        exchange = _Exchange(self._front(), self._journal, self._clock, http)
        return exchange.fault(problem, error)


class _Exchange:
    """One request and its response."""

    def __init__(self, front: Front, journal: Journal, clock: Clock, http: web.BaseRequest) -> None:
        self._front = front
        self._journal = journal
        self._clock = clock
        self._http = http
        self._started = clock()
        self._incoming = Incoming(http)
        self._entry = Entry(
            request_id=uuid.uuid4().hex,
            method=http.method,
            request_target=http.raw_path,
            form=Form.API,
            traceparent=self._incoming.fields.get("traceparent"),
        )

    async def run(self) -> WireResponse:
        http, incoming = self._http, self._incoming
        problem = incoming.problem()
        if problem is not None:
            return self.fail(problem, keep_alive=False)
        where = destination(http.method, http.raw_path, incoming.fields.get_all("host"), self._front.sites)
        match where:
            case ToTarget(form, target):
                self._entry = replace(self._entry, form=form)
                request = Request(http.method, target, incoming.forwardable(form))
                return await self._proxy(request, form)
            case ToTunnel(host, port):
                self._entry = replace(self._entry, form=Form.TUNNEL)
                return await self._tunnel(host, port)
            case ToApi(path, query):
                answer = await self._front.api.answer(http.method, path, query, incoming.fields)
                if isinstance(answer, Refusal):
                    return self.fail(answer.problem, answer.outcome)
                return self.fail(answer) if isinstance(answer, Problem) else self._complete(answer)
            case Unroutable(form, problem):
                self._entry = replace(self._entry, form=form)
                return self.fail(problem)

    async def _proxy(self, request: Request, form: Form) -> WireResponse:
        incoming = self._incoming
        answer = await self._front.gateway.handle(request, incoming.body(), incoming.interim(request.target, form))
        if isinstance(answer, Refusal):
            if incoming.is_malformed:
                return self.fail(_MALFORMED_BODY, keep_alive=False)
            return self.fail(answer.problem, answer.outcome)
        if form is Form.GATEWAY and not isinstance(answer, Switched):
            answer = replace(answer, head=in_gateway_form(request.target, answer.head))
        return await self._send(answer)

    async def _send(self, answer: Complete | Streaming | Switched) -> WireResponse:
        match answer:
            case Complete():
                return self._complete(answer)
            case Streaming():
                return await self._stream(answer)
            case Switched():
                return await self._switch(answer)

    def _complete(self, answer: Complete, *, keep_alive: bool = True) -> WireResponse:
        sent = len(answer.body) if may_have_body(self._http.method, answer.head.status) else 0
        self._ended(answer.outcome, sent)
        return complete(self._http, answer.head, answer.body, keep_alive=keep_alive and self._http.keep_alive)

    async def _stream(self, answer: Streaming) -> WireResponse:
        try:
            # An origin that sends nothing, as streams of events do for hours, would not let the loss be noticed.
            with self._connection.when_lost(answer.response.close):
                response, sent = await stream(self._http, answer.head, _whole(answer))
        except ConnectionError:
            self._ended(replace(answer.outcome, detail=_CLIENT_GONE), 0)
            raise
        except OriginUnavailable as error:
            self._ended(self._broken_off(answer.outcome, error), 0)
            return WireResponse(answer.head.status, b"", keep_alive=False)
        finally:
            answer.response.close()
        self._ended(answer.outcome, sent)
        return response

    def _broken_off(self, outcome: Outcome, error: OriginUnavailable) -> Outcome:
        if self._http.transport is None:
            return replace(outcome, detail=_CLIENT_GONE)
        return replace(outcome, served=Served.ERROR, detail=error.fault)

    async def _switch(self, answer: Switched) -> WireResponse:
        upgraded = answer.upgraded
        lines = [line for line in upgraded.head.fields if line[0].lower() != "via"]
        head = ResponseHead(101, "Switching Protocols", Fields(lines).plus(("Via", VIA)))
        return await self._join(head, upgraded.stream, answer.outcome)

    async def _tunnel(self, host: str, port: int) -> WireResponse:
        refusal = self._tunnel_refusal(port)
        if refusal is not None:
            return self.fail(refusal)
        try:
            origin = await self._front.origin.connect(host, port)
        except OriginUnavailable as error:
            return self.fail(Problem(Slug(error.fault.value), error.detail))
        return await self._join(_ESTABLISHED, origin, Outcome(Served.TUNNEL, 200))

    async def _join(self, head: ResponseHead, origin: ByteStream, outcome: Outcome) -> WireResponse:
        """Tell the client that its connection is a tunnel now, and pass bytes until it ends."""
        try:
            await send(self._http, serialise_head(head))
        except BaseException:
            origin.close()
            raise
        sent = await relay(ClientStream(self._http, self._connection.open_tunnel()), origin)
        self._ended(outcome, sent)
        return WireResponse(head.status, b"", keep_alive=False)

    @property
    def _connection(self) -> Connection:
        connection = self._http.protocol
        assert isinstance(connection, Connection)
        return connection

    def _tunnel_refusal(self, port: int) -> Problem | None:
        if not self._front.connect:
            detail = "This proxy opens no tunnels (forward.connect is off)."
            return Problem(Slug.EGRESS_DENIED, detail, {"rule": "forward.connect"})
        if port not in self._front.connect_ports:
            detail = f"Tunnels to port {port} are not allowed; forward.connect_ports names those that are."
            return Problem(Slug.EGRESS_DENIED, detail, {"rule": "forward.connect_ports"})
        return None

    def fault(self, problem: Problem, error: BaseException | None) -> WireResponse:
        """Answer what cannot be gone on with, and close; an `error` is a fault of ours and logged."""
        if error is not None:
            _log.error("a request failed", exc_info=error, extra={"request_id": self._entry.request_id})
        return self.fail(problem, keep_alive=False)

    def fail(self, problem: Problem, outcome: Outcome | None = None, *, keep_alive: bool = True) -> WireResponse:
        """Answer with a problem document (RFC 9457)."""
        if outcome is None:
            status = CacheStatus(detail=problem.slug).serialise()
            outcome = Outcome(Served.ERROR, problem.status, cache_status=status, detail=problem.slug)
        lines = [("Date", format_http_date(self._clock())), ("Content-Type", MEDIA_TYPE)]
        lines += [("Cache-Control", "no-store"), ("Via", VIA)]
        lines += [("Cache-Status", outcome.cache_status)] if outcome.cache_status else []
        lines += _vouching(problem, outcome, self._clock())
        lines += OF_API if self._entry.form is Form.API else ()
        # Only the proxy's own resource refuses methods (RFC 9110 §15.5.6).
        lines += [("Allow", "GET, HEAD")] if problem.status == 405 else []
        head = ResponseHead(problem.status, HTTPStatus(problem.status).phrase, Fields(lines))
        answer = Complete(head, problem.body(self._entry.request_id), outcome)
        return self._complete(answer, keep_alive=keep_alive)

    def _ended(self, outcome: Outcome, body_bytes: int) -> None:
        self._journal.ended(self._entry, outcome, self._clock() - self._started, body_bytes)


def _refused_from(problem: Problem) -> str | None:
    """Where a copy came from that was not believed; None where no copy came at all."""
    attempts = problem.members.get("attempts")
    refused = (one for one in attempts if one["outcome"] == "refused") if isinstance(attempts, list) else ()
    return next((str(one["source"]) for one in refused), None)


def _vouching(problem: Problem, outcome: Outcome, now: float) -> list[tuple[str, str]]:
    """Discovery-Trust of a problem: the origin's own word, or a document that came and is not believed."""
    if outcome.vouching is not None:
        return [("Discovery-Trust", outcome.vouching.told(now))]
    source = "origin" if problem.slug in _OF_DOCUMENTS else _refused_from(problem)
    if source is None or outcome.document_class == DocumentClass.OTHER:
        return []
    return [("Discovery-Trust", rejected(source, now).told(now))]


async def _whole(answer: Streaming) -> AsyncIterator[bytes]:
    if answer.read:
        yield answer.read
    async for data in answer.response.chunks():
        yield data
