"""The DNSSEC state of a response (RFC 4033 §5, RFC 4035 §5): every RRset on the way to the answer, or its denial.

*Secure*: signed along a chain from a trust anchor. *Insecure*: the chain proves that it ends above. *Bogus*: a
signature or a proof is wrong, or is missing where the chain says that there is one. *Indeterminate*: there is no
anchor, or the resolver gives no signatures where the chain begins.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

import dns.message
import dns.name
import dns.rcode
import dns.rdataclass
from dns.name import Name
from dns.rdatatype import RdataType
from dns.rdtypes.ANY.CNAME import CNAME
from dns.rdtypes.ANY.DNAME import DNAME

from proxy.discovery.records.dnsvalues import Security
from proxy.upstream.dns.aliases import LONGEST_CHAIN
from proxy.upstream.dns.anchors import Anchors
from proxy.upstream.dns.chain import Exchange, TrustChain, Zone
from proxy.upstream.dns.denial import UNSIGNED, denying_zone, read_denial, verify_present
from proxy.upstream.dns.nsec import Proof
from proxy.upstream.dns.signatures import Effort, Section, SignedRRset, Unproven, read_section, signer


@dataclass(frozen=True, slots=True)
class Judgement:
    """The state of a response; `reason` is a sentence for people, None for a secure one."""

    security: Security
    reason: str | None


_SECURE: Final = Judgement(Security.SECURE, None)


class Validator:
    """Judges responses by chains of trust; what it learns of zones it keeps while it holds.

    `exchange` asks a resolver with DO and CD set; `clock` tells Unix seconds and decides on signatures' dates.
    """

    def __init__(self, exchange: Exchange, anchors: Anchors, clock: Callable[[], float]) -> None:
        self._chain = TrustChain(exchange, anchors, clock)
        self._clock = clock

    async def judge(self, response: dns.message.Message, name: Name, rdtype: RdataType) -> Judgement:
        """The state of a NOERROR or NXDOMAIN response to the question `name`, `rdtype`.

        A response that leads along aliases to a name and says nothing of it (there is no SOA record for that) is
        judged by the aliases alone. Raises DnsFailure when a part of the chain cannot be fetched.
        """
        try:
            path = _path(response, name, rdtype)
        except Unproven as error:
            return Judgement(error.security, error.reason)
        authority = read_section(response.authority)
        return await _Trial(self._chain, self._clock, authority, response.rcode(), rdtype).judge(path)


@dataclass(frozen=True, slots=True)
class _Path:
    """What a response says in the end: RRsets that are there, and the name that is not or lacks the type."""

    present: tuple[SignedRRset, ...]
    absent: Name | None


def _path(response: dns.message.Message, name: Name, rdtype: RdataType) -> _Path:
    """Raises Unproven (BOGUS) for aliases without end."""
    answer = read_section(response.answer)
    present: list[SignedRRset] = []
    owner = name
    while (signed := answer.get((owner, rdtype))) is None:
        alias = _alias(answer, owner)
        if alias is None:
            is_part = owner != name and _says_nothing_of(response, owner)
            return _Path(tuple(present), None if is_part else owner)
        if len(present) == LONGEST_CHAIN:
            raise Unproven(Security.BOGUS, f"The answer has more than {LONGEST_CHAIN} aliases.")
        signed, owner = alias
        present.append(signed)
    return _Path((*present, signed), None)


def _alias(answer: Section, owner: Name) -> tuple[SignedRRset, Name] | None:
    """The RRset that leads on from `owner`, and where to. A CNAME that a DNAME made gives way to that."""
    cname = answer.get((owner, RdataType.CNAME))
    target = None if cname is None else _target(cname)
    if cname is not None and target is not None and cname[1]:
        return cname, target
    for depth in range(len(owner) - 1, 0, -1):
        relative, above = owner.split(depth)
        dname = answer.get((above, RdataType.DNAME))
        made = None if dname is None else _made(relative, dname)
        if dname is not None and made is not None and target in (None, made):
            return dname, made
    return None if cname is None or target is None else (cname, target)


def _target(signed: SignedRRset) -> Name | None:
    rdata = signed[0][0]
    return rdata.target if isinstance(rdata, CNAME | DNAME) else None


def _made(relative: Name, dname: SignedRRset) -> Name | None:
    """The name that a DNAME makes of one below it (RFC 6672 §2.2)."""
    target = _target(dname)
    try:
        return None if target is None else relative + target
    except dns.name.NameTooLong:
        return None


def _says_nothing_of(response: dns.message.Message, owner: Name) -> bool:
    """Whether the response ends at an alias, so that its target is yet to be asked about."""
    return response.rcode() != dns.rcode.NXDOMAIN and not any(
        rrset.rdtype == RdataType.SOA and rrset.rdclass == dns.rdataclass.IN and owner.is_subdomain(rrset.name)
        for rrset in response.authority
    )


@dataclass(frozen=True, slots=True)
class _Trial:
    """The judging of one response."""

    chain: TrustChain
    clock: Callable[[], float]
    authority: Section
    rcode: dns.rcode.Rcode
    rdtype: RdataType
    effort: Effort = field(default_factory=Effort)

    async def judge(self, path: _Path) -> Judgement:
        """The worst state on the way. Raises DnsFailure."""
        worst = _SECURE
        for signed in path.present:
            worst = _worse(worst, await self._state(self._present(signed)))
        if path.absent is not None:
            worst = _worse(worst, await self._state(self._absent(path.absent)))
        return worst

    async def _state(self, judging: Awaitable[Judgement]) -> Judgement:
        try:
            return await judging
        except Unproven as error:
            return Judgement(error.security, error.reason)

    async def _present(self, signed: SignedRRset) -> Judgement:
        rrset, signatures = signed
        zone = await self._zone(rrset.name, signer(rrset.name, signatures))
        if zone.unsigned is not None:
            return Judgement(Security.INSECURE, zone.unsigned)
        _, proof = verify_present(signed, self.authority, zone.name, zone.keys, self.clock(), self.effort)
        return _proven(rrset.name, proof)

    async def _absent(self, owner: Name) -> Judgement:
        zone = await self._zone(owner, denying_zone(self.authority, owner))
        if zone.unsigned is not None:
            return Judgement(Security.INSECURE, zone.unsigned)
        denial = read_denial(self.authority, zone.name, zone.keys, self.clock(), self.effort)
        proof = denial.absence(owner, self.rdtype)
        is_name_denied = self.rcode == dns.rcode.NXDOMAIN
        if proof is Proof.NOTHING or (is_name_denied and proof is Proof.NO_TYPE):
            what = "does not exist" if is_name_denied else f"has no {RdataType.to_text(self.rdtype)} record"
            raise Unproven(Security.BOGUS, f"Nothing proves that {owner} {what}{denial.cause}")
        return _proven(owner, proof)

    async def _zone(self, owner: Name, claimed: Name | None) -> Zone:
        """The zone that `claimed`, above `owner`, is the name of; without such a claim, the one `owner` is in.

        What is above the closest anchor is no such claim: nobody up there answers for what is below it.
        """
        anchor = self.chain.anchors.above(owner)
        if claimed is not None and anchor is not None and not claimed.is_subdomain(anchor):
            claimed = None
        zone = await self.chain.zone_of(claimed or owner, self.effort)
        if zone.unsigned is None and claimed not in (None, zone.name):
            raise Unproven(Security.BOGUS, f"{owner} is signed in the name of {claimed}, which is no zone.")
        return zone


def _proven(owner: Name, proof: Proof) -> Judgement:
    return Judgement(Security.INSECURE, f"{owner} {UNSIGNED[proof]}.") if proof in UNSIGNED else _SECURE


def _worse(judgement: Judgement, other: Judgement) -> Judgement:
    return min(judgement, other, key=lambda each: each.security.rank)
