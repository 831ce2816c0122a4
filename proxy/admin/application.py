"""The routes of the admin port."""

from __future__ import annotations

import logging
import platform
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler

from proxy.admin.boundary import BoundaryPages
from proxy.admin.commands import (
    BadOrder,
    Purge,
    parse_level_body,
    parse_purge_body,
    parse_purge_request,
    parse_refresh_body,
)
from proxy.admin.guards import MAX_BODY, answer_errors, guard
from proxy.admin.page import AdminState, start_page
from proxy.admin.queries import parse_limit, parse_query
from proxy.admin.records import RecordPages
from proxy.admin.trust import TrustPages
from proxy.config import Settings, effective_yaml
from proxy.engine.boundary.control import BoundaryControl
from proxy.engine.control import ByUri, Control
from proxy.engine.relocation.control import RelocationControl
from proxy.engine.trust.control import TrustControl
from proxy.http.problems import Problem, Slug
from proxy.logs import set_level
from proxy.metrics import Metrics

_PAGE_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"

_log = logging.getLogger("proxy.admin")


def build_admin(
    control: Callable[[], Control],
    trust: Callable[[], TrustControl],
    relocations: Callable[[], RelocationControl],
    boundary: Callable[[], BoundaryControl],
    metrics: Metrics,
    settings: Callable[[], Settings],
    state: AdminState,
) -> web.Application:
    """The application behind the admin port; the callables answer what is in force now."""
    pages = _Pages(control, metrics, settings, state)
    trusted = TrustPages(trust)
    recorded = RecordPages(relocations)
    conflicts = BoundaryPages(boundary)
    application = web.Application(
        middlewares=(answer_errors, guard(settings), pages.purge_by_method), client_max_size=MAX_BODY
    )
    application.add_routes(
        [
            web.get("/", pages.start),
            *(web.get(path, pages.health) for path in ("/healthz", "/health")),
            *(web.get(path, pages.readiness) for path in ("/readyz", "/ready")),
            web.get("/metrics", pages.expose),
            web.get("/version", pages.version),
            web.get("/admin/entries", pages.entries),
            web.get("/admin/explain", pages.explain),
            web.post("/admin/purge", pages.purge),
            web.post("/admin/refresh", pages.refresh),
            web.get("/admin/trust", trusted.known),
            web.post("/admin/trust/pin", trusted.pin),
            web.post("/admin/trust/unpin", trusted.unpin),
            web.post("/admin/records/{id}/confirm", recorded.confirm),
            web.post("/admin/records/{id}/withdraw", recorded.withdraw),
            web.get("/admin/boundary", conflicts.conflicts),
            web.post("/admin/boundary/{id}/release", conflicts.release),
            web.get("/admin/config", pages.config),
            web.put("/admin/log-level", pages.log_level),
        ]
    )
    return application


@dataclass(frozen=True, slots=True)
class _Pages:
    control: Callable[[], Control]
    metrics: Metrics
    settings: Callable[[], Settings]
    state: AdminState

    async def start(self, _: web.Request) -> web.Response:
        page = start_page(self.state, self.metrics.totals())
        headers = {"Content-Security-Policy": _PAGE_POLICY}
        return web.Response(text=page, content_type="text/html", headers=headers)

    async def health(self, _: web.Request) -> web.Response:
        return web.json_response({"status": "ok"})

    async def readiness(self, _: web.Request) -> web.Response:
        reasons = self.state.is_ready()
        if reasons is None:
            raise BadOrder(Problem(Slug.DRAINING, "Starting or shutting down."))
        return web.json_response({"status": "degraded" if reasons else "ready", "reasons": list(reasons)})

    async def expose(self, request: web.Request) -> web.Response:
        content_type, body = self.metrics.expose(request.headers.get("Accept", ""))
        return web.Response(body=body, headers={"Content-Type": content_type})

    async def version(self, _: web.Request) -> web.Response:
        return web.json_response(
            {"name": "discovery-proxy", "version": self.state.version, "python": platform.python_version()}
        )

    async def entries(self, request: web.Request) -> web.Response:
        query = parse_query(request, "host", "limit")
        limit = parse_limit(query)
        return web.json_response({"entries": await self.control().entries(query.get("host"), limit)})

    async def explain(self, request: web.Request) -> web.Response:
        query = parse_query(request, "url")
        if "url" not in query:
            raise BadOrder(Problem(Slug.BAD_REQUEST, "Name the URL to explain: ?url=https://example.com/x."))
        return web.json_response(await self.control().explain(query["url"]))

    async def purge(self, request: web.Request) -> web.Response:
        return await self._purged(parse_purge_body(await request.read()))

    @web.middleware
    async def purge_by_method(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """PURGE names no page of ours: its target is what to purge, so it never meets the router."""
        if request.method != "PURGE":
            return await handler(request)
        return await self._purged(parse_purge_request(request.raw_path, request.headers))

    async def refresh(self, request: web.Request) -> web.Response:
        scope = parse_refresh_body(await request.read())
        if isinstance(scope, ByUri):
            started = int(await self.control().refresh_uri(scope.uri))
        else:
            started = await self.control().refresh_host(scope.authority)
        return web.json_response({"refreshing": started})

    async def config(self, request: web.Request) -> web.Response:
        if "yaml" in request.headers.get("Accept", "").lower():
            return web.Response(text=effective_yaml(self.settings()), content_type="application/yaml")
        return web.json_response(self.settings().model_dump(mode="json"))

    async def log_level(self, request: web.Request) -> web.Response:
        level = parse_level_body(await request.read())
        set_level(level)
        return web.json_response({"level": level})

    async def _purged(self, purge: Purge) -> web.Response:
        counts = [await self.control().purge(scope, soft=purge.soft) for scope in purge.scopes]
        _log.info("purged", extra={"purged": sum(counts), "soft": purge.soft})
        return web.json_response({"purged": sum(counts)})
