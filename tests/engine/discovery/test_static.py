"""Clients that only read: what is looked for them and told them, by level and ladder (U-D4, U-D5, U-D8, §5.1)."""

from __future__ import annotations

import pytest

from tests.engine.discovery.documents import (
    APIS_AT,
    ARD_AT,
    CARD_AT,
    MANIFEST_AT,
    MCP_CARD_AT,
    SKILLS_AT,
    agent_card,
    catalog,
    issuer_metadata,
    linkset,
    manifest,
    server_card,
    skills_index,
)
from tests.simulators.discovery import Described, Neighbourhood, neighbourhood

ISSUER = "https://id.example.com"
METADATA = f"{ISSUER}/.well-known/oauth-authorization-server"
TEXT = {"content_type": "text/plain"}
READ = {"abilityLevel": "L0", "method": "GET", "highestSupportedPath": "/a", "lowestSafeFallback": "/a"}
LIVE = {
    "abilityLevel": "L1",
    "method": "GET",
    "highestSupportedPath": "/live",
    "lowestSafeFallback": "/a",
    "liveGetBlockedFallback": "/a.html",
    "fetchExecutionClass": "live",
}
WRITE = {
    "abilityLevel": "L3",
    "method": "POST",
    "highestSupportedPath": "/b",
    "lowestSafeFallback": "/a",
    "postBlockedFallback": "/b.html",
    "contentType": "application/json",
}


def publishing() -> Neighbourhood:
    """A domain that has everything."""
    n = neighbourhood()
    document = manifest(openapi="/openapi.json", x_auth_metadata=METADATA)
    n.publish(MANIFEST_AT, {**document, "routes": [READ, LIVE, WRITE]})
    n.publish(METADATA, issuer_metadata(ISSUER))
    n.publish(CARD_AT, agent_card())
    n.publish(MCP_CARD_AT, server_card())
    n.publish(ARD_AT, catalog())
    n.publish(APIS_AT, linkset("/o.yaml"))
    n.publish(SKILLS_AT, skills_index())
    n.publish("/robots.txt", b"Sitemap: https://example.com/map.xml\n", **TEXT)
    n.publish("/llms.txt", b"# Site\n", **TEXT)
    n.dns.txt("_agent.example.com", "v=aid2;u=https://api.example.com/mcp;p=mcp")
    return n


async def discovered(level: str | None, ladder: str | None = None) -> tuple[Neighbourhood, Described]:
    n = publishing()
    return n, await n.discover(level=level, ladder=ladder)


STATIC = [
    ("L0", None),
    ("L1", None),
    ("L2", None),
    ("L0", "exec"),
    ("L2", "surface"),
    ("L1", "profile"),
    ("L4", "autonomy"),
    ("L4", "no-such-ladder"),
    ("L9", None),
    ("l4", None),
    ("", None),
    ("L4 ", "exec"),
    ("\u0130", None),
]


@pytest.mark.parametrize(("level", "ladder"), STATIC)
class TestStatic:
    async def test_only_the_manifest_and_the_texts_are_asked_for(self, level: str, ladder: str | None) -> None:
        n, _ = await discovered(level, ladder)
        assert sorted(n.paths) == sorted([MANIFEST_AT, "/robots.txt", "/llms.txt"])

    async def test_nothing_richer_is_told(self, level: str, ladder: str | None) -> None:
        _, found = await discovered(level, ladder)
        assert (found["endpoints"], found["authorization"]) == ([], None)
        assert {document["class"] for document in found["documents"]} == {"manifest", "llms", "robots"}
        # U-D4: whoever has a browser can be shown the form in the place of what is posted.
        has_browser = "browser_ui" in found["client"]["atoms"]
        assert [one["method"] for one in found["routes"]] == ["GET", "GET"] + ["POST"] * has_browser
        assert "POST" not in {one["method"] for one in found["routes"] if one["decision"] == "execute"}
        assert found["static"] == {
            "robots": "https://example.com/robots.txt",
            "sitemap": "https://example.com/map.xml",
            "llms": "https://example.com/llms.txt",
            "markdown": None,
        }

    async def test_the_claim_is_told_and_proves_nothing(self, level: str, ladder: str | None) -> None:
        _, found = await discovered(level, ladder)
        assert found["client"]["level"] == level
        assert found["client"]["ladder"] == (ladder or "exec")
        assert found["client"]["known"] is False
        assert set(found["client"]["atoms"]) <= {"static_get", "json_get", "live_get", "browser_ui"}


