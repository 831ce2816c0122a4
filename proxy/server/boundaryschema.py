"""The shapes of what is told of the boundary, and of what the proxy publishes of itself.

See server.evidencepages, server.profilepages and server.owndocuments.
"""

from __future__ import annotations

from typing import Final

from proxy.boundary.conflicts import Cause, Settlement
from proxy.boundary.telling import HIGHEST_LIMIT, STATES
from proxy.capability.atoms import Atom
from proxy.capability.ladders import ClientClass, Label, Ladder
from proxy.capability.resolution import Code, Field, Rule
from proxy.server.evidencepages import EVIDENCE
from proxy.server.owndocuments import API_CATALOG, LLMS, MANIFEST, ROBOTS
from proxy.server.recordpages import NDJSON
from proxy.server.resolvepages import RESOLVE
from proxy.server.shapes import (
    COUNT,
    FLAG,
    OBJECT,
    SHA256_OR_NULL,
    TEXT,
    TEXT_OR_NULL,
    TIME,
    TIME_OR_NULL,
    URL,
    URL_OR_NULL,
    Schema,
    answer,
    header,
    list_of,
    object_of,
    one_of,
    parameter,
    refusals,
)

PROFILE: Final = "/v1/clients/{id}/profile"

_CONFLICT_ID: Final[Schema] = {"type": "string", "pattern": "^[0-9a-f]{32}$"}
_CURSOR_OR_NULL: Final[Schema] = {"type": ["string", "null"], "pattern": "^[0-9]+$"}
_WHOLE_FROM_ONE: Final[Schema] = {"type": "integer", "minimum": 1}
_FLAG_OR_NULL: Final[Schema] = {"type": ["boolean", "null"]}
_SHORT_OR_NULL: Final[Schema] = {"type": ["string", "null"], "minLength": 1, "maxLength": 255}
_OBJECT_OR_NULL: Final[Schema] = {"type": ["object", "null"]}
_ATOMS: Final = list_of(one_of(*Atom))

_EVIDENCE: Final = object_of(
    {
        "id": _CONFLICT_ID,
        "client": TEXT,
        "method": TEXT,
        "url": URL,
        "state": one_of(*STATES),
        "observed_at": TIME,
        "cause": one_of(*Cause),
        "rule": TEXT,
        "reason": TEXT,
        "code": one_of(*Code),
        "review_url": URL,
        "released_at": TIME_OR_NULL,
        "released_by": one_of(*Settlement, null=True),
        "envelope": OBJECT,
    }
)
_CAPABILITY_PROFILE: Final[Schema] = {
    "type": "object",
    "properties": {"profile": TEXT, "body": OBJECT},
    "required": ["profile", "body"],
}
_REGISTRATION: Final = object_of(
    {
        "client": TEXT,
        "url": {"type": "string", "format": "uri-reference"},
        "version": _WHOLE_FROM_ONE,
        "registered_at": TIME,
        "expires_at": TIME,
        "level": one_of(*Label, null=True),
        "ladder": one_of(Ladder.PROFILE),
        "atoms": _ATOMS,
        "findings": list_of(object_of({"rule": TEXT, "path": TEXT, "detail": TEXT})),
        "profile": _CAPABILITY_PROFILE,
    }
)
_CLIENT: Final[Schema] = {
    "oneOf": [
        object_of({"level": TEXT_OR_NULL, "ladder": TEXT_OR_NULL}, optional=("ladder",)),
        object_of({"class": one_of(*ClientClass)}),
        object_of({"profile": _CAPABILITY_PROFILE}),
        {"type": "null"},
    ]
}
_QUESTION: Final = object_of(
    {
        "url": URL,
        "method": TEXT_OR_NULL,
        "client": _CLIENT,
        "route": _OBJECT_OR_NULL,
        "consent": _FLAG_OR_NULL,
        "idempotency_key": _SHORT_OR_NULL,
        "intent": _SHORT_OR_NULL,
    },
    optional=("method", "client", "route", "consent", "idempotency_key", "intent"),
)
_RESOLUTION: Final = object_of(
    {
        "decision": one_of("execute", "fallback", "no-op"),
        "url": URL_OR_NULL,
        "method": TEXT_OR_NULL,
        "field": one_of(*Field, null=True),
        "code": one_of(*Code, null=True),
        "review_url": URL_OR_NULL,
        "rule": one_of(*Rule),
        "reason": TEXT_OR_NULL,
        "missing": _ATOMS,
        "manifest": object_of(
            {"url": URL_OR_NULL, "sha256": SHA256_OR_NULL, "found": FLAG, "trust": TEXT_OR_NULL}, null=True
        ),
    }
)

BOUNDARY_SCHEMAS: Final[dict[str, Schema]] = {
    "Evidence": _EVIDENCE,
    "EvidencePage": object_of(
        {"evidence": list_of({"$ref": "#/components/schemas/Evidence"}), "next": _CURSOR_OR_NULL}
    ),
    "CapabilityProfile": _CAPABILITY_PROFILE,
    "Registration": _REGISTRATION,
    "ResolveRequest": _QUESTION,
    "Resolution": _RESOLUTION,
}

