"""One client's request on its way, with what was decided for it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from proxy.caching.directives import RequestDirectives
from proxy.caching.reuse import Forward
from proxy.caching.stored import StoredResponse
from proxy.caching.validation import ORIGIN_CONDITIONS
from proxy.caching.vary import normalise_codings
from proxy.engine.settings import ClassRules
from proxy.http.messages import Request
from proxy.ports import Interim

_NOT_FOR_READING = (*ORIGIN_CONDITIONS, "content-length", "content-type", "upgrade")


@dataclass(frozen=True, slots=True)
class Question:
    """What goes to the origin unless another's fill answers it; `stored` may stand in for a failing origin."""

    request: Request
    directives: RequestDirectives
    key: str
    forward: Forward
    stored: StoredResponse | None
    interim: Interim | None
    is_repeated: bool = False
    """Whether a purge overtook the answer to it, so that it is asked once more."""

    @property
    def is_shareable(self) -> bool:
        """Whether one answer from the origin can serve it and others alike.

        Who asks for an answer of his own would only wait for another's and then ask all the same.
        """
        return (
            not self.directives.no_store
            and not self.directives.no_cache
            and self.directives.max_age != 0
            and self.forward is not Forward.REQUEST
            and "authorization" not in self.request.fields
        )


def as_filled(request: Request, rules: ClassRules) -> Request:
    """`request` as a fill of its class asks: with the codings it takes, so that it selects what that fill stored,
    and without what is not for reading."""
    if rules.checkable is None:
        return request
    request = replace(request, fields=request.fields.without(_NOT_FOR_READING))
    accepted = request.fields.get("accept-encoding")
    if accepted is None:
        return request
    return replace(
        request, fields=request.fields.with_value("Accept-Encoding", normalise_codings(accepted, rules.checkable))
    )
