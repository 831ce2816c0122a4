"""Asking the origin: what is sent, how its answer is judged, and what becomes of the stored response."""

from __future__ import annotations

import gzip
import zlib
from typing import Any

import pytest

from proxy.engine.exchanges import is_failure
from proxy.engine.outcome import Served
from proxy.engine.settings import EngineSettings
from proxy.http.fields import Fields
from proxy.http.messages import Request, ResponseHead
from proxy.ports import OriginFault
from tests.engine.samples import CARD, CARD_PATH, HTML, LARGE, NEWER_CARD, WINDOWS, ZIPPED, parameters
from tests.simulators.engine import Simulation, engine, request
from tests.simulators.origin import Reply


def lines(**fields: str) -> Fields:
    return Fields([(name.replace("_", "-"), value) for name, value in fields.items()])


async def stale(path: str = "/a", body: bytes = b"old", *, windows: str = WINDOWS, **options: Any) -> Simulation:
    """An engine that holds `body`, past its stale-while-revalidate and within its stale-if-error."""
    e = engine(**options)
    e.origin.respond(path, cache_control=windows, etag='"1"', body=body)
    assert (await e.ask(path)).status == 200
    e.clock += 150
    return e


@pytest.mark.parametrize(
    ("status", "failure"),
    [(499, False), (500, True), (501, False), (502, True), (503, True), (504, True), (599, True)],
)
def test_is_failure(status: int, failure: bool) -> None:
    assert is_failure(status) is failure


WITHHELD = {
    "If-None-Match": '"mine"',
    "If-Modified-Since": "Fri, 15 Jan 2027 08:00:00 GMT",
    "If-Range": '"mine"',
}


@pytest.mark.parametrize("name", WITHHELD)
async def test_a_clients_own_conditions_stay_here(name: str) -> None:
    e = engine()
    e.origin.respond("/a", max_age=60, body=b"one")
    await e.ask("/a", {name: WITHHELD[name]})
    assert e.origin.requests[0].field(name) is None


@pytest.mark.parametrize(
    ("path", "sent"),
    [pytest.param("/a", "br, gzip", id="other"), pytest.param(CARD_PATH, "gzip", id="what-a-gate-can-read")],
)
async def test_codings_asked_for(path: str, sent: str) -> None:
    e = engine()
    await e.ask(path, {"Accept-Encoding": "gzip;q=0.5, br"})
    assert e.origin.requests[0].field("Accept-Encoding") == sent


@pytest.mark.parametrize(
    ("etag", "modified"),
    [
        pytest.param('W/"1"', None, id="b09-weak-prefix-kept"),
        pytest.param("unquoted", None, id="b33-unquoted"),
        pytest.param('"1"', "Fri, 15 Jan 2027 07:00:00 GMT", id="both"),
        pytest.param(None, "Fri, 15 Jan 2027 07:00:00 GMT", id="date-alone"),
    ],
)
async def test_a_revalidation_sends_the_stored_validators_byte_for_byte(
    etag: str | None, modified: str | None
) -> None:
    e = engine()
    e.origin.respond("/a", max_age=10, etag=etag, last_modified=modified, body=b"one")
    await e.ask("/a")
    e.clock += 11
    got = await e.ask("/a", {"If-None-Match": '"mine"'})
    again = e.origin.requests[1]
    assert (again.field("If-None-Match"), again.field("If-Modified-Since")) == (etag, modified)
    assert (got.served, got.body) == (Served.REVALIDATED, b"one")
    assert (await e.ask("/a")).served is Served.FRESH


async def test_b07_age_restarts_with_the_validating_exchange() -> None:
    e = engine()
    e.origin.respond("/a", max_age=2, etag='"1"', body=b"one")
    await e.ask("/a")
    e.clock += 30
    got = await e.ask("/a")
    assert (got.field("Age"), parameters(got.cache_status)["ttl"]) == ("0", 2)
    e.clock += 1.5
    assert (await e.ask("/a")).served is Served.FRESH
    e.clock += 1
    assert (await e.ask("/a")).served is Served.REVALIDATED


