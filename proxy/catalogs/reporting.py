"""What is known of the entries of a catalog, one row each: the form with `report=1`, and of signed catalogs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from proxy.catalogs.applying import located
from proxy.catalogs.catalog import Catalog, Entry
from proxy.catalogs.keys import is_harmless
from proxy.catalogs.listing import encoded
from proxy.catalogs.verdicts import NOTHING_KNOWN, UNKNOWN, Standing, Verdict
from proxy.http.secrets import find_secret, masked

_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
# What evidence has of URLs, as origins wrote them.
_URLS: Final = ("location", "successor")


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


def serialised(told: Mapping[str, Any]) -> bytes:
    """A report, or a merge of catalogs, as a JSON text, whatever text the catalogs have in them."""
    return encoded(_ENCODER.encode(told))


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
    for name in _URLS:
        stated = evidence.get(name)
        if isinstance(stated, str):
            evidence[name] = _shown(stated)
    key, final = entry.key, located(entry, standing)
    return {
        "subject": entry.subject if entry.subject == key else _shown(entry.subject),
        # What has a key has no secret in it.
        "url": _shown(entry.url) if key is None else entry.url,
        "final_url": final if final is None or final == key else _shown(final),
        "verdict": standing.verdict.value,
        "evidence": evidence,
    }


def _shown(text: str) -> str:
    """A text with its URLs that hold a secret cut down to their origins; nothing of one that holds it elsewhere."""
    if is_harmless(text):
        return text
    shown = masked(text)
    return shown if find_secret(shown) is None else ""