_UNREADABLE: Final = {"503": "The evidence cannot be read now."}
_LIST: Final = {
    "operationId": "listEvidence",
    "summary": "Requests that met the no-op boundary, each with the envelope that is its evidence, oldest first",
    "parameters": [
        parameter("client", "query", "Those of this client alone; an authenticated one is told its own alone."),
        parameter("state", "query", "Those in this state alone.", one_of(*STATES)),
        parameter("cursor", "query", "The `next` of the answer before.", COUNT),
        parameter("limit", "query", f"How many at the most: 1 to {HIGHEST_LIMIT}, 100 by default.", COUNT),
    ],
    "responses": {
        "200": {
            "description": "A page of evidence, `next` is null on the last one. Or JSON lines, an `Evidence` each, "
            "where Accept asks for them.",
            "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/EvidencePage"}},
                NDJSON: {"schema": {"$ref": "#/components/schemas/Evidence"}},
            },
            "headers": {
                "Link": header(
                    "Where to go on, as the relation `next`; none on the last page.",
                    f'<{EVIDENCE}?limit=100&cursor=17>; rel="next"',
                )
            },
        },
        **refusals(
            {
                "400": "A parameter is not what it can be.",
                "403": "The evidence of another client.",
                "503": "The evidence cannot be read now, or too many are reading it.",
            }
        ),
    },
}
_ONE: Final = {
    "operationId": "readEvidence",
    "summary": "One request that met the boundary",
    "parameters": [parameter("id", "path", "The id of the conflict.", _CONFLICT_ID)],
    "responses": {
        "200": answer("The conflict.", "Evidence"),
        **refusals({"400": "This is no id.", "404": "Nothing is on record under this id.", **_UNREADABLE}),
    },
}
_OWNER: Final = parameter("id", "path", "The client: 1 to 200 visible ASCII characters, percent-encoded.")
_OF_PROFILES: Final = {
    "400": "This is no id.",
    "403": "A client speaks for itself alone.",
    "503": "Profiles cannot be used now.",
}
_READ_PROFILE: Final = {
    "operationId": "readProfile",
    "summary": "The capability profile that a client has on record",
    "parameters": [_OWNER],
    "responses": {
        "200": answer("The profile, and what it comes to.", "Registration"),
        **refusals({**_OF_PROFILES, "404": "None is on record, or it has expired."}),
    },
}
_PUT_PROFILE: Final = {
    "operationId": "registerProfile",
    "summary": "Put a capability profile on record: a claim, which proves nothing",
    "parameters": [_OWNER],
    "requestBody": {
        "required": True,
        "description": "The profile, alone or as profile and body of an envelope; 64 KiB at the most.",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/CapabilityProfile"}}},
    },
    "responses": {
        "200": answer(
            "It replaces the one that was on record. `findings` tell what it gets wrong.", "Registration"
        ),
        "201": answer("It is the first one that counts. `findings` tell what it gets wrong.", "Registration"),
        **refusals(
            {
                **_OF_PROFILES,
                "400": "This is no id, or no profile that may be put on record; `findings` tell more.",
                "413": "The body is too large.",
                "415": "The body is not said to be JSON.",
            }
        ),
    },
}
_DELETE_PROFILE: Final = {
    "operationId": "forgetProfile",
    "summary": "Take a capability profile away",
    "parameters": [_OWNER],
    "responses": {
        "204": {"description": "It is forgotten."},
        **refusals({**_OF_PROFILES, "404": "None is on record."}),
    },
}
_RESOLVE: Final = {
    "operationId": "resolve",
    "summary": "What a client may do at a URL: advice for the client that is described, which grants nothing",
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/ResolveRequest"}}},
    },
    "responses": {
        "200": answer("The decision, and the rule that made it.", "Resolution"),
        **refusals({"400": "The question is not what it can be."}),
    },
}


def _document(name: str, summary: str, media_type: str, schema: Schema) -> dict[str, object]:
    return {
        "get": {
            "operationId": name,
            "summary": summary,
            "responses": {
                "200": {"description": "The document.", "content": {media_type: {"schema": schema}}},
                "304": {"description": "The client's copy is current."},
            },
        }
    }


BOUNDARY_PATHS: Final[dict[str, object]] = {
    EVIDENCE: {"get": _LIST},
    f"{EVIDENCE}/{{id}}": {"get": _ONE},
    PROFILE: {"get": _READ_PROFILE, "put": _PUT_PROFILE, "delete": _DELETE_PROFILE},
    RESOLVE: {"post": _RESOLVE},
    MANIFEST: _document(
        "readManifest", "The ways to use this proxy, and the lower one for each", "application/json", OBJECT
    ),
    API_CATALOG: _document("readApiCatalog", "Where the API is described", "application/linkset+json", OBJECT),
    LLMS: _document("readLlms", "A guide for language models", "text/plain", TEXT),
    ROBOTS: _document("readRobots", "What crawlers may fetch", "text/plain", TEXT),
}