async def test_a_304_updates_fields_but_none_that_describe_the_body() -> None:
    e = engine()
    body = ("Content-Length", "3"), ("Content-Type", "text/plain"), ("X-Version", "1")
    e.origin.respond("/a", max_age=10, etag='"1"', body=b"one", fields=body)
    await e.ask("/a")
    e.clock += 11
    update = lines(
        ETag='"1"', Cache_Control="max-age=20", X_Version="2", Content_Length="99", Content_Encoding="gzip"
    )
    e.origin.answer("/a", lambda _: Reply(304, update))
    got = await e.ask("/a")
    assert (got.status, got.body, got.field("X-Version")) == (200, b"one", "2")
    assert got.field("Content-Encoding") is None and got.field("Content-Length") is None
    assert parameters(got.cache_status)["ttl"] == 20


NOT_OURS = {
    "another entity tag": lines(ETag='"2"'),
    "another date": lines(Last_Modified="Fri, 15 Jan 2027 07:00:00 GMT"),
    "b38 makes the fields too large": lines(ETag='"1"', X_Long="x" * 2000),
}


@pytest.mark.parametrize("fields", NOT_OURS.values(), ids=NOT_OURS)
async def test_a_304_that_is_not_ours_is_asked_again_without_condition(fields: Fields) -> None:
    e = await stale(settings=EngineSettings(max_fields=1000))

    def answering(sent: Request) -> Reply:
        conditional = "if-none-match" in sent.fields
        return Reply(304, fields) if conditional else Reply(200, lines(Cache_Control="max-age=9"), b"new")

    e.origin.answer("/a", answering)
    got = await e.ask("/a")
    assert (got.status, got.body) == (200, b"new")
    assert [sent.field("If-None-Match") for sent in e.origin.requests] == [None, '"1"', None]
    assert (await e.ask("/a")).body == b"new" and e.origin.leaked == []


async def test_an_unasked_304_is_never_an_empty_200() -> None:
    e = engine()
    e.origin.answer("/a", lambda _: Reply(304, lines(ETag='"1"')))
    got = await e.ask("/a")
    assert (got.status, got.outcome.detail) == (502, "origin-invalid-response")
    assert len(e.memory) == 0 and e.origin.leaked == []


async def test_a_304_for_ever_leaves_the_stored_response_and_serves_it() -> None:
    e = await stale()
    e.origin.answer("/a", lambda _: Reply(304, lines(ETag='"2"')))
    got = await e.ask("/a")
    assert (got.body, got.served) == (b"old", Served.SIE)


@pytest.mark.parametrize("word", ["no-store", "private"])
async def test_a_304_may_withdraw_what_it_confirms(word: str) -> None:
    e = await stale()
    e.origin.answer("/a", lambda _: Reply(304, lines(ETag='"1"', Cache_Control=word)))
    assert (await e.ask("/a")).body == b"old"
    assert len(e.memory) == 0


async def test_b08_a_200_to_a_validation_replaces_the_stored_response() -> None:
    e = await stale()
    e.origin.respond("/a", max_age=10, etag='"2"', body=b"new")
    got = await e.ask("/a")
    assert (got.body, parameters(got.cache_status)) == (
        b"new",
        {"fwd": "stale", "fwd-status": 200, "ttl": 10, "stored": True},
    )
    assert (await e.ask("/a")).body == b"new" and len(e.memory) == 1 and len(e.origin.requests) == 2


FAILURES: dict[str, dict[str, Any]] = {
    "500": {"status": 500},
    "503 that wants to be kept": {"status": 503, "cache_control": "public, max-age=3600"},
    "503 that forbids storing": {"status": 503, "cache_control": "no-store"},
    "502 cut short": {"status": 502, "body": b"x", "cut": True},
    "503 larger than the cache takes": {"status": 503, "body": LARGE},
    "200 cut short": {"cache_control": "max-age=60", "body": b"ne", "cut": True},
    "200 with cut gzip": {"max_age": 60, "body": ZIPPED[:-5], "fields": [("Content-Encoding", "gzip")]},
}


