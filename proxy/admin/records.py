"""The pages of the admin port on what is recorded of relocations: an operator decides."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from aiohttp import web

from proxy.admin.commands import BadOrder
from proxy.engine.relocation.control import NothingPending, RelocationControl
from proxy.http.problems import Problem, Slug
from proxy.http.targets import parse_target
from proxy.ledgers import LedgerUnavailable
from proxy.relocation.records import Record, is_record_id, told, told_with_history

_NO_ID: Final = Problem(
    Slug.BAD_REQUEST, "Name the record by its id, 64 hexadecimal digits in lower case: /admin/records/ID/confirm."
)
_NOT_PENDING: Final = Problem(
    Slug.BAD_REQUEST,
    "Only a pending record can be confirmed, and only once its new place has been looked at: evidence.proof is "
    "none then. Where it is null, ask again in a minute.",
    at_status=409,
)
_NOT_FOUND: Final = "Nothing is recorded under this id: /v1/records on the data port lists what is."

_log = logging.getLogger("proxy.admin")


@dataclass(frozen=True, slots=True)
class RecordPages:
    """Handlers, for paths with the `id` of a record; `control` answers the one in force now."""

    control: Callable[[], RelocationControl]

    async def confirm(self, request: web.Request) -> web.Response:
        """Let a pending move be one."""
        try:
            record = await _decided(request, self.control().confirm)
        except NothingPending:
            raise BadOrder(_NOT_PENDING) from None
        _log.info("a relocation confirmed by the operator", extra=_named(record))
        return web.json_response(told_with_history(record))

    async def withdraw(self, request: web.Request) -> web.Response:
        """Take a record away, until the origin says it again."""
        record = await _decided(request, self.control().withdraw)
        _log.info("a relocation withdrawn by the operator", extra=_named(record))
        return web.json_response({"withdrawn": told(record)})


async def _decided(request: web.Request, decide: Callable[[str], Awaitable[Record | None]]) -> Record:
    record_id = request.match_info["id"]
    if not is_record_id(record_id):
        raise BadOrder(_NO_ID)
    try:
        record = await decide(record_id)
    except LedgerUnavailable as error:
        detail = f"Records of relocations cannot be used: {error}"
        raise BadOrder(Problem(Slug.INTERNAL, detail, at_status=503)) from None
    if record is None:
        raise BadOrder(Problem(Slug.NOT_FOUND, _NOT_FOUND, {"id": record_id}))
    return record


def _named(record: Record) -> dict[str, object]:
    return {"host": parse_target(record.url).authority, "state": record.state.value}
