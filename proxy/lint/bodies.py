"""What holds for every JSON document before its format is looked at (C-15, C-16)."""

from __future__ import annotations

from collections.abc import Iterator

from proxy.discovery.findings import Finding
from proxy.discovery.gate import GateReason, NotADocument
from proxy.discovery.jsontext import JsonReason, MalformedJson, parse_json


def refusal_finding(refused: NotADocument) -> Finding:
    """The one finding of a body that is no document of its class."""
    is_json_text = refused.reason in (GateReason.NOT_UTF_8, GateReason.NOT_JSON, GateReason.TOO_DEEP)
    return Finding("C-15" if is_json_text else "C-16", "", f"No such document: {refused.detail}.")


def repeated_name_findings(body: bytes, *, is_signed: bool) -> Iterator[Finding]:
    """A name given twice is read differently by different readers, so a signature over it means nothing."""
    try:
        parse_json(body, unique_names=True)
    except MalformedJson as error:
        if error.reason is JsonReason.REPEATED_NAME:
            yield Finding("C-15", "", "An object has the same member name twice.", not is_signed)
