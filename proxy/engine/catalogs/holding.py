"""What is known of a watched catalog between two readings: which URLs it lists, and where they stand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from proxy.catalogs.catalog import CatalogKind, Entry
from proxy.catalogs.claims import claims_of
from proxy.catalogs.verdicts import Standing, Verdict
from proxy.discovery.classes import DocumentClass
from proxy.engine.catalogs.judging import is_unknown
from proxy.engine.catalogs.reading import MOST_OF_PAGES, CatalogRead
from proxy.relocation.sightings import Source

FULL_EVERY: Final = 86_400.0
"""Seconds after which a registry is read as a whole again, for what it no longer lists."""
_SKEW: Final = 300.0
# What a catalog itself says is no longer on offer; it lists it for those who had it.
_DELETED: Final = "deleted"


class Holding:
    """One catalog: its URLs by subject, and the verdicts of the last look; `counts` is how many have each.

    `claims` are the classes that it says the documents at its URLs are of.
    """

    def __init__(self) -> None:
        self.counts = _counted(())
        self.claims: Mapping[str, DocumentClass] = {}
        self._subjects: dict[str, tuple[str, ...]] = {}
        self._probed: dict[str, tuple[float, Verdict]] = {}
        self._verdicts: dict[str, Verdict] = {}
        self._is_registry = False
        self._read_whole_at = 0.0
        self._as_of = 0.0

    def __contains__(self, key: str) -> bool:
        return key in self._verdicts

    def since(self, now: float) -> float | None:
        """From when on changes are enough to know; None when all of it has to be read."""
        if not self._is_registry or not 0 <= now - self._read_whole_at < FULL_EVERY:
            return None
        return self._as_of - _SKEW

    def take(self, read: CatalogRead, now: float, *, is_whole: bool) -> None:
        """What was read: all of it, or what has changed; where that was cut short, what was held stays as well."""
        is_cut = read.note is not None
        if is_whole and (not is_cut or len(self._subjects) > MOST_OF_PAGES):
            self._subjects, self.claims = {}, {}
        if not is_cut:
            self._is_registry = read.catalog.kind is CatalogKind.MCP_REGISTRY
            self._as_of = read.as_of
            self._read_whole_at = now if is_whole else self._read_whole_at
        self._subjects.update(_by_subject(read.catalog.entries))
        self.claims = {**self.claims, **claims_of(read.catalog.entries)}

    def keys(self) -> list[str]:
        """Every URL once, those first that were not asked about for the longest time."""
        keys = dict.fromkeys(key for keys in self._subjects.values() for key in keys)
        return sorted(keys, key=lambda key: self._probed[key][0] if key in self._probed else 0.0)

    def judge(self, standings: Mapping[str, Standing], now: float) -> None:
        """Keep where its URLs stand. What only asking could tell stays until they are asked again."""
        probed = {key: seen for key, seen in self._probed.items() if key in standings}
        verdicts = {}
        for key, standing in standings.items():
            if standing.evidence.get("source") == Source.PROBE:
                probed[key] = (now, standing.verdict)
            known = probed.get(key) if is_unknown(standing) else None
            verdicts[key] = standing.verdict if known is None else known[1]
        self._probed, self._verdicts, self.counts = probed, verdicts, _counted(verdicts.values())


def _counted(verdicts: Iterable[Verdict]) -> Mapping[Verdict, int]:
    counted = Counter(verdicts)
    return {verdict: counted[verdict] for verdict in Verdict}


def _by_subject(entries: Sequence[Entry]) -> dict[str, tuple[str, ...]]:
    """The recordable URLs of each subject; none for one that is deleted, so that it is known to have none."""
    keys: dict[str, tuple[str, ...]] = {}
    for entry in entries:
        before = keys.setdefault(entry.subject, ())
        if entry.key is not None and entry.hint != _DELETED:
            keys[entry.subject] = (*before, entry.key)
    return keys
