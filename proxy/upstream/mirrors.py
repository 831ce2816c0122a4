"""`ports.Mirrors` over `ports.Origin`: one GET, a few redirects, one bounded body, and one kind of error.

What comes back is checked by a signature or a hash, so a redirect may lead to another host; each hop is held to the
rules for what a publisher names, and its address to the policy of the realm where the connection is made.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from proxy.caching.directives import parse_response_directives
from proxy.caching.freshness import corrected_initial_age, freshness_lifetime
from proxy.discovery.notes import admit_bounded
from proxy.discovery.redirects import REDIRECTS
from proxy.discovery.urls import UrlReason, UrlRefused
from proxy.http.fields import Fields, essence
from proxy.http.messages import Realm, Request
from proxy.http.problems import Slug
from proxy.http.targets import MalformedTarget, Target, resolve
from proxy.ports import MirrorAnswer, MirrorUnavailable, Origin, OriginResponse, OriginUnavailable, Overflow

MOST_REDIRECTS: Final = 3
TOO_MANY_REDIRECTS: Final = "too-many-redirects"
REDIRECT_REFUSED: Final = "redirect-refused"


class MirrorClient:
    """Implements `ports.Mirrors`. `agent` is how it calls itself."""

    def __init__(self, origin: Origin, agent: str) -> None:
        self._origin = origin
        self._agent = agent

    async def fetch(
        self,
        target: Target,
        accept: str,
        max_bytes: int,
        seconds: float,
        realm: Realm,
        may_follow: Callable[[Target], bool],
    ) -> MirrorAnswer:
        """The body of the 200 that `target` leads to, at most `max_bytes`, within `seconds`.

        Raises MirrorUnavailable.
        """
        fields = Fields(
            (("User-Agent", self._agent), ("Accept", accept), ("Accept-Encoding", "identity")),
        )
        try:
            async with asyncio.timeout(seconds):
                return await self._follow(Request("GET", target, fields, realm), max_bytes, may_follow)
        except OriginUnavailable as error:
            raise MirrorUnavailable(error.fault.value, error.detail) from error
        except TimeoutError:
            detail = f"No complete answer within {seconds:g} seconds."
            raise MirrorUnavailable(Slug.ORIGIN_TIMEOUT, detail) from None

    async def _follow(self, request: Request, max_bytes: int, may_follow: Callable[[Target], bool]) -> MirrorAnswer:
        for _ in range(MOST_REDIRECTS + 1):
            response = await self._origin.fetch(request)
            try:
                if response.head.status not in REDIRECTS:
                    return await _answer(response, max_bytes)
                target = _next(request, response.head.fields.get("location"), may_follow)
            finally:
                response.close()
            request = Request(request.method, target, request.fields, request.realm)
        raise MirrorUnavailable(TOO_MANY_REDIRECTS, f"More than {MOST_REDIRECTS} redirects.")


async def _answer(response: OriginResponse, max_bytes: int) -> MirrorAnswer:
    head = response.head
    if head.status != 200:
        raise MirrorUnavailable(f"status-{head.status}", f"The answer is {head.status}.")
    coding = (head.fields.get("content-encoding") or "identity").strip().lower()
    if coding != "identity":
        detail = "The body has a content coding that was not asked for."
        raise MirrorUnavailable(Slug.ORIGIN_INVALID_RESPONSE, detail)
    body = await response.read(max_bytes)
    if isinstance(body, Overflow):
        raise MirrorUnavailable(Slug.TOO_LARGE, f"The body is larger than {max_bytes} bytes.")
    return MirrorAnswer(essence(head.fields.get("content-type")), body, _max_age(response))


def _max_age(response: OriginResponse) -> float | None:
    fields, exchange = response.head.fields, response.exchange
    directives = parse_response_directives(fields)
    if directives.no_store or directives.no_cache or directives.private:
        return 0.0
    lifetime = freshness_lifetime(200, fields, directives, exchange.response_time, 0.0)
    if not lifetime.is_explicit:
        return None
    return max(0.0, lifetime.seconds - corrected_initial_age(fields, exchange))


def _next(request: Request, location: str | None, may_follow: Callable[[Target], bool]) -> Target:
    """Where a redirect leads, if it may be followed. Raises MirrorUnavailable."""
    if not location:
        raise MirrorUnavailable(REDIRECT_REFUSED, "The redirect says nowhere to go.")
    target = _public(request, location) if request.realm is Realm.PUBLIC else _any(request, location)
    if not may_follow(target):
        raise MirrorUnavailable(REDIRECT_REFUSED, "The redirect leads where it may not.")
    return target


def _public(request: Request, location: str) -> Target:
    try:
        return admit_bounded(location, request.target)
    except UrlRefused as refused:
        reason = Slug.EGRESS_DENIED if refused.reason is UrlReason.SSRF else REDIRECT_REFUSED
        raise MirrorUnavailable(reason, refused.detail) from None


def _any(request: Request, location: str) -> Target:
    """For whom the operator named: any address, but not out of TLS."""
    try:
        target = resolve(request.target, location)
    except MalformedTarget as error:
        raise MirrorUnavailable(REDIRECT_REFUSED, error.detail) from None
    if target.scheme != "https" and request.target.scheme == "https":
        raise MirrorUnavailable(REDIRECT_REFUSED, "The redirect leads out of TLS.")
    return target
