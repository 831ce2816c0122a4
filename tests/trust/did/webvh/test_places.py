"""Where logs of did:webvh lie, with their hosts and with watchers (TRUST.md §3.1)."""

from __future__ import annotations

import pytest

from proxy.trust.did.web import MalformedDid
from proxy.trust.did.webvh.places import log_target, watcher_targets, witness_target

SCID = "Qm" + "a" * 44
DID = f"did:webvh:{SCID}:example.com"


@pytest.mark.parametrize(
    ("place", "folder"),
    [
        ("example.com", "https://example.com/.well-known"),
        ("issuer.example.com", "https://issuer.example.com/.well-known"),
        ("example.com%3A3000", "https://example.com:3000/.well-known"),
        ("example.com:dids:issuer", "https://example.com/dids/issuer"),
        ("example.com%3A3000:dids:issuer", "https://example.com:3000/dids/issuer"),
    ],
)
def test_with_the_host(place: str, folder: str) -> None:
    did = f"did:webvh:{SCID}:{place}"
    assert log_target(did).uri == f"{folder}/did.jsonl"
    assert witness_target(did).uri == f"{folder}/did-witness.json"


@pytest.mark.parametrize(
    "did",
    [
        "",
        "did:web:example.com",
        "did:webvh:example.com",
        f"did:webvh:{SCID}",
        f"did:webvh:{SCID}:127.0.0.1",
        f"did:webvh:{SCID}:127.0.0.1%3a8080",
        f"did:webvh:{SCID}:127%2E0%2E0%2E1",
        f"did:webvh:{SCID}:127.0.0.1#x",
        f"did:webvh:{SCID}:example.com:..:..:admin",
        f"did:webvh:{SCID}:example.com:%2E%2E:admin",
    ],
)
def test_of_no_such_identifier(did: str) -> None:
    for targets in (log_target, witness_target, lambda did: watcher_targets("https://watcher.example", did)):
        with pytest.raises(MalformedDid):
            targets(did)


@pytest.mark.parametrize(
    ("watcher", "base"),
    [
        ("https://watcher.example", "https://watcher.example"),
        ("https://watcher.example/", "https://watcher.example"),
        ("https://WATCHER.example:8443/api/v1/", "https://watcher.example:8443/api/v1"),
    ],
)
def test_with_a_watcher(watcher: str, base: str) -> None:
    targets = watcher_targets(watcher, DID)
    assert targets is not None
    assert [target.uri for target in targets] == [f"{base}/log?scid={SCID}", f"{base}/witness?scid={SCID}"]


@pytest.mark.parametrize(
    "watcher",
    [
        "",
        "did:web:watcher.example",
        "http://watcher.example/",
        "https://watcher.example/?a=1",
        "https://",
        "https://a b/",
    ],
)
def test_watchers_that_cannot_be_asked(watcher: str) -> None:
    assert watcher_targets(watcher, DID) is None
