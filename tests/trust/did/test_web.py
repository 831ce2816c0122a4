"""did:web and did:webvh: where a document lies, by the published rows and by ours (TRUST.md §1.1, §3.1)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.http.targets import parse_target
from proxy.trust.did.web import (
    LONGEST,
    DidReason,
    MalformedDid,
    WebDid,
    did_of,
    document_target,
    host_of,
    is_path_did,
    parse_web_did,
)

VECTORS = Path(__file__).resolve().parents[4] / "shared/vectors/did-web/transform.json"
SCID = "QmfGEUAcMpzo25kF2Rhn8L5FAXysfGnkzjwdKoNPi615XQ"


def rows() -> list[Any]:
    if not VECTORS.exists():
        return [pytest.param(None, marks=pytest.mark.skip(reason="the vectors are not on this machine"))]
    rows = json.loads(VECTORS.read_bytes())
    return [pytest.param(row, id=f"{row['did']} {row.get('note', '')}".strip()) for row in rows]


@pytest.mark.parametrize("row", rows())
def test_published_rows(row: dict[str, Any]) -> None:
    options = row.get("options", {})
    if "error" in row:
        with pytest.raises(MalformedDid) as refused:
            document_target(row["did"], **options)
        assert refused.value.reason == row["error"]
        return
    target = document_target(row["did"], **options)
    assert target.uri == row["url"]
    assert parse_target(row["url"]) == target


@pytest.mark.parametrize(
    ("host", "port", "did"),
    [
        ("example.com", 443, "did:web:example.com"),
        ("EXAMPLE.com", 443, "did:web:example.com"),
        ("example.com", 8443, "did:web:example.com%3A8443"),
        ("xn--mnchen-3ya.de", 443, "did:web:xn--mnchen-3ya.de"),
    ],
)
def test_did_of_an_origin(host: str, port: int, did: str) -> None:
    assert did_of(host, port) == did
    assert host_of(did) == (host.lower(), port)
    assert not is_path_did(did)


@pytest.mark.parametrize(
    ("host", "port", "reason"),
    [
        ("192.0.2.1", 443, DidReason.ADDRESS),
        ("0x7f.1", 443, DidReason.ADDRESS),
        ("example.0xff", 443, DidReason.ADDRESS),
        ("::1", 443, DidReason.HOST),
        ("[::1]", 443, DidReason.SYNTAX),
        ("localhost", 443, DidReason.HOST),
        ("2130706433", 443, DidReason.HOST),
        ("", 443, DidReason.SYNTAX),
        ("example.com:u", 443, DidReason.HOST),
        ("example.com%3A80", 443, DidReason.HOST),
        ("example..com", 443, DidReason.HOST),
        ("my_host.example", 443, DidReason.HOST),
        (f"{'a' * 64}.com", 443, DidReason.HOST),
        (".".join(["a" * 63] * 4), 443, DidReason.HOST),
        ("example.com", 0, DidReason.PORT),
        ("example.com", 65536, DidReason.PORT),
        ("example.com", -1, DidReason.PORT),
        ("ex ample.com", 443, DidReason.SYNTAX),
        ("example.com\n", 443, DidReason.SYNTAX),
        ("a." * LONGEST + "com", 443, DidReason.SYNTAX),
    ],
)
def test_an_origin_without_did(host: str, port: int, reason: DidReason) -> None:
    with pytest.raises(MalformedDid) as refused:
        did_of(host, port)
    assert refused.value.reason is reason
    assert host == "" or host not in refused.value.detail


@pytest.mark.parametrize(
    ("did", "parts"),
    [
        ("did:web:example.com", WebDid("example.com", 443, ())),
        ("did:web:Example.com%3a8443:u:%E7%94%A8", WebDid("example.com", 8443, ("u", "%E7%94%A8"))),
        (f"did:webvh:{SCID}:example.com", WebDid("example.com", 443, (), SCID)),
        (f"did:webvh:{SCID}:example.com%3A8443:a:b", WebDid("example.com", 8443, ("a", "b"), SCID)),
    ],
)
def test_parts(did: str, parts: WebDid) -> None:
    assert parse_web_did(did) == parts
    assert host_of(did) == (parts.host, parts.port)
    assert is_path_did(did) is bool(parts.segments)


def test_files_of_an_identifier() -> None:
    assert parse_web_did(f"did:webvh:{SCID}:example.com").target("did.jsonl").uri == (
        "https://example.com/.well-known/did.jsonl"
    )
    assert parse_web_did(f"did:webvh:{SCID}:example.com:u").target("did-witness.json").uri == (
        "https://example.com/u/did-witness.json"
    )


@pytest.mark.parametrize(
    ("did", "reason"),
    [
        ("", DidReason.METHOD),
        ("did:key:z6Mkon3Necd6NkkyfoGoHxid2znGc59LU3K7mubaRcFbLfLX", DidReason.METHOD),
        ("did:web", DidReason.METHOD),
        ("did:web:%zz.example", DidReason.SYNTAX),
        ("did:web:example.com:a\n", DidReason.SYNTAX),
        ("did:web:example.com%3A", DidReason.PORT),
        ("did:web:example.com:", DidReason.PATH),
        ("did:web:example.com:%FF", DidReason.PATH),
        ("did:web:example.com:a%5Cb", DidReason.PATH),
        ("did:web:example.com:a%C2%A0", DidReason.PATH),
        ("did:web:example.com:a%7F", DidReason.PATH),
        ("did:webvh:", DidReason.SYNTAX),
        ("did:webvh:example.com", DidReason.SYNTAX),
        (f"did:webvh:{SCID}", DidReason.HOST),
        (f"did:webvh:{SCID[:-1]}:example.com", DidReason.SYNTAX),
        (f"did:webvh:{SCID[:-1]}0:example.com", DidReason.SYNTAX),
        (f"did:webvh:{SCID}:192.0.2.1", DidReason.ADDRESS),
        (f"did:web:example.com:{'a' * LONGEST}", DidReason.SYNTAX),
    ],
)
def test_malformed(did: str, reason: DidReason) -> None:
    for read in (parse_web_did, host_of, is_path_did):
        with pytest.raises(MalformedDid) as refused:
            read(did)
        assert refused.value.reason is reason


def test_a_webvh_has_no_document_of_did_web() -> None:
    with pytest.raises(MalformedDid):
        document_target(f"did:webvh:{SCID}:example.com")


@given(
    st.text(alphabet="did:webvh.-_%3A2eF\n/\\#?[]aQm01 é", max_size=40),
    st.sampled_from(["", "did:web:", "did:webvh:"]),
)
def test_any_text_is_located_or_refused(text: str, method: str) -> None:
    try:
        did = parse_web_did(f"{method}{text}")
    except MalformedDid:
        return
    target = did.target("did.json")
    assert parse_target(target.uri) == target
