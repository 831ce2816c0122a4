"""What a discovery says of signatures: of the manifest, of other documents, of what lies on other hosts."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from proxy.engine.trust.settings import TrustSettings
from proxy.http.fields import Fields
from proxy.http.messages import Request
from tests.engine.trust.scene import DID_PATH, FIRST, PATH, signed_manifest
from tests.simulators.discovery import Neighbourhood, neighbourhood
from tests.simulators.origin import Reply
from tests.trust.publisher import DID, OTHER_ED, did_document, method, signature

CARD_PATH = "/.well-known/agent-card.json"
CARD: dict[str, Any] = {
    "name": "a",
    "description": "b",
    "version": "1",
    "url": "https://example.com/a2a",
    "preferredTransport": "JSONRPC",
    "protocolVersion": "0.3.0",
    "capabilities": {},
    "defaultInputModes": [],
    "defaultOutputModes": [],
    "skills": [],
}
ELSEWHERE = "https://cdn.example.net/m.json"


@asynccontextmanager
async def domain(manifest: bytes | None = None) -> AsyncIterator[Neighbourhood]:
    """example.com with its keys and a signed manifest."""
    n = neighbourhood(trust=TrustSettings(patience=1.0))
    n.publish(DID_PATH, did_document(method("key-1")))
    if manifest is not None:
        n.publish(PATH, manifest)
    yield n
    assert n.engine.trust is not None
    await n.engine.trust.close()


async def test_a_verified_manifest() -> None:
    async with domain(signed_manifest(expires="2027-02-01T00:00:00Z")) as n:
        found = await n.discover()
        assert found["trust"] == {
            "state": "verified",
            "did": DID,
            "verification_method": f"{DID}#key-1",
            "proof": "eddsa-jcs-2022",
            "signed_at": "2027-01-10T00:00:00.000Z",
            "valid_until": "2027-02-01T00:00:00.000Z",
            "reasons": [],
        }
        assert found["source"]["kind"] == "origin"
        [document] = [one for one in found["documents"] if one["class"] == "manifest"]
        assert document["trust"] == "verified"


async def test_a_bad_signature() -> None:
    async with domain(signed_manifest(key=OTHER_ED)) as n:
        trust = (await n.discover())["trust"]
        assert (trust["state"], trust["verification_method"]) == ("origin-tls", None)
        assert trust["reasons"] == ["signature_invalid"]


async def test_the_origin_is_down() -> None:
    async with domain(body := signed_manifest(FIRST)) as n:
        await n.discover()
        n.engine.clock += 7200
        n.engine.origin.fail()
        assert n.engine.trust is not None
        n.engine.trust.mirrors.respond(FIRST, body)
        found = await n.discover()
        assert (found["outcome"], found["source"]["kind"]) == ("found", "mirror")
        assert found["manifest"]["body"] == json.loads(body)
        assert (found["trust"]["state"], found["trust"]["did"]) == ("verified", DID)
        assert (await n.discover())["source"]["kind"] == "mirror"


async def test_a_did_of_dns_that_contradicts_the_pin() -> None:
    async with domain(signed_manifest()) as n:
        n.dns.txt("_agent.example.com", "v=uaix1; did=did:web:example.com")
        assert (await n.discover())["trust"]["reasons"] == []
        n.dns.txt("_agent.example.com", f"v=uaix1; did=did:webvh:{'Q' * 46}:example.com")
        n.engine.clock += 301
        trust = (await n.discover())["trust"]
        assert (trust["state"], trust["did"], trust["reasons"]) == ("verified", DID, ["dns_did_conflict"])


UNSIGNED = b'{"profileId": "uaix.ai-ready-web.manifest.v1", "site": {"url": "https://example.com/"}}'
# What the other host answers, whether it is believed, and the step that tells of it.
ELSEWHERES: dict[str, tuple[int, bytes, bool, tuple[str, str]]] = {
    "signed by the domain": (200, signed_manifest(), True, ("manifest", "found")),
    "unsigned": (200, UNSIGNED, False, ("manifest-authority", "refused")),
    "signed by somebody else": (200, signed_manifest(key=OTHER_ED), False, ("manifest-authority", "refused")),
    "gone": (410, b"", False, ("manifest", "absent")),
}


@pytest.mark.parametrize(("status", "body", "counts", "step"), ELSEWHERES.values(), ids=ELSEWHERES)
@pytest.mark.parametrize("own", [None, signed_manifest(routes=[])], ids=["alone", "beside the domain's own"])
async def test_on_another_host_only_a_signature_of_the_domain_counts(
    own: bytes | None, status: int, body: bytes, counts: bool, step: tuple[str, str]
) -> None:
    async with domain(own) as n:
        n.dns.txt("_agent.example.com", f"v=uaix1; endpoint={ELSEWHERE}")
        n.publish(ELSEWHERE, body, status=status)
        n.publish(CARD_PATH, CARD)
        n.publish("https://cdn.example.net/.well-known/did.json", {})
        found = await n.discover()
        believed = body if counts else own
        assert (found["trust"] or {}).get("state") == (None if believed is None else "verified")
        assert (found["manifest"] or {}).get("body") == (None if believed is None else json.loads(believed))
        name, outcome = step
        assert found.step(name, ELSEWHERE)["outcome"] == outcome
        # What does not count ends nothing either: the domain's own documents are still found.
        assert found["outcome"] == "found" and ("a2a" in {one["protocol"] for one in found["endpoints"]})


async def test_who_says_on_another_host_that_it_is_gone_says_nothing_of_the_domain() -> None:
    async with domain() as n:
        n.dns.txt("_agent.example.com", f"v=uaix1; endpoint={ELSEWHERE}")
        n.publish(ELSEWHERE, b"", status=410)
        assert (await n.discover())["outcome"] == "not-found"
        n.publish(PATH, b"", status=410)
        n.engine.clock += 301
        assert (await n.discover())["outcome"] == "gone"


CARDS: dict[str, tuple[dict[str, Any], str]] = {
    "signed": ({**CARD, "signatures": [signature(CARD)]}, "verified"),
    "by another key": ({**CARD, "signatures": [signature(CARD, OTHER_ED)]}, "origin-tls"),
    "unsigned": (CARD, "origin-tls"),
}


@pytest.mark.parametrize(("card", "trust"), CARDS.values(), ids=CARDS)
async def test_cards_and_their_endpoints(card: dict[str, Any], trust: str) -> None:
    async with domain(signed_manifest()) as n:
        n.publish(CARD_PATH, card)
        found = await n.discover()
        [document] = [one for one in found["documents"] if one["class"] == "agent-card"]
        assert document["trust"] == trust
        assert {one["trust"] for one in found["endpoints"] if one["protocol"] == "a2a"} == {trust}
        told = [finding["rule"] for finding in document["lint"]]
        assert ("A2A-4" in told) is (trust != "verified" and "signatures" in card)


async def test_a_redirect_within_the_domain_is_judged_by_the_domain_that_was_asked() -> None:
    async with domain() as n:
        moved = Reply(
            308, Fields((("Location", "https://www.example.com/m.json"), ("Cache-Control", "max-age=60")))
        )
        n.engine.origin.answer(
            PATH, lambda request: moved if request.target.host == "example.com" else _none(request)
        )
        n.publish("https://www.example.com/m.json", signed_manifest())
        found = await n.discover()
        assert found["trust"]["state"] == "verified"


def _none(request: Request) -> Reply:
    return Reply(404)
