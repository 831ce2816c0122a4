"""Several catalogs as one, by subject; where they disagree, the origins decide (OV-8).

Two URLs of one subject are *disputed* when each is listed by a catalog that does not list the other. A catalog that
lists fewer URLs than another, and none that the other has not, disagrees with nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from proxy.catalogs.applying import located
from proxy.catalogs.catalog import Catalog, Entry
from proxy.catalogs.reporting import row, standing_in
from proxy.catalogs.verdicts import Standing, Verdict

# What speaks for a URL that several entries list, the strongest first.
_STRENGTH: Final = {
    verdict: strength
    for strength, verdict in enumerate(
        (Verdict.CONFIRMED, Verdict.SUPERSEDED, Verdict.PENDING, Verdict.UNCONFIRMED, Verdict.REMOVED)
    )
}
_DECIDED: Final = frozenset({Verdict.CONFIRMED, Verdict.SUPERSEDED})


@dataclass(slots=True)
class _Claim:
    """One URL of a subject, the catalogs that list it by their numbers, and the entry that tells most of it."""

    entry: Entry
    standing: Standing
    sources: set[int] = field(default_factory=set)

    @property
    def verdict(self) -> Verdict:
        return self.standing.verdict


def merged(catalogs: Sequence[tuple[str, Catalog]], standings: Mapping[str, Standing]) -> dict[str, Any]:
    """The union of catalogs, each with its URL, as JSON values; rows in the order of the first mention.

    `overruled` has the rows of those that an origin's word rules out: what is gone where the subject has something
    else, and what is not confirmed where the URL in dispute with it is. `conflict` is there where none decides.
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
        claim = claims[place] = _Claim(entry, standing)
    elif _STRENGTH[standing.verdict] < _STRENGTH[claim.verdict]:
        claim.entry, claim.standing = entry, standing
    claim.sources.add(number)


def _decide(
    claims: list[_Claim], urls: Sequence[str], entries: list[dict[str, Any]], overruled: list[dict[str, Any]]
) -> None:
    """Add the rows for the claims of one subject: those that stand, and those that are overruled."""
    living = [claim for claim in claims if claim.verdict is not Verdict.REMOVED]
    decided = _sources(claim for claim in living if claim.verdict in _DECIDED)
    standing = [claim for claim in living if claim.verdict in _DECIDED or not _is_disputed(claim, decided)]
    all_standing = _sources(standing)
    # What is gone is told where nothing else is known of the subject.
    for claim in standing or claims:
        conflict = {"conflict": True} if _is_disputed(claim, all_standing) else {}
        entries.append(_row(claim, urls) | conflict)
    if standing:
        kept = set(map(id, standing))
        overruled += [_row(claim, urls) for claim in claims if id(claim) not in kept]


def _row(claim: _Claim, urls: Sequence[str]) -> dict[str, Any]:
    return row(claim.entry, claim.standing) | {"sources": [urls[number] for number in sorted(claim.sources)]}


def _sources(claims: Iterable[_Claim]) -> set[frozenset[int]]:
    """The catalogs behind each claim; there are far fewer of these than there may be claims."""
    return {frozenset(claim.sources) for claim in claims}


def _is_disputed(claim: _Claim, others: Iterable[frozenset[int]]) -> bool:
    return any(not (claim.sources <= other or other <= claim.sources) for other in others)
