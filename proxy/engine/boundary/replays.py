"""Requests that are sent twice under one Idempotency-Key: the second gets what the first got (CONTRACT §8).

A result is kept for a window, in memory, under who asked whom with which credential. The key is always the client's
own. What is done for a key goes on when its client has left, so that it finds the result when it asks again.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
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
from proxy.engine.outcome import Answer, Complete, Outcome, Refusal, Served, Streaming
from proxy.http.fields import essence
from proxy.http.messages import ResponseHead
from proxy.http.problems import Problem, Slug
from proxy.ports import Body, Clock, OriginUnavailable, Overflow

MOST_BODY: Final = 2**20
"""Bytes of a request body above which a request is passed on as it comes, and nothing is kept of it."""

_MOST_RESULT: Final = 256 * 2**10
_MOST_BYTES: Final = 64 * 2**20
_OVERHEAD: Final = 1_024
_NOT_KEPT: Final = frozenset({"set-cookie", "cache-status", "content-length", "via"})
_PATIENCE: Final = 15.0
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
        fields, request = self.asking.request.fields, self.asking.request
        credentials = [value for name in ("authorization", "cookie") for value in fields.get_all(name)]
        parts = (self.asking.identity.client, request.target.origin, self.key, *credentials)
        return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


class Replays:
    """Results by key, within a budget of bytes."""

    def __init__(self, clock: Clock, window: float) -> None:
        self._clock = clock
        self.window = window
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self._bytes = 0
        self._under_way: dict[str, tuple[str, asyncio.Task[Answer]]] = {}

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
            if under_way[0] != fingerprint:
                return _refused(keyed, _MISMATCH)
            if not await _ended(under_way[1], ends_at):
                return _refused(keyed, _UNDER_WAY)

    async def close(self) -> None:
        """Give up what is under way."""
        tasks = [task for _, task in self._under_way.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _lead(self, keyed: Keyed, scope: str, fingerprint: str, body: Body, send: Send) -> Answer:
        task = asyncio.create_task(self._send(keyed, scope, fingerprint, body, send))  # noqa: TID251 - kept below
        self._under_way[scope] = fingerprint, task
        task.add_done_callback(lambda _: self._under_way.pop(scope, None))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(_let_go)
            raise

    async def _send(self, keyed: Keyed, scope: str, fingerprint: str, body: Body, send: Send) -> Answer:
        answer = await send(body)
        if not isinstance(answer, Complete | Streaming) or not may_keep(answer.head.status):
            return answer
        whole = await _complete(answer)
        if isinstance(whole, Complete):
            self._keep(scope, self._result(keyed, fingerprint, whole))
        return whole

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


async def _ended(task: asyncio.Task[Answer], ends_at: float) -> bool:
    """Whether it has ended in time, however."""
    with suppress(TimeoutError):
        async with asyncio.timeout_at(ends_at):
            await asyncio.wait({task})
            return True
    return False


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


async def _complete(answer: Complete | Streaming) -> Complete | Streaming | Refusal:
    """The answer with its body, or as it comes where that is too large."""
    if isinstance(answer, Complete):
        return answer
    try:
        body = await answer.response.read(_MOST_RESULT)
    except OriginUnavailable as error:
        answer.response.close()
        problem = Problem(Slug(error.fault.value), error.detail)
        return Refusal(problem, replace(answer.outcome, served=Served.ERROR, status=problem.status))
    if isinstance(body, Overflow):
        return replace(answer, read=answer.read + body.read)
    answer.response.close()
    return Complete(answer.head, answer.read + body, answer.outcome)


def _size(kept: Kept) -> int:
    return _OVERHEAD + len(kept.body or b"") + sum(len(name) + len(value) for name, value in kept.fields)


def _let_go(task: asyncio.Task[Answer]) -> None:
    """Nobody takes the answer any more."""
    answer = None if task.cancelled() or task.exception() is not None else task.result()
    if isinstance(answer, Streaming):
        answer.response.close()
