"""What the proxy publishes of itself: manifest, API catalog, llms.txt and robots.txt (CONTRACT §8).

It keeps the rules that its own `lint` holds others to: everybody gets a lower way than the API, and nothing is
claimed that is not so. Without a public URL the manifest is a digest, whose URLs are paths: nobody here knows by
which name agents reach the proxy.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from proxy import __version__
from proxy.caching.preconditions import matches_any
from proxy.caching.serving import CacheStatus
from proxy.discovery.access.manifest import PROFILE
from proxy.discovery.access.routereading import camel_case
from proxy.discovery.jsontext import JsonObject
from proxy.discovery.urls import UrlRefused, admit
from proxy.engine.outcome import Complete, Served
from proxy.http.secrets import find_secret
from proxy.http.targets import Target
from proxy.ports import Clock
from proxy.server.own import JSON, Asked, Own

MANIFEST: Final = "/.well-known/uaix-agent-access.json"
API_CATALOG: Final = "/.well-known/api-catalog"
LLMS: Final = "/llms.txt"
ROBOTS: Final = "/robots.txt"
OPENAPI: Final = "/openapi.json"
PATHS: Final = frozenset({MANIFEST, API_CATALOG, LLMS, ROBOTS})
"""What is answered here."""

LINKSET: Final = 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'
TEXT: Final = "text/plain; charset=utf-8"

_TITLE: Final = "discovery-proxy"
_BOUNDARY: Final = (
    "A cache and a record. It executes nothing for anybody, and what it says authorises nothing: origins and "
    "people decide."
)
_CONTROL: Final = "max-age=300"
_LLMS: Final = """\
# discovery-proxy

> A caching discovery reverse proxy for agents: it fetches what sites publish for agents, checks it, and keeps it.

If you only read and open links, that is enough here. Open one of the links below and read what it says. None of \
them needs a script, a form or a body, and none changes anything. Use only links that are listed. Never put a \
password, a key or anything private into a URL. Where an answer has a code and a url, show that url to a person \
and stop.

If you can write addresses yourself, read a document of any site by its host and path behind this proxy's address, \
as in {base}/https/example.com/llms.txt or any other path. If you can send requests with a body, read the API below.

What was held back, a person decides: {review}

## Read

- [Manifest]({base}/.well-known/uaix-agent-access.json): which ways there are, and the lower one for each
- [What has moved or is gone]({base}/v1/records): what origins said of their documents
- [Evidence]({base}/v1/evidence): requests that were held back, and why

## API

