from __future__ import annotations

import base64
from collections.abc import Callable, Mapping

import dns.dnssec
import dns.rrset
import pytest
from dns.rdatatype import RdataType

from proxy.upstream.dns.denial import Denial, denying_zone, read_denial, verify_present
from proxy.upstream.dns.nsec import Proof
from proxy.upstream.dns.signatures import Effort, Exhausted, Unproven, read_section, signing_keys
from tests.upstream.dns.signed import HOUR, NOW, Signer, name, of, records

SIGNER = Signer("example.")
KEYS = signing_keys([SIGNER.key])
ZONE = name("example.")

# Types by name; without any: an empty non-terminal, which has no NSEC record of its own.
NAMES = {
    "example.": "SOA NS DNSKEY RRSIG",
    "a.example.": "A RRSIG",
    "alias.example.": "CNAME RRSIG",
    "ent.example.": "",
    "x.ent.example.": "TXT RRSIG",
    "safe.example.": "NS DS RRSIG",
    "sub.example.": "NS",
    "tree.example.": "DNAME RRSIG",
    "wild.example.": "",
    "*.wild.example.": "TXT RRSIG",
}


def nsec_chain(names: Mapping[str, str] = NAMES) -> list[dns.rrset.RRset]:
    owners = sorted((owner for owner, types in names.items() if types), key=name)
    following = [*owners[1:], owners[0]]
    return [
        records(owner, "NSEC", f"{after} {names[owner]} NSEC")
        for owner, after in zip(owners, following, strict=True)
    ]


def nsec3_chain(
    names: Mapping[str, str] = NAMES, flags: int = 0, iterations: int = 0, salt: str = "-"
) -> list[dns.rrset.RRset]:
    octets = b"" if salt == "-" else bytes.fromhex(salt)
    hashes = {dns.dnssec.nsec3_hash(name(owner), octets, iterations, 1): types for owner, types in names.items()}
    owners = sorted(hashes)
    following = [*owners[1:], owners[0]]
    return [
        records(f"{owner}.example.", "NSEC3", f"1 {flags} {iterations} {salt} {after} {hashes[owner]}")
        for owner, after in zip(owners, following, strict=True)
    ]


def signed(rrsets: list[dns.rrset.RRset], signer: Signer = SIGNER) -> list[dns.rrset.RRset]:
    return [each for rrset in rrsets for each in signer.signed(rrset)]


def denial_of(rrsets: list[dns.rrset.RRset]) -> Denial:
    return read_denial(read_section(rrsets), ZONE, KEYS, NOW, Effort())


BOTH = {
    "NSEC": nsec_chain,
    "NSEC3": nsec3_chain,
    "salted": lambda: nsec3_chain(salt="00AB", iterations=100),
}

ABSENT = [
    ("a.example.", "TXT", Proof.NO_TYPE),
    ("A.EXAMPLE.", "TXT", Proof.NO_TYPE),
    ("a.example.", "A", Proof.NOTHING),
    ("a.example.", "DS", Proof.NO_TYPE),
    ("alias.example.", "TXT", Proof.NOTHING),
    ("alias.example.", "CNAME", Proof.NOTHING),
    ("ent.example.", "TXT", Proof.NO_TYPE),
    ("ent.example.", "DS", Proof.NO_TYPE),
    ("example.", "TXT", Proof.NO_TYPE),
    ("example.", "SOA", Proof.NOTHING),
    ("example.", "DS", Proof.NOTHING),
    ("safe.example.", "TXT", Proof.NOTHING),
    ("safe.example.", "DS", Proof.NOTHING),
    ("sub.example.", "DS", Proof.DELEGATION),
    ("sub.example.", "TXT", Proof.NOTHING),
    ("x.sub.example.", "TXT", Proof.NOTHING),
    ("x.safe.example.", "TXT", Proof.NOTHING),
    ("x.tree.example.", "TXT", Proof.NOTHING),
    ("tree.example.", "TXT", Proof.NO_TYPE),
    ("b.example.", "TXT", Proof.NO_NAME),
    ("b.example.", "DS", Proof.NO_NAME),
    ("x.y.b.example.", "TXT", Proof.NO_NAME),
    ("x.a.example.", "TXT", Proof.NO_NAME),
    ("y.ent.example.", "TXT", Proof.NO_NAME),
    ("zzz.example.", "TXT", Proof.NO_NAME),
    ("q.wild.example.", "A", Proof.NO_TYPE),
    ("q.wild.example.", "TXT", Proof.NOTHING),
    ("q.r.wild.example.", "A", Proof.NO_TYPE),
    ("*.wild.example.", "A", Proof.NO_TYPE),
]


