"""Capability profiles over HTTP: registered, read back, taken away, and by whom."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.boundaries import BoundaryUnavailable
from proxy.boundary.registration import Registration
from proxy.capability.ladders import UNKNOWN
from proxy.engine.boundary.identity import Identity
from proxy.engine.outcome import Complete
from proxy.http.problems import Problem
from proxy.server.boundaryschema import BOUNDARY_SCHEMAS
from proxy.server.profilepages import LARGEST_PROFILE, ProfilePages, profile_owner
from proxy.stores.memoryboundary import MemoryBoundary
from tests.simulators.clock import FakeClock

SAMPLES = Path(__file__).parent / "samples" / "uaix"
L3 = json.loads((SAMPLES / "valid-capability-profile-l3.json").read_bytes())
ADDRESS = "192.0.2.7"
ANYBODY = Identity(ADDRESS)
ALICE = Identity("alice", UNKNOWN)
KNOWN = frozenset({"alice", "bob"})
LIFETIME = 3600.0
CHECKER = jsonschema.FormatChecker(formats=())


@CHECKER.checks("date-time", raises=ValueError)
def is_timestamp(value: object) -> bool:
    return not isinstance(value, str) or (value.endswith("Z") and bool(datetime.fromisoformat(value)))


@CHECKER.checks("uri-reference", raises=ValueError)
def is_reference(value: object) -> bool:
    return not isinstance(value, str) or (bool(re.fullmatch(r"/[!-~]+", value)) and bool(urlsplit(value).path))


def matches(value: object, name: str) -> None:
    schema = {"$ref": f"#/components/schemas/{name}", "components": {"schemas": BOUNDARY_SCHEMAS}}
    jsonschema.Draft202012Validator(schema, format_checker=CHECKER).validate(value)


class Desk:
    """The pages, their records and their clock."""

    def __init__(self, records: MemoryBoundary | None = None) -> None:
        self.records = records or MemoryBoundary()
        self.clock = FakeClock()
        self.pages = ProfilePages(self.records, self.clock, LIFETIME)

    async def ask(
        self,
        method: str,
        client_id: str,
        value: object = None,
        *,
        caller: Identity = ANYBODY,
        media_type: str | None = "application/json",
    ) -> Complete | Problem:
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        answer = await self.pages.answer(method, client_id, caller, KNOWN, body, media_type)
        if isinstance(answer, Complete):
            assert answer.head.fields.get("cache-control") == "no-store"
            assert answer.head.fields.get("access-control-allow-origin") == "*"
        return answer

    async def told(
        self, status: int, method: str, client_id: str, value: object = None, *, caller: Identity = ANYBODY
    ) -> Any:
        answer = await self.ask(method, client_id, value, caller=caller)
        assert isinstance(answer, Complete), answer
        assert answer.head.status == status
        assert answer.head.reason == {200: "OK", 201: "Created", 204: "No Content"}[status]
        if status == 204:
            assert answer.body == b"" and "content-type" not in answer.head.fields
            return None
        assert answer.head.fields.get("content-type") == "application/json"
        told = json.loads(answer.body)
        matches(told, "Registration")
        return told

    async def refused(self, status: int, method: str, client_id: str, value: object = None, **more: Any) -> Problem:
        answer = await self.ask(method, client_id, value, **more)
        assert isinstance(answer, Problem), answer
        assert answer.status == status and answer.detail
        return answer


def rules(told: Mapping[str, Any]) -> set[str]:
    return {finding["rule"].removeprefix("local.").partition("_")[0] for finding in told["findings"]}


async def test_a_profile_comes_and_goes() -> None:
    desk = Desk()
    first = await desk.told(201, "PUT", ADDRESS, L3)
    assert first == {
        "client": ADDRESS,
        "url": f"/v1/clients/{ADDRESS}/profile",
        "version": 1,
        "registered_at": "2027-01-15T08:00:00.000Z",
        "expires_at": "2027-01-15T09:00:00.000Z",
        "level": "L3",
        "ladder": "profile",
        "atoms": first["atoms"],
        "findings": [],
        "profile": {"profile": L3["profile"], "body": L3["body"]},
    }
    assert {"static_get", "json_get", "live_get", "json_post"} <= set(first["atoms"])
    assert await desk.told(200, "GET", ADDRESS) == await desk.told(200, "HEAD", ADDRESS) == first
    desk.clock += 60
    again = await desk.told(200, "PUT", ADDRESS, L3)
    assert (again["version"], again["registered_at"]) == (2, "2027-01-15T08:01:00.000Z")
    registration = desk.records.profile(ADDRESS)
    assert registration is not None and registration.version == 2 and registration.is_valid(desk.clock())
    await desk.told(204, "DELETE", ADDRESS)
    assert desk.records.profile(ADDRESS) is None
    for method in ("GET", "HEAD", "DELETE"):
        problem = await desk.refused(404, method, ADDRESS)
        assert problem.members == {"client": ADDRESS} and "No profile is on record" in problem.detail
    assert (await desk.told(201, "PUT", ADDRESS, L3))["version"] == 1


@pytest.mark.parametrize("name", sorted(path.name for path in SAMPLES.glob("valid-capability-profile-*.json")))
async def test_valid_samples(name: str) -> None:
    desk = Desk()
    value = json.loads((SAMPLES / name).read_bytes())
    told = await desk.told(201, "PUT", ADDRESS, value)
    assert told["findings"] == [] and told["level"] == value["body"]["client_level"]
    assert await desk.told(200, "GET", ADDRESS) == told


FINDINGS = {
    "half of the members": ({"profile": "uai.capability.profile.v1", "body": {"client_level": "L1"}}, "R1"),
    "script at a low level": (
        {
            **L3,
            "profile": "uai.capability.profile.v1",
            "body": {**L3["body"], "client_level": "L1", "can_execute_javascript": True},
        },
        "R3",
    ),
    "no idempotency": ({**L3, "body": {**L3["body"], "evidence_requirements": []}}, "R6"),
}


@pytest.mark.parametrize(("value", "rule"), FINDINGS.values(), ids=FINDINGS)
async def test_what_it_gets_wrong_is_told_and_no_reason_to_refuse_it(value: dict[str, object], rule: str) -> None:
    desk = Desk()
    told = await desk.told(201, "PUT", ADDRESS, value)
    assert rule in rules(told) and all(finding["detail"] for finding in told["findings"])
    on_record = await desk.told(200, "GET", ADDRESS)
    assert {**on_record, "findings": []} == {**told, "findings": []}
    assert rules(on_record) == rules(told) - {"R1"}, "on record nothing is missing any more"


async def test_in_an_envelope() -> None:
    told = await Desk().told(201, "PUT", ADDRESS, {**L3, "uai_version": "1.0", "message_id": "msg-1"})
    assert told["profile"] == {"profile": L3["profile"], "body": L3["body"]}


async def test_an_unknown_level_claims_nothing() -> None:
    value = {"profile": "uai.capability.profile.v1", "body": {"client_level": "L9", "can_post_data": True}}
    told = await Desk().told(201, "PUT", ADDRESS, value)
    assert (told["level"], told["atoms"]) == (None, ["static_get"])


async def test_a_profile_expires() -> None:
    desk = Desk()
    await desk.told(201, "PUT", ADDRESS, L3)
    desk.clock += LIFETIME - 1
    await desk.told(200, "GET", ADDRESS)
    desk.clock += 1
    problem = await desk.refused(404, "GET", ADDRESS)
    assert "counted until 2027-01-15T09:00:00.000Z" in problem.detail
    assert (await desk.told(201, "PUT", ADDRESS, L3))["version"] == 2
    desk.clock += -60
    await desk.refused(404, "GET", ADDRESS)
    await desk.told(204, "DELETE", ADDRESS)


BAD: dict[str, tuple[object, str]] = {
    "no JSON": (b"{", "cannot be read"),
    "nothing": (b"", "cannot be read"),
    "no UTF-8": (b'{"profile": "\xff"}', "cannot be read"),
    "too deep": (b"[" * 60_000, "cannot be read"),
    "a list": ([], "an object with the members profile and body"),
    "null": (None, "an object with"),
    "no body": ({"profile": "uai.capability.profile.v1"}, "an object with"),
    "a body that is none": ({"profile": "uai.capability.profile.v1", "body": []}, "an object with"),
    "a flag in words": ({**L3, "body": {**L3["body"], "can_post_data": "true"}}, "are true or false"),
    "a credential": ({**L3, "body": {**L3["body"], "client_name": "Bearer abcdefghijklmnop"}}, "a credential"),
    "a long text": ({**L3, "body": {**L3["body"], "client_name": "a" * 3000}}, "client_name"),
}


@pytest.mark.parametrize(("value", "detail"), BAD.values(), ids=BAD)
async def test_what_is_no_profile(value: object, detail: str) -> None:
    desk = Desk()
    problem = await desk.refused(400, "PUT", ADDRESS, value)
    assert problem.slug.value == "bad-request" and detail in problem.detail
    assert isinstance(problem.members["findings"], list)
    assert "abcdefghijklmnop" not in json.dumps(problem.members)
    assert desk.records.profile(ADDRESS) is None


async def test_a_credential_is_named_by_its_rule() -> None:
    value = {**L3, "body": {**L3["body"], "client_name": "Bearer abcdefghijklmnop"}}
    assert "R11" in rules((await Desk().refused(400, "PUT", ADDRESS, value)).members)


async def test_a_body_that_is_too_large() -> None:
    desk = Desk()
    octets = json.dumps(L3).encode()
    await desk.told(201, "PUT", ADDRESS, octets.ljust(LARGEST_PROFILE))
    problem = await desk.refused(413, "PUT", ADDRESS, octets.ljust(LARGEST_PROFILE + 1))
    assert problem.slug.value == "too-large" and problem.members == {"limit": 65536}


@pytest.mark.parametrize(
    ("media_type", "is_taken"),
    [
        ("application/json", True),
        ("Application/JSON; charset=utf-8", True),
        ("application/vnd.uai+json", True),
        ("text/plain", False),
        ("application/x-www-form-urlencoded", False),
        ("", False),
        (None, False),
    ],
)
async def test_media_types(media_type: str | None, is_taken: bool) -> None:
    answer = await Desk().ask("PUT", ADDRESS, L3, media_type=media_type)
    if is_taken:
        assert isinstance(answer, Complete) and answer.head.status == 201
    else:
        assert isinstance(answer, Problem) and answer.status == 415 and "application/json" in answer.detail


WHO: dict[str, tuple[Identity, str, bool]] = {
    "an address for itself": (ANYBODY, ADDRESS, True),
    "an address, encoded": (ANYBODY, "192%2E0.2.7", True),
    "a name that is nobody's": (ANYBODY, "my-agent", True),
    "a name with a colon": (ANYBODY, "urn:agent:1", True),
    "a configured client's name": (ANYBODY, "alice", False),
    "a configured client's name, encoded": (ANYBODY, "%61lice", False),
    "another address": (ANYBODY, "192.0.2.8", False),
    "another address of version 6": (ANYBODY, "2001:db8::1", False),
    "another address in brackets": (ANYBODY, "%5B2001:db8::1%5D", False),
    "a loopback address": (ANYBODY, "127.0.0.1", False),
    "itself in another spelling": (Identity("2001:db8::1"), "2001:DB8:0::1", True),
    "another in another spelling": (Identity("2001:db8::2"), "2001:DB8:0::1", False),
    "a client for itself": (ALICE, "alice", True),
    "a client for another": (ALICE, "bob", False),
    "a client for a name that is nobody's": (ALICE, "my-agent", False),
    "a client for an address": (ALICE, ADDRESS, False),
    "a client in capitals": (ALICE, "Alice", False),
}


@pytest.mark.parametrize(("caller", "client_id", "may"), WHO.values(), ids=WHO)
async def test_who_may(caller: Identity, client_id: str, may: bool) -> None:
    desk = Desk()
    if may:
        told = await desk.told(201, "PUT", client_id, L3, caller=caller)
        assert await desk.told(200, "GET", client_id, caller=caller) == told
        assert await desk.told(200, "GET", told["url"].split("/")[3], caller=caller) == told
        await desk.told(204, "DELETE", client_id, caller=caller)
        return
    for method in ("PUT", "GET", "HEAD", "DELETE"):
        problem = await desk.refused(403, method, client_id, L3, caller=caller)
        assert problem.slug.value == "unauthorized" and "speaks for itself" in problem.detail


async def test_an_address_is_one_client_however_it_is_spelled() -> None:
    desk = Desk()
    caller = Identity("2001:db8::1")
    await desk.told(201, "PUT", "2001:0db8::0:1", L3, caller=caller)
    assert (await desk.told(200, "PUT", "2001:db8::1", L3, caller=caller))["client"] == "2001:db8::1"


BAD_IDS = {
    "too long": "a" * 201,
    "a space": "my%20agent",
    "a control": "a%0A",
    "no UTF-8": "%ff",
    "beyond ASCII": "%C3%A9",
    "encoded twice to nothing": "%20",
}


@pytest.mark.parametrize("client_id", BAD_IDS.values(), ids=BAD_IDS)
async def test_what_is_no_id(client_id: str) -> None:
    problem = await Desk().refused(400, "PUT", client_id, L3)
    assert "1 to 200 visible ASCII characters" in problem.detail


async def test_an_id_is_decoded_once() -> None:
    told = await Desk().told(201, "PUT", "%2561lice", L3)
    assert told["client"] == "%61lice" and told["url"] == "/v1/clients/%2561lice/profile"
    assert len((await Desk().told(201, "PUT", "a" * 200, L3))["client"]) == 200


@pytest.mark.parametrize("method", ["POST", "PATCH", "OPTIONS", "put", "TRACE", ""])
async def test_other_methods(method: str) -> None:
    problem = await Desk().refused(405, method, ADDRESS, L3)
    assert "GET, HEAD, PUT, DELETE" in problem.detail


class Faulty(MemoryBoundary):
    """Cannot be written."""

    async def register(self, registration: Registration) -> None:
        raise BoundaryUnavailable("/var/boundary.db: simulated")

    async def unregister(self, client: str) -> bool:
        raise BoundaryUnavailable("/var/boundary.db: simulated")


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
async def test_records_that_cannot_be_written(method: str) -> None:
    problem = await Desk(Faulty()).refused(503, method, ADDRESS, L3)
    assert problem.slug.value == "internal"
    assert "nothing was changed" in problem.detail and "/var" not in problem.detail


class Slow(MemoryBoundary):
    """Writes after others have had their turn, and knows only then what others wrote."""

    def __init__(self) -> None:
        super().__init__()
        self.refreshed = 0

    async def refresh(self) -> None:
        self.refreshed += 1

    async def register(self, registration: Registration) -> None:
        for _ in range(3):
            await asyncio.sleep(0)
        await super().register(registration)


async def test_registrations_at_once_are_counted_one_by_one() -> None:
    records = Slow()
    desk = Desk(records)
    answers = await asyncio.gather(*(desk.ask("PUT", ADDRESS, L3) for _ in range(8)))
    versions = [json.loads(answer.body)["version"] for answer in answers if isinstance(answer, Complete)]
    assert versions == list(range(1, 9))
    assert [answer.head.status for answer in answers if isinstance(answer, Complete)] == [201] + [200] * 7
    assert records.refreshed == 8, "what other processes wrote is taken in first"


PATHS = {
    "/v1/clients/alice/profile": "alice",
    "/v1/clients/2001:db8::1/profile": "2001:db8::1",
    "/v1/clients/a%2Fb/profile": "a%2Fb",
    "/v1/clients//profile": None,
    "/v1/clients/a/b/profile": None,
    "/v1/clients/alice/profile/": None,
    "/v1/clients/alice": None,
    "/v1/clients/alice/profiles": None,
    "/v1/clients/alice/profile\n": None,
    "/": None,
}


@pytest.mark.parametrize(("path", "owner"), PATHS.items(), ids=repr)
def test_paths(path: str, owner: str | None) -> None:
    assert profile_owner(path) == owner


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*L3["body"], "profile", "body"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(ANY_JSON | st.builds(lambda body: {"profile": "uai.capability.profile.v1", "body": body}, ANY_JSON))
def test_any_value(value: object) -> None:
    answer = asyncio.run(Desk().ask("PUT", ADDRESS, value))
    assert isinstance(answer, Complete) or answer.status == 400


@given(st.binary(max_size=60), st.text(st.characters(max_codepoint=0x7F), max_size=12))
def test_any_octets(body: bytes, client_id: str) -> None:
    answer = asyncio.run(Desk().ask("PUT", client_id, body))
    assert isinstance(answer, Complete) or answer.status in (400, 403)
