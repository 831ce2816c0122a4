"""Answers are what `/openapi.json` says they are."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import jsonschema
import pytest

from tests.end_to_end.discovery.internet import MANIFEST, Internet, discover
from tests.end_to_end.discovery.publisher import catalog, manifest, publish_everything
from tests.end_to_end.running import Running, running

HOST = "agents.example.com"
CHECKER = jsonschema.FormatChecker(formats=())


@CHECKER.checks("date-time", raises=ValueError)
def is_timestamp(value: object) -> bool:
    if not isinstance(value, str):
        return True
    datetime.fromisoformat(value)
    return re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(\.[0-9]+)?Z", value) is not None


@CHECKER.checks("uri", raises=ValueError)
def is_uri(value: object) -> bool:
    return not isinstance(value, str) or bool(urlsplit(value).scheme and re.fullmatch(r"[!-~]+", value))


async def description(proxy: Running) -> Any:
    reply = await proxy.get("/openapi.json")
    assert (reply.status, reply.get("content-type")) == (200, "application/json")
    return json.loads(reply.body)


def judge(described: Any, name: str) -> jsonschema.Draft202012Validator:
    """A validator of one of the schemas that are served."""
    schema = {"$ref": f"#/components/schemas/{name}", **described}
    return jsonschema.Draft202012Validator(schema, format_checker=CHECKER)


async def test_the_description_itself() -> None:
    async with running() as proxy:
        described = await description(proxy)
    assert described["openapi"].startswith("3.1.")
    schemas = described["components"]["schemas"]
    for schema in schemas.values():
        jsonschema.Draft202012Validator.check_schema(schema)
    operation = described["paths"]["/v1/discover/{domain}"]["get"]
    assert {parameter["name"] for parameter in operation["parameters"]} == {"domain", "level", "ladder"}
    assert set(operation["responses"]) == {"200", "304", "400", "403", "404", "410", "503"}
    used = set(re.findall("#/components/schemas/([A-Za-z]+)", json.dumps(described)))
    assert used == set(schemas)


def sparse(internet: Internet) -> None:
    internet.publish(HOST, MANIFEST, manifest(HOST), max_age=None)


def broken(internet: Internet) -> None:
    """Something wrong with everything."""
    publish_everything(internet, HOST)
    internet.publish(HOST, MANIFEST, {**manifest(HOST), "routes": [1, None, {"method": "POST"}], "discovery": 5})
    internet.publish(
        HOST, "/.well-known/agent-card.json", {"name": "x", "supportedInterfaces": [{"url": "http://"}]}
    )
    internet.publish(HOST, "/.well-known/ard.json", b'{"specVersion": "9.0", "entries": {}}')
    internet.publish(HOST, "/.well-known/ai-catalog.json", b"[" * 100_000)
    internet.publish(HOST, "/.well-known/api-catalog", b"<html>", media_type="text/html")
    internet.publish(HOST, "/robots.txt", b"\xff\xfe\x00" * 1000, media_type="text/plain")
    internet.publish("auth.example.com", "/.well-known/oauth-authorization-server", {"issuer": "https://a.example"})


def moved(internet: Internet) -> None:
    publish_everything(internet, HOST)
    for old, status in ((MANIFEST, 301), ("/.well-known/ard.json", 308)):
        internet.publish(HOST, old, b"", status=status, fields=(("Location", "/new.json"),))
    internet.publish(HOST, "/new.json", manifest(HOST))


def much(internet: Internet) -> None:
    publish_everything(internet, HOST)
    entries = (("application/mcp-server-card+json", f"https://{HOST}/{number}.json") for number in range(200))
    internet.publish(HOST, "/.well-known/ard.json", catalog(HOST, *entries))


def everything(internet: Internet) -> None:
    publish_everything(internet, HOST)


SCENES: dict[str, Callable[[Internet], None]] = {
    scene.__name__: scene for scene in (everything, sparse, broken, moved, much)
}


@pytest.mark.parametrize("query", ["", "?level=L0", "?level=L4", "?level=L99&ladder=x"])
@pytest.mark.parametrize("prepare", SCENES.values(), ids=SCENES.keys())
async def test_answers(internet: Internet, prepare: Callable[[Internet], None], query: str) -> None:
    prepare(internet)
    async with internet.proxy() as proxy:
        validator = judge(await description(proxy), "Discovery")
        for _ in range(2):  # cold, then warm
            reply = await discover(proxy, f"{HOST}{query}")
            assert reply.status == 200
            validator.validate(json.loads(reply.body))


@pytest.mark.parametrize(
    ("domain", "status"),
    [
        ("quiet.example.com", 404),
        ("down.example.com", 503),
        ("nothing.example.com", 503),
        ("withdrawn.example.com", 410),
        ("localhost", 400),
        ("expired.com", 503),
        ("printer.local", 400),
    ],
)
async def test_refusals(internet: Internet, domain: str, status: int) -> None:
    internet.publish("withdrawn.example.com", MANIFEST, b"", status=410)
    async with internet.proxy() as proxy:
        described = await description(proxy)
        reply = await discover(proxy, domain)
        assert (reply.status, reply.slug is not None) == (status, True)
        told = json.loads(reply.body)
        judge(described, "Problem").validate(told)
        if status != 400:
            # A problem is an answer as well, with more members.
            members = described["components"]["schemas"]["Discovery"]["properties"]
            judge(described, "Discovery").validate({name: told[name] for name in members})
            assert set(told) - set(members) <= {"type", "title", "status", "detail", "instance"}


async def test_the_shape_is_strict(internet: Internet) -> None:
    publish_everything(internet, HOST)
    async with internet.proxy() as proxy:
        validator = judge(await description(proxy), "Discovery")
        told = json.loads((await discover(proxy, HOST)).body)
    for name in told:
        assert not validator.is_valid({key: value for key, value in told.items() if key != name}), name
    assert not validator.is_valid({**told, "more": 1})
    assert not validator.is_valid({**told, "outcome": "perhaps"})
    assert not validator.is_valid({**told, "overhead": {**told["overhead"], "dns_queries": -1}})
    manifest_told = {**told["manifest"], "fetched_at": "yesterday"}
    assert not validator.is_valid({**told, "manifest": manifest_told})
