"""Records as they are told (CONTRACT.md §7)."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from proxy.relocation.records import (
    MOST_OBSERVATIONS,
    Observation,
    State,
    record_id,
    record_url,
    told,
    told_with_history,
    with_observation,
)
from tests.relocation.origin import NEW, NOW, URL, gone, missing, moved, recorded, seen, target

MOMENT = "2027-01-15T08:00:00.000Z"
TOMORROW = "2027-01-16T08:00:00.000Z"


def test_what_a_listing_says_of_a_move() -> None:
    assert told(moved()) == {
        "id": hashlib.sha256(URL.encode()).hexdigest(),
        "url": URL,
        "state": "moved",
        "target": NEW,
        "status": 308,
        "observed_at": MOMENT,
        "checked_at": MOMENT,
        "fresh_until": TOMORROW,
        "evidence": {
            "host": "example.com",
            "location": NEW,
            "proof": "same-site",
            "successor": None,
            "failures": 0,
            "misses": 0,
            "missing_since": None,
            "note": "",
        },
    }


def test_ov_6_what_a_listing_says_of_a_tombstone() -> None:
    row = told(gone(url="https://example.com:8443/x", successor="/y"))
    assert (row["state"], row["status"], row["target"]) == ("gone", 410, None)
    assert (row["observed_at"], row["checked_at"]) == (MOMENT, MOMENT)
    evidence = row["evidence"]
    assert isinstance(evidence, dict)
    assert (evidence["host"], evidence["successor"]) == ("example.com:8443", "https://example.com:8443/y")


def test_what_a_listing_says_of_a_missing_document() -> None:
    evidence = told(missing())["evidence"]
    assert isinstance(evidence, dict)
    assert (evidence["misses"], evidence["missing_since"]) == (3, MOMENT)


def test_the_history_is_told_oldest_first() -> None:
    withdrawn = Observation(NOW + 1, 200, None, None)
    record = replace(gone(), history=(*gone().history, withdrawn))
    assert "history" not in told(record)
    assert told_with_history(record)["history"] == [
        {
            "at": MOMENT,
            "host": "example.com",
            "status": 410,
            "state": "gone",
            "target": None,
            "fresh_until": TOMORROW,
            "note": "",
        },
        {
            "at": "2027-01-15T08:00:01.000Z",
            "host": "example.com",
            "status": 200,
            "state": None,
            "target": None,
            "fresh_until": None,
            "note": "",
        },
    ]


def test_a_record_without_history_is_told() -> None:
    evidence = told(replace(gone(), history=()))["evidence"]
    assert isinstance(evidence, dict) and evidence["note"] == ""


def test_no_secret_is_told() -> None:
    record = replace(moved(), url=f"{URL}?api_key=hunter22", target=f"{NEW}?api_key=hunter22")
    assert "hunter22" not in str(told_with_history(record))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (URL, URL),
        ("https://EXAMPLE.com:443/a", "https://example.com/a"),
        ("https://example.com:8443/a?b=%7e", "https://example.com:8443/a?b=%7e"),
        ("https://example.com/%7euser/%c3%a9", "https://example.com/~user/%C3%A9"),
        ("https://example.com/a?", "https://example.com/a?"),
        ("https://[2001:db8::1]/a", "https://[2001:db8::1]/a"),
    ],
)
def test_urls_are_recorded_in_normal_form(url: str, expected: str) -> None:
    assert record_url(target(url)) == expected
    assert record_url(target(expected)) == expected


def test_the_id_is_the_digest_of_the_url() -> None:
    assert record_id("https://example.com/") == "0f115db062b7c0dd030b16878c99dea5c354b49dc37b38eb8846179c7783e9d7"


def observation(number: int, status: int = 410) -> Observation:
    return Observation(NOW + number, status, State.GONE, None)


def test_the_history_is_bounded() -> None:
    history: tuple[Observation, ...] = ()
    for number in range(100):
        history = with_observation(history, observation(number, 300 + number))
    assert len(history) == MOST_OBSERVATIONS
    assert [history[0].status, history[-1].status] == [400 - MOST_OBSERVATIONS, 399]


def test_the_same_again_is_no_history() -> None:
    assert with_observation((observation(0),), observation(1)) == (observation(0),)
    assert len(with_observation((observation(0), observation(1, 404)), observation(2))) == 3


def test_what_is_only_counted_is_in_no_listing() -> None:
    assert not recorded(seen(404)).is_listed
    assert all(record.is_listed for record in (moved(), gone(), missing(), recorded(seen(308, NEW))))
