"""An HTTPS origin on loopback: it answers conditional requests and counts them, can be slow, killed and revived."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass

import trustme
from aiohttp import web

from proxy.demo.documents import Document
from proxy.demo.loopback import LoopbackServer


@dataclass(frozen=True, slots=True)
class Seen:
    """One request that was answered: its path, its If-None-Match, and the status sent."""

    path: str
    if_none_match: str | None
    status: int


class LocalOrigin(LoopbackServer):
    """Publishes documents as `hosts` with a certificate of `authority`; what it has none for gets `catch_all`.

    `seen` are the requests answered since `forget`.
    """

    def __init__(self, hosts: tuple[str, ...], authority: trustme.CA, catch_all: Document) -> None:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        authority.issue_cert(*hosts).configure_cert(tls)
        super().__init__(tls)
        self._catch_all = catch_all
        self._documents: dict[str, Document] = {}
        self._delay = 0.0
        self._answered = asyncio.Event()
        self.seen: list[Seen] = []

    def publish(self, *documents: Document) -> None:
        """Serve these from now on, each in place of what was at its path."""
        self._documents |= {document.path: document for document in documents}

    def delay_next(self, seconds: float) -> None:
        """Take this long for the next request, and for that one only."""
        self._delay = seconds

    def forget(self) -> None:
        """Count from here."""
        self.seen.clear()

    async def saw(self, count: int) -> None:
        """Wait until this many requests have been answered."""
        while len(self.seen) < count:
            self._answered.clear()
            await self._answered.wait()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        delay, self._delay = self._delay, 0.0
        await asyncio.sleep(delay)
        document = self._documents.get(request.path, self._catch_all)
        condition = request.headers.get("If-None-Match")
        fields = {"ETag": document.etag, "Cache-Control": document.cache_control}
        if condition == document.etag:
            response = web.Response(status=304, headers=fields)
        else:
            response = web.Response(body=document.body, headers=fields | {"Content-Type": document.media_type})
        self.seen.append(Seen(request.path, condition, response.status))
        self._answered.set()
        return response
