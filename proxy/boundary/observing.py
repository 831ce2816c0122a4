"""What an origin's answer says of the boundary (UAIX.md D11, §5.1; CONTRACT §8).

A status that refuses counts where the site has route records to be judged by; elsewhere it is an ordinary API's
everyday answer, and only the body of a no-op, which nobody sends by accident, counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from proxy.boundary.conflicts import Cause
from proxy.capability.resolution import Code
from proxy.discovery.jsontext import JsonObject, MalformedJson, parse_json
from proxy.discovery.urls import UrlRefused, admit
from proxy.http.fields import essence
from proxy.http.secrets import find_secret

BODY_LIMIT: Final = 16 * 1024
"""Octets; a no-op is short, so a longer body is none and need not be read to its end."""

_JSON: Final = "application/json"
_STATUSES: Final[Mapping[int, Cause]] = {
    401: Cause.UPSTREAM_401,
    403: Cause.UPSTREAM_403,
    428: Cause.UPSTREAM_428,
}
_CODES: Final[Mapping[str, Code]] = {code.value: code for code in Code}
# Numbers of the Minimal Access tier: taken for review, not public, a person is needed; malformed.
_NUMBERS: Final[Mapping[int, Code]] = {
    202: Code.HUMAN_REVIEW_REQUIRED,
    403: Code.HUMAN_REVIEW_REQUIRED,
    428: Code.HUMAN_REVIEW_REQUIRED,
    400: Code.REJECTED,
}
_TWO_KEYS: Final = frozenset({"code", "url"})


@dataclass(frozen=True, slots=True)
class Boundary:
    """The boundary that a request met at the origin. `url`: where a person decides, None without a usable one."""

    cause: Cause
    code: Code
    url: str | None


def is_readable(media_type: str | None) -> bool:
    """Whether a body of this Content-Type may be a no-op: application/json, or any type in +json."""
    name = essence(media_type)
    return name == _JSON or name.endswith("+json")


def no_op_in(body: bytes, media_type: str | None) -> tuple[Code, str | None] | None:
    """Code and URL of a no-op body, in words or in numbers; None when it is none. Only the outer object counts."""
    if len(body) > BODY_LIMIT or not is_readable(media_type):
        return None
    try:
        value = parse_json(body)
    except MalformedJson:
        return None
    if not isinstance(value, dict):
        return None
    code = _code(value)
    return None if code is None else (code, _url(value))


def boundary_in(status: int, body: bytes | None, media_type: str | None, *, is_listed: bool) -> Boundary | None:
    """The boundary in an answer; None when there is none.

    `body`: decoded, None where it was not read. `is_listed`: whether there are route records of the host.
    """
    no_op = None if body is None else no_op_in(body, media_type)
    cause = _STATUSES.get(status)
    if no_op is not None:
        return Boundary(cause or Cause.UPSTREAM_BODY, *no_op)
    if cause is None or not is_listed:
        return None
    return Boundary(cause, Code.HUMAN_REVIEW_REQUIRED, None)


def _code(value: JsonObject) -> Code | None:
    code = value.get("code")
    if isinstance(code, str):
        return _CODES.get(code)
    if isinstance(code, int) and not isinstance(code, bool) and value.keys() == _TWO_KEYS:
        return _NUMBERS.get(code)
    return None


def _url(value: JsonObject) -> str | None:
    """The URL if it may be passed on: public, https and without secret."""
    url = value.get("url")
    if not isinstance(url, str) or find_secret(url) is not None:
        return None
    try:
        return admit(url).uri
    except UrlRefused:
        return None
