"""The access log: one line for each request, collected and written a little later.

Formatting and writing cost more than a memory hit, so a request only leaves its facts behind; lines are made in
small batches (one large batch would show in the slowest answers) within 50 ms.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import re
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TextIO

from proxy.engine.outcome import Outcome
from proxy.http.secrets import known_secret
from proxy.http.targets import Target
from proxy.http.timestamps import timestamp
from proxy.logs.events import OWN, Format
from proxy.logs.redaction import LONGEST_WORD, plain, quoted, target_path, unparsed_path
from proxy.ports import Clock

DELAY_SECONDS: Final = 0.05
BATCH: Final = 64
# Beyond this a request formats lines itself: a flood may not grow the backlog without end.
BACKLOG: Final = 1024

_TRACEPARENT: Final = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_TEXT_MEMBERS: Final = ("cache_status", "detail", "upstream_ms", "form", "request_id")


@dataclass(frozen=True, slots=True)
class _Request:
    at: float
    outcome: Outcome
    request_id: str
    method: str
    received: str
    form: str
    seconds: float
    body_bytes: int
    traceparent: str | None


class AccessLog:
    """Lines at level info, so none above it, on `stream`. For one running event loop; `flush` before it ends."""

    def __init__(self, form: Format, stream: TextIO, clock: Clock) -> None:
        self._line = _json_line if form == "json" else _text_line
        self._stream = stream
        self._clock = clock
        self._waiting: deque[_Request] = deque()
        self._timer: asyncio.Handle | None = None

    def write(
        self,
        outcome: Outcome,
        *,
        request_id: str,
        method: str,
        received: str,
        form: str,
        seconds: float,
        body_bytes: int,
        traceparent: str | None = None,
    ) -> None:
        """Tell of a request that ended now, after `seconds`, with `body_bytes` sent to the client.

        `received` is the request target as it came; it is told, as far as it can hold no secret, only when
        the outcome has no target. `form` is how the target reached the proxy.
        """
        if not OWN.isEnabledFor(logging.INFO):
            return
        self._waiting.append(
            _Request(
                self._clock(),
                outcome,
                request_id,
                method,
                received,
                form,
                seconds,
                body_bytes,
                traceparent,
            )
        )
        if len(self._waiting) >= BACKLOG:
            self._write_batch()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(DELAY_SECONDS, self._turn)

    def flush(self) -> None:
        """Write every line that waits."""
        while self._waiting:
            self._write_batch()

    def _turn(self) -> None:
        self._write_batch()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_soon(self._turn) if self._waiting else None

    def _write_batch(self) -> None:
        count = min(BATCH, len(self._waiting))
        lines = [f"{self._line(_members(self._waiting.popleft()))}\n" for _ in range(count)]
        # A log that cannot be written, or is closed, fails no request.
        with suppress(OSError, ValueError):
            self._stream.write("".join(lines))
            self._stream.flush()


def _members(request: _Request) -> dict[str, object]:
    outcome = request.outcome
    trace, upstream = request.traceparent, outcome.upstream_seconds
    members = {
        "ts": timestamp(request.at),
        "level": "info",
        "msg": "request",
        "request_id": plain(request.request_id, LONGEST_WORD),
        "traceparent": trace if trace and _TRACEPARENT.fullmatch(trace) else None,
        "method": plain(request.method, LONGEST_WORD),
        **_where(outcome.target, request),
        "form": request.form,
        "status": outcome.status,
        "outcome": outcome.served,
        "class": outcome.document_class,
        "cache_status": outcome.cache_status,
        "age": outcome.age,
        "ttl": outcome.ttl,
        "trust": None if outcome.vouching is None else outcome.vouching.state_at(request.at),
        "variant": outcome.variant,
        "detail": outcome.detail,
        "upstream_ms": None if upstream is None else round(upstream * 1000, 3),
        "total_ms": round(request.seconds * 1000, 3),
        "bytes": request.body_bytes,
    }
    return {name: value for name, value in members.items() if value is not None}


def _where(target: Target | None, request: _Request) -> dict[str, str]:
    if target is None:
        return {"host" if request.method == "CONNECT" else "path": unparsed_path(request.received)}
    where = {"host": target.authority, "path": target_path(target.path)}
    secret = known_secret(target.uri)
    if secret is None:
        return {**where, "key_hash": _key_hash(target)}
    # Of a secret its parameter's name alone is told (UAIX.md §5.5); a hash of it could be compared with guesses.
    return {**where, "secret": secret.name or secret.where}


@lru_cache(maxsize=4096)
def _key_hash(target: Target) -> str:
    """Tells requests for one URI from those for another, and not what the URI is."""
    return hashlib.sha256(target.uri.encode()).hexdigest()[:16]


_json_line: Final = json.JSONEncoder(check_circular=False).encode


def _text_line(members: dict[str, object]) -> str:
    columns = (
        f"{members['ts']} info    {members['status']} {members['method']:<7} {members['outcome']:<11}"
        f" {members['total_ms']:>9.3f} ms {members['bytes']:>9} B "
        f" {members.get('host', '')}{members.get('path', '')}"
    )
    named = (name for name in _TEXT_MEMBERS if name in members and not _is_told(name, members))
    return " ".join((columns, *(f"{name}={quoted(members[name])}" for name in named)))


def _is_told(name: str, members: dict[str, object]) -> bool:
    """Whether Cache-Status tells it too."""
    status = str(members.get("cache_status", ""))
    return name == "detail" and f"detail={members[name]}" in status.split("; ")
