from __future__ import annotations

import dns.dnssec
import dns.exception
import dns.rdata
import dns.rrset
import pytest
from cryptography.hazmat.primitives.asymmetric import ed448, ed25519, rsa
from dns.dnssectypes import Algorithm
from dns.rdatatype import RdataType
from dns.rdtypes.ANY.DNSKEY import DNSKEY
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.discovery.records.dnsvalues import Security
from proxy.upstream.dns.signatures import (
    Effort,
    Exhausted,
    SignedRRset,
    Unproven,
    read_section,
    signer,
    signing_keys,
    verify,
    verify_exact,
)
from tests.simulators.knot import Internet
from tests.upstream.dns.signed import HOUR, NOW, REVOKE, SEP, ZONE, Signer, colliding, name, of, records

SIGNER = Signer("example.")
KEYS = signing_keys([SIGNER.key])
APEX = name("example.")
TXT = records("a.example.", "TXT", '"a"', '"b"')


def judged(rrsets: list[dns.rrset.RRset], now: float = NOW, owner: str = "a.example.") -> str:
    """The reason why an RRset is not believed; empty if it is."""
    try:
        verify(of(rrsets, owner, RdataType.TXT), APEX, KEYS, now, Effort())
    except Unproven as error:
        assert error.security is Security.BOGUS
        return error.reason
    return ""


def altered(rrset: dns.rrset.RRset, at: int, octet: int = 1) -> dns.rrset.RRset:
    """The signature with one octet of its wire form changed."""
    wire = bytearray(rrset[0].to_wire())
    wire[at] ^= octet
    rdata = dns.rdata.from_wire("IN", rrset.rdtype, bytes(wire), 0, len(wire))
    return dns.rrset.from_rdata(rrset.name, rrset.ttl, rdata)


SIGNATURE = SIGNER.sign(TXT)
ANOTHER = "a signature is in another zone's name"
UNVERIFIED = "the signature does not verify"
UNKNOWN = "no key of the zone fits a signature"
LONGER = "a signature is for a longer name, or for one above the zone"

CASES: list[tuple[str, list[dns.rrset.RRset], str]] = [
    ("good", [TXT, SIGNATURE], ""),
    ("records in another order", [records("a.example.", "TXT", '"b"', '"a"'), SIGNATURE], ""),
    ("name in upper case", [records("A.EXAMPLE.", "TXT", '"a"', '"b"'), SIGNATURE], ""),
    ("TTL run down", [records("a.example.", "TXT", '"a"', '"b"', ttl=1), SIGNATURE], ""),
    ("no signature", [TXT], "it has no signature by its zone"),
    ("a record more", [records("a.example.", "TXT", '"a"', '"b"', '"c"'), SIGNATURE], UNVERIFIED),
    ("a record less", [records("a.example.", "TXT", '"a"'), SIGNATURE], UNVERIFIED),
    ("a letter in upper case", [records("a.example.", "TXT", '"A"', '"b"'), SIGNATURE], UNVERIFIED),
    ("another zone's name", [TXT, SIGNER.sign(TXT, zone="other.")], ANOTHER),
    ("the parent's name", [TXT, SIGNER.sign(TXT, zone=".")], ANOTHER),
    ("another key", [TXT, Signer("example.").sign(TXT)], UNKNOWN),
    ("expired", [TXT, SIGNER.sign(TXT, ends=NOW - 1)], "the signature has expired"),
    ("not yet valid", [TXT, SIGNER.sign(TXT, begins=NOW + 1)], "the signature is not yet valid"),
    ("type changed", [TXT, altered(SIGNATURE, 1)], "it has no signature by its zone"),
    ("algorithm changed", [TXT, altered(SIGNATURE, 2)], UNKNOWN),
    ("more labels", [TXT, altered(SIGNATURE, 3, 1)], LONGER),
    ("labels above the zone", [TXT, altered(SIGNATURE, 3, 2)], LONGER),
    ("original TTL changed", [TXT, altered(SIGNATURE, 7)], UNVERIFIED),
    ("expiration changed", [TXT, altered(SIGNATURE, 11)], UNVERIFIED),
    ("inception changed", [TXT, altered(SIGNATURE, 15)], UNVERIFIED),
    ("tag changed", [TXT, altered(SIGNATURE, 17)], UNKNOWN),
    ("first octet changed", [TXT, altered(SIGNATURE, 27)], UNVERIFIED),
    ("last octet changed", [TXT, altered(SIGNATURE, -1)], UNVERIFIED),
]


