"""POST /v1/resolve: the published cases over HTTP, and questions that nobody can answer (CONTRACT §8, §14.8)."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end.relocation.world import ask
from tests.end_to_end.running import Reply, Running, running

SAMPLES = Path(__file__).parent.parent / "samples" / "uaix"
# Advice is about what is to come: a request under way, tools that are down and a site's own review page are no part
# of the question.
CASES = [
    case
    for case in json.loads((SAMPLES / "resolution-cases.json").read_bytes())["cases"]
    if not case["ctx"].keys() & {"live_request", "tools_up"}
]
PROFILE = json.loads((SAMPLES / "valid-capability-profile-l4.json").read_bytes())
ROUTE = {"method": "POST", "highest_supported_path": "/orders", "human_review_url": "https://example.com/review"}
URL = "https://example.com/"


@pytest.fixture
async def proxy() -> AsyncIterator[Running]:
    async with running() as proxy:
        yield proxy


async def resolved(proxy: Running, question: object, *lines: str) -> Reply:
    body = question if isinstance(question, bytes) else json.dumps(question).encode()
    return await ask(proxy, "/v1/resolve", *lines, method="POST", body=body)


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
async def test_published_cases(proxy: Running, case: dict[str, Any]) -> None:
    ctx, expected = case["ctx"], case["expect"]
    question = {"url": URL, "client": {"class": case["client"]}, "route": case["route"], **ctx}
    told = json.loads((await resolved(proxy, question)).body)
    assert told["decision"] == expected["decision"].replace("_", "-")
    if expected["decision"] != "no_op":
        assert told["field"] == expected["via"]
        assert told["url"] == expected.get("target", told["url"])
        assert told["url"].startswith("https://") and told["code"] is None
    else:
        assert (told["url"], told["code"]) == (None, expected.get("code", told["code"]))
        assert told["reason"] == expected.get("reason", told["reason"])
        assert told["review_url"].startswith("https://")
    assert told["rule"] in {f"D{number}" for number in range(1, 12)}


def test_most_cases_are_advice() -> None:
    assert len(CASES) >= 20


CLIENTS: dict[str, tuple[dict[str, Any] | None, str]] = {
    "exec": ({"level": "L4", "ladder": "exec"}, "execute"),
    "a number alone": ({"level": "L4"}, "no-op"),
    "another ladder": ({"level": "L4", "ladder": "nobody"}, "no-op"),
    "autonomy": ({"level": "L6", "ladder": "autonomy"}, "no-op"),
    "no level": ({"level": "L9", "ladder": "exec"}, "no-op"),
    "lower case": ({"level": "l4", "ladder": "exec"}, "no-op"),
    "empty": ({"level": "", "ladder": ""}, "no-op"),
    "null": ({"level": None, "ladder": None}, "no-op"),
    "profile": ({"profile": PROFILE}, "execute"),
    "who asks": (None, "no-op"),
}


@pytest.mark.parametrize(("client", "decision"), CLIENTS.values(), ids=CLIENTS)
async def test_clients(proxy: Running, client: dict[str, Any] | None, decision: str) -> None:
    question = {"url": URL, "route": ROUTE, "client": client}
    told = json.loads((await resolved(proxy, question, "Idempotency-Key: k1")).body)
    assert told["decision"] == decision


BAD: dict[str, object] = {
    "no JSON": b"{",
    "no object": [],
    "empty": b"",
    "unknown member": {"url": URL, "uri": URL},
    "no url": {"method": "GET"},
    "relative url": {"url": "/orders"},
    "url of another scheme": {"url": "ftp://example.com/"},
    "url is a number": {"url": 7},
    "method": {"url": URL, "method": "PO ST"},
    "method is a list": {"url": URL, "method": ["POST"]},
    "route": {"url": URL, "route": {"highest_supported_path": "/x"}},
    "route is a text": {"url": URL, "route": "/x"},
    "class": {"url": URL, "client": {"class": "owner"}},
    "two of them": {"url": URL, "client": {"class": "unknown", "level": "L0"}},
    "client is a text": {"url": URL, "client": "L4"},
    "client is empty": {"url": URL, "client": {}},
    "profile": {"url": URL, "client": {"profile": {"profile": 1}}},
    "consent": {"url": URL, "consent": "yes"},
    "key": {"url": URL, "idempotency_key": 7},
    "long key": {"url": URL, "idempotency_key": "k" * 256},
    "intent": {"url": URL, "intent": {"a": 1}},
    "too large": b'{"url": "' + b"a" * 70_000 + b'"}',
    "deep": b'{"url":' + b"[" * 10_000 + b"]" * 10_000 + b"}",
}


@pytest.mark.parametrize("question", BAD.values(), ids=BAD)
async def test_questions_without_an_answer(proxy: Running, question: object) -> None:
    answer = await resolved(proxy, question)
    assert (answer.status, answer.slug) == (400, "bad-request")


async def test_other_methods(proxy: Running) -> None:
    for method in ("GET", "PUT", "DELETE"):
        answer = await ask(proxy, "/v1/resolve", method=method)
        assert (answer.status, answer.get("allow")) == (405, "POST")


SECRETS = (
    "https://example.com/x?api_key=1",
    "https://user:pass@example.com/",
    "https://example.com/x%253Ftoken%253D1",
)


@pytest.mark.parametrize("url", SECRETS)
async def test_a_secret_is_asked_for_nowhere(proxy: Running, url: str) -> None:
    """D1, as advice."""
    told = json.loads((await resolved(proxy, {"url": url, "method": "GET"})).body)
    assert (told["decision"], told["code"], told["rule"]) == ("no-op", "rejected", "D1")
    assert told["manifest"] is None
