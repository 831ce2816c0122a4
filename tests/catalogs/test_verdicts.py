"""Where listed URLs stand: every row of the table of DISCOVERY_FORMATS.md §9, and the rules that it rests on."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from proxy.catalogs.verdicts import UNKNOWN, Standing, Verdict, standing_of
from proxy.http.timestamps import timestamp
from proxy.relocation.confirmation import Ending, Hop
from proxy.relocation.records import Proof, Record, State, record_id
from proxy.relocation.rules import observe
from proxy.relocation.sightings import Sighting, Source
from tests.catalogs.documents import NEW, ONE, THREE, TWO, gone, ledger, moved
from tests.relocation import origin
from tests.relocation.origin import DAY, NOW, OTHER, URL, follow, missing, recorded, seen


def standing(key: str, *records: Record, sighting: Sighting | None = None, now: float = NOW) -> Standing:
    return standing_of(key, ledger(*records), sighting, now)


def answered(status: int, *, is_document: bool = False) -> Sighting:
    return Sighting(status, NOW, is_document, Source.PROBE)


# What the origin of URL answers; what its word makes of an entry, and why not more where it could be.
TABLE: dict[str, tuple[list[Record], Sighting | None, Verdict, str | None]] = {
    "200 valid": ([], answered(200, is_document=True), Verdict.CONFIRMED, None),
    "200 wrong kind": ([], answered(200), Verdict.UNCONFIRMED, "not-a-document"),
    "301": ([origin.moved(seen(301, origin.NEW))], None, Verdict.SUPERSEDED, None),
    "308": ([origin.moved()], None, Verdict.SUPERSEDED, None),
    "308 not followed yet": ([recorded(seen(308, origin.NEW))], None, Verdict.PENDING, None),
    "308 that is not recorded": ([], answered(308), Verdict.UNCONFIRMED, "nothing-recorded"),
    "301 that is not recorded": ([], answered(301), Verdict.UNCONFIRMED, "nothing-recorded"),
    "302": ([], answered(302), Verdict.UNCONFIRMED, "not-permanent"),
    "307": ([], answered(307), Verdict.UNCONFIRMED, "not-permanent"),
    "303": ([], answered(303), Verdict.UNCONFIRMED, "not-permanent"),
    "300": ([], answered(300), Verdict.UNCONFIRMED, "not-permanent"),
    "304": ([], answered(304, is_document=True), Verdict.CONFIRMED, None),
    "304 of the wrong kind": ([], answered(304), Verdict.UNCONFIRMED, "not-a-document"),
    "410": ([origin.gone()], None, Verdict.REMOVED, None),
    "410 that is not recorded": ([], answered(410), Verdict.UNCONFIRMED, "nothing-recorded"),
    "404": ([recorded(seen(404))], None, Verdict.UNCONFIRMED, "not-found"),
    "404 that is not recorded": ([], answered(404), Verdict.UNCONFIRMED, "not-found"),
    "404 for long": ([missing()], None, Verdict.UNCONFIRMED, "not-found"),
    "401": ([], answered(401), Verdict.UNCONFIRMED, "not-available-to-us"),
    "403": ([], answered(403), Verdict.UNCONFIRMED, "not-available-to-us"),
    "429": ([], answered(429), Verdict.UNCONFIRMED, "not-available-to-us"),
    "500": ([], answered(500), Verdict.UNCONFIRMED, "unavailable"),
    "503": ([], answered(503), Verdict.UNCONFIRMED, "unavailable"),
    "timeout": ([], answered(0), Verdict.UNCONFIRMED, "unavailable"),
    "nobody has asked": ([], None, Verdict.UNCONFIRMED, None),
}


@pytest.mark.parametrize(("records", "sighting", "verdict", "reason"), TABLE.values(), ids=TABLE)
def test_the_table(records: list[Record], sighting: Sighting | None, verdict: Verdict, reason: str | None) -> None:
    found = standing(URL, *records, sighting=sighting)
    assert (found.verdict, found.evidence.get("reason")) == (verdict, reason)
    if verdict is Verdict.SUPERSEDED:
        assert found.final_url == origin.NEW
    elif verdict is Verdict.REMOVED:
        assert found.final_url is None
    else:
        assert found.final_url in (URL, None)
    json.dumps(dict(found.evidence))


OUTAGES = [answered(status) for status in (0, 401, 403, 404, 410, 429, 500, 302, 308)]


@pytest.mark.parametrize("sighting", OUTAGES, ids=lambda sighting: str(sighting.status))
def test_ov_1_only_a_record_overrides(sighting: Sighting) -> None:
    assert standing(URL, sighting=sighting).verdict is Verdict.UNCONFIRMED
    assert standing(URL, origin.moved(), sighting=sighting).verdict is Verdict.SUPERSEDED
    assert standing(URL, origin.gone(), sighting=sighting).verdict is Verdict.REMOVED


@pytest.mark.parametrize("url", ["http://example.com/agent-card.json", "https://mirror.example/agent-card.json"])
def test_ov_1_what_others_say_is_no_record(url: str) -> None:
    answer = seen(410, url=url, is_origin=url.startswith("http:"))
    assert observe(None, answer).record is None


def test_ov_1_a_stored_copy_does_not_outweigh_the_record() -> None:
    copy = Sighting(200, NOW + 1, True, Source.CACHE)
    assert standing(URL, origin.gone(), sighting=copy).verdict is Verdict.REMOVED
    assert standing(URL, origin.moved(), sighting=copy).verdict is Verdict.SUPERSEDED


def test_ov_2_what_follows_a_temporary_hop_is_not_recorded() -> None:
    hops = [Hop(308, origin.target(origin.NEW)), Hop(302, origin.target("https://example.com/tmp.json"))]
    record = follow(recorded(seen(308, origin.NEW)), *hops).record
    assert record is not None
    assert standing(URL, record).final_url == origin.NEW


def test_ov_3_another_domain_is_pending_without_proof() -> None:
    record = follow(recorded(seen(308, OTHER)), (308, OTHER), proof=Proof.NONE).record
    assert record is not None
    found = standing(URL, record)
    assert (found.verdict, found.final_url) == (Verdict.PENDING, URL)
    assert (found.evidence["location"], found.evidence["proof"]) == (OTHER, "none")


def test_ov_3_another_domain_with_proof() -> None:
    record = follow(recorded(seen(308, OTHER)), (308, OTHER), proof=Proof.PROVEN).record
    assert record is not None
    found = standing(URL, record)
    assert (found.verdict, found.final_url, found.evidence["proof"]) == (Verdict.SUPERSEDED, OTHER, "proven")


@pytest.mark.parametrize("days", [0, 0.99, 1, 30, 3000])
def test_ov_5_a_move_holds_until_the_origin_says_otherwise(days: float) -> None:
    found = standing(URL, origin.moved(), now=NOW + days * DAY)
    assert (found.verdict, found.final_url) == (Verdict.SUPERSEDED, origin.NEW)
    assert found.evidence["fresh_until"] == timestamp(NOW + DAY)
    assert found.evidence["is_fresh"] is (days < 1)


def test_ov_5_a_document_at_the_old_url_withdraws_the_move() -> None:
    revived = observe(origin.moved(), seen(200, at=NOW + DAY))
    assert revived.record is None
    assert standing(URL, sighting=answered(200, is_document=True)).verdict is Verdict.CONFIRMED


@pytest.mark.parametrize("days", [0, 1, 30, 3000])
def test_ov_6_a_tombstone_holds_until_the_origin_says_otherwise(days: float) -> None:
    found = standing(URL, origin.gone(), now=NOW + days * DAY)
    assert found.verdict is Verdict.REMOVED
    assert found.evidence["is_fresh"] is (days < 1)


def test_ov_7_a_successor_is_told_and_not_followed() -> None:
    found = standing(URL, origin.gone(successor="/new.json"))
    assert (found.verdict, found.final_url) == (Verdict.REMOVED, None)
    assert found.evidence["successor"] == origin.NEW


def test_the_evidence() -> None:
    found = standing(ONE, moved(ONE), now=NOW + 5)
    assert found.evidence == {
        "source": "record",
        "state": "moved",
        "status": 308,
        "observed_at": timestamp(NOW),
        "checked_at": timestamp(NOW),
        "fresh_until": timestamp(NOW + DAY),
        "is_fresh": True,
        "records": [record_id(ONE)],
        "proof": "same-site",
    }
    assert standing(URL, missing()).evidence["misses"] == 3
    found = standing(ONE, sighting=Sighting(200, NOW, True, Source.CACHE))
    assert found.evidence == {"source": "cache", "status": 200, "checked_at": timestamp(NOW)}
    assert standing(ONE, sighting=answered(0)).evidence["status"] is None


def test_of_what_nothing_is_known_there_is_one_value() -> None:
    assert standing(ONE) is standing(TWO) is UNKNOWN
    assert UNKNOWN.evidence == {"source": "none"}


def chain(length: int) -> list[Record]:
    """As many moves, the first of ONE, the last to NEW."""
    places = [ONE, *(f"https://agents.example.com/step-{step}" for step in range(1, length)), NEW]
    return [moved(place, target) for place, target in pairwise(places)]


@pytest.mark.parametrize("length", [1, 2, 5])
def test_moves_are_followed(length: int) -> None:
    records = chain(length)
    found = standing(ONE, *records)
    assert (found.verdict, found.final_url) == (Verdict.SUPERSEDED, NEW)
    assert found.evidence["records"] == [record_id(record.url) for record in records]


@pytest.mark.parametrize("length", [6, 30])
def test_ov_4_more_than_five_moves_are_not(length: int) -> None:
    found = standing(ONE, *chain(length))
    assert (found.verdict, found.final_url) == (Verdict.UNCONFIRMED, ONE)
    assert found.evidence["reason"] == "too_many_redirects"


LOOPS = {
    "of two": [moved(ONE, TWO), moved(TWO, ONE)],
    "behind": [moved(ONE, TWO), moved(TWO, THREE), moved(THREE, TWO)],
    "in another spelling": [moved(ONE, TWO), moved(TWO, "https://agents.example.com/%6Fne.json")],
    "nowhere": [moved(ONE, target=None)],
}


@pytest.mark.parametrize("records", LOOPS.values(), ids=LOOPS)
def test_ov_4_a_loop_settles_nothing(records: list[Record]) -> None:
    found = standing(ONE, *records)
    assert (found.verdict, found.evidence["reason"]) == (Verdict.UNCONFIRMED, "redirect_loop")


def test_what_moved_to_what_is_gone_is_gone() -> None:
    found = standing(ONE, moved(ONE, TWO), moved(TWO, THREE), gone(THREE, successor=NEW))
    assert (found.verdict, found.final_url, found.evidence["successor"]) == (Verdict.REMOVED, None, NEW)
    assert found.evidence["records"] == [record_id(url) for url in (ONE, TWO, THREE)]
    assert found.evidence["status"] == 308


@pytest.mark.parametrize("state", [State.PENDING, State.MISSING, State.UNCONFIRMED])
def test_what_is_not_settled_at_the_end_changes_nothing_of_the_move(state: State) -> None:
    end = moved(TWO, THREE, state=state) if state is State.PENDING else gone(TWO, state=state)
    found = standing(ONE, moved(ONE, TWO), end)
    assert (found.verdict, found.final_url) == (Verdict.SUPERSEDED, TWO)


def test_a_way_is_as_fresh_as_its_stalest_step() -> None:
    found = standing(ONE, moved(ONE, TWO), moved(TWO, THREE, fresh_until=NOW + 5), now=NOW + 6)
    assert (found.evidence["fresh_until"], found.evidence["is_fresh"]) == (timestamp(NOW + 5), False)


def test_what_the_ledger_raises_is_passed_on() -> None:
    def fails(_: str) -> Record | None:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        standing_of(ONE, fails, None, NOW)


VECTORS = Path(__file__).resolve().parents[3] / "shared" / "samples" / "discovery" / "redirect_vectors.json"
START = "https://example.com/x.json"
with_vectors = pytest.mark.skipif(not VECTORS.exists(), reason=f"{VECTORS} is absent")


def vectors() -> list[Any]:
    found = json.loads(VECTORS.read_text(encoding="utf-8")) if VECTORS.exists() else []
    return [vector for vector in found if not vector.get("loop") and "format" not in vector]


def walked(vector: Any) -> Record | None:
    """The record of where the hops of a vector start, once they have been followed to their end."""
    is_document = vector.get("content_type") != "text/html"
    status, location = vector["hops"][0]
    record = observe(None, seen(status, location, url=START, is_document=status == 200 and is_document)).record
    if record is None or record.state is not State.PENDING:
        return record
    hops = [Hop(code, origin.target(place)) for code, place in vector["hops"] if place is not None]
    is_there = vector["hops"][-1][0] == 200 and is_document
    proof = Proof.SAME_SITE if hops[0].target.host == "example.com" else Proof.NONE
    return follow(record, *hops, ending=Ending.DOCUMENT if is_there else Ending.NO_DOCUMENT, proof=proof).record


@with_vectors
@pytest.mark.parametrize("vector", vectors(), ids=lambda vector: vector["name"])
def test_redirect_vectors(vector: Any) -> None:
    record, expect = walked(vector), vector["expect"]
    found = standing(START, *([] if record is None else [record]))
    location = expect.get("record_location")
    if expect.get("override_third_party"):
        assert found.verdict is Verdict.REMOVED
    elif location is None:
        assert found.verdict is Verdict.UNCONFIRMED
    elif location.startswith("https:"):
        assert (found.verdict, found.final_url) == (Verdict.SUPERSEDED, location)
    else:
        assert found.verdict is Verdict.PENDING