@pytest.mark.parametrize(("case", "rrsets", "reason"), CASES, ids=[row[0] for row in CASES])
def test_what_a_signature_covers(case: str, rrsets: list[dns.rrset.RRset], reason: str) -> None:
    assert judged(rrsets) == (f"{rrsets[0].name} TXT: {reason}." if reason else ""), case


EDGES = [(NOW - HOUR - 1, False), (NOW - HOUR, True), (NOW + HOUR, True), (NOW + HOUR + 1, False)]


@pytest.mark.parametrize(("now", "holds"), EDGES)
def test_the_clock_alone_decides_on_dates(now: int, holds: bool) -> None:
    assert (judged([TXT, SIGNATURE], now) == "") is holds


def test_a_bad_signature_beside_a_good_one_does_no_harm() -> None:
    expired = SIGNER.sign(TXT, ends=NOW - 1)
    expired.add(altered(SIGNATURE, -1)[0])
    expired.add(SIGNATURE[0])
    assert judged([TXT, expired]) == ""


def test_an_rrset_outside_the_zone_is_not_the_zones() -> None:
    outside = records("a.other.", "TXT", '"a"')
    assert ANOTHER in judged([outside, SIGNER.sign(outside)], owner="a.other.")


LIFETIMES = [(300, 300, HOUR, 300), (60, 300, HOUR, 60), (300, 60, HOUR, 60), (300, 300, 30, 30)]


@pytest.mark.parametrize(("ttl", "original", "signed_for", "expected"), LIFETIMES)
def test_how_long_it_holds(ttl: int, original: int, signed_for: int, expected: int) -> None:
    rrset = records("a.example.", "TXT", '"a"', ttl=original)
    signature = SIGNER.sign(rrset, ends=NOW + signed_for)
    rrset.ttl = ttl
    verified = verify(of([rrset, signature], "a.example.", RdataType.TXT), APEX, KEYS, NOW, Effort())
    assert (verified.expires, verified.wildcard) == (NOW + expected, None)


WILDCARDS = [
    ("*.example.", "a.example.", "example."),
    ("*.example.", "b.a.example.", "example."),
    ("*.w.example.", "b.a.w.example.", "w.example."),
    ("*.w.example.", "*.w.example.", None),
    ("*.example.", "*.w.example.", "example."),
]


@pytest.mark.parametrize(("written", "owner", "wildcard"), WILDCARDS)
def test_what_a_wildcard_made(written: str, owner: str, wildcard: str | None) -> None:
    made = of(SIGNER.signed(records(written, "TXT", '"a"'), owner=owner), owner, RdataType.TXT)
    expected = None if wildcard is None else name(wildcard)
    assert verify(made, APEX, KEYS, NOW, Effort()).wildcard == expected
    if expected is None:
        assert verify_exact(made, APEX, KEYS, NOW, Effort()) == NOW + 300
    else:
        with pytest.raises(Unproven, match="made from a wildcard"):
            verify_exact(made, APEX, KEYS, NOW, Effort())


def keyed(algorithm: Algorithm) -> tuple[DNSKEY, dns.rrset.RRset]:
    """A key of the algorithm, and its signature of TXT."""
    private = {
        Algorithm.RSASHA1: lambda: rsa.generate_private_key(65537, 2048),
        Algorithm.RSASHA256: lambda: rsa.generate_private_key(65537, 2048),
        Algorithm.RSASHA512: lambda: rsa.generate_private_key(65537, 2048),
        Algorithm.ED25519: ed25519.Ed25519PrivateKey.generate,
        Algorithm.ED448: ed448.Ed448PrivateKey.generate,
        Algorithm.ECDSAP384SHA384: lambda: dns.dnssec.ec.generate_private_key(dns.dnssec.ec.SECP384R1()),
    }[algorithm]()
    key = dns.dnssec.make_dnskey(private.public_key(), algorithm, flags=ZONE | SEP)
    signature = dns.dnssec.sign(TXT, private, APEX, key, inception=NOW - HOUR, expiration=NOW + HOUR)
    return key, dns.rrset.from_rdata(TXT.name, TXT.ttl, signature)


