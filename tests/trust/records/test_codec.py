"""Records of what is known: they say what was written, or that they are damaged (TRUST.md §6.3)."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.trust.reasons import Reason, Untrusted
from proxy.trust.records.codec import Heading, parse_record, read_heading, to_record
from proxy.trust.records.knowledge import MOST_IPNS_NAMES, MOST_MANIFESTS, Knowledge, is_expendable, with_pin
from proxy.trust.records.pin import configured, gone
from proxy.trust.records.publication import MIRRORS, MOST_LISTING, KnownManifest, edition
from proxy.trust.records.webvh import ReceivedLog, log_sighted
from proxy.trust.rollback import MOST_CLAIMS, version_of
from proxy.trust.signatures.ijson import parse_ijson
from proxy.trust.verdict import Rejected
from tests.trust.did.webvh.controller import NOW as LOG_NOW
from tests.trust.did.webvh.controller import (
    WITNESSES,
    approved,
    first_entry,
    next_entry,
    scid_of,
    to_file,
    to_log,
    witness_rule,
)
from tests.trust.records.domains import (
    CONTESTED_URL,
    DID,
    IPNS,
    LISTED,
    NOW,
    UNSIGNED_URL,
    URL,
    accepted,
    document,
    known_domain,
    manifest,
    seen,
)

NOTHING = Knowledge("example.com:8443", "did:web:example.com%3A8443")
FIRST = first_entry({"witness": witness_rule(1, *WITNESSES)})
LOG_DID = f"did:webvh:{scid_of(FIRST)}:example.com"


def on_probation() -> Knowledge:
    pin, _ = seen(None, "a", 0)
    pin, _ = seen(pin, "b", 1)
    return with_pin(known_domain(), gone(pin, NOW + 9000.5), NOW + 9000.5)


def anchored() -> Knowledge:
    return with_pin(known_domain(), configured(known_domain().pin, DID, document("x"), NOW).pin, NOW)


def of_a_log(*entries: Any) -> Knowledge:
    log = [FIRST, *entries]
    witnesses = to_file(approved(log[-1], WITNESSES[0]))
    sighting = log_sighted(None, ReceivedLog(LOG_DID, to_log(log), witnesses, LOG_NOW, from_domain=True))
    return with_pin(known_domain(), sighting.pin, LOG_NOW)


KNOWLEDGE: dict[str, Callable[[], Knowledge]] = {
    "nothing": lambda: NOTHING,
    "everything": known_domain,
    "on probation, and gone": on_probation,
    "configured": anchored,
    "a log": of_a_log,
    "a log that has ended": lambda: of_a_log(next_entry(FIRST, {"deactivated": True})),
}


@pytest.mark.parametrize("make", KNOWLEDGE.values(), ids=KNOWLEDGE)
def test_what_is_written_is_read(make: Callable[[], Knowledge]) -> None:
    known = make()
    record = to_record(known)
    read = parse_record(record)
    assert read == known and to_record(read) == record
    assert read_heading(record) == Heading(known.authority, is_expendable(known), known.latest_time)
    assert [*read.manifests] == [*known.manifests] and [*read.ipns] == [*known.ipns]
    if known.pin is not None:
        assert read.pin is not None and read.pin.parsed == known.pin.parsed
        assert [*read.pin.dropped] == [*known.pin.dropped]


def test_a_did_that_has_ended_stays_so() -> None:
    read = parse_record(to_record(of_a_log(next_entry(FIRST, {"deactivated": True}))))
    assert read.pin is not None and isinstance(read.pin.parsed, Rejected)


def refused(octets: bytes) -> str:
    with pytest.raises(Untrusted) as error:
        parse_record(octets)
    assert error.value.reason is Reason.TRUST_RECORD_DAMAGED
    return error.value.detail


def test_no_octet_may_change() -> None:
    record = to_record(known_domain())
    for offset in range(len(record)):
        changed = bytearray(record)
        changed[offset] ^= 1 << offset % 8
        refused(bytes(changed))
        with pytest.raises(Untrusted) as error:
            read_heading(bytes(changed))
        assert error.value.reason is Reason.TRUST_RECORD_DAMAGED


@pytest.mark.parametrize("length", [0, 1, 63, 64, 65, 66, 500, -1])
def test_no_octet_may_be_missing(length: int) -> None:
    refused(to_record(known_domain())[:length])


def test_nothing_may_follow() -> None:
    refused(to_record(known_domain()) + b"\n")


def with_members(members: Any) -> bytes:
    """A record with the right digest, whatever it says."""
    text = members if isinstance(members, bytes) else json.dumps(members).encode()
    return hashlib.sha256(text).hexdigest().encode() + b"\n" + text


def members_of(known: Knowledge) -> Any:
    return json.loads(to_record(known).partition(b"\n")[2])


def test_the_digest_is_in_lower_case() -> None:
    digest, _, text = to_record(NOTHING).partition(b"\n")
    refused(digest.upper() + b"\n" + text)


TEXTS = {
    "no JSON": b"{",
    "not UTF-8": b'{"format":1,"authority":"\xff"}',
    "no object": b"[]",
    "a name twice": b'{"format":1,"format":1}',
    "deep": b'{"format":1,"pin":' + b"[" * 100_000,
    "another format": b'{"format":4}',
    "a format that is no number": b'{"format":[2]}',
    "a format that is a text": b'{"format":"2"}',
    "no format": b"{}",
    "long": b'{"format":2}' + b" " * 2**25,
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_texts_that_are_no_record(text: bytes) -> None:
    refused(with_members(text))
    with pytest.raises(Untrusted):
        read_heading(with_members(text))


def base64_of(octets: bytes) -> str:
    return base64.b64encode(octets).decode()


CLAIM = {"core": "a" * 64, "sequence": None, "created": NOW}
LISTINGS = [None, 1, "{", "{}", "[]", "null", "[" * 100_000]
BODIES = [None, 1, "%", base64_of(b"[]"), base64_of(b'{"a":1,"a":1}'), base64_of(b"\xff")]

# Where a member lies, and values that it cannot have.
MEMBERS: dict[str, tuple[list[str | int], list[Any]]] = {
    "authority": (["authority"], [None, 1, []]),
    "did": (["did"], [None, 1, {}, "did:web:example.net"]),
    "dns_did": (["dns_did"], [1, [], {}]),
    "latest_time": (["latest_time"], [None, "1", True, []]),
    "pin": (["pin"], ["", 1, [], {}]),
    "pin/did": (["pin", "did"], [None, 1, "did:web:example.net"]),
    "pin/source": (["pin", "source"], [None, 1, "mirror", "webvh"]),
    "pin/document": (["pin", "document"], [None, 1, "", "§", "a", base64_of(b"{}"), base64_of(b"\xff")]),
    "pin/fetched_at": (["pin", "fetched_at"], [None, "1", False]),
    "pin/first_seen": (["pin", "first_seen"], [None, "1", {}]),
    "pin/last_confirmed_at": (["pin", "last_confirmed_at"], [None, "1", []]),
    "pin/etag": (["pin", "etag"], [1, [], {}]),
    "pin/last_modified": (["pin", "last_modified"], [1, [], {}]),
    "pin/gone_since": (["pin", "gone_since"], ["1", True, []]),
    "pin/dropped": (["pin", "dropped"], [None, [], "z", {"z": None}, {"z": "1"}]),
    "pin/probation": (["pin", "probation"], [None, [], 1, {"z": True}]),
    "manifests": (["manifests"], [None, {}, "x", [1], [None], [[]], [{}] * (MOST_MANIFESTS + 1)]),
    "manifests/url": (["manifests", 0, "url"], [None, 1, []]),
    "manifests/published": (["manifests", 0, "published"], [None, 1, [], "", {}]),
    "manifests/carried": (["manifests", 0, "carried"], [1, [], "", {}]),
    "manifests/claims": (["manifests", 2, "claims"], [None, 1, {}, [1], [None], [{}], [CLAIM] * (MOST_CLAIMS + 1)]),
    "claims/core": (["manifests", 2, "claims", 0, "core"], [None, 1, "", "A" * 64, "a" * 63, "a" * 65]),
    "claims/sequence": (["manifests", 2, "claims", 1, "sequence"], [1, "", "-0", "01", "1.0", "9" * 310, []]),
    "claims/created": (["manifests", 2, "claims", 0, "created"], [None, "1", True]),
    "published/listing": (["manifests", 0, "published", "listing"], LISTINGS),
    "carried/listing": (["manifests", 0, "carried", "listing"], LISTINGS),
    "published/core": (["manifests", 0, "published", "core"], [None, 1, "", "a" * 63]),
    "published/signed": (["manifests", 0, "published", "signed"], [None, 1, "true"]),
    "published/created": (["manifests", 0, "published", "created"], [None, "1", True]),
    "published/accepted_at": (["manifests", 0, "published", "accepted_at"], [None, "1", []]),
    "unsigned/listing": (["manifests", 1, "published", "listing"], LISTINGS),
    "unsigned/sha256": (["manifests", 1, "published", "sha256"], [None, 1, "", "A" * 64, "a" * 65]),
    "unsigned/core": (["manifests", 1, "published", "core"], [None, 1, "", "\u0661" * 64]),
    "unsigned/sequence": (["manifests", 1, "published", "sequence"], [1, "", "x", "--1", "1 ", "\u0661"]),
    "unsigned/signed": (["manifests", 1, "published", "signed"], [None, 0, ""]),
    "unsigned/created": (["manifests", 1, "published", "created"], [None, "1", {}]),
    "unsigned/accepted_at": (["manifests", 1, "published", "accepted_at"], [None, "1", True]),
    "ipns": (["ipns"], [None, [], "x", {str(n): "1" for n in range(MOST_IPNS_NAMES + 1)}]),
    "ipns/sequence": (["ipns", IPNS], [None, 1, "", "-1", "01", "1 ", "1" * 21, "\u0661"]),
}


OPTIONAL = {"dns_did", "etag", "last_modified", "gone_since", "pin", "carried", "sequence", IPNS}


@pytest.mark.parametrize(("path", "values"), MEMBERS.values(), ids=MEMBERS)
def test_members_that_nobody_wrote(path: list[str | int], values: list[Any]) -> None:
    for value in values:
        members = members_of(known_domain())
        place = members
        for step in path[:-1]:
            place = place[step]
        assert path[-1] in place or isinstance(path[-1], int)
        place[path[-1]] = value
        assert "z6Mk" not in refused(with_members(members))
        del place[path[-1]]
        if path[-1] not in OPTIONAL:
            refused(with_members(members))


LOGS = [None, 1, "", "%", base64_of(b"{}"), base64_of(to_log([first_entry()]))]


@pytest.mark.parametrize("value", LOGS)
def test_logs_that_nobody_wrote(value: Any) -> None:
    for name in ("log", "witnesses"):
        members = members_of(of_a_log())
        members["pin"][name] = value
        refused(with_members(members))


@pytest.mark.parametrize("did", ["did:webvh:x:example.com", "x", "did:web:example.com"])
def test_a_log_of_no_such_did(did: str) -> None:
    members = members_of(of_a_log())
    members["did"] = members["pin"]["did"] = did
    refused(with_members(members))


def test_what_can_be_derived_is_not_read() -> None:
    members = members_of(known_domain())
    members["pin"]["keys"] = ["z6MkPlanted"]
    assert parse_record(with_members(members)) == known_domain()


def in_format_2(known: Knowledge, body: bytes) -> Any:
    """The members of a record as format 2 had them: what lists mirrors has `body`."""
    members = members_of(known)
    members["format"] = 2
    for one in members["manifests"]:
        for members_of_one in filter(None, (one["published"], one["carried"])):
            members_of_one["body"] = base64_of(body) if members_of_one.pop("listing") else ""
    return members


def test_records_of_format_2_are_read() -> None:
    body = manifest(**LISTED, **{"x-sequence": 9})
    known = known_domain()
    members = in_format_2(known, body)
    members["manifests"][0]["carried"] |= {"core": "0" * 64, "sequence": "0", "sha256": "0" * 64}
    read = parse_record(with_members(members))
    one, before = read.manifests[URL], known.manifests[URL]
    assert one.version == version_of(parse_ijson(body), before.version.created) and one.mirrors == before.mirrors
    assert one.is_of(body) and one.current.accepted_at == before.current.accepted_at and one.signed
    assert read.manifests[UNSIGNED_URL] == known.manifests[UNSIGNED_URL]
    assert parse_record(to_record(read)) == read


@pytest.mark.parametrize("value", BODIES)
def test_bodies_of_format_2_that_nobody_wrote(value: Any) -> None:
    members = in_format_2(known_domain(), manifest(**LISTED))
    members["manifests"][0]["carried"]["body"] = value
    refused(with_members(members))


def test_a_record_stays_small() -> None:
    """However much a publisher lists, in as many manifests as are remembered: all of it is read in one turn."""
    mirrors = [f"https://mirror.example/{number}/{'x' * 20_000}" for number in range(40)]
    long = manifest(pad="x" * 200_000, **{MIRRORS: mirrors})
    known = NOTHING
    for number in range(2 * MOST_MANIFESTS):
        known = accepted(known, f"https://example.com/{number}/.well-known/agent.json", long)
    assert len(known.manifests) == MOST_MANIFESTS
    assert all(0 < len(one.mirrors) < 5 for one in known.manifests.values())
    assert len(to_record(known)) < 2 * MOST_MANIFESTS * MOST_LISTING


def in_format_1(known: Knowledge, bodies: dict[str, bytes]) -> Any:
    """The members of a record as format 1 had them: each manifest with its body, from wherever it came."""
    members = members_of(known)
    members["format"] = 1
    members["manifests"] = [
        {
            "url": url,
            "body": base64_of(bodies[url]),
            "signed": one.signed,
            "created": one.version.created,
            "accepted_at": one.current.accepted_at,
        }
        for url, one in known.manifests.items()
    ]
    return members


BODIES_OF_FORMAT_1 = {
    URL: manifest(**{"x-sequence": 8}, **LISTED),
    UNSIGNED_URL: manifest(note="§ \u2028", **{"x-sequence": -3}),
    CONTESTED_URL: manifest(**LISTED),
}


def test_records_of_format_1_are_read() -> None:
    known = known_domain()
    read = parse_record(with_members(in_format_1(known, BODIES_OF_FORMAT_1)))
    believed = {
        url: KnownManifest(url, edition(body, known.manifests[url].version, signed=s, accepted_at=at))
        for (url, body), s, at in zip(
            BODIES_OF_FORMAT_1.items(),
            [one.signed for one in known.manifests.values()],
            [one.current.accepted_at for one in known.manifests.values()],
            strict=True,
        )
    }
    assert read == replace(known, manifests=believed)
    assert read.manifests[UNSIGNED_URL].published.listing == b""
    assert parse_record(to_record(read)) == read


def test_headings_of_format_1() -> None:
    for bodies, may_go in (({URL: manifest(**LISTED)}, False), ({URL: manifest()}, True)):
        known = accepted(NOTHING, URL, bodies[URL])
        assert read_heading(with_members(in_format_1(known, bodies))).is_expendable is may_go


@pytest.mark.parametrize("name", ["url", "body", "signed", "created", "accepted_at"])
@pytest.mark.parametrize("value", [None, 1.5, [], {}, "%"])
def test_manifests_of_format_1_that_nobody_wrote(name: str, value: Any) -> None:
    members = in_format_1(known_domain(), BODIES_OF_FORMAT_1)
    members["manifests"][0][name] = value
    if (name, value) not in ACCEPTABLE:
        refused(with_members(members))


ACCEPTABLE = [("url", "%"), ("created", 1.5), ("accepted_at", 1.5)]


def test_a_log_is_verified_as_at_the_time_when_it_came() -> None:
    """The domain's next manifest may end the belief in a clock that was ahead; the log stays what it is."""
    known = replace(of_a_log(), latest_time=LOG_NOW - 400 * 86_400.0)
    assert parse_record(to_record(known)) == known


def test_times_without_a_fraction() -> None:
    whole = replace(NOTHING, latest_time=1_800_000_000)
    assert parse_record(to_record(whole)) == whole


@given(st.binary(max_size=300))
def test_whatever_the_octets(octets: bytes) -> None:
    refused(octets)
    refused(with_members(octets))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda values: st.lists(values, max_size=3) | st.dictionaries(st.text(), values, max_size=3),
    max_leaves=8,
)
NAMES = [("authority",), ("did",), ("pin",), ("pin", "dropped"), ("manifests",), ("ipns",), ("pin", "document")]


@given(st.sampled_from(NAMES), JSON)
def test_whatever_the_members(path: tuple[str, ...], value: object) -> None:
    members = members_of(known_domain())
    place = members
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    try:
        assert isinstance(parse_record(with_members(members)), Knowledge)
    except Untrusted as error:
        assert error.reason is Reason.TRUST_RECORD_DAMAGED
