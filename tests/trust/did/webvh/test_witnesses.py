"""Witnesses of a did:webvh log: who has to approve, and whose approval counts (TRUST.md §3.1)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.trust.did.webvh.log import VerifiedLog, verify_log
from proxy.trust.did.webvh.parameters import MOST_WITNESSES
from proxy.trust.did.webvh.proofs import MOST_OCTETS, MOST_WITNESS_PROOFS
from proxy.trust.reasons import Reason, Untrusted
from tests.trust.did.webvh.controller import (
    KEY,
    NOW,
    OTHER,
    WITNESSES,
    approved,
    did_key,
    first_entry,
    multikey,
    next_entry,
    proof,
    scid_of,
    to_file,
    to_log,
    witness_rule,
    written,
)

Json = dict[str, Any]

A, B, C = WITNESSES
TWO_OF_THREE = witness_rule(2, A, B, C)
FIRST = first_entry({"witness": TWO_OF_THREE})
SECOND = next_entry(FIRST)


def verified(entries: list[Json], witnesses: bytes | None) -> VerifiedLog:
    return verify_log(to_log(entries), scid_of(entries[0]), NOW, witnesses=witnesses)


def refused(entries: list[Json], witnesses: bytes | None) -> str:
    """The detail of the refusal."""
    with pytest.raises(Untrusted) as refusal:
        verified(entries, witnesses)
    assert refusal.value.reason is Reason.WEBVH_INVALID
    return refusal.value.detail


APPROVED = {
    "by two": [approved(FIRST, A, B)],
    "by all": [approved(FIRST, A, B, C)],
    "one after another": [approved(FIRST, A), approved(FIRST, C)],
    "beside a bad proof": [approved(FIRST, C, created="2026-12-31T00:00:00Z"), approved(FIRST, A, B)],
    "beside a stranger": [approved(FIRST, OTHER, A, B)],
    "beside another version": [approved(SECOND, C), approved(FIRST, A, B)],
    "beside what is no proof": [{**approved(FIRST, A, B), "proof": [7, {}, *approved(FIRST, A, B)["proof"]]}],
    "by proofs that end": [approved(FIRST, A, B, expires=written(1))],
}


@pytest.mark.parametrize("file", APPROVED.values(), ids=APPROVED)
def test_approved(file: list[Json]) -> None:
    assert verified([FIRST], to_file(*file)).versions == 1


TOO_FEW = {
    "nobody": [],
    "one": [approved(FIRST, A)],
    "one twice": [approved(FIRST, A, A)],
    "one and a stranger": [approved(FIRST, A, OTHER)],
    "one and the controller": [approved(FIRST, A, KEY)],
    "another version": [approved(SECOND, A, B)],
    "another log": [approved(first_entry({"witness": TWO_OF_THREE}, key=OTHER), A, B)],
    "another purpose": [approved(FIRST, A, B, proofPurpose="authentication")],
    "another suite": [approved(FIRST, A, B, cryptosuite="ecdsa-jcs-2019")],
    "another's name": [approved(FIRST, A), approved(FIRST, A, verificationMethod=f"{did_key(B)}#{multikey(B)}")],
    "halves that differ": [
        approved(FIRST, A),
        approved(FIRST, B, verificationMethod=f"{did_key(B)}#{multikey(A)}"),
    ],
    "no half": [approved(FIRST, A), approved(FIRST, B, verificationMethod=did_key(B))],
    "signed something else": [{**approved(FIRST, A, B), "proof": [proof(FIRST["state"], one) for one in (A, B)]}],
}


@pytest.mark.parametrize("file", TOO_FEW.values(), ids=TOO_FEW)
def test_not_approved(file: list[Json]) -> None:
    assert "Too few witnesses" in refused([FIRST], to_file(*file))


def test_approval_is_of_all_before() -> None:
    log = [FIRST, SECOND, next_entry(SECOND)]
    assert verified(log, to_file(approved(log[2], A, B))).versions == 3
    assert verified(log, to_file(approved(log[2], A), approved(FIRST, A, C), approved(log[2], C))).versions == 3
    assert "version 3" in refused(log, to_file(approved(log[1], A, B)))
    assert "version 3" in refused(log, to_file(approved(log[2], A), approved(log[1], B, C)))


def test_new_witnesses_count_from_the_next_entry_on() -> None:
    second = next_entry(FIRST, {"witness": witness_rule(1, C)})
    third = next_entry(second)
    assert verified([FIRST, second], to_file(approved(second, A, B))).versions == 2
    assert "version 2" in refused([FIRST, second], to_file(approved(second, C)))
    log = [FIRST, second, third]
    assert verified(log, to_file(approved(second, A, B), approved(third, C))).versions == 3
    assert "version 3" in refused(log, to_file(approved(third, A, B)))
    assert "version 2" in refused(log, to_file(approved(FIRST, A, B), approved(third, C)))


def test_first_witnesses_count_at_once() -> None:
    first = first_entry()
    second = next_entry(first, {"witness": witness_rule(1, A)})
    assert verified([first], None).versions == 1
    assert verified([first, second], to_file(approved(second, A))).versions == 2
    assert "version 2" in refused([first, second], to_file(approved(first, A)))


def test_the_end_of_witnesses_is_witnessed() -> None:
    second = next_entry(FIRST, {"witness": {}})
    log = [FIRST, second, next_entry(second)]
    assert verified(log, to_file(approved(second, A, B))).versions == 3
    assert "version 2" in refused(log, to_file(approved(FIRST, A, B)))


def test_witnesses_that_come_back() -> None:
    log = [FIRST, next_entry(FIRST, {"witness": {}})]
    log.append(next_entry(log[1]))
    log.append(next_entry(log[2], {"witness": TWO_OF_THREE}))
    assert "version 4" in refused(log, to_file(approved(log[1], A, B)))
    assert verified(log, to_file(approved(log[3], A, B))).versions == 4


RULES = {
    "no object": [],
    "no threshold": {"witnesses": TWO_OF_THREE["witnesses"]},
    "no witnesses": {"threshold": 1},
    "empty list": {"threshold": 0, "witnesses": []},
    "witnesses as object": {"threshold": 1, "witnesses": {}},
    "threshold zero": {**TWO_OF_THREE, "threshold": 0},
    "threshold as text": {**TWO_OF_THREE, "threshold": "2"},
    "threshold as truth": {**TWO_OF_THREE, "threshold": True},
    "threshold with a fraction": {**TWO_OF_THREE, "threshold": 1.5},
    "more than there are": {**TWO_OF_THREE, "threshold": 4},
    "one twice": witness_rule(1, A, A),
    "as texts": {"threshold": 1, "witnesses": [did_key(A)]},
    "id as number": {"threshold": 1, "witnesses": [{"id": 1}]},
    "id of a method": {"threshold": 1, "witnesses": [{"id": f"{did_key(A)}#{multikey(A)}"}]},
    "id without did:key": {"threshold": 1, "witnesses": [{"id": multikey(A)}]},
    "id of another method": {"threshold": 1, "witnesses": [{"id": "did:web:example.com"}]},
    "P-256": {
        "threshold": 1,
        "witnesses": [{"id": "did:key:zDnaerDaTF5BXEavCrfRZEk316dpbLsfPDZ3WJ5hRTPFU2169"}],
    },
    "too many": {"threshold": 1, "witnesses": [{"id": did_key(A)}] * (MOST_WITNESSES + 1)},
}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_rules_that_are_none(rule: Any) -> None:
    first = first_entry({"witness": rule})
    assert refused([first], to_file(approved(first, A, B, C))).startswith("Entry 1")


def test_more_than_the_id_of_a_witness() -> None:
    first = first_entry({"witness": {"threshold": 1, "witnesses": [{"id": did_key(A), "weight": 1}]}})
    assert verified([first], to_file(approved(first, A))).versions == 1


FILES = {
    "nothing": b"",
    "HTML": b"<!doctype html>",
    "no list": b"{}",
    "null": b"null",
    "list of texts": b'["x"]',
    "no version": b'[{"proof": []}]',
    "version as number": b'[{"versionId": 1, "proof": []}]',
    "no proofs": b'[{"versionId": "1-x"}]',
    "proofs as object": b'[{"versionId": "1-x", "proof": {}}]',
    "a member after the list": b'[], "": []',
    "another member after the list": b'[], "x": []',
    "two values": to_file(approved(FIRST, A, B)) * 2,
    "duplicate members": b'[{"versionId": "1-x", "versionId": "1-y", "proof": []}]',
    "deep": b"[" * 100_000,
    "no UTF-8": b'["\xff"]',
    "too long": b" " * (MOST_OCTETS + 1),
    "too many proofs": json.dumps([{"versionId": "1-x", "proof": [0] * (MOST_WITNESS_PROOFS + 1)}]).encode(),
}


@pytest.mark.parametrize("file", FILES.values(), ids=FILES)
def test_files_that_are_none(file: bytes) -> None:
    assert "Too few" not in refused([FIRST], file)


def test_a_file_is_needed_only_where_the_log_says_so() -> None:
    assert "missing" in refused([FIRST], None)
    first = first_entry()
    assert verified([first], b"<!doctype html>").versions == 1


@given(st.binary(max_size=200))
def test_any_file_is_refused(octets: bytes) -> None:
    refused([FIRST], octets)
