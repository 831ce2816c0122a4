"""What holds for every JSON document before its format is looked at (C-15, C-16)."""

from __future__ import annotations

from collections.abc import Iterator

from proxy.discovery.findings import Finding
from proxy.discovery.gate import NotADocument
from proxy.discovery.jsontext import JsonReason

_OF_JSON_TEXTS = frozenset(reason.value for reason in JsonReason)


def refusal_finding(refused: NotADocument) -> Finding:
    """The one finding of a body that is no document of its class."""
    rule = "C-15" if refused.reason in _OF_JSON_TEXTS else "C-16"
    return Finding(rule, "", f"No such document: {refused.detail}.")


def repeated_name_findings(*, is_repeated: bool, is_signed: bool) -> Iterator[Finding]:
    """A name given twice is read differently by different readers, so a signature over it means nothing."""
    if is_repeated:
        yield Finding("C-15", "", "An object has the same member name twice.", not is_signed)