ATOMS = [
    (None, None, ["static_get", "json_get"]),
    ("L0", None, ["static_get"]),
    ("L1", None, ["static_get", "json_get", "live_get"]),
    ("L2", None, ["static_get", "json_get", "live_get", "browser_ui"]),
    ("L3", None, ["static_get", "json_get", "live_get"]),
    ("L7", None, ["static_get", "json_get", "live_get"]),
    ("L1", "profile", ["static_get", "json_get"]),
    ("L5", "profile", ["static_get", "json_get", "live_get"]),
    ("L2", "surface", ["static_get", "json_get"]),
    ("L4", "autonomy", ["static_get"]),
    ("L9", None, ["static_get"]),
]


@pytest.mark.parametrize(("level", "ladder", "atoms"), ATOMS)
async def test_no_claim_gives_a_write_atom(level: str | None, ladder: str | None, atoms: list[str]) -> None:
    _, found = await discovered(level, ladder)
    assert found["client"]["atoms"] == atoms


FULL = [(None, False), ("L3", False), ("L4", True), ("L5", True), ("L6", True), ("L7", True)]


class TestFull:
    @pytest.mark.parametrize(("level", "authorises"), FULL)
    async def test_everything_is_looked_for(self, level: str | None, authorises: bool) -> None:
        n, found = await discovered(level)
        assert {CARD_AT, MCP_CARD_AT, ARD_AT, APIS_AT, SKILLS_AT, "/"} <= set(n.paths)
        kinds = {document["class"] for document in found["documents"] if document["found"]}
        assert kinds >= {"agent-card", "mcp-server-card", "ai-catalog", "api-catalog", "agent-skills"}
        assert [one["method"] for one in found["routes"]] == ["GET", "GET", "POST"]
        # U-D5: authorization is of use from L4 on; who claims nothing is told of everything.
        assert (found["authorization"] is not None) is (authorises or level is None)
        assert ("openapi", "https://example.com/openapi.json", "manifest", "origin-tls") in found.endpoints

    async def test_below_l4_authorization_is_not_asked_for(self) -> None:
        n, _ = await discovered("L3")
        assert n.asked("id.example.com") == []

    @pytest.mark.parametrize("level", [None, "L3", "L7"])
    async def test_a_claim_executes_no_write(self, level: str | None) -> None:
        _, found = await discovered(level)
        write = found["routes"][2]
        assert (write["decision"], write["use"]) == ("fallback", "https://example.com/b.html")
        assert "json_post" in write["reason"]


@pytest.mark.parametrize(
    ("level", "decision", "use"),
    [
        (None, "fallback", "https://example.com/a.html"),
        ("L0", "fallback", "https://example.com/a.html"),
        ("L1", "execute", "https://example.com/live"),
        ("L4", "execute", "https://example.com/live"),
    ],
)
async def test_a_live_read_needs_a_client_that_can(level: str | None, decision: str, use: str) -> None:
    _, found = await discovered(level)
    assert (found["routes"][1]["decision"], found["routes"][1]["use"]) == (decision, use)


FORM = "https://example.com/b-form.html"


@pytest.mark.parametrize(
    ("level", "ladder", "told"),
    [
        ("L0", None, None),
        ("L1", None, None),
        ("L2", "surface", None),
        ("L2", None, ("fallback", FORM, "browser_form_equivalent")),
        ("L2", "exec", ("fallback", FORM, "browser_form_equivalent")),
        ("L4", "autonomy", None),
        (None, None, ("fallback", "https://example.com/b.html", "post_blocked_fallback")),
        ("L4", None, ("fallback", "https://example.com/b.html", "post_blocked_fallback")),
    ],
)
async def test_a_form_is_for_whoever_has_a_browser(
    level: str | None, ladder: str | None, told: tuple[str, str, str] | None
) -> None:
    """U-D4: L2 of exec claims browser_ui, and is shown in the form what it cannot post."""
    n = neighbourhood()
    n.publish(MANIFEST_AT, {**manifest(), "routes": [READ, {**WRITE, "browserFormEquivalent": "/b-form.html"}]})
    found = await n.discover(level=level, ladder=ladder)
    routes = [one for one in found["routes"] if one["method"] == "POST"]
    assert [(one["decision"], one["use"], one["field"]) for one in routes] == ([] if told is None else [told])


async def test_what_a_static_client_read_is_there_for_the_next() -> None:
    n, _ = await discovered("L0")
    n.engine.origin.requests.clear()
    await n.discover(level="L4")
    assert not {MANIFEST_AT, "/robots.txt", "/llms.txt"} & set(n.paths)


async def test_without_a_manifest_the_texts_are_enough() -> None:
    n = neighbourhood()
    n.publish("/llms.txt", b"# Site\n", **TEXT)
    found = await n.discover(level="L1")
    assert (found["outcome"], found["routes"]) == ("found", [])
    assert (await neighbourhood().discover(level="L1")).status == 404
