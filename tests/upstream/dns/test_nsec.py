"""The two chains by themselves; what they prove together with signatures is in test_denial."""

from __future__ import annotations

import dns.dnssec
import dns.rdata
import pytest
from dns.rdatatype import RdataType
from dns.rdtypes.ANY.NSEC import NSEC
from dns.rdtypes.ANY.NSEC3 import NSEC3
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.upstream.dns.nsec import Nsec3Chain, NsecChain, Proof, Types
from tests.upstream.dns.signed import name

ORDERED = {
    "example.": "a.example. SOA NS RRSIG NSEC DNSKEY",
    "a.example.": "x.ent.example. A RRSIG NSEC",
    "x.ent.example.": "sub.example. TXT RRSIG NSEC",
    "sub.example.": "tree.example. NS RRSIG NSEC",
    "tree.example.": "*.wild.example. DNAME RRSIG NSEC",
    "*.wild.example.": "example. TXT RRSIG NSEC",
}


def nsec(text: str) -> NSEC:
    rdata = dns.rdata.from_text("IN", "NSEC", text)
    assert isinstance(rdata, NSEC)
    return rdata


def nsec3(text: str) -> NSEC3:
    rdata = dns.rdata.from_text("IN", "NSEC3", text)
    assert isinstance(rdata, NSEC3)
    return rdata


CHAIN = NsecChain(name("example."), {name(owner): nsec(text) for owner, text in ORDERED.items()})

GAPS = [
    ("before the first label", "_.example.", Proof.NO_NAME),
    ("between two names", "b.example.", Proof.NO_NAME),
    ("below a name", "b.a.example.", Proof.NO_NAME),
    ("upper case", "B.EXAMPLE.", Proof.NO_NAME),
    ("behind the last", "zz.example.", Proof.NO_NAME),
    ("the apex", "example.", Proof.NOTHING),
    ("a name", "a.example.", Proof.NOTHING),
    ("an empty non-terminal", "ent.example.", Proof.NOTHING),
    ("below an empty non-terminal", "y.ent.example.", Proof.NO_NAME),
    ("before the name below an empty non-terminal", "a.ent.example.", Proof.NO_NAME),
    ("below a delegation", "x.sub.example.", Proof.NOTHING),
    ("beside a delegation", "suc.example.", Proof.NO_NAME),
    ("behind a delegation", "subb.example.", Proof.NO_NAME),
    ("below a DNAME", "x.tree.example.", Proof.NOTHING),
    ("the owner of a wildcard", "wild.example.", Proof.NOTHING),
    ("below a wildcard", "x.wild.example.", Proof.NO_NAME),
]


@pytest.mark.parametrize(("case", "asked", "expected"), GAPS, ids=[row[0] for row in GAPS])
def test_gaps_between_names(case: str, asked: str, expected: Proof) -> None:
    assert CHAIN.gap(name(asked)) is expected, case


ENCLOSERS = [
    ("b.example.", "example.", Proof.NO_NAME),
    ("x.y.b.example.", "example.", Proof.NO_NAME),
    ("b.a.example.", "a.example.", Proof.NO_NAME),
    ("y.ent.example.", "ent.example.", Proof.NO_NAME),
    ("x.y.wild.example.", "wild.example.", Proof.NO_NAME),
    ("x.sub.example.", "x.sub.example.", Proof.NOTHING),
]


@pytest.mark.parametrize(("asked", "encloser", "gap"), ENCLOSERS, ids=[row[0] for row in ENCLOSERS])
def test_closest_enclosers(asked: str, encloser: str, gap: Proof) -> None:
    assert CHAIN.encloser(name(asked)) == (name(encloser), gap)


def test_types_of_names_and_empty_non_terminals() -> None:
    at = CHAIN.types_at
    assert RdataType.A in (at(name("a.example.")) or ())
    assert RdataType.TXT not in (at(name("a.example.")) or ())
    empty = at(name("ent.example."))
    assert empty is not None and RdataType.TXT not in empty
    assert at(name("b.example.")) is None


