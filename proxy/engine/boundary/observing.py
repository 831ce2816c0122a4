"""What an origin's answer says of the boundary, taken down before the client has it (D11; CONTRACT §8)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from proxy.boundary.conflicts import Conflict
from proxy.boundary.observing import BODY_LIMIT, Boundary, boundary_in, is_readable
from proxy.capability.covering import Covered
from proxy.capability.ladders import Atoms
from proxy.capability.resolution import Rule, Trigger
from proxy.capability.resolve import Context, review_url
from proxy.engine.boundary.asking import Asking
from proxy.engine.boundary.latching import Latching, Met
from proxy.engine.boundary.listing import Listing
from proxy.engine.boundary.peeking import Peeked
from proxy.engine.boundary.settings import Mode
from proxy.engine.outcome import Answer, Complete, Outcome, Refusal, Served, Streaming
from proxy.engine.state import EngineState
from proxy.http.codings import CodingFault, decode_body
from proxy.http.messages import ResponseHead
from proxy.http.problems import Problem, Slug
from proxy.http.secrets import known_secret
from proxy.ports import OriginUnavailable

_REDIRECTED: Final = "The origin redirects to a URL that carries a secret{named}, which may not be passed on."


class Observing:
    """Reads answers that an origin has just given."""

    def __init__(self, state: EngineState, latching: Latching, proxy_review_url: str | None) -> None:
        self._latching = latching
        self._proxy_review_url = proxy_review_url
        self._observer = state.observer

    async def observed(
        self,
        asking: Asking,
        listing: Listing,
        covered: Covered | None,
        previous: Conflict | None,
        answer: Answer,
        atoms_of: Callable[[Asking], Atoms],
        mode: Mode,
    ) -> Answer:
        """The answer as the client may have it; what in it is a boundary is on record then."""
        if not isinstance(answer, Complete | Streaming):
            return answer
        redirect = self._leaking(asking, listing, covered, answer, mode)
        if redirect is not None:
            return redirect
        answer, body = await _read(answer)
        if isinstance(answer, Refusal):
            return answer
        media_type = answer.head.fields.get("content-type")
        found = boundary_in(answer.head.status, body, media_type, is_listed=listing.is_listed)
        if found is not None and mode is Mode.ENFORCE:
            what = self._met(asking, listing, covered, found, answer.head, previous)
            await self._latching.record(asking, listing, atoms_of(asking), what)
        if found is not None:
            self._observer.boundary("no-op" if mode is Mode.ENFORCE else "report", Rule.D11, mode)
        if covered is not None and covered.record.write_credential_response_path is not None:
            head = replace(answer.head, fields=answer.head.fields.with_value("Cache-Control", "no-store"))
            answer = replace(answer, head=head)
        return answer

    def _leaking(
        self,
        asking: Asking,
        listing: Listing,
        covered: Covered | None,
        answer: Complete | Streaming,
        mode: Mode,
    ) -> Refusal | None:
        """The refusal of a redirect to a URL with a secret, where such URLs are refused (UAIX.md §5.5)."""
        location = answer.head.fields.get("location")
        allowed = frozenset() if covered is None else covered.secret_allowed
        secret = None if location is None else known_secret(location, allowed)
        if secret is None:
            return None
        is_refused = listing.is_listed and mode is Mode.ENFORCE
        self._observer.boundary("no-op" if is_refused else "report", Rule.D1, mode)
        if not is_refused:
            return None
        if isinstance(answer, Streaming):
            answer.response.close()
        named = "" if secret.name is None else f", named {secret.name}"
        problem = Problem(Slug.REDIRECT_REFUSED, _REDIRECTED.format(named=named))
        outcome = Outcome(Served.ERROR, problem.status, asking.request.target, detail=problem.slug)
        return Refusal(problem, outcome)

    def _met(
        self,
        asking: Asking,
        listing: Listing,
        covered: Covered | None,
        found: Boundary,
        head: ResponseHead,
        previous: Conflict | None,
    ) -> Met:
        record = None if covered is None else covered.record
        fallback = self._proxy_review_url or listing.root(asking.request.target)
        url = found.url or review_url(record, listing.site, Context(fallback, listing.review_url))
        return Met(
            cause=found.cause,
            rule=Rule.D11,
            reason=found.cause.value,
            code=found.code,
            review_url=url,
            trigger=Trigger.AUTHORITY_BOUNDARY_CONFLICT,
            challenges=head.fields.get_all("www-authenticate") if head.status == 401 else (),
            previous=previous,
        )


async def _read(answer: Complete | Streaming) -> tuple[Complete | Streaming | Refusal, bytes | None]:
    """The answer, and its body uncoded where that may be a no-op: JSON, and short."""
    fields = answer.head.fields
    if not is_readable(fields.get("content-type")) or _declared(answer.head) > BODY_LIMIT:
        return answer, None
    whole = await _short(answer)
    if isinstance(whole, Refusal):
        return whole, None
    octets = whole.body if isinstance(whole, Complete) else None
    if octets is None or len(octets) > BODY_LIMIT:
        return whole, None
    body = decode_body(fields.get("content-encoding"), octets, BODY_LIMIT)
    return whole, None if isinstance(body, CodingFault) else body


async def _short(answer: Complete | Streaming) -> Complete | Streaming | Refusal:
    if isinstance(answer, Complete):
        return answer
    response = Peeked(answer.response)
    try:
        read, is_whole = await response.peek(BODY_LIMIT)
    except OriginUnavailable as error:
        response.close()
        problem = Problem(Slug(error.fault.value), error.detail)
        return Refusal(problem, replace(answer.outcome, served=Served.ERROR, status=problem.status))
    except BaseException:
        response.close()
        raise
    if not is_whole:
        return replace(answer, read=answer.read + read, response=response)
    response.close()
    return Complete(answer.head, answer.read + read, answer.outcome)


def _declared(head: ResponseHead) -> int:
    length = head.fields.get("content-length") or ""
    return int(length) if length.isascii() and length.isdigit() and len(length) < 12 else 0
