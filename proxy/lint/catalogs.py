"""Lint of catalogs: what their reader finds, and whether data held in an entry is what its digest is over.

The digest of a document at a URL needs the document, so nothing is said about it here.
"""

from __future__ import annotations

from collections.abc import Iterator

from proxy.discovery.findings import Finding
from proxy.discovery.gate import NotADocument
from proxy.discovery.jsontext import JsonObject
from proxy.discovery.listings.catalog import Catalog, OpaqueCatalog, inline_verdict, parse_catalog
from proxy.discovery.listings.digests import DataVerdict
from proxy.lint.bodies import refusal_finding, repeated_name_findings


def is_catalog(value: JsonObject) -> bool:
    """Whether an object lists entries."""
    return isinstance(value.get("entries"), list)


def lint_catalog(body: bytes, now: float) -> tuple[Finding, ...]:
    """Breaches of the format in a catalog of any dialect. `now` decides nothing: a catalog does not end."""
    catalog = parse_catalog(body, None)
    if isinstance(catalog, NotADocument):
        return (refusal_finding(catalog),)
    if isinstance(catalog, OpaqueCatalog):
        return (catalog.finding,)
    return (*catalog_findings(catalog), *digest_findings(catalog))


def catalog_findings(catalog: Catalog) -> tuple[Finding, ...]:
    """Those of a catalog that was read, but for its digests."""
    is_signed = catalog.is_signed or any(entry.is_signed or entry.digest is not None for entry in catalog.entries)
    repeated = repeated_name_findings(is_repeated=catalog.has_repeated_names, is_signed=is_signed)
    return (*catalog.findings, *repeated)


def digest_findings(catalog: Catalog) -> Iterator[Finding]:
    """Those of the digests over the data that a catalog holds itself; linear in it, but slow."""
    for entry in catalog.entries:
        match inline_verdict(catalog, entry):
            case DataVerdict.DIFFERS:
                yield Finding("CAT-9", f"{entry.path}/digest", "The digest is not over the data in its JCS form.")
            case DataVerdict.NOT_CANONICAL if not catalog.has_repeated_names:
                detail = "The data has no canonical form (RFC 8785), so no digest can be over it."
                yield Finding("CAT-9", f"{entry.path}/data", detail)
