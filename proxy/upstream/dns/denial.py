"""Authenticated denial of existence: what signed NSEC and NSEC3 records prove not to be there.

RFC 4035 §5.4, RFC 5155 §8, RFC 6840 §4, RFC 9276, RFC 9824. Only records that the zone itself signed are looked at,
none that a wildcard made; those of a delegation say nothing about the zone below it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import dns.name
from dns.dnssectypes import NSEC3Hash
from dns.name import Name
from dns.rdatatype import RdataType
from dns.rdtypes.ANY.NSEC import NSEC
from dns.rdtypes.ANY.NSEC3 import NSEC3, OPTOUT

from proxy.discovery.records.dnsvalues import Security
from proxy.upstream.dns.nsec import Nsec3Chain, NsecChain, Proof, Types
from proxy.upstream.dns.signatures import (
    Effort,
    Exhausted,
    Keys,
    Section,
    SignedRRset,
    Unproven,
    signer,
    verify,
    verify_exact,
)

# RFC 9276 §3.2: more iterations than these are work for the validator and no gain for anybody.
_MAX_ITERATIONS: Final = 100
# A denial takes three records; an answer with aliases may hold some of several denials.
_MAX_RECORDS: Final = 16
_HASH_OCTETS: Final = 20
_DENYING: Final = (RdataType.NSEC, RdataType.NSEC3)
# Proofs that the zone says nothing about what is asked: it may exist, unsigned.
UNSIGNED: Final[Mapping[Proof, str]] = {
    Proof.DELEGATION: "is delegated without a DS record",
    Proof.OPT_OUT: "may be delegated unsigned (opt-out)",
    Proof.ITERATIONS: f"is denied by NSEC3 with more than {_MAX_ITERATIONS} iterations",
}


@dataclass(frozen=True, slots=True)
class Denial:
    """What the records of one response, signed by one zone, deny until `expires` (Unix seconds).

    `failure` tells of records that were set aside because their signatures do not hold.
    """

    expires: float
    failure: str | None
    is_excessive: bool
    _chains: tuple[NsecChain, Nsec3Chain]

    @property
    def cause(self) -> str:
        """The end of a sentence that says that something is not proven."""
        return "." if self.failure is None else f": {self.failure}"

    def absence(self, name: Name, rdtype: RdataType) -> Proof:
        """Whether there is no `rdtype` at `name`, nor at a wildcard that would stand for it."""
        if self.is_excessive:
            return Proof.ITERATIONS
        proofs = (_absence(chain, name, rdtype) for chain in self._chains)
        return next((proof for proof in proofs if proof is not Proof.NOTHING), Proof.NOTHING)

    def gap(self, name: Name) -> Proof:
        """Whether `name` itself is not there, and nothing below it."""
        if self.is_excessive:
            return Proof.ITERATIONS
        proofs = (chain.gap(name) for chain in self._chains)
        return next((proof for proof in proofs if proof is not Proof.NOTHING), Proof.NOTHING)


def read_denial(section: Section, zone: Name, keys: Keys, now: float, effort: Effort) -> Denial:
    """The NSEC and NSEC3 records of an authority section that `zone` signed. Raises Unproven (BOGUS)."""
    nsec: dict[Name, NSEC] = {}
    nsec3: dict[bytes, NSEC3] = {}
    expires, failure = float("inf"), None
    for signed in _denying(section):
        rrset = signed[0]
        try:
            expires = min(expires, verify_exact(signed, zone, keys, now, effort))
        except Exhausted:
            raise
        except Unproven as error:
            failure = error.reason
            continue
        for rdata in rrset:
            if isinstance(rdata, NSEC) and rdata.next.is_subdomain(zone):
                nsec[rrset.name] = rdata
            elif isinstance(rdata, NSEC3) and _is_understood(rrset.name, rdata, zone):
                nsec3[rrset.name.labels[0].upper()] = rdata
    is_excessive = any(record.iterations > _MAX_ITERATIONS for record in nsec3.values())
    return Denial(expires, failure, is_excessive, (NsecChain(zone, nsec), Nsec3Chain(zone, nsec3)))


def verify_present(
    signed: SignedRRset, section: Section, zone: Name, keys: Keys, now: float, effort: Effort
) -> tuple[float, Proof]:
    """Until when a signature of `zone` holds (Unix seconds), and what says that the RRset belongs at its name.

    A wildcard may have made it only where the authority section denies the name itself (RFC 4035 §5.3.4, RFC 5155
    §8.8): NO_NAME if it does or need not, else one of `UNSIGNED`. Raises Unproven (BOGUS).
    """
    verified = verify(signed, zone, keys, now, effort)
    if verified.wildcard is None:
        return verified.expires, Proof.NO_NAME
    owner = signed[0].name
    denial = read_denial(section, zone, keys, now, effort)
    proof = denial.gap(owner.split(len(verified.wildcard) + 1)[1])
    if proof is Proof.NOTHING:
        raise Unproven(Security.BOGUS, f"Nothing proves that the wildcard stands for {owner}{denial.cause}")
    return min(verified.expires, denial.expires), proof


def denying_zone(section: Section, name: Name) -> Name | None:
    """The closest zone above `name` that a denial in the section claims to be of; None without any such."""
    return signer(name, [signature for _, signatures in _denying(section) for signature in signatures])


def _denying(section: Section) -> list[SignedRRset]:
    """Raises Unproven (BOGUS) for more records than any answer needs."""
    found = [signed for (_, rdtype), signed in section.items() if rdtype in _DENYING]
    if len(found) > _MAX_RECORDS:
        raise Unproven(Security.BOGUS, f"The answer denies with more than {_MAX_RECORDS} records.")
    return found


def _is_understood(owner: Name, record: NSEC3, zone: Name) -> bool:
    """RFC 5155 §8.1 and §8.2: one hash algorithm, one flag; the owner is a hash right below the zone."""
    return (
        record.algorithm == NSEC3Hash.SHA1
        and record.flags in (0, OPTOUT)
        and len(record.next) == _HASH_OCTETS
        and owner != zone
        and owner.parent() == zone
    )


def _absence(chain: NsecChain | Nsec3Chain, name: Name, rdtype: RdataType) -> Proof:
    types = chain.types_at(name)
    if types is not None:
        return _at_name(types, name, rdtype)
    encloser, gap = chain.encloser(name)
    if gap is not Proof.NO_NAME:
        return gap
    wildcard = Name((b"*", *encloser.labels))
    types = chain.types_at(wildcard)
    if types is not None:
        return _at_name(types, wildcard, rdtype)
    return Proof.NOTHING if chain.gap(wildcard) is Proof.NOTHING else Proof.NO_NAME


def _at_name(types: Types, name: Name, rdtype: RdataType) -> Proof:
    """What the types at an existing name deny (RFC 6840 §4.3: an alias denies nothing)."""
    if RdataType.NXNAME in types:
        return Proof.NO_NAME
    if rdtype in types or RdataType.CNAME in types:
        return Proof.NOTHING
    if rdtype != RdataType.DS:
        return Proof.NOTHING if types.is_delegation else Proof.NO_TYPE
    if RdataType.SOA in types and name != dns.name.root:
        return Proof.NOTHING  # the zone's own apex: only the parent knows about its DS
    return Proof.DELEGATION if types.is_delegation else Proof.NO_TYPE