@pytest.mark.parametrize("answer", FAILURES.values(), ids=FAILURES)
async def test_b02_a_failure_leaves_the_stored_response_in_place(answer: dict[str, Any]) -> None:
    e = await stale(settings=EngineSettings(max_body=1000))
    e.origin.respond("/a", **answer)
    got = await e.ask("/a")
    assert (got.status, got.body, got.served, got.field("Age")) == (200, b"old", Served.SIE, "150")
    assert parameters(got.cache_status)["detail"] == "stale-if-error"
    await e.refreshed()
    assert [stored.body for _, stored in e.memory.items()] == [b"old"] and e.origin.leaked == []


@pytest.mark.parametrize("fault", OriginFault)
async def test_b02_a_fault_leaves_the_stored_response_in_place(fault: OriginFault) -> None:
    e = await stale()
    e.origin.fail(fault)
    got = await e.ask("/a")
    expected = (403, "egress-denied") if fault is OriginFault.DENIED else (200, "stale-if-error")
    assert (got.status, got.outcome.detail) == expected
    assert len(e.memory) == 1


COLD_FAULTS = {
    OriginFault.UNREACHABLE: 504,
    OriginFault.TIMEOUT: 504,
    OriginFault.INVALID_RESPONSE: 502,
    OriginFault.DENIED: 403,
    OriginFault.OVERLOADED: 503,
}


@pytest.mark.parametrize(("fault", "status"), COLD_FAULTS.items(), ids=COLD_FAULTS)
async def test_a_fault_with_nothing_stored_is_a_problem_and_never_cached(fault: OriginFault, status: int) -> None:
    e = engine()
    e.origin.fail(fault)
    got = await e.ask("/a")
    assert (got.status, got.outcome.detail, got.served) == (status, fault.value, Served.ERROR)
    e.origin.recover()
    e.origin.respond("/a", body=b"one")
    assert (await e.ask("/a")).body == b"one"


async def test_the_origins_5xx_is_passed_on_when_nothing_stale_may_be_served() -> None:
    e = await stale(windows="max-age=10, must-revalidate")
    e.origin.respond("/a", 503, body=b"busy", fields=[("Retry-After", "5")])
    got = await e.ask("/a")
    assert (got.status, got.body, got.field("Retry-After")) == (503, b"busy", "5")
    assert len(e.memory) == 1


async def test_a_cold_5xx_is_passed_on_and_not_stored() -> None:
    e = engine()
    e.origin.respond("/a", 503, body=b"busy")
    assert (await e.ask("/a")).body == b"busy"
    assert len(e.memory) == 0


SPARED = [401, 403, 406, 407, 408, 425, 429]


@pytest.mark.parametrize("word", ["", "max-age=3600"], ids=["unstorable", "storable"])
@pytest.mark.parametrize("status", SPARED)
async def test_not_to_you_not_now_is_passed_on_and_leaves_what_is_stored(status: int, word: str) -> None:
    e = await stale()
    e.origin.respond("/a", status, cache_control=word or None, body=b"no")
    assert (await e.ask("/a")).status == status
    assert [stored.body for _, stored in e.memory.items()] == [b"old"] and e.origin.leaked == []


async def test_what_can_serve_no_more_is_replaced_by_a_storable_refusal() -> None:
    e = await stale()
    e.clock += 1000
    e.origin.respond("/a", 403, max_age=60)
    await e.ask("/a")
    assert [stored.status for _, stored in e.memory.items()] == [403]


WITHDRAWN: dict[str, dict[str, Any]] = {
    "b12 Vary: *": {"max_age": 60, "vary": "*"},
    "b12 private": {"cache_control": "private, max-age=60"},
    "no-store": {"cache_control": "no-store"},
    "404 that is not stored": {"status": 404, "cache_control": "no-store"},
    "400": {"status": 400},
    "larger than the cache takes": {"max_age": 60, "body": LARGE},
}


