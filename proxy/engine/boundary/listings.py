"""Which hosts are listed, and by which route records: what their own manifests say, and the operator.

A manifest is parsed once for each copy that is stored. A host is asked for it when something is to be changed
there; who only reads causes no request, and is judged by what is at hand. That a host has none is remembered, so
that an ordinary API is not asked again and again.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Final

from proxy.boundary.intents import folded_path
from proxy.caching.stored import StoredResponse
from proxy.caching.vouching import TrustState, Vouching
from proxy.capability.covering import Covered, RouteIndex
from proxy.discovery.access.manifest import Manifest, own_manifest, read_manifest, stated_site
from proxy.discovery.access.manifestroutes import Disabled, ManifestRoute
from proxy.discovery.access.routes import RouteRecord
from proxy.discovery.classes import DocumentClass
from proxy.discovery.findings import Finding
from proxy.discovery.jsontext import MalformedJson, parse_json
from proxy.discovery.records.uaix1 import default_endpoint
from proxy.engine.boundary.listing import Listing, Source
from proxy.engine.boundary.settings import PLAIN, BoundarySettings, HostRules
from proxy.engine.discovery.reader import Reader
from proxy.engine.discovery.reading import Manner, Reading, ReadOutcome
from proxy.engine.state import EngineState
from proxy.http.codings import CodingFault, decode_body
from proxy.http.messages import Realm
from proxy.http.targets import DEFAULT_PORTS, Target, is_address
from proxy.single import SingleCalls

_PATH: Final = default_endpoint("example.com").path
# Under this name an origin without a public one has its routes on record.
_NAMELESS: Final = "origin.invalid"
_MOST: Final = 4_096
# Hosts without a manifest hardly ever get one, and those that cannot be reached are mostly back soon.
_UNLISTED_SECONDS: Final = 3_600.0
_UNREACHED_SECONDS: Final = 60.0
_GLANCE_SECONDS: Final = 1.0
_WITHDRAWN: Final = frozenset({404, 410})
# How long a change waits for a manifest.
_PATIENCE: Final = 3.0
_REVIEW_MEMBERS: Final = ("human_review_url", "humanReviewUrl")
_USABLE: Final = (None, Disabled.ALIAS_CONFLICT, Disabled.UNKNOWN_LEVEL)


@dataclass(frozen=True, slots=True)
class Place:
    """Where the routes of a target are on record. `manifest` None: the host can have none of its own.

    `is_site`: the operator's own origin, which may speak for any name. `may_ask`: whether it can be read over the
    network, and not only found in the store.
    """

    target: Target
    manifest: Target | None
    rules: HostRules
    is_site: bool
    may_ask: bool
    uri: str
    """The URI of the manifest, "" where there is none."""
    key: str
    """By what its listing is known: a site's manifest may say more than the same one of anybody's host."""


@dataclass(slots=True)
class _Known:
    """A listing, the bytes it was made of, and until when it need not be looked for anew."""

    listing: Listing
    stored: bytes | None
    until: float
    glanced_until: float = 0.0
    """Until when reads need not look whether another copy is stored."""


class Listings:
    """What is on record of hosts."""

    def __init__(self, state: EngineState, reader: Reader, settings: BoundarySettings) -> None:
        self._store = state.store
        self._clock = state.clock
        self._rules = state.rules
        self._reader = reader
        self._settings = settings
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._bares: dict[str, Listing] = {}
        self._places: dict[tuple[str, str, int, bool], Place] = {}
        self._under_way: SingleCalls[str, Listing] = SingleCalls()

    def place_of(self, target: Target, *, is_site: bool = False) -> Place:
        """Where to look for the routes of a target."""
        key = target.scheme, target.host, target.port, is_site
        place = self._places.get(key)
        if place is None:
            if len(self._places) >= _MOST:
                self._places.clear()
            place = self._places[key] = self._place_of(target, is_site=is_site)
        return place

    def _place_of(self, target: Target, *, is_site: bool) -> Place:
        rules = self._settings.hosts.get(_authority(target), PLAIN) if self._settings.hosts else PLAIN
        if is_site:
            manifest = Target(target.scheme, target.host, target.port, _PATH, None)
            return Place(target, manifest, rules, True, True, manifest.uri, f"site {manifest.uri}")
        # Nothing without a public name can have a manifest that counts.
        if not _is_public(target.host):
            return Place(target, None, rules, False, False, "", target.origin)
        is_plain = target.scheme == "http"
        port = DEFAULT_PORTS["https"] if is_plain and target.port == DEFAULT_PORTS["http"] else target.port
        manifest = Target("https", target.host, port, _PATH, None)
        may_ask = not is_plain or port != target.port
        return Place(target, manifest, rules, False, may_ask, manifest.uri, manifest.uri)

    def known(self, place: Place) -> Listing:
        """What is at hand of it: nothing is asked, and the store in memory alone is looked at."""
        if place.manifest is None:
            return self._unknown(place)
        known, now = self._known.get(place.key), self._clock()
        # Where there are routes already, another edition of them may take a moment to count for reads.
        if known is not None and now < known.glanced_until <= now + _GLANCE_SECONDS:
            return known.listing
        stored = self._stored(place.uri)
        if stored is not None and (known is None or known.stored is not stored.body):
            known = self._taken(place, stored)
        if known is not None and known.listing.routes is not None:
            known.glanced_until = now + _GLANCE_SECONDS
        return self._unknown(place) if known is None else known.listing

    async def look(self, place: Place) -> Listing:
        """What is on record of it now; the host is asked through the cache where that is due."""
        if place.manifest is None or not place.may_ask:
            return self.known(place)
        uri, known = place.uri, self._known.get(place.key)
        if known is not None and known.until > self._clock() and self._stored(uri) is None:
            return known.listing
        try:
            async with asyncio.timeout(_PATIENCE):
                return await self._under_way.call(place.key, lambda: self._read(place))
        except TimeoutError:
            # What is asked for has waited long enough; the reading goes on and counts when it is there.
            return self._unreached(place)

    async def _read(self, place: Place) -> Listing:
        assert place.manifest is not None
        manner = Manner(realm=Realm.ANY)
        reading = await self._reader.read(place.manifest, DocumentClass.MANIFEST, manner)
        known = self._known.get(place.key)
        if reading.is_found:
            stored = self._stored(place.uri)
            if known is not None and stored is not None and known.stored is stored.body:
                return known.listing
            listing = self._listing(place, reading.body, reading.vouching, reading.needs_proof)
            if listing.routes is None and known is not None:
                return self._unreached(place)
            return self._keep(place, listing, None if stored is None else stored.body, reading.fresh_until)
        if reading.outcome is ReadOutcome.FAILED:
            return self._unreached(place)
        if known is not None and reading.status not in _WITHDRAWN:
            # A page in its place, a refusal, a redirect: only that there is none ends what it said.
            return self._unreached(place)
        return self._keep(place, self._bare(place, "absent"), None, self._clock() + _lasting(reading))

    def _unreached(self, place: Place) -> Listing:
        """What it said before holds on: an outage opens nothing."""
        known = self._known.get(place.key)
        listing = known.listing if known is not None else self._bare(place, "unavailable")
        return self._keep(place, listing, None, self._clock() + _UNREACHED_SECONDS)

    def _taken(self, place: Place, stored: StoredResponse) -> _Known | None:
        """The listing of what is stored, if that is a manifest."""
        assert place.manifest is not None
        limit = self._rules.of_class(DocumentClass.MANIFEST).max_body
        body = decode_body(stored.fields.get("content-encoding"), stored.body, limit)
        if isinstance(body, CodingFault):
            return None
        listing = self._listing(place, body, stored.vouching, needs_proof=False)
        known = self._known.get(place.key)
        if listing.routes is None and known is not None:
            known.stored = stored.body
            return known
        self._keep(place, listing, stored.body, self._clock())
        return self._known[place.key]

    def _stored(self, uri: str) -> StoredResponse | None:
        """The newest copy in memory that is a document."""
        variants = self._store.peek(uri)
        return next((one for one in reversed(variants) if one.status == 200), None) if variants else None

    def _keep(self, place: Place, listing: Listing, stored: bytes | None, until: float) -> Listing:
        assert place.manifest is not None
        self._known[place.key] = _Known(listing, stored, until)
        self._known.move_to_end(place.key)
        if len(self._known) > _MOST:
            self._known.popitem(last=False)
        return listing

    def _listing(self, place: Place, body: bytes, vouching: Vouching | None, needs_proof: bool) -> Listing:
        manifest = None if needs_proof else _manifest(place, body)
        if manifest is None or manifest.is_downgraded:
            return self._bare(place, "invalid")
        assert place.manifest is not None
        allowed = place.rules.allowed_parameters
        routes = [Covered(_usable(one), manifest.site, allowed) for one in manifest.routes]
        trust = TrustState.ORIGIN_TLS if vouching is None else vouching.state
        return Listing(
            site=manifest.site,
            routes=RouteIndex(routes, folded_path),
            operator=_operators(place.rules, manifest.site),
            review_url=_review_url(manifest),
            source=Source(place.uri, hashlib.sha256(body).hexdigest(), trust.value),
        )

    def _unknown(self, place: Place) -> Listing:
        """What there is while nobody has looked for a manifest."""
        listing = self._bares.get(place.key)
        if listing is None:
            if len(self._bares) >= _MOST:
                self._bares.clear()
            listing = self._bares[place.key] = self._bare(place)
        return listing

    def _bare(self, place: Place, reason: str = "unknown") -> Listing:
        """What there is without a manifest: the operator's routes, if any."""
        site = _nameable(place.target)
        return Listing(site, None, _operators(place.rules, site), reason=reason)


