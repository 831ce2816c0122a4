"""Zones signed in memory: a key, what it signs, and responses made of that as they come off the wire."""

from __future__ import annotations

from collections.abc import Iterable

import dns.dnssec
import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rrset
from cryptography.hazmat.primitives.asymmetric import ec
from dns.dnssectypes import Algorithm, DSDigest
from dns.name import Name
from dns.rdatatype import RdataType
from dns.rdtypes.ANY.DNSKEY import DNSKEY

from proxy.upstream.dns.signatures import SignedRRset, read_section

NOW = 1_800_000_000
HOUR = 3600
SEP, ZONE, REVOKE = 0x0001, 0x0100, 0x0080


def name(text: str) -> Name:
    return dns.name.from_text(text)


def records(owner: str, rdtype: str, *rdatas: str, ttl: int = 300) -> dns.rrset.RRset:
    return dns.rrset.from_text(name(owner), ttl, "IN", rdtype, *rdatas)


class Signer:
    """A zone's one key (ECDSA P-256)."""

    def __init__(self, zone: str, flags: int = ZONE | SEP) -> None:
        self.zone = name(zone)
        self._private = ec.generate_private_key(ec.SECP256R1())
        self.key: DNSKEY = dns.dnssec.make_dnskey(
            self._private.public_key(), Algorithm.ECDSAP256SHA256, flags=flags
        )

    def sign(
        self,
        rrset: dns.rrset.RRset,
        *,
        begins: int = NOW - HOUR,
        ends: int = NOW + HOUR,
        zone: str | None = None,
    ) -> dns.rrset.RRset:
        """The RRSIG of an RRset, in the name of `zone` if it is given."""
        signer = self.zone if zone is None else name(zone)
        signature = dns.dnssec.sign(rrset, self._private, signer, self.key, inception=begins, expiration=ends)
        return dns.rrset.from_rdata(rrset.name, rrset.ttl, signature)

    def signed(self, rrset: dns.rrset.RRset, owner: str | None = None) -> list[dns.rrset.RRset]:
        """An RRset and its signature; both at `owner` if that is what a wildcard makes of it."""
        both = [rrset, self.sign(rrset)]
        if owner is not None:
            for each in both:
                each.name = name(owner)
        return both

    def key_set(self, *others: DNSKEY, ttl: int = 300) -> list[dns.rrset.RRset]:
        return self.signed(dns.rrset.from_rdata(self.zone, ttl, self.key, *others))

    def ds(self, digest: DSDigest = DSDigest.SHA256) -> str:
        return dns.dnssec.make_ds(self.zone, self.key, digest, validating=True).to_text()


def colliding(key: DNSKEY, count: int) -> list[DNSKEY]:
    """Other keys with the tag of `key`: one of its 16-bit words is more by as much as another is less."""
    words = [int.from_bytes(key.key[at : at + 2], "big") for at in range(0, len(key.key), 2)]
    high, low = words.index(max(words)), words.index(min(words))
    made = []
    for _ in range(count):
        words[high] -= 1
        words[low] += 1
        octets = b"".join(word.to_bytes(2, "big") for word in words)
        made.append(DNSKEY(key.rdclass, key.rdtype, key.flags, key.protocol, key.algorithm, octets))
    return made


def response(
    question: str,
    rdtype: RdataType,
    answer: Iterable[dns.rrset.RRset] = (),
    authority: Iterable[dns.rrset.RRset] = (),
    rcode: dns.rcode.Rcode = dns.rcode.NOERROR,
) -> dns.message.Message:
    made = dns.message.make_response(dns.message.make_query(question, rdtype, want_dnssec=True))
    made.answer, made.authority = list(answer), list(authority)
    made.set_rcode(rcode)
    return rewritten(made)


def rewritten(message: dns.message.Message) -> dns.message.Message:
    """The message as it would be received after its sections were changed."""
    return dns.message.from_wire(message.to_wire(max_size=65535))


def of(rrsets: Iterable[dns.rrset.RRset], owner: str, rdtype: RdataType) -> SignedRRset:
    """An RRset with its signatures out of a list."""
    return read_section(rrsets)[name(owner), rdtype]
