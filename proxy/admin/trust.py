"""The pages of the admin port on what is known of domains."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass

from aiohttp import web

from proxy.admin.commands import BadOrder, parse_host_body
from proxy.admin.queries import parse_limit, parse_query
from proxy.engine.trust.control import TrustControl
from proxy.http.problems import Problem, Slug
from proxy.trustrecords import TrustRecordsUnavailable

_NO_DOCUMENT = "The domain has shown no DID document that can be believed; the log and /metrics say why."

_log = logging.getLogger("proxy.admin")


@dataclass(frozen=True, slots=True)
class TrustPages:
    """Handlers; `control` answers the one in force now."""

    control: Callable[[], TrustControl]

    async def known(self, request: web.Request) -> web.Response:
        """What is known of every domain, or of that of one DID."""
        query = parse_query(request, "did", "limit")
        try:
            told = await self.control().known(query.get("did"), parse_limit(query))
        except TrustRecordsUnavailable as error:
            raise _unavailable(error) from None
        return web.json_response({"domains": told})

    async def pin(self, request: web.Request) -> web.Response:
        """Ask a domain for its keys now, and believe them."""
        host = parse_host_body(await request.read())
        try:
            pinned = await self.control().pin(host)
        except TrustRecordsUnavailable as error:
            raise _unavailable(error) from None
        if pinned is None:
            raise BadOrder(Problem(Slug.NOT_FOUND, _NO_DOCUMENT))
        _log.info("keys pinned by the operator", extra={"host": host})
        return web.json_response(pinned)

    async def unpin(self, request: web.Request) -> web.Response:
        """Forget a domain."""
        host = parse_host_body(await request.read())
        try:
            removed = await self.control().unpin(host)
        except TrustRecordsUnavailable as error:
            raise _unavailable(error) from None
        _log.info("a domain forgotten by the operator", extra={"host": host, "removed": removed})
        return web.json_response({"removed": removed})


def _unavailable(error: TrustRecordsUnavailable) -> BadOrder:
    return BadOrder(Problem(Slug.OVERLOADED, f"Trust records cannot be used: {error}"))