@pytest.mark.parametrize("answer", WITHDRAWN.values(), ids=WITHDRAWN)
async def test_b12_an_answer_for_everybody_that_is_not_stored_ends_what_is(answer: dict[str, Any]) -> None:
    e = await stale(settings=EngineSettings(max_body=1000))
    e.origin.respond("/a", **answer)
    await e.ask("/a")
    assert len(e.memory) == 0
    await e.ask("/a")
    assert len(e.origin.requests) == 3


OWN: dict[str, tuple[dict[str, str], dict[str, Any]]] = {
    "no-store of the client": ({"Cache-Control": "no-store"}, {"max_age": 60}),
    "Authorization": ({"Authorization": "Bearer a"}, {"max_age": 60}),
    "Authorization, private": ({"Authorization": "Bearer a"}, {"cache_control": "private"}),
    "a part nobody asked for": ({}, {"status": 206, "fields": [("Content-Range", "bytes 0-2/9")]}),
}


@pytest.mark.parametrize(("fields", "answer"), OWN.values(), ids=OWN)
@pytest.mark.parametrize("etag", ['"2"', '"1"'], ids=["200", "304"])
async def test_an_answer_for_one_client_alone_leaves_what_is_stored(
    fields: dict[str, str], answer: dict[str, Any], etag: str
) -> None:
    e = await stale()
    e.origin.respond("/a", **answer, etag=etag, body=b"new")
    await e.ask("/a", fields)
    assert [stored.body for _, stored in e.memory.items()] == [b"old"]


@pytest.mark.parametrize("status", [200, 203])
@pytest.mark.parametrize("word", ["max-age=60", "no-store"])
async def test_a_wrong_kind_never_replaces_a_good_copy(status: int, word: str) -> None:
    e = await stale(CARD_PATH, CARD)
    e.origin.respond(CARD_PATH, status, cache_control=word, body=HTML, content_type="text/html")
    got = await e.ask(CARD_PATH)
    assert (got.body, got.served) == (CARD, Served.SIE)
    assert [stored.body for _, stored in e.memory.items()] == [CARD]
    assert e.noted.upstreams[-1] == ("revalidate", "not-a-document")


async def test_a_wrong_kind_with_nothing_stored_is_502_and_not_cached() -> None:
    e = engine()
    e.origin.respond(CARD_PATH, max_age=60, body=HTML)
    got = await e.ask(CARD_PATH)
    assert (got.status, got.outcome.detail) == (502, "not-a-document")
    assert got.body is not None and b'"reason": "html"' in got.body
    e.origin.respond(CARD_PATH, max_age=60, body=CARD)
    assert (await e.ask(CARD_PATH)).body == CARD


async def test_a_document_that_is_not_to_be_stored_is_still_checked_and_passed_on() -> None:
    e = engine()
    e.origin.respond(CARD_PATH, cache_control="no-store", body=CARD)
    got = await e.ask(CARD_PATH)
    assert (got.status, got.body, parameters(got.cache_status)["detail"]) == (200, CARD, "no-store")
    e.origin.respond(CARD_PATH, cache_control="no-store", body=HTML)
    assert (await e.ask(CARD_PATH)).status == 502


DECLARED = [("Content-Length", str(len(LARGE)))]


@pytest.mark.parametrize("fields", [[], DECLARED], ids=["undeclared", "declared"])
async def test_over_long_of_class_other_streams_past_the_cache(fields: list[tuple[str, str]]) -> None:
    e = engine(EngineSettings(max_body=1000))
    e.origin.chunk = 900
    e.origin.respond("/a", max_age=60, body=LARGE, fields=fields)
    got = await e.ask("/a")
    assert (got.body, parameters(got.cache_status)["detail"]) == (LARGE, "larger-than-max-body")
    assert len(e.memory) == 0 and e.origin.leaked == []


