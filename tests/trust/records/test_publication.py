"""A manifest as its domain has published it, and what mirrors have brought of it (TRUST.md §5, §6.4)."""

from __future__ import annotations

import hashlib
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.trust.records.publication import (
    MIRRORS,
    MOST_LISTING,
    KnownManifest,
    ManifestEvent,
    Publication,
    carried,
    contradicted,
    edition,
    published,
)
from proxy.trust.rollback import MOST_CLAIMS, Accepted, Contested, Equivocal, judge
from proxy.trust.verdict import Rejected
from tests.trust.records.domains import HOUR, LISTED, NOW, URL, manifest, version

Event = ManifestEvent
Json = dict[str, Any]

ONE: Final = {"n": 1, "x-sequence": 1}
TWO: Final = {"n": 2, "x-sequence": 2}
OTHER_TWO: Final = {"n": "other", "x-sequence": 2}
THREE: Final = {"n": 3, "x-sequence": 3}
OTHER_THREE: Final = {"n": "other", "x-sequence": 3}


def step(known: KnownManifest | None, source: str, members: Json, created: float = 0.0) -> Publication:
    """After a manifest with these members and mirrors has come, signed at `created`, hours after NOW.

    `source`: "signed" or "unsigned" from the domain, or "mirror", which is judged first, as the engine does.
    """
    body = manifest(**members, **LISTED)
    made = version(body, NOW + created * HOUR)
    new = edition(body, made, signed=source != "unsigned", accepted_at=NOW + created * HOUR)
    if source != "mirror":
        return published(known, URL, new)
    verdict = judge(made, None if known is None else known.baseline)
    if isinstance(verdict, Accepted):
        return carried(known, new)
    return contradicted(known, made) if isinstance(verdict, Equivocal) else Publication(known, Event.SUPERSEDED)


def steps(*taken: tuple[Any, ...]) -> tuple[KnownManifest, list[Event]]:
    known, events = None, []
    for one in taken:
        publication = step(known, *one)
        known = publication.manifest
        events.append(publication.event)
    assert known is not None
    return known, events


# What comes in turn; the events; and which `n` is believed then.
STEPS: dict[str, tuple[list[tuple[Any, ...]], list[Event], Any]] = {
    "a mirror brings a newer one": ([("signed", ONE), ("mirror", TWO)], [Event.FIRST, Event.NEWER], 2),
    "mirrors contradict each other": (
        [("signed", ONE), ("mirror", TWO), ("mirror", OTHER_TWO)],
        [Event.FIRST, Event.NEWER, Event.EQUIVOCATION],
        1,
    ),
    "neither is believed again": (
        [("signed", ONE), ("mirror", TWO), ("mirror", OTHER_TWO), ("mirror", TWO), ("mirror", OTHER_TWO)],
        [Event.FIRST, Event.NEWER, Event.EQUIVOCATION, Event.SUPERSEDED, Event.SUPERSEDED],
        1,
    ),
    "the domain's own from a mirror is": (
        [("signed", ONE), ("mirror", TWO), ("mirror", OTHER_TWO), ("mirror", ONE, 9)],
        [Event.FIRST, Event.NEWER, Event.EQUIVOCATION, Event.SAME],
        1,
    ),
    "a version above both is": (
        [("signed", ONE), ("mirror", TWO), ("mirror", OTHER_TWO), ("mirror", THREE)],
        [Event.FIRST, Event.NEWER, Event.EQUIVOCATION, Event.NEWER],
        3,
    ),
    "and may be contradicted in turn": (
        [("signed", ONE), ("mirror", TWO), ("mirror", OTHER_TWO), ("mirror", THREE), ("mirror", OTHER_THREE)],
        [Event.FIRST, Event.NEWER, Event.EQUIVOCATION, Event.NEWER, Event.EQUIVOCATION],
        1,
    ),
    "without sequences, by when they were signed": (
        [("signed", {"n": 1}), ("mirror", {"n": 2}, 5), ("mirror", {"n": 3}, 5), ("mirror", {"n": 2}, 6)],
        [Event.FIRST, Event.NEWER, Event.EQUIVOCATION, Event.SUPERSEDED],
        1,
    ),
    "the domain settles it with one of the two": (
        [("signed", ONE), ("mirror", TWO), ("mirror", OTHER_TWO), ("signed", OTHER_TWO), ("mirror", TWO)],
        [Event.FIRST, Event.NEWER, Event.EQUIVOCATION, Event.NEWER, Event.EQUIVOCATION],
        "other",
    ),
    "the domain settles it with what it said before": (
        [("signed", ONE), ("mirror", TWO), ("mirror", OTHER_TWO), ("signed", ONE), ("mirror", TWO)],
        [Event.FIRST, Event.NEWER, Event.EQUIVOCATION, Event.SAME, Event.NEWER],
        2,
    ),
    "a mirror contradicts the domain": (
        [("signed", TWO), ("mirror", OTHER_TWO), ("mirror", TWO, 1)],
        [Event.FIRST, Event.EQUIVOCATION, Event.SAME],
        2,
    ),
    "what a mirror brought is signed again": (
        [("signed", {"n": 1}), ("mirror", {"n": 2}, 5), ("mirror", {"n": 2}, 6)],
        [Event.FIRST, Event.NEWER, Event.SAME],
        2,
    ),
    "an older one": (
        [("signed", ONE), ("mirror", THREE), ("mirror", TWO)],
        [Event.FIRST, Event.NEWER, Event.SUPERSEDED],
        3,
    ),
    "the domain goes back behind a mirror": (
        [("signed", ONE), ("mirror", THREE), ("signed", TWO)],
        [Event.FIRST, Event.NEWER, Event.ORIGIN_REGRESSED],
        2,
    ),
}


