"""The routes of a manifest: which of them may be used, and why the others may not (U-S1, U-G6, U-M6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from proxy.discovery.access.manifesturls import MOST_URL_CHARACTERS, UrlRule
from proxy.discovery.access.routereading import (
    ALIAS_CONFLICT,
    LEVEL_UNKNOWN,
    parse_route,
    url_characters,
    url_findings,
)
from proxy.discovery.access.routes import RouteRecord
from proxy.discovery.findings import Finding
from proxy.http.targets import Target

MOST_ROUTES: Final = 1000
TOO_MANY: Final = "local.route_limit"


class Disabled(StrEnum):
    """Why a route is listed and not used."""

    SECRET = "secret"
    NOT_HTTPS = "not-https"
    UNUSABLE_URL = "unusable-url"
    UNKNOWN_LEVEL = "unknown-level"
    ALIAS_CONFLICT = "alias-conflict"


# In the order in which one reason is chosen of several.
_DISABLING: Final[Mapping[str, Disabled]] = {
    UrlRule.SECRET: Disabled.SECRET,
    UrlRule.HTTPS: Disabled.NOT_HTTPS,
    UrlRule.NOT_FETCHABLE: Disabled.UNUSABLE_URL,
    UrlRule.REVIEW_NOT_PUBLIC: Disabled.UNUSABLE_URL,
    LEVEL_UNKNOWN: Disabled.UNKNOWN_LEVEL,
    ALIAS_CONFLICT: Disabled.ALIAS_CONFLICT,
}


@dataclass(frozen=True, slots=True)
class ManifestRoute:
    """The element `index` of `routes`; `disabled` is None for one that may be used."""

    index: int
    record: RouteRecord
    disabled: Disabled | None


@dataclass(frozen=True, slots=True)
class Routes:
    """The routes with a usable method, in their order, and what is wrong with any of them."""

    routes: tuple[ManifestRoute, ...]
    findings: tuple[Finding, ...]


def read_routes(listed: list[object], site: Target, path: str) -> Routes:
    """The first MOST_ROUTES routes of a manifest of `site`, fewer where their URLs are long.

    `path` is the pointer to the list.
    """
    routes: list[ManifestRoute] = []
    findings: list[Finding] = []
    room, read = MOST_URL_CHARACTERS, 0
    for index, value in enumerate(listed[:MOST_ROUTES]):
        where = f"{path}/{index}"
        reading = parse_route(value, where)
        room -= 0 if reading.record is None else url_characters(reading.record)
        if room < 0:
            break
        read, found = index + 1, reading.findings
        if reading.record is not None and isinstance(value, dict):
            found += url_findings(value, reading.record, site, where)
            routes.append(ManifestRoute(index, reading.record, _disabled(found)))
        findings += found
    if read < len(listed):
        detail = f"Only the first {read} routes are read."
        findings.append(Finding(TOO_MANY, path, detail, is_warning=True))
    return Routes(tuple(routes), tuple(findings))


def _disabled(findings: tuple[Finding, ...]) -> Disabled | None:
    broken = {finding.rule for finding in findings}
    return next((reason for rule, reason in _DISABLING.items() if rule in broken), None)
