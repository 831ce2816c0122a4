"""Several catalogs as one, by subject; where they disagree, the origins decide, each of its own URLs (OV-8).

Two URLs of one subject are *disputed* when each is listed by a catalog that does not list the other. A catalog that
lists fewer URLs than another, and none that the other has not, disagrees with nothing. That something is at one URL
says nothing of another one, or anybody could oust a document while its origin is down: only what an origin has
withdrawn itself is overruled. All else is kept, in order of what speaks for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from proxy.catalogs.applying import located
from proxy.catalogs.catalog import Catalog, Entry
from proxy.catalogs.reporting import row, standing_in
from proxy.catalogs.verdicts import Standing, Verdict
from proxy.relocation.changes import Reason

_STRENGTH: Final = {
    verdict: strength
    for strength, verdict in enumerate(
        (Verdict.CONFIRMED, Verdict.SUPERSEDED, Verdict.PENDING, Verdict.UNCONFIRMED, Verdict.REMOVED)
    )
}


@dataclass(slots=True)
class _Claim:
    """One URL of a subject, the catalogs that list it by their numbers, and the entry that tells most of it."""

    entry: Entry
    standing: Standing
    is_older: bool
    sources: set[int] = field(default_factory=set)

    @property
    def is_removed(self) -> bool:
        return self.standing.verdict is Verdict.REMOVED

    @property
    def rank(self) -> tuple[int, bool, bool]:
        """The strongest first. An origin that cannot be reached is last; which version is the latest is a hint."""
        is_down = self.standing.evidence.get("reason") == Reason.UNAVAILABLE.value
        return _STRENGTH[self.standing.verdict], is_down, self.is_older


def merged(catalogs: Sequence[tuple[str, Catalog]], standings: Mapping[str, Standing]) -> dict[str, Any]:
    """The union of catalogs, each with its URL, as JSON values; subjects in the order of the first mention.

    The rows of a subject are in order of their verdicts: confirmed, superseded, pending, unconfirmed, and last what
    cannot be reached; among equals those of older versions follow. Rows in dispute have `conflict`. `overruled` has
    those of what is gone where the subject has something else.
    """
    subjects: dict[str, dict[str, _Claim]] = {}
    for number, (_, catalog) in enumerate(catalogs):
        for entry in catalog.entries:
            _add(subjects.setdefault(entry.subject, {}), entry, standing_in(standings, entry), number)
    urls = [url for url, _ in catalogs]
    entries: list[dict[str, Any]] = []
    overruled: list[dict[str, Any]] = []
    for claims in subjects.values():
        _decide(list(claims.values()), urls, entries, overruled)
    return {
        "catalogs": [
            {
                "catalog": url,
                "kind": catalog.kind.value,
                "signed": catalog.is_signed,
                "entries": len(catalog.entries),
            }
            for url, catalog in catalogs
        ],
        "entries": entries,
        "overruled": overruled,
    }


def _add(claims: dict[str, _Claim], entry: Entry, standing: Standing, number: int) -> None:
    """Claims are the same when they lead to the same place."""
    place = located(entry, standing) or entry.key or entry.url
    claim = claims.get(place)
    if claim is None:
        claim = claims[place] = _Claim(entry, standing, entry.is_older)
    elif _STRENGTH[standing.verdict] < _STRENGTH[claim.standing.verdict]:
        claim.entry, claim.standing = entry, standing
    claim.is_older = claim.is_older and entry.is_older
    claim.sources.add(number)


def _decide(
    claims: list[_Claim], urls: Sequence[str], entries: list[dict[str, Any]], overruled: list[dict[str, Any]]
) -> None:
    """Add the rows for the claims of one subject: those that stand, and those that are overruled."""
    living = [claim for claim in claims if not claim.is_removed]
    sources = _sources(living)
    # What is gone is told where nothing else is known of the subject.
    for claim in sorted(living or claims, key=lambda claim: claim.rank):
        conflict = {"conflict": True} if _is_disputed(claim, sources) else {}
        entries.append(_row(claim, urls) | conflict)
    if living:
        overruled += [_row(claim, urls) for claim in claims if claim.is_removed]


def _row(claim: _Claim, urls: Sequence[str]) -> dict[str, Any]:
    return row(claim.entry, claim.standing) | {"sources": [urls[number] for number in sorted(claim.sources)]}


def _sources(claims: Iterable[_Claim]) -> set[frozenset[int]]:
    """The catalogs behind each claim; there are far fewer of these than there may be claims."""
    return {frozenset(claim.sources) for claim in claims}


def _is_disputed(claim: _Claim, others: Iterable[frozenset[int]]) -> bool:
    return any(not (claim.sources <= other or other <= claim.sources) for other in others)
