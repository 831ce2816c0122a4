"""Answers made ready to be sent: their bytes, their tag, and the problem that stands in where nothing was found."""

from __future__ import annotations

import hashlib
import json
import math
import secrets
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from proxy.discovery.central import is_central
from proxy.engine.discovery.results import Prepared
from proxy.engine.discovery.steps import StepOutcome
from proxy.http.problems import Problem, Slug
from proxy.http.timestamps import timestamp
from proxy.metering import Meter

# Stands in the text until the time is known; a publisher cannot know it either.
_MARK: Final = secrets.token_hex(16)
# What may differ though the domain says the same; the body is told by its digest.
_PASSING: Final = frozenset(
    {"overhead", "steps", "source", "body", "fetched_at", "fresh_until", "checked_at", "ttl"}
)


class DiscoveryOutcome(StrEnum):
    """How a discovery ended."""

    FOUND = "found"
    NOT_FOUND = "not-found"
    GONE = "gone"
    MOVED = "moved"
    UNAVAILABLE = "unavailable"
    REFUSED = "refused"


def overhead(meter: Meter, domain: str) -> dict[str, object]:
    """What left the proxy and came back for the call; `elapsed_ms` is filled in when the answer is sent."""
    return {
        "http_requests": meter.http_requests,
        "dns_queries": meter.dns_queries,
        "bytes_sent": meter.bytes_sent,
        "bytes_received": meter.bytes_received,
        "central_services": sum(is_central(host, domain) for host in meter.hosts),
        "elapsed_ms": _MARK,
    }


def etag_of(told: Mapping[str, object]) -> str:
    """The tag of an answer, the same whatever the call cost: that of `costing_nothing` too."""
    digest = hashlib.sha256(_text(_lasting(told)).encode()).hexdigest()
    return f'W/"{digest[:32]}"'


def prepared(told: Mapping[str, object], fresh_until: float, etag: str) -> Prepared:
    """The answer as it is sent; with a problem in its place where nothing was found."""
    before, after = json.dumps(told, separators=(",", ":")).split(json.dumps(_MARK))
    return Prepared(before.encode(), after.encode(), etag, fresh_until, _problem(told))


def _lasting(value: object) -> object:
    """What is told without what passes, and without the order of lists: it depends on who answered first."""
    if isinstance(value, list):
        return sorted((_lasting(one) for one in value), key=_text)
    if isinstance(value, Mapping):
        return {name: _lasting(one) for name, one in value.items() if name not in _PASSING}
    return value


def _text(value: object) -> str:
    return json.dumps(value, sort_keys=True)


def costing_nothing(told: Mapping[str, object], now: float, fresh_until: float) -> dict[str, object]:
    """The same answer as a call gives that is answered from it."""
    source = told["source"]
    at = timestamp(now, "seconds")
    step = {"step": "answer", "target": told["domain"], "outcome": StepOutcome.CACHED.value, "ms": 0.0, "bytes": 0}
    return {
        **told,
        "source": {**source, "cache": "hit"} if isinstance(source, dict) else None,
        "overhead": overhead(Meter(), str(told["domain"])),
        "steps": [{**step, "detail": f"made at {at}, good until {_moment(fresh_until)}"}],
    }


def _moment(moment: float) -> str:
    return "purged" if math.isinf(moment) else timestamp(moment, "seconds")


_PROBLEMS: Final = {
    DiscoveryOutcome.NOT_FOUND: (
        Slug.NOT_FOUND,
        404,
        "The domain publishes nothing for agents; documents tells where was looked.",
    ),
    DiscoveryOutcome.GONE: (Slug.GONE, 410, "The domain has withdrawn what it published for agents."),
    DiscoveryOutcome.UNAVAILABLE: (
        Slug.ORIGIN_UNREACHABLE,
        503,
        "The domain cannot be reached now; steps tells what was tried. Ask again later.",
    ),
    DiscoveryOutcome.REFUSED: (
        Slug.EGRESS_DENIED,
        403,
        "The domain may not be asked, or not be believed: steps tells why.",
    ),
}


def _problem(told: Mapping[str, object]) -> Problem | None:
    known = _PROBLEMS.get(DiscoveryOutcome(str(told["outcome"])))
    if known is None:
        return None
    slug, status, detail = known
    client = told["client"]
    level = client.get("level") if isinstance(client, dict) else None
    if slug is Slug.NOT_FOUND and level is not None:
        detail = f"{detail} This is what a client of level {level} can use; without a level everything counts."
    cost = told["overhead"]
    assert isinstance(cost, dict)
    return Problem(slug, detail, {**told, "overhead": {**cost, "elapsed_ms": 0.0}}, at_status=status)
