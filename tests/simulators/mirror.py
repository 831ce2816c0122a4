"""Mirrors and gateways in memory: a test edits what each URL answers and reads what was asked.

mirrors.respond("https://mirror.example.net/m.json", b"{}", max_age=60)
mirrors.fail("https://other.example.org/m.json", "origin-unreachable")
mirrors.hang("https://slow.example.org/m.json")
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from proxy.http.messages import Realm
from proxy.http.targets import Target
from proxy.ports import MirrorAnswer, MirrorUnavailable
from proxy.trust.content.cid import Cid
from proxy.trust.content.ipns import IpnsName

RAW = "application/vnd.ipld.raw"
RECORD = "application/vnd.ipfs.ipns-record"


@dataclass(frozen=True)
class AskedMirror:
    """One request; `at` is in seconds of the event loop."""

    target: Target
    accept: str
    max_bytes: int
    seconds: float
    realm: Realm
    may_follow: Callable[[Target], bool]
    at: float


class MirrorSimulator:
    """Implements `ports.Mirrors`. What nobody has edited is a 404."""

    def __init__(self) -> None:
        self.asked: list[AskedMirror] = []
        self.under_way = 0
        self._answers: dict[str, MirrorAnswer | MirrorUnavailable | None] = {}
        self._delays: dict[str, float] = {}
        self._arrival = asyncio.Event()

    def respond(
        self, url: str, body: bytes, *, media_type: str = "application/json", max_age: float | None = None
    ) -> None:
        """From now on `url` answers so."""
        self._answers[url] = MirrorAnswer(media_type, body, max_age)

    def fail(self, url: str, reason: str) -> None:
        """From now on `url` fails so."""
        self._answers[url] = MirrorUnavailable(reason, "simulated")

    def hang(self, url: str) -> None:
        """From now on `url` never answers."""
        self._answers[url] = None

    def delay(self, url: str, seconds: float) -> None:
        """From now on `url` takes its time."""
        self._delays[url] = seconds

    def keep(self, gateway: str, blocks: Iterable[tuple[Cid, bytes]]) -> None:
        """From now on a gateway has these blocks."""
        for cid, block in blocks:
            self.respond(block_url(gateway, cid), block, media_type=RAW)

    def name(self, gateway: str, name: IpnsName, record: bytes) -> None:
        """From now on a gateway has this record."""
        self.respond(record_url(gateway, name), record, media_type=RECORD)

    @property
    def urls(self) -> list[str]:
        """What was asked for, in order."""
        return [asked.target.uri for asked in self.asked]

    async def arrived(self, count: int) -> None:
        """Wait until `count` requests have come in altogether."""
        async with asyncio.timeout(5):
            while len(self.asked) < count:
                self._arrival.clear()
                await self._arrival.wait()

    async def fetch(
        self,
        target: Target,
        accept: str,
        max_bytes: int,
        seconds: float,
        realm: Realm,
        may_follow: Callable[[Target], bool],
    ) -> MirrorAnswer:
        at = asyncio.get_running_loop().time()
        self.asked.append(AskedMirror(target, accept, max_bytes, seconds, realm, may_follow, at))
        self.under_way += 1
        self._arrival.set()
        try:
            answer = self._answers.get(target.uri, MirrorUnavailable("status-404", "simulated"))
            await asyncio.sleep(self._delays.get(target.uri, 0.0))
            if answer is None:
                await asyncio.Event().wait()
            if isinstance(answer, MirrorAnswer):
                return answer
            assert isinstance(answer, MirrorUnavailable)
            raise MirrorUnavailable(answer.reason, answer.detail)
        finally:
            self.under_way -= 1


def block_url(gateway: str, cid: Cid) -> str:
    """Where a gateway is asked for a block."""
    return f"{gateway}/ipfs/{cid.text}?format=raw"


def record_url(gateway: str, name: IpnsName) -> str:
    """Where a gateway is asked for a record."""
    return f"{gateway}/ipns/{name.text}?format=ipns-record"
