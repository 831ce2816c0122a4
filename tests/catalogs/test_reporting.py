"""Reports on catalogs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from proxy.catalogs.catalog import MOST_ENTRIES
from proxy.catalogs.merging import merged
from proxy.catalogs.reporting import report, serialised
from proxy.catalogs.verdicts import Standing, Verdict
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


SUBJECTS = {
    "URN": ("urn:air:example.com:mcp:server-1", None),
    "name and host": ("Agent 1234 at agents.example.com", None),
    "URL and relation": ("https://api.example.com/ item", None),
    "plain words": ("Ein Name (für alle), 1.0", None),
    "userinfo": ("https://u:hunter22@a.example/x", "https://a.example/"),
    "user": ("see https://hunter22@a.example/x", "see https://a.example/"),
    "key in a query": ("https://a.example/x?api_key=hunter22 item", "https://a.example/ item"),
    "token in a path": ("https://a.example/ghp_16C7e42F292c/x", "https://a.example/"),
    "token in a URN": ("urn:x:ghp_16C7e42F292c", ""),
    "bearer": ("Bearer hunter22hunter22", ""),
    "a secret beside a URL": ("https://a.example/ ghp_16C7e42F292c", ""),
}


@pytest.mark.parametrize(("subject", "shown"), SUBJECTS.values(), ids=SUBJECTS)
def test_subjects_are_shown_without_secrets(subject: str, shown: str | None) -> None:
    entry = {"identifier": subject, "url": ONE}
    [row] = reported(ai_catalog(entry))["entries"]
    assert row["subject"] == (subject if shown is None else shown)
    assert (row["url"], row["final_url"]) == (ONE, ONE)
    catalog = read(ai_catalog(entry))
    assert merged([("a", catalog), ("b", catalog)], {})["entries"][0]["subject"] == row["subject"]


def test_what_origins_name_is_shown_without_secrets() -> None:
    secret, shown = "https://b.example/x?access_token=hunter22", "https://b.example/"
    evidence = {"location": secret, "successor": secret, "status": 308}
    [row] = report(BASE.uri, read([ONE]), {ONE: Standing(Verdict.SUPERSEDED, secret, evidence)})["entries"]
    assert row["final_url"] == shown
    assert row["evidence"] == {"location": shown, "successor": shown, "status": 308}
    assert evidence["location"] == secret


HALF = "\ud800"
HALVES: dict[str, Any] = {
    "subject": ai_catalog({"identifier": HALF, "url": ONE}),
    "URL": [f"{ONE}/{HALF}"],
    "hint": {"servers": [mcp_item(ONE, status=HALF)]},
    "cursor": {"servers": [mcp_item(ONE)], "metadata": {"nextCursor": HALF}},
    "signed": ai_catalog(ai_entry(ONE, HALF), signature=HALF),
    "anchor": {"linkset": [{"anchor": HALF, HALF: [{"href": ONE}]}]},
}


@pytest.mark.parametrize("value", HALVES.values(), ids=HALVES)
def test_half_a_surrogate_pair_can_be_told(value: Any) -> None:
    catalog = read(value)
    told = report(BASE.uri, catalog, {})
    assert json.loads(serialised(told)) == told
    together = merged([(BASE.uri, catalog), (HALF, catalog)], {})
    assert json.loads(serialised(together)) == together


def test_a_report_is_written_without_needless_octets() -> None:
    assert serialised({"a": ["\u00e9", 1, None], "b": {}}) == '{"a":["\u00e9",1,null],"b":{}}'.encode()


def test_a_key_without_a_standing() -> None:
    [row] = report(BASE.uri, read([ONE]), {})["entries"]
    assert (row["verdict"], row["final_url"], row["evidence"]) == ("unconfirmed", ONE, {"source": "none"})


def test_what_is_shared_is_not_handed_out() -> None:
    rows = reported([ONE, TWO])["entries"]
    rows[0]["evidence"]["x"] = 1
    assert rows[1]["evidence"] == {"source": "none"}
