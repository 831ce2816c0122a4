"""Purging by generation: what was fetched before a mark is gone, or stale, without a search.

Every fetch notes the generation current when it began; a purge raises the generation and marks one scope with it.
A stored response whose generation is below the mark of any of its scopes was produced from data fetched before
that purge.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from proxy.caching.stored import StoredResponse
from proxy.http.targets import parse_target

EVERYTHING = "all"


@dataclass(frozen=True, slots=True)
class Mark:
    """One purge: the generation it began, and when."""

    generation: int
    at: float


@dataclass(frozen=True, slots=True)
class Valid:
    """No purge touches it."""


@dataclass(frozen=True, slots=True)
class Purged:
    """A purge came after its fetch began."""

    scope: str


@dataclass(frozen=True, slots=True)
class MarkedStale:
    """Soft purges came after its fetch began, the first of them at `at`."""

    at: float


Standing = Valid | Purged | MarkedStale


def uri_scope(uri: str) -> str:
    """The scope of one target URI, every variant of it."""
    return f"uri:{uri}"


def host_scope(authority: str) -> str:
    """The scope of a host: `example.com` means every port, `example.com:8443` one."""
    return f"host:{authority}"


def tag_scope(tag: str) -> str:
    """The scope of a purge tag."""
    return f"tag:{tag}"


def softly(scope: str) -> str:
    """The name under which soft purges of `scope` are marked: neither kind hides the other."""
    return f"soft:{scope}"


def scopes(uri: str, tags: tuple[str, ...]) -> tuple[str, ...]:
    """Every scope that a response of the target URI `uri` with `tags` falls under."""
    return (EVERYTHING, uri_scope(uri), *host_scopes(uri), *map(tag_scope, tags))


def host_scopes(uri: str) -> tuple[str, str]:
    """The scopes of its host: with every port, and with its own."""
    return _host_scopes("/".join(uri.split("/", 3)[:3]))


@lru_cache(maxsize=4096)
def _host_scopes(origin: str) -> tuple[str, str]:
    target = parse_target(origin)
    host = f"[{target.host}]" if ":" in target.host else target.host
    return host_scope(host), host_scope(f"{host}:{target.port}")


def standing(stored: StoredResponse, marks: Mapping[str, Mark]) -> Standing:
    """What the purges in `marks` make of `stored`. A hard purge outweighs soft ones."""
    stale_since: float | None = None
    for scope in scopes(stored.uri, stored.tags):
        if _reaches(marks.get(scope), stored):
            return Purged(scope)
        mark = marks.get(softly(scope))
        if mark is not None and _reaches(mark, stored):
            stale_since = mark.at if stale_since is None else min(stale_since, mark.at)
    return Valid() if stale_since is None else MarkedStale(stale_since)


class Purges(Protocol):
    """The purges that there were."""

    @property
    def marks(self) -> Mapping[str, Mark]:
        """The newest mark of each scope."""
        ...

    @property
    def latest_of_tags(self) -> int:
        """The generation of the newest mark of any tag; 0 without one."""
        ...


def is_touched(purges: Purges, generation: int, uris: Iterable[str]) -> bool:
    """Whether a purge after `generation`, hard or soft, concerns one of `uris`.

    Of purges by tag it is not known here what they concern: each concerns everything.
    """
    if purges.latest_of_tags > generation:
        return True
    concerned = {scope for uri in uris for scope in scopes(uri, ())} | {EVERYTHING}
    marks = (purges.marks.get(name) for scope in concerned for name in (scope, softly(scope)))
    return any(mark is not None and mark.generation > generation for mark in marks)


def is_of_tag(name: str) -> bool:
    """Whether a mark's name is that of a tag, purged hard or softly."""
    return name.removeprefix(softly("")).startswith(tag_scope(""))


def _reaches(mark: Mark | None, stored: StoredResponse) -> bool:
    return mark is not None and mark.generation > stored.generation