def _operators(rules: HostRules, site: Target) -> RouteIndex | None:
    if not rules.routes:
        return None
    routes = (Covered(one.record, site, rules.allowed_parameters | one.allowed_parameters) for one in rules.routes)
    return RouteIndex(routes, folded_path)


def _manifest(place: Place, body: bytes) -> Manifest | None:
    """The manifest in a body, if it may speak for the place."""
    try:
        raw = parse_json(body)
    except MalformedJson:
        return None
    if not isinstance(raw, dict):
        return None
    if not place.is_site:
        manifest = own_manifest(raw, place.target.host, frozenset())
        return manifest if isinstance(manifest, Manifest) else None
    site = stated_site(raw) or _nameable(place.target)
    return None if isinstance(site, Finding) else read_manifest(raw, site)


def _usable(route: ManifestRoute) -> RouteRecord:
    """The record; of a route that may not be used, one in conflict with itself, so that no change passes."""
    if route.disabled in _USABLE:
        return route.record
    return replace(route.record, conflicts=(*route.record.conflicts, str(route.disabled)))


def _nameable(target: Target) -> Target:
    """The site of a target as agents outside would name it: route records speak of public https alone."""
    is_public = _is_public(target.host)
    port = target.port if target.scheme == "https" and is_public else DEFAULT_PORTS["https"]
    return Target("https", target.host if is_public else _NAMELESS, port, "/", None)


def _is_public(host: str) -> bool:
    return "." in host and not host.endswith(".localhost") and not is_address(host)


def _review_url(manifest: Manifest) -> str | None:
    urls = (manifest.raw.get(name) for name in _REVIEW_MEMBERS)
    return next((url for url in urls if isinstance(url, str)), None)


def _authority(target: Target) -> str:
    """The key of the operator's rules: the port is left out where it is a default one of either scheme."""
    return target.host if target.port in DEFAULT_PORTS.values() else target.authority


def _lasting(reading: Reading) -> float:
    return _UNREACHED_SECONDS if reading.outcome is ReadOutcome.REFUSED else _UNLISTED_SECONDS