@pytest.mark.parametrize("chain", BOTH)
@pytest.mark.parametrize(("asked", "rdtype", "expected"), ABSENT, ids=lambda value: str(value))
def test_what_a_whole_chain_denies(chain: str, asked: str, rdtype: str, expected: Proof) -> None:
    denial = denial_of(signed(BOTH[chain]()))
    assert denial.absence(name(asked), RdataType.from_text(rdtype)) is expected


@pytest.mark.parametrize(("chain", "needed"), [("NSEC", 2), ("NSEC3", 3), ("salted", 2)])
def test_each_record_is_needed(chain: str, needed: int) -> None:
    """What denies the name and what denies the wildcard; of hashes the closest encloser too."""
    rrsets = BOTH[chain]()
    asked, proofs = name("x.bb.example."), []
    for left_out in range(len(rrsets)):
        rest = [rrset for index, rrset in enumerate(rrsets) if index != left_out]
        proofs.append(denial_of(signed(rest)).absence(asked, RdataType.TXT))
    assert proofs.count(Proof.NOTHING) == needed
    assert proofs.count(Proof.NO_NAME) == len(rrsets) - needed


OPTED_OUT = [
    ("sub.example.", "DS", Proof.OPT_OUT),
    ("sub.example.", "TXT", Proof.OPT_OUT),
    ("x.sub.example.", "TXT", Proof.OPT_OUT),
    ("b.example.", "TXT", Proof.OPT_OUT),
    ("q.wild.example.", "A", Proof.OPT_OUT),
    ("a.example.", "TXT", Proof.NO_TYPE),
    ("safe.example.", "DS", Proof.NOTHING),
    ("x.safe.example.", "TXT", Proof.NOTHING),
]


@pytest.mark.parametrize(("asked", "rdtype", "expected"), OPTED_OUT, ids=lambda value: str(value))
def test_opt_out(asked: str, rdtype: str, expected: Proof) -> None:
    names = {owner: types for owner, types in NAMES.items() if owner != "sub.example."}
    denial = denial_of(signed(nsec3_chain(names, flags=1)))
    assert denial.absence(name(asked), RdataType.from_text(rdtype)) is expected


@pytest.mark.parametrize(("iterations", "expected"), [(100, Proof.NO_TYPE), (101, Proof.ITERATIONS)])
def test_too_many_iterations_are_not_counted_out(iterations: int, expected: Proof) -> None:
    denial = denial_of(signed(nsec3_chain(iterations=iterations)))
    assert denial.absence(name("a.example."), RdataType.TXT) is expected


def test_too_many_iterations_prove_no_gap() -> None:
    assert denial_of(signed(nsec3_chain(iterations=2000))).gap(name("b.example.")) is Proof.ITERATIONS


def test_iterations_count_only_when_signed() -> None:
    rrsets = [*signed(nsec3_chain()), *nsec3_chain(iterations=2000)[:6]]
    assert denial_of(rrsets).absence(name("a.example."), RdataType.TXT) is Proof.NO_TYPE


def test_a_name_may_be_denied_at_itself() -> None:
    """RFC 9824: the record of a name that does not exist, made for this one answer."""
    made = signed([records("b.example.", "NSEC", r"\000.b.example. RRSIG NSEC NXNAME")])
    denial = denial_of(made)
    assert denial.absence(name("b.example."), RdataType.TXT) is Proof.NO_NAME


def test_the_root_has_no_parent_to_ask() -> None:
    root = Signer(".")
    rrsets = root.signed(records(".", "NSEC", "com. SOA NS NSEC RRSIG DNSKEY"))
    denial = read_denial(read_section(rrsets), name("."), signing_keys([root.key]), NOW, Effort())
    assert denial.absence(name("."), RdataType.DS) is Proof.NO_TYPE


APEX = records("example.", "NSEC", "a.example. SOA NS DNSKEY RRSIG NSEC")
WILD = records("*.wild.example.", "NSEC", "example. TXT RRSIG NSEC")
B = name("b.example.")


