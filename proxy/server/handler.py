"""One request from the socket to its log line: bytes to messages, messages to bytes, nothing else."""

from __future__ import annotations

import logging
import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace

from aiohttp import web

from proxy.caching.serving import VIA, CacheStatus
from proxy.capability.resolution import Code, Reason, Rule
from proxy.engine.boundary.answering import Refused, to_answer
from proxy.engine.boundary.asking import Asking
from proxy.engine.boundary.enforcing import Boundary
from proxy.engine.boundary.identity import Identity
from proxy.engine.boundary.settings import BoundarySettings
from proxy.engine.outcome import Complete, Outcome, Refusal, Served, Streaming, Switched
from proxy.engine.relay import relay
from proxy.http.fields import Fields
from proxy.http.messages import Request, ResponseHead
from proxy.http.problems import Problem, Slug
from proxy.http.secrets import Secret, find_secret
from proxy.http.targets import Target
from proxy.ports import ByteStream, Clock, Origin, OriginUnavailable
from proxy.server.api import MOST_BODY, Api
from proxy.server.clients import Clients, host_denied, unauthorized
from proxy.server.forms import Form, Site, ToApi, ToTarget, ToTunnel, Unroutable, destination
from proxy.server.incoming import Incoming
from proxy.server.journal import Entry, Journal
from proxy.server.own import OF_API, Asked
from proxy.server.problems import problem_head
from proxy.server.protocol import ClientStream, Connection
from proxy.server.rewriting import in_gateway_form
from proxy.server.usage import Usage
from proxy.server.wire import WireResponse, complete, may_have_body, send, serialise_head, stream

_log = logging.getLogger("proxy.server")

_ESTABLISHED = ResponseHead(200, "Connection Established", Fields((("Via", VIA),)))
_CLIENT_GONE = "client-gone"
# The forms in which a client takes this for its proxy, so that it may ask for credentials of its own.
_AS_PROXY = frozenset({Form.FORWARD, Form.TUNNEL})
_NOBODY = Identity("")
# Where a person learns what the answer means when nobody has named a place.
_HELP = "https://www.rfc-editor.org/rfc/rfc9110#section-17.9"
_SLOW_BODY = Problem(Slug.BAD_REQUEST, "The request body did not come in time.", at_status=408)
_MALFORMED_BODY = Problem(Slug.BAD_REQUEST, "The request body is not well-formed HTTP/1.1.")


@dataclass(frozen=True, slots=True)
class Front:
    """What may change on reload: the engine in force and the forms it is reached by."""

    boundary: Boundary
    settings: BoundarySettings
    clients: Clients
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
        who = self._front.clients.recognise(incoming.fields, incoming.address, incoming.certificate)
        match where:
            case Unroutable(form, problem):
                self._entry = replace(self._entry, form=form)
                return self.fail(problem)
            case ToApi():
                return await self._own(where, None if who is None else who.identity)
            case ToTarget(form) | ToTunnel(form=form):
                self._entry = replace(self._entry, form=form)
        if who is None:
            return self._unknown(is_proxied=form in _AS_PROXY)
        host = where.host if isinstance(where, ToTunnel) else where.target.host
        if not who.identity.may_reach(host):
            return self.fail(host_denied())
        if isinstance(where, ToTunnel):
            return await self._tunnel(where.host, where.port)
        request = Request(http.method, where.target, incoming.forwardable(form, who.field))
        return await self._proxy(self._asking(request, who.identity, where.site), form)

    def _asking(self, request: Request, identity: Identity, site: Site | None) -> Asking:
        entry = self._entry
        mode = None if site is None else site.mode
        return Asking(request, identity, site is not None, mode, entry.request_id, entry.traceparent)

    async def _own(self, to: ToApi, identity: Identity | None) -> WireResponse:
        """Answer for what the proxy itself has. A secret in the URL is refused here whatever is configured."""
        http, incoming, front = self._http, self._incoming, self._front
        secret = find_secret(http.raw_path)
        if secret is not None:
            return self._refuse_secret(secret, identity)
        if identity is None and not front.api.is_open(to.path):
            return self._unknown(is_proxied=False)
        try:
            body = await incoming.read(MOST_BODY) if front.api.takes_body(http.method, to.path) else b""
        except TimeoutError:
            return self.fail(_SLOW_BODY, keep_alive=False)
        asked = Asked(to.path, to.query, incoming.fields, http.method, identity, body, self._entry.request_id)
        answer = await front.api.answer(asked)
        if incoming.is_malformed:
            return self.fail(_MALFORMED_BODY, keep_alive=False)
        if isinstance(answer, Refusal):
            return self.fail(answer.problem, answer.outcome)
        is_read = len(body) <= MOST_BODY
        if isinstance(answer, Problem):
            return self.fail(answer, keep_alive=is_read)
        return self._complete(answer, keep_alive=is_read)

    def _refuse_secret(self, secret: Secret, identity: Identity | None) -> WireResponse:
        """Nothing is told of the request but that it held one, and under which name (UAIX.md D1)."""
        target = Target("https", "origin.invalid", 443, "/", None)
        self._entry = replace(self._entry, request_target="/")
        asking = self._asking(Request(self._http.method, target, self._incoming.fields), identity or _NOBODY, None)
        url = self._front.settings.review_url or _HELP
        refused = Refused(Code.REJECTED, url, Reason.SECRET_IN_URL, Rule.D1)
        answer = to_answer(refused, asking, self._front.settings, self._clock())
        answer = replace(answer, head=replace(answer.head, fields=answer.head.fields.plus(*OF_API)))
        return self._complete(replace(answer, outcome=replace(answer.outcome, target=None)))

    def _unknown(self, *, is_proxied: bool) -> WireResponse:
        problem, challenge = unauthorized(is_proxied=is_proxied)
        return self.fail(problem, extra=(challenge,))

    async def _proxy(self, asking: Asking, form: Form) -> WireResponse:
        incoming, request = self._incoming, asking.request
        answer = await self._front.boundary.handle(asking, incoming.body(), incoming.interim(request.target, form))
        if isinstance(answer, Refusal):
            if incoming.is_malformed:
                return self.fail(_MALFORMED_BODY, keep_alive=False)
            return self.fail(answer.problem, answer.outcome)
        if isinstance(answer, Complete) and answer.outcome.served is Served.NO_OP:
            # The proxy's own: its links are for a person, and the URL may hold a secret. A body that the client was
            # not told to send may follow or not.
            return self._complete(answer, keep_alive="expect" not in incoming.fields)
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

    def fail(
        self,
        problem: Problem,
        outcome: Outcome | None = None,
        *,
        keep_alive: bool = True,
        extra: tuple[tuple[str, str], ...] = (),
    ) -> WireResponse:
        """Answer with a problem document (RFC 9457), with `extra` lines."""
        if outcome is None:
            status = CacheStatus(detail=problem.slug).serialise()
            outcome = Outcome(Served.ERROR, problem.status, cache_status=status, detail=problem.slug)
        head = problem_head(problem, outcome, self._clock(), (*(OF_API if self._is_own else ()), *extra))
        answer = Complete(head, problem.body(self._entry.request_id), outcome)
        return self._complete(answer, keep_alive=keep_alive)

    @property
    def _is_own(self) -> bool:
        return self._entry.form is Form.API

    def _ended(self, outcome: Outcome, body_bytes: int) -> None:
        self._journal.ended(self._entry, outcome, self._clock() - self._started, body_bytes)


async def _whole(answer: Streaming) -> AsyncIterator[bytes]:
    if answer.read:
        yield answer.read
    async for data in answer.response.chunks():
        yield data