@pytest.mark.parametrize("fields", [[], DECLARED], ids=["undeclared", "declared"])
async def test_an_over_long_document_is_too_large(fields: list[tuple[str, str]]) -> None:
    e = engine()
    path = "/.well-known/agent"
    e.origin.respond(path, max_age=60, body=LARGE, fields=fields)
    got = await e.ask(path)
    assert (got.status, got.outcome.detail) == (502, "too-large")
    assert e.origin.leaked == []


async def test_an_over_long_404_page_is_still_a_404() -> None:
    e = engine()
    path = "/.well-known/agent"
    e.origin.respond(path, 404, max_age=60, body=LARGE)
    got = await e.ask(path)
    assert (got.status, got.body) == (404, LARGE)


async def test_exactly_as_long_as_the_cache_takes_is_stored() -> None:
    e = engine(EngineSettings(max_body=1000))
    e.origin.respond("/a", max_age=60, body=LARGE[:1000])
    await e.ask("/a")
    assert (await e.ask("/a")).served is Served.FRESH


CODED = {
    "gzip": ("gzip", gzip.compress(CARD)),
    "large gzip": ("gzip", gzip.compress(b'{"name":"a","url":"u","x":"' + LARGE.hex().encode() + b'"}')),
    "deflate, gzip": ("deflate, gzip", gzip.compress(zlib.compress(CARD))),
}


@pytest.mark.parametrize(("coding", "body"), CODED.values(), ids=CODED)
async def test_b14_coded_bytes_are_stored_and_served_untouched(coding: str, body: bytes) -> None:
    e = engine()
    e.origin.respond(CARD_PATH, max_age=60, body=body, fields=[("Content-Encoding", coding)])
    for _ in range(2):
        got = await e.ask(CARD_PATH)
        assert (got.body, got.field("Content-Encoding")) == (body, coding)
    assert got.served is Served.FRESH


@pytest.mark.parametrize("accepted", ["gzip, deflate, br, zstd", "br", "*", "identity", "gzip;q=0"])
async def test_a_document_varying_by_coding_is_a_hit_for_the_same_client(accepted: str) -> None:
    e = engine()
    e.origin.respond(CARD_PATH, max_age=60, vary="Accept-Encoding", body=CARD)
    await e.ask(CARD_PATH, {"Accept-Encoding": accepted})
    assert (await e.ask(CARD_PATH, {"Accept-Encoding": accepted})).served is Served.FRESH
    assert len(e.origin.requests) == 1


async def test_what_may_not_be_replayed_reaches_the_client_that_caused_it_alone() -> None:
    e = engine()
    own = [("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"), ("X-Mine", "yes")]
    e.origin.respond("/a", cache_control='max-age=10, private="x-mine"', etag='"1"', body=b"one", fields=own)
    first, second = await e.ask("/a"), await e.ask("/a")
    assert (first.fields.get_all("Set-Cookie"), first.field("X-Mine")) == (("a=1", "b=2"), "yes")
    assert (second.fields.get_all("Set-Cookie"), second.field("X-Mine")) == ((), None)
    e.clock += 11
    assert (await e.ask("/a")).fields.get_all("Set-Cookie") == ("a=1", "b=2")
    assert all("set-cookie" not in stored.fields for _, stored in e.memory.items())


async def test_followers_get_no_cookie_of_the_leader() -> None:
    e = engine()
    e.origin.respond("/a", max_age=60, body=b"one", fields=[("Set-Cookie", "a=1")])
    e.origin.hold()
    leader, follower = e.start("/a"), e.start("/a")
    await e.origin.arrived(1)
    await e.settle()
    e.origin.release()
    assert [(await each).field("Set-Cookie") for each in (leader, follower)] == ["a=1", None]


async def test_another_variant_in_answer_replaces_the_one_that_was_asked_about() -> None:
    e = await stale()
    e.origin.respond("/a", max_age=60, vary="Accept-Language", etag='"2"', body=b"new")
    await e.ask("/a", {"Accept-Language": "de"})
    assert [stored.vary for _, stored in e.memory.items()] == [("accept-language",)]


