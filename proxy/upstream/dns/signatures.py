"""Whether a zone's keys signed an RRset (RFC 4035 §5.3), at a cost with a bound.

A publisher chooses how many signatures and keys there are, and key tags collide on purpose as well as by chance:
what a judgement may cost is counted in `Effort`, and whoever asks for more is not believed.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import dns.name
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.rrset
from cryptography.exceptions import InvalidSignature
from dns.dnssecalgs import get_algorithm_cls_from_dnskey
from dns.dnssectypes import Algorithm
from dns.rdtypes.ANY.DNSKEY import DNSKEY
from dns.rdtypes.ANY.RRSIG import RRSIG
from dns.rdtypes.dnskeybase import Flag

from proxy.discovery.records.dnsvalues import Security

# RFC 8624 §3.1, without those that use SHA-1.
ALGORITHMS: Final = frozenset(
    {Algorithm.RSASHA256, Algorithm.RSASHA512, Algorithm.ECDSAP256SHA256, Algorithm.ECDSAP384SHA384}
    | {Algorithm.ED25519, Algorithm.ED448}
)
_MAX_QUERIES: Final = 24
_MAX_CHECKS: Final = 64
_MAX_RRSET_CHECKS: Final = 16
_MAX_TAG_COLLISIONS: Final = 4
# RFC 3110 §2: a modulus has at most 4096 bits; before it stand the exponent and its length.
_MAX_KEY_OCTETS: Final = 512 + 8
# RFC 4034 §3.1: what stands in a signature before the signer's name.
_SIGNATURE_HEAD: Final = 18

Keys = Mapping[tuple[int, int], tuple[DNSKEY, ...]]
SignedRRset = tuple[dns.rrset.RRset, tuple[RRSIG, ...]]
Section = Mapping[tuple[dns.name.Name, dns.rdatatype.RdataType], SignedRRset]


class Unproven(Exception):
    """The proof ends here: `security` is what that makes of the answer, `reason` a sentence about it."""

    def __init__(self, security: Security, reason: str) -> None:
        super().__init__(reason)
        self.security = security
        self.reason = reason


class Exhausted(Unproven):
    """One judgement has asked for too much work; another one may still get through."""

    def __init__(self, reason: str) -> None:
        super().__init__(Security.BOGUS, reason)


class Effort:
    """What one judgement has left: queries, and checks of a signature with a key."""

    def __init__(self) -> None:
        self._queries = _MAX_QUERIES
        self._checks = _MAX_CHECKS

    def query(self) -> None:
        """One more query. Raises Exhausted."""
        if not self._queries:
            raise Exhausted(f"The chain of trust takes more than {_MAX_QUERIES} queries.")
        self._queries -= 1

    def check(self) -> None:
        """One more check. Raises Exhausted."""
        if not self._checks:
            raise Exhausted(f"The answer takes more than {_MAX_CHECKS} checks of signatures.")
        self._checks -= 1


@dataclass(frozen=True, slots=True)
class Verified:
    """A signature holds until `expires` (Unix seconds, not longer than the TTL).

    `wildcard` is the name below which the wildcard stands that the RRset was made from; None if it is its own.
    """

    expires: float
    wildcard: dns.name.Name | None


def read_section(rrsets: Iterable[dns.rrset.RRset]) -> Section:
    """The RRsets of a message's section by owner and type, each with the signatures that stand with it."""
    found = {
        (rrset.name, rrset.rdtype, rrset.covers): rrset for rrset in rrsets if rrset.rdclass == dns.rdataclass.IN
    }
    return {
        (name, rdtype): (rrset, tuple(_signatures(found.get((name, dns.rdatatype.RRSIG, rdtype), ()))))
        for (name, rdtype, covered), rrset in found.items()
        if covered == dns.rdatatype.NONE
    }


def _signatures(rdatas: Iterable[dns.rdata.Rdata]) -> Iterable[RRSIG]:
    return (rdata for rdata in rdatas if isinstance(rdata, RRSIG))


def signer(owner: dns.name.Name, signatures: Iterable[RRSIG]) -> dns.name.Name | None:
    """The closest zone above `owner` that a signature claims to be of; None without any such."""
    zones = [signature.signer for signature in signatures if owner.is_subdomain(signature.signer)]
    return max(zones, key=len, default=None)


def signing_keys(rdatas: Iterable[dns.rdata.Rdata]) -> Keys:
    """The keys of a set that may sign a zone, by tag and algorithm (RFC 4034 §2.1, RFC 5011 §2.1)."""
    keys: defaultdict[tuple[int, int], tuple[DNSKEY, ...]] = defaultdict(tuple)
    for rdata in rdatas:
        if isinstance(rdata, DNSKEY) and _may_sign(rdata):
            keys[rdata.key_id(), rdata.algorithm] += (rdata,)
    return dict(keys)


