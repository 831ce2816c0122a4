"""Conflicts as they are told, and which of them somebody wants told: the form of `/v1/evidence` (CONTRACT §8).

What is told is what is on record: never a body, a credential or the value of a parameter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl

from proxy.boundary.conflicts import Conflict, State
from proxy.discovery.jsontext import JsonObject
from proxy.http.timestamps import timestamp

STATES: Final = tuple(state.value for state in State)
HIGHEST_LIMIT: Final = 1000

_DEFAULT_LIMIT: Final = 100
_HIGHEST_CURSOR: Final = 10**18 - 1
_PARAMETERS: Final = ("client", "state", "cursor", "limit")
_ID: Final = re.compile("[0-9a-f]{32}")


class BadSelection(ValueError):
    """The query asks for nothing that there is; `detail` says what would be."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Selection:
    """The conflicts of `client` and in `state`, None for all, with numbers above `after`; at most `limit`."""

    client: str | None = None
    state: State | None = None
    after: int = 0
    limit: int = _DEFAULT_LIMIT


def told(conflict: Conflict) -> JsonObject:
    """The conflict as an answer has it: an element of `GET /v1/evidence`."""
    return {
        "id": conflict.id,
        "client": conflict.client,
        "method": conflict.method,
        "url": conflict.url,
        "state": conflict.state.value,
        "observed_at": timestamp(conflict.observed_at),
        "cause": conflict.cause.value,
        "rule": conflict.rule,
        "reason": conflict.reason,
        "code": conflict.code.value,
        "review_url": conflict.review_url,
        "released_at": None if conflict.settled_at is None else timestamp(conflict.settled_at),
        "released_by": None if conflict.settlement is None else conflict.settlement.value,
        "envelope": conflict.envelope,
    }


def is_conflict_id(text: str) -> bool:
    """Whether a text is the id of a conflict, be there one or not."""
    return _ID.fullmatch(text) is not None


def parse_selection(query: str) -> Selection:
    """What a query, without its "?", selects. Raises BadSelection."""
    pairs = parse_qsl(query, keep_blank_values=True)
    given = dict(pairs)
    if len(given) < len(pairs) or not given.keys() <= set(_PARAMETERS):
        raise BadSelection(f"Parameters: {', '.join(_PARAMETERS)}, each once.")
    return Selection(
        client=_client(given),
        state=_state(given),
        after=_whole(given, "cursor", 0, 0, _HIGHEST_CURSOR),
        limit=_whole(given, "limit", _DEFAULT_LIMIT, 1, HIGHEST_LIMIT),
    )


def _client(given: Mapping[str, str]) -> str | None:
    if given.get("client") == "":
        raise BadSelection("client: the id of a client, or the address of one that has none.")
    return given.get("client")


def _state(given: Mapping[str, str]) -> State | None:
    if "state" not in given:
        return None
    if given["state"] not in STATES:
        raise BadSelection(f"state: one of {', '.join(STATES)}.")
    return State(given["state"])


def _whole(given: Mapping[str, str], name: str, default: int, least: int, most: int) -> int:
    text = given.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(most)) and least <= int(text) <= most):
        raise BadSelection(f"{name}: a whole number from {least} to {most}.")
    return int(text)
