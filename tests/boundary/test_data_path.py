"""The boundary in the data path of whole proxies, in front of origins over TLS that count what reaches them."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Final

import pytest

from proxy.discovery.findings import failures
from proxy.lint import lint
from tests.end_to_end.relocation.world import HOST, OTHER, World, ask, gateway, get, order
from tests.end_to_end.running import Reply, Running, Wire, request
from tests.end_to_end.site import Asked, reply
from tests.simulators.wire import ScriptedOrigin

MANIFEST: Final = f"https://{HOST}/.well-known/uaix-agent-access.json"
REVIEW: Final = f"https://{HOST}/review/orders"
ORDERS: Final = f"https://{HOST}/orders"
SECURE: Final = f"https://{HOST}/secure/transactions"
PAY: Final = f"https://{HOST}/pay"
START: Final = f"https://{HOST}/start"
REGISTER: Final = f"https://{HOST}/register"
TOKEN: Final = "owner-token"
OTHER_TOKEN: Final = "other-token"
PROVEN: Final = f"Proxy-Authorization: Bearer {TOKEN}"
KEY: Final = "Idempotency-Key: k1"
JSON_BODY: Final = b'{"amount": 500}'
PROBLEM: Final = "Accept: application/problem+json"
TOKENS: Final = [
    {"id": "owner", "sha256": hashlib.sha256(TOKEN.encode()).hexdigest()},
    {"id": "poster", "sha256": hashlib.sha256(OTHER_TOKEN.encode()).hexdigest(), "level": "L3"},
]


def manifest(host: str = HOST) -> dict[str, Any]:
    route = {"method": "POST", "humanReviewUrl": REVIEW, "contentType": "application/json"}
    return {
        "profileId": "uaix.ai-ready-web.manifest.v1",
        "site": {"name": "Orders", "url": f"https://{host}/"},
        "readinessProfiles": ["ARW-F0"],
        "supportBoundary": "Evidence only.",
        "routes": [
            {**route, "highestSupportedPath": "/orders", "postBlockedFallback": "/orders.html"},
            {**route, "highestSupportedPath": "/secure/transactions", "requiresAuthentication": True},
            {**route, "highestSupportedPath": "/pay", "side_effect_status": "pays"},
            {
                **route,
                "highestSupportedPath": "/register",
                "write_credential_response_path": "bot.writeToken",
            },
            {
                "method": "GET",
                "highestSupportedPath": "/start",
                "sideEffecting": True,
                "humanReviewUrl": REVIEW,
                "get_safety": "not_for_discovery",
            },
        ],
    }


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with World(tmp_path) as world:
        world.has(MANIFEST, manifest())
        for url in (ORDERS, SECURE, PAY, START):
            world.answers(url, 200, ("Content-Type", "application/json"), body=b'{"done": true}')
        yield world


async def post(proxy: Running, url: str, *lines: str, body: bytes = JSON_BODY, method: str = "POST") -> Reply:
    return await ask(proxy, gateway(url), "Content-Type: application/json", *lines, method=method, body=body)


def on_disk(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


async def evidence(proxy: Running, query: str = "") -> list[dict[str, Any]]:
    answer = await ask(proxy, f"/v1/evidence{query}")
    assert answer.status == 200, answer.body
    listed: list[dict[str, Any]] = json.loads(answer.body)["evidence"]
    return listed


async def test_an_unproven_change_is_held_and_stays_held(world: World) -> None:
    """D8, D2: the published review URL, and the same again for every spelling; the origin never sees it."""
    async with world.proxy() as proxy:
        held = await post(proxy, ORDERS, KEY)
        assert (held.status, json.loads(held.body)) == (403, {"code": "human_review_required", "url": REVIEW})
        assert held.get("cache-control") == "no-store" and held.get("retry-after") is None
        assert held.get("date") is not None and "alternate" in (held.get("link") or "")
        spellings = ("?a=1", "/", "?idempotency_key=2", ";v=1", "%2f")
        places = [ORDERS + end for end in spellings] + [
            f"https://{HOST}//orders",
            f"https://{HOST}/%6Frders",
            f"https://{HOST}/ORDERS",
        ]
        for place in places:
            again = await post(proxy, place, KEY, "x-http-method-override: GET", "AGENT-capability: L7;ladder=exec")
            assert again.status == 403, place
            assert "no-op-D2" in (again.get("cache-status") or ""), place
        assert not [one for one in world.all_asked if "rders" in one.lower() and "well-known" not in one]
        [conflict] = await evidence(proxy)
        assert (conflict["url"], conflict["method"], conflict["state"]) == (ORDERS, "POST", "held")
        assert failures(lint("envelope", json.dumps(conflict["envelope"]).encode(), now=0.0)) == ()


@pytest.mark.parametrize("accept", ["application/problem+json", "text/html,*/*;q=0.8", "*/*", "application/json"])
async def test_shapes(world: World, accept: str) -> None:
    """UAIX.md §5.1: the shape follows Accept."""
    async with world.proxy() as proxy:
        held = await post(proxy, ORDERS, KEY, f"Accept: {accept}")
        media_type = (held.get("content-type") or "").partition(";")[0]
        wanted = {"application/problem+json": accept.partition(",")[0], "text/html,*/*;q=0.8": "text/html"}
        assert media_type == wanted.get(accept, "application/json")
        if media_type == "text/html":
            assert REVIEW.encode() in held.body
        elif media_type == "application/problem+json":
            told = json.loads(held.body)
            assert (told["code"], told["url"], told["rule"]) == ("human_review_required", REVIEW, "D9")
            assert told["fallback"] == {"url": f"https://{HOST}/orders.html", "field": "post_blocked_fallback"}


PROOFS: dict[str, tuple[str, ...]] = {
    "proxy": (PROVEN,),
    "own": (f"Authorization: Bearer {TOKEN}",),
    "basic": ("Proxy-Authorization: Basic b3duZXI6b3duZXItdG9rZW4=",),
}


@pytest.mark.parametrize("lines", PROOFS.values(), ids=PROOFS)
async def test_a_proven_client_passes(world: World, lines: tuple[str, ...]) -> None:
    """D7; the proof goes no further."""
    async with world.proxy(clients__tokens=TOKENS) as proxy:
        assert (await post(proxy, SECURE, KEY, *lines)).status == 200
        [asked] = world.asked(SECURE)
        assert "authorization" not in asked.fields and "proxy-authorization" not in asked.fields


async def test_a_change_without_a_key_is_rejected_and_no_refusal(world: World) -> None:
    """D7: nobody invents the key, and adding it is no loop."""
    async with world.proxy(clients__tokens=TOKENS) as proxy:
        rejected = await post(proxy, ORDERS, PROVEN, PROBLEM)
        assert (rejected.status, json.loads(rejected.body)["reason"]) == (400, "idempotency_missing")
        assert (await post(proxy, ORDERS, PROVEN, KEY)).status == 200
        assert await evidence(proxy) == []


async def test_what_a_level_does_not_prove(world: World) -> None:
    """The atoms of the operator's word decide, and a claim only lowers them."""
    poster = f"Proxy-Authorization: Bearer {OTHER_TOKEN}"
    async with world.proxy(clients__tokens=TOKENS) as proxy:
        assert (await post(proxy, ORDERS, poster, KEY)).status == 200
        held = await post(proxy, SECURE, poster, KEY, PROBLEM)
        assert (held.status, json.loads(held.body)["missing"]) == (403, ["auth"])
        lowered = await post(proxy, SECURE, PROVEN, "Idempotency-Key: k2", PROBLEM, "Agent-Capability: L9")
        assert lowered.status == 403
        assert world.asked(SECURE) == []