async def test_interim_responses_reach_the_client_that_leads() -> None:
    e = engine()
    hints = ResponseHead(103, "Early Hints", lines(Link="</style.css>; rel=preload"))
    e.origin.answer("/a", lambda _: Reply(200, lines(Cache_Control="max-age=60"), b"one", interim=(hints,)))
    told: list[ResponseHead] = []
    await e.ask("/a", interim=told.append)
    assert told == [hints]


RESULTS = {
    "stored": ({"max_age": 60}, ("miss", "stored")),
    "not stored": ({"cache_control": "no-store"}, ("miss", "not-stored")),
    "cut": ({"body": b"x", "max_age": 60, "cut": True}, ("miss", "origin-invalid-response")),
}


@pytest.mark.parametrize(("answer", "told"), RESULTS.values(), ids=RESULTS)
async def test_what_metrics_are_told(answer: dict[str, Any], told: tuple[str, str]) -> None:
    e = engine()
    e.origin.respond("/a", **answer)
    await e.ask("/a")
    assert e.noted.upstreams == [told]


async def test_what_metrics_are_told_of_revalidations() -> None:
    e = await stale()
    await e.ask("/a")
    e.clock += 150
    e.origin.respond("/a", 500)
    await e.ask("/a")
    assert e.noted.upstreams[1:] == [("revalidate", "not-modified"), ("revalidate", "error-status")]


async def test_own_conditions_travel_where_nothing_stored_could_answer_them() -> None:
    e = engine()
    e.origin.respond("/a", cache_control="no-store", etag='"1"', body=b"one")
    await e.ask("/a")
    got = await e.ask("/a", {"If-None-Match": '"1"'})
    assert (got.status, parameters(got.cache_status)["detail"]) == (304, "not-modified")
    assert e.origin.requests[-1].field("If-None-Match") == '"1"'


@pytest.mark.parametrize("status", [412, 416])
async def test_a_refused_range_or_condition_is_stored_for_nobody(status: int) -> None:
    e = engine()

    def answering(sent: Request) -> Reply:
        lasting = lines(Cache_Control="public, max-age=3600")
        return Reply(status if "range" in sent.fields else 200, lasting, b"all" * ("range" not in sent.fields))

    e.origin.answer("/a", answering)
    assert (await e.ask("/a", {"Range": "bytes=999-"})).status == status
    assert len(e.memory) == 0
    assert (await e.ask("/a")).body == b"all"


async def test_no_growth_with_revalidations() -> None:
    e = engine()
    e.origin.respond("/a", max_age=10, etag='"1"', body=b"one")
    await e.ask("/a")
    e.clock += 11
    await e.ask("/a")
    held = (len(e.memory), e.memory.bytes)
    for _ in range(500):
        e.clock += 11
        await e.ask("/a")
    assert (len(e.memory), e.memory.bytes) == held


async def test_a_clock_set_back_does_not_keep_an_old_answer() -> None:
    e = await stale()
    e.clock += -100_000
    e.origin.respond("/a", max_age=60, body=b"new")
    await e.ask("/a", {"Cache-Control": "no-cache"})
    assert (await e.ask("/a")).body == b"new"


async def test_a_newer_card_replaces_the_older() -> None:
    e = await stale(CARD_PATH, CARD)
    e.origin.respond(CARD_PATH, max_age=60, body=NEWER_CARD)
    assert (await e.ask(CARD_PATH)).body == (await e.ask(CARD_PATH)).body == NEWER_CARD


async def test_the_request_as_a_whole_is_the_clients() -> None:
    e = engine()
    await e.ask("/a?x=%20y", {"User-Agent": "agent", "Accept": "application/json"})
    [sent] = e.origin.requests
    assert sent.request == request("/a?x=%20y", {"User-Agent": "agent", "Accept": "application/json"})
