"""Errors the proxy makes, as problem details (RFC 9457). One slug, one status, one title."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

MEDIA_TYPE = "application/problem+json"
TYPE_PREFIX = "urn:discovery-proxy:problem:"


class Slug(StrEnum):
    """The kinds of problem that this version reports."""

    BAD_TARGET = "bad-target"
    BAD_REQUEST = "bad-request"
    EGRESS_DENIED = "egress-denied"
    ORIGIN_UNREACHABLE = "origin-unreachable"
    ORIGIN_TIMEOUT = "origin-timeout"
    ORIGIN_INVALID_RESPONSE = "origin-invalid-response"
    NOT_A_DOCUMENT = "not-a-document"
    NOT_FOUND = "not-found"
    GONE = "gone"
    NO_TRUSTED_COPY = "no-trusted-copy"
    TOO_LARGE = "too-large"
    REDIRECT_REFUSED = "redirect-refused"
    IDEMPOTENCY_CONFLICT = "idempotency-conflict"
    ONLY_IF_CACHED = "only-if-cached"
    UNAUTHORIZED = "unauthorized"
    OVERLOADED = "overloaded"
    DRAINING = "draining"
    NOT_IMPLEMENTED = "not-implemented"
    INTERNAL = "internal"


_KINDS: Mapping[Slug, tuple[int, str]] = MappingProxyType(
    {
        Slug.BAD_TARGET: (400, "Target URI cannot be used"),
        Slug.BAD_REQUEST: (400, "Malformed request"),
        Slug.EGRESS_DENIED: (403, "Target refused"),
        Slug.ORIGIN_UNREACHABLE: (504, "Origin cannot be reached"),
        Slug.ORIGIN_TIMEOUT: (504, "Origin did not answer in time"),
        Slug.ORIGIN_INVALID_RESPONSE: (502, "Origin answered with an invalid response"),
        Slug.NOT_A_DOCUMENT: (502, "Origin answered with something else than the document"),
        Slug.NOT_FOUND: (404, "Nothing here"),
        Slug.GONE: (410, "Withdrawn by its publisher"),
        Slug.NO_TRUSTED_COPY: (504, "No copy that may be trusted"),
        Slug.TOO_LARGE: (502, "Larger than is allowed"),
        Slug.REDIRECT_REFUSED: (502, "Redirect refused"),
        Slug.IDEMPOTENCY_CONFLICT: (422, "Idempotency-Key in use"),
        Slug.ONLY_IF_CACHED: (504, "Not in the cache"),
        Slug.UNAUTHORIZED: (401, "Credentials needed"),
        Slug.OVERLOADED: (503, "Too many requests under way"),
        Slug.DRAINING: (503, "Shutting down"),
        Slug.NOT_IMPLEMENTED: (501, "Not implemented"),
        Slug.INTERNAL: (500, "Internal error"),
    }
)


@dataclass(frozen=True, slots=True)
class Problem:
    """What went wrong, for the client. `detail` says what to do next where something can be done."""

    slug: Slug
    detail: str
    members: Mapping[str, object] = field(default_factory=dict)
    at_status: int | None = None

    @property
    def status(self) -> int:
        """The HTTP status it is answered with."""
        return _KINDS[self.slug][0] if self.at_status is None else self.at_status

    @property
    def title(self) -> str:
        """The stable summary of its kind."""
        return _KINDS[self.slug][1]

    def body(self, instance: str) -> bytes:
        """The JSON document; `instance` is the request id."""
        document = {
            "type": TYPE_PREFIX + self.slug,
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            "instance": instance,
            **self.members,
        }
        return json.dumps(document).encode("ascii")
