"""The Python SDKs of A2A and MCP fetch cards and metadata through the proxy, unchanged.

In gateway form the proxy's address is part of the URL they are given; otherwise they know of it by HTTP_PROXY and
HTTPS_PROXY alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.end_to_end.discovery.internet import Internet, described
from tests.end_to_end.discovery.publisher import (
    ISSUER,
    agent_card,
    authorization_server,
    protected_resource,
    publish_everything,
)
from tests.end_to_end.running import Running
from tests.end_to_end.site import Site, reply

httpx = pytest.importorskip("httpx", reason="a2a-sdk is not installed")
httpx2 = pytest.importorskip("httpx2", reason="mcp is not installed")
a2a = pytest.importorskip("a2a.client.card_resolver", reason="a2a-sdk is not installed")
mcp = pytest.importorskip("mcp.client.auth", reason="mcp is not installed")
mcp_utils = pytest.importorskip("mcp.client.auth.utils")
mcp_client = pytest.importorskip("mcp.shared._httpx_utils")
mcp_auth = pytest.importorskip("mcp.shared.auth")

HOST = "agents.example.com"
CARD = "/.well-known/agent-card.json"
RESOURCE = f"https://{HOST}/mcp"
METADATA = f"https://{HOST}/.well-known/oauth-protected-resource/mcp"
SERVER_METADATA = f"{ISSUER}/.well-known/oauth-authorization-server"


@pytest.fixture
def environ(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Surroundings without a proxy of their own."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    yield monkeypatch


def behind(environ: pytest.MonkeyPatch, proxy: Running, internet: Internet) -> None:
    """From now on the process has a proxy, and trusts the sites."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY"):
        environ.setenv(name, f"http://127.0.0.1:{proxy.port}")
    environ.setenv("SSL_CERT_FILE", str(internet.ca_file))


def through(proxy: Running, url: str) -> str:
    """A URL in gateway form."""
    return f"http://127.0.0.1:{proxy.port}/{url.replace('://', '/', 1)}"


async def resolved(base: str) -> Any:
    """The card, as the A2A SDK reads it."""
    async with httpx.AsyncClient() as client:
        return await a2a.A2ACardResolver(client, base).get_agent_card()


LEGACY_CARD = {
    "name": "Example Quote Agent",
    "description": "Answers price questions.",
    "version": "0.9.0",
    "protocolVersion": "0.3.0",
    "url": f"https://{HOST}/a2a",
    "preferredTransport": "JSONRPC",
    "capabilities": {},
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain"],
    "skills": [],
}


@pytest.mark.parametrize("card", [agent_card(HOST), LEGACY_CARD], ids=["1.0", "0.3"])
async def test_a2a_cards_in_gateway_form(internet: Internet, environ: pytest.MonkeyPatch, card: Any) -> None:
    internet.publish(HOST, CARD, card)
    async with internet.proxy() as proxy:
        found = await resolved(through(proxy, f"https://{HOST}"))
        assert found == a2a.parse_agent_card(json.loads(json.dumps(card)))
        assert await resolved(through(proxy, f"https://{HOST}")) == found
        assert internet.statuses(HOST) == {CARD: 200} and len(internet.exchanges) == 1
        told = await described(proxy, HOST)
    ours = [one["url"] for one in told["endpoints"] if one["protocol"] == "a2a"]
    assert ours == [interface.url for interface in found.supported_interfaces]


async def test_a2a_cards_through_a_tunnel(internet: Internet, environ: pytest.MonkeyPatch) -> None:
    internet.publish(HOST, CARD, agent_card(HOST))
    async with internet.proxy() as proxy:
        behind(environ, proxy, internet)
        found = await resolved(f"https://{HOST}")
    assert found == a2a.parse_agent_card(agent_card(HOST))
    assert internet.statuses(HOST) == {CARD: 200}


async def test_a2a_cards_in_forward_form(internet: Internet, environ: pytest.MonkeyPatch) -> None:
    async with Site(None) as site:
        body = json.dumps(agent_card(HOST)).encode()
        site.on(CARD, lambda _: reply(body, "max-age=60", ("Content-Type", "application/json")))
        async with internet.proxy(upstream__connect_to=[f"{HOST}:80:127.0.0.1:{site.port}"]) as proxy:
            behind(environ, proxy, internet)
            for _ in range(2):
                assert await resolved(f"http://{HOST}") == a2a.parse_agent_card(agent_card(HOST))
        assert len(site.to(CARD)) == 1


async def test_a2a_is_told_of_a_page_in_place_of_a_card(internet: Internet, environ: pytest.MonkeyPatch) -> None:
    internet.publish(HOST, CARD, b"<html></html>", media_type="text/html")
    async with internet.proxy() as proxy:
        with pytest.raises(a2a.AgentCardResolutionError) as caught:
            await resolved(through(proxy, f"https://{HOST}"))
    assert caught.value.status_code == 502