SUPPORTED = [
    (Algorithm.RSASHA256, True),
    (Algorithm.RSASHA512, True),
    (Algorithm.ECDSAP384SHA384, True),
    (Algorithm.ED25519, True),
    (Algorithm.ED448, True),
    (Algorithm.RSASHA1, False),
]


@pytest.mark.parametrize(("algorithm", "is_supported"), SUPPORTED, ids=lambda value: str(value))
def test_algorithms(algorithm: Algorithm, is_supported: bool) -> None:
    key, signature = keyed(algorithm)
    keys = signing_keys([key])
    assert bool(keys) is is_supported
    signed = of([TXT, signature], "a.example.", RdataType.TXT)
    if is_supported:
        verify(signed, APEX, keys, NOW, Effort())
        with pytest.raises(Unproven):
            verify(of([TXT, altered(signature, -1)], "a.example.", RdataType.TXT), APEX, keys, NOW, Effort())
    else:
        with pytest.raises(Unproven, match="no key of the zone fits"):
            verify(signed, APEX, keys, NOW, Effort())


def key_of(flags: int = ZONE, protocol: int = 3, algorithm: int = 13, octets: bytes = b"k" * 64) -> DNSKEY:
    return DNSKEY(dns.rdataclass.IN, RdataType.DNSKEY, flags, protocol, algorithm, octets)


KINDS = [
    ("zone signing", key_of(), True),
    ("key signing", key_of(ZONE | SEP), True),
    ("no zone key", key_of(SEP), False),
    ("revoked", key_of(ZONE | SEP | REVOKE), False),
    ("protocol", key_of(protocol=2), False),
    ("MD5", key_of(algorithm=1), False),
    ("private", key_of(algorithm=253), False),
    ("4096 bits", key_of(algorithm=8, octets=b"\x03\x01\x00\x01" + b"\xff" * 512), True),
    ("longer", key_of(algorithm=8, octets=b"\x03\x01\x00\x01" + b"\xff" * 1024), False),
    ("another type", records("a.", "A", "192.0.2.1")[0], False),
]


@pytest.mark.parametrize(("case", "key", "may_sign"), KINDS, ids=[row[0] for row in KINDS])
def test_which_keys_may_sign(case: str, key: dns.rdata.Rdata, may_sign: bool) -> None:
    assert bool(signing_keys([key])) is may_sign, case


def test_a_few_keys_may_share_a_tag() -> None:
    keys = signing_keys([*colliding(SIGNER.key, 3), SIGNER.key])
    verify(of([TXT, SIGNATURE], "a.example.", RdataType.TXT), APEX, keys, NOW, Effort())


def test_too_many_keys_with_one_tag_are_not_tried() -> None:
    keys = signing_keys([*colliding(SIGNER.key, 4), SIGNER.key])
    with pytest.raises(Unproven, match=r"More than 4 keys of example\. share one tag"):
        verify(of([TXT, SIGNATURE], "a.example.", RdataType.TXT), APEX, keys, NOW, Effort())


def flood(bad: int) -> SignedRRset:
    """An RRset with so many bad signatures before the good one."""
    rrset, [good] = of([TXT, SIGNATURE], "a.example.", RdataType.TXT)
    wrong = (altered(SIGNATURE, -1, octet)[0] for octet in range(1, bad + 1))
    return rrset, (*wrong, good)


def test_sixteen_checks_are_made_of_one_rrset() -> None:
    verify(flood(15), APEX, KEYS, NOW, Effort())
    with pytest.raises(Unproven, match="more than 16 checks") as caught:
        verify(flood(16), APEX, KEYS, NOW, Effort())
    assert not isinstance(caught.value, Exhausted)


def test_sixty_four_checks_are_made_for_one_judgement() -> None:
    effort = Effort()
    for _ in range(4):
        verify(flood(15), APEX, KEYS, NOW, effort)
    with pytest.raises(Exhausted, match="more than 64 checks"):
        verify(flood(0), APEX, KEYS, NOW, effort)


