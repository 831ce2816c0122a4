"""What an operator is told of trust, and may order."""

from __future__ import annotations

from typing import Any

import pytest

from proxy.engine.trust.settings import ConfiguredAnchor, TrustSettings
from proxy.http.targets import MalformedTarget
from tests.engine.trust.scene import DID_PATH, FIRST, MIRRORED, URI, Scene, octets, scene, signed_manifest, trust_of
from tests.trust.publisher import DID, ED, OTHER_ED, did_document, method, multikey


async def only(at: Scene) -> dict[str, Any]:
    [told] = await at.trust.trusting.control.known(None, 10)
    return told


async def test_what_is_known() -> None:
    at = scene()
    at.publish(signed_manifest(FIRST))
    await at.get()
    told = await only(at)
    assert (told["authority"], told["did"], told["dns_did"]) == ("example.com", DID, None)
    pin = told["pin"]
    assert (pin["source"], pin["standing"], pin["keys"]) == ("tls", "verified", [multikey(ED)])
    [manifest] = told["manifests"]
    assert (manifest["url"], manifest["signed"], manifest["sequence"]) == (URI, True, 42)
    assert await at.trust.trusting.control.known(DID, 10) == [told]
    assert await at.trust.trusting.control.known("did:web:other.example", 10) == []
    await at.trust.close()


STANDINGS = {"verified": 0, "stale-trust": 8 * 86_400, "expired": 31 * 86_400}


@pytest.mark.parametrize(("standing", "age"), STANDINGS.items())
async def test_the_standing_of_a_pin(standing: str, age: int) -> None:
    at = scene()
    at.publish(signed_manifest())
    await at.get()
    at.sim.clock += age
    assert (await only(at))["pin"]["standing"] == standing
    await at.trust.close()


async def test_what_is_configured_never_ages() -> None:
    anchor = ConfiguredAnchor(DID, octets(did_document(method("key-1"))))
    at = scene(TrustSettings(anchors={"example.com": anchor}))
    at.publish(signed_manifest())
    await at.get()
    at.sim.clock += 90 * 86_400
    pin = (await only(at))["pin"]
    assert (pin["source"], pin["standing"]) == ("config", "verified")
    await at.trust.close()


async def test_the_operator_ends_probation() -> None:
    at = scene()
    at.publish(signed_manifest(FIRST), etag='"1"')
    await at.get()
    at.publish_keys(method("key-1", OTHER_ED))
    renewed = signed_manifest(FIRST, key=OTHER_ED, created="2027-01-12T00:00:00Z", **{"x-sequence": 43})
    at.publish(renewed)
    at.sim.clock += 3700
    await at.get()
    assert (await only(at))["pin"]["standing"] == "on-probation"
    assert await at.trust.trusting.control.pin("EXAMPLE.com:443") is not None
    pin = (await only(at))["pin"]
    assert (pin["standing"], pin["on_probation"], list(pin["dropped"])) == ("verified", {}, [multikey(ED)])
    at.sim.clock += 61
    at.sim.origin.fail()
    at.mirror(FIRST, renewed)
    assert trust_of(await at.get())[0] == "verified"
    await at.trust.close()


async def test_a_domain_is_pinned_before_it_is_asked_for() -> None:
    at = scene()
    assert (await at.trust.trusting.control.pin("example.com") or {})["did"] == DID
    assert at.sim.origin.paths == [DID_PATH]
    at.sim.origin.respond(DID_PATH, 404)
    assert await at.trust.trusting.control.pin("example.org") is None
    await at.trust.close()


async def test_a_domain_is_forgotten() -> None:
    at = scene()
    await at.known()
    at.mirror(FIRST, MIRRORED)
    assert await at.trust.trusting.control.unpin("example.com")
    assert not await at.trust.trusting.control.unpin("example.com")
    assert (await at.get()).status == 504 and not at.trust.mirrors.asked
    await at.trust.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "a b", ""])
async def test_hosts_that_have_no_did(host: str) -> None:
    at = scene()
    with pytest.raises(MalformedTarget):
        await at.trust.trusting.control.pin(host)
    await at.trust.close()


async def test_the_explanation_tells_of_trust_and_of_the_copy() -> None:
    at = scene()
    await at.known()
    at.mirror(FIRST, MIRRORED)
    await at.get()
    told: dict[str, Any] = await at.sim.control.explain(URI)
    assert told["copy"]["source"] == "mirror" and told["copy"]["trust"].startswith("verified;did=")
    assert told["trust"]["pin"]["standing"] == "verified"
    other: dict[str, Any] = await at.sim.control.explain("https://127.0.0.1/x")
    assert (other["copy"], other["trust"]) == (None, None)
    await at.trust.close()
