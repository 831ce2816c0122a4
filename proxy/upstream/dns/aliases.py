"""Where an answer's chain of CNAME and DNAME leads, through one response or several (C-22)."""

from __future__ import annotations

from dataclasses import dataclass

import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.rrset

from proxy.discovery.records.dnsvalues import DnsOutcome
from proxy.upstream.dns.failure import DnsFailure, DnsReason

LONGEST_CHAIN = 8
_IN = dns.rdataclass.IN


@dataclass(frozen=True, slots=True)
class Ending:
    """What is at the end of a chain. `ttl`, in seconds, is 0 for an absence of which the zone said no lifetime."""

    outcome: DnsOutcome
    ttl: int
    rrset: dns.rrset.RRset | None = None


class Chain:
    """The names passed so far; `owner` is the last of them."""

    def __init__(self, name: dns.name.Name) -> None:
        self.owner = name
        self._passed = {name}
        self._ttl: int | None = None

    def follow(self, response: dns.message.Message, rdtype: dns.rdatatype.RdataType) -> Ending | None:
        """Go on from `owner` as far as `response` leads; None when the new `owner` must be asked about.

        Raises DnsFailure (CNAME_LOOP, MALFORMED) and, for a referral, which is no answer, SERVFAIL.
        """
        asked = self.owner
        while (rrset := response.get_rrset(response.answer, self.owner, _IN, rdtype)) is None:
            link = _alias(response, self.owner)
            if link is None:
                return self._absence(response, is_moved=self.owner != asked)
            self._pass(*link)
        return Ending(DnsOutcome.ANSWER, self._smallest(rrset.ttl), rrset)

    def _pass(self, target: dns.name.Name, ttl: int) -> None:
        if target in self._passed or len(self._passed) > LONGEST_CHAIN:
            raise DnsFailure(DnsReason.CNAME_LOOP, f"The aliases form a loop or more than {LONGEST_CHAIN} steps.")
        self._passed.add(target)
        self._ttl = self._smallest(ttl)
        self.owner = target

    def _absence(self, response: dns.message.Message, *, is_moved: bool) -> Ending | None:
        lifetime = _negative_ttl(response, self.owner)
        ttl = 0 if lifetime is None else self._smallest(lifetime)
        if response.rcode() == dns.rcode.NXDOMAIN:
            return Ending(DnsOutcome.NXDOMAIN, ttl)
        if lifetime is None and is_moved:
            return None
        if lifetime is None and _is_referral(response):
            raise DnsFailure(DnsReason.SERVFAIL, "The resolver only refers to other servers: it must be recursive.")
        return Ending(DnsOutcome.NODATA, ttl)

    def _smallest(self, ttl: int) -> int:
        return ttl if self._ttl is None else min(self._ttl, ttl)


def _alias(response: dns.message.Message, owner: dns.name.Name) -> tuple[dns.name.Name, int] | None:
    """The next name and the TTL of the record that leads there."""
    cname = response.get_rrset(response.answer, owner, _IN, dns.rdatatype.CNAME)
    if cname is not None:
        target: dns.name.Name = cname[0].target
        return target, cname.ttl
    for depth in range(len(owner) - 1, 0, -1):
        relative, above = owner.split(depth)
        dname = response.get_rrset(response.answer, above, _IN, dns.rdatatype.DNAME)
        if dname is not None:
            return _substituted(relative, dname[0].target), dname.ttl
    return None


def _substituted(relative: dns.name.Name, target: dns.name.Name) -> dns.name.Name:
    """The name that a DNAME makes (RFC 6672 §2.2)."""
    try:
        return relative.concatenate(target)
    except dns.name.NameTooLong:
        raise DnsFailure(DnsReason.MALFORMED, "A DNAME leads to a name that is too long.") from None


def _negative_ttl(response: dns.message.Message, owner: dns.name.Name) -> int | None:
    """How long an absence holds by the zone's SOA record, in seconds (RFC 2308 §5); None without one."""
    for rrset in response.authority:
        if rrset.rdtype == dns.rdatatype.SOA and rrset.rdclass == _IN and owner.is_subdomain(rrset.name):
            minimum: int = rrset[0].minimum
            return min(rrset.ttl, minimum)
    return None


def _is_referral(response: dns.message.Message) -> bool:
    """Whether the server knows only who else might know (RFC 2308 §2.2)."""
    is_authoritative = bool(response.flags & dns.flags.AA)
    return not is_authoritative and any(rrset.rdtype == dns.rdatatype.NS for rrset in response.authority)
