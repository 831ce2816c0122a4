"""What is told of an attempt, and what is never told."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.failover.attempts import Attempt, AttemptOutcome, shown_url
from proxy.trust.verdict import CopySource

URL = "https://mirror.example.net/m.json"
SHOWN = [
    pytest.param(URL, URL, id="plain"),
    pytest.param(f"{URL}?v=2", URL, id="query"),
    pytest.param(f"{URL}#part?x", URL, id="fragment"),
    pytest.param("ipfs://bafkqaaa/a/b", "ipfs://bafkqaaa/a/b", id="ipfs"),
    pytest.param(f"{URL}?token=abcdefgh12345678", "https://mirror.example.net/", id="secret in the query"),
    pytest.param("https://a:b@mirror.example.net/m.json", "https://mirror.example.net/", id="userinfo"),
    pytest.param("ftp://a@b@mirror.example.net/m", "ftp://mirror.example.net/", id="odd userinfo"),
    pytest.param("https://mirror.example.net/\u00e9\n", "https://mirror.example.net/??", id="not printable"),
    pytest.param("https://e.example/" + "a" * 9000, ("https://e.example/" + "a" * 9000)[:256], id="long"),
    pytest.param("", "", id="nothing"),
    pytest.param("@", "@", id="no URL"),
]


@pytest.mark.parametrize(("text", "shown"), SHOWN)
def test_urls_as_they_are_shown(text: str, shown: str) -> None:
    assert shown_url(text) == shown


@given(st.text())
def test_any_text_can_be_shown(text: str) -> None:
    shown = shown_url(text)
    assert len(shown) <= 256 and shown.isascii() and (shown.isprintable() or not shown)


@pytest.mark.parametrize(
    ("attempt", "told"),
    [
        pytest.param(
            Attempt(CopySource.MIRROR, URL, AttemptOutcome.SERVED, "", 12.3456),
            {"source": "mirror", "url": URL, "outcome": "served", "reason": None, "ms": 12.3},
            id="served",
        ),
        pytest.param(
            Attempt(CopySource.IPFS, "ipfs://x", AttemptOutcome.SKIPPED, "mirror_invalid"),
            {"source": "ipfs", "url": "ipfs://x", "outcome": "skipped", "reason": "mirror_invalid", "ms": 0.0},
            id="skipped",
        ),
    ],
)
def test_told(attempt: Attempt, told: dict[str, object]) -> None:
    assert json.loads(json.dumps(attempt.told())) == told
