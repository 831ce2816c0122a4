"""What the proxy's own resources answer, as OpenAPI 3.1 and JSON Schema 2020-12 (`/openapi.json`)."""

from __future__ import annotations

from typing import Final

from proxy import __version__
from proxy.engine.discovery.steps import StepOutcome
from proxy.server.boundaryschema import BOUNDARY_PATHS, BOUNDARY_SCHEMAS
from proxy.server.catalogschema import CATALOG_PATHS, CATALOG_SCHEMAS
from proxy.server.recordschema import RECORD_PATHS, RECORD_SCHEMAS
from proxy.server.shapes import (
    COUNT,
    FLAG,
    NUMBER,
    OBJECT,
    SHA256,
    SHA256_OR_NULL,
    TEXT,
    TEXT_OR_NULL,
    TIME,
    TIME_OR_NULL,
    URL,
    URL_OR_NULL,
    Schema,
    answer,
    list_of,
    object_of,
    one_of,
    parameter,
    refusals,
)

_TRUST: Final = ("verified", "stale-trust", "origin-tls", "unverified-local", "hint", "rejected")
OUTCOMES: Final = ("found", "not-found", "gone", "moved", "unavailable", "refused")


_FINDING: Final = object_of({"rule": TEXT, "path": TEXT, "detail": TEXT})
_DNS_RECORD: Final = object_of(
    {
        "name": TEXT,
        "type": one_of("TXT", "SVCB", "HTTPS"),
        "kind": one_of("uaix1", "aid1", "aid2", "svcb", "https", "txt-index", "foreign"),
        "value": OBJECT,
        "ttl": COUNT,
        "accepted": FLAG,
        "reason": TEXT_OR_NULL,
    }
)
_PKA: Final = object_of(
    {
        "verdict": one_of("verified", "failed", "unverifiable"),
        "reason": TEXT_OR_NULL,
        "checked_at": TIME,
        "domain_bound": FLAG,
    }
)

DISCOVERY: Final[Schema] = object_of(
    {
        "domain": TEXT,
        "outcome": one_of(*OUTCOMES),
        "manifest": object_of(
            {
                "url": URL,
                "sha256": SHA256,
                "etag": TEXT_OR_NULL,
                "fetched_at": TIME,
                "fresh_until": TIME,
                "body": OBJECT,
            },
            null=True,
        ),
        "source": object_of({"kind": TEXT, "url": URL, "cache": TEXT}, null=True),
        "trust": object_of(
            {
                "state": one_of(*_TRUST),
                "did": TEXT_OR_NULL,
                "verification_method": TEXT_OR_NULL,
                "proof": TEXT_OR_NULL,
                "signed_at": TIME_OR_NULL,
                "valid_until": TIME_OR_NULL,
                "reasons": list_of(TEXT),
            },
            null=True,
        ),
        "dns": object_of(
            {
                "dnssec": one_of("secure", "insecure", "bogus", "indeterminate"),
                "records": list_of(_DNS_RECORD),
            }
        ),
        "documents": list_of(
            object_of(
                {
                    "class": TEXT,
                    "url": URL,
                    "found": FLAG,
                    "media_type": TEXT_OR_NULL,
                    "sha256": SHA256_OR_NULL,
                    "trust": one_of(*_TRUST, null=True),
                    "lint": list_of(_FINDING),
                    "reason": TEXT_OR_NULL,
                }
            )
        ),
        "endpoints": list_of(
            object_of(
                {"protocol": TEXT, "url": TEXT, "from": TEXT, "trust": one_of(*_TRUST), "pka": _PKA},
                optional=("pka",),
            )
        ),
        "authorization": object_of(
            {
                "metadata_url": URL_OR_NULL,
                "issuer": TEXT_OR_NULL,
                "token_endpoint": TEXT_OR_NULL,
                "token_endpoint_auth_methods_supported": list_of(TEXT),
                "problems": list_of(object_of({"code": TEXT, "url": TEXT_OR_NULL, "detail": TEXT})),
            },
            null=True,
        ),
        "client": object_of({"level": TEXT_OR_NULL, "ladder": TEXT_OR_NULL, "atoms": list_of(TEXT), "known": FLAG}),
        "routes": list_of(
            object_of(
                {
                    "method": TEXT,
                    "url": URL,
                    "decision": one_of("execute", "fallback", "no-op"),
                    "use": URL_OR_NULL,
                    "field": TEXT_OR_NULL,
                    "code": TEXT_OR_NULL,
                    "review_url": URL_OR_NULL,
                    "reason": TEXT_OR_NULL,
                }
            )
        ),
        "static": object_of({name: URL_OR_NULL for name in ("robots", "sitemap", "llms", "markdown")}),
        "alternatives": list_of(
            object_of(
                {
                    "class": TEXT,
                    "for": URL,
                    "url": URL,
                    "type": TEXT_OR_NULL,
                    "language": TEXT_OR_NULL,
                    "quality": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
                    "reason": one_of("multiple-choices", "successor"),
                }
            )
        ),
        "relocations": list_of(
            object_of(
                {"url": URL, "target": URL, "status": COUNT, "state": one_of("observed", "pending")},
            )
        ),
        "coexisting": list_of(TEXT),
        "overhead": object_of(
            {
                "http_requests": COUNT,
                "dns_queries": COUNT,
                "bytes_sent": COUNT,
                "bytes_received": COUNT,
                "central_services": COUNT,
                "elapsed_ms": NUMBER,
            }
        ),
        "steps": list_of(
            object_of(
                {
                    "step": TEXT,
                    "target": TEXT,
                    "outcome": one_of(*(outcome.value for outcome in StepOutcome)),
                    "ms": NUMBER,
                    "bytes": COUNT,
                    "detail": TEXT,
                }
            )
        ),
    }
)

_PROBLEM: Final[Schema] = {
    "type": "object",
    "properties": {"type": URL, "title": TEXT, "status": COUNT, "detail": TEXT, "instance": TEXT},
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
    operation = {
        "operationId": "discover",
        "summary": "Everything a domain publishes for agents, checked and explained",
        "parameters": [
            parameter("domain", "path", "The domain, such as example.com; A-labels or UTF-8."),
            parameter("level", "query", "What the client claims to be capable of: L0 to L7."),
            parameter(
                "ladder", "query", "The ladder of the level: exec (the default), surface, profile, autonomy."
            ),
        ],
        "responses": {
            "200": answer("What the domain publishes for agents.", "Discovery"),
            "304": {"description": "The client's copy is current."},
            **refusals(_REFUSALS),
        },
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "discovery-proxy",
            "version": __version__,
            "description": "A caching discovery reverse proxy for agents.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": {"/v1/discover/{domain}": {"get": operation}, **RECORD_PATHS, **CATALOG_PATHS, **BOUNDARY_PATHS},
        "components": {
            "schemas": {
                "Discovery": DISCOVERY,
                **RECORD_SCHEMAS,
                **CATALOG_SCHEMAS,
                **BOUNDARY_SCHEMAS,
                "Problem": _PROBLEM,
            }
        },
    }
