"""An HTTPS origin on loopback: it answers conditional requests and orders, counts them, can be slow and killed."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass

import trustme
from aiohttp import web

from proxy.capability.resolution import Code
from proxy.demo.documents import Document
from proxy.demo.loopback import LoopbackServer


@dataclass(frozen=True, slots=True)
class Seen:
    """One request that was answered: its path, its If-None-Match, the status sent, and its method."""

    path: str
    if_none_match: str | None
    status: int
    method: str = "GET"


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
        self._words: dict[str, tuple[int, str | None]] = {}
        self._review_urls: dict[str, str | None] = {}
        self._orders = 0
        self._delay = 0.0
        self._answered = asyncio.Event()
        self.seen: list[Seen] = []

    def publish(self, *documents: Document) -> None:
        """Serve these from now on, each in place of what was at its path."""
        for document in documents:
            self._words.pop(document.path, None)
            self._documents[document.path] = document

    def move(self, document: Document, to: Document) -> None:
        """From now on say for good that `document` is where `to` is."""
        self.publish(to)
        self._words[document.path] = web.HTTPPermanentRedirect.status_code, to.path

    def withdraw(self, document: Document) -> None:
        """From now on say for good that `document` is gone."""
        self._words[document.path] = web.HTTPGone.status_code, None

    def take(self, order: Document, review_url: str | None = None) -> None:
        """From now on do what is posted as `order` is; with a `review_url` only say that a person decides there."""
        self._review_urls[order.path] = review_url

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
        condition = request.headers.get("If-None-Match")
        if request.method == "POST":
            await request.read()
            response = self._done(request.path)
        else:
            response = self._word(request.path) or self._document(request.path, condition)
        self.seen.append(Seen(request.path, condition, response.status, request.method))
        self._answered.set()
        return response

    def _done(self, path: str) -> web.Response:
        if path not in self._review_urls:
            return web.Response(status=405, headers={"Allow": "GET, HEAD"})
        review_url = self._review_urls[path]
        if review_url is not None:
            return web.json_response({"code": Code.HUMAN_REVIEW_REQUIRED, "url": review_url}, status=403)
        self._orders += 1
        return web.json_response({"order": self._orders}, status=201)

    def _word(self, path: str) -> web.Response | None:
        """What lasts, where the origin says that of the path."""
        if path not in self._words:
            return None
        status, location = self._words[path]
        return web.Response(status=status, headers={} if location is None else {"Location": location})

    def _document(self, path: str, condition: str | None) -> web.Response:
        document = self._documents.get(path, self._catch_all)
        fields = {"ETag": document.etag, "Cache-Control": document.cache_control}
        if condition == document.etag:
            return web.Response(status=304, headers=fields)
        return web.Response(body=document.body, headers=fields | {"Content-Type": document.media_type})
