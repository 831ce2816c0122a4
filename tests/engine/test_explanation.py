"""`explain`: the decision and RFC 9111 §4.2.3 with numbers, as plain JSON values."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from proxy.caching.directives import NO_REQUEST_DIRECTIVES, RequestDirectives
from proxy.caching.generations import Mark
from proxy.caching.stored import StoredResponse
from proxy.discovery.classes import DocumentClass
from proxy.engine.explanation import explanation, summary, timestamp
from proxy.http.fields import Fields
from tests.simulators.engine import request
from tests.stores.samples import START, URI, response

ALL = {"all": Mark(1, START + 5)}
SOFT = {"soft:all": Mark(1, START + 5)}


def told(
    stored: StoredResponse | None,
    seconds: float,
    directives: RequestDirectives = NO_REQUEST_DIRECTIVES,
    marks: dict[str, Mark] | None = None,
) -> Any:
    variants = () if stored is None else (stored,)
    selected = stored
    return explanation(
        request(URI), directives, variants, selected, marks or {}, 0.0, DocumentClass.AGENT_CARD, START + seconds
    )


WINDOW = response(stale_while_revalidate=30.0)
DECISIONS: dict[str, tuple[StoredResponse | None, float, RequestDirectives, str, str]] = {
    "hit": (response(), 20, NO_REQUEST_DIRECTIVES, "hit", "fresh for another 40 s"),
    "stale hit": (WINDOW, 70, NO_REQUEST_DIRECTIVES, "stale-hit", "stale for 10 s, served while one refresh runs"),
    "revalidate": (
        response(),
        70,
        NO_REQUEST_DIRECTIVES,
        "revalidate",
        "the origin must be asked first, conditionally (fwd=stale)",
    ),
    "revalidate whole": (
        response(fields=Fields()),
        70,
        NO_REQUEST_DIRECTIVES,
        "revalidate",
        "the origin must be asked first, without a validator (fwd=stale)",
    ),
    "miss": (None, 0, NO_REQUEST_DIRECTIVES, "miss", "nothing stored answers (fwd=uri-miss)"),
    "only if cached": (
        None,
        0,
        RequestDirectives(only_if_cached=True),
        "unsatisfiable",
        "only-if-cached, and nothing stored may answer",
    ),
}


@pytest.mark.parametrize(("stored", "seconds", "directives", "answer", "why"), DECISIONS.values(), ids=DECISIONS)
def test_decisions(
    stored: StoredResponse | None, seconds: float, directives: RequestDirectives, answer: str, why: str
) -> None:
    assert told(stored, seconds, directives)["decision"] == {"answer": answer, "why": why}


@pytest.mark.parametrize(
    ("marks", "standing"),
    [
        pytest.param({}, "valid", id="none"),
        pytest.param(ALL, "purged by all", id="hard"),
        pytest.param(SOFT, "marked stale at 2027-01-15T08:00:05.000Z", id="soft"),
    ],
)
def test_standing(marks: dict[str, Mark], standing: str) -> None:
    [variant] = told(response(), 1, marks=marks)["variants"]
    assert variant["purge"] == {"generation": 0, "standing": standing}


def test_arithmetic() -> None:
    [variant] = told(response(born=START, stale_if_error=100.0), 70)["variants"]
    freshness = variant["freshness"]
    assert {
        name: freshness[name]
        for name in ("lifetime_seconds", "lifetime_source", "current_age", "resident_time", "ttl", "is_fresh")
    } == {
        "lifetime_seconds": 60.0,
        "lifetime_source": "max-age",
        "current_age": 70.0,
        "resident_time": 70.0,
        "ttl": -10,
        "is_fresh": False,
    }
    assert freshness["stale_permit"] == "stale-if-error"
    assert freshness["fresh_until"] == "2027-01-15T08:01:00.000Z"


@pytest.mark.parametrize(
    ("initial", "age_value"),
    [pytest.param(0.0, 0.0, id="no-age"), pytest.param(30.0, 30.0, id="received-with-an-age")],
)
def test_age_value_follows_from_the_initial_age(initial: float, age_value: float) -> None:
    stored = replace(response(), born=START - initial)
    [variant] = told(stored, 1)["variants"]
    assert (variant["freshness"]["age_value"], variant["freshness"]["corrected_initial_age"]) == (
        age_value,
        initial,
    )


def test_everything_is_json() -> None:
    json.dumps(told(response(), 1), allow_nan=False)
    assert summary(response(), START + 1)["selecting"] == {}
    assert timestamp(START + 0.25) == "2027-01-15T08:00:00.250Z"
