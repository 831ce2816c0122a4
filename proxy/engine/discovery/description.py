"""The answer to a discovery call as its members: everything that was found out, in the shape clients rely on."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from proxy.caching.vouching import TrustState, Vouching
from proxy.capability.resolution import Execute, Fallback, Resolution
from proxy.capability.resolve import Context, resolve
from proxy.discovery.access.manifest import Manifest
from proxy.discovery.access.manifestroutes import Disabled
from proxy.discovery.access.manifesturls import published_target
from proxy.discovery.access.routes import RouteRecord
from proxy.discovery.classes import DocumentClass
from proxy.discovery.findings import Finding
from proxy.discovery.urls import UrlReason
from proxy.engine.discovery.authorization import Authorization
from proxy.engine.discovery.call import Call
from proxy.engine.discovery.client import Client
from proxy.engine.discovery.manifests import FoundManifest
from proxy.engine.discovery.preparation import DiscoveryOutcome, overhead
from proxy.engine.discovery.publications import HINT, REJECTED, Document, Endpoint
from proxy.engine.discovery.records import DnsFacts
from proxy.http.messages import SAFE_METHODS
from proxy.http.targets import Target
from proxy.http.timestamps import timestamp

# Of a manifest whose schema is not known only these count (U-M2); no level is none above them.
_STATIC_LEVELS: Final = frozenset({None, "L0", "L1"})
_KEY_TO_COME: Final = "Idempotency-Key"
_COEXISTING: Final = frozenset({"aid1", "aid2"})
_UNUSED: Final = frozenset({HINT, REJECTED})
# What every site may have, and what only ever goes with something else.
_INCIDENTAL: Final = frozenset({DocumentClass.ROBOTS, DocumentClass.OAUTH_AS, DocumentClass.OAUTH_PR})


@dataclass(slots=True)
class Discovered:
    """Everything one call found out. `static` are the documents for clients that only read."""

    call: Call
    client: Client
    found: FoundManifest | None = None
    dns: DnsFacts | None = None
    authorization: Authorization | None = None
    static: dict[str, str | None] = field(default_factory=dict)
    is_refused: bool = False
    """The operator's policy lets nothing of the domain be believed."""

    @property
    def coexisting(self) -> list[str]:
        """The records of other formats at the name that holds the manifest's."""
        records = self.dns.records if self.dns else []
        kinds = {str(record["kind"]) for record in records if record["type"] == "TXT" and record["accepted"]}
        return sorted(kinds & _COEXISTING)

    @property
    def manifest(self) -> Manifest | None:
        """The domain's own manifest."""
        return None if self.found is None else self.found.manifest

    def outcome(self, documents: Sequence[Document], endpoints: Sequence[Endpoint]) -> DiscoveryOutcome:
        """What all of it comes to, with what of it is listed."""
        if self.is_refused:
            return DiscoveryOutcome.REFUSED
        if self.manifest is not None or endpoints or any(map(_is_for_agents, documents)):
            return DiscoveryOutcome.FOUND
        is_unknown = self.call.is_cut_short or self.call.has_failures
        if self.found is None:
            return DiscoveryOutcome.UNAVAILABLE if is_unknown else DiscoveryOutcome.NOT_FOUND
        reading = self.found.reading
        if reading.is_gone:
            return DiscoveryOutcome.GONE
        if self.found.has_moved_away:
            return DiscoveryOutcome.MOVED
        if reading.reason == UrlReason.SSRF:
            return DiscoveryOutcome.REFUSED
        return DiscoveryOutcome.UNAVAILABLE if is_unknown else DiscoveryOutcome.NOT_FOUND


def _is_for_agents(document: Document) -> bool:
    """Whether it is a publication for agents; what nothing vouches for is nobody's."""
    return document.found and document.document_class not in _INCIDENTAL and document.trust not in _UNUSED


def members(discovered: Discovered) -> dict[str, object]:
    """The answer, for a call that cost what its meter says."""
    call, manifest = discovered.call, discovered.manifest
    documents, endpoints = call.published.documents(), call.published.endpoints()
    return {
        "domain": call.domain,
        "outcome": discovered.outcome(documents, endpoints).value,
        "manifest": None if manifest is None else _manifest(discovered, manifest),
        "source": None if manifest is None else _source(discovered),
        "trust": None if manifest is None else _trust(discovered),
        "dns": discovered.dns.told() if discovered.dns else {"dnssec": "indeterminate", "records": []},
        "documents": [document.told() for document in documents],
        "endpoints": [endpoint.told() for endpoint in endpoints],
        "authorization": discovered.authorization.told() if discovered.authorization else None,
        "client": discovered.client.told(),
        "routes": [] if manifest is None else _routes(manifest, discovered.client),
        "static": {name: discovered.static.get(name) for name in ("robots", "sitemap", "llms", "markdown")},
        "alternatives": list(call.alternatives.values()),
        "relocations": list(call.relocations.values()),
        "coexisting": discovered.coexisting,
        "overhead": overhead(call.meter, call.domain),
        "steps": call.steps.told(),
    }


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


def _trust(discovered: Discovered) -> dict[str, object]:
    """What vouches for the manifest: its origin by TLS, or a good signature as well."""
    found = discovered.found
    assert found is not None
    vouching = found.reading.vouching
    if vouching is None or found.source == "mdns":
        vouching = Vouching(TrustState(found.trust), "origin", found.reading.fetched_at)
    reasons = ["dns_did_conflict"] if found.has_did_conflict else []
    reasons += [] if vouching.reason is None else [vouching.reason]
    return {
        "state": found.trust,
        "did": found.did if vouching.did is None else vouching.did,
        "verification_method": vouching.method,
        "proof": vouching.proof,
        "signed_at": None if vouching.signed_at is None else timestamp(vouching.signed_at),
        "valid_until": None if vouching.valid_until is None else timestamp(vouching.valid_until),
        "reasons": reasons,
    }


def _routes(manifest: Manifest, client: Client) -> list[dict[str, object]]:
    told = []
    for route in manifest.routes:
        is_plain = route.record.method in SAFE_METHODS
        if manifest.is_downgraded:
            is_plain = is_plain and route.record.ability_level in _STATIC_LEVELS
        if (client.reads_only or manifest.is_downgraded) and not is_plain:
            continue
        record = route.record if route.disabled in (None, Disabled.ALIAS_CONFLICT) else None
        # The key of a change is the client's to bring when it acts.
        context = Context(proxy_review_url=manifest.site.uri, idempotency_key=_KEY_TO_COME)
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
