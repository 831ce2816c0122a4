"""Which path is which class (CONTRACT §14.11), and what holds for the class (DISCOVERY_FORMATS C-14, §11)."""

import pytest

from proxy.discovery.classes import POLICIES, ClassPolicy, DocumentClass, DocumentFormat, classify

WELL_KNOWN = [
    ("uaix-agent-access.json", DocumentClass.MANIFEST),
    ("ai-catalog.json", DocumentClass.AI_CATALOG),
    ("ard.json", DocumentClass.AI_CATALOG),
    ("agent-card.json", DocumentClass.AGENT_CARD),
    ("agent.json", DocumentClass.AGENT_CARD),
    ("mcp/server-card.json", DocumentClass.MCP_SERVER_CARD),
    ("mcp/server-card", DocumentClass.MCP_SERVER_CARD),
    ("mcp/catalog.json", DocumentClass.MCP_SERVER_CARD),
    ("mcp-server-card", DocumentClass.MCP_SERVER_CARD),
    ("mcp-server-card.json", DocumentClass.MCP_SERVER_CARD),
    ("mcp.json", DocumentClass.MCP_SERVER_CARD),
    ("mcp", DocumentClass.MCP_SERVER_CARD),
    ("api-catalog", DocumentClass.API_CATALOG),
    ("agent-skills/index.json", DocumentClass.AGENT_SKILLS),
    ("skills/index.json", DocumentClass.AGENT_SKILLS),
    ("oauth-authorization-server", DocumentClass.OAUTH_AS),
    ("oauth-authorization-server/tenant/1", DocumentClass.OAUTH_AS),
    ("openid-configuration", DocumentClass.OAUTH_AS),
    ("openid-configuration/tenant", DocumentClass.OAUTH_AS),
    ("oauth-protected-resource", DocumentClass.OAUTH_PR),
    ("oauth-protected-resource/", DocumentClass.OAUTH_PR),
    ("oauth-protected-resource/mcp", DocumentClass.OAUTH_PR),
    ("oauth-protected-resource/docs/llms.txt", DocumentClass.OAUTH_PR),
    ("oauth-protected-resource/a/.well-known/agent.json", DocumentClass.OAUTH_PR),
    ("did.json", DocumentClass.DID),
    ("agent", DocumentClass.AID),
    # Not documents of ours.
    ("", DocumentClass.OTHER),
    ("agent/", DocumentClass.OTHER),
    ("agent/x", DocumentClass.OTHER),
    ("agents.json", DocumentClass.OTHER),
    ("agent-card.json/", DocumentClass.OTHER),
    ("Agent-Card.json", DocumentClass.OTHER),
    ("agent-card", DocumentClass.OTHER),
    ("agent-skills", DocumentClass.OTHER),
    ("agent-skills/quote/SKILL.md", DocumentClass.OTHER),
    ("mcp/", DocumentClass.OTHER),
    ("oauth-protected-resource.json", DocumentClass.OTHER),
    ("agent-descriptions", DocumentClass.OTHER),
    ("did.jsonl", DocumentClass.OTHER),
    ("robots.txt", DocumentClass.OTHER),
]

PLAIN = [
    ("/did.json", DocumentClass.OTHER),
    ("/user/alice/did.json", DocumentClass.DID),
    ("/a/did.json", DocumentClass.DID),
    ("/.well-known/a/did.json", DocumentClass.DID),
    ("/openapi.json", DocumentClass.OPENAPI),
    ("/openapi.yaml", DocumentClass.OPENAPI),
    ("/api/v1/openapi.json", DocumentClass.OPENAPI),
    ("/openapi", DocumentClass.OTHER),
    ("/myopenapi.json", DocumentClass.OTHER),
    ("/llms.txt", DocumentClass.LLMS),
    ("/llms-full.txt", DocumentClass.LLMS),
    ("/docs/llms.txt", DocumentClass.LLMS),
    ("/llms.txt/", DocumentClass.OTHER),
    ("/LLMS.txt", DocumentClass.OTHER),
    ("/robots.txt", DocumentClass.ROBOTS),
    ("/a/robots.txt", DocumentClass.OTHER),
    ("/sitemap.xml", DocumentClass.SITEMAP),
    ("/blog/sitemap.xml", DocumentClass.SITEMAP),
    ("/sitemap.xml.gz", DocumentClass.OTHER),
    ("/", DocumentClass.OTHER),
    ("/.well-known", DocumentClass.OTHER),
    ("/a.well-known/agent.json", DocumentClass.OTHER),
    ("//", DocumentClass.OTHER),
    ("*", DocumentClass.OTHER),
    ("", DocumentClass.OTHER),
]


@pytest.mark.parametrize("prefix", ["", "/v2/a2a/17"], ids=["root", "prefix"])
@pytest.mark.parametrize(("name", "expected"), WELL_KNOWN, ids=[name for name, _ in WELL_KNOWN])
def test_well_known_paths(prefix: str, name: str, expected: DocumentClass) -> None:
    path = f"{prefix}/.well-known/{name}"
    assert classify(path) is expected, path


@pytest.mark.parametrize(("path", "expected"), PLAIN, ids=[path for path, _ in PLAIN])
def test_other_paths(path: str, expected: DocumentClass) -> None:
    assert classify(path) is expected, path


# class, format, lifetime, stale-while-revalidate, stale-if-error, max body, negative lifetime
POLICY_ROWS = [
    ("manifest", "json", 300, 3600, 86400, 1 << 20),
    ("ai-catalog", "json", 300, 3600, 86400, 1 << 20),
    ("agent-card", "json", 300, 3600, 86400, 1 << 20),
    ("mcp-server-card", "json", 3600, 3600, 86400, 1 << 20),
    ("api-catalog", "json", 3600, 3600, 86400, 1 << 20),
    ("agent-skills", "json", 300, 3600, 86400, 1 << 20),
    ("oauth-as", "json", 3600, 300, 86400, 1 << 20),
    ("oauth-pr", "json", 3600, 300, 86400, 1 << 20),
    ("did", "json", 300, 300, 3600, 1 << 20),
    ("openapi", "json-or-yaml", 3600, 3600, 86400, 4 << 20),
    ("llms", "text", 3600, 86400, 86400, 4 << 20),
    ("robots", "text", 3600, 82800, 86400, 4 << 20),
    ("sitemap", "xml-or-text", 3600, 86400, 86400, 4 << 20),
    ("aid", "json", 300, 0, 0, 64 << 10),
    ("other", "any", 0, 0, 0, None),
]


@pytest.mark.parametrize("row", POLICY_ROWS, ids=[row[0] for row in POLICY_ROWS])
def test_policies(row: tuple[str, str, float, float, float, int | None, float | None]) -> None:
    name, accepted, *numbers = row
    assert POLICIES[DocumentClass(name)] == ClassPolicy(DocumentFormat(accepted), *numbers), row  # type: ignore[arg-type]


def test_every_class_has_a_policy() -> None:
    assert set(POLICIES) == set(DocumentClass) == {DocumentClass(row[0]) for row in POLICY_ROWS}
