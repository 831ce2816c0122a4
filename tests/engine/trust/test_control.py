"""What an operator is told of trust, and may order."""

from __future__ import annotations

from typing import Any

import pytest

from proxy.engine.outcome import Served
from proxy.engine.trust.settings import ConfiguredAnchor, TrustSettings
from proxy.http.targets import MalformedTarget
from tests.engine.trust.scene import (
    DID_PATH,
    FIRST,
    LATER,
    MIRRORED,
    URI,
    Scene,
    octets,
    scene,
    signed_manifest,
    trust_of,
)
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
    told = await at.trust.trusting.control.pin("example.com")
    assert told is not None and told["pin"] == pin, "and needs no word of the domain"
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


async def test_what_is_forgotten_takes_the_copy_along_and_may_be_pinned_again_at_once() -> None:
    at = scene()
    await at.known()
    at.mirror(FIRST, MIRRORED)
    assert (await at.get()).served is Served.MIRROR
    at.sim.origin.recover()
    assert await at.trust.trusting.control.unpin("example.com")
    assert URI not in at.sim.state.copies
    asked = at.sim.origin.paths.count(DID_PATH)
    # The occasion of a manifest pins it again, with no pause since it was asked last.
    assert trust_of(await at.get({"Cache-Control": "no-cache"}))[0] == "verified"
    assert at.sim.origin.paths.count(DID_PATH) == asked + 1
    assert (await only(at))["pin"]["standing"] == "verified"
    await at.trust.close()


async def test_a_domain_that_is_down_is_not_pinned() -> None:
    at = scene()
    at.sim.origin.fail()
    assert await at.trust.trusting.control.pin("example.com") is None
    assert await at.trust.records.get("example.com") is None
    await at.trust.close()


async def test_probation_does_not_end_unless_the_domain_answers() -> None:
    at = scene()
    at.publish(signed_manifest(FIRST), etag='"1"')
    await at.get()
    at.publish_keys(method("key-1", OTHER_ED))
    at.publish(signed_manifest(FIRST, key=OTHER_ED, created=LATER, **{"x-sequence": 43}))
    at.sim.clock += 3700
    await at.get()
    before = await only(at)
    assert before["pin"]["standing"] == "on-probation"
    at.sim.clock += 61
    at.sim.origin.fail()
    assert await at.trust.trusting.control.pin("example.com") is None
    assert await only(at) == before
    await at.trust.close()


async def test_a_did_is_looked_for_among_all_before_the_limit() -> None:
    at = scene()
    control = at.trust.trusting.control
    hosts = [f"{letter}.example" for letter in "abc"]
    for host in hosts:
        document = octets(did_document(method("key-1", did=f"did:web:{host}"), did=f"did:web:{host}"))
        at.sim.origin.respond(f"https://{host}{DID_PATH}", content_type="application/json", body=document)
        assert await control.pin(host) is not None
    for host in hosts:
        assert [told["authority"] for told in await control.known(f"did:web:{host}", 1)] == [host]
    assert len(await control.known(None, 2)) == 2
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
