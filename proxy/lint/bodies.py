"""What holds for every JSON document before its format is looked at (C-15, C-16)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from proxy.discovery.classes import DocumentClass
from proxy.discovery.findings import Finding
from proxy.discovery.gate import NotADocument, read_document
from proxy.discovery.jsontext import JsonDocument, JsonReason

_OF_JSON_TEXTS = frozenset(reason.value for reason in JsonReason)


def refusal_finding(refused: NotADocument) -> Finding:
    """The one finding of a body that is no document of its class."""
    rule = "C-15" if refused.reason in _OF_JSON_TEXTS else "C-16"
    return Finding(rule, "", f"No such document: {refused.detail}.")


def judged(
    document_class: DocumentClass, body: bytes, findings_of: Callable[[JsonDocument], Iterable[Finding]]
) -> tuple[Finding, ...]:
    """What `findings_of` finds in the JSON document of a class, or the refusal of a body that is none."""
    document = read_document(document_class, body)
    return (refusal_finding(document),) if isinstance(document, NotADocument) else tuple(findings_of(document))


def repeated_name_findings(*, is_repeated: bool, is_signed: bool) -> Iterator[Finding]:
    """A name given twice is read differently by different readers, so a signature over it means nothing."""
    if is_repeated:
        yield Finding("C-15", "", "An object has the same member name twice.", not is_signed)