async def test_a_person_lets_it_pass(world: World) -> None:
    """D5: consent is a person's; a release holds for its time and no longer."""
    async with world.proxy(clients__tokens=TOKENS, boundary__released_for="1s") as proxy:
        held = await post(proxy, PAY, PROVEN, KEY, PROBLEM)
        assert json.loads(held.body)["type"] == "https://uaix.org/errors/consent-required"
        [conflict] = await evidence(proxy)
        released = await order(proxy, f"/admin/boundary/{conflict['id']}/release")
        assert (released.status, json.loads(released.body)["released"]["state"]) == (200, "released")
        assert (await order(proxy, f"/admin/boundary/{conflict['id']}/release")).status == 409
        assert (await post(proxy, PAY, PROVEN)).status == 400  # not without a key, all the same
        assert (await post(proxy, PAY, PROVEN, KEY)).status == 200
        await asyncio.sleep(1.1)
        assert (await post(proxy, PAY, PROVEN, "Idempotency-Key: k2")).status == 403
        assert len(world.asked(PAY)) == 1


async def test_an_unproven_client_passes_after_a_release(world: World) -> None:
    async with world.proxy() as proxy:
        assert (await post(proxy, ORDERS, KEY)).status == 403
        assert (await post(proxy, f"{ORDERS}?again=1", KEY)).status == 403
        [conflict] = await evidence(proxy, "?state=held")
        assert (await order(proxy, f"/admin/boundary/{conflict['id']}/release")).status == 200
        assert (await post(proxy, ORDERS, KEY)).status == 200
        assert len(world.asked(ORDERS)) == 1