def keys_with(keys: Keys, owner: dns.name.Name, tag: int, algorithm: int) -> tuple[DNSKEY, ...]:
    """Those of `owner`'s keys that a tag may mean. Raises Unproven (BOGUS) when they are too many to try."""
    found = keys.get((tag, algorithm), ())
    if len(found) > _MAX_TAG_COLLISIONS:
        reason = f"More than {_MAX_TAG_COLLISIONS} keys of {owner} share one tag."
        raise Unproven(Security.BOGUS, reason)
    return found


def _may_sign(key: DNSKEY) -> bool:
    return (
        bool(key.flags & Flag.ZONE)
        and not key.flags & Flag.REVOKE
        and key.protocol == 3
        and key.algorithm in ALGORITHMS
        and len(key.key) <= _MAX_KEY_OCTETS
    )


def verify(signed: SignedRRset, zone: dns.name.Name, keys: Keys, now: float, effort: Effort) -> Verified:
    """That one of the signatures was made by a key of `zone` and holds `now`. Raises Unproven (BOGUS)."""
    rrset, signatures = signed
    rdatas = sorted(rdata.to_digestable() for rdata in rrset)
    failure, checks = "it has no signature by its zone", 0
    for signature in signatures:
        candidates = keys_with(keys, zone, signature.key_tag, signature.algorithm)
        unfit = _unfit(rrset, signature, zone, now)
        if unfit is not None or not candidates:
            failure = unfit or "no key of the zone fits a signature"
            continue
        data = _signed_data(rrset.name, rrset, rdatas, signature)
        for key in candidates:
            checks += 1
            if checks > _MAX_RRSET_CHECKS:
                raise _bogus(rrset, f"more than {_MAX_RRSET_CHECKS} checks found no good signature")
            effort.check()
            if _holds(key, signature, data):
                return _verified(rrset, signature, now)
        failure = "the signature does not verify"
    raise _bogus(rrset, failure)


def verify_exact(signed: SignedRRset, zone: dns.name.Name, keys: Keys, now: float, effort: Effort) -> float:
    """The same of an RRset that no wildcard may have made; gives only the end of it. Raises Unproven (BOGUS)."""
    verified = verify(signed, zone, keys, now, effort)
    if verified.wildcard is not None:
        raise _bogus(signed[0], "it is made from a wildcard")
    return verified.expires


def _bogus(rrset: dns.rrset.RRset, failure: str) -> Unproven:
    return Unproven(Security.BOGUS, f"{rrset.name} {dns.rdatatype.to_text(rrset.rdtype)}: {failure}.")


def _unfit(rrset: dns.rrset.RRset, signature: RRSIG, zone: dns.name.Name, now: float) -> str | None:
    """Why the signature counts for nothing before any key is tried (RFC 4035 §5.3.1); None if it may count."""
    if signature.signer != zone or not rrset.name.is_subdomain(zone):
        return "a signature is in another zone's name"
    if not len(zone) - 1 <= signature.labels <= _labels(rrset.name):
        return "a signature is for a longer name, or for one above the zone"
    if signature.expiration < now:
        return "the signature has expired"
    if signature.inception > now:
        return "the signature is not yet valid"
    return None


def _labels(owner: dns.name.Name) -> int:
    """RFC 4034 §3.1.3: neither the root nor a leading wildcard counts."""
    return len(owner) - 1 - owner.is_wild()


def _signed_data(owner: dns.name.Name, rrset: dns.rrset.RRset, rdatas: list[bytes], signature: RRSIG) -> bytes:
    """What the signature was made over (RFC 4034 §3.1.8.1); linear in the size of the RRset."""
    if signature.labels < _labels(owner):
        owner = dns.name.Name((b"*", *owner.split(signature.labels + 1)[1].labels))
    fixed = struct.pack("!HHI", rrset.rdtype, rrset.rdclass, signature.original_ttl)
    head = owner.to_digestable() + fixed
    records = b"".join(head + struct.pack("!H", len(rdata)) + rdata for rdata in rdatas)
    return bytes(signature.to_wire() or b"")[:_SIGNATURE_HEAD] + signature.signer.to_digestable() + records


def _holds(key: DNSKEY, signature: RRSIG, data: bytes) -> bool:
    try:
        get_algorithm_cls_from_dnskey(key).public_cls.from_dnskey(key).verify(signature.signature, data)
    except (InvalidSignature, ValueError):
        return False
    return True


def _verified(rrset: dns.rrset.RRset, signature: RRSIG, now: float) -> Verified:
    expires = min(now + min(rrset.ttl, signature.original_ttl), signature.expiration)
    if signature.labels == _labels(rrset.name):
        return Verified(expires, None)
    return Verified(expires, rrset.name.split(signature.labels + 1)[1])
