"""Whether a body that has arrived whole is an answer at all: it decodes, and is the document its class declares."""

from __future__ import annotations

from proxy.discovery.gate import NotADocument, gate
from proxy.engine.settings import ClassRules
from proxy.http.codings import CodingFault, decode_body, is_complete
from proxy.http.messages import ResponseHead
from proxy.http.problems import Problem, Slug

# A decoded body may be this many times its limit before it counts as a decompression bomb.
_EXPANSION = 16
# Statuses whose content is the document itself; others speak about it.
OF_DOCUMENTS = frozenset({200, 203})


class Refused(Exception):
    """The origin answered, but not with something that can be used."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


def is_held_to_format(rules: ClassRules, status: int) -> bool:
    """Whether the body has to pass the gate of its class."""
    return rules.is_gated and status in OF_DOCUMENTS


def accept(rules: ClassRules, head: ResponseHead, body: bytes) -> None:
    """Raises Refused for a body that does not decode, or not to a document of its class."""
    is_gated = is_held_to_format(rules, head.status)
    _check_coding(rules, head, body, gated=is_gated)
    if is_gated:
        _check_kind(rules, head, body)


def _check_coding(rules: ClassRules, head: ResponseHead, body: bytes, *, gated: bool) -> None:
    """A cut or corrupt coding is an incomplete response; one we cannot read only matters to a gate."""
    fault = is_complete(head.fields.get("content-encoding"), body, rules.max_body * _EXPANSION)
    unread = (CodingFault.UNKNOWN_CODING, CodingFault.TOO_MANY_CODINGS, CodingFault.TOO_LARGE)
    if fault is None or (not gated and fault in unread):
        return
    if fault is CodingFault.TOO_LARGE:
        raise too_large_for(rules)
    detail = f"The body does not decode by its Content-Encoding: {fault}."
    raise Refused(Problem(Slug.ORIGIN_INVALID_RESPONSE, detail))


def _check_kind(rules: ClassRules, head: ResponseHead, body: bytes) -> None:
    decoded = decode_body(head.fields.get("content-encoding"), body, rules.max_body)
    if isinstance(decoded, CodingFault):
        raise too_large_for(rules)
    verdict = gate(rules.document_class, head.fields.get("content-type"), decoded)
    if isinstance(verdict, NotADocument):
        members = {"class": rules.document_class.value, "reason": verdict.reason.value}
        raise Refused(Problem(Slug.NOT_A_DOCUMENT, verdict.detail, members))


def too_large_for(rules: ClassRules) -> Refused:
    """A body over the limit of its class."""
    name, limit = rules.document_class.value, rules.max_body
    detail = f"The origin's {name} document is larger than {limit} bytes."
    return Refused(Problem(Slug.TOO_LARGE, detail, {"limit": limit, "class": name}))
