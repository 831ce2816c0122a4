"""Whether a document is where a redirect leads (OV-2, OV-3, OV-4, OV-10), and what an operator decides."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from proxy.relocation.changes import Change, Event, Reason
from proxy.relocation.confirmation import Ending, Hop, confirm, permanent_run, withdraw
from proxy.relocation.lookup import Relocated, answer_of, is_due
from proxy.relocation.records import Observation, Proof, Record, State
from proxy.relocation.rules import CrossDomain, RelocationRules, observe
from tests.relocation.origin import DAY, NEW, NOW, OTHER, URL, follow, gone, missing, moved, recorded, seen, target

pending = recorded(seen(308, NEW))
abroad = recorded(seen(308, OTHER))
# Somebody has been where it leads to.
unproven = replace(abroad, proof=Proof.NONE)
A, B, C = (f"https://example.com/{name}" for name in "abc")
to_a = recorded(seen(308, A))


def settled(change: Change) -> Record:
    assert change.record is not None
    return change.record


CHAINS: dict[str, tuple[list[tuple[int, str]], str | None]] = {
    "308": ([(308, A)], A),
    "308, 308": ([(308, A), (308, B)], B),
    "308, 301, 308": ([(308, A), (301, B), (308, C)], C),
    "308, 302": ([(308, A), (302, B)], A),
    "308, 307, 308": ([(308, A), (307, B), (308, C)], A),
    "308, 308, 303": ([(308, A), (308, B), (303, C)], B),
}


@pytest.mark.parametrize(("hops", "expected"), CHAINS.values(), ids=CHAINS)
def test_ov_2_the_leading_run_of_permanent_hops(hops: list[tuple[int, str]], expected: str) -> None:
    change = follow(to_a, *hops)
    record = settled(change)
    assert (change.event, change.reason) == (Event.CHANGED, None)
    assert (record.state, record.target, record.location) == (State.MOVED, expected, A)
    assert answer_of(record, NOW + 2) == Relocated(str(expected), DAY - 2)
    assert record.history[-1] == Observation(NOW + 1, 308, State.MOVED, expected, "", NOW + DAY)


def test_ov_2_a_chain_holds_as_long_as_each_of_its_hops() -> None:
    rules = RelocationRules(max_age=500.0)
    start = recorded(seen(308, A, lifetime=400.0))
    fast, slow = Hop(308, target(B), 60.0), Hop(301, target(C), None)
    assert settled(follow(start, (308, A), fast, slow, rules=rules)).fresh_until == NOW + 61
    assert settled(follow(start, (308, A), slow, rules=rules)).fresh_until == NOW + 400
    temporary = Hop(302, target(B), 1.0)
    assert settled(follow(start, (308, A), temporary, rules=rules)).fresh_until == NOW + 400


def test_the_permanent_run_ends_at_the_first_temporary_hop() -> None:
    hops = [Hop(status, target(A)) for status in (308, 301, 302, 308)]
    assert permanent_run(hops) == tuple(hops[:2])
    assert permanent_run(hops[2:]) == ()


PROOFS = [
    (Proof.SAME_SITE, CrossDomain.PROOF, State.MOVED),
    (Proof.SAME_SITE, CrossDomain.OPERATOR, State.MOVED),
    (Proof.SAME_SITE, CrossDomain.NEVER, State.MOVED),
    (Proof.PROVEN, CrossDomain.PROOF, State.MOVED),
    (Proof.PROVEN, CrossDomain.OPERATOR, State.PENDING),
    (Proof.PROVEN, CrossDomain.NEVER, None),
    (Proof.OPERATOR, CrossDomain.PROOF, State.MOVED),
    (Proof.OPERATOR, CrossDomain.NEVER, State.MOVED),
    (Proof.NONE, CrossDomain.PROOF, State.PENDING),
    (Proof.NONE, CrossDomain.OPERATOR, State.PENDING),
    (Proof.NONE, CrossDomain.NEVER, None),
]


@pytest.mark.parametrize(("proof", "cross_domain", "state"), PROOFS)
def test_ov_3_what_another_domain_takes(proof: Proof, cross_domain: CrossDomain, state: State | None) -> None:
    rules = RelocationRules(cross_domain=cross_domain)
    change = follow(abroad, (308, OTHER), proof=proof, rules=rules)
    if state is None:
        assert (change.record, change.event, change.reason) == (None, Event.DROPPED, Reason.CROSS_DOMAIN)
        return
    record = settled(change)
    assert (record.state, record.proof, record.target) == (state, proof, OTHER)
    assert change.reason is (None if state is State.MOVED else Reason.CROSS_DOMAIN)
    assert change.event is (Event.CHANGED if state is State.MOVED else Event.CONFIRMED)


def test_ov_3_without_proof_it_is_asked_again_later_and_not_at_once() -> None:
    waiting = settled(follow(recorded(seen(308, OTHER, lifetime=0.0)), (308, OTHER), proof=Proof.NONE))
    assert not is_due(waiting, NOW + 60) and is_due(waiting, NOW + 61)
    again = settled(observe(waiting, seen(308, OTHER, at=NOW + 61, lifetime=0.0)))
    assert (again.state, again.due_at) == (State.PENDING, NOW + 121)


def test_ov_3_a_proof_that_is_there_later_settles_it() -> None:
    waiting = settled(follow(abroad, (308, OTHER), proof=Proof.NONE))
    assert settled(follow(waiting, (308, OTHER), proof=Proof.PROVEN)).state is State.MOVED


def test_ov_3_a_proof_that_is_no_longer_there_unsettles_it() -> None:
    proven = settled(follow(abroad, (308, OTHER), proof=Proof.PROVEN))
    change = follow(proven, (308, OTHER), proof=Proof.NONE)
    assert (settled(change).state, change.event, change.reason) == (
        State.PENDING,
        Event.CHANGED,
        Reason.CROSS_DOMAIN,
    )


ENDINGS = {
    "OV-10 pending, no document": (pending, Ending.NO_DOCUMENT, Event.DROPPED, Reason.NOT_A_DOCUMENT, None),
    "pending, an outage": (pending, Ending.UNAVAILABLE, Event.FAILED, Reason.UNAVAILABLE, State.PENDING),
    "moved, still there": (moved(), Ending.DOCUMENT, Event.CONFIRMED, None, State.MOVED),
    "moved, not there": (moved(), Ending.NO_DOCUMENT, Event.IGNORED, Reason.NOT_A_DOCUMENT, State.MOVED),
    "moved, an outage": (moved(), Ending.UNAVAILABLE, Event.IGNORED, Reason.UNAVAILABLE, State.MOVED),
    "gone": (gone(), Ending.DOCUMENT, Event.IGNORED, Reason.NOTHING_PENDING, State.GONE),
    "missing": (missing(), Ending.DOCUMENT, Event.IGNORED, Reason.NOTHING_PENDING, State.MISSING),
}


@pytest.mark.parametrize(("record", "ending", "event", "reason", "state"), ENDINGS.values(), ids=ENDINGS)
def test_endings(record: Record, ending: Ending, event: Event, reason: Reason | None, state: State | None) -> None:
    change = follow(record, (308, NEW), ending=ending)
    assert (change.event, change.reason) == (event, reason)
    assert (None if change.record is None else change.record.state) is state
    if event is Event.IGNORED:
        assert change.record is record


def test_ov_10_what_was_dropped_is_told() -> None:
    change = follow(pending, (308, NEW), ending=Ending.NO_DOCUMENT)
    assert change.observation == Observation(NOW + 1, 308, None, None, "What it leads to cannot be recorded.")
    assert change.is_news


def test_an_outage_at_the_target_backs_off() -> None:
    record = settled(follow(pending, (308, NEW), ending=Ending.UNAVAILABLE))
    assert (record.failures, record.due_at) == (1, NOW + 61)
    assert settled(follow(record, (308, NEW))).failures == 0


@pytest.mark.parametrize(
    "hops",
    [[], [(302, NEW)], [(308, OTHER)], [(307, NEW), (308, A)]],
    ids=["none", "temporary", "elsewhere", "temporary first"],
)
def test_what_the_origin_no_longer_says_settles_nothing(hops: list[tuple[int, str]]) -> None:
    change = follow(pending, *hops)
    assert change.record is pending and change.reason is Reason.ANOTHER_ANSWER


FAULTS: dict[str, tuple[list[tuple[int, str]], Reason]] = {
    "OV-4 back to the start": ([(308, A), (308, URL)], Reason.LOOP),
    "OV-4 back to the start in another spelling": ([(308, A), (302, f"{URL[:-1]}%6e")], Reason.LOOP),
    "OV-4 in a circle": ([(308, A), (302, B), (302, C), (302, B)], Reason.LOOP),
    "OV-4 on the spot": ([(308, A), (308, A)], Reason.LOOP),
    "OV-4 six hops": ([(308, A), *((302, f"{A}{number}") for number in range(5))], Reason.TOO_MANY),
    "OV-4 thirty hops": ([(308, A), *((308, f"{A}{number}") for number in range(29))], Reason.TOO_MANY),
    "OV-4 down to http": ([(308, A), (308, "http://example.com/b")], Reason.HTTPS_REQUIRED),
    "a private address": ([(308, A), (302, "https://10.0.0.5/b")], Reason.SSRF),
    "a secret": ([(308, A), (308, f"{B}?token=x")], Reason.SECRET),
}


@pytest.mark.parametrize("is_settled", [False, True], ids=["pending", "moved"])
@pytest.mark.parametrize("ending", Ending, ids=str)
@pytest.mark.parametrize(("hops", "reason"), FAULTS.values(), ids=FAULTS)
def test_ov_4_chains_that_are_not_recorded(
    hops: list[tuple[int, str]], reason: Reason, ending: Ending, is_settled: bool
) -> None:
    record = settled(follow(to_a, (308, A))) if is_settled else to_a
    change = follow(record, *hops, ending=ending)
    assert (change.record, change.event, change.reason) == (None, Event.DROPPED, reason)


def test_five_hops_are_followed() -> None:
    hops = [(308, A), *((308, f"{A}{number}") for number in range(4))]
    assert settled(follow(to_a, *hops)).target == f"{A}3"


def test_a_move_whose_chain_grew_has_another_target() -> None:
    change = follow(settled(follow(to_a, (308, A))), (308, A), (308, B))
    assert change.event is Event.CHANGED and settled(change).target == B


def test_an_operator_confirms_what_is_pending() -> None:
    waiting = settled(follow(abroad, (308, OTHER), proof=Proof.NONE))
    change = confirm(waiting, NOW + 5)
    record = settled(change)
    assert change.event is Event.CHANGED
    assert (record.state, record.proof, record.target) == (State.MOVED, Proof.OPERATOR, OTHER)
    assert answer_of(record, NOW + 6) == Relocated(OTHER, DAY - 6)
    assert record.history[-1].note == "Confirmed by an operator."


@pytest.mark.parametrize("cross_domain", CrossDomain, ids=str)
def test_ov_1_what_an_operator_confirmed_needs_no_proof(cross_domain: CrossDomain) -> None:
    record = settled(confirm(unproven, NOW))
    rules = RelocationRules(cross_domain=cross_domain)
    change = follow(record, (308, OTHER), proof=Proof.NONE, rules=rules)
    assert (change.event, settled(change).proof) == (Event.CONFIRMED, Proof.OPERATOR)


def test_an_operator_confirmed_one_target_and_no_other() -> None:
    record = settled(confirm(unproven, NOW))
    assert settled(follow(record, (308, OTHER), (308, f"{OTHER}2"), proof=Proof.NONE)).state is State.PENDING


@pytest.mark.parametrize("record", [moved(), gone(), missing()], ids=lambda record: record.state)
def test_an_operator_confirms_nothing_else(record: Record) -> None:
    change = confirm(record, NOW)
    assert change.record is record and change.reason is Reason.NOTHING_PENDING


@pytest.mark.parametrize("record", [pending, moved(), gone(), missing()], ids=lambda record: record.state)
def test_an_operator_withdraws_any_record(record: Record) -> None:
    change = withdraw(record, NOW)
    assert (change.record, change.event, change.is_news) == (None, Event.WITHDRAWN, True)
    assert change.observation == Observation(NOW, record.status, None, None, "Withdrawn by an operator.")
    assert observe(change.record, seen(410)).event is Event.RECORDED


VECTORS = Path(__file__).resolve().parents[3] / "shared" / "samples" / "discovery" / "redirect_vectors.json"
START = "https://example.com/x.json"
LOOPING_START = "https://example.com/a"
with_vectors = pytest.mark.skipif(not VECTORS.exists(), reason=f"{VECTORS} is absent")


def vectors() -> list[Any]:
    return json.loads(VECTORS.read_text(encoding="utf-8")) if VECTORS.exists() else []


def walked(vector: Any) -> Change:
    """What a vector's hops make of the record of where they start, followed to their end."""
    start = LOOPING_START if vector.get("loop") else START
    is_document = vector.get("content_type") != "text/html"
    status, location = vector["hops"][0]
    first = observe(None, seen(status, location, url=start, is_document=status == 200 and is_document))
    if first.record is None or first.record.state is not State.PENDING:
        return first
    hops = [Hop(code, target(place)) for code, place in vector["hops"] if place is not None]
    is_there = vector["hops"][-1][0] == 200 and is_document
    is_same_site = hops[0].target.host == "example.com"
    proof = Proof.SAME_SITE if is_same_site else Proof.NONE
    return follow(first.record, *hops, ending=Ending.DOCUMENT if is_there else Ending.NO_DOCUMENT, proof=proof)


@with_vectors
@pytest.mark.parametrize("vector", vectors(), ids=lambda vector: vector["name"])
def test_redirect_vectors(vector: Any) -> None:
    change, expect = walked(vector), vector["expect"]
    record = change.record
    location = expect.get("record_location")
    if location == "pending_operator_or_identity_proof":
        assert record is not None and record.state is State.PENDING and change.reason is Reason.CROSS_DOMAIN
    elif location is not None:
        assert record is not None and (record.state, record.target) == (State.MOVED, location)
    elif expect.get("tombstone"):
        assert record is not None and record.state is State.GONE
    else:
        assert record is None or not record.is_listed
    if expect.get("error") in {"https_required", "redirect_loop"}:
        assert change.reason == expect["error"]
    if "warn" in expect:
        assert record is not None and "308" in record.history[0].note


def test_the_history_tells_the_whole_story() -> None:
    record = replace(moved(), fresh_until=NOW)
    states = [entry.state for entry in settled(observe(record, seen(410, at=NOW + 9))).history]
    assert states == [State.PENDING, State.MOVED, State.GONE]
