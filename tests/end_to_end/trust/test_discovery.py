"""One call of discovery about a domain that signs: healthy, and while its origin is down."""

from __future__ import annotations

import json
from typing import Any

from tests.end_to_end.running import Running
from tests.end_to_end.trust.world import (
    DID_PATH,
    HOST,
    MIRRORS,
    URI,
    World,
    ask_manifest,
    now_text,
    octets,
    signed_manifest,
)
from tests.simulators.nameserver import records
from tests.trust.publisher import DID, manifest


async def described(proxy: Running) -> tuple[int, dict[str, Any]]:
    answer = await proxy.get(f"/v1/discover/{HOST}")
    return answer.status, json.loads(answer.body)


def requests_to(world: World) -> int:
    return len(world.origin.asked) + len(world.asked_mirrors)


async def test_a_healthy_domain_that_nothing_was_known_of(world: World) -> None:
    created = now_text()
    world.publish(signed_manifest(*MIRRORS, created=created), "max-age=300")
    async with world.proxy() as proxy:
        status, told = await described(proxy)
        assert (status, told["outcome"], told["source"]["kind"]) == (200, "found", "origin")
        assert told["trust"] == {
            "state": "verified",
            "did": DID,
            "verification_method": f"{DID}#key-1",
            "proof": "eddsa-jcs-2022",
            "signed_at": created,
            "valid_until": None,
            "reasons": [],
        }
        assert len(world.origin.to(DID_PATH)) == 1
        assert told["overhead"]["http_requests"] == requests_to(world)
        assert told["overhead"]["central_services"] == 0


async def test_a_proof_that_is_no_good_is_told_with_its_reason(world: World) -> None:
    world.publish(signed_manifest(*MIRRORS).replace(b"0.25", b"0.75"), "max-age=300")
    async with world.proxy() as proxy:
        status, told = await described(proxy)
        assert (status, told["trust"]["state"]) == (200, "origin-tls")
        assert told["trust"]["reasons"] == ["signature_invalid"]


async def test_the_manifest_comes_from_a_mirror_while_the_origin_is_down(world: World) -> None:
    async with world.proxy() as proxy:
        body = await world.known(proxy, world.mirrored(signed_manifest(*MIRRORS)))
        asked = requests_to(world)
        status, told = await described(proxy)
        assert (status, told["outcome"]) == (200, "found")
        assert (told["source"]["kind"], told["trust"]["state"]) == ("mirror", "verified")
        assert (told["trust"]["did"], told["trust"]["reasons"]) == (DID, [])
        assert (told["manifest"]["url"], told["manifest"]["body"]) == (URI, json.loads(body))
        assert requests_to(world) > asked


async def test_a_copy_at_hand_is_told_without_asking_again(world: World) -> None:
    async with world.proxy() as proxy:
        await world.known(proxy, world.mirrored(signed_manifest(*MIRRORS)))
        assert (await ask_manifest(proxy)).status == 200
        asked = len(world.asked_mirrors)
        _, told = await described(proxy)
        assert (told["source"]["kind"], told["trust"]["state"]) == ("mirror", "verified")
        assert len(world.asked_mirrors) == asked


async def test_the_manifest_comes_by_its_hash_where_no_mirror_answers(world: World) -> None:
    copy = signed_manifest()
    url = f"ipfs://{world.gateways[0].add_file(copy).text}"
    async with world.proxy() as proxy:
        await world.known(proxy, signed_manifest(*MIRRORS, url))
        _, told = await described(proxy)
        assert (told["source"]["kind"], told["trust"]["state"]) == ("ipfs", "verified")


async def test_a_domain_that_is_down_and_was_never_known(world: World) -> None:
    world.mirrored(signed_manifest(*MIRRORS))
    await world.origin.down()
    async with world.proxy() as proxy:
        status, told = await described(proxy)
        assert (status, told["outcome"]) == (503, "unavailable")
        assert not world.asked_mirrors


async def test_dns_names_another_did_than_the_pinned_one(world: World) -> None:
    other = f"{DID}%3A8443"
    record = f'_agent.{HOST}. 300 IN TXT "v=uaix1; endpoint={URI}; did={other}"'
    world.nameserver.replies[f"_agent.{HOST}", "TXT"] = records(record)
    world.publish(signed_manifest(*MIRRORS), "max-age=300")
    async with world.proxy() as proxy:
        assert (await ask_manifest(proxy)).status == 200
        _, told = await described(proxy)
        assert (told["trust"]["state"], told["trust"]["did"]) == ("verified", DID)
        assert told["trust"]["reasons"] == ["dns_did_conflict"]


async def test_an_unsigned_manifest_has_tls_alone(world: World) -> None:
    world.publish(octets(manifest()), "max-age=300")
    async with world.proxy() as proxy:
        _, told = await described(proxy)
        assert (told["trust"]["state"], told["trust"]["proof"]) == ("origin-tls", None)
