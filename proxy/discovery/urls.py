"""URLs read from a record, a document or a field: which of them may be fetched (C-10, first half of C-11).

Whoever publishes chooses them, so they are held to more than what a client asks for itself. What a name
resolves to is checked where the connection is made.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from proxy.http.addresses import AddressClass, address_class
from proxy.http.targets import MalformedTarget, Target, is_address, parse_target, resolve

# Ports of protocols that an HTTP request could be made to speak by accident (a part of Fetch's "bad ports").
_OTHER_PROTOCOLS: Final = frozenset(
    {1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104}
    | {109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515}
    | {526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049}
    | {3306, 3659, 4045, 4190, 5060, 5061, 5432, 6000, 6379, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697}
    | {9200, 9300, 10080, 11211, 27017}
)


class UrlReason(StrEnum):
    """Why a URL is not fetched."""

    MALFORMED = "malformed"
    HTTPS_REQUIRED = "https_required"
    USERINFO = "userinfo"
    SSRF = "ssrf"
    PORT = "port"


class UrlRefused(ValueError):
    """The URL may not be fetched; the text repeats nothing of it."""

    def __init__(self, reason: UrlReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


def admit(reference: str, base: Target | None = None) -> Target:
    """The target of a URL, or of a reference found in the document at `base`. Raises UrlRefused.

    https only, no userinfo, no address but a public one, no port of another protocol; the fragment is dropped.
    """
    scheme, separator, rest = reference.partition("://")
    if separator and "@" in rest.partition("/")[0]:
        raise UrlRefused(UrlReason.USERINFO, "The URL has userinfo.")
    if separator and scheme.lower() != "https":
        raise UrlRefused(UrlReason.HTTPS_REQUIRED, "The URL is not an https one.")
    try:
        target = parse_target(reference.partition("#")[0]) if base is None else resolve(base, reference)
    except MalformedTarget as error:
        raise UrlRefused(UrlReason.MALFORMED, error.detail) from None
    return checked(target)


def checked(target: Target) -> Target:
    """`target` itself if it may be fetched for a publisher's word. Raises UrlRefused."""
    if target.scheme != "https":
        raise UrlRefused(UrlReason.HTTPS_REQUIRED, "The URL is not an https one.")
    if target.port in _OTHER_PROTOCOLS:
        raise UrlRefused(UrlReason.PORT, f"Port {target.port} belongs to another protocol.")
    if is_address(target.host):
        family = address_class(target.host)
        if family is not AddressClass.PUBLIC:
            raise UrlRefused(UrlReason.SSRF, f"The URL names a {family} address.")
    elif target.host == "localhost" or target.host.endswith(".localhost") or "." not in target.host:
        raise UrlRefused(UrlReason.SSRF, "The URL names a host of the local machine or network.")
    return target
