"""What a discovery offers in the place of a document, for the caller to choose (CONTRACT §7, OV-7)."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from proxy.discovery.classes import DocumentClass
from proxy.engine.discovery.discoverer import DiscoverySettings
from proxy.engine.discovery.reader import Reader
from proxy.engine.discovery.reading import Manner, Reading, ReadOutcome
from proxy.http.targets import parse_target
from proxy.relocation.records import record_url
from proxy.server.schema import DISCOVERY
from tests.engine.discovery.documents import CARD_AT, CATALOG_AT, MANIFEST_AT, SITE, manifest, octets
from tests.simulators.discovery import Described, Neighbourhood, neighbourhood

START = f"{SITE}{MANIFEST_AT}"
ALTERNATES = ("Alternates", '{"/en.json" 0.9 {type application/json} {language en}}, {"/fr.json" 1 {language fr}}')
LOCATION = ("Location", "/en.json")
SUCCESSOR = ("Link", '</v2.json>; rel="successor-version"')
EN = {"type": "application/json", "language": "en", "quality": 0.9}
FR = {"type": None, "language": "fr", "quality": 1.0}
UNSAID = {"type": None, "language": None, "quality": None}


def choice(url: str, about: dict[str, Any], asked: str = START, of: str = "manifest") -> dict[str, Any]:
    return {"class": of, "for": asked, "url": SITE + url, **about, "reason": "multiple-choices"}


def successor(url: str, asked: str = START) -> dict[str, Any]:
    return {"class": "manifest", "for": asked, "url": url, **UNSAID, "reason": "successor"}


def answer(n: Neighbourhood, status: int, *fields: tuple[str, str], at: str = MANIFEST_AT, **how: Any) -> None:
    """What the origin has in the place of the manifest, and documents at what it offers."""
    n.engine.origin.respond(at, status, fields=fields, **how)
    for path in ("/en.json", "/fr.json", "/v2.json"):
        n.publish(path, manifest())


def is_untouched(n: Neighbourhood, found: Described) -> bool:
    """Whether nothing that was offered was asked for, nor any move told."""
    offered = {parse_target(one["url"]).path for one in found["alternatives"]}
    return not offered & set(n.paths) and found["relocations"] == [] and n.engine.origin.leaked == []


async def read(n: Neighbourhood, url: str = START, manner: Manner | None = None) -> Reading:
    e = n.engine
    reader = Reader(e.gateway, e.rules, e.generations, e.clock, "an-agent", 30.0)
    return await reader.read(parse_target(url), DocumentClass.MANIFEST, manner or Manner())


class TestMultipleChoices:
    async def test_are_offered(self) -> None:
        n = neighbourhood()
        answer(n, 300, ALTERNATES)
        found = await n.discover()
        assert found["alternatives"] == [choice("/fr.json", FR), choice("/en.json", EN)]
        assert (found["outcome"], found["manifest"], found.status) == ("not-found", None, 404)
        assert found.step("manifest")["outcome"] == "absent"
        assert is_untouched(n, found)

    async def test_the_servers_preference_comes_first_and_is_not_followed(self) -> None:
        n = neighbourhood()
        answer(n, 300, ALTERNATES, LOCATION)
        found = await n.discover()
        assert found["alternatives"] == [choice("/en.json", EN), choice("/fr.json", FR)]
        assert is_untouched(n, found)

    @pytest.mark.parametrize("max_age", [None, 0, 300])
    async def test_nothing_is_recorded(self, max_age: int | None) -> None:
        n = neighbourhood()
        answer(n, 300, ALTERNATES, LOCATION, max_age=max_age)
        await n.discover()
        await n.engine.settle()
        assert n.engine.relocating.answering.record(record_url(parse_target(START))) is None

    async def test_of_a_body(self) -> None:
        n = neighbourhood()
        body = gzip.compress(octets({"alternatives": [{"url": "/fr.json", "language": "fr", "quality": 1}]}))
        answer(n, 300, ("Content-Encoding", "gzip"), body=body, content_type="application/json")
        found = await n.discover()
        assert found["alternatives"] == [choice("/fr.json", FR)] and is_untouched(n, found)

    async def test_where_a_redirect_led(self) -> None:
        n = neighbourhood()
        n.engine.origin.respond(START, 307, fields=[("Location", f"{SITE}/docs/m")])
        answer(n, 300, ("Alternates", '{"m.json" 1}'), at="/docs/m")
        found = await n.discover()
        assert found["alternatives"] == [choice("/docs/m.json", {**UNSAID, "quality": 1.0})]

    async def test_of_several_documents(self) -> None:
        n = neighbourhood()
        answer(n, 300, ALTERNATES)
        answer(n, 300, LOCATION, at=CARD_AT)
        found = await n.discover()
        card = choice("/en.json", UNSAID, SITE + CARD_AT, "agent-card")
        assert len(found["alternatives"]) == 3 and card in found["alternatives"]

    async def test_are_no_news_where_there_are_none(self) -> None:
        n = neighbourhood()
        answer(n, 300)
        found = await n.discover()
        assert found["alternatives"] == [] and found.step("manifest")["outcome"] == "absent"

    async def test_a_head_reads_no_document(self) -> None:
        n = neighbourhood()
        answer(n, 300, ALTERNATES)
        assert (await read(n, manner=Manner(method="HEAD"))).alternatives == ()

    @pytest.mark.parametrize("status", [200, 302, 404, 406, 503])
    async def test_no_other_status_offers_any(self, status: int) -> None:
        n = neighbourhood()
        answer(n, status, ALTERNATES, SUCCESSOR, body=b'{"url":"/v2.json","alternatives":[{"url":"/fr.json"}]}')
        assert (await read(n)).alternatives == ()


class TestSuccessors:
    """OV-7: a hint of what to look at instead."""

    @pytest.mark.parametrize("status", [409, 410])
    @pytest.mark.parametrize(
        ("field", "body"),
        [
            (SUCCESSOR, b""),
            (("X", "y"), b'{"code":410,"url":"/v2.json"}'),
            (("X", "y"), b'{"type":"about:blank","title":"Gone","url":"https://example.com/v2.json"}'),
        ],
        ids=["link", "minimal", "problem document"],
    )
    async def test_are_offered(self, status: int, field: tuple[str, str], body: bytes) -> None:
        n = neighbourhood()
        answer(n, status, field, body=body, content_type="application/json")
        found = await n.discover()
        assert found["alternatives"] == [successor(f"{SITE}/v2.json")]
        assert found.step("manifest")["outcome"] == "absent" and is_untouched(n, found)
        assert found["outcome"] == ("gone" if status == 410 else "not-found")

    @pytest.mark.parametrize("status", [409, 410])
    async def test_on_another_domain(self, status: int) -> None:
        n = neighbourhood()
        answer(n, status, ("Link", '<https://other.example.net/v2.json>; rel="successor-version"'))
        found = await n.discover()
        assert found["alternatives"] == [successor("https://other.example.net/v2.json")]
        assert n.asked("other.example.net") == [] and is_untouched(n, found)

    async def test_a_recorded_one(self) -> None:
        n = neighbourhood()
        answer(n, 410, SUCCESSOR)
        assert (await n.engine.ask(START)).status == 410
        asked = n.paths.count(MANIFEST_AT)
        found = await n.discover()
        assert n.paths.count(MANIFEST_AT) == asked
        assert (found["outcome"], found["alternatives"]) == ("gone", [successor(f"{SITE}/v2.json")])
        assert found.step("manifest")["outcome"] == "absent" and is_untouched(n, found)

    async def test_a_record_without_one(self) -> None:
        n = neighbourhood()
        answer(n, 410)
        assert (await n.engine.ask(START)).status == 410
        found = await n.discover()
        assert (found["outcome"], found["alternatives"]) == ("gone", [])

    @pytest.mark.parametrize("status", [409, 410])
    async def test_none_is_no_news(self, status: int) -> None:
        n = neighbourhood()
        answer(n, status, ALTERNATES, body=b"Gone.")
        found = await n.discover()
        assert found["alternatives"] == [] and found.step("manifest")["outcome"] == "absent"


UNFIT = {
    "script": "javascript:alert(1)",
    "userinfo": "https://user:pass@example.com/v2.json",
    "private address": "https://10.0.0.5/v2.json",
    "loopback": "https://[::1]/v2.json",
    "http": "http://example.com/v2.json",
    "local link": "https://printer.local/v2.json",
    "itself": MANIFEST_AT,
    "secret": "/v2.json?access_token=s3cr3tvalue",
}


class TestHostileOrigins:
    @pytest.mark.parametrize("url", UNFIT.values(), ids=UNFIT)
    async def test_what_may_not_be_fetched_is_not_offered(self, url: str) -> None:
        for status in (300, 409, 410):
            n = neighbourhood()
            answer(
                n,
                status,
                ("Link", f'<{url}>; rel="alternate successor-version"'),
                ("Alternates", f'{{"{url}" 1 {{type text/html}}}}'),
                ("Location", url),
                body=json.dumps({"url": url, "choices": [{"url": url}]}).encode(),
            )
            found = await n.discover()
            told = found.prepared.body(0.0).decode()
            assert found["alternatives"] == [] and "pass@" not in told and "s3cr3tvalue" not in told
            assert {sent.request.target.host for sent in n.engine.origin.requests} <= {"example.com"}

    @pytest.mark.parametrize(
        "field",
        [
            ("Alternates", '{"/en.json" 1 {type {{{{'),
            ("Alternates", '}}}}"/en.json'),
            ("Link", "<" * 5000),
            ("Location", "\x00"),
        ],
        ids=["never closed", "closed too often", "no links", "no URL"],
    )
    async def test_what_is_of_no_form(self, field: tuple[str, str]) -> None:
        n = neighbourhood()
        answer(n, 300, field, body=b"\xff[{")
        found = await n.discover()
        assert found["alternatives"] == [] and found.step("manifest")["outcome"] == "absent"

    async def test_qualities_that_are_none(self) -> None:
        n = neighbourhood()
        answer(n, 300, ("Alternates", '{"/en.json" 7}, {"/fr.json" NaN}'), body=b'[{"url":"/x","q":-7}]')
        found = await n.discover()
        assert found["alternatives"] == [choice(url, UNSAID) for url in ("/en.json", "/fr.json", "/x")]

    async def test_ten_thousand(self) -> None:
        n = neighbourhood()
        answer(n, 300, ("Alternates", ", ".join(f'{{"/{number}" 0.5}}' for number in range(10_000))))
        assert len((await n.discover())["alternatives"]) == 64

    async def test_an_answer_lists_so_many(self) -> None:
        n = neighbourhood()
        field = ("Alternates", ", ".join(f'{{"/{number}" 0.5}}' for number in range(64)))
        for path in (MANIFEST_AT, CARD_AT, CATALOG_AT, "/.well-known/ard.json", "/.well-known/api-catalog"):
            answer(n, 300, field, at=path)
        found = await n.discover()
        assert len(found["alternatives"]) == 200
        assert "200 alternatives" in found.step("limit")["detail"]

    async def test_a_body_too_long_to_be_read(self) -> None:
        n = neighbourhood()
        answer(n, 410, body=b'{"url":"/v2.json"}'.ljust(2**22))
        found = await n.discover()
        assert (found["outcome"], found["alternatives"]) == ("gone", [])


class TestKeeping:
    async def test_an_answer_that_is_ready_tells_them(self) -> None:
        n = neighbourhood()
        answer(n, 300, ALTERNATES, max_age=300)
        first = await n.discover()
        n.engine.clock += 20
        again = await n.discover()
        assert again["steps"][0]["step"] == "answer" and again["alternatives"] == first["alternatives"]
        assert again.prepared.etag == first.prepared.etag

    async def test_so_does_the_cache(self) -> None:
        n = neighbourhood()
        answer(n, 300, ALTERNATES, max_age=300)
        first = await n.discover()
        n.engine.clock += 40
        again = await n.discover()
        assert n.paths.count(MANIFEST_AT) == 1 and again["alternatives"] == first["alternatives"]

    @pytest.mark.parametrize("status", [300, 409])
    async def test_what_is_not_to_be_stored_is_asked_for_again(self, status: int) -> None:
        n = neighbourhood(DiscoverySettings(negative_ttl=300.0))
        answer(n, status, ALTERNATES, SUCCESSOR, cache_control="no-store")
        assert (await n.discover())["alternatives"]
        answer(n, status, cache_control="no-store")
        assert (await n.discover())["alternatives"] == []
        assert n.paths.count(MANIFEST_AT) == 2

    async def test_a_changed_choice_is_another_answer(self) -> None:
        etags = set()
        for field in (ALTERNATES, LOCATION, ("X", "y")):
            n = neighbourhood()
            answer(n, 300, field)
            etags.add((await n.discover()).prepared.etag)
        assert len(etags) == 3


async def test_the_answer_is_as_described() -> None:
    """The schema of CONTRACT §5.1 takes what is told, and nothing that is not."""
    n = neighbourhood()
    answer(n, 300, ALTERNATES, LOCATION)
    answer(n, 409, SUCCESSOR, at=CARD_AT)
    told = (await n.discover()).told
    assert {one["reason"] for one in told["alternatives"]} == {"multiple-choices", "successor"}
    validator = Draft202012Validator(DISCOVERY)
    assert not list(validator.iter_errors(told))
    first = told["alternatives"][0]
    wrong = [{**first, "quality": 7}, {**first, "reason": "x"}, {**first, "url": None}, {}]
    wrong += [{name: first[name] for name in first if name != gone} for gone in first]
    for one in wrong:
        assert list(validator.iter_errors({**told, "alternatives": [one]})), one


async def test_an_absence_is_what_it_was() -> None:
    n = neighbourhood()
    answer(n, 300, ALTERNATES)
    reading = await read(n)
    assert (reading.outcome, reading.reason, reading.hops) == (ReadOutcome.ABSENT, "status-300", ())
