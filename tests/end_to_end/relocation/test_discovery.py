"""Discovery and the origin's word: what a call sees move is recorded when it answers, and what is gone stays so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.relocation.world import (
    AN_HOUR,
    CARD,
    HOST,
    JSON,
    NEVER_STALE,
    OTHER,
    WWW,
    World,
    ask,
    gateway,
    get,
    gone,
    listed,
    nothing_recorded,
    record_of,
    settled,
)
from tests.end_to_end.running import Running
from tests.end_to_end.site import reply
from tests.end_to_end.trust import world as trust
from tests.engine.discovery.documents import AID_AT, CATALOG_AT, MANIFEST_AT, agent_card
from tests.trust.publisher import did_document, manifest, method, signed

MANIFEST = f"https://{HOST}{MANIFEST_AT}"
MOVED = f"https://{WWW}{MANIFEST_AT}"
ABROAD = f"https://{OTHER}/manifest.json"


async def discovered(proxy: Running, domain: str = HOST) -> tuple[int, dict[str, Any]]:
    """Status and members of the answer about a domain."""
    answer = await ask(proxy, f"/v1/discover/{domain}")
    return answer.status, json.loads(answer.body)


def unsigned(**members: Any) -> dict[str, Any]:
    return manifest(**{"x-independent-mirrors": None, **members})


async def test_a_manifest_that_has_moved_is_recorded_when_the_call_answers(world: World) -> None:
    world.answers(MANIFEST, 308, ("Location", MOVED))
    world.has(MOVED, unsigned())
    async with world.proxy() as proxy:
        status, told = await discovered(proxy)
        assert (status, told["outcome"], told["manifest"]["url"]) == (200, "found", MOVED)
        record = await record_of(proxy, MANIFEST)
        assert record is not None and (record["state"], record["target"]) == ("moved", MOVED), "at once"
        assert record["evidence"]["proof"] == "same-site"
        [relocation] = told["relocations"]
        assert MANIFEST in relocation.values() and MOVED in relocation.values()
        world.forget()
        answer = await get(proxy, MANIFEST)
        assert (answer.status, answer.get("location"), world.all_asked) == (308, gateway(MOVED), [])
        status, told = await discovered(proxy)
        assert (status, told["outcome"], world.all_asked) == (200, "found", [])


async def test_a_move_is_known_to_the_next_call_of_another_process(world: World) -> None:
    world.answers(MANIFEST, 308, ("Location", MOVED))
    world.has(MOVED, unsigned())
    async with world.proxy(**world.on_disk) as proxy:
        await discovered(proxy)
    world.forget()
    async with world.proxy(**world.on_disk) as proxy:
        _, told = await discovered(proxy)
        assert (told["outcome"], told["manifest"]["url"]) == ("found", MOVED)
        assert world.asked(MANIFEST) == []


ELSEWHERE = {"name": "A", "url": f"https://{OTHER}/"}
# What is at the new place, in another domain, and what the record comes to.
ABROAD_ROWS: dict[str, tuple[Callable[[], dict[str, Any]], str, str]] = {
    "signed by the domain's key": (lambda: signed(unsigned(), created=trust.now_text()), "moved", "proven"),
    "signed, for another site": (
        lambda: signed(unsigned(site=ELSEWHERE), created=trust.now_text()),
        "pending",
        "none",
    ),
    "naming the domain as its site": (unsigned, "moved", "proven"),
    "of somebody else": (lambda: unsigned(site=ELSEWHERE), "pending", "none"),
}


@pytest.mark.parametrize(("document", "state", "proof"), ABROAD_ROWS.values(), ids=ABROAD_ROWS)
async def test_ov_3_a_move_to_another_domain(
    world: World, document: Callable[[], dict[str, Any]], state: str, proof: str
) -> None:
    keys = did_document(method("key-1"))
    world.has(f"https://{HOST}/.well-known/did.json", keys, "application/did+json")
    world.answers(MANIFEST, 308, ("Location", ABROAD))
    world.has(ABROAD, document())
    async with world.proxy() as proxy:
        _, told = await discovered(proxy)
        record = await settled(proxy, MANIFEST, state)
        assert record is not None and (record["target"], record["evidence"]["proof"]) == (ABROAD, proof)
        if state == "pending":
            assert told["manifest"] is None and told["outcome"] == "moved"
            answer = await get(proxy, MANIFEST)
            assert answer.status == 308 and "detail=moved" not in (answer.get("cache-status") or "")


async def test_ov_3_it_is_told_why_a_move_waits(world: World) -> None:
    world.answers(MANIFEST, 308, ("Location", ABROAD))
    world.has(ABROAD, unsigned(site=ELSEWHERE))
    async with world.proxy() as proxy:
        await discovered(proxy)
        record = await settled(proxy, MANIFEST, "pending")
        assert record is not None and "another domain" in record["evidence"]["note"]


@pytest.mark.parametrize("cross_domain", ["operator", "never"])
async def test_ov_3_by_configuration(world: World, cross_domain: str) -> None:
    world.answers(MANIFEST, 308, ("Location", ABROAD))
    world.has(ABROAD, unsigned())
    async with world.proxy(relocation__cross_domain=cross_domain) as proxy:
        await discovered(proxy)
        if cross_domain == "never":
            await nothing_recorded(proxy)
        else:
            await settled(proxy, MANIFEST, "pending")


async def test_a_domain_whose_manifest_is_gone(world: World) -> None:
    world.withdraws(MANIFEST)
    async with world.proxy(**world.on_disk) as proxy:
        for _ in range(2):
            status, told = await discovered(proxy)
            assert (status, told["outcome"], told["manifest"]) == (410, "gone", None)
        assert told["overhead"]["http_requests"] == 0, "the second one is warm"
        record = await record_of(proxy, MANIFEST)
        assert record is not None and record["state"] == "gone"
    world.forget()
    async with world.proxy(**world.on_disk) as proxy:
        for _ in range(2):
            status, told = await discovered(proxy)
            assert (status, told["outcome"]) == (410, "gone")
        assert world.asked(MANIFEST) == []
        await world.sites[HOST].down()
        await proxy.purge()
        status, told = await discovered(proxy)
        assert (status, told["outcome"]) == (410, "gone"), "nor does an outage make it less gone"


async def test_what_is_gone_ends_a_warm_answer(world: World) -> None:
    world.has(MANIFEST, unsigned())
    async with world.proxy() as proxy:
        assert (await discovered(proxy))[1]["outcome"] == "found"
        world.withdraws(MANIFEST)
        assert (await get(proxy, MANIFEST, "Cache-Control: no-cache")).status == 410
        status, told = await discovered(proxy)
        assert (status, told["outcome"]) == (410, "gone")


async def test_ov_6_a_mirror_does_not_bring_it_back(tmp_path: Path) -> None:
    async with trust.World(tmp_path) as world, world.proxy() as proxy:
        body = world.publish(world.mirrored(trust.signed_manifest(*trust.MIRRORS)))
        assert (await trust.ask_manifest(proxy)).body == body
        world.origin.on(trust.PATH, lambda asked: reply(b"", AN_HOUR, status=410))
        assert (await trust.ask_manifest(proxy)).status == 410
        await world.origin.down()
        for _ in range(2):
            assert (await trust.ask_manifest(proxy)).slug == "gone"
        status, told = await discovered(proxy)
        assert (status, told["outcome"]) == (410, "gone")
        assert world.asked_mirrors == []


async def test_several_choices_are_listed_and_none_is_taken(world: World) -> None:
    world.answers(
        CARD,
        300,
        ("Location", "/agents/de.json"),
        ("Link", '</agents/en.json>; rel="alternate"; type="application/json"; hreflang="en"'),
        ("Link", '<https://10.0.0.5/inside.json>; rel="alternate"; type="application/json"'),
        body=json.dumps({"alternatives": [{"url": "/agents/fr.json", "language": "fr", "quality": 0.5}]}).encode(),
    )
    async with world.proxy() as proxy:
        _, told = await discovered(proxy)
        offered = [one for one in told["alternatives"] if one["for"] == CARD]
        assert {(one["url"], one["language"], one["reason"]) for one in offered} >= {
            (f"https://{HOST}/agents/de.json", None, "multiple-choices"),
            (f"https://{HOST}/agents/en.json", "en", "multiple-choices"),
        }
        assert all(one["url"].startswith(f"https://{HOST}/agents/") for one in offered)
        assert not any("/agents/" in url for url in world.all_asked)
        await nothing_recorded(proxy)


async def test_ov_7_a_successor_is_offered_and_not_followed(world: World) -> None:
    world.withdraws(CARD, JSON, body=b'{"code": 410, "url": "/successor.json"}')
    world.has(f"https://{HOST}/successor.json")
    async with world.proxy(**world.on_disk) as proxy:
        for _ in range(2):
            _, told = await discovered(proxy)
            [offered] = [one for one in told["alternatives"] if one["for"] == CARD]
            assert (offered["url"], offered["reason"]) == (f"https://{HOST}/successor.json", "successor")
    async with world.proxy(**world.on_disk) as proxy:
        _, told = await discovered(proxy)
        [offered] = [one for one in told["alternatives"] if one["for"] == CARD]
        assert offered["url"] == f"https://{HOST}/successor.json"
        assert world.asked(f"https://{HOST}/successor.json") == []


async def test_ov_9_what_follows_no_redirects_is_recorded_nowhere(world: World) -> None:
    world.answers(f"https://{HOST}{AID_AT}", 308, ("Location", f"https://{WWW}{AID_AT}"))
    world.has(f"https://{WWW}{AID_AT}", {"v": "aid1", "uri": f"https://{HOST}/mcp", "proto": "mcp"})
    async with world.proxy() as proxy:
        await discovered(proxy)
        await nothing_recorded(proxy)
        assert (await get(proxy, f"https://{HOST}{AID_AT}")).status == 308
        await nothing_recorded(proxy)


async def test_ov_11_a_document_that_names_what_has_moved_is_asked_for_again(world: World) -> None:
    listed_card = f"https://{HOST}/agents/one.json"
    listing = {"specVersion": "1.0", "entries": [{"identifier": "urn:air:example.com:one", "url": listed_card}]}
    url = f"https://{HOST}{CATALOG_AT}"
    world.has(url, listing)
    async with world.proxy() as proxy:
        assert (await get(proxy, url)).status == 200
        assert "hit" in ((await get(proxy, url)).get("cache-status") or "")
        await gone(world, proxy, listed_card)
        await get(proxy, url)
        assert len(world.asked(url)) == 1


async def test_a_card_that_a_catalog_lists_and_that_is_gone(world: World) -> None:
    """The domain's own catalog is its word, and so is that the card is gone."""
    listed_card = f"https://{HOST}/agents/one.json"
    listing = {
        "specVersion": "1.0",
        "entries": [
            {
                "identifier": "urn:air:example.com:one",
                "displayName": "one",
                "type": "application/a2a-agent-card+json",
                "url": listed_card,
            }
        ],
    }
    world.has(f"https://{HOST}{CATALOG_AT}", listing, cache_control=NEVER_STALE)
    world.has(listed_card, agent_card())
    async with world.proxy() as proxy:
        _, told = await discovered(proxy)
        assert listed_card in [one["url"] for one in told["documents"] if one["found"]]
        world.withdraws(listed_card)
        assert (await get(proxy, listed_card, "Cache-Control: no-cache")).status == 410
        _, told = await discovered(proxy)
        assert listed_card not in [one["url"] for one in told["documents"] if one["found"]]
        assert [row["url"] for row in await listed(proxy)] == [listed_card]
