"""What a route or a request changes (UAIX.md §4.1, §5.4; U-G8)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.capability.effects import SideEffect, is_change, side_effect
from proxy.discovery.access.routes import RouteRecord

KEYED = "/start?title=T&idempotency_key=k1"

# method, side_effect_status, get_safety, path: effect
EFFECTS: dict[str, tuple[str, str | None, str | None, str | None, str]] = {
    "get-silent": ("GET", None, None, "/x", "none"),
    "get-without-a-path": ("GET", None, None, None, "none"),
    "get-none": ("GET", "none", None, "/x", "none"),
    "get-read-only": ("GET", "read_only", "safe_read", "/x", "read_only"),
    "get-read-only-hyphen": ("GET", "Read-Only", None, "/x", "read_only"),
    "get-creates": ("GET", "creates", "safe_read", "/x", "creates"),
    "get-camel-true": ("GET", "side_effecting", None, "/x", "side_effecting"),
    "get-unknown-word": ("GET", "perhaps", "safe_read", "/x", "side_effecting"),
    "get-bounded-action": ("GET", None, "bounded_idempotent_action", "/x", "side_effecting"),
    "get-bounded-action-none": ("GET", "none", "bounded_idempotent_action", "/x", "side_effecting"),
    "get-not-for-discovery": ("GET", None, "not-for-discovery", "/x", "side_effecting"),
    "get-get-action": ("GET", None, "get_action", "/x", "side_effecting"),
    "get-unsafe": ("GET", None, "unsafe", "/x", "side_effecting"),
    "get-safe-read": ("GET", None, "safe_read", "/x", "none"),
    "get-no-effects": ("GET", None, "no_get_side_effects", "/x", "none"),
    "get-with-key": ("GET", None, None, KEYED, "side_effecting"),
    "get-with-nonce": ("GET", "none", "safe_read", "/x?nonce=1", "side_effecting"),
    "get-with-a-like-name": ("GET", None, None, "/x?announce=1&idempotency_keys=2", "none"),
    "get-key-in-path": ("GET", None, None, "/idempotency_key=1", "none"),
    "get-key-in-fragment": ("GET", None, None, "/x?a=1#?nonce=1", "none"),
    "get-key-after-semicolon": ("GET", None, None, "/x?a=1;nonce=2", "side_effecting"),
    "head-silent": ("HEAD", None, None, "/x", "none"),
    "post-silent": ("POST", None, None, "/x", "side_effecting"),
    "post-none": ("POST", "none", None, "/x", "none"),
    "post-action-word": ("POST", "none", "unsafe", "/x", "none"),
    "post-creates": ("POST", "creates", None, "/x", "creates"),
    "post-creates-record": ("POST", "creates_record", None, "/x", "creates"),
    "post-updates": ("PUT", "updates", None, "/x", "updates"),
    "post-publishes": ("POST", "publishes", None, "/x", "publishes"),
    "post-deletes-record": ("POST", "deletes_record", None, "/x", "deletes"),
    "post-pays": ("POST", "PAYS", None, "/x", "pays"),
    "post-account": ("POST", "account_change", None, "/x", "account_change"),
    "post-account-closure": ("POST", "account-closure", None, "/x", "account_change"),
    "post-repository": ("POST", "repository_write", None, "/x", "repository_write"),
    "post-memory": ("POST", "memory_write", None, "/x", "memory_write"),
    "post-regulated": ("POST", "regulated", None, "/x", "regulated"),
    "post-empty-word": ("POST", "", None, "/x", "side_effecting"),
    "delete-silent": ("DELETE", None, None, "/x", "deletes"),
    "delete-camel-true": ("DELETE", "side_effecting", None, "/x", "deletes"),
    "delete-updates": ("DELETE", "updates", None, "/x", "updates"),
    "delete-none": ("DELETE", "none", None, "/x", "none"),
    "unheard-of-method": ("FROB", None, None, "/x", "side_effecting"),
}

REQUESTS: dict[str, tuple[str, str, bool]] = {
    "get": ("GET", "https://example.com/x", False),
    "head": ("HEAD", "https://example.com/x?a=1", False),
    "get-with-key": ("GET", f"https://example.com{KEYED}", True),
    "get-with-nonce": ("GET", "https://example.com/x?nonce=", True),
    "post": ("POST", "https://example.com/x", True),
    "delete": ("DELETE", "https://example.com/x", True),
    "unheard-of-method": ("FROB", "https://example.com/x", True),
}


@pytest.mark.parametrize(("method", "status", "safety", "path", "expected"), EFFECTS.values(), ids=EFFECTS)
def test_side_effect(method: str, status: str | None, safety: str | None, path: str | None, expected: str) -> None:
    route = RouteRecord(method, highest_supported_path=path, side_effect_status=status, get_safety=safety)
    assert side_effect(route) == expected


@pytest.mark.parametrize(("method", "url", "expected"), REQUESTS.values(), ids=REQUESTS)
def test_a_request_without_a_record(method: str, url: str, expected: bool) -> None:
    assert is_change(method, url) is expected


@pytest.mark.parametrize("effect", list(SideEffect))
def test_what_is_a_change_and_what_is_restricted(effect: SideEffect) -> None:
    assert effect.is_change is (effect not in {"none", "read_only"})
    assert effect.is_restricted is (effect.is_change and effect not in {"creates", "updates", "side_effecting"})


@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=60))
def test_an_unknown_word_is_never_harmless(word: str, safety: str, path: str) -> None:
    effect = side_effect(RouteRecord("GET", path, side_effect_status=word, get_safety=safety))
    assert effect.is_change or word.lower().replace("-", "_") in {"none", "read_only"}
