"""API catalogs (RFC 9727): descriptions are located and not fetched, further catalogs are read."""

from __future__ import annotations

from typing import Final

from proxy.discovery.classes import DocumentClass
from proxy.discovery.gate import NotADocument
from proxy.discovery.linkset import Linkset, parse_linkset
from proxy.engine.discovery.call import Call
from proxy.engine.discovery.reading import Manner, Reading
from proxy.engine.discovery.steps import StepOutcome
from proxy.http.targets import Target
from proxy.lint.linksets import lint_linkset

_STEP: Final = "api-catalog"
_MOST_DEPTH: Final = 4
_MOST_CATALOGS: Final = 8


async def find_apis(call: Call, start: Target) -> bool:
    """The APIs of the catalog at `start` and of those it leads to; whether there is one."""
    level, seen, found = [start], {start}, False
    for _ in range(_MOST_DEPTH):
        following: list[Target] = []
        for target in level:
            linkset = await _read(call, target)
            if linkset is None:
                continue
            found = True
            following += [one for one in linkset.nested if one not in seen]
            seen.update(following)
        level = following[:_MOST_CATALOGS]
        if not level:
            return found
        if len(level) < len(following):
            detail = f"No more than {_MOST_CATALOGS} further catalogs are read at once."
            call.steps.note(_STEP, following[_MOST_CATALOGS].uri, StepOutcome.SKIPPED, detail)
    detail = f"Nested deeper than {_MOST_DEPTH} catalogs."
    call.steps.note(_STEP, level[0].uri, StepOutcome.SKIPPED, detail)
    return found


async def _read(call: Call, target: Target) -> Linkset | None:
    reading = await call.read(_STEP, target, DocumentClass.API_CATALOG, Manner(site=call.domain))
    if not reading.is_found:
        call.add_document(reading)
        return None
    return add_linkset(call, reading)


def add_linkset(call: Call, reading: Reading) -> Linkset:
    """A catalog that was read, and the descriptions that it locates."""
    linkset = parse_linkset(reading.body, reading.target)
    assert not isinstance(linkset, NotADocument)  # the reading was let through by the same gate
    call.add_document(reading, lint_linkset(reading.body, call.clock()))
    for link in linkset.links:
        if link.rel == "service-desc" and link.target is not None:
            trust = "hint" if link.is_claim else "origin-tls"
            call.add_endpoint(description_protocol(link.type), link.target.uri, _STEP, trust)
    return linkset


def description_protocol(media_type: str | None) -> str:
    """What a `service-desc` link leads to: an OpenAPI description, unless its type says another (RFC 8631)."""
    essence = (media_type or "").partition(";")[0].strip().lower()
    is_openapi = not essence or "openapi" in essence or essence.endswith(("json", "yaml"))
    return "openapi" if is_openapi else "service-desc"
