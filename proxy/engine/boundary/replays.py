"""Requests that are sent twice under one Idempotency-Key: the second gets what the first got (CONTRACT §8).

A result is kept for a window, in memory, under who asked whom with which credential. The key is always the client's
own. What is done for a key goes on when its client has left, so that it finds the result when it asks again.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final

from proxy.boundary.idempotency import (
    Fresh,
    Kept,
    Mismatch,
    Replay,
    decide,
    fingerprint_of,
    may_keep,
    without_member,
)
from proxy.caching.serving import CacheStatus, with_proxy_fields
from proxy.engine.boundary.asking import Asking
from proxy.engine.boundary.identity import credentials_in
from proxy.engine.boundary.noting import Noted
from proxy.engine.boundary.peeking import Peeked
from proxy.engine.outcome import Answer, Complete, Outcome, Refusal, Served, Streaming
from proxy.http.fields import essence
from proxy.http.messages import ResponseHead
from proxy.http.problems import Problem, Slug
from proxy.ports import Body, Clock, OriginUnavailable

MOST_BODY: Final = 2**20
"""Bytes of a request body above which a request is passed on as it comes, and nothing is kept of it."""

_MOST_RESULT: Final = 256 * 2**10
_MOST_BYTES: Final = 64 * 2**20
_OVERHEAD: Final = 1_024
_NOT_KEPT: Final = frozenset({"set-cookie", "cache-status", "content-length", "via"})
_PATIENCE: Final = 15.0
_EVENTS: Final = "text/event-stream"
_MISMATCH: Final = Problem(
    Slug.IDEMPOTENCY_CONFLICT,
    "This Idempotency-Key was used for another request to this host. Send the same request, or a new key.",
)
_UNDER_WAY: Final = Problem(
    Slug.IDEMPOTENCY_CONFLICT,
    "The request with this Idempotency-Key is still under way. Ask again with the same key.",
    at_status=409,
)
_GIVEN_ONCE: Final = Problem(
    Slug.IDEMPOTENCY_CONFLICT,
    "The request with this Idempotency-Key was answered with a credential, which is given once and kept nowhere.",
    at_status=409,
)

Send = Callable[[Body], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Keyed:
    """A request under a key. `secret_member`: where its answer will hold a credential, None where it holds none."""

    asking: Asking
    key: str
    secret_member: str | None = None

    @property
    def scope(self) -> str:
        """Within what a key means one request: the client, its credential for the origin, the host, the key."""
        request = self.asking.request
        credentials = credentials_in(request.fields)
        parts = (self.asking.identity.client, request.target.origin, self.key, *credentials)
        return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class _UnderWay:
    """What is being done for a key, for which request; `end` when all of it has ended, however."""

    fingerprint: str
    end: asyncio.Future[None]


class Replays:
    """Results by key, within a budget of bytes."""

    def __init__(self, clock: Clock, window: float) -> None:
        self._clock = clock
        self.window = window
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self._bytes = 0
        self._under_way: dict[str, _UnderWay] = {}
        self._tasks: set[asyncio.Task[Answer]] = set()

    async def answer(self, keyed: Keyed, body: Body, send: Send) -> Answer:
        """The answer to a request under a key: the one that was given, or what `send` gets now."""
        octets = await _whole(body)
        if not isinstance(octets, bytes):
            return await send(octets)
        request, scope = keyed.asking.request, keyed.scope
        fingerprint = fingerprint_of(request.method, request.target.uri, octets)
        ends_at = asyncio.get_running_loop().time() + _PATIENCE
        while True:
            match decide(self._kept.get(scope), fingerprint, self._clock(), self.window):
                case Replay(kept):
                    return self._replayed(keyed, kept)
                case Mismatch():
                    return _refused(keyed, _MISMATCH)
                case Fresh():
                    pass
            under_way = self._under_way.get(scope)
            if under_way is None:
                return await self._lead(keyed, scope, fingerprint, octets or None, send)
            if under_way.fingerprint != fingerprint:
                return _refused(keyed, _MISMATCH)
            if not await _ended(under_way.end, ends_at):
                return _refused(keyed, _UNDER_WAY)

    async def close(self) -> None:
        """Give up what is under way."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _lead(self, keyed: Keyed, scope: str, fingerprint: str, body: Body, send: Send) -> Answer:
        under_way = self._under_way[scope] = _UnderWay(fingerprint, asyncio.get_running_loop().create_future())
        task = asyncio.create_task(self._send(keyed, scope, under_way, body, send))  # noqa: TID251 - kept below
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(_let_go)
            raise

    async def _send(self, keyed: Keyed, scope: str, under_way: _UnderWay, body: Body, send: Send) -> Answer:
        def ended(result: Complete | None) -> None:
            if result is not None:
                self._keep(scope, self._result(keyed, under_way.fingerprint, result))
            self._under_way.pop(scope, None)
            if not under_way.end.done():
                under_way.end.set_result(None)

        try:
            answer = await send(body)
            if not isinstance(answer, Complete | Streaming) or not _is_kept(answer.head):
                ended(None)
                return answer
            return await _complete(answer, ended)
        except BaseException:
            ended(None)
            raise

    def _result(self, keyed: Keyed, fingerprint: str, answer: Complete) -> Kept:
        fields = answer.head.fields.where(lambda name, _: name.lower() not in _NOT_KEPT)
        body: bytes | None = answer.body
        if keyed.secret_member is not None:
            is_plain = "json" in essence(fields.get("content-type")) and "content-encoding" not in fields
            body = without_member(answer.body, keyed.secret_member) if is_plain else None
        return Kept(fingerprint, answer.head.status, fields, body, self._clock())

    def _keep(self, scope: str, kept: Kept) -> None:
        self._drop(scope)
        self._kept[scope] = kept
        self._bytes += _size(kept)
        while self._bytes > _MOST_BYTES:
            self._drop(next(iter(self._kept)))

    def _drop(self, scope: str) -> None:
        kept = self._kept.pop(scope, None)
        self._bytes -= 0 if kept is None else _size(kept)

    def _replayed(self, keyed: Keyed, kept: Kept) -> Answer:
        if kept.body is None:
            return _refused(keyed, _GIVEN_ONCE)
        status = CacheStatus(detail="idempotent-replay")
        head = ResponseHead(kept.status, "", kept.fields.plus(("Idempotent-Replayed", "true")))
        target = keyed.asking.request.target
        outcome = Outcome(Served.REPLAY, kept.status, target, cache_status=status.serialise(), detail=status.detail)
        return Complete(with_proxy_fields(head, status), kept.body, outcome)


