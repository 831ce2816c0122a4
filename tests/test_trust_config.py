"""Anchors and gateways in the configuration: what is accepted, what they become, and what is said of the rest."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from proxy.config import ConfigError, Settings, load
from proxy.server import CannotOpen
from proxy.server.trusting import failover_settings, trust_settings
from proxy.trust.did.document import parse_did_document
from tests.trust.publisher import DID, ED, did_document, method, multikey

Load = Callable[[str], Settings]


@pytest.fixture
def of(tmp_path: Path) -> Load:
    def written(text: str) -> Settings:
        path = tmp_path / "config.yaml"
        path.write_text(text, encoding="utf-8")
        return load(str(path), {}, {})

    return written


def test_a_did_alone_is_an_anchor(of: Load) -> None:
    settings = of(
        "trust: {anchors: {EXAMPLE.com: 'did:web:example.com', 'example.org:8443': {did: 'did:web:x.example'}}}"
    )
    anchors = trust_settings(settings).anchors
    assert {name: (anchor.did, anchor.document) for name, anchor in anchors.items()} == {
        "example.com": (DID, None),
        "example.org:8443": ("did:web:x.example", None),
    }


def test_a_document(of: Load, tmp_path: Path) -> None:
    file = tmp_path / "did.json"
    file.write_text(json.dumps(did_document(method("key-1"))))
    settings = of(f"trust: {{anchors: {{example.com: {{did: '{DID}', document: '{file}'}}}}}}")
    assert trust_settings(settings).anchors["example.com"].document == file.read_bytes()


def test_keys_become_a_document(of: Load) -> None:
    settings = of(f"trust: {{anchors: {{example.com: {{did: '{DID}', keys: {{key-1: {multikey(ED)}}}}}}}}}")
    document = trust_settings(settings).anchors["example.com"].document
    assert document is not None
    parsed = parse_did_document(document, DID)
    assert parsed.assertion_key(f"{DID}#key-1", 0.0).key.multikey == multikey(ED)


UNUSABLE: dict[str, tuple[str | None, str]] = {
    "not there": (None, "did.json"),
    "no JSON": ("<html>", "did_doc_json_invalid"),
    "of another DID": (json.dumps(did_document(did="did:web:example.org")), "did_doc_id_mismatch"),
}


@pytest.mark.parametrize(("content", "told"), UNUSABLE.values(), ids=UNUSABLE)
def test_a_document_that_cannot_be_used(of: Load, tmp_path: Path, content: str | None, told: str) -> None:
    file = tmp_path / "did.json"
    if content is not None:
        file.write_text(content)
    settings = of(f"trust: {{anchors: {{example.com: {{did: '{DID}', document: '{file}'}}}}}}")
    with pytest.raises(CannotOpen) as caught:
        trust_settings(settings)
    assert "trust.anchors.example.com" in str(caught.value) and told in str(caught.value)


REFUSED: dict[str, tuple[str, str]] = {
    "no host": ("trust: {anchors: {'a b': 'did:web:example.com'}}", "a host name"),
    "no DID": ("trust: {anchors: {example.com: example.com}}", "did:web"),
    "did:key": ("trust: {anchors: {example.com: 'did:key:z6Mk'}}", "did:web"),
    "no key": (f"trust: {{anchors: {{example.com: {{did: '{DID}', keys: {{a: z6Mk}}}}}}}}", "Multikey"),
    "both": (
        f"trust: {{anchors: {{example.com: {{did: '{DID}', document: a, keys: {{a: {multikey(ED)}}}}}}}}}",
        "not both",
    ),
    "soft past hard": ("trust: {pin_soft: 31d}", "pin_hard"),
    "plain http gateway": ("failover: {ipfs_gateways: ['http://gateway.example']}", "https"),
    "gateway with a query": ("failover: {ipfs_gateways: ['https://gateway.example/?a=b']}", "query"),
    "no mirrors at all": ("failover: {mirrors_max: 0}", "mirrors_max"),
}


@pytest.mark.parametrize(("text", "told"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(of: Load, text: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        of(text)
    assert told in str(caught.value)


def test_what_failover_is_made_of(of: Load) -> None:
    settings = of(
        "failover: {ipfs_gateways: ['http://127.0.0.1:8081', 'https://ipfs.example.net/base/'], mirrors_max: 3,"
        " hedge_delay: 100ms, deadline: 2s, mirror_max_age: 1m}"
    )
    failover = failover_settings(settings)
    assert [gateway.url for gateway in failover.rules.gateways] == [
        "http://127.0.0.1:8081",
        "https://ipfs.example.net/base",
    ]
    assert (failover.rules.most, failover.hedge_delay, failover.deadline) == (3, 0.1, 2.0)
    assert trust_settings(settings).mirror_max_age == 60.0


def test_the_defaults() -> None:
    settings = load(None, {}, {})
    rules = trust_settings(settings).rules
    assert (rules.skew, rules.soft, rules.hard, rules.max_manifest_age) == (300, 604_800, 2_592_000, 7_776_000)
    assert not settings.not_in_force
