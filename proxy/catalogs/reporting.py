"""What is known of the entries of a catalog, one row each: the form with `report=1`, and of signed catalogs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proxy.catalogs.applying import located
from proxy.catalogs.catalog import Catalog, Entry
from proxy.catalogs.verdicts import NOTHING_KNOWN, UNKNOWN, Standing, Verdict
from proxy.http.secrets import find_secret, masked


def report(catalog_url: str, catalog: Catalog, standings: Mapping[str, Standing]) -> dict[str, Any]:
    """The report as JSON values. A key without a standing is one that nothing is known of."""
    return {
        "catalog": catalog_url,
        "kind": catalog.kind.value,
        "signed": catalog.is_signed,
        "note": catalog.limit_note,
        "next": catalog.next_cursor,
        "entries": [row(entry, standing_in(standings, entry)) for entry in catalog.entries],
    }


def standing_in(standings: Mapping[str, Standing], entry: Entry) -> Standing:
    """Where an entry stands; one without a key is never more than unconfirmed."""
    if entry.key is None:
        return Standing(Verdict.UNCONFIRMED, None, {"source": NOTHING_KNOWN, "reason": str(entry.no_key)})
    return standings.get(entry.key, UNKNOWN)


def row(entry: Entry, standing: Standing) -> dict[str, Any]:
    """One entry; what the catalog claims of it is told beside what its verdict rests on."""
    evidence = dict(standing.evidence)
    if entry.hint is not None:
        evidence["hint"] = entry.hint
    if entry.updated_at is not None:
        evidence["updated_at"] = entry.updated_at
    return {
        "subject": _shown(entry.subject, entry),
        "url": _shown(entry.url, entry),
        "final_url": _shown(located(entry, standing), entry),
        "verdict": standing.verdict.value,
        "evidence": evidence,
    }


def _shown(text: str | None, entry: Entry) -> str | None:
    """A URL without the secret that may be why it has no key; nothing of a relative one with a secret."""
    if text is None or entry.key is not None or find_secret(text) is None:
        return text
    return masked(text) if "://" in text else ""
