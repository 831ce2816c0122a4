"""Trust anchors: the keys that are believed without a signature above them (RFC 4033 §2).

All are held as DS records, whatever they were given as. An anchor below the root starts a chain of its own there
(an island of trust); for a name the closest anchor above it counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import dns.dnssec
import dns.exception
import dns.name
import dns.rdata
import dns.zonefile
from dns.dnssectypes import DSDigest
from dns.rdtypes.ANY.DNSKEY import DNSKEY
from dns.rdtypes.ANY.DS import DS

from proxy.upstream.dns.signatures import ALGORITHMS, signing_keys

DIGESTS: Final = frozenset({DSDigest.SHA1, DSDigest.SHA256, DSDigest.SHA384})
_ADVICE: Final = "Give DS or DNSKEY records in zone format, such as `. IN DS 20326 8 2 E06D…`, or `none`."


class BadAnchors(ValueError):
    """The text holds no trust anchors that can be used; the message says why and what would be."""


@dataclass(frozen=True, slots=True)
class Anchors:
    """By zone, the DS records one of which its key set has to be signed by."""

    by_zone: Mapping[dns.name.Name, tuple[DS, ...]]

    def above(self, name: dns.name.Name) -> dns.name.Name | None:
        """The closest zone with an anchor that `name` is in; None where there is none."""
        for depth in range(len(name), 0, -1):
            zone = name.split(depth)[1]
            if zone in self.by_zone:
                return zone
        return None


def parse_anchors(text: str) -> Anchors:
    """The anchors of a zone-format text: DS and DNSKEY records, without directives. Raises BadAnchors."""
    try:
        rrsets = dns.zonefile.read_rrsets(text, rdclass=None, default_ttl=0)
    except (dns.exception.DNSException, ValueError):
        raise BadAnchors(f"The trust anchors are not in zone format. {_ADVICE}") from None
    found: dict[dns.name.Name, tuple[DS, ...]] = {}
    for rrset in rrsets:
        for rdata in rrset:
            found[rrset.name] = (*found.get(rrset.name, ()), _anchor(rrset.name, rdata))
    if not found:
        raise BadAnchors(f"The text holds no trust anchor. {_ADVICE}")
    return Anchors(MappingProxyType(found))


def _anchor(zone: dns.name.Name, rdata: dns.rdata.Rdata) -> DS:
    if isinstance(rdata, DS):
        if rdata.algorithm not in ALGORITHMS or rdata.digest_type not in DIGESTS:
            raise BadAnchors(f"A trust anchor has an algorithm or a digest that is not supported. {_ADVICE}")
        return rdata
    if isinstance(rdata, DNSKEY):
        if not signing_keys([rdata]):
            raise BadAnchors(f"A trust anchor is a key that is revoked, or of no supported algorithm. {_ADVICE}")
        return dns.dnssec.make_ds(zone, rdata, DSDigest.SHA256)
    raise BadAnchors(f"A record among the trust anchors is neither DS nor DNSKEY. {_ADVICE}")


NO_ANCHORS: Final = Anchors(MappingProxyType({}))
# KSK-2017 and KSK-2024, as IANA publishes them (RFC 9718).
ROOT_ANCHORS: Final = parse_anchors(
    ". IN DS 20326 8 2 E06D44B80B8F1D39A95C0B0D7C65D08458E880409BBC683457104237C7F8EC8D\n"
    ". IN DS 38696 8 2 683D2D0ACB8C9B712A1948B27F741219298D0A450D612C483AF444A4C0FB2B16\n"
)
