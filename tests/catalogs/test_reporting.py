"""Reports on catalogs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from proxy.catalogs.catalog import MOST_ENTRIES
from proxy.catalogs.reporting import report
from tests.catalogs.documents import (
    BASE,
    NEW,
    ONE,
    THREE,
    TWO,
    ai_catalog,
    ai_entry,
    gone,
    mcp_item,
    moved,
    read,
    standings,
)


def reported(value: object, *records: Any) -> dict[str, Any]:
    catalog = read(value)
    told = report(BASE.uri, catalog, standings(catalog, *records))
    json.dumps(told)
    return told


def test_a_report() -> None:
    told = reported(ai_catalog(ai_entry(ONE), ai_entry(TWO), ai_entry(THREE)), moved(ONE), gone(TWO))
    rows = told.pop("entries")
    assert told == {"catalog": BASE.uri, "kind": "ai-catalog", "signed": False, "note": None, "next": None}
    assert [(row["url"], row["final_url"], row["verdict"]) for row in rows] == [
        (ONE, NEW, "superseded"),
        (TWO, None, "removed"),
        (THREE, THREE, "unconfirmed"),
    ]
    assert rows[0]["evidence"]["status"] == 308 and rows[2]["evidence"] == {"source": "none"}
    assert {row["subject"] for row in rows} == {"urn:air:example.com:one"}


def test_of_a_signed_catalog() -> None:
    told = reported(ai_catalog(ai_entry(ONE), signature="x"), gone(ONE))
    assert told["signed"] and told["entries"][0]["verdict"] == "removed"


def test_what_a_registry_claims_is_told_beside() -> None:
    told = reported({"servers": [mcp_item(ONE, status="deleted")], "metadata": {"nextCursor": "x"}})
    assert told["next"] == "x"
    evidence = {"source": "none", "hint": "deleted", "updated_at": "2026-11-01T00:00:00Z"}
    assert told["entries"][0]["evidence"] == evidence
    again = reported({"servers": [mcp_item(ONE, status="deleted"), {"server": {"remotes": [{"url": TWO}]}}]})
    assert again["entries"][1]["evidence"] == {"source": "none"}


def test_what_was_not_read_is_told() -> None:
    told = reported([ONE] * (MOST_ENTRIES + 1))
    assert str(MOST_ENTRIES) in told["note"]


UNRECORDABLE = {
    "http": ("http://a.example/", "https_required", "http://a.example/"),
    "javascript": ("javascript:alert(1)", "malformed", "javascript:alert(1)"),
    "private": ("https://10.0.0.1/", "ssrf", "https://10.0.0.1/"),
    "userinfo": ("https://u:p@a.example/x", "userinfo", "https://a.example/"),
    "secret": ("https://a.example/x?api_key=hunter22", "secret", "https://a.example/"),
    "relative secret": ("/x?api_key=hunter22", "secret", ""),
    "userinfo without a scheme": ("//u:p@a.example/x", "malformed", ""),
}


@pytest.mark.parametrize(("url", "reason", "shown"), UNRECORDABLE.values(), ids=UNRECORDABLE)
def test_urls_that_no_record_can_be_of(url: str, reason: str, shown: str) -> None:
    [row] = reported([ONE, url])["entries"][1:]
    assert (row["url"], row["final_url"], row["subject"]) == (shown, shown, shown)
    assert (row["verdict"], row["evidence"]) == ("unconfirmed", {"source": "none", "reason": reason})


def test_a_key_without_a_standing() -> None:
    [row] = report(BASE.uri, read([ONE]), {})["entries"]
    assert (row["verdict"], row["final_url"], row["evidence"]) == ("unconfirmed", ONE, {"source": "none"})


def test_what_is_shared_is_not_handed_out() -> None:
    rows = reported([ONE, TWO])["entries"]
    rows[0]["evidence"]["x"] = 1
    assert rows[1]["evidence"] == {"source": "none"}