def hashed(text: str, owner: str = f"{'0' * 32}.example.") -> list[dns.rrset.RRset]:
    return SIGNER.signed(records(owner, "NSEC3", text))


ALL_HASHES = "V" * 32
NOT_READ: list[tuple[str, list[dns.rrset.RRset]]] = [
    ("nothing", []),
    ("not signed", [APEX]),
    ("signature alone", [SIGNER.sign(APEX)]),
    ("signed by another key", Signer("example.").signed(APEX)),
    ("signed in the parent's name", [APEX, SIGNER.sign(APEX, zone=".")]),
    ("signed in the name of a zone below", [APEX, SIGNER.sign(APEX, zone="a.example.")]),
    ("owner outside", Signer("example.").signed(records("other.", "NSEC", "z.other. A"))),
    ("expired", [APEX, SIGNER.sign(APEX, ends=NOW - 1)]),
    ("not yet valid", [APEX, SIGNER.sign(APEX, begins=NOW + 1)]),
    ("made from a wildcard", SIGNER.signed(records("*.example.", "NSEC", "z.example. A"), owner="a.example.")),
    ("leads out of the zone", SIGNER.signed(records("a.example.", "NSEC", "z.other. A"))),
    ("other hash algorithm", hashed(f"2 0 0 - {ALL_HASHES} A")),
    ("unknown flag", hashed(f"1 2 0 - {ALL_HASHES} A")),
    ("short hash", hashed(f"1 0 0 - {'V' * 8} A")),
    ("hash two labels down", hashed(f"1 0 0 - {ALL_HASHES} A", f"{'0' * 32}.sub.example.")),
    ("hash at the apex", hashed(f"1 0 0 - {ALL_HASHES} A", "example.")),
]


@pytest.mark.parametrize(("case", "rrsets"), NOT_READ, ids=[row[0] for row in NOT_READ])
def test_records_that_deny_nothing(case: str, rrsets: list[dns.rrset.RRset]) -> None:
    denial = denial_of(rrsets)
    assert denial.gap(B) is Proof.NOTHING, case
    assert denial.absence(B, RdataType.TXT) is Proof.NOTHING, case


def test_the_same_records_deny_when_they_are_in_order() -> None:
    assert denial_of(hashed(f"1 0 0 - {ALL_HASHES} A")).gap(B) is Proof.NO_NAME
    assert denial_of(SIGNER.signed(records("a.example.", "NSEC", "z.example. A"))).gap(B) is Proof.NO_NAME


def test_a_proof_ends_with_the_first_of_its_signatures_and_ttls() -> None:
    short = [WILD, SIGNER.sign(WILD, ends=NOW + 100)]
    assert denial_of([*SIGNER.signed(APEX), *short]).expires == NOW + 100
    assert denial_of(SIGNER.signed(records("a.example.", "NSEC", "z.example. A", ttl=60))).expires == NOW + 60


def test_what_was_set_aside_is_told() -> None:
    assert denial_of([APEX, SIGNER.sign(APEX, ends=NOW - HOUR)]).cause == (
        ": example. NSEC: the signature has expired."
    )
    assert denial_of(SIGNER.signed(APEX)).cause == "."


def test_no_answer_needs_so_many_records() -> None:
    flood = [records(f"n{index}.example.", "NSEC", f"n{index}a.example. A") for index in range(17)]
    with pytest.raises(Unproven, match="more than 16 records"):
        denial_of(flood)
    assert denial_of(flood[:16]).gap(B) is Proof.NOTHING


def test_an_effort_that_ends_is_not_set_aside() -> None:
    effort = Effort()
    for _ in range(64):
        effort.check()
    with pytest.raises(Exhausted):
        read_denial(read_section(SIGNER.signed(APEX)), ZONE, KEYS, NOW, effort)


CLAIMS = [
    ("x.example.", SIGNER.signed(APEX), "example."),
    ("example.", SIGNER.signed(APEX), "example."),
    ("x.other.", SIGNER.signed(APEX), None),
    ("x.a.example.", [*SIGNER.signed(APEX), WILD, SIGNER.sign(WILD, zone="a.example.")], "a.example."),
    ("x.example.", [APEX], None),
    ("x.example.", SIGNER.signed(records("x.example.", "TXT", '"a"')), None),
]


