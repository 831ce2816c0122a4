"""How long answers are kept, and how many."""

from __future__ import annotations

from dataclasses import replace

import pytest

from proxy.discovery.records.dnsvalues import AddressRecord, DnsAnswer, DnsOutcome, Security, Svcb, Txt
from proxy.upstream.dns.cache import AnswerCache, lifetime
from tests.simulators.clock import START as NOW

ANSWER = DnsAnswer(
    name="_agent.example.com",
    type="TXT",
    outcome=DnsOutcome.ANSWER,
    owner="_agent.example.com",
    records=(Txt((b"v=uaix1",)),),
    ttl=60,
    expires=NOW + 60,
    security=Security.INSECURE,
    resolver="127.0.0.1:53",
)

LIFETIMES = {
    "answer": (DnsOutcome.ANSWER, 60, 60),
    "answer, TTL 0": (DnsOutcome.ANSWER, 0, 0),
    "answer, a day": (DnsOutcome.ANSWER, 86_400, 86_400),
    "answer, longer": (DnsOutcome.ANSWER, 2**31 - 1, 86_400),
    "NODATA": (DnsOutcome.NODATA, 120, 120),
    "NODATA, longer": (DnsOutcome.NODATA, 3600, 300),
    "NXDOMAIN, longer": (DnsOutcome.NXDOMAIN, 301, 300),
    "NXDOMAIN without SOA": (DnsOutcome.NXDOMAIN, 0, 0),
    "failure": (DnsOutcome.FAILURE, 5, 5),
    "failure, longer": (DnsOutcome.FAILURE, 31, 30),
}


@pytest.mark.parametrize(("outcome", "ttl", "seconds"), LIFETIMES.values(), ids=LIFETIMES)
def test_lifetime(outcome: DnsOutcome, ttl: float, seconds: float) -> None:
    assert lifetime(outcome, ttl) == seconds


def test_kept_until_it_expires() -> None:
    cache = AnswerCache()
    cache.put(ANSWER, NOW)
    assert cache.get("_agent.example.com", "TXT", NOW + 59.9) == replace(ANSWER, cached=True)
    assert cache.get("_agent.example.com", "SVCB", NOW) is None
    assert cache.get("example.com", "TXT", NOW) is None
    assert cache.get("_agent.example.com", "TXT", NOW + 60) is None
    assert len(cache) == 0


def test_ttl_0_is_not_kept() -> None:
    cache = AnswerCache()
    cache.put(replace(ANSWER, expires=NOW), NOW)
    assert len(cache) == 0


def test_the_newest_answer_is_kept() -> None:
    cache = AnswerCache()
    cache.put(ANSWER, NOW)
    cache.put(replace(ANSWER, records=()), NOW)
    kept = cache.get(ANSWER.name, ANSWER.type, NOW)
    assert kept is not None and kept.records == () and len(cache) == 1
    cache.put(replace(ANSWER, expires=NOW), NOW)
    assert len(cache) == 0


def test_the_least_used_goes_first() -> None:
    cache = AnswerCache(max_answers=2)
    first, second, third = (replace(ANSWER, name=name) for name in ("a.example", "b.example", "c.example"))
    cache.put(first, NOW)
    cache.put(second, NOW)
    assert cache.get("a.example", "TXT", NOW)
    cache.put(third, NOW)
    assert [bool(cache.get(answer.name, "TXT", NOW)) for answer in (first, second, third)] == [True, False, True]


RECORDS = {
    "text": (Txt((b"x" * 3000,)), 2),
    "many strings": (Txt((b"",) * 100), 1),
    "service": (Svcb(1, ".", {65280: b"x" * 3000}), 2),
}


@pytest.mark.parametrize(("record", "kept"), RECORDS.values(), ids=RECORDS)
def test_bounded_in_octets(record: Txt | Svcb, kept: int) -> None:
    cache = AnswerCache(max_octets=10_000)
    for number in range(10):
        cache.put(replace(ANSWER, name=f"{number}.example", records=(record,)), NOW)
    assert len(cache) == kept


def test_too_large_to_keep() -> None:
    cache = AnswerCache(max_octets=10_000)
    cache.put(ANSWER, NOW)
    cache.put(replace(ANSWER, records=(Txt((b"x" * 255,) * 200),)), NOW)
    assert len(cache) == 0  # what it replaces is not true any more either


def test_addresses_weigh_too() -> None:
    cache = AnswerCache(max_octets=10_000)
    cache.put(replace(ANSWER, records=(AddressRecord("192.0.2.1"),) * 100), NOW)
    assert len(cache) == 0
