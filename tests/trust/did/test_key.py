"""did:key: the published pairs, and the identifiers that look like one (TRUST.md §2)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.trust.did.key import parse_did_key
from proxy.trust.reasons import Reason, Untrusted

VECTORS = Path(__file__).resolve().parents[4] / "shared/vectors/did-key/keys.json"
KEY = "z6Mkon3Necd6NkkyfoGoHxid2znGc59LU3K7mubaRcFbLfLX"
OTHER = "z6Mko9hTggMwjSTEaJaPUfE6tqcy2xvU6BnNq3e3o8qVBiyH"
X25519 = "z6LSbgC4DpuCf7zxewhFPnYcyBm3YgxjEEovsehvWqZzTm8z"
WEAK = "z6MkeXATEjyXENzBXBxgC5EHk2JE5aqd7qMGGtDpLUH1e2Sj"


def pairs() -> list[Any]:
    if not VECTORS.exists():
        return [pytest.param(None, marks=pytest.mark.skip(reason="the vectors are not on this machine"))]
    return [pytest.param(pair, id=pair["did"]) for pair in json.loads(VECTORS.read_bytes())]


@pytest.mark.parametrize("pair", pairs())
def test_published_pairs(pair: dict[str, Any]) -> None:
    key = parse_did_key(pair["did"])
    assert f"did:key:{key.multikey}" == pair["did"]


@pytest.mark.parametrize("text", [f"did:key:{KEY}", f"did:key:{KEY}#{KEY}"])
def test_both_forms(text: str) -> None:
    assert parse_did_key(text).multikey == KEY


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", Reason.VM_FOREIGN_DID),
        (KEY, Reason.VM_FOREIGN_DID),
        (f"did:web:{KEY}", Reason.VM_FOREIGN_DID),
        (f"DID:key:{KEY}", Reason.VM_FOREIGN_DID),
        (f"did:key:{KEY}#{OTHER}", Reason.VM_NOT_FOUND),
        (f"did:key:{KEY}#", Reason.VM_NOT_FOUND),
        (f"did:key:{KEY}#{KEY}#{KEY}", Reason.VM_NOT_FOUND),
        ("did:key:", Reason.KEY_TYPE_UNSUPPORTED),
        ("did:key:#", Reason.KEY_TYPE_UNSUPPORTED),
        (f"did:key:{KEY}?x", Reason.KEY_TYPE_UNSUPPORTED),
        (f"did:key:{KEY[:-1]}", Reason.KEY_TYPE_UNSUPPORTED),
        (f"did:key:{X25519}#{X25519}", Reason.KEY_TYPE_UNSUPPORTED),
        ("did:key:z" + "1" * 100_000, Reason.KEY_TYPE_UNSUPPORTED),
        (f"did:key:{WEAK}", Reason.KEY_WEAK),
    ],
)
def test_refused(text: str, reason: Reason) -> None:
    with pytest.raises(Untrusted) as refused:
        parse_did_key(text)
    assert refused.value.reason is reason


@given(st.text(max_size=60))
def test_any_text_is_refused(text: str) -> None:
    with pytest.raises(Untrusted):
        parse_did_key(f"did:key:{text}")
