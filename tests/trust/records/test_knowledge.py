"""What is known of an authority: versions and their baselines, DNS, IPNS, the clock (TRUST.md §6.3, §6.4)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import pytest

from proxy.trust.records.knowledge import (
    MOST_IPNS_NAMES,
    MOST_MANIFESTS,
    DnsDidEvent,
    IpnsChange,
    IpnsEvent,
    Knowledge,
    ManifestChange,
    dns_did_seen,
    ipns_seen,
    is_clock_doubtful,
    is_expendable,
    is_published,
    manifest_accepted_from_mirror,
    manifest_accepted_from_origin,
    manifest_contradicted,
    manifest_withdrawn,
    with_pin,
    without_anchor,
)
from proxy.trust.records.pin import configured, confirmed, gone
from proxy.trust.records.publication import MIRRORS, ManifestEvent, edition
from tests.trust.records.domains import (
    CONTESTED_URL,
    DAY,
    DID,
    HOUR,
    LISTED,
    NOW,
    TAGGED,
    UNSIGNED_URL,
    URL,
    accepted,
    document,
    known_domain,
    manifest,
    mirrored,
    seen,
    version,
)

NOTHING = Knowledge("example.com", DID)
OTHER_DID = "did:web:example.com:shop"
YEAR: Final = 365 * DAY

Event = ManifestEvent


def change(known: Knowledge, members: dict[str, Any], created: float, source: str, hours: float) -> ManifestChange:
    """After a manifest with these members, signed at `created` (hours after NOW), has been accepted at `hours`."""
    body, now = manifest(**members), NOW + hours * HOUR
    made = version(body, NOW + created * HOUR)
    if source == "mirror":
        return manifest_accepted_from_mirror(known, URL, body, made, now)
    return manifest_accepted_from_origin(known, URL, body, made, signed=source == "signed", now=now)


# What is accepted hour by hour, as (source, members, hour of signing); every event, and which one is known then.
ORIGIN: dict[str, tuple[list[tuple[str, dict[str, Any], float]], list[Event], int]] = {
    "newer by sequence": (
        [("signed", {"x-sequence": 1}, 5), ("signed", {"x-sequence": 2}, 4)],
        [Event.FIRST, Event.NEWER],
        1,
    ),
    "newer by time": ([("signed", {"n": 1}, 5), ("signed", {"n": 2}, 6)], [Event.FIRST, Event.NEWER], 1),
    "the origin may go back": (
        [("signed", {"x-sequence": 2}, 5), ("signed", {"x-sequence": 1}, 6)],
        [Event.FIRST, Event.ORIGIN_REGRESSED],
        1,
    ),
    "the origin may go back in time": (
        [("signed", {"n": 1}, 5), ("signed", {"n": 2}, 4)],
        [Event.FIRST, Event.ORIGIN_REGRESSED],
        1,
    ),
    "the origin forgot to count": (
        [("signed", {"x-sequence": 2}, 5), ("signed", {"x-sequence": 2, "n": 1}, 6)],
        [Event.FIRST, Event.ORIGIN_REGRESSED],
        1,
    ),
    "a new baseline after going back": (
        [
            ("signed", {"x-sequence": 9}, 5),
            ("signed", {"x-sequence": 1}, 6),
            ("mirror", {"x-sequence": 2}, 7),
            ("mirror", {"x-sequence": 1}, 7),
        ],
        [Event.FIRST, Event.ORIGIN_REGRESSED, Event.NEWER, Event.SUPERSEDED],
        2,
    ),
    "signed again": ([("signed", {"n": 1}, 5), ("signed", {"n": 1}, 6)], [Event.FIRST, Event.SAME], 1),
    "another list of mirrors": (
        [("signed", {"n": 1}, 5), ("signed", {"n": 1, MIRRORS: []}, 5)],
        [Event.FIRST, Event.SAME],
        1,
    ),
    "mirror: newer": ([("signed", {"n": 1}, 5), ("mirror", {"n": 2}, 6)], [Event.FIRST, Event.NEWER], 1),
    "mirror: older": ([("signed", {"n": 1}, 5), ("mirror", {"n": 2}, 4)], [Event.FIRST, Event.SUPERSEDED], 0),
    "mirror: another of the same time": (
        [("signed", {"n": 1}, 5), ("mirror", {"n": 2}, 5)],
        [Event.FIRST, Event.EQUIVOCATION],
        0,
    ),
    "mirror: same, an older list of mirrors": (
        [("signed", {"n": 1}, 5), ("mirror", {"n": 1, MIRRORS: []}, 4)],
        [Event.FIRST, Event.SAME],
        0,
    ),
    "mirror: same, a list of the same time": (
        [("signed", {"n": 1}, 5), ("mirror", {"n": 1, MIRRORS: []}, 5)],
        [Event.FIRST, Event.SAME],
        0,
    ),
    "mirror: same, a newer list of mirrors": (
        [("signed", {"n": 1}, 5), ("mirror", {"n": 1, MIRRORS: []}, 6)],
        [Event.FIRST, Event.SAME],
        1,
    ),
    "mirror: fast forward is undone by the origin": (
        [("signed", {"x-sequence": 1}, 5), ("mirror", {"x-sequence": 2**40}, 6), ("signed", {"x-sequence": 2}, 7)],
        [Event.FIRST, Event.NEWER, Event.ORIGIN_REGRESSED],
        2,
    ),
}


@pytest.mark.parametrize(("came", "events", "index"), ORIGIN.values(), ids=ORIGIN)
def test_accepted_manifests(came: list[tuple[str, dict[str, Any], float]], events: list[Event], index: int) -> None:
    known, told = NOTHING, []
    for hours, (source, members, created) in enumerate(came):
        changed = change(known, members, created, source, hours)
        known = changed.knowledge
        told.append(changed.event)
    assert told == events
    source, members, created = came[index]
    body = manifest(**members)
    made = version(body, NOW + created * HOUR)
    assert known.manifests[URL].current == edition(body, made, signed=True, accepted_at=NOW + index * HOUR)


def test_an_unsigned_manifest_counts_from_when_it_was_first_seen() -> None:
    known = change(NOTHING, {"n": 1}, 0, "unsigned", 0).knowledge
    known = change(known, {"n": 1}, 5, "unsigned", 5).knowledge
    assert known.manifests[URL].version.created == NOW and not known.manifests[URL].signed
    assert known.manifests[URL].current.accepted_at == NOW + 5 * HOUR
    assert change(known, {"n": 2}, -1, "mirror", 6).event is Event.SUPERSEDED
    assert change(known, {"n": 2}, 1, "mirror", 6).event is Event.NEWER
    changed = change(known, {"n": 3}, 7, "unsigned", 7)
    assert changed.event is Event.NEWER and changed.knowledge.manifests[URL].version.created == NOW + 7 * HOUR
    signed = change(known, {"n": 1}, -3, "signed", 8)
    assert signed.event is Event.SAME and signed.knowledge.manifests[URL].version.created == NOW - 3 * HOUR


def test_a_withdrawn_manifest_is_forgotten() -> None:
    known = known_domain()
    left = manifest_withdrawn(known, URL, NOW + DAY)
    assert list(left.manifests) == [UNSIGNED_URL, CONTESTED_URL] and left.latest_time == NOW + DAY
    assert manifest_withdrawn(left, URL, NOW) == left


def test_few_manifests_are_known() -> None:
    known = NOTHING
    for hours, number in enumerate([*range(MOST_MANIFESTS), 0, MOST_MANIFESTS]):
        known = accepted(known, str(number), manifest(n=number), hours)
    assert list(known.manifests) == [*map(str, range(2, MOST_MANIFESTS)), "0", str(MOST_MANIFESTS)]


def test_the_domains_own_place_gives_way_to_no_other() -> None:
    own = "https://example.com/.well-known/agent.json"
    known = accepted(NOTHING, own, manifest(**LISTED))
    for number in range(2 * MOST_MANIFESTS):
        for path in (f"/{number}/", "/" * (number + 2)):
            known = accepted(known, f"https://example.com{path}.well-known/agent.json", manifest(**LISTED))
    assert own in known.manifests and len(known.manifests) == MOST_MANIFESTS


def test_a_pin_sets_the_did_and_the_time() -> None:
    pin, _ = seen(None, "a", 0)
    known = with_pin(replace(NOTHING, did=OTHER_DID), pin, NOW)
    assert (known.did, known.pin, known.latest_time) == (DID, pin, NOW)
    without = with_pin(known, None, NOW - DAY)
    assert (without.did, without.pin, without.latest_time) == (DID, None, NOW)


def test_an_anchor_that_is_configured_no_longer() -> None:
    anchor = configured(None, OTHER_DID, document("a", did=OTHER_DID), NOW).pin
    anchored = with_pin(known_domain(), anchor, NOW)
    left = without_anchor(anchored, DID)
    assert (left.did, left.pin, left.manifests) == (DID, None, anchored.manifests)
    assert without_anchor(known_domain(), OTHER_DID) == known_domain()
    assert without_anchor(NOTHING, OTHER_DID) == NOTHING


DNS = {
    "the same": (DID, DnsDidEvent.AGREES),
    "another": ("did:web:example.net", DnsDidEvent.CONFLICT),
    "another spelling": ("did:web:EXAMPLE.com", DnsDidEvent.CONFLICT),
    "none": (None, DnsDidEvent.NOTED),
}


@pytest.mark.parametrize(("did", "event"), DNS.values(), ids=DNS)
def test_dns_never_moves_the_pin(did: str | None, event: DnsDidEvent) -> None:
    known = known_domain()
    changed = dns_did_seen(known, did)
    assert changed.event is event and changed.knowledge == replace(known, dns_did=did)


def test_dns_before_there_is_a_pin() -> None:
    changed = dns_did_seen(NOTHING, OTHER_DID)
    assert changed.event is DnsDidEvent.NOTED and changed.knowledge.dns_did == OTHER_DID
    assert changed.knowledge.did == DID


def test_ipns_sequences_only_rise() -> None:
    known = ipns_seen(NOTHING, "k1", 5).knowledge
    assert ipns_seen(known, "k1", 4) == IpnsChange(known, IpnsEvent.BEHIND)
    assert ipns_seen(known, "k1", 5).event is IpnsEvent.SAME
    changed = ipns_seen(known, "k1", 6)
    assert changed.event is IpnsEvent.ADVANCED and changed.knowledge.ipns == {"k1": 6}
    assert ipns_seen(NOTHING, "k1", 0).knowledge.ipns == {"k1": 0}


def test_few_names_are_known() -> None:
    known = NOTHING
    for number in [*range(MOST_IPNS_NAMES), 0, 999]:
        sequence = known.ipns.get(str(number), 0) + 1
        known = ipns_seen(known, str(number), sequence).knowledge
    assert len(known.ipns) == MOST_IPNS_NAMES and list(known.ipns)[-2:] == ["0", "999"]
    assert "1" not in known.ipns and known.ipns["0"] == 2


CLOCK = {
    "on time": (0.0, False),
    "within the skew": (-300.0, False),
    "set back": (-301.0, True),
    "later": (1, False),
}


@pytest.mark.parametrize(("seconds", "doubtful"), CLOCK.values(), ids=CLOCK)
def test_a_clock_that_was_set_back(seconds: float, doubtful: bool) -> None:
    known = with_pin(NOTHING, seen(None, "a", 0)[0], NOW)
    assert is_clock_doubtful(known, NOW + seconds) is doubtful
    later = with_pin(known, known.pin, NOW - DAY)
    assert is_clock_doubtful(later, NOW + seconds) is doubtful, "learning under a wrong clock ends no doubt"
    assert not is_clock_doubtful(NOTHING, 0.0)


def ahead() -> Knowledge:
    """What was learnt by a clock that was a year ahead."""
    pin, _ = seen(None, "a", YEAR / HOUR)
    pin, _ = seen(pin, "a", YEAR / HOUR, validators=TAGGED)
    known = with_pin(NOTHING, pin, NOW + YEAR)
    return accepted(known, URL, manifest(**LISTED), YEAR / HOUR)


def test_the_domain_ends_a_doubt_about_the_clock() -> None:
    known = ahead()
    assert known.pin is not None and is_clock_doubtful(known, NOW)
    by_document = with_pin(known, seen(known.pin, "a", 0)[0], NOW)
    assert by_document.latest_time == NOW and not is_clock_doubtful(by_document, NOW)
    by_answer = with_pin(known, confirmed(known.pin, NOW), NOW)
    assert by_answer.latest_time == NOW and not is_clock_doubtful(by_answer, NOW)


def test_a_manifest_of_the_domain_tells_the_time_but_not_the_age_of_a_pin() -> None:
    known = accepted(ahead(), URL, manifest(**LISTED))
    assert known.latest_time == NOW and is_clock_doubtful(known, NOW)
    without = accepted(with_pin(ahead(), None, NOW), URL, manifest(**LISTED))
    assert without.latest_time == NOW and not is_clock_doubtful(without, NOW)
    anchored = with_pin(without, configured(None, DID, document("a"), NOW + YEAR).pin, NOW)
    assert not is_clock_doubtful(anchored, NOW), "what is configured never ages"


def test_nobody_else_ends_it() -> None:
    known = ahead()
    assert known.pin is not None
    pin = gone(known.pin, NOW)
    unasked = replace(known.pin, validators=replace(TAGGED, etag=None, last_modified=None))
    for left in (pin, unasked, confirmed(unasked, NOW), None, configured(None, DID, document("a"), NOW).pin):
        assert with_pin(known, left, NOW).latest_time == NOW + YEAR
    newer = mirrored(known, URL, manifest(n=2), YEAR / HOUR + 1)
    assert newer.latest_time == NOW + YEAR + HOUR
    assert (
        manifest_accepted_from_mirror(
            known, URL, manifest(n=2), version(manifest(n=2), NOW + 2 * YEAR), NOW
        ).knowledge.latest_time
        == NOW + YEAR
    )
    assert manifest_withdrawn(known, URL, NOW).latest_time == NOW + YEAR


def test_what_is_published_already() -> None:
    body = manifest(**LISTED)
    known = accepted(NOTHING, URL, body)
    assert is_published(known, URL, body, NOW, signed=True)
    assert not is_published(known, URL, body, NOW, signed=False)
    assert not is_published(known, URL, manifest(), NOW, signed=True)
    assert not is_published(known, UNSIGNED_URL, body, NOW, signed=True)
    assert not is_published(ahead(), URL, body, NOW, signed=True), "the domain is asked what time it is"
    assert not is_published(mirrored(known, URL, manifest(n=2), 1), URL, manifest(n=2), NOW, signed=True)


def test_contradicting_mirrors() -> None:
    known = accepted(NOTHING, URL, manifest(n=1, **LISTED))
    brought = mirrored(known, URL, manifest(n=2, **LISTED), 1)
    other = version(manifest(n=3), NOW + HOUR)
    change = manifest_contradicted(brought, URL, other)
    assert change.event is Event.EQUIVOCATION
    left = change.knowledge.manifests[URL]
    assert (left.published, left.carried) == (known.manifests[URL].published, None)
    assert left.claims == (brought.manifests[URL].version, other)
    assert manifest_contradicted(change.knowledge, URL, other) == ManifestChange(change.knowledge, Event.SUPERSEDED)
    assert manifest_contradicted(known, UNSIGNED_URL, other) == ManifestChange(known, Event.SUPERSEDED)
    against_the_domain = version(manifest(n=9), NOW)
    assert manifest_contradicted(known, URL, against_the_domain) == ManifestChange(known, Event.EQUIVOCATION)
    assert accepted(change.knowledge, URL, manifest(n=1, **LISTED), 2).manifests[URL].claims == ()


def test_a_copy_of_an_unknown_manifest_is_not_remembered() -> None:
    body = manifest(**LISTED)
    assert manifest_accepted_from_mirror(NOTHING, URL, body, version(body), NOW) == ManifestChange(
        NOTHING, Event.SUPERSEDED
    )


EXPENDABLE = {
    "nothing": (NOTHING, True),
    "a manifest": (accepted(NOTHING, URL, manifest()), True),
    "a name in DNS": (replace(NOTHING, dns_did=DID), True),
    "mirrors": (accepted(NOTHING, URL, manifest(**LISTED)), False),
    "mirrors of one before": (mirrored(accepted(NOTHING, URL, manifest(**LISTED)), URL, manifest(n=2), 1), False),
    "a pin": (with_pin(NOTHING, seen(None, "a", 0)[0], NOW), False),
    "everything": (known_domain(), False),
}


@pytest.mark.parametrize(("known", "may_go"), EXPENDABLE.values(), ids=EXPENDABLE)
def test_what_may_be_forgotten(known: Knowledge, may_go: bool) -> None:
    assert is_expendable(known) is may_go
