"""Asking origins about the URLs of a catalog: few at a time, for a short time, and no host more than the others.

However many URLs a catalog lists, a round is bounded in requests and in seconds.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from proxy.discovery.classes import DocumentClass
from proxy.http.messages import Realm
from proxy.http.targets import Target, parse_target
from proxy.ledgers import LedgerUnavailable
from proxy.relocation.sightings import Sighting

_OF_HOST_AT_ONCE: Final = 2


class Rechecking(Protocol):
    """Who asks origins on behalf of everybody, and records what they say."""

    def soon(self, target: Target) -> None:
        """Ask behind the scenes. Never raises."""
        ...

    async def ask(self, target: Target, realm: Realm, claimed: DocumentClass | None) -> Sighting:
        """What the origin says now, recorded where it lasts. Raises LedgerUnavailable.

        `claimed` is what the document there is said to be; one of another class is none.
        """
        ...


@dataclass(frozen=True, slots=True)
class Round:
    """How much is asked at most: URLs, and seconds for all of them together."""

    most: int
    seconds: float


class Prober:
    """Asks `hosts_at_once` hosts at a time, each of them about two URLs."""

    def __init__(self, rechecks: Rechecking, hosts_at_once: int) -> None:
        self._rechecks = rechecks
        self._hosts_at_once = hosts_at_once

    async def ask(
        self, keys: Iterable[str], bounds: Round, claims: Mapping[str, DocumentClass]
    ) -> dict[str, Sighting]:
        """What the origins say of these URLs (see `record_url`), as far as the bounds allow.

        `claims` are the classes that the documents there are said to be of, where anything is said.
        Raises LedgerUnavailable: what cannot be recorded is not told either.
        """
        sightings: dict[str, Sighting] = {}
        faults: list[LedgerUnavailable] = []
        hosts = iter(chosen(keys, bounds.most))

        async def ask_each(keys: Iterator[str]) -> None:
            for key in keys:
                if faults:
                    return
                try:
                    sightings[key] = await self._rechecks.ask(parse_target(key), Realm.PUBLIC, claims.get(key))
                except LedgerUnavailable as error:
                    faults.append(error)

        async def work() -> None:
            for of_host in hosts:
                left = iter(of_host)
                # No more than can be asked at once, or most would go on after the time is over.
                await asyncio.gather(*(ask_each(left) for _ in range(_OF_HOST_AT_ONCE)))

        try:
            async with asyncio.timeout(bounds.seconds):
                await asyncio.gather(*(work() for _ in range(self._hosts_at_once)))
        except TimeoutError:
            pass
        if faults:
            raise faults[0]
        return sightings


def chosen(keys: Iterable[str], most: int) -> tuple[tuple[str, ...], ...]:
    """At most `most` of these URLs, by host: one of each in turn, so that a long list leaves room for others."""
    by_host: dict[str, deque[str]] = {}
    for key in keys:
        by_host.setdefault(host_of(key), deque()).append(key)
    taken: dict[str, list[str]] = {}
    for _, (host, key) in zip(range(most), _in_turn(by_host), strict=False):
        taken.setdefault(host, []).append(key)
    return tuple(tuple(of_host) for of_host in taken.values())


def host_of(key: str) -> str:
    """Host and port of a URL as records have it."""
    return key.split("/", 3)[2]


def _in_turn(by_host: dict[str, deque[str]]) -> Iterator[tuple[str, str]]:
    while by_host:
        for host in list(by_host):
            yield host, by_host[host].popleft()
            if not by_host[host]:
                del by_host[host]