REFUSALS: dict[str, tuple[int, bytes]] = {
    "401": (401, b"{}"),
    "403": (403, b"{}"),
    "428": (428, b""),
    "a body": (200, b'{"code": "human_review_required", "url": "https://example.com/review/9"}'),
}


@pytest.mark.parametrize(("status", "body"), REFUSALS.values(), ids=REFUSALS)
async def test_what_the_origin_refuses_is_not_asked_twice(world: World, status: int, body: bytes) -> None:
    """D11: its answer goes through as it is; after it the record answers."""
    world.answers(SECURE, status, ("Content-Type", "application/json"), body=body, cache_control=None)
    async with world.proxy(clients__tokens=TOKENS) as proxy:
        first = await post(proxy, SECURE, PROVEN, KEY)
        assert (first.status, first.body) == (status, body)
        again = await post(proxy, f"{SECURE}?other=1", PROVEN, "Idempotency-Key: k2")
        assert again.status == 403 and len(world.asked(SECURE)) == 1
        if status == 200:
            assert json.loads(again.body)["url"] == "https://example.com/review/9"
        [conflict] = await evidence(proxy)
        assert (conflict["rule"], conflict["client"]) == ("D11", "owner")


async def test_another_credential_opens_a_401(world: World) -> None:
    """CONTRACT §8: until the credential changes; and guessing ends."""
    world.answers(SECURE, 401, ("WWW-Authenticate", 'Bearer realm="x"'), cache_control=None)
    async with world.proxy(clients__tokens=TOKENS) as proxy:
        for number in range(8):
            answer = await post(
                proxy, SECURE, PROVEN, f"Idempotency-Key: k{number}", f"Authorization: Bearer t{number}"
            )
        assert answer.status == 403 and answer.get("www-authenticate") == 'Bearer realm="x"'
        assert len(world.asked(SECURE)) == 5


async def test_guessing_ends_whoever_asks_in_between(world: World) -> None:
    """Requests without a credential that come together with guesses do not begin the count anew."""

    async def refused(asked: Asked) -> bytes:
        await asyncio.sleep(0.05)
        return reply(b"{}", None, ("WWW-Authenticate", "Bearer"), status=401)

    world.on(SECURE, refused)
    async with world.proxy(clients__tokens=TOKENS) as proxy:
        for number in range(12):
            lines = (PROVEN, f"Idempotency-Key: {number}")
            guess = f"Authorization: Bearer g{number}"
            bare = post(proxy, SECURE, PROVEN, f"Idempotency-Key: n{number}")
            await asyncio.gather(post(proxy, SECURE, *lines, guess), bare)
        world.forget()
        assert (await post(proxy, SECURE, PROVEN, KEY, "Authorization: Bearer last")).status == 403
        assert world.asked(SECURE) == []


@pytest.mark.parametrize("status", [300, 409, 404, 500])
async def test_other_answers_are_no_boundary(world: World, status: int) -> None:
    world.answers(ORDERS, status, ("Content-Type", "application/json"), body=b"{}", cache_control=None)
    async with world.proxy(clients__tokens=TOKENS) as proxy:
        for number in range(2):
            assert (await post(proxy, ORDERS, PROVEN, f"Idempotency-Key: {number}")).status == status
        assert len(world.asked(ORDERS)) == 2 and await evidence(proxy) == []


async def test_an_ordinary_api_works(world: World) -> None:
    """A host without a manifest: everything passes, and it is asked for one once."""
    api = f"https://{OTHER}/api"
    world.answers(api, 201, ("Content-Type", "application/json"), body=b'{"id": 1}', cache_control=None)
    async with world.proxy() as proxy:
        for _ in range(3):
            assert (await post(proxy, api)).status == 201
        for method in ("PUT", "DELETE", "PATCH"):
            assert (await post(proxy, api, method=method)).status == 201
        assert len([one for one in world.all_asked if "uaix-agent-access" in one]) == 1
        world.answers(api, 403, ("Content-Type", "application/json"), body=b'{"error": "no"}', cache_control=None)
        assert [(await post(proxy, api)).status for _ in range(2)] == [403, 403]
        assert await evidence(proxy) == []
        world.answers(api, 403, ("Content-Type", "application/json"), body=b'{"code": "rejected", "url": null}')
        assert (await post(proxy, api)).status == 403
        world.forget()
        assert (await post(proxy, api)).status == 400  # an explicit no-op latches everywhere
        assert world.asked(api) == []