@pytest.mark.parametrize(("taken", "events", "believed"), STEPS.values(), ids=STEPS)
def test_what_comes_in_turn(taken: list[tuple[Any, ...]], events: list[Event], believed: Any) -> None:
    known, told = steps(*taken)
    assert told == events
    assert known.version.core == version(manifest(n=believed, **_sequence_of(taken, believed))).core
    assert known.mirrors == LISTED[MIRRORS] and known.lists_mirrors


def _sequence_of(taken: list[tuple[Any, ...]], believed: Any) -> Json:
    [sequence] = {members.get("x-sequence") for _, members, *_ in taken if members["n"] == believed}
    return {} if sequence is None else {"x-sequence": sequence}


def test_both_claims_are_noted_until_the_domain_speaks() -> None:
    known, _ = steps(("signed", ONE), ("mirror", TWO), ("mirror", OTHER_TWO))
    claims = (version(manifest(**TWO)), version(manifest(**OTHER_TWO)))
    assert known.claims == claims and known.baseline == Contested(version(manifest(**ONE)), claims)
    body = manifest(**ONE, **LISTED)
    assert not known.is_published_as(body, signed=True)
    settled = step(known, "signed", ONE).manifest
    assert settled is not None and settled.claims == () and settled.baseline == version(manifest(**ONE))
    assert settled.is_published_as(body, signed=True) and not settled.is_published_as(body, signed=False)
    assert not settled.is_published_as(body + b" ", signed=True)


def test_who_contradicts_himself_without_end_is_heard_no_more() -> None:
    known, _ = steps(("signed", {"n": 0, "x-sequence": 0}))
    for number in range(1, MOST_CLAIMS):
        for variant in "ab":
            changed = step(known, "mirror", {"n": variant, "x-sequence": number}).manifest
            assert changed is not None and len(changed.claims) <= MOST_CLAIMS
            known = changed
    assert len(known.claims) == MOST_CLAIMS and known.carried is None
    fresh = version(manifest(n="fresh", **{"x-sequence": 99}), NOW + HOUR)
    assert isinstance(judge(fresh, known.baseline), Equivocal)
    assert judge(known.version, known.baseline) == Accepted(is_newer=False)
    assert step(known, "mirror", {"n": 0, "x-sequence": 0}, 1).event is Event.SAME
    old = judge(version(manifest(n="old", **{"x-sequence": -1})), known.baseline)
    assert isinstance(old, Rejected) and not isinstance(old, Equivocal)


COPIES = st.tuples(
    st.sampled_from(["signed", "unsigned", "mirror", "mirror", "mirror", "mirror"]),
    st.builds(
        lambda n, sequence: {"n": n} if sequence is None else {"n": n, "x-sequence": sequence},
        st.integers(0, 2),
        st.none() | st.integers(0, 6),
    ),
    st.integers(0, 4),
)


