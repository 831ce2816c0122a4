"""The pages of the admin port on conflicts at the boundary: an operator sees them all, and releases."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from proxy.admin.commands import BadOrder
from proxy.boundaries import BoundaryUnavailable
from proxy.boundary.telling import BadSelection, is_conflict_id, parse_selection, told
from proxy.engine.boundary.control import AlreadyReleased, BoundaryControl
from proxy.engine.boundary.reading import read_page
from proxy.http.problems import Problem, Slug

_NO_ID: Final = Problem(
    Slug.BAD_REQUEST,
    "Name the conflict by its id, 32 hexadecimal digits in lower case: /admin/boundary/ID/release.",
)
_RELEASED: Final = Problem(
    Slug.BAD_REQUEST, "The conflict is released already: nothing is held back by it any more.", at_status=409
)
_NOT_FOUND: Final = "No conflict is on record under this id: /admin/boundary lists those that are."

_log = logging.getLogger("proxy.admin")


@dataclass(frozen=True, slots=True)
class BoundaryPages:
    """Handlers; `control` answers the one in force now."""

    control: Callable[[], BoundaryControl]

    async def conflicts(self, request: web.Request) -> web.Response:
        """List conflicts, as `/v1/evidence` does for a client."""
        try:
            page = await read_page(self.control().records, parse_selection(request.rel_url.raw_query_string))
        except BadSelection as error:
            raise BadOrder(Problem(Slug.BAD_REQUEST, error.detail)) from None
        except BoundaryUnavailable as error:
            raise BadOrder(_unavailable(error, "Ask again when /readyz says ready.")) from None
        return web.Response(body=page.listed, content_type="application/json")

    async def release(self, request: web.Request) -> web.Response:
        """Let one intent pass."""
        conflict_id = request.match_info["id"]
        if not is_conflict_id(conflict_id):
            raise BadOrder(_NO_ID)
        try:
            conflict = await self.control().release(conflict_id)
        except AlreadyReleased:
            raise BadOrder(_RELEASED) from None
        except BoundaryUnavailable as error:
            advice = "Release it again when /readyz says ready: 409 then says that this was written after all."
            raise BadOrder(_unavailable(error, advice)) from None
        if conflict is None:
            raise BadOrder(Problem(Slug.NOT_FOUND, _NOT_FOUND, {"id": conflict_id}))
        extra = {"conflict": conflict.id, "client": conflict.client}
        _log.info("a boundary conflict released by the operator", extra=extra)
        return web.json_response({"released": told(conflict)})


def _unavailable(error: BoundaryUnavailable, advice: str) -> Problem:
    return Problem(Slug.INTERNAL, f"The boundary's records cannot be used: {error}. {advice}", at_status=503)