def publish_authorization(internet: Internet) -> None:
    publish_everything(internet, HOST)
    challenge = ("WWW-Authenticate", f'Bearer resource_metadata="{METADATA}"')
    internet.publish(HOST, "/mcp", b"", status=401, media_type="text/plain", max_age=None, fields=(challenge,))
    internet.publish(HOST, "/.well-known/oauth-protected-resource/mcp", protected_resource(HOST))
    server = {**authorization_server(), "registration_endpoint": f"{ISSUER}/register"}
    internet.publish("auth.example.com", "/.well-known/oauth-authorization-server", server)
    client = {"client_id": "one", "redirect_uris": ["http://127.0.0.1/callback"]}
    internet.publish("auth.example.com", "/register", client, max_age=None)
    token = {"access_token": "granted", "token_type": "Bearer", "expires_in": 60}
    internet.publish("auth.example.com", "/token", token, max_age=None)


class Memory:
    """The SDK's storage of tokens."""

    def __init__(self) -> None:
        self.tokens: Any = None
        self.client: Any = None

    async def get_tokens(self) -> Any:
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> Any:
        return self.client

    async def set_client_info(self, client_info: Any) -> None:
        self.client = client_info


def provider(storage: Memory) -> Any:
    """The SDK's own client of OAuth, whose user consents at once."""
    visited: list[str] = []

    async def redirect(url: str) -> None:
        visited.append(url)

    async def callback() -> Any:
        query = httpx2.URL(visited[-1]).params
        return mcp.AuthorizationCodeResult(code="code", state=query["state"], iss=None)

    metadata = mcp_auth.OAuthClientMetadata(redirect_uris=["http://127.0.0.1/callback"], client_name="a client")
    return mcp.OAuthClientProvider(RESOURCE, metadata, storage, redirect, callback)


async def test_the_whole_flow_of_mcp_through_a_tunnel(internet: Internet, environ: pytest.MonkeyPatch) -> None:
    publish_authorization(internet)
    storage = Memory()
    async with internet.proxy() as proxy:
        behind(environ, proxy, internet)
        async with mcp_client.create_mcp_http_client(auth=provider(storage)) as client:
            await client.post(RESOURCE, json={})
    assert storage.tokens.access_token == "granted"
    assert internet.exchanges[-1].fields.get("authorization") == "Bearer granted"
    assert [(one.method, one.path) for one in internet.exchanges] == [
        ("POST", "/mcp"),
        ("GET", "/.well-known/oauth-protected-resource/mcp"),
        ("GET", "/.well-known/oauth-authorization-server"),
        ("POST", "/register"),
        ("POST", "/token"),
        ("POST", "/mcp"),
    ]


async def test_mcp_metadata_in_gateway_form(internet: Internet, environ: pytest.MonkeyPatch) -> None:
    """Every URL that the SDK derives, asked through the gateway, and judged by the SDK; discovery agrees."""
    publish_authorization(internet)
    async with internet.proxy() as proxy, httpx2.AsyncClient() as client:

        async def asked(urls: list[str], judge: Any) -> tuple[str, Any]:
            for url in urls:
                request = mcp_utils.create_oauth_metadata_request(through(proxy, url))
                found = await judge(await client.send(request))
                found = found[1] if isinstance(found, tuple) else found
                if found is not None:
                    return url, found
            raise AssertionError("no metadata")

        urls = mcp_utils.build_protected_resource_metadata_discovery_urls(None, RESOURCE)
        url, resource = await asked(urls, mcp_utils.handle_protected_resource_response)
        assert (url, str(resource.resource)) == (METADATA, RESOURCE)
        [issuer] = [str(one) for one in resource.authorization_servers]
        urls = mcp_utils.build_oauth_authorization_server_metadata_discovery_urls(issuer, RESOURCE)
        url, server = await asked(urls, mcp_utils.handle_auth_metadata_response)
        assert url == SERVER_METADATA
        count = len(internet.exchanges)
        await asked(urls, mcp_utils.handle_auth_metadata_response)
        assert len(internet.exchanges) == count
        told = (await described(proxy, HOST))["authorization"]
    assert told["metadata_url"] == url
    assert told["issuer"] == str(server.issuer).rstrip("/")
    assert told["token_endpoint"] == str(server.token_endpoint)


async def test_a_challenge_in_gateway_form(internet: Internet, environ: pytest.MonkeyPatch) -> None:
    publish_authorization(internet)
    # The host publishes a manifest without a record of this route, which would hold the POST back.
    async with internet.proxy(boundary__mode="off") as proxy, httpx2.AsyncClient() as client:
        response = await client.post(through(proxy, RESOURCE), json={})
    assert response.status_code == 401
    assert mcp_utils.extract_resource_metadata_from_www_auth(response) == METADATA