PIECES: Final = [b'{"words": ["one"', b', "two"', b"]}"]


async def test_a_body_that_comes_little_by_little_goes_on(world: World) -> None:
    """An answer that takes its time is no no-op: what is there goes on, however long the rest takes."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 25\r\n\r\n"
    goes_on = asyncio.Event()
    async with (
        ScriptedOrigin([(head + PIECES[0], goes_on, PIECES[1], PIECES[2])]) as origin,
        world.proxy(upstream__total_timeout=5) as proxy,
        Wire.open(proxy.port) as wire,
    ):
        lines = ("Content-Type: application/json", "Content-Length: 2")
        await wire.send(request("POST", f"/http/127.0.0.1:{origin.port}/chat", *lines, body=b"{}"))
        assert (await wire.head()).status == 200
        assert await wire.reader.readexactly(len(PIECES[0])) == PIECES[0]
        goes_on.set()
        assert await wire.reader.readexactly(25 - len(PIECES[0])) == b"".join(PIECES[1:])


MODES: dict[str, tuple[dict[str, object], int]] = {
    "report": ({"boundary__mode": "report"}, 200),
    "off": ({"boundary__mode": "off"}, 200),
    "host": ({"boundary__hosts": {HOST: {"mode": "off"}}}, 200),
    "host again": ({"boundary__mode": "off", "boundary__hosts": {HOST: {"mode": "enforce"}}}, 403),
}


@pytest.mark.parametrize(("sections", "status"), MODES.values(), ids=MODES)
async def test_modes(world: World, sections: dict[str, object], status: int) -> None:
    async with world.proxy(**sections) as proxy:
        assert [(await post(proxy, ORDERS, f"Idempotency-Key: {n}")).status for n in range(2)] == [status] * 2
        assert len(world.asked(ORDERS)) == (2 if status == 200 else 0)


async def test_hosts_without_routes_can_be_held_too(world: World) -> None:
    """D3 where the operator wants it."""
    api = f"https://{OTHER}/api"
    world.answers(api, 200, cache_control=None)
    async with world.proxy(boundary__unlisted="no-op") as proxy:
        held = await post(proxy, api, KEY, PROBLEM)
        assert (held.status, json.loads(held.body)["rule"]) == (403, "D3")
        assert (await get(proxy, api)).status == 200
    routes = [{"method": "POST", "highest_supported_path": "/api", "human_review_url": REVIEW}]
    async with world.proxy(boundary__hosts={OTHER: {"routes": routes}}) as proxy:
        held = await post(proxy, api, KEY)
        assert json.loads(held.body)["url"] == REVIEW


async def test_reads_go_on_but_actions_do_not(world: World) -> None:
    """UAIX.md §5.4: a GET that changes something is held once the manifest is at hand, and never stored."""
    world.has(f"https://{HOST}/about.html", b"<p>hello", "text/html")
    async with world.proxy() as proxy:
        await get(proxy, MANIFEST)
        assert (await get(proxy, f"https://{HOST}/about.html")).status == 200
        for url in (START, f"{START}?title=x", f"https://{HOST}/START"):
            assert (await get(proxy, url)).status == 403, url
        keyed = f"https://{HOST}/other?idempotency_key=1"
        assert (await get(proxy, keyed)).status == 403
        assert world.asked(START) == []


async def test_secrets(world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """UAIX.md §5.5: refused on listed hosts, passed elsewhere and kept by nobody."""
    caplog.set_level(logging.DEBUG, logger="proxy")
    leaking = f"https://{OTHER}/x?token=hunter2secret"
    world.answers(leaking, 200, body=b"hello")
    async with world.proxy(**world.on_disk) as proxy:
        await get(proxy, MANIFEST)
        for url in (f"{ORDERS}?api_key=hunter2secret", f"{ORDERS}?%2574oken%253Dhunter2secret"):
            refused = await get(proxy, url)
            assert (refused.status, json.loads(refused.body)["code"]) == (400, "rejected")
        assert [(await get(proxy, leaking)).status for _ in range(2)] == [200, 200]
        assert len(world.asked(leaking)) == 2
        api = await ask(proxy, "/v1/evidence?access_token=hunter2secret")
        assert (api.status, json.loads(api.body)["code"]) == (400, "rejected")
        text = (await ask(proxy, "/metrics", "Host: 127.0.0.1", port=proxy.admin_port)).body
        listed = json.dumps(await evidence(proxy))
        assert b"hunter2" not in text and "hunter2" not in listed
    kept = on_disk(tmp_path)
    assert b"hunter2" not in kept and "hunter2" not in caplog.text


async def test_names_that_mean_nothing_secret(world: World) -> None:
    """UAIX.md §5.5: per host and per route; values of a known shape count all the same."""
    routes = [{"method": "GET", "highest_supported_path": "/search", "allow_parameters": ["key"]}]
    async with world.proxy(boundary__hosts={HOST: {"routes": routes, "allow_parameters": ["account"]}}) as proxy:
        for query, status in (
            ("key=word", 404),
            ("account=7", 404),
            ("token=x", 400),
            ("key=Bearer%20abcdefgh", 400),
        ):
            assert (await get(proxy, f"https://{HOST}/search?{query}")).status == status, query
        assert (await get(proxy, f"https://{HOST}/other?key=word")).status == 400


async def test_a_redirect_to_a_secret_is_refused(world: World) -> None:
    world.answers(f"https://{HOST}/go", 302, ("Location", f"https://{OTHER}/x?token=hunter2"), cache_control=None)
    async with world.proxy() as proxy:
        await get(proxy, MANIFEST)
        refused = await get(proxy, f"https://{HOST}/go")
        assert (refused.status, refused.slug) == (502, "redirect-refused") and b"hunter2" not in refused.body


async def test_replays(world: World) -> None:
    """CONTRACT §8: the same key and request get the stored result, another request is a conflict."""
    api = f"https://{OTHER}/api"
    world.answers(api, 201, ("Content-Type", "application/json"), body=b'{"id": 1}', cache_control=None)
    async with world.proxy() as proxy:
        first, again = [await post(proxy, api, KEY) for _ in range(2)]
        assert (first.status, first.body) == (again.status, again.body) == (201, b'{"id": 1}')
        assert again.get("idempotent-replayed") == "true" and len(world.asked(api)) == 1
        conflict = await post(proxy, api, KEY, body=b'{"amount": 501}')
        assert (conflict.status, conflict.slug) == (422, "idempotency-conflict")
        assert (await post(proxy, api, KEY, "Authorization: Bearer x")).status == 201
        assert len(world.asked(api)) == 2
        together = await asyncio.gather(*(post(proxy, api, "Idempotency-Key: t") for _ in range(5)))
        assert {one.status for one in together} == {201} and len(world.asked(api)) == 3


async def test_a_write_credential_is_given_once(world: World, tmp_path: Path) -> None:
    """UAIX.md §4.1: its member is in no replay and no file."""
    body = b'{"bot": {"id": 1, "writeToken": "hunter2"}}'
    world.answers(REGISTER, 201, ("Content-Type", "application/json"), body=body)
    async with world.proxy(clients__tokens=TOKENS, **world.on_disk) as proxy:
        first, again = [await post(proxy, REGISTER, PROVEN, KEY) for _ in range(2)]
        assert first.body == body and first.get("cache-control") == "no-store"
        assert json.loads(again.body) == {"bot": {"id": 1, "writeToken": None}}
        assert len(world.asked(REGISTER)) == 1
    kept = on_disk(tmp_path)
    assert b"hunter2" not in kept


async def test_a_credential_in_an_answer_to_a_read_is_for_one(world: World) -> None:
    """UAIX.md §4.1: such an answer is no document for others."""
    url = f"https://{HOST}/token"
    route = {"method": "GET", "highestSupportedPath": "/token", "write_credential_response_path": "writeToken"}
    world.has(MANIFEST, {**manifest(), "routes": [route]})
    world.has(url, {"writeToken": "hunter2"})
    async with world.proxy() as proxy:
        await get(proxy, MANIFEST)
        for _ in range(2):
            assert (await get(proxy, url)).get("cache-control") == "no-store"
        assert len(world.asked(url)) == 2


async def test_the_origin_of_a_site_by_its_own_name(world: World) -> None:
    """Whoever names the origin itself meets the boundary of its site."""
    world.has(f"https://{OTHER}/.well-known/uaix-agent-access.json", manifest("agents.corp.example"))
    sites = [{"hosts": ["agents.corp.example"], "origin": f"https://{OTHER}"}]
    async with world.proxy(sites=sites) as proxy:
        assert (await post(proxy, f"https://{OTHER}/orders", KEY)).status == 403


async def test_replays_are_for_one_credential(world: World) -> None:
    api = f"https://{OTHER}/api"
    world.answers(api, 201, body=b"done", cache_control=None)
    async with world.proxy() as proxy:
        for name in ("X-Api-Key", "X-Auth-Token", "Cookie"):
            for value in ("alice", "bob"):
                assert (await post(proxy, api, KEY, f"{name}: {value}")).get("idempotent-replayed") is None


async def test_a_latch_survives(world: World) -> None:
    async with world.proxy(**world.on_disk) as proxy:
        assert (await post(proxy, ORDERS, KEY)).status == 403
    async with world.proxy(**world.on_disk) as proxy:
        again = await post(proxy, f"{ORDERS}?x=2", KEY)
        assert "no-op-D2" in (again.get("cache-status") or "")
        [conflict] = await evidence(proxy)
        assert (await order(proxy, f"/admin/boundary/{conflict['id']}/release")).status == 200
    async with world.proxy(**world.on_disk) as proxy:
        assert (await post(proxy, ORDERS, KEY)).status == 200


async def test_who_may_ask(world: World) -> None:
    """CONTRACT §10: with bearer nobody else is served; what the proxy says of itself is for everybody."""
    tokens = [{**TOKENS[0], "allow_hosts": ["*.example.net"]}]
    async with world.proxy(clients__tokens=tokens, clients__auth="bearer") as proxy:
        nobody = await get(proxy, MANIFEST)
        assert (nobody.status, nobody.slug) == (401, "unauthorized") and nobody.get("www-authenticate")
        assert (await ask(proxy, f"http://{HOST}/")).status == 407
        assert (await ask(proxy, "/llms.txt")).status == 200
        assert (await ask(proxy, "/v1/evidence")).status == 401
        assert (await get(proxy, MANIFEST, PROVEN)).status == 403
        assert (await get(proxy, f"https://{OTHER}/x", PROVEN)).status != 403


async def test_advice(world: World) -> None:
    """CONTRACT §8, §14.8: advice by the records of the host."""

    async def resolved(proxy: Running, **question: object) -> dict[str, Any]:
        answer = await ask(proxy, "/v1/resolve", method="POST", body=json.dumps(question).encode())
        assert answer.status == 200, answer.body
        told: dict[str, Any] = json.loads(answer.body)
        return told

    async with world.proxy() as proxy:
        told = await resolved(proxy, url=ORDERS, method="POST")
        assert (told["decision"], told["field"]) == ("fallback", "post_blocked_fallback")
        assert told["url"] == f"https://{HOST}/orders.html" and told["missing"] == ["json_post"]
        assert told["manifest"]["url"] == MANIFEST
        client = {"level": "L4", "ladder": "exec"}
        told = await resolved(proxy, url=SECURE, method="POST", client=client, idempotency_key="k")
        assert (told["decision"], told["url"], told["rule"]) == ("execute", SECURE, "D7")
        told = await resolved(proxy, url=f"https://{OTHER}/x", method="POST", client=client, idempotency_key="k")
        assert (told["decision"], told["rule"]) == ("no-op", "D3")
        assert world.asked(ORDERS) == [] and world.asked(SECURE) == []


async def test_the_site_form(world: World) -> None:
    """The same boundary in front of one's own agents."""
    world.has(f"https://{OTHER}/.well-known/uaix-agent-access.json", manifest("agents.corp.example"))
    sites = [{"hosts": ["agents.corp.example"], "origin": f"https://{OTHER}"}]
    world.answers(f"https://{OTHER}/orders", 200, cache_control=None)
    lines = ("Host: agents.corp.example", "Content-Type: application/json", KEY)
    async with world.proxy(sites=sites) as proxy:
        held = await ask(proxy, "/orders", *lines, method="POST", body=JSON_BODY)
        assert json.loads(held.body) == {"code": "human_review_required", "url": REVIEW}
        [conflict] = await evidence(proxy)
        assert conflict["url"] == "https://agents.corp.example/orders"
        assert (await ask(proxy, "/orders", *lines[:1])).status == 200  # reading is another intent