def _refused(keyed: Keyed, problem: Problem) -> Refusal:
    status = CacheStatus(detail=problem.slug).serialise()
    target = keyed.asking.request.target
    return Refusal(problem, Outcome(Served.ERROR, problem.status, target, cache_status=status, detail=problem.slug))


async def _ended(end: asyncio.Future[None], ends_at: float) -> bool:
    """Whether it has ended in time, however."""
    await asyncio.wait({end}, timeout=ends_at - asyncio.get_running_loop().time())
    return end.done()


def _is_kept(head: ResponseHead) -> bool:
    """Whether the answer is a result at all; a stream of events has no end that could be waited for."""
    return may_keep(head.status) and essence(head.fields.get("content-type")) != _EVENTS


async def _whole(body: Body) -> bytes | AsyncIterator[bytes]:
    """The body, or as it comes where it is too large to be kept."""
    if body is None or isinstance(body, bytes):
        return body or b""
    read = bytearray()
    async for data in body:
        read += data
        if len(read) > MOST_BODY:
            return _and_on(bytes(read), body)
    return bytes(read)


async def _and_on(read: bytes, body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield read
    async for data in body:
        yield data


async def _complete(answer: Complete | Streaming, ended: Callable[[Complete | None], None]) -> Answer:
    """The answer with its body where that comes soon, else as it comes; `ended` is told when it has come whole."""
    if isinstance(answer, Complete):
        ended(answer)
        return answer
    response = Peeked(answer.response)
    try:
        read, is_whole = await response.peek(_MOST_RESULT)
    except OriginUnavailable as error:
        response.close()
        ended(None)
        problem = Problem(Slug(error.fault.value), error.detail)
        return Refusal(problem, replace(answer.outcome, served=Served.ERROR, status=problem.status))
    except BaseException:
        response.close()
        raise
    read = answer.read + read
    if is_whole:
        response.close()
        whole = Complete(answer.head, read, answer.outcome)
        ended(whole)
        return whole

    def came(body: bytes | None) -> None:
        ended(None if body is None else Complete(answer.head, body, answer.outcome))

    return replace(answer, read=read, response=Noted(response, read, _MOST_RESULT, came))


def _size(kept: Kept) -> int:
    return _OVERHEAD + len(kept.body or b"") + sum(len(name) + len(value) for name, value in kept.fields)


def _let_go(task: asyncio.Task[Answer]) -> None:
    """Nobody takes the answer any more."""
    answer = None if task.cancelled() or task.exception() is not None else task.result()
    if isinstance(answer, Streaming):
        answer.response.close()