@given(st.lists(COPIES, max_size=40))
def test_whatever_comes(copies: list[tuple[str, Json, int]]) -> None:
    """Mirrors never change what the domain said, and none of them brings back what has been contested."""
    known = None
    for source, members, created in copies:
        before, known = known, step(known, source, members, created).manifest
        if source != "mirror":
            assert known is not None and known.carried is None and known.claims == ()
        elif before is not None:
            assert known is not None and known.published == before.published
            assert known.claims[: len(before.claims)] == before.claims and len(known.claims) <= MOST_CLAIMS
            assert known.version.core not in {claim.core for claim in known.claims} - {known.published.version.core}
        else:
            assert known is None


def test_a_copy_that_was_accepted_too_late() -> None:
    """Between the verdict and now another mirror has brought another one of the same version."""
    known, _ = steps(("signed", ONE), ("mirror", TWO))
    body = manifest(**OTHER_TWO, **LISTED)
    late = carried(known, edition(body, version(body), signed=True, accepted_at=NOW))
    assert late.event is Event.EQUIVOCATION and late.manifest is not None and late.manifest.carried is None
    body = manifest(**ONE)
    behind = carried(known, edition(body, version(body), signed=True, accepted_at=NOW))
    assert behind == Publication(known, Event.SUPERSEDED)


def test_only_the_domain_makes_a_manifest_known() -> None:
    assert step(None, "mirror", ONE) == Publication(None, Event.SUPERSEDED)
    assert contradicted(None, version(manifest(**ONE))) == Publication(None, Event.SUPERSEDED)


def test_an_unsigned_one_that_was_dated_ahead() -> None:
    ahead, _ = steps(("unsigned", {"n": 1}, 400 * 24))
    back = step(ahead, "unsigned", {"n": 1}, 1).manifest
    assert back is not None and back.version.created == NOW + HOUR


BODIES: dict[str, tuple[Json, bool]] = {
    "mirrors": (LISTED, True),
    "an invalid mirror": ({MIRRORS: [None]}, True),
    "no member": ({}, False),
    "no mirror": ({MIRRORS: []}, False),
    "null": ({MIRRORS: None}, False),
    "an object": ({MIRRORS: {"a": 1}}, False),
    "a text": ({MIRRORS: "https://mirror.example/"}, False),
    "a member deep inside": ({"site": LISTED}, False),
}


@pytest.mark.parametrize(("members", "is_kept"), BODIES.values(), ids=BODIES)
def test_the_list_is_kept_and_nothing_else(members: Json, is_kept: bool) -> None:
    body = manifest(**members)
    kept = edition(body, version(body), signed=True, accepted_at=NOW)
    assert bool(kept.listing) is is_kept and kept.sha256 == hashlib.sha256(body).hexdigest()
    assert kept.mirrors == (members[MIRRORS] if is_kept else [])
    known = KnownManifest(URL, kept)
    assert known.lists_mirrors is is_kept and known.is_of(body) and not known.is_of(b"")


def test_of_a_long_list_the_head_is_kept() -> None:
    mirrors = [f"https://mirror.example/{number}" for number in range(100)]
    body = manifest(**{MIRRORS: mirrors})
    assert edition(body, version(body), signed=True, accepted_at=NOW).mirrors == mirrors[:64]
    body = manifest(**{MIRRORS: ["https://mirror.example/", "x" * MOST_LISTING, "https://later.example/"]})
    assert edition(body, version(body), signed=True, accepted_at=NOW).mirrors == ["https://mirror.example/"]


def test_mirrors_of_what_is_published_count_too() -> None:
    known, _ = steps(("signed", ONE))
    body = manifest(**TWO)
    newer = carried(known, edition(body, version(body), signed=True, accepted_at=NOW)).manifest
    assert newer is not None and newer.mirrors == [] and newer.lists_mirrors


def test_names_may_be_escaped() -> None:
    body = b'{"x-independent\\u002dmirrors":["https://mirror.example/"]}'
    assert edition(body, version(body), signed=True, accepted_at=NOW).mirrors == ["https://mirror.example/"]
