"""API catalogs in a discovery (RFC 9727, RFC 9264; LS-1 to LS-4)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.discovery.documents import APIS_AT, HTML, SITE, linkset
from tests.simulators.discovery import Described, Neighbourhood, neighbourhood

OPENAPI = f"{SITE}/openapi.json"
FOUND = ("openapi", OPENAPI, "api-catalog", "origin-tls")


def nested(n: Neighbourhood, place: str, *places: str) -> None:
    """Publish a catalog at `place` that describes an API of its own and leads to catalogs at `places`."""
    own = linkset(f"{SITE}{place}/openapi.json")["linkset"]
    further = linkset(*places, rel="api-catalog")["linkset"]
    assert isinstance(own, list) and isinstance(further, list)
    n.publish(place, {"linkset": own + further})


def apis(answer: Described) -> set[str]:
    return {one["url"].removeprefix(SITE).removesuffix("/openapi.json") for one in answer["endpoints"]}


class TestLinksets:
    @pytest.mark.parametrize(
        ("document", "endpoints"),
        [
            (linkset(OPENAPI), {FOUND}),
            (linkset("/openapi.json"), {FOUND}),
            (linkset(OPENAPI, anchor="https://example.com/api"), {FOUND}),
            (linkset(OPENAPI, anchor="/api"), {FOUND}),
            (linkset(OPENAPI, anchor="https://example.net/"), {("openapi", OPENAPI, "api-catalog", "hint")}),
            (linkset(OPENAPI, rel="Service-Desc"), {FOUND}),
            (linkset(OPENAPI, rel="service-doc"), set()),
            (linkset(OPENAPI, rel="item"), set()),
            ({"linkset": [{"anchor": SITE, "rel": "service-desc", "href": OPENAPI}]}, {FOUND}),
            ({"linkset": [{"anchor": SITE, "links": [{"rel": "service-desc", "href": OPENAPI}]}]}, {FOUND}),
            ({"linkset": [{"service-desc": {"href": OPENAPI}}]}, {FOUND}),
            ({"_comment": "x", **linkset(OPENAPI)}, {FOUND}),
            (linkset("http://example.com/openapi.json"), set()),
            (linkset("https://192.168.1.1/openapi.json"), set()),
            (linkset("https://u:p@example.com/openapi.json"), set()),
            (
                linkset("https://apis.example.net/x.yaml"),
                {("openapi", "https://apis.example.net/x.yaml", *FOUND[2:])},
            ),
            ({"linkset": []}, set()),
            ({"linkset": [None, 7, [], {"service-desc": [None, {}]}]}, set()),
        ],
        ids=[
            "plain",
            "relative",
            "anchor",
            "relative anchor",
            "anchor elsewhere",
            "case",
            "documentation",
            "item",
            "flat",
            "links",
            "one target",
            "comment",
            "http",
            "private",
            "userinfo",
            "elsewhere",
            "empty",
            "odd",
        ],
    )
    async def test_descriptions_are_located(self, document: object, endpoints: set[tuple[str, ...]]) -> None:
        n = neighbourhood()
        n.publish(APIS_AT, document, content_type="application/linkset+json")
        answer = await n.discover()
        assert answer.endpoints == endpoints
        assert answer.document(APIS_AT)["found"] is True

    async def test_descriptions_are_not_fetched(self) -> None:
        n = neighbourhood()
        n.publish(APIS_AT, linkset(OPENAPI))
        await n.discover()
        assert "/openapi.json" not in n.paths

    @pytest.mark.parametrize(
        ("body", "how"),
        [
            (HTML, {"content_type": "text/html"}),
            (b"", {}),
            (b"{}", {}),
            (b'{"linkset":{}}', {}),
            (b"x", {"status": 403}),
            (b"x", {"status": 500}),
        ],
        ids=["HTML", "empty", "object", "linkset no list", "403", "500"],
    )
    async def test_what_is_no_catalog(self, body: bytes, how: dict[str, Any]) -> None:
        n = neighbourhood()
        n.publish(APIS_AT, body, **how)
        assert (await n.discover()).document(APIS_AT)["found"] is False

    async def test_what_is_wrong_with_it_is_told(self) -> None:
        n = neighbourhood()
        n.publish(APIS_AT, {"_comment": "x", **linkset(OPENAPI, anchor="https://example.net/")})
        rules = [one["rule"] for one in (await n.discover()).document(APIS_AT)["lint"]]
        assert rules == ["LS-2", "LS-3"]

    async def test_a_redirect_to_the_canonical_place(self) -> None:
        n = neighbourhood()
        n.publish(APIS_AT, b"", status=302, fields=[("Location", "https://apis.example.net/catalog")])
        n.publish("https://apis.example.net/catalog", linkset("/x.json"))
        answer = await n.discover()
        assert {one[1] for one in answer.endpoints} == {"https://apis.example.net/x.json"}

    async def test_it_is_asked_for_as_a_linkset(self) -> None:
        n = neighbourhood()
        await n.discover()
        sent = next(one for one in n.engine.origin.requests if one.path == APIS_AT)
        assert (sent.field("Accept") or "").startswith("application/linkset+json")


class TestNesting:
    """LS-3."""

    @pytest.mark.parametrize(("length", "reached"), [(1, 1), (2, 2), (4, 4), (5, 4), (10, 4)])
    async def test_four_deep(self, length: int, reached: int) -> None:
        n = neighbourhood()
        places = [APIS_AT, *(f"/apis/{depth}" for depth in range(2, length + 1))]
        for place, below in zip(places, [*places[1:], None], strict=True):
            nested(n, place, *([below] if below else []))
        answer = await n.discover()
        assert apis(answer) == set(places[:reached])
        is_cut = [step for step in answer["steps"] if "deeper than 4" in step["detail"]]
        assert bool(is_cut) is (length > 4)

    @pytest.mark.parametrize("length", [1, 2, 3])
    async def test_circles(self, length: int) -> None:
        n = neighbourhood()
        places = [APIS_AT, "/apis/2", "/apis/3"][:length]
        for number, place in enumerate(places):
            nested(n, place, places[(number + 1) % length])
        assert apis(await n.discover()) == set(places)
        assert [n.paths.count(place) for place in places] == [1] * length

    async def test_two_ways_to_one(self) -> None:
        n = neighbourhood()
        nested(n, APIS_AT, "/apis/a", "/apis/b")
        nested(n, "/apis/a", "/apis/c")
        nested(n, "/apis/b", "/apis/c")
        nested(n, "/apis/c")
        assert apis(await n.discover()) == {APIS_AT, "/apis/a", "/apis/b", "/apis/c"}
        assert n.paths.count("/apis/c") == 1

    async def test_sixteen_in_all(self) -> None:
        n = neighbourhood()
        nested(n, APIS_AT, *(f"/apis/{number}" for number in range(20)))
        answer = await n.discover()
        assert len([path for path in n.paths if path.startswith("/apis/")]) == 15
        assert answer.step("limit", "example.com")["detail"] == "One discovery reads no more than 16 API catalogs."

    async def test_one_that_is_missing_leaves_the_others(self) -> None:
        n = neighbourhood()
        nested(n, APIS_AT, "/apis/missing", "/apis/there")
        nested(n, "/apis/there")
        assert apis(await n.discover()) == {APIS_AT, "/apis/there"}

    async def test_central_services_are_not_asked(self) -> None:
        n = neighbourhood()
        nested(n, APIS_AT, "https://smithery.ai/.well-known/api-catalog")
        answer = await n.discover()
        assert n.asked("smithery.ai") == []
        assert answer.step("api-catalog", "smithery.ai/.well-known/api-catalog")["outcome"] == "skipped"
