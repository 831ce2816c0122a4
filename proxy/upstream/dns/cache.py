"""Answers kept for as long as they hold: by TTL (C-26), absences by RFC 2308, failures by RFC 9520 (C-24)."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from typing import Final

from proxy.discovery.records.dnsvalues import DnsAnswer, DnsOutcome, Record, Svcb, Txt

# Seconds, by outcome. TTLs are cut down to these and never stretched.
_LONGEST: Final = {
    DnsOutcome.ANSWER: 86_400,
    DnsOutcome.NODATA: 300,
    DnsOutcome.NXDOMAIN: 300,
    DnsOutcome.FAILURE: 30,
}
# Octets of an answer's objects beside its data, and of a record's: roughly.
_ANSWER_WEIGHT = 500
_RECORD_WEIGHT = 200


def lifetime(outcome: DnsOutcome, ttl: float) -> float:
    """How long an answer may be kept, in seconds; `ttl` is what its source allows."""
    return min(ttl, _LONGEST[outcome])


class AnswerCache:
    """The answers used last, by name and type, bounded in number and in (estimated) octets."""

    def __init__(self, max_answers: int = 4096, max_octets: int = 8 * 1024 * 1024) -> None:
        self._answers: OrderedDict[tuple[str, str], DnsAnswer] = OrderedDict()
        self._max_answers = max_answers
        self._max_octets = max_octets
        self._octets = 0

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, name: str, record_type: str, now: float) -> DnsAnswer | None:
        """The kept answer, marked as such, unless it has expired by `now` (Unix seconds)."""
        key = (name, record_type)
        answer = self._answers.get(key)
        if answer is None:
            return None
        if answer.expires <= now:
            self._drop(key)
            return None
        self._answers.move_to_end(key)
        return answer

    def put(self, answer: DnsAnswer, now: float) -> None:
        """Keep `answer` until it expires, instead of the one before it; the least used go when room is short."""
        key = (answer.name, answer.type)
        if key in self._answers:
            self._drop(key)
        if answer.expires <= now or _weight(answer) > self._max_octets:
            return
        self._answers[key] = replace(answer, cached=True)
        self._octets += _weight(answer)
        while len(self._answers) > self._max_answers or self._octets > self._max_octets:
            self._drop(next(iter(self._answers)))

    def _drop(self, key: tuple[str, str]) -> None:
        self._octets -= _weight(self._answers.pop(key))


def _weight(answer: DnsAnswer) -> int:
    return _ANSWER_WEIGHT + 2 * len(answer.name) + len(answer.owner) + sum(map(_record_weight, answer.records))


def _record_weight(record: Record) -> int:
    match record:
        case Txt():
            return _RECORD_WEIGHT + sum(_RECORD_WEIGHT // 4 + len(octets) for octets in record.strings)
        case Svcb():
            return _RECORD_WEIGHT + sum(_RECORD_WEIGHT // 2 + len(octets) for octets in record.params.values())
        case _:
            return _RECORD_WEIGHT
