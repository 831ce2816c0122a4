"""The story of a request: each way in which one is answered, and with which fields."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import permutations
from typing import Any

import pytest

from proxy.engine.control import ByUri
from proxy.engine.outcome import Complete, Served
from proxy.engine.settings import EngineSettings
from proxy.http.fields import Fields
from proxy.http.timestamps import timestamp
from proxy.ports import OriginFault
from tests.engine.samples import CARD, CARD_PATH, HTML, WINDOWS, parameters
from tests.simulators.engine import SITE, Got, Simulation, engine, request
from tests.simulators.origin import Reply

BODY = b"0123456789"


async def held(
    cache_control: str | None = "max-age=10",
    seconds: float = 0.0,
    settings: EngineSettings | None = None,
    **now: Any,
) -> Simulation:
    """An engine that stored `/a` `seconds` ago."""
    e = engine(settings)
    e.origin.respond("/a", **{"cache_control": cache_control, "etag": '"1"', "body": BODY, **now})
    await e.ask("/a")
    e.clock += seconds
    return e


async def test_miss_then_hit() -> None:
    e = engine()
    e.origin.respond("/a", max_age=60, etag='"1"', body=BODY)
    miss = await e.ask("/a")
    e.clock += 20.5
    hit = await e.ask("/a")
    assert parameters(miss.cache_status) == {"fwd": "uri-miss", "fwd-status": 200, "ttl": 60, "stored": True}
    assert parameters(hit.cache_status) == {"hit": True, "ttl": 40}
    assert (miss.served, hit.served, hit.field("Age"), hit.body) == (Served.MISS, Served.FRESH, "20", BODY)
    assert (hit.outcome.age, hit.outcome.ttl, hit.outcome.document_class) == (20, 40, "other")
    assert hit.outcome.target is not None and hit.outcome.target.uri == f"{SITE}/a"


async def test_hit_is_the_seam_that_never_waits() -> None:
    e = engine()
    assert e.gateway.hit(request("/a")) is None
    e.origin.respond("/a", max_age=60, body=BODY)
    await e.ask("/a")
    assert isinstance(e.gateway.hit(request("/a")), Complete)
    assert e.gateway.hit(request("/a", {"If-Match": '"1"'})) is None
    e.clock += 60
    assert e.gateway.hit(request("/a")) is None


async def test_keys_are_scheme_host_port_path_and_query() -> None:
    e = engine()
    uris = [f"{SITE}/a", f"{SITE}/a?", f"{SITE}/a?x", f"{SITE}/A", f"{SITE}:8443/a", "http://example.com/a"]
    for uri in uris:
        e.origin.respond(request(uri).target.request_target, max_age=60, body=uri.encode())
        assert (await e.ask(uri)).served is Served.MISS
    assert len(e.memory) == len(uris)
    assert (await e.ask("https://EXAMPLE.com.:443/a")).served is Served.FRESH


ONLY_IF_CACHED: dict[str, tuple[str, float, Served]] = {
    "fresh": ("max-age=10", 5, Served.FRESH),
    "stale within its window": (WINDOWS, 20, Served.SWR),
    "stale": ("max-age=10", 20, Served.ERROR),
    "stale-if-error needs an error": ("max-age=10, stale-if-error=99", 20, Served.ERROR),
    "to be validated": ("max-age=10, no-cache", 0, Served.ERROR),
}


@pytest.mark.parametrize(("stored", "seconds", "served"), ONLY_IF_CACHED.values(), ids=ONLY_IF_CACHED)
async def test_only_if_cached(stored: str, seconds: float, served: Served) -> None:
    e = await held(stored, seconds)
    got = await e.ask("/a", {"Cache-Control": "only-if-cached"})
    assert got.served is served
    if served is Served.ERROR:
        assert (got.status, got.outcome.detail, len(e.origin.requests)) == (504, "only-if-cached", 1)


async def test_only_if_cached_with_nothing_stored() -> None:
    e = engine()
    assert (await e.ask("/a", {"Cache-Control": "only-if-cached"})).status == 504
    assert e.origin.requests == []


REQUEST_DIRECTIVES: dict[str, tuple[str, str, float, Served]] = {
    "no-cache on fresh": ("max-age=10", "no-cache", 1, Served.REVALIDATED),
    "max-age younger": ("max-age=10", "max-age=5", 1, Served.FRESH),
    "max-age older": ("max-age=10", "max-age=5", 6, Served.REVALIDATED),
    "max-age=0": ("max-age=10", "max-age=0", 1, Served.REVALIDATED),
    "min-fresh left": ("max-age=10", "min-fresh=5", 1, Served.FRESH),
    "min-fresh not left": ("max-age=10", "min-fresh=5", 6, Served.REVALIDATED),
    "max-stale": ("max-age=10", "max-stale=20", 20, Served.SWR),
    "max-stale without end": ("max-age=10", "max-stale", 5000, Served.SWR),
    "max-stale exceeded": ("max-age=10", "max-stale=5", 20, Served.REVALIDATED),
    "max-stale against must-revalidate": ("max-age=10, must-revalidate", "max-stale", 20, Served.REVALIDATED),
    "max-age declines a stale window": (WINDOWS, "max-age=60", 20, Served.REVALIDATED),
    "no-store is still served a hit": ("max-age=10", "no-store", 1, Served.FRESH),
}


@pytest.mark.parametrize(
    ("stored", "asked", "seconds", "served"), REQUEST_DIRECTIVES.values(), ids=REQUEST_DIRECTIVES
)
async def test_request_directives(stored: str, asked: str, seconds: float, served: Served) -> None:
    e = await held(stored, seconds)
    got = await e.ask("/a", {"Cache-Control": asked})
    assert (got.served, got.body) == (served, BODY)
    await e.refreshed()


CONDITIONS: dict[str, tuple[dict[str, str], int, bytes]] = {
    "none": ({}, 200, BODY),
    "b13 the tag": ({"If-None-Match": '"1"'}, 304, b""),
    "b13 weak form of it": ({"If-None-Match": 'W/"1"'}, 304, b""),
    "b13 a list": ({"If-None-Match": '"x", "1"'}, 304, b""),
    "b13 any": ({"If-None-Match": "*"}, 304, b""),
    "b13 another": ({"If-None-Match": '"1-gzip"'}, 200, BODY),
    "date": ({"If-Modified-Since": "Fri, 15 Jan 2027 08:00:00 GMT"}, 304, b""),
    "earlier date": ({"If-Modified-Since": "Fri, 15 Jan 2027 06:00:00 GMT"}, 200, BODY),
    "tag before date": (
        {"If-None-Match": '"x"', "If-Modified-Since": "Fri, 15 Jan 2027 08:00:00 GMT"},
        200,
        BODY,
    ),
    "b16 range": ({"Range": "bytes=2-4"}, 206, b"234"),
    "b16 last bytes": ({"Range": "bytes=-2"}, 206, b"89"),
    "b17 no set": ({"Range": "bytes="}, 200, BODY),
    "b17 backwards": ({"Range": "bytes=9-1"}, 200, BODY),
    "b17 beyond": ({"Range": "bytes=999999-"}, 416, b""),
    "b17 many": ({"Range": "bytes=" + ",".join(["0-0"] * 200)}, 200, BODY),
    "if-range holds": ({"Range": "bytes=0-1", "If-Range": '"1"'}, 206, b"01"),
    "if-range does not": ({"Range": "bytes=0-1", "If-Range": '"2"'}, 200, BODY),
}


@pytest.mark.parametrize("when", ["hit", "stale", "revalidated"])
@pytest.mark.parametrize(("fields", "status", "body"), CONDITIONS.values(), ids=CONDITIONS)
async def test_conditions_and_ranges_are_answered_from_what_is_stored(
    when: str, fields: dict[str, str], status: int, body: bytes
) -> None:
    stored = {"hit": ("max-age=10", 1.0), "stale": (WINDOWS, 20.0), "revalidated": ("max-age=10", 20.0)}[when]
    modified = "Fri, 15 Jan 2027 07:00:00 GMT"
    e = await held(*stored, last_modified=modified, content_type="text/plain")
    got = await e.ask("/a", fields)
    assert (got.status, got.body) == (status, body)
    if status in (304, 416):
        assert not {"content-type", "content-encoding", "content-length"} & {name.lower() for name, _ in got.fields}
    await e.refreshed()


@pytest.mark.parametrize(("fields", "status", "body"), CONDITIONS.values(), ids=CONDITIONS)
async def test_conditions_and_ranges_on_a_miss_fill_the_whole(
    fields: dict[str, str], status: int, body: bytes
) -> None:
    e = engine()
    card = ("/.well-known/did.json", b'{"id":"did:web:example.com"}')
    e.origin.respond(card[0], max_age=60, etag='"1"', last_modified="Fri, 15 Jan 2027 07:00:00 GMT", body=card[1])
    got = await e.ask(card[0], fields)
    assert got.status == status
    assert e.origin.requests[0].field("Range") is e.origin.requests[0].field("If-None-Match") is None
    assert (await e.ask(card[0])).body == card[1]


async def test_b16_a_range_of_class_other_travels_and_its_answer_is_not_the_whole() -> None:
    e = engine()

    def answering(sent: Any) -> Reply:
        if "range" not in sent.fields:
            return Reply(200, Fields([("Cache-Control", "max-age=60")]), BODY)
        return Reply(206, Fields([("Cache-Control", "max-age=60"), ("Content-Range", "bytes 2-4/10")]), b"234")

    e.origin.answer("/a", answering)
    part = await e.ask("/a", {"Range": "bytes=2-4", "If-Range": '"1"'})
    assert (part.status, part.body, e.origin.requests[0].field("If-Range")) == (206, b"234", '"1"')
    assert (await e.ask("/a")).body == BODY
    assert (await e.ask("/a", {"Range": "bytes=2-4"})).body == b"234"
    assert len(e.origin.requests) == 2


async def test_a_range_answered_whole_fills_and_is_sliced_here() -> None:
    e = engine()
    e.origin.respond("/a", max_age=60, body=BODY)
    assert (await e.ask("/a", {"Range": "bytes=2-4"})).body == b"234"
    assert (await e.ask("/a")).served is Served.FRESH


@pytest.mark.parametrize("name", ["If-Match", "If-Unmodified-Since"])
async def test_conditions_on_the_target_are_the_origins_to_judge(name: str) -> None:
    e = await held()
    got = await e.ask("/a", {name: '"1"'})
    assert (got.served, parameters(got.cache_status)["fwd"]) == (Served.BYPASS, "bypass")
    assert e.origin.requests[1].field(name) == '"1"'


async def test_a_get_with_a_body_is_passed_on() -> None:
    e = await held()
    got = await e.ask("/a", body=b"x")
    assert (got.served, e.origin.requests[1].body) == (Served.BYPASS, b"x")


async def test_b10_variants_are_selected_by_every_named_field() -> None:
    e = engine()

    def answering(sent: Any) -> Reply:
        service, language = sent.fields.get("service"), sent.fields.get("accept-language")
        varies = Fields([("Cache-Control", "max-age=60"), ("Vary", "Service"), ("Vary", "Accept-Language")])
        return Reply(200, varies, f"{service} {language}".encode())

    e.origin.answer("/a", answering)
    asked = [{"Service": s, "Accept-Language": a} for s in ("x", "y") for a in ("de", "fr")]
    for _ in range(2):
        for fields in asked:
            assert (await e.ask("/a", fields)).body == f"{fields['Service']} {fields['Accept-Language']}".encode()
    assert len(e.origin.requests) == len(e.memory) == 4
    vary_miss = await e.ask("/a", {"Service": "z"})
    assert parameters(vary_miss.cache_status)["fwd"] == "vary-miss"


async def test_b10_vary_any_always_goes_to_the_origin() -> None:
    e = await held(vary="*")
    await e.ask("/a")
    assert len(e.origin.requests) == 2


@pytest.mark.parametrize("path", ["/a", CARD_PATH])
async def test_b11_equal_accept_encodings_are_few_variants(path: str) -> None:
    e = engine()
    e.origin.respond(path, max_age=60, vary="Accept-Encoding", body=CARD)
    for order in permutations(("gzip", "br;q=0.9", "zstd;q=0.8")):
        for separator in (",", ", ", " ,  "):
            await e.ask(path, {"Accept-Encoding": separator.join(order)})
    assert len(e.memory) <= 3 and len(e.origin.requests) <= 3


FORBIDDEN = ["must-revalidate", "proxy-revalidate", "no-cache", "s-maxage=1"]


@pytest.mark.parametrize("how", ["unreachable", "timeout", "503"])
@pytest.mark.parametrize("word", FORBIDDEN)
async def test_b06_no_stale_where_it_is_forbidden(word: str, how: str) -> None:
    settings = EngineSettings(outage_stale=1000.0)
    e = await held(f"max-age=1, {word}, stale-while-revalidate=60, stale-if-error=60", 2, settings)
    if how == "503":
        e.origin.respond("/a", 503)
    else:
        e.origin.fail(OriginFault(f"origin-{how}"))
    got = await e.ask("/a", {"Cache-Control": "max-stale"})
    assert (got.status, got.body == BODY) == (503 if how == "503" else 504, False)
    assert (await e.ask("/a", method="HEAD")).status == got.status
    e.origin.recover()
    e.origin.respond("/a", max_age=1, etag='"1"', body=BODY)
    assert (await e.ask("/a")).served is Served.REVALIDATED


async def test_an_explicit_window_may_win_over_s_maxage_by_configuration() -> None:
    e = await held("s-maxage=1, stale-while-revalidate=60", 2, EngineSettings(s_maxage_forbids_stale=False))
    assert (await e.ask("/a")).served is Served.SWR
    await e.refreshed()


ERRORS: dict[str, Any] = {
    "fault": OriginFault.UNREACHABLE,
    "timeout": OriginFault.TIMEOUT,
    "overloaded": OriginFault.OVERLOADED,
    "500": 500,
    "502": 502,
    "503": 503,
    "504": 504,
}


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
async def test_stale_if_error_in_every_form(error: OriginFault | int, method: str) -> None:
    e = await held("max-age=10, stale-if-error=100", 50)
    e.origin.fail(error) if isinstance(error, OriginFault) else e.origin.respond("/a", error)
    got = await e.ask("/a", method=method)
    assert (got.status, got.served, got.field("Age")) == (200, Served.SIE, "50")
    expected = {"fwd": "stale", "ttl": -40, "detail": "stale-if-error"}
    assert parameters(got.cache_status) == expected | (
        {} if isinstance(error, OriginFault) else {"fwd-status": error}
    )
    again = await e.ask("/a", method=method)
    assert parameters(again.cache_status) == {"hit": True, "ttl": -40, "detail": "stale-if-error"}
    assert len(e.origin.requests) == 2 and e.origin.leaked == []


STALE_LIMITS: dict[str, tuple[str, float, float, int]] = {
    "within stale-if-error": ("max-age=10, stale-if-error=100", 109, 0.0, 200),
    "past stale-if-error": ("max-age=10, stale-if-error=100", 110, 0.0, 504),
    "no window": ("max-age=10", 11, 0.0, 504),
    "the operator's contract": ("max-age=10", 11, 60.0, 200),
    "past the operator's contract": ("max-age=10", 71, 60.0, 504),
}


@pytest.mark.parametrize(("stored", "seconds", "outage", "status"), STALE_LIMITS.values(), ids=STALE_LIMITS)
async def test_how_long_stale_stands_in(stored: str, seconds: float, outage: float, status: int) -> None:
    e = await held(stored, seconds, EngineSettings(outage_stale=outage))
    e.origin.fail()
    assert (await e.ask("/a")).status == status


async def test_a_stored_5xx_never_stands_in() -> None:
    e = await held("public, max-age=10, stale-if-error=100", status=503)
    assert (await e.ask("/a")).status == 503 and len(e.origin.requests) == 1
    e.clock += 20
    e.origin.fail(OriginFault.TIMEOUT)
    assert (await e.ask("/a")).status == 504


async def test_a_client_that_wants_nothing_stale_gets_the_failure() -> None:
    e = await held("max-age=10, stale-if-error=100", 50)
    e.origin.fail()
    assert (await e.ask("/a", {"Cache-Control": "max-age=20"})).status == 504


async def test_back_off_protects_the_origin_only_while_something_is_served() -> None:
    e = await held("max-age=10, stale-if-error=100", 50)
    e.origin.fail()
    assert (await e.ask("/a")).served is Served.SIE
    e.clock += 61
    for _ in range(2):
        assert (await e.ask("/a")).status == 504
    assert len(e.origin.requests) == 4


async def test_followers_of_a_failure_are_served_stale_too() -> None:
    e = await held("max-age=10, stale-if-error=100", 50)
    e.origin.fail()
    e.origin.hold()
    clients = [e.start("/a") for _ in range(3)]
    await e.origin.arrived(2)
    await e.settle()
    e.origin.release()
    answers: list[Got] = [await client for client in clients]
    assert {(got.status, got.served) for got in answers} == {(200, Served.SIE)}
    held_off = e.holdoffs.get(f"{SITE}/a")
    assert held_off is not None and held_off.failures == 1


async def test_followers_of_the_origins_5xx_get_a_problem() -> None:
    e = await held("max-age=10, must-revalidate", 50)
    e.origin.respond("/a", 503, body=b"busy")
    e.origin.hold()
    leader, follower = e.start("/a"), e.start("/a")
    await e.origin.arrived(2)
    await e.settle()
    e.origin.release()
    assert ((await leader).status, (await follower).status) == (503, 504)
    assert parameters((await follower).cache_status) == {
        "fwd": "stale",
        "collapsed": True,
        "detail": "origin-unreachable",
    }


async def test_b13_a_document_without_validator_gets_one_minted_for_clients_alone() -> None:
    e = engine()
    e.origin.respond(CARD_PATH, max_age=10, body=CARD)
    tag = (await e.ask(CARD_PATH)).field("ETag")
    assert tag is not None and tag.startswith('"sha256-')
    assert (await e.ask(CARD_PATH, {"If-None-Match": tag})).status == 304
    e.clock += 11
    await e.ask(CARD_PATH, {"If-None-Match": tag})
    assert e.origin.requests[1].field("If-None-Match") is None
    other = await held(etag=None)
    assert (await other.ask("/a")).field("ETag") is None


async def test_documents_carry_their_trust_and_others_do_not() -> None:
    e = engine()
    e.origin.respond(CARD_PATH, max_age=60, body=CARD)
    e.origin.respond("/a", max_age=60)
    for _ in range(2):
        trust = (await e.ask(CARD_PATH)).field("Discovery-Trust") or ""
        assert trust.split(";")[0] == "origin-tls"
        assert parameters(trust) == {"source": "origin", "checked": timestamp(e.clock(), "seconds")}
        assert (await e.ask("/a")).field("Discovery-Trust") is None
    plain = await e.ask(f"http://example.com{CARD_PATH}")
    assert (plain.field("Discovery-Trust") or "").startswith("hint")


B40: dict[str, tuple[str, int]] = {
    "silent": ("max-age=60", 2),
    "private": ("private, max-age=60", 2),
    "public": ("public, max-age=60", 1),
    "must-revalidate": ("max-age=60, must-revalidate", 1),
    "s-maxage": ("s-maxage=60", 1),
}


@pytest.mark.parametrize(("word", "fetches"), B40.values(), ids=B40)
async def test_b40_answers_to_credentials(word: str, fetches: int) -> None:
    e = engine()
    e.origin.respond("/a", cache_control=word, body=BODY)
    for token in ("Bearer a", "Bearer b"):
        await e.ask("/a", {"Authorization": token})
    assert [sent.field("Authorization") for sent in e.origin.requests] == ["Bearer a", "Bearer b"][:fetches]


B42: dict[str, tuple[list[tuple[str, str]], int]] = {
    "malformed Date": ([("Date", "Sat, 01 Oct 2022 7:19:16 GMT")], 0),
    "future Date": ([("Date", "Fri, 15 Jan 2027 09:00:00 GMT")], 0),
    "negative Age": ([("Age", "-5")], 0),
    "Age list": ([("Age", "1, 2")], 1),
    "old Date": ([("Date", "Fri, 15 Jan 2027 07:59:30 GMT")], 30),
}


@pytest.mark.parametrize(("fields", "age"), B42.values(), ids=B42)
async def test_b42_ages_make_sense(fields: list[tuple[str, str]], age: int) -> None:
    e = await held("max-age=60", fields=fields)
    got = await e.ask("/a")
    assert (got.field("Age"), parameters(got.cache_status)["ttl"]) == (str(age), 60 - age)


async def test_b18_a_308_is_stored_by_heuristic_and_kept_as_it_is() -> None:
    e = await held(
        status=308,
        cache_control=None,
        etag=None,
        last_modified="Fri, 01 Jan 2027 08:00:00 GMT",
        fields=[("Location", "/b")],
    )
    got = await e.ask("/a")
    assert (got.status, got.field("Location"), got.served) == (308, "/b", Served.FRESH)


async def test_b37_a_404_hides_a_publication_no_longer_than_the_cap() -> None:
    e = engine(EngineSettings(negative_ttl=30.0))
    e.origin.respond(CARD_PATH, 404, max_age=86_400, body=HTML)
    await e.ask(CARD_PATH)
    e.origin.respond(CARD_PATH, max_age=60, body=CARD)
    e.clock += 29
    assert (await e.ask(CARD_PATH)).status == 404
    e.clock += 1
    assert (await e.ask(CARD_PATH)).status == 200


async def test_purged_is_never_served_not_even_for_an_error() -> None:
    e = await held("max-age=10, stale-if-error=1000", 5)
    await e.control.purge(ByUri(f"{SITE}/a"), soft=False)
    e.origin.fail()
    assert (await e.ask("/a")).status == 504


async def test_softly_purged_is_stale() -> None:
    e = await held(WINDOWS, 5)
    await e.control.purge(ByUri(f"{SITE}/a"), soft=True)
    assert (await e.ask("/a")).served is Served.SWR
    await e.refreshed()
    assert (await e.ask("/a")).served is Served.FRESH


async def test_immutable_or_not_a_client_may_insist() -> None:
    e = await held("max-age=10, immutable", 1)
    assert (await e.ask("/a")).served is Served.FRESH
    assert (await e.ask("/a", {"Cache-Control": "no-cache"})).served is Served.REVALIDATED


async def test_head_is_answered_from_a_stored_get() -> None:
    e = await held("max-age=10", 1)
    head, get = await e.ask("/a", method="HEAD"), await e.ask("/a")
    assert (head.status, head.fields, len(e.origin.requests)) == (200, get.fields, 1)


async def test_expired_without_validator_is_fetched_whole() -> None:
    e = await held("max-age=10, stale-if-error=100", 11, etag=None)
    got = await e.ask("/a")
    assert (got.served, parameters(got.cache_status)["fwd"]) == (Served.EXPIRED, "stale")
    assert e.origin.requests[1].field("If-None-Match") is None


async def test_the_names_of_refused_targets_and_paths_are_not_in_the_problem() -> None:
    e = engine()
    e.origin.fail()
    got = await e.ask("/a?token=secret")
    assert got.body is not None and b"secret" not in got.body


async def test_a_document_asked_by_head_is_judged_as_by_get() -> None:
    e = engine()
    e.origin.respond(CARD_PATH, body=HTML)
    assert (await e.ask(CARD_PATH, method="HEAD")).status == (await e.ask(CARD_PATH)).status == 502
    assert {sent.method for sent in e.origin.requests} == {"GET"}


@pytest.mark.parametrize("name", ["If-Match", "If-Unmodified-Since"])
async def test_conditions_of_the_origin_do_not_lead_past_the_gate(name: str) -> None:
    e = engine()
    e.origin.respond(CARD_PATH, body=HTML)
    got = await e.ask(CARD_PATH, {name: '"x"'})
    assert (got.status, got.outcome.detail) == (502, "not-a-document")
    assert name not in e.origin.requests[0].request.fields


async def test_an_error_in_the_place_of_a_document_is_kept_as_long_as_its_absence() -> None:
    e = engine()
    e.origin.respond(CARD_PATH, status=503, max_age=600)
    await e.ask(CARD_PATH)
    e.clock += EngineSettings().negative_ttl + 1
    await e.ask(CARD_PATH)
    assert len(e.origin.requests) == 2


async def one_octet() -> AsyncIterator[bytes]:
    yield b"x"


@pytest.mark.parametrize("fields", [{"Content-Length": "1"}, {"Upgrade": "websocket"}], ids=["body", "upgrade"])
async def test_nothing_else_leads_past_the_gate(fields: dict[str, str]) -> None:
    e = engine()
    e.origin.respond(CARD_PATH, body=HTML)
    got = await e.ask(CARD_PATH, fields, body=one_octet())
    assert (got.status, got.outcome.detail) == (502, "not-a-document")
    assert e.origin.requests[0].body is None and not e.origin.requests[0].request.fields.get_all("upgrade")


async def test_a_page_in_markdown_reaches_only_who_asked_alike_also_without_vary() -> None:
    e = engine()
    e.origin.respond("/page", max_age=60, content_type="text/markdown; charset=utf-8", body=b"# For agents")
    markdown = {"Accept": "text/markdown"}
    await e.ask("/page", markdown)
    assert (await e.ask("/page", markdown)).served is Served.FRESH
    e.origin.respond("/page", max_age=60, content_type="text/html", body=b"<p>For people")
    assert (await e.ask("/page", {"Accept": "text/html"})).body == b"<p>For people"
    assert len(e.origin.requests) == 2
