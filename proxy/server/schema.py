"""What the proxy's own resources answer, as OpenAPI 3.1 and JSON Schema 2020-12 (`/openapi.json`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from proxy import __version__
from proxy.engine.discovery.steps import StepOutcome
from proxy.http.problems import MEDIA_TYPE

Schema = Mapping[str, object]

_TEXT: Final[Schema] = {"type": "string"}
_TEXT_OR_NULL: Final[Schema] = {"type": ["string", "null"]}
_URL: Final[Schema] = {"type": "string", "format": "uri"}
_URL_OR_NULL: Final[Schema] = {"type": ["string", "null"], "format": "uri"}
_TIME: Final[Schema] = {"type": "string", "format": "date-time"}
_TIME_OR_NULL: Final[Schema] = {"type": ["string", "null"], "format": "date-time"}
_FLAG: Final[Schema] = {"type": "boolean"}
_COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
_NUMBER: Final[Schema] = {"type": "number", "minimum": 0}
_OBJECT: Final[Schema] = {"type": "object"}
_SHA256: Final[Schema] = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_SHA256_OR_NULL: Final[Schema] = {"type": ["string", "null"], "pattern": "^[0-9a-f]{64}$"}
_TRUST: Final = ("verified", "stale-trust", "origin-tls", "unverified-local", "hint", "rejected")
OUTCOMES: Final = ("found", "not-found", "gone", "moved", "unavailable", "refused")


def _one_of(*words: str, null: bool = False) -> Schema:
    return {"enum": [*words, *((None,) if null else ())]}


def _object(members: Mapping[str, Schema], *, optional: tuple[str, ...] = (), null: bool = False) -> Schema:
    return {
        "type": ["object", "null"] if null else "object",
        "properties": dict(members),
        "required": [name for name in members if name not in optional],
        "additionalProperties": False,
    }


def _list(element: Schema) -> Schema:
    return {"type": "array", "items": element}


_FINDING: Final = _object({"rule": _TEXT, "path": _TEXT, "detail": _TEXT})
_DNS_RECORD: Final = _object(
    {
        "name": _TEXT,
        "type": _one_of("TXT", "SVCB", "HTTPS"),
        "kind": _one_of("uaix1", "aid1", "aid2", "svcb", "https", "txt-index", "foreign"),
        "value": _OBJECT,
        "ttl": _COUNT,
        "accepted": _FLAG,
        "reason": _TEXT_OR_NULL,
    }
)
_PKA: Final = _object(
    {
        "verdict": _one_of("verified", "failed", "unverifiable"),
        "reason": _TEXT_OR_NULL,
        "checked_at": _TIME,
        "domain_bound": _FLAG,
    }
)

DISCOVERY: Final[Schema] = _object(
    {
        "domain": _TEXT,
        "outcome": _one_of(*OUTCOMES),
        "manifest": _object(
            {
                "url": _URL,
                "sha256": _SHA256,
                "etag": _TEXT_OR_NULL,
                "fetched_at": _TIME,
                "fresh_until": _TIME,
                "body": _OBJECT,
            },
            null=True,
        ),
        "source": _object({"kind": _TEXT, "url": _URL, "cache": _TEXT}, null=True),
        "trust": _object(
            {
                "state": _one_of(*_TRUST),
                "did": _TEXT_OR_NULL,
                "verification_method": _TEXT_OR_NULL,
                "proof": _TEXT_OR_NULL,
                "signed_at": _TIME_OR_NULL,
                "valid_until": _TIME_OR_NULL,
                "reasons": _list(_TEXT),
            },
            null=True,
        ),
        "dns": _object(
            {
                "dnssec": _one_of("secure", "insecure", "bogus", "indeterminate"),
                "records": _list(_DNS_RECORD),
            }
        ),
        "documents": _list(
            _object(
                {
                    "class": _TEXT,
                    "url": _URL,
                    "found": _FLAG,
                    "media_type": _TEXT_OR_NULL,
                    "sha256": _SHA256_OR_NULL,
                    "trust": _one_of(*_TRUST, null=True),
                    "lint": _list(_FINDING),
                    "reason": _TEXT_OR_NULL,
                }
            )
        ),
        "endpoints": _list(
            _object(
                {"protocol": _TEXT, "url": _TEXT, "from": _TEXT, "trust": _one_of(*_TRUST), "pka": _PKA},
                optional=("pka",),
            )
        ),
        "authorization": _object(
            {
                "metadata_url": _URL_OR_NULL,
                "issuer": _TEXT_OR_NULL,
                "token_endpoint": _TEXT_OR_NULL,
                "token_endpoint_auth_methods_supported": _list(_TEXT),
                "problems": _list(_object({"code": _TEXT, "url": _TEXT_OR_NULL, "detail": _TEXT})),
            },
            null=True,
        ),
        "client": _object({"level": _TEXT_OR_NULL, "ladder": _TEXT_OR_NULL, "atoms": _list(_TEXT), "known": _FLAG}),
        "routes": _list(
            _object(
                {
                    "method": _TEXT,
                    "url": _URL,
                    "decision": _one_of("execute", "fallback", "no-op"),
                    "use": _URL_OR_NULL,
                    "field": _TEXT_OR_NULL,
                    "code": _TEXT_OR_NULL,
                    "review_url": _URL_OR_NULL,
                    "reason": _TEXT_OR_NULL,
                }
            )
        ),
        "static": _object({name: _URL_OR_NULL for name in ("robots", "sitemap", "llms", "markdown")}),
        "alternatives": _list(_OBJECT),
        "relocations": _list(
            _object(
                {"url": _URL, "target": _URL, "status": _COUNT, "state": _one_of("observed", "pending")},
            )
        ),
        "coexisting": _list(_TEXT),
        "overhead": _object(
            {
                "http_requests": _COUNT,
                "dns_queries": _COUNT,
                "bytes_sent": _COUNT,
                "bytes_received": _COUNT,
                "central_services": _COUNT,
                "elapsed_ms": _NUMBER,
            }
        ),
        "steps": _list(
            _object(
                {
                    "step": _TEXT,
                    "target": _TEXT,
                    "outcome": _one_of(*(outcome.value for outcome in StepOutcome)),
                    "ms": _NUMBER,
                    "bytes": _COUNT,
                    "detail": _TEXT,
                }
            )
        ),
    }
)

_PROBLEM: Final[Schema] = {
    "type": "object",
    "properties": {"type": _URL, "title": _TEXT, "status": _COUNT, "detail": _TEXT, "instance": _TEXT},
    "required": ["type", "title", "status", "detail", "instance"],
}
_REFUSALS: Final = {
    "400": "The name is no domain.",
    "403": "The domain may not be asked, or DNSSEC is required and it is not signed.",
    "404": "The domain publishes nothing for agents, or nothing that a client of this level can use.",
    "410": "The domain has withdrawn what it published.",
    "503": "The domain cannot be reached; `steps` tells what was tried, or nothing: too many are discovered.",
}


def openapi() -> dict[str, object]:
    """The description of the proxy's own API."""
    parameters = [
        _parameter("domain", "path", "The domain, such as example.com; A-labels or UTF-8."),
        _parameter("level", "query", "What the client claims to be capable of: L0 to L7."),
        _parameter("ladder", "query", "The ladder of the level: exec (the default), surface, profile, autonomy."),
    ]
    found = {
        "description": "What the domain publishes for agents.",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Discovery"}}},
    }
    refused = {
        status: {
            "description": why,
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status, why in _REFUSALS.items()
    }
    operation = {
        "operationId": "discover",
        "summary": "Everything a domain publishes for agents, checked and explained",
        "parameters": parameters,
        "responses": {"200": found, "304": {"description": "The client's copy is current."}, **refused},
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "discovery-proxy",
            "version": __version__,
            "description": "A caching discovery reverse proxy for agents.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": {"/v1/discover/{domain}": {"get": operation}},
        "components": {"schemas": {"Discovery": DISCOVERY, "Problem": _PROBLEM}},
    }


def _parameter(name: str, place: str, description: str) -> dict[str, object]:
    return {
        "name": name,
        "in": place,
        "required": place == "path",
        "description": description,
        "schema": _TEXT,
    }
