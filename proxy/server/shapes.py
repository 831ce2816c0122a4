"""What the descriptions of the proxy's own resources are put together from: JSON Schema 2020-12, OpenAPI 3.1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

from proxy.http.problems import MEDIA_TYPE

Schema: TypeAlias = Mapping[str, object]

TEXT: Final[Schema] = {"type": "string"}
TEXT_OR_NULL: Final[Schema] = {"type": ["string", "null"]}
URL: Final[Schema] = {"type": "string", "format": "uri"}
URL_OR_NULL: Final[Schema] = {"type": ["string", "null"], "format": "uri"}
TIME: Final[Schema] = {"type": "string", "format": "date-time"}
TIME_OR_NULL: Final[Schema] = {"type": ["string", "null"], "format": "date-time"}
FLAG: Final[Schema] = {"type": "boolean"}
COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
NUMBER: Final[Schema] = {"type": "number", "minimum": 0}
OBJECT: Final[Schema] = {"type": "object"}
SHA256: Final[Schema] = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
SHA256_OR_NULL: Final[Schema] = {"type": ["string", "null"], "pattern": "^[0-9a-f]{64}$"}


def one_of(*words: str, null: bool = False) -> Schema:
    """One of these texts, or null."""
    return {"enum": [*words, *((None,) if null else ())]}


def object_of(members: Mapping[str, Schema], *, optional: tuple[str, ...] = (), null: bool = False) -> Schema:
    """An object with these members and no others, or null."""
    return {
        "type": ["object", "null"] if null else "object",
        "properties": dict(members),
        "required": [name for name in members if name not in optional],
        "additionalProperties": False,
    }


def list_of(element: Schema) -> Schema:
    """A list."""
    return {"type": "array", "items": element}


def parameter(name: str, place: str, description: str, schema: Schema = TEXT) -> dict[str, object]:
    """A parameter of an operation; `place` is "path" or "query"."""
    return {
        "name": name,
        "in": place,
        "required": place == "path",
        "description": description,
        "schema": schema,
    }


def answer(description: str, schema: str, media_type: str = "application/json") -> dict[str, object]:
    """An answer of the shape that `components` has under the name `schema`."""
    shape = {"$ref": f"#/components/schemas/{schema}"}
    return {"description": description, "content": {media_type: {"schema": shape}}}


def header(description: str, example: str) -> dict[str, object]:
    """A field of an answer."""
    return {"description": description, "schema": TEXT, "example": example}


def refusals(reasons: Mapping[str, str]) -> dict[str, dict[str, object]]:
    """Problems by their status, with why they are answered."""
    return {status: answer(why, "Problem", MEDIA_TYPE) for status, why in reasons.items()}
