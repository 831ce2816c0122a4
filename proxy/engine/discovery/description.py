"""The answer to a discovery call, as the members that CONTRACT calls §5.1, and the bytes it is sent as."""

from __future__ import annotations

import hashlib
import json
import math
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from proxy.capability.resolution import Execute, Fallback, Resolution
from proxy.capability.resolve import Context, resolve
from proxy.discovery.central import is_central
from proxy.discovery.classes import DocumentClass
from proxy.discovery.findings import Finding
from proxy.discovery.manifest import Manifest
from proxy.discovery.manifestroutes import Disabled
from proxy.discovery.manifesturls import published_target
from proxy.discovery.routes import RouteRecord
from proxy.discovery.urls import UrlReason
from proxy.engine.discovery.authorization import Authorization
from proxy.engine.discovery.call import Call, Document
from proxy.engine.discovery.client import Client
from proxy.engine.discovery.manifests import FoundManifest
from proxy.engine.discovery.reading import ReadOutcome
from proxy.engine.discovery.records import DnsFacts
from proxy.engine.discovery.results import Prepared
from proxy.engine.discovery.steps import StepOutcome
from proxy.http.messages import SAFE_METHODS
from proxy.http.problems import Problem, Slug
from proxy.http.targets import Target
from proxy.http.timestamps import timestamp
from proxy.metering import Meter

# Of a manifest whose schema is not known only these count (U-M2); no level is none above them.
_STATIC_LEVELS: Final = frozenset({None, "L0", "L1"})
# Stands in the text until the time is known; a publisher cannot know it either.
_MARK: Final = secrets.token_hex(16)
_UNUSED: Final = frozenset({"hint", "rejected"})
# What may differ though the domain says the same; the body is told by its digest.
_PASSING: Final = frozenset(
    {"overhead", "steps", "source", "body", "fetched_at", "fresh_until", "checked_at", "ttl"}
)


class Outcome(StrEnum):
    """How a discovery ended."""

    FOUND = "found"
    NOT_FOUND = "not-found"
    GONE = "gone"
    MOVED = "moved"
    UNAVAILABLE = "unavailable"
    REFUSED = "refused"


@dataclass(slots=True)
class Discovered:
    """Everything one call found out. `static` are the documents for clients that only read."""

    call: Call
    client: Client
    found: FoundManifest | None = None
    dns: DnsFacts | None = None
    authorization: Authorization | None = None
    static: dict[str, str | None] = field(default_factory=dict)
    coexisting: list[str] = field(default_factory=list)
    is_refused: bool = False
    """The operator's policy lets nothing of the domain be believed."""

    @property
    def manifest(self) -> Manifest | None:
        """The domain's own manifest."""
        return None if self.found is None else self.found.manifest

    @property
    def outcome(self) -> Outcome:
        """What all of it comes to."""
        if self.is_refused:
            return Outcome.REFUSED
        call = self.call
        if self.manifest is not None or call.endpoints or any(map(_is_for_agents, call.documents.values())):
            return Outcome.FOUND
        if self.found is None:
            return Outcome.UNAVAILABLE if call.is_cut_short else Outcome.NOT_FOUND
        reading = self.found.reading
        if reading.is_gone:
            return Outcome.GONE
        if self.found.has_moved_away:
            return Outcome.MOVED
        if reading.reason == UrlReason.SSRF:
            return Outcome.REFUSED
        is_unknown = call.is_cut_short or reading.outcome is ReadOutcome.FAILED
        return Outcome.UNAVAILABLE if is_unknown else Outcome.NOT_FOUND


def _is_for_agents(document: Document) -> bool:
    """Whether it is a publication: every site has a robots.txt, and what nothing vouches for is nobody's."""
    return document.found and document.document_class != DocumentClass.ROBOTS and document.trust not in _UNUSED


def members(discovered: Discovered) -> dict[str, object]:
    """The answer, for a call that cost what its meter says."""
    call, manifest = discovered.call, discovered.manifest
    return {
        "domain": call.domain,
        "outcome": discovered.outcome.value,
        "manifest": None if manifest is None else _manifest(discovered, manifest),
        "source": None if manifest is None else _source(discovered),
        "trust": None if manifest is None else _trust(manifest, discovered),
        "dns": discovered.dns.told() if discovered.dns else {"dnssec": "indeterminate", "records": []},
        "documents": [document.told() for document in sorted(call.documents.values(), key=_rank)],
        "endpoints": [endpoint.told() for endpoint in call.endpoints.values()],
        "authorization": discovered.authorization.told() if discovered.authorization else None,
        "client": discovered.client.told(),
        "routes": [] if manifest is None else _routes(manifest, discovered.client),
        "static": {name: discovered.static.get(name) for name in ("robots", "sitemap", "llms", "markdown")},
        "alternatives": [],
        "relocations": list(call.relocations.values()),
        "coexisting": discovered.coexisting,
        "overhead": overhead(call.meter, call.domain),
        "steps": call.steps.told(),
    }


