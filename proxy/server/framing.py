"""What the parser lets pass and this proxy refuses: framing that another recipient might read otherwise."""

from __future__ import annotations

from proxy.http.fields import Fields
from proxy.http.problems import Problem, Slug

_VERSIONS = ((1, 0), (1, 1))


def framing_problem(version: tuple[int, int], fields: Fields) -> Problem | None:
    """What is wrong with a request's version or framing (RFC 9110 §15.6.6, RFC 9112 §6.1); None when nothing is."""
    if version not in _VERSIONS:
        return Problem(Slug.NOT_IMPLEMENTED, "This proxy speaks HTTP/1.1 and HTTP/1.0.", at_status=505)
    coding = fields.get("transfer-encoding")
    if coding is None:
        return None
    if version == (1, 0):
        return Problem(Slug.BAD_REQUEST, "HTTP/1.0 has no Transfer-Encoding.")
    if coding.lower() != "chunked":
        return Problem(Slug.NOT_IMPLEMENTED, "The only transfer coding that this proxy undoes is chunked.")
    return None
