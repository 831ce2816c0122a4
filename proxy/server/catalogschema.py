"""The shapes of what is told of catalogs (see server.catalogpages)."""

from __future__ import annotations

from typing import Final

from proxy.catalogs.catalog import CatalogKind
from proxy.catalogs.verdicts import Verdict
from proxy.server.catalogpages import CATALOGS, MERGE, MOST_MERGED
from proxy.server.shapes import (
    COUNT,
    FLAG,
    OBJECT,
    TEXT,
    TEXT_OR_NULL,
    URL,
    Schema,
    answer,
    header,
    list_of,
    object_of,
    one_of,
    parameter,
    refusals,
)

_ROW: Final[dict[str, Schema]] = {
    "subject": TEXT,
    "url": TEXT,
    "final_url": TEXT_OR_NULL,
    "verdict": one_of(*Verdict),
    "evidence": OBJECT,
}
_CLAIM: Final = object_of({**_ROW, "sources": list_of(URL), "conflict": FLAG}, optional=("conflict",))

CATALOG_SCHEMAS: Final[dict[str, Schema]] = {
    "CatalogReport": object_of(
        {
            "catalog": URL,
            "kind": one_of(*CatalogKind),
            "signed": FLAG,
            "note": TEXT_OR_NULL,
            "next": TEXT_OR_NULL,
            "entries": list_of(object_of(_ROW)),
        }
    ),
    "MergedCatalogs": object_of(
        {
            "catalogs": list_of(
                object_of({"catalog": URL, "kind": one_of(*CatalogKind), "signed": FLAG, "entries": COUNT})
            ),
            "entries": list_of(_CLAIM),
            "overruled": list_of(_CLAIM),
            "notes": list_of(object_of({"catalog": URL, "note": TEXT})),
            "unread": list_of(object_of({"catalog": URL, "reason": TEXT, "detail": TEXT})),
        }
    ),
}

_YES_OR_NO: Final = one_of("0", "1")
_HEADERS: Final = {
    "Discovery-Overrides": header(
        "How many entries the origins overrule, and how many of them have moved and are gone.", "3;moved=2;gone=1"
    ),
    "ETag": header("Of this answer, for If-None-Match.", '"6f1ed002ab5595859014ebf0951522d9"'),
}
_NOT_MODIFIED: Final = {"304": {"description": "The client's copy is current.", "headers": _HEADERS}}
_REFUSALS: Final = {
    "400": "A parameter is not what it can be.",
    "403": "The catalog may not be asked for.",
    "404": "There is no catalog.",
    "410": "The catalog has been withdrawn.",
    "502": "What is there is no catalog, or one that is too large.",
    "503": "What origins have said cannot be read now, or too many catalogs are being read, or of that host.",
    "504": "The origin of the catalog cannot be reached, or not in time.",
}
_CATALOG_PARAMETERS: Final = [
    {**parameter("url", "query", "The catalog's https URL, percent-encoded."), "required": True},
    parameter("report", "query", "1 for what is known of each entry, of all pages of a registry.", _YES_OR_NO),
    parameter("probe", "query", "1 to ask the origins of unknown entries first, within bounds.", _YES_OR_NO),
]
_CATALOG: Final = {
    "operationId": "readCatalog",
    "summary": "A catalog with the origins' word applied: moved URLs replaced, gone entries removed",
    "parameters": _CATALOG_PARAMETERS,
    "responses": {
        "200": {
            "description": "The catalog in its own media type; or, with report=1 or when it is signed, the report. "
            "Discovery-Overrides tells how many entries the origins overrule.",
            "headers": _HEADERS,
            "content": {
                "application/json": {"schema": {"anyOf": [{"$ref": "#/components/schemas/CatalogReport"}, {}]}},
                "application/*+json": {"schema": {}},
            },
        },
        **_NOT_MODIFIED,
        **refusals(_REFUSALS),
    },
}
_MERGE_PARAMETER: Final = {
    **parameter(
        "url",
        "query",
        f"The https URLs of 2 to {MOST_MERGED} catalogs, each in a parameter of its own.",
        {"type": "array", "items": URL, "minItems": 2, "maxItems": MOST_MERGED},
    ),
    "required": True,
}
_MERGE: Final = {
    "operationId": "mergeCatalogs",
    "summary": "Several catalogs as one by subject; where they disagree, the origins decide",
    "parameters": [_MERGE_PARAMETER],
    "responses": {
        "200": {**answer("The union, and what its origins have withdrawn.", "MergedCatalogs"), "headers": _HEADERS},
        **_NOT_MODIFIED,
        **refusals(_REFUSALS),
    },
}

CATALOG_PATHS: Final[dict[str, object]] = {CATALOGS: {"get": _CATALOG}, MERGE: {"get": _MERGE}}
