"""Who may enter the admin port, and how it refuses: every error is a problem (RFC 9457).

A browser on the same machine reaches a loopback port too, so pages from elsewhere are kept out by two rules:
a host name that was made to resolve to this machine is no name of ours, and nothing is changed for another
origin. With a token set, only liveness and readiness are open without it.
"""

from __future__ import annotations

import hmac
import logging
from collections.abc import Callable
from typing import Final
from uuid import uuid4

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from proxy.admin.commands import BadOrder
from proxy.config import Settings
from proxy.http.problems import MEDIA_TYPE, Problem, Slug
from proxy.http.targets import MalformedTarget, is_address, is_loopback, parse_authority
from proxy.ports import StoreUnavailable

MAX_BODY: Final = 64 * 2**10
_OPEN_PATHS: Final = frozenset({"/healthz", "/health", "/readyz", "/ready"})
_SAFE: Final = frozenset({"GET", "HEAD"})
_CHALLENGE: Final = 'Bearer realm="discovery-proxy admin"'
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Server": "discovery-proxy",
}

_log = logging.getLogger("proxy.admin")


@web.middleware
async def answer_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turns refusals, the router's errors and faults into problems, and marks every answer as not to store."""
    request_id = uuid4().hex
    try:
        response = await handler(request)
    except BadOrder as refused:
        response = _problem_response(refused.problem, request_id)
    except MalformedTarget as error:
        response = _problem_response(Problem(Slug.BAD_TARGET, error.detail), request_id)
    except web.HTTPException as error:
        response = _problem_response(_routing_problem(error), request_id)
        if "Allow" in error.headers:
            response.headers["Allow"] = error.headers["Allow"]
    except StoreUnavailable:
        detail = "The purge holds in this process but could not be written down: repeat it when the store is back."
        response = _problem_response(Problem(Slug.INTERNAL, detail, at_status=503), request_id)
    except Exception:
        _log.exception("an admin request failed", extra={"request_id": request_id})
        response = _problem_response(
            Problem(Slug.INTERNAL, "The log tells more under this request id."), request_id
        )
    response.headers.update(_HEADERS)
    return response


def guard(settings: Callable[[], Settings]) -> Middleware:
    """The middleware that lets only those enter who may."""

    @web.middleware
    async def enter(request: web.Request, handler: Handler) -> web.StreamResponse:
        admin = settings().admin
        if not _is_open(request) and not _is_own_name(request, admin.host):
            raise BadOrder(_forbidden("The Host field is no name of this admin port: use its address."))
        if not _is_same_origin(request):
            raise BadOrder(_forbidden("Not for pages of another origin."))
        token = admin.token
        if token is not None and not _is_open(request) and not _bears(request, token):
            raise BadOrder(Problem(Slug.UNAUTHORIZED, "Send the admin token in an Authorization field, as Bearer."))
        return await handler(request)

    return enter


def _problem_response(problem: Problem, request_id: str) -> web.Response:
    """The problem as a response."""
    headers = {"WWW-Authenticate": _CHALLENGE} if problem.slug is Slug.UNAUTHORIZED else None
    return web.Response(
        body=problem.body(request_id), status=problem.status, content_type=MEDIA_TYPE, headers=headers
    )


def _routing_problem(error: web.HTTPException) -> Problem:
    match error.status:
        case 404:
            return Problem(Slug.NOT_FOUND, "No such page: / lists them.")
        case 405:
            return Problem(Slug.BAD_REQUEST, "This method is not for this page: see Allow.", at_status=405)
        case 413:
            return Problem(Slug.TOO_LARGE, "The body is too large.", {"limit": MAX_BODY}, at_status=413)
        case status:
            return Problem(Slug.BAD_REQUEST, error.reason, at_status=status)


def _forbidden(detail: str) -> Problem:
    return Problem(Slug.BAD_REQUEST, detail, at_status=403)


def _is_own_name(request: web.Request, bound: str) -> bool:
    """Whether Host can only mean this machine; a port that is not on loopback is known by other names too."""
    # A PURGE in absolute form carries the host to purge; no page can make a browser send one.
    absolute_purge = request.method == "PURGE" and not request.raw_path.startswith("/")
    name = request.headers.get("Host")
    if name is None or absolute_purge or not is_loopback(bound):
        return True
    try:
        host, _ = parse_authority(name, 0)
    except MalformedTarget:
        return False
    return host in ("localhost", bound) or is_address(host)


def _is_same_origin(request: web.Request) -> bool:
    if request.method in _SAFE:
        return True
    if request.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
        return False
    origin = request.headers.get("Origin")
    return origin is None or origin.lower() == f"{request.scheme}://{request.headers.get('Host', '')}".lower()


def _is_open(request: web.Request) -> bool:
    return request.method in _SAFE and request.path in _OPEN_PATHS


def _bears(request: web.Request, token: str) -> bool:
    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    matches = hmac.compare_digest(given.strip().encode("utf-8", "surrogateescape"), token.encode())
    return scheme.lower() == "bearer" and matches