def _rank(document: Document) -> int:
    """What was found first, then by class, in the order of the classes."""
    classes = tuple(DocumentClass)
    known = document.document_class in classes
    place = classes.index(DocumentClass(document.document_class)) if known else len(classes)
    return place if document.found else place + len(classes) + 1


def _manifest(discovered: Discovered, manifest: Manifest) -> dict[str, object]:
    assert discovered.found is not None
    reading = discovered.found.reading
    return {
        "url": reading.url,
        "sha256": hashlib.sha256(reading.body).hexdigest(),
        "etag": reading.fields.get("etag"),
        "fetched_at": timestamp(reading.fetched_at),
        "fresh_until": timestamp(reading.fresh_until),
        "body": manifest.raw,
    }


def _source(discovered: Discovered) -> dict[str, object]:
    assert discovered.found is not None
    reading = discovered.found.reading
    return {"kind": discovered.found.source, "url": reading.url, "cache": reading.cache}


def _trust(manifest: Manifest, discovered: Discovered) -> dict[str, object]:
    """The manifest's origin vouches for it by TLS; its signature is not looked at yet."""
    assert discovered.found is not None
    reasons = ["signature_not_checked"] if manifest.is_signed else []
    return {
        "state": discovered.found.trust,
        "did": discovered.found.did,
        "verification_method": None,
        "proof": None,
        "signed_at": None,
        "valid_until": None,
        "reasons": reasons,
    }


def _routes(manifest: Manifest, client: Client) -> list[dict[str, object]]:
    told = []
    for route in manifest.routes:
        is_plain = route.record.method in SAFE_METHODS
        if manifest.is_downgraded:
            is_plain = is_plain and route.record.ability_level in _STATIC_LEVELS
        if (client.is_static or manifest.is_downgraded) and not is_plain:
            continue
        record = route.record if route.disabled in (None, Disabled.ALIAS_CONFLICT) else None
        context = Context(proxy_review_url=manifest.site.uri)
        resolution = resolve(record, manifest.site, client.atoms, context)
        told.append(_route(route.record, manifest.site, resolution))
    return told


def _route(record: RouteRecord, site: Target, resolution: Resolution) -> dict[str, object]:
    # A path that may not be shown, for the secret in it, is told of as the site alone.
    listed = published_target(record.highest_supported_path or "", site, "")
    url = site.uri if isinstance(listed, Finding) else listed.uri
    told: dict[str, object] = {"method": record.method, "url": url, "decision": "no-op", "use": None, "field": None}
    told |= {"code": None, "review_url": None, "reason": None}
    match resolution:
        case Execute(rule, _, used, used_field):
            told |= {"decision": "execute", "use": used, "field": used_field, "reason": rule.value}
        case Fallback(rule, used, used_field, missing):
            why = ", ".join(atom.value for atom in missing)
            told |= {"decision": "fallback", "use": used, "field": used_field, "reason": f"{rule}: missing {why}"}
        case no_op:
            told |= {"code": no_op.code, "review_url": no_op.url, "reason": f"{no_op.rule}: {no_op.slug}"}
    return told


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


def prepared(told: Mapping[str, object], fresh_until: float) -> Prepared:
    """The answer as it is sent; with a problem in its place where nothing was found."""
    digest = hashlib.sha256(_text(_lasting(told)).encode()).hexdigest()
    before, after = json.dumps(told, separators=(",", ":")).split(json.dumps(_MARK))
    return Prepared(before.encode(), after.encode(), f'W/"{digest[:32]}"', fresh_until, _problem(told))


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
    Outcome.NOT_FOUND: (
        Slug.NOT_FOUND,
        404,
        "The domain publishes nothing for agents; documents tells where was looked.",
    ),
    Outcome.GONE: (Slug.GONE, 410, "The domain has withdrawn what it published for agents."),
    Outcome.UNAVAILABLE: (
        Slug.ORIGIN_UNREACHABLE,
        503,
        "The domain cannot be reached now; steps tells what was tried. Ask again later.",
    ),
    Outcome.REFUSED: (
        Slug.EGRESS_DENIED,
        403,
        "The domain may not be asked, or not be believed: steps tells why.",
    ),
}


def _problem(told: Mapping[str, object]) -> Problem | None:
    known = _PROBLEMS.get(Outcome(str(told["outcome"])))
    if known is None:
        return None
    slug, status, detail = known
    cost = told["overhead"]
    assert isinstance(cost, dict)
    return Problem(slug, detail, {**told, "overhead": {**cost, "elapsed_ms": 0.0}}, at_status=status)


def site_root(domain: str) -> Target:
    """The landing page of a domain."""
    return Target("https", domain, 443, "/", None)