def test_a_chain_of_one_name_covers_all_others() -> None:
    chain = NsecChain(name("example."), {name("example."): nsec("example. SOA NS")})
    assert chain.gap(name("any.example.")) is Proof.NO_NAME
    assert chain.gap(name("example.")) is Proof.NOTHING


TYPES = [
    ("low", "A", 1, True),
    ("absent", "A", 2, False),
    ("behind the bitmap", "A", 250, False),
    ("HTTPS", "A HTTPS", 65, True),
    ("another window", "TYPE65280", 65280, True),
    ("missing window", "A", 65280, False),
    ("neighbour in the window", "TYPE65280", 65281, False),
]


@pytest.mark.parametrize(("case", "text", "rdtype", "expected"), TYPES, ids=[row[0] for row in TYPES])
def test_bitmaps(case: str, text: str, rdtype: int, expected: bool) -> None:
    assert (RdataType.make(rdtype) in Types(nsec(f"b. {text}").windows)) is expected, case


LOW, MIDDLE, HIGH = "0" * 32, "G" * 32, "V" * 32
# The hash of b.example. begins with B39F52K2.
HASHED = [
    ("between", [(LOW, HIGH, 0)], Proof.NO_NAME),
    ("opt-out", [(LOW, HIGH, 1)], Proof.OPT_OUT),
    ("beside", [(LOW, "00000000000000000000000000000001", 0)], Proof.NOTHING),
    ("around the end", [(HIGH, LOW, 0)], Proof.NOTHING),
    ("the last one leads to the first", [(HIGH, "U" + "0" * 31, 0)], Proof.NO_NAME),
    ("the only one", [(MIDDLE, MIDDLE, 0)], Proof.NO_NAME),
    ("other parameters than the first", [(HIGH, LOW, 0), (LOW, HIGH, 0, "1 AB")], Proof.NOTHING),
]


@pytest.mark.parametrize(("case", "rows", "expected"), HASHED, ids=[row[0] for row in HASHED])
def test_gaps_between_hashes(case: str, rows: list[tuple[object, ...]], expected: Proof) -> None:
    records = {
        str(owner).encode(): nsec3(f"1 {flags} {more[0] if more else '0 -'} {after} A")
        for owner, after, flags, *more in rows
    }
    assert Nsec3Chain(name("example."), records).gap(name("b.example.")) is expected, case


@pytest.mark.parametrize(
    ("types", "gap"), [("SOA NS", Proof.NO_NAME), ("NS", Proof.NOTHING), ("DNAME", Proof.NOTHING)]
)
def test_the_closest_encloser_by_hash(types: str, gap: Proof) -> None:
    apex = dns.dnssec.nsec3_hash("example.", "", 0, 1)
    chain = Nsec3Chain(name("example."), {apex.encode(): nsec3(f"1 0 0 - {apex} {types}")})
    assert chain.encloser(name("x.b.example.")) == (name("example."), gap)


def test_an_empty_chain_says_nothing() -> None:
    asked, zone = name("x.example."), name("example.")
    for chain in (NsecChain(zone, {}), Nsec3Chain(zone, {})):
        assert chain.types_at(asked) is None
        assert chain.gap(asked) is Proof.NOTHING
        assert chain.encloser(asked) == (asked, Proof.NOTHING)


LABELS = st.lists(st.sampled_from(["a", "b", "ent", "sub", "x", "tree", "wild", "*", "~", "_"]), max_size=4)


@settings(max_examples=300, deadline=None)
@given(LABELS)
def test_no_name_both_is_there_and_is_not(labels: list[str]) -> None:
    asked = name(".".join([*labels, "example."]))
    assert CHAIN.types_at(asked) is None or CHAIN.gap(asked) is Proof.NOTHING
