"""The first question of the checks on UAIX documents: is the body a JSON object (C-15)?"""

from __future__ import annotations

from proxy.discovery.findings import Finding
from proxy.discovery.jsontext import JsonObject, MalformedJson, parse_json

JSON_TEXT = "C-15"


def read_object(body: bytes, rule: str) -> JsonObject | Finding:
    """The object, or why there is none; `rule` is the one that asks for an object."""
    try:
        value = parse_json(body)
    except MalformedJson as error:
        return Finding(JSON_TEXT, "", f"No JSON text: {error.detail}.")
    return value if isinstance(value, dict) else Finding(rule, "", "The document is no JSON object.")
