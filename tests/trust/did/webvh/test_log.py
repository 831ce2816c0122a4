"""did:webvh logs: those of other implementations, and logs that break one rule each (TRUST.md §3)."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from time import process_time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.trust.did.webvh.entries import VersionId, parse_entry
from proxy.trust.did.webvh.log import MOST_ENTRIES, MOST_OCTETS, VerifiedLog, verify_log
from proxy.trust.reasons import Reason, Untrusted
from tests.trust.did.webvh.controller import (
    KEY,
    NEXT,
    NOW,
    OTHER,
    commitment,
    document,
    first_entry,
    multihash,
    multikey,
    next_entry,
    private_key,
    proof,
    scid_of,
    signed,
    to_log,
    written,
)

VECTORS = Path(__file__).resolve().parents[5] / "shared/vectors/webvh"
ABSENT = pytest.param(None, marks=pytest.mark.skip(reason="the vectors are not on this machine"))

Json = dict[str, Any]


def vectors(file: str) -> list[Any]:
    if not VECTORS.exists():
        return [ABSENT]
    listed = json.loads((VECTORS / file).read_bytes())["vectors"]
    return [pytest.param(one, id="-".join((one["name"], one.get("implementation", "ours")))) for one in listed]


def verified_vector(vector: Json) -> VerifiedLog:
    scid, witnesses = vector["did"].split(":")[2], vector.get("witness")
    return verify_log(
        vector["log"].encode(), scid, NOW, witnesses=None if witnesses is None else witnesses.encode()
    )


@pytest.mark.parametrize("vector", vectors("test-suite.json"))
def test_logs_of_other_implementations(vector: Json) -> None:
    if vector["strictVerifier"] == "accept":
        assert verified_vector(vector).did == vector["did"]
        assert vector["suiteExpects"] == "resolve"
        return
    with pytest.raises(Untrusted) as refusal:
        verified_vector(vector)
    assert refusal.value.reason is Reason.WEBVH_INVALID and refusal.value.detail


@pytest.mark.parametrize("vector", vectors("extra.json"))
def test_logs_that_programs_differ_on(vector: Json) -> None:
    if vector["expect"] == "accept":
        assert verified_vector(vector).did == vector["did"]
        return
    with pytest.raises(Untrusted) as refusal:
        verified_vector(vector)
    assert refusal.value.reason is Reason.WEBVH_INVALID


def test_entry_hash_of_the_specification() -> None:
    if not VECTORS.exists():
        pytest.skip("the vectors are not on this machine")
    example = json.loads((VECTORS / "entry-hash.json").read_bytes())
    preliminary = example["preliminaryEntry"]
    line = json.dumps({**preliminary, "versionId": f"1-{example['entryHash']}", "proof": [{}]}).encode()
    assert parse_entry(line).hash_after(preliminary["versionId"]) == example["entryHash"]


FIRST = first_entry()
SCID = scid_of(FIRST)


def verified(*entries: Json, scid: str | None = None, **options: Any) -> VerifiedLog:
    return verify_log(to_log(list(entries)), scid_of(entries[0]) if scid is None else scid, NOW, **options)


def refused(*entries: Json, **options: Any) -> str:
    """The detail of the refusal."""
    with pytest.raises(Untrusted) as refusal:
        verified(*entries, **options)
    assert refusal.value.reason is Reason.WEBVH_INVALID
    return refusal.value.detail


def test_one_entry() -> None:
    log = verified(FIRST)
    assert (log.did, log.versions) == (f"did:webvh:{SCID}:example.com", 1)
    assert log.latest == VersionId(1, FIRST["versionId"])
    assert json.loads(log.document) == FIRST["state"]
    assert log.update_keys == {multikey(KEY)} and log.updated_at == 1767225600.0
    assert (log.watchers, log.is_deactivated, log.ttl) == ((), False, 3600)


def test_the_latest_entry_counts() -> None:
    second = next_entry(
        FIRST,
        {"updateKeys": [multikey(OTHER)], "watchers": ["https://watcher.example/"], "ttl": 0},
        state={**FIRST["state"], "service": []},
    )
    third = next_entry(second, key=OTHER)
    log = verified(FIRST, second, third)
    assert (log.versions, log.update_keys, log.ttl) == (3, {multikey(OTHER)}, 0)
    assert log.watchers == ("https://watcher.example/",)
    assert json.loads(log.document)["service"] == []


def test_lines() -> None:
    octets = to_log([FIRST])
    assert verify_log(octets.removesuffix(b"\n"), SCID, NOW).versions == 1
    assert verify_log(octets.replace(b"\n", b"\r\n"), SCID, NOW).versions == 1
    for broken in (
        b"",
        b"\n",
        octets + b"\n",
        b"\n" + octets,
        octets.replace(b",", b",\n", 1),
        b"\xef\xbb\xbf" + octets,
    ):
        with pytest.raises(Untrusted):
            verify_log(broken, SCID, NOW)


def test_how_long_a_log_may_be() -> None:
    with pytest.raises(Untrusted) as refusal:
        verify_log(b"\n" * MOST_ENTRIES + b"{}", SCID, NOW)
    assert f"{MOST_ENTRIES} entries" in refusal.value.detail
    started = process_time()
    for octets in (b" " * 8 * 2**20, b"{" * (MOST_OCTETS + 1)):
        with pytest.raises(Untrusted) as refusal:
            verify_log(octets, SCID, NOW)
        assert f"{MOST_OCTETS} octets" in refusal.value.detail
    assert process_time() - started < 0.05


def test_time_is_linear_in_the_log() -> None:
    entries = [FIRST]
    for _ in range(199):
        entries.append(next_entry(entries[-1]))
    verified(*entries)
    few, many = (min(seconds_for(entries[:count]) for _ in range(3)) for count in (50, 200))
    assert many < 8 * few


def seconds_for(entries: list[Json]) -> float:
    started = process_time()
    assert verified(*entries).versions == len(entries)
    return process_time() - started


def test_no_octet_may_change() -> None:
    octets = to_log([FIRST, next_entry(FIRST)])
    for at in range(0, len(octets), 7):
        changed = octets[:at] + bytes([octets[at] ^ 1]) + octets[at + 1 :]
        try:
            log = verify_log(changed, SCID, NOW)
        except Untrusted as error:
            assert error.reason is Reason.WEBVH_INVALID
        else:
            assert json.loads(log.document) == FIRST["state"], "what changed was white space"


# The pinned version.


def test_pinned_version() -> None:
    second = next_entry(FIRST)
    pins = [VersionId(index, entry["versionId"]) for index, entry in enumerate((FIRST, second), start=1)]
    assert verified(FIRST, second, pinned=pins[0]).versions == 2
    assert verified(FIRST, second, pinned=pins[1]).versions == 2
    assert "known already" in refused(FIRST, pinned=pins[1])
    branch = next_entry(FIRST, {"ttl": 1})
    assert "known already" in refused(FIRST, branch, pinned=pins[1])
    assert "known already" in refused(FIRST, branch, next_entry(branch), pinned=pins[1])


# What an entry consists of.

SECOND = next_entry(FIRST)


def changed(entry: Json, **members: Any) -> Json:
    """The entry with other members, its hash and proof left as they were; one that is None is left out."""
    return {name: value for name, value in {**entry, **members}.items() if value is not None}


SHAPES = {
    "no object": [],
    "no members": {},
    "no version": changed(SECOND, versionId=None),
    "no time": changed(SECOND, versionTime=None),
    "no parameters": changed(SECOND, parameters=None),
    "no state": changed(SECOND, state=None),
    "no proof": changed(SECOND, proof=None),
    "another member": changed(SECOND, more=1),
    "null for each": dict.fromkeys(SECOND),
    "numbers for each": dict.fromkeys(SECOND, 1),
    "lists for each": {name: [] for name in SECOND},
    "empty proof": changed(SECOND, proof=[]),
    "nine proofs": changed(SECOND, proof=SECOND["proof"] * 9),
    "proof as text": changed(SECOND, proof="x"),
    "proofs as texts": changed(SECOND, proof=["x"]),
    "deep parameters": changed(SECOND, parameters={"ttl": json.loads("[" * 40 + "]" * 40)}),
    "version as number": changed(SECOND, versionId=2),
    "version without hash": changed(SECOND, versionId="2"),
    "version with two dashes": changed(SECOND, versionId=f"{SECOND['versionId']}-x"),
    "version with a leading zero": changed(SECOND, versionId=f"0{SECOND['versionId']}"),
    "version of another hash function": changed(SECOND, versionId="2-5drNu81uhrFLRiS4bxWgAkpydaLUPW"),
    "version of another digit": changed(SECOND, versionId=SECOND["versionId"].replace("2", "\u0662", 1)),
    "time without zone": changed(SECOND, versionTime="2026-01-01T01:00:00"),
    "time in another zone": changed(SECOND, versionTime="2026-01-01T02:00:00+01:00"),
    "time that is none": changed(SECOND, versionTime="2026-02-30T00:00:00Z"),
    "time as number": changed(SECOND, versionTime=1),
    "time changed": changed(SECOND, versionTime=written(2)),
    "state changed": changed(SECOND, state={**SECOND["state"], "more": 1}),
    "parameters changed": changed(SECOND, parameters={"ttl": 1}),
    "hash of another entry": changed(SECOND, versionId=f"2-{multihash(b'')}"),
}


@pytest.mark.parametrize("entry", SHAPES.values(), ids=SHAPES)
def test_entries_that_are_none(entry: Any) -> None:
    assert verified(FIRST, SECOND).versions == 2
    assert refused(FIRST, entry).startswith("Entry 2")


@pytest.mark.parametrize(
    "entries",
    [[SECOND], [FIRST, FIRST], [FIRST, SECOND, SECOND], [FIRST, next_entry(SECOND)], [SECOND, FIRST]],
    ids=["without the first", "first twice", "second twice", "gap", "reversed"],
)
def test_versions_that_do_not_follow(entries: list[Json]) -> None:
    refused(*entries, scid=SCID)


def test_number_that_does_not_follow() -> None:
    second = next_entry({**FIRST, "versionId": FIRST["versionId"]})
    skipped = signed(changed(second, versionId="3" + second["versionId"][1:]), KEY)
    assert "number" in refused(FIRST, skipped)


# Times.


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        ("2026-01-01T00:00:00.001Z", ""),
        ("2026-01-01T00:00:01+00:00", ""),
        (written(0), "not dated after"),
        ("2025-12-31T23:59:59Z", "not dated after"),
        ("2026-11-30T00:05:00Z", ""),
        ("2026-11-30T00:05:01Z", "future"),
    ],
    ids=["a millisecond", "offset zero", "equal", "earlier", "within the skew", "future"],
)
def test_times(time: str, expected: str) -> None:
    second = next_entry(FIRST, time=time)
    if expected:
        assert expected in refused(FIRST, second)
    else:
        assert verified(FIRST, second).versions == 2


# The identifier.


def test_another_scid() -> None:
    assert "another identifier" in refused(FIRST, scid=scid_of(first_entry(key=OTHER)))
    assert "another identifier" in refused(FIRST, scid="")


def test_scid_that_is_no_hash_of_the_entry() -> None:
    scid = multihash(b"chosen")
    entry = json.loads(json.dumps(first_entry()).replace(SCID, scid))
    unsigned = {name: value for name, value in entry.items() if name not in ("proof", "versionId")}
    entry_hash = parse_entry(json.dumps(entry).encode()).hash_after(scid)
    forged = signed({**unsigned, "versionId": f"1-{entry_hash}"}, KEY)
    assert "commits to" in refused(forged, scid=scid)


def test_scid_also_in_the_name_of_a_member() -> None:
    state = document()
    first = first_entry(state={**state, "zz{SCID}": 1, "zzA": 2})
    assert verified(first).did == first["state"]["id"]


@pytest.mark.parametrize(
    "did",
    [
        None,
        7,
        "",
        "did:web:example.com",
        "did:webvh:{scid}:127.0.0.1",
        "did:webvh:{scid}:example.com:..",
        "did:webvh:{scid}",
        "did:webvh:{other}:example.com",
    ],
    ids=str,
)
def test_documents_of_no_such_identifier(did: object) -> None:
    did = did.format(scid=SCID, other=multihash(b"")) if isinstance(did, str) else did
    state = {**FIRST["state"], "id": did, "alsoKnownAs": [FIRST["state"]["id"]]}
    assert "Its document is of" in refused(FIRST, next_entry(FIRST, state=state))


def test_moving() -> None:
    first = first_entry({"portable": True})
    scid, old = scid_of(first), first["state"]["id"]
    moved = document("example.org", scid, alsoKnownAs=[7, old])
    second = next_entry(first, state=moved)
    assert verified(first, second, next_entry(second)).did == f"did:webvh:{scid}:example.org"
    for state in (document("example.org", scid), {**moved, "alsoKnownAs": old}, {**moved, "alsoKnownAs": []}):
        assert "moves the identifier" in refused(first, next_entry(first, state=state))
    assert "moves the identifier" in refused(first, next_entry(first, {"portable": False}, state=moved))
    fixed = document("example.org", SCID, alsoKnownAs=[FIRST["state"]["id"]])
    assert "moves the identifier" in refused(FIRST, next_entry(FIRST, state=fixed))


def test_nothing_follows_the_end() -> None:
    ended = next_entry(FIRST, {"deactivated": True, "updateKeys": []})
    log = verified(FIRST, ended)
    assert log.is_deactivated and log.update_keys == frozenset()
    assert "ended" in refused(FIRST, ended, next_entry(ended))
    without_keys = next_entry(FIRST, {"updateKeys": []})
    assert "may not extend" in refused(FIRST, without_keys, next_entry(without_keys))


# Keys and proofs.


def test_who_may_sign() -> None:
    assert "may not extend" in refused(FIRST, next_entry(FIRST, key=OTHER))
    own = next_entry(FIRST, {"updateKeys": [multikey(OTHER)]}, key=OTHER)
    assert "may not extend" in refused(FIRST, own), "new keys sign from the next entry on"
    rotated = next_entry(FIRST, {"updateKeys": [multikey(OTHER)]})
    assert "may not extend" in refused(FIRST, rotated, next_entry(rotated)), "old keys do so no more"
    both = first_entry({"updateKeys": [multikey(KEY), multikey(OTHER)]})
    assert verified(both, next_entry(both, key=OTHER)).versions == 2


@pytest.mark.parametrize(
    "options",
    [
        {"type": "Ed25519Signature2020"},
        {"cryptosuite": "eddsa-rdfc-2022"},
        {"cryptosuite": "ecdsa-jcs-2019"},
        {"cryptosuite": None},
        {"proofPurpose": "authentication"},
        {"proofPurpose": None},
        {"verificationMethod": f"did:key:{multikey(KEY)}"},
        {"verificationMethod": f"did:key:{multikey(KEY)}#{multikey(OTHER)}"},
        {"verificationMethod": f"did:key:{multikey(OTHER)}#{multikey(KEY)}"},
        {"verificationMethod": f"did:key:{multikey(OTHER)}#{multikey(OTHER)}"},
        {"verificationMethod": f"{FIRST['state']['id']}#1"},
        {"verificationMethod": f"{multikey(KEY)}#{multikey(KEY)}"},
        {"verificationMethod": "did:key:#"},
        {"created": "2026-12-31T00:00:00Z"},
        {"challenge": "x"},
        {"domain": "example.org"},
    ],
    ids=str,
)
def test_proofs_that_are_not_good(options: Json) -> None:
    refused(FIRST, signed(SECOND, KEY, **options))


def test_proofs_that_are_good() -> None:
    assert verified(FIRST, signed(SECOND, KEY, expires=written(1), domain="example.com", more=1)).versions == 2
    assert verified(FIRST, changed(SECOND, proof=SECOND["proof"][0])).versions == 2


def test_every_proof_has_to_be_good() -> None:
    both = first_entry({"updateKeys": [multikey(KEY), multikey(OTHER)]})
    second = next_entry(both)
    unsigned = {name: value for name, value in second.items() if name != "proof"}
    assert verified(both, {**unsigned, "proof": [proof(unsigned, KEY), proof(unsigned, OTHER)]}).versions == 2
    refused(both, {**unsigned, "proof": [proof(unsigned, KEY), proof(unsigned, NEXT)]})
    refused(both, {**unsigned, "proof": [proof(unsigned, KEY), {**proof(unsigned, OTHER), "more": 1}]})


# Parameters.

WRONG_PARAMETERS = {
    "no method": {"method": "did:webvh:0.5"},
    "another method": {"method": "did:webvh:99.0"},
    "method as null": {"method": None},
    "SCID again": {"scid": SCID},
    "unknown": {"prerotation": True},
    "portable later": {"portable": True},
    "portable as text": {"portable": "false"},
    "portable as null": {"portable": None},
    "deactivated as number": {"deactivated": 1},
    "keys as text": {"updateKeys": multikey(KEY)},
    "keys of another type": {"updateKeys": [1]},
    "hashes as object": {"nextKeyHashes": {}},
    "watchers as text": {"watchers": "https://watcher.example/"},
    "lifetime as text": {"ttl": "60"},
    "lifetime as truth": {"ttl": True},
    "lifetime with a fraction": {"ttl": 1.5},
    "negative lifetime": {"ttl": -1},
    "endless lifetime": {"ttl": 2**31 + 1},
}


@pytest.mark.parametrize("parameters", WRONG_PARAMETERS.values(), ids=WRONG_PARAMETERS)
def test_parameters_that_are_none(parameters: Json) -> None:
    assert refused(FIRST, next_entry(FIRST, parameters)).startswith("Entry 2")


def test_parameters_of_the_first_entry() -> None:
    for parameters in ({"method": "did:webvh:1.0-rc1"}, {"updateKeys": []}, {"updateKeys": None}, {"unknown": 1}):
        refused(first_entry(parameters), scid=scid_of(first_entry(parameters)))
    for name in ("method", "updateKeys", "scid"):
        entry = copy.deepcopy(FIRST)
        del entry["parameters"][name]
        refused(entry, scid=SCID)


def test_parameters_of_other_programs() -> None:
    nulls = {"nextKeyHashes": None, "witness": None, "watchers": None, "ttl": None}
    first = first_entry({"ttl": 60, "watchers": ["https://watcher.example/"], "portable": False})
    log = verified(first, next_entry(first, {**nulls, "method": "did:webvh:1.0", "ttl": 2**31}))
    assert (log.ttl, log.watchers) == (2**31, ())
    assert verified(first, next_entry(first, nulls)).ttl == 3600


# Keys that are committed to.


def test_keys_committed_to() -> None:
    first = first_entry({"nextKeyHashes": [commitment(OTHER), commitment(private_key(9))]})
    second = next_entry(first, {"updateKeys": [multikey(OTHER)], "nextKeyHashes": [commitment(NEXT)]}, key=OTHER)
    third = next_entry(second, {"updateKeys": [multikey(NEXT)], "nextKeyHashes": []}, key=NEXT)
    fourth = next_entry(third, {"updateKeys": [multikey(KEY)]}, key=NEXT)
    log = verified(first, second, third, fourth, next_entry(fourth))
    assert (log.versions, log.update_keys) == (5, {multikey(KEY)})


@pytest.mark.parametrize(
    ("parameters", "key"),
    [
        ({}, KEY),
        ({"updateKeys": [multikey(OTHER)]}, OTHER),
        ({"nextKeyHashes": []}, KEY),
        ({"updateKeys": [multikey(KEY)], "nextKeyHashes": []}, KEY),
        ({"updateKeys": [multikey(OTHER), multikey(KEY)], "nextKeyHashes": []}, OTHER),
        ({"updateKeys": [multikey(OTHER)], "nextKeyHashes": []}, KEY),
    ],
    ids=["nothing stated", "no next hashes", "no keys", "old key", "a key too many", "signed by the old key"],
)
def test_keys_not_committed_to(parameters: Json, key: Any) -> None:
    first = first_entry({"nextKeyHashes": [commitment(OTHER)]})
    refused(first, next_entry(first, parameters, key=key))


@given(st.binary(max_size=300))
def test_any_octets_are_refused(octets: bytes) -> None:
    with pytest.raises(Untrusted) as refusal:
        verify_log(octets, SCID, NOW)
    assert refusal.value.reason is Reason.WEBVH_INVALID


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(
    st.sampled_from(
        ["updateKeys", "nextKeyHashes", "witness", "watchers", "portable", "deactivated", "ttl", "scid"]
    ),
    JSON,
)
@settings(max_examples=200)
def test_any_parameter_is_read_or_refused(name: str, value: Any) -> None:
    try:
        verified(FIRST, next_entry(FIRST, {name: value}))
    except Untrusted as error:
        assert error.reason is Reason.WEBVH_INVALID


@given(st.sampled_from(sorted(SECOND)), JSON)
@settings(max_examples=200)
def test_any_member_is_read_or_refused(name: str, value: Any) -> None:
    try:
        verified(FIRST, {**SECOND, name: value})
    except Untrusted as error:
        assert error.reason is Reason.WEBVH_INVALID
    else:
        assert value == SECOND[name]
