"""What an operator orders, read from requests: purge bodies, PURGE requests, refresh bodies, log levels.

Everything here raises BadOrder, with the problem to answer, for an order that is not exactly one thing, and
leaves URLs and hosts to be read where they are used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeVar

from multidict import CIMultiDictProxy
from pydantic import BaseModel, ConfigDict, ValidationError

from proxy.engine.control import ByHost, ByTag, ByUri, Everything, Scope
from proxy.http.problems import Problem, Slug
from proxy.http.targets import parse_gateway, parse_target
from proxy.logs import Level

PURGE_ALLOWED: Final = (
    'a JSON object with exactly one of "url", "host", "tag" (text) or "all": true, and optionally "soft": true'
)
REFRESH_ALLOWED: Final = 'a JSON object with exactly one of "url" or "host" (text)'
HOST_ALLOWED: Final = 'a JSON object with "host" (text), such as {"host": "example.com"}'
LEVEL_ALLOWED: Final = 'a JSON object with "level": "debug", "info", "warning" or "error"'
_PURGE_TARGET: Final = (
    "PURGE takes a URL in absolute form or as /https/example.com/x, or tags in a Surrogate-Key field."
)


class BadOrder(Exception):
    """The request cannot be carried out; `problem` is the answer."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Purge:
    """What to purge; `soft` marks stale instead of removing."""

    scopes: tuple[Scope, ...]
    soft: bool


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class _RefreshBody(_Body):
    url: str | None = None
    host: str | None = None


class _PurgeBody(_RefreshBody):
    tag: str | None = None
    all: bool = False
    soft: bool = False


class _HostBody(_Body):
    host: str


class _LevelBody(_Body):
    level: Level


_AnyBody = TypeVar("_AnyBody", bound=_Body)


def parse_purge_body(text: bytes) -> Purge:
    """The purge that a POST body orders."""
    body = _parse(text, _PurgeBody, PURGE_ALLOWED)
    scopes: list[Scope] = [*_named(body)]
    if body.tag is not None:
        scopes.append(ByTag(_one_tag(body.tag)))
    if body.all:
        scopes.append(Everything())
    return Purge(_exactly_one(scopes, PURGE_ALLOWED), body.soft)


def parse_purge_request(target: str, fields: CIMultiDictProxy[str]) -> Purge:
    """The purge that a PURGE request orders: by tags when it has a Surrogate-Key, else its target.

    Raises MalformedTarget too.
    """
    soft = fields.get("Fastly-Soft-Purge", "").strip() == "1"
    if "Surrogate-Key" in fields:
        tags = dict.fromkeys(tag for line in fields.getall("Surrogate-Key") for tag in line.split())
        if not tags:
            raise BadOrder(Problem(Slug.BAD_REQUEST, "Surrogate-Key names no tag."))
        return Purge(tuple(map(ByTag, tags)), soft)
    uri = parse_gateway(target) if target.startswith("/") else parse_target(target)
    if uri is None:
        raise BadOrder(Problem(Slug.BAD_REQUEST, _PURGE_TARGET))
    return Purge((ByUri(uri.uri),), soft)


def parse_refresh_body(text: bytes) -> ByUri | ByHost:
    """What a POST body orders to be refreshed."""
    body = _parse(text, _RefreshBody, REFRESH_ALLOWED)
    [scope] = _exactly_one(_named(body), REFRESH_ALLOWED)
    return scope


def parse_host_body(text: bytes) -> str:
    """The host that a POST body names."""
    return _parse(text, _HostBody, HOST_ALLOWED).host


def parse_level_body(text: bytes) -> Level:
    """The log level that a PUT body orders."""
    return _parse(text, _LevelBody, LEVEL_ALLOWED).level


def _parse(text: bytes, kind: type[_AnyBody], allowed: str) -> _AnyBody:
    try:
        return kind.model_validate_json(text)
    except ValidationError:
        raise BadOrder(Problem(Slug.BAD_REQUEST, f"The body must be {allowed}.")) from None


def _named(body: _RefreshBody) -> list[ByUri | ByHost]:
    by_uri = [] if body.url is None else [ByUri(body.url)]
    by_host = [] if body.host is None else [ByHost(body.host)]
    return [*by_uri, *by_host]


def _one_tag(text: str) -> str:
    if text.split() != [text]:
        raise BadOrder(Problem(Slug.BAD_REQUEST, "tag: one tag, without spaces."))
    return text


_AnyScope = TypeVar("_AnyScope")


def _exactly_one(scopes: list[_AnyScope], allowed: str) -> tuple[_AnyScope, ...]:
    if len(scopes) != 1:
        raise BadOrder(Problem(Slug.BAD_REQUEST, f"The body must be {allowed}."))
    return tuple(scopes)