- [Discovery of example.com]({base}/v1/discover/example.com): what a domain publishes for agents, checked
- [OpenAPI]({base}/openapi.json): every resource and the form of its answers
- [API catalog]({base}/.well-known/api-catalog): the same as a linkset
"""
_ROBOTS: Final = """\
# What lies below /https/ and /http/ is other people's, and what lies below /v1/ is worked out for who asks.
User-agent: *
Allow: /.well-known/
Allow: /llms.txt
Allow: /openapi.json
Disallow: /https/
Disallow: /http/
Disallow: /v1/
"""


@dataclass(frozen=True, slots=True)
class OwnDocument:
    """One of them. `links`: the Link field, None for none."""

    body: bytes
    media_type: str
    links: str | None = None
    etag: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "etag", f'"{hashlib.sha256(self.body).hexdigest()}"')


class OwnDocuments:
    """Answers for `PATHS`.

    `public_url`: by which agents reach the proxy, of use only where it is public https; `review_url`: where a
    person decides, likewise.
    """

    def __init__(self, public_url: str | None, clock: Clock, review_url: str | None = None) -> None:
        self._own = Own(clock)
        public, review = _public(public_url), _public(review_url)
        base = "" if public is None else f"{public.origin}{public.path}".rstrip("/")
        person = base + LLMS if review is None else review.uri
        self.documents: Final[Mapping[str, OwnDocument]] = {
            MANIFEST: _json(_manifest(base, person), JSON),
            API_CATALOG: _json(_api_catalog(base), LINKSET, f'<{base}{API_CATALOG}>; rel="api-catalog"'),
            LLMS: OwnDocument(_LLMS.format(base=base, review=person).encode("ascii"), TEXT),
            ROBOTS: OwnDocument(_ROBOTS.encode("ascii"), TEXT),
        }

    def answer(self, asked: Asked) -> Complete:
        """The answer to a request for one of `PATHS`; the query changes nothing."""
        document = self.documents[asked.path]
        extra: tuple[tuple[str, str], ...] = (("ETag", document.etag),)
        if document.links is not None:
            extra = (*extra, ("Link", document.links))
        none_match = asked.fields.get("if-none-match")
        if none_match is not None and matches_any(none_match, document.etag):
            return self._complete(304, b"", extra)
        return self._complete(200, document.body, (("Content-Type", document.media_type), *extra))

    def _complete(self, status: int, body: bytes, extra: tuple[tuple[str, str], ...]) -> Complete:
        local = CacheStatus(detail="local")
        return self._own.complete(status, body, _CONTROL, extra, local, Served.LOCAL, "other")


def _public(url: str | None) -> Target | None:
    """What a URL leads to, if it may be published: agents take no other (C-10, U-G6)."""
    if url is None or find_secret(url) is not None:
        return None
    try:
        return admit(url)
    except UrlRefused:
        return None


def _json(value: JsonObject, media_type: str, links: str | None = None) -> OwnDocument:
    return OwnDocument(json.dumps(value, indent=1).encode("ascii"), media_type, links)


def _manifest(base: str, review: str) -> JsonObject:
    routes = [_route(base, review, *row) for row in _ROUTES]
    common: JsonObject = {
        # ARW-F0 asks for pages in HTML and a sitemap, and every higher one for ARW-F0.
        "readinessProfiles": [],
        "discovery": {"robots": base + ROBOTS, "llms": base + LLMS, "openapi": base + OPENAPI},
        "supportBoundary": _BOUNDARY,
    }
    if not base:
        head: JsonObject = {"title": _TITLE, "package_version": __version__, "canonical_url": MANIFEST}
        return {**head, **common, "routes": routes}
    site: JsonObject = {"profileId": PROFILE, "site": {"name": _TITLE, "url": f"{base}/"}}
    return {**site, **common, "routes": [_in_camel_case(route) for route in routes]}


_READ: Final[JsonObject] = {
    "side_effect_status": "none",
    "fetch_execution_class": "live_dynamic_get",
    "get_safety": "safe_read",
    "ability_level": "L1",
}
_POSTED: Final[JsonObject] = {
    "content_type": JSON,
    "fetch_execution_class": "http_json_post",
    "get_safety": "no_get_side_effects",
    "no_op_behavior": "human_review_required",
    "ability_level": "L3",
}
# Method, path, and what more there is to say of a route.
_ROUTES: Final[tuple[tuple[str, str, JsonObject], ...]] = (
    ("GET", "/v1/discover/{domain}", _READ),
    ("POST", "/v1/resolve", {**_POSTED, "side_effect_status": "none", "required_fields": ["url"]}),
    ("GET", "/v1/evidence", _READ),
    ("GET", "/v1/records", _READ),
    ("GET", "/v1/catalogs{?url}", _READ),
    (
        "PUT",
        "/v1/clients/{id}/profile",
        {
            **_POSTED,
            "side_effect_status": "updates",
            "required_fields": ["profile", "body"],
            "result_url_field": "url",
            "restore_readback_url_field": "url",
        },
    ),
)


def _route(base: str, review: str, method: str, path: str, more: JsonObject) -> JsonObject:
    """One route with its ways down, which all lead to the page that anybody can read."""
    own = "live_get_blocked_fallback" if method == "GET" else "post_blocked_fallback"
    ways_down = ("lowest_safe_fallback", own, "auth_unavailable_fallback")
    return {
        "method": method,
        "highest_supported_path": base + path,
        **more,
        **dict.fromkeys(ways_down, base + LLMS),
        "human_review_url": review,
    }


def _in_camel_case(route: JsonObject) -> JsonObject:
    return {camel_case(name): value for name, value in route.items()}


def _api_catalog(base: str) -> JsonObject:
    return {
        "linkset": [
            {
                "anchor": f"{base}/v1/",
                "service-desc": [{"href": base + OPENAPI, "type": JSON}],
                "service-doc": [{"href": base + LLMS, "type": "text/plain"}],
                "service-meta": [{"href": base + MANIFEST, "type": JSON}],
            }
        ]
    }
