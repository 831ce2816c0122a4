"""Repeating a change without doing it twice (CONTRACT §8; draft-ietf-httpapi-idempotency-key-header).

A client that names a key for a change may send it again, and gets the answer that it got. The same key with another
request is a mistake, and no answer. A request without a key is never taken for another one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from proxy.discovery.jsontext import MalformedJson, parse_json
from proxy.http.fields import Fields, split_list, unquote

IDEMPOTENCY_KEY: Final = "idempotency-key"

_STRING: Final = re.compile(r'"(?:[!#-\[\]-~]|\\["\\])+"')
_BARE: Final = re.compile(r"[!#-~][!-~]*")
_LONGEST_KEY: Final = 255
# Statuses of the 4xx class after which the same request may go otherwise: something was missing or in the way.
_PASSING: Final = frozenset({401, 403, 408, 409, 425, 428, 429})
_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,8}")


@dataclass(frozen=True, slots=True)
class BadKey:
    """The field is there and names no one key; `detail` says what to send."""

    detail: str


@dataclass(frozen=True, slots=True)
class Kept:
    """An answer on record under a key, and of which request; `kept_at` in Unix seconds."""

    fingerprint: str
    status: int
    fields: Fields
    body: bytes | None
    kept_at: float


@dataclass(frozen=True, slots=True)
class Fresh:
    """Nothing that counts is on record: the request goes on."""


@dataclass(frozen=True, slots=True)
class Replay:
    """The request has been answered: the same again."""

    kept: Kept


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The key belongs to another request."""


def parse_key(lines: tuple[str, ...]) -> str | BadKey | None:
    """The key of the field lines of Idempotency-Key, None without lines.

    A structured string (RFC 9651 §3.3.3) or, as most clients send it, bare text; of 1 to 255 visible characters.
    """
    if not lines:
        return None
    keys = {_key(element) for line in lines for element in split_list(line) or [""]}
    if len(keys) > 1:
        return BadKey("Send one Idempotency-Key, not several that differ.")
    key = keys.pop()
    if key is None:
        return BadKey(f"An Idempotency-Key has 1 to {_LONGEST_KEY} visible ASCII characters, in quotes or bare.")
    return key


def fingerprint_of(method: str, uri: str, body: bytes) -> str:
    """What tells requests under one key apart: the hex SHA-256 over method, URI and digest of the body."""
    return sha256(f"{method}\n{uri}\n{sha256(body).hexdigest()}".encode("utf-8", "surrogatepass")).hexdigest()


def decide(kept: Kept | None, fingerprint: str, now: float, window: float) -> Fresh | Replay | Mismatch:
    """What becomes of a request with a key under which `kept` is on record; `window` in seconds.

    An answer that a clock set back makes one of the future counts: to do a change twice is the greater harm.
    """
    if kept is None or now >= kept.kept_at + window:
        return Fresh()
    return Replay(kept) if kept.fingerprint == fingerprint else Mismatch()


def may_keep(status: int) -> bool:
    """Whether an answer with this status is the last word on a request."""
    return 200 <= status < 500 and status not in _PASSING


def without_member(body: bytes, path: str) -> bytes | None:
    """The JSON text with the member at `path` set to null; the same again when it is null already.

    `path`: a JSON pointer (RFC 6901), "/bot/writeToken", or dotted, "bot.writeToken". None when the body is no JSON
    text or has no such member: then it is not known to be without the secret, and is not to be kept.
    """
    steps = _steps(path)
    try:
        value = parse_json(body)
    except MalformedJson:
        return None
    if not steps or not _set_null(value, steps):
        return None
    return json.dumps(value, separators=(",", ":")).encode("ascii")


def _key(text: str) -> str | None:
    if _STRING.fullmatch(text) is not None:
        text = unquote(text)
    elif _BARE.fullmatch(text) is None:
        return None
    return text if len(text) <= _LONGEST_KEY else None


def _steps(path: str) -> list[str]:
    if not path.startswith("/"):
        return path.split(".") if path else []
    return [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:]]


def _set_null(value: object, steps: Iterable[str]) -> bool:
    """Whether there was such a member, which is null now."""
    *way, last = steps
    for step in way:
        value = _part(value, step)
    if isinstance(value, dict) and last in value:
        value[last] = None
        return True
    if isinstance(value, list) and _is_index(last, value):
        value[int(last)] = None
        return True
    return False


def _part(value: object, step: str) -> object:
    if isinstance(value, dict):
        return value.get(step)
    if isinstance(value, list) and _is_index(step, value):
        return value[int(step)]
    return None


def _is_index(step: str, value: list[object]) -> bool:
    return _INDEX.fullmatch(step) is not None and int(step) < len(value)
