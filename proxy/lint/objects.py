"""The first question of the checks on UAIX documents: is the body a JSON object (C-15)?"""

from __future__ import annotations

from proxy.discovery.findings import Finding
from proxy.discovery.jsontext import JsonDocument, JsonObject, MalformedJson, read_json

JSON_TEXT = "C-15"


def read_object(body: bytes, rule: str) -> JsonObject | Finding:
    """The members of the object, or why there is none; `rule` is the one that asks for an object."""
    document = object_document(body, rule)
    return document if isinstance(document, Finding) else document.members


def object_document(body: bytes, rule: str) -> JsonDocument | Finding:
    """The object with what a signature over it depends on."""
    try:
        text = read_json(body)
    except MalformedJson as error:
        return Finding(JSON_TEXT, "", f"No JSON text: {error.detail}.")
    if not isinstance(text.value, dict):
        return Finding(rule, "", "The document is no JSON object.")
    return JsonDocument(text.value, text.has_repeated_names)
