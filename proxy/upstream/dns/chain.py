"""The chain of trust: from an anchor down to the zone that a name belongs to (RFC 4035 §5, RFC 6840 §5).

At each label the parent says, signed, whether a zone begins there: with a DS record (then its keys are fetched),
with proof that there is none (then what is below is unsigned), or that nothing is delegated. What was found is kept
as long as its signatures and TTLs last, and judgements that need the same step at the same time share it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

import dns.dnssec
import dns.message
import dns.rrset
from dns.dnssectypes import DSDigest
from dns.name import Name
from dns.rdatatype import RdataType
from dns.rdtypes.ANY.DNSKEY import DNSKEY
from dns.rdtypes.ANY.DS import DS

from proxy.discovery.records.dnsvalues import Security
from proxy.upstream.dns.anchors import DIGESTS, Anchors
from proxy.upstream.dns.denial import UNSIGNED, read_denial, verify_present
from proxy.upstream.dns.failure import DnsFailure
from proxy.upstream.dns.nsec import Proof
from proxy.upstream.dns.signatures import (
    ALGORITHMS,
    Effort,
    Exhausted,
    Keys,
    SignedRRset,
    Unproven,
    keys_with,
    read_section,
    signing_keys,
    verify_exact,
)

# One query with DO and CD set. Raises DnsFailure, for every RCODE but NOERROR and NXDOMAIN too.
Exchange = Callable[[Name, RdataType], Awaitable[dns.message.Message]]
_REMEMBERED: Final = 1024
_MAX_DIGESTS: Final = 16


@dataclass(frozen=True, slots=True)
class Zone:
    """The zone in which a name lies, known until `expires` (Unix seconds).

    `unsigned` is a sentence why its records carry no signatures that could be checked, None for a signed one.
    `is_leaf` says that no zone begins below the name.
    """

    name: Name
    keys: Keys
    expires: float
    unsigned: str | None = None
    is_leaf: bool = False


# What came of a step that is shared; None when it was left off.
_Outcome = Zone | Unproven | DnsFailure | None


@dataclass
class TrustChain:
    """Finds zones. `exchange` asks a resolver, `clock` tells Unix seconds."""

    exchange: Exchange
    anchors: Anchors
    clock: Callable[[], float]
    _known: dict[Name, Zone] = field(default_factory=dict)
    _pending: dict[Name, asyncio.Future[_Outcome]] = field(default_factory=dict)

    async def zone_of(self, name: Name, effort: Effort) -> Zone:
        """The zone that `name` lies in, its apex included. Raises Unproven and DnsFailure."""
        anchor = self.anchors.above(name)
        if anchor is None:
            raise Unproven(Security.INDETERMINATE, "No trust anchor stands above the name.")
        zone = await self._shared(anchor, partial(self._anchored, anchor, effort))
        for depth in range(len(anchor) + 1, len(name) + 1):
            if zone.unsigned is not None or zone.is_leaf:
                break
            below = name.split(depth)[1]
            zone = await self._shared(below, partial(self._below, zone, below, effort))
        return zone

    async def _shared(self, name: Name, find: Callable[[], Awaitable[Zone]]) -> Zone:
        """What `find` gives, from memory or from whoever is finding it already."""
        while True:
            known = self._known.get(name)
            if known is not None and known.expires > self.clock():
                return known
            pending = self._pending.get(name)
            if pending is None:
                return await self._found(name, find)
            outcome = await asyncio.shield(pending)
            match outcome:
                case Unproven():
                    raise Unproven(outcome.security, outcome.reason)
                case DnsFailure():
                    raise DnsFailure(outcome.reason, outcome.detail)
                case Zone():
                    return outcome

    async def _found(self, name: Name, find: Callable[[], Awaitable[Zone]]) -> Zone:
        pending = self._pending[name] = asyncio.get_running_loop().create_future()
        outcome: _Outcome = None
        try:
            outcome = zone = await find()
            self._remember(name, zone)
            return zone
        except Exhausted:
            raise  # the effort of one judgement: the next may have enough left
        except (Unproven, DnsFailure) as error:
            outcome = error
            raise
        finally:
            del self._pending[name]
            pending.set_result(outcome)

    def _remember(self, name: Name, zone: Zone) -> None:
        self._known.pop(name, None)
        self._known[name] = zone
        if len(self._known) > _REMEMBERED:
            del self._known[next(iter(self._known))]

    async def _ask(self, name: Name, rdtype: RdataType, effort: Effort) -> dns.message.Message:
        effort.query()
        return await self.exchange(name, rdtype)

    async def _anchored(self, zone: Name, effort: Effort) -> Zone:
        response = await self._ask(zone, RdataType.DNSKEY, effort)
        signed = read_section(response.answer).get((zone, RdataType.DNSKEY))
        if signed is None or not signed[1]:
            reason = f"The resolver gives no signed keys of {zone}, where the chain of trust begins."
            raise Unproven(Security.INDETERMINATE, reason)
        return _entered(zone, signed, self.anchors.by_zone[zone], self.clock(), effort)

    async def _below(self, parent: Zone, name: Name, effort: Effort) -> Zone:
        """What the signed zone `parent` says of the name one label further down."""
        response = await self._ask(name, RdataType.DS, effort)
        now = self.clock()
        signed = read_section(response.answer).get((name, RdataType.DS))
        if signed is None:
            return _undelegated(parent, name, response, now, effort)
        expires = min(parent.expires, verify_exact(signed, parent.name, parent.keys, now, effort))
        digests = _supported(signed[0])
        if not digests:
            return Zone(name, {}, expires, f"{name} is signed with algorithms that are not supported.")
        response = await self._ask(name, RdataType.DNSKEY, effort)
        keys = read_section(response.answer).get((name, RdataType.DNSKEY))
        if keys is None:
            raise Unproven(Security.BOGUS, f"{name} has no keys although its parent has a DS record of one.")
        zone = _entered(name, keys, digests, self.clock(), effort)
        return replace(zone, expires=min(zone.expires, expires))


def _supported(rrset: dns.rrset.RRset) -> tuple[DS, ...]:
    """The DS records that count; SHA-1 only where there is no better (RFC 4509 §3). Raises Unproven (BOGUS)."""
    if len(rrset) > _MAX_DIGESTS:
        raise Unproven(Security.BOGUS, f"{rrset.name} has more than {_MAX_DIGESTS} DS records.")
    usable = tuple(
        rdata
        for rdata in rrset
        if isinstance(rdata, DS) and rdata.algorithm in ALGORITHMS and rdata.digest_type in DIGESTS
    )
    better = tuple(rdata for rdata in usable if rdata.digest_type != DSDigest.SHA1)
    return better or usable


def _entered(name: Name, signed: SignedRRset, digests: tuple[DS, ...], now: float, effort: Effort) -> Zone:
    """The zone whose key set is signed by a key that one of `digests` is of (RFC 4035 §5.2)."""
    every = signing_keys(signed[0])
    trusted = [
        key
        for digest in digests
        for key in keys_with(every, name, digest.key_tag, digest.algorithm)
        if _is_of(digest, name, key)
    ]
    if not trusted:
        raise Unproven(Security.BOGUS, f"No key of {name} is the one that is trusted from above.")
    expires = verify_exact(signed, name, signing_keys(trusted), now, effort)
    return Zone(name, every, expires)


def _is_of(digest: DS, name: Name, key: DNSKEY) -> bool:
    return dns.dnssec.make_ds(name, key, digest.digest_type, validating=True).digest == digest.digest


def _undelegated(parent: Zone, name: Name, response: dns.message.Message, now: float, effort: Effort) -> Zone:
    """The zone of a name without DS record: the parent's own, or an unsigned one."""
    alias = _verified_alias(parent, name, response, now, effort)
    if alias is not None:
        return alias
    denial = read_denial(read_section(response.authority), parent.name, parent.keys, now, effort)
    proof = denial.absence(name, RdataType.DS)
    expires = min(parent.expires, denial.expires)
    if proof is Proof.NOTHING:
        raise Unproven(Security.BOGUS, f"Nothing proves that {name} has no DS record{denial.cause}")
    if proof in UNSIGNED:
        return _unsigned(name, proof, expires)
    return replace(parent, expires=expires, is_leaf=proof is Proof.NO_NAME)


def _verified_alias(
    parent: Zone, name: Name, response: dns.message.Message, now: float, effort: Effort
) -> Zone | None:
    """The parent's zone if the name is an alias in it: no zone begins at one (RFC 2181 §10.1, RFC 6672 §2.4)."""
    answer = read_section(response.answer)
    for depth in range(len(name), len(parent.name), -1):
        owner = name.split(depth)[1]
        rdtype = RdataType.CNAME if owner == name else RdataType.DNAME
        signed = answer.get((owner, rdtype))
        if signed is not None and signed[1]:
            authority = read_section(response.authority)
            expires, proof = verify_present(signed, authority, parent.name, parent.keys, now, effort)
            expires = min(parent.expires, expires)
            if proof in UNSIGNED:
                return _unsigned(name, proof, expires)
            return replace(parent, expires=expires, is_leaf=rdtype is RdataType.DNAME)
    return None


def _unsigned(name: Name, proof: Proof, expires: float) -> Zone:
    return Zone(name, {}, expires, f"{name} {UNSIGNED[proof]}.")
