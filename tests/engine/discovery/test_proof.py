"""The proof of an endpoint's key in a discovery: run each time and never kept (AID-20 to AID-23)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from proxy.http.fields import Fields
from proxy.ports import OriginFault, OriginUnavailable
from tests.engine.discovery.documents import AID_AT, SITE
from tests.simulators.aidendpoint import OTHER_KEY, PUBLIC, THUMBPRINT, UNBOUND, AidEndpoint, record
from tests.simulators.discovery import Described, Neighbourhood, neighbourhood
from tests.simulators.origin import Reply

URI = f"{SITE}/mcp"
LISTED = ("mcp", URI, "aid2", "hint")
LEGACY = "v=aid1;uri=https://example.com/mcp;proto=mcp;kid=g1;pka=zGmaDrppBC7P5ARKV8g3djiwP89vz1jLK23V2GBjuAEGB"


def proving(**how: Any) -> tuple[Neighbourhood, AidEndpoint]:
    n = neighbourhood()
    endpoint = AidEndpoint(n.engine.clock, **how)
    n.dns.txt("_agent.example.com", record(URI))
    n.engine.origin.answer("/mcp", endpoint)
    return n, endpoint


def step(answer: Described) -> tuple[str, str]:
    taken = answer.step("aid-pka")
    return taken["outcome"], taken["detail"]


def aid_record(answer: Described) -> dict[str, Any]:
    return next(one for one in answer["dns"]["records"] if one["name"] == "_agent.example.com")


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"covered": UNBOUND},
        {"status": 401},
        {"status": 403},
        {"status": 405},
        {"status": 500},
        {"stated": {"alg": '"Ed25519"'}},
        {"age": 60},
        {"cache_control": "private, no-store"},
        {"more": (("Date", "Thu, 01 Jan 1970 00:00:00 GMT"),)},
    ],
    ids=[
        "bound",
        "unbound",
        "401",
        "403",
        "405",
        "500",
        "alg in capitals",
        "within the skew",
        "private",
        "odd date",
    ],
)
async def test_a_proof_that_holds(how: dict[str, Any]) -> None:
    n, _ = proving(**how)
    answer = await n.discover()
    assert answer.endpoints == {LISTED}
    assert answer["endpoints"][0]["pka"] == {
        "verdict": "verified",
        "reason": None,
        "checked_at": "2027-01-15T08:00:00.000Z",
        # AID-22: whether the domain that was asked is in the signature.
        "domain_bound": how.get("covered") != UNBOUND,
    }
    assert answer["coexisting"] == ["aid2"]
    assert step(answer) == ("found", "")
    assert aid_record(answer)["accepted"] is True


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"key": OTHER_KEY}, "signature"),
        ({"stated": {"nonce": '"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"'}}, "nonce"),
        ({"stated": {"keyid": '"other"'}}, "key_id"),
        ({"stated": {"alg": '"rsa-pss-sha512"'}}, "algorithm"),
        ({"stated": {"tag": '"other"'}}, "tag"),
        ({"stated": {"expires": "1"}}, "window"),
        ({"stated": {"more": "1"}}, "parameters"),
        ({"age": 400}, "expired"),
        ({"age": -400}, "too_early"),
        ({"covered": UNBOUND[1:]}, "components"),
        ({"cache_control": "max-age=60"}, "cacheable"),
        ({"status": 302}, "redirect"),
        ({"status": 308, "more": (("Location", f"{SITE}/elsewhere"),)}, "redirect"),
        ({"more": (("Signature", "aid-pka=:AAAA:"),)}, "repeated"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_proof_that_does_not(how: dict[str, Any], reason: str) -> None:
    n, _ = proving(**how)
    answer = await n.discover()
    assert answer.endpoints == set()
    assert step(answer) == ("refused", reason)
    assert aid_record(answer)["accepted"] is False
    assert aid_record(answer)["reason"].startswith("ERR_SECURITY: ")
    assert answer["coexisting"] == []
    assert "/elsewhere" not in n.paths


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (Reply(200), ("refused", "unsigned")),
        (Reply(404), ("refused", "unsigned")),
        (Reply(401), ("refused", "unsigned")),
        (Reply(403), ("refused", "domain_refused")),
        (Reply(429), ("failed", "unavailable")),
        (Reply(503), ("failed", "unavailable")),
        (
            Reply(200, Fields([("Signature-Input", "\x00"), ("Cache-Control", "no-store")])),
            ("refused", "malformed"),
        ),
    ],
    ids=["200", "404", "401", "403", "429", "503", "garbage"],
)
async def test_an_answer_without_a_proof(reply: Reply, expected: tuple[str, str]) -> None:
    n, _ = proving()
    n.engine.origin.answer("/mcp", lambda _: reply)
    answer = await n.discover()
    assert (answer.endpoints, step(answer)) == (set(), expected)


@pytest.mark.parametrize("fault", list(OriginFault))
async def test_an_endpoint_that_cannot_be_asked(fault: OriginFault) -> None:
    def unavailable(_: object) -> Reply:
        raise OriginUnavailable(fault, "simulated")

    n, _ = proving()
    n.engine.origin.answer("/mcp", unavailable)
    answer = await n.discover()
    assert (answer.endpoints, step(answer)) == (set(), ("failed", "unavailable"))
    assert aid_record(answer)["accepted"] is False


async def test_a_legacy_key_has_a_proof_that_is_not_run() -> None:
    n = neighbourhood()
    n.dns.txt("_agent.example.com", LEGACY)
    answer = await n.discover()
    assert answer.endpoints == set()
    assert step(answer)[0] == "skipped"
    assert "/mcp" not in n.paths


async def test_without_a_key_nothing_is_proved() -> None:
    n = neighbourhood()
    n.dns.txt("_agent.example.com", f"v=aid2;u={URI};p=mcp")
    answer = await n.discover()
    assert answer.endpoints == {LISTED}
    assert "pka" not in answer["endpoints"][0]
    assert "/mcp" not in n.paths


async def test_what_is_asked() -> None:
    n, endpoint = proving()
    await n.discover()
    sent = next(one for one in n.engine.origin.requests if one.path == "/mcp")
    wanted = sent.field("Accept-Signature") or ""
    assert sent.method == "GET"
    assert f'keyid="{THUMBPRINT}"' in wanted and 'tag="aid-pka-v2"' in wanted and 'alg="ed25519"' in wanted
    assert (sent.field("AID-Domain"), sent.field("Cache-Control")) == ("example.com", "no-store")
    assert len(endpoint.nonces[0]) == 43


async def test_two_calls_run_it_twice_with_nonces_of_their_own() -> None:
    n, endpoint = proving()
    first, second = await n.discover(), await n.discover()
    assert first.endpoints == second.endpoints == {LISTED}
    assert len(endpoint.nonces) == len(set(endpoint.nonces)) == 2
    assert first.prepared.fresh_until <= n.engine.clock()
    assert second["overhead"]["http_requests"] == 1


async def test_the_time_of_the_check_goes_on() -> None:
    n, _ = proving()
    times = []
    for _ in range(2):
        times.append((await n.discover())["endpoints"][0]["pka"]["checked_at"])
        n.engine.clock += 5
    assert times == ["2027-01-15T08:00:00.000Z", "2027-01-15T08:00:05.000Z"]


async def test_a_proof_that_ends_takes_the_endpoint_away() -> None:
    n, endpoint = proving()
    assert (await n.discover()).endpoints == {LISTED}
    endpoint.key = OTHER_KEY
    assert (await n.discover()).endpoints == set()
    endpoint.key = AidEndpoint(n.engine.clock).key
    assert (await n.discover()).endpoints == {LISTED}


async def test_nothing_of_it_is_stored() -> None:
    n, _ = proving(cache_control="no-store")
    await n.discover()
    got = await n.engine.ask("/mcp")
    assert len([path for path in n.paths if path == "/mcp"]) == 2
    assert got.field("Cache-Status") is not None


async def test_a_stored_answer_of_the_endpoint_is_no_proof() -> None:
    n, _ = proving()
    n.publish("/mcp", {"hello": 1})
    await n.engine.ask("/mcp")
    answer = await n.discover()
    assert (answer.endpoints, step(answer)) == (set(), ("refused", "unsigned"))
    assert n.paths.count("/mcp") == 2


async def test_the_responses_are_let_go() -> None:
    n, _ = proving()
    await n.discover()
    assert n.engine.origin.leaked == []


@pytest.mark.parametrize(
    ("uri", "proto"),
    [
        ("https://api.example.com/mcp", "mcp"),
        ("https://api.example.net/mcp", "mcp"),
        ("https://api.example.com:8443/a2a?v=1", "a2a"),
        ("wss://api.example.com/socket", "websocket"),
        ("https://api.example.com", "openapi"),
    ],
)
async def test_endpoints_of_every_sort(uri: str, proto: str) -> None:
    n = neighbourhood()
    n.dns.txt("_agent.example.com", record(uri, proto))
    endpoint = AidEndpoint(n.engine.clock)
    for path in ("/mcp", "/a2a?v=1", "/socket", "/"):
        n.engine.origin.answer(path, endpoint)
    answer = await n.discover()
    assert (proto, uri, "aid2", "hint") in answer.endpoints


@pytest.mark.parametrize("uri", ["https://glama.ai/mcp", "https://mcp.smithery.ai/x"])
async def test_central_services_are_not_asked_for_a_proof(uri: str) -> None:
    n = neighbourhood()
    n.dns.txt("_agent.example.com", record(uri))
    answer = await n.discover()
    assert {sent.request.target.host for sent in n.engine.origin.requests} == {"example.com"}
    assert answer["overhead"]["central_services"] == 0
    assert step(answer)[0] == "skipped"


async def test_a_secret_in_the_uri_is_not_sent() -> None:
    n = neighbourhood()
    n.dns.txt("_agent.example.com", record(f"{URI}?api_key=SeCrEt0123456789"))
    answer = await n.discover()
    assert not [path for path in n.paths if path.startswith("/mcp")]
    assert b"SeCrEt0123456789" not in answer.prepared.body(0.0)


@pytest.mark.parametrize(
    ("how", "is_listed"), [({}, True), ({"key": OTHER_KEY}, False)], ids=["verified", "failed"]
)
async def test_the_well_known_document_is_held_to_its_key_too(how: Mapping[str, Any], is_listed: bool) -> None:
    n = neighbourhood()
    n.publish(AID_AT, {"v": "aid2", "u": URI, "p": "mcp", "k": PUBLIC})
    n.engine.origin.answer("/mcp", AidEndpoint(n.engine.clock, **how))
    answer = await n.discover()
    assert answer.endpoints == ({("mcp", URI, "aid-well-known", "origin-tls")} if is_listed else set())
    assert answer.prepared.fresh_until <= n.engine.clock()


@pytest.mark.parametrize("level", ["L0", "L1", "L2"])
async def test_clients_that_only_read_cause_no_proof(level: str) -> None:
    n, endpoint = proving()
    await n.discover(level=level)
    assert endpoint.nonces == []


async def test_an_unproved_endpoint_is_asked_for_no_card() -> None:
    n, _ = proving(key=OTHER_KEY)
    await n.discover()
    assert "/mcp/server-card" not in n.paths