@pytest.mark.parametrize(("asked", "rrsets", "expected"), CLAIMS, ids=lambda value: str(value)[:24])
def test_whose_denial_it_claims_to_be(asked: str, rrsets: list[dns.rrset.RRset], expected: str | None) -> None:
    assert denying_zone(read_section(rrsets), name(asked)) == (None if expected is None else name(expected))


def made_from_wildcard(owner: str) -> list[dns.rrset.RRset]:
    return SIGNER.signed(records("*.wild.example.", "TXT", '"made"'), owner=owner)


def optional(flags: int, iterations: int = 0) -> Callable[[], list[dns.rrset.RRset]]:
    return lambda: nsec3_chain(flags=flags, iterations=iterations)


CLOSER = {**NAMES, "r.wild.example.": "", "a.r.wild.example.": "A"}
WILDCARDS: list[tuple[str, str, Callable[[], list[dns.rrset.RRset]], Proof | None]] = [
    ("NSEC", "q.wild.example.", nsec_chain, Proof.NO_NAME),
    ("NSEC, deeper", "q.r.wild.example.", nsec_chain, Proof.NO_NAME),
    ("NSEC3", "q.wild.example.", nsec3_chain, Proof.NO_NAME),
    ("NSEC3, deeper", "q.r.wild.example.", nsec3_chain, Proof.NO_NAME),
    ("opt-out", "q.wild.example.", optional(1), Proof.OPT_OUT),
    ("iterations", "q.wild.example.", optional(0, 150), Proof.ITERATIONS),
    ("no proof", "q.wild.example.", list, None),
    ("proof of another name", "q.wild.example.", lambda: [APEX], None),
    ("the name exists", "q.wild.example.", lambda: nsec_chain({**NAMES, "q.wild.example.": "A"}), None),
    ("the name exists, hashed", "q.wild.example.", lambda: nsec3_chain({**NAMES, "q.wild.example.": "A"}), None),
    ("a closer name exists", "q.r.wild.example.", lambda: nsec_chain(CLOSER), None),
    ("a closer name exists, hashed", "q.r.wild.example.", lambda: nsec3_chain(CLOSER), None),
]


@pytest.mark.parametrize(("case", "owner", "chain", "expected"), WILDCARDS, ids=[row[0] for row in WILDCARDS])
def test_a_wildcard_stands_only_for_what_is_not_there(
    case: str, owner: str, chain: Callable[[], list[dns.rrset.RRset]], expected: Proof | None
) -> None:
    answer, authority = of(made_from_wildcard(owner), owner, RdataType.TXT), read_section(signed(chain()))
    if expected is None:
        with pytest.raises(Unproven, match="the wildcard stands for"):
            verify_present(answer, authority, ZONE, KEYS, NOW, Effort())
    else:
        assert verify_present(answer, authority, ZONE, KEYS, NOW, Effort()) == (NOW + 300, expected), case


@pytest.mark.parametrize("owner", ["a.example.", "*.wild.example."])
def test_an_rrset_of_its_own_needs_no_proof(owner: str) -> None:
    answer = of(SIGNER.signed(records(owner, "TXT", '"own"')), owner, RdataType.TXT)
    assert verify_present(answer, {}, ZONE, KEYS, NOW, Effort()) == (NOW + 300, Proof.NO_NAME)


def test_hashes_are_compared_in_any_case() -> None:
    lower = [records(rrset.name.to_text().lower(), "NSEC3", rrset[0].to_text().lower()) for rrset in nsec3_chain()]
    assert denial_of(signed(lower)).absence(B, RdataType.TXT) is Proof.NO_NAME


def test_the_hash_is_that_of_rfc_5155() -> None:
    """Appendix A: `example` with salt aabbccdd and 12 iterations."""
    digest = base64.b32hexdecode(b"0P9MHAVEQVM6T7VBL5LOP2U3T2RP3TOM")
    made = hashed(f"1 0 12 AABBCCDD {'V' * 32} SOA", "0p9mhaveqvm6t7vbl5lop2u3t2rp3tom.example.")
    assert len(digest) == 20
    assert denial_of(made).absence(ZONE, RdataType.TXT) is Proof.NO_TYPE