def test_twenty_four_queries_are_made_for_one_judgement() -> None:
    effort = Effort()
    for _ in range(24):
        effort.query()
    with pytest.raises(Exhausted, match="more than 24 queries"):
        effort.query()


@pytest.mark.parametrize("count", [1000, 4000])
def test_a_large_rrset_is_verified_as_fast_as_it_is_read(count: int) -> None:
    rrset = records("a.example.", "A", *(f"10.0.{index // 256}.{index % 256}" for index in range(count)))
    verify(of(SIGNER.signed(rrset), "a.example.", RdataType.A), APEX, KEYS, NOW, Effort())


CLAIMS = [
    ("a.example.", ["example."], "example."),
    ("example.", ["example."], "example."),
    ("a.example.", [".", "example."], "example."),
    ("a.example.", ["b.example.", "x.a.example."], None),
    ("a.example.", [], None),
]


@pytest.mark.parametrize(("owner", "zones", "expected"), CLAIMS)
def test_whose_signature_it_claims_to_be(owner: str, zones: list[str], expected: str | None) -> None:
    signatures = [SIGNER.sign(TXT, zone=zone)[0] for zone in zones]
    assert signer(name(owner), signatures) == (None if expected is None else name(expected))


def test_a_section_pairs_rrsets_with_their_signatures() -> None:
    other = records("b.example.", "TXT", '"c"')
    chaos = dns.rrset.from_text(name("a.example."), 1, "CH", "TXT", '"x"')
    opaque = dns.rrset.from_rdata(name("b.example."), 1, dns.rdata.GenericRdata("IN", RdataType.RRSIG, b""))
    opaque.covers = RdataType.TXT
    section = read_section([SIGNATURE, TXT, other, SIGNER.sign(records("c.example.", "TXT", '"d"')), chaos, opaque])
    assert {owner.to_text(): len(signed[1]) for (owner, _), signed in section.items()} == {
        "a.example.": 1,
        "b.example.": 0,
    }


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from([8, 10, 13, 14, 15, 16]),
    st.binary(max_size=80)
    | st.sampled_from([32, 57, 64, 96]).flatmap(lambda size: st.binary(min_size=size, max_size=size)),
    st.binary(max_size=120),
)
def test_no_key_and_no_signature_does_harm(algorithm: int, octets: bytes, signature: bytes) -> None:
    key = key_of(algorithm=algorithm, octets=octets)
    rrset, [good] = of([TXT, SIGNATURE], "a.example.", RdataType.TXT)
    bad = good.replace(algorithm=key.algorithm, key_tag=key.key_id(), signature=signature)
    with pytest.raises(Unproven, match="does not verify"):
        verify((rrset, (bad,)), APEX, signing_keys([key]), NOW, Effort())


DOMAINS = [".", "com.", "example.com.", "sub.example.com.", "nsec3.com.", "optout.com.", "expired.com."]


@pytest.mark.parametrize("domain", DOMAINS)
def test_it_agrees_with_dnspython_on_every_rrset(internet: Internet, domain: str) -> None:
    zone = internet.zone(domain)
    key_set = zone.get_rdataset(domain, RdataType.DNSKEY)
    assert key_set is not None
    keys, compared = signing_keys(key_set), 0
    for owner, rdataset in zone.iterate_rdatasets():
        signatures = zone.get_rdataset(owner, RdataType.RRSIG, rdataset.rdtype)
        if rdataset.rdtype == RdataType.RRSIG or signatures is None:
            continue
        compared += 1
        try:
            dns.dnssec.validate((owner, rdataset), (owner, signatures), {name(domain): key_set}, now=NOW)
            expected = True
        except dns.exception.ValidationFailure:
            expected = False
        rrset = dns.rrset.from_rdata(owner, rdataset.ttl, *rdataset)
        assert is_verified((rrset, tuple(signatures)), domain, keys) is expected, (owner, rdataset.rdtype)
        assert expected is (domain != "expired.com.")
    assert compared > 4


def is_verified(signed: SignedRRset, domain: str, keys: object) -> bool:
    try:
        verify(signed, name(domain), keys, NOW, Effort())
    except Unproven:
        return False
    return True
