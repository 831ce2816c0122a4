"""The admin port: every route, every refusal, who may enter; against a control that only notes its orders."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
import yaml
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from proxy.admin import AdminState, build_admin
from proxy.admin.page import _OUTCOMES
from proxy.config import load
from proxy.engine.boundary.control import BoundaryControl
from proxy.engine.control import ByHost, ByTag, ByUri, Control, Scope, scope_name
from proxy.engine.outcome import Outcome, Served
from proxy.engine.relocation.control import RelocationControl
from proxy.engine.trust.control import TrustControl
from proxy.http.targets import parse_target
from proxy.metrics import Metrics
from proxy.trustrecords import TrustRecordsUnavailable

URL = "https://example.com/x?a=1&b=2"
TOKEN = "correct-horse"


@dataclass
class Noting:
    """Stands in for the control: notes each order and answers what it was told to."""

    orders: list[object] = field(default_factory=list)
    fault: Exception | None = None

    async def purge(self, scope: Scope, *, soft: bool) -> int:
        self._note(("purge", scope_name(scope), soft))
        return 0 if scope == ByTag("absent") else 2

    async def refresh_uri(self, uri: str) -> bool:
        self._note(("refresh", scope_name(ByUri(uri))))
        return True

    async def refresh_host(self, authority: str) -> int:
        self._note(("refresh", scope_name(ByHost(authority))))
        return 4

    async def explain(self, uri: str) -> dict[str, object]:
        self._note(("explain", scope_name(ByUri(uri))))
        return {"url": uri, "variants": []}

    async def entries(self, host: str | None, limit: int) -> list[dict[str, object]]:
        self._note(("entries", host and scope_name(ByHost(host)), limit))
        return [{"url": "https://example.com/x"}]

    def _note(self, order: object) -> None:
        if self.fault is not None:
            raise self.fault
        self.orders.append(order)


@dataclass
class Port:
    """A served admin port, and what stands behind it."""

    client: TestClient[web.Request, web.Application]
    control: Noting
    metrics: Metrics
    ready: tuple[str, ...] | None = ()

    async def ask(self, method: str, path: str, **options: Any) -> Answer:
        async with self.client.request(method, path, allow_redirects=False, **options) as response:
            return Answer(response.status, response.headers, await response.read())

    async def send(self, head: str) -> Answer:
        """A request as it is written, where a client library would change it."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.client.port)
        writer.write(f"{head}\r\nConnection: close\r\n\r\n".encode())
        answered = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
        await writer.wait_closed()
        return Answer(int(answered[0].split()[1]), {}, answered[2])


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class NothingKnown:
    """The trust of a proxy that knows no domain; tests of what is known run a whole engine."""

    async def known(self, did: str | None, limit: int) -> list[dict[str, object]]:
        return []

    async def pin(self, host: str) -> None:
        return None

    async def unpin(self, host: str) -> bool:
        if host == "damaged.example":
            raise TrustRecordsUnavailable("simulated")
        return False


@asynccontextmanager
async def served(**admin: object) -> AsyncIterator[Port]:
    settings = load(None, {}, {f"admin.{name}": value for name, value in admin.items()})
    control, metrics = Noting(), Metrics()
    port: Port
    state = AdminState(lambda: port.ready, "1.2.3")
    trust = cast(TrustControl, NothingKnown())
    relocations = cast(RelocationControl, None)
    boundary = cast(BoundaryControl, None)
    application = build_admin(
        lambda: cast(Control, control),
        lambda: trust,
        lambda: relocations,
        lambda: boundary,
        metrics,
        lambda: settings,
        state,
    )
    async with TestClient(TestServer(application)) as client:
        port = Port(client, control, metrics)
        yield port


def slug(answer: Answer) -> str:
    assert answer.headers["Content-Type"] == "application/problem+json", answer
    problem = answer.json
    assert problem["status"] == answer.status and len(problem["instance"]) == 32 and problem["detail"], problem
    return str(problem["type"]).removeprefix("urn:discovery-proxy:problem:")


READINESS = {
    "ready": ((), 200, {"status": "ready", "reasons": []}),
    "degraded": (("store",), 200, {"status": "degraded", "reasons": ["store"]}),
    "starting or draining": (None, 503, None),
}


@pytest.mark.parametrize(("reasons", "status", "body"), READINESS.values(), ids=READINESS)
async def test_readiness(reasons: tuple[str, ...] | None, status: int, body: object) -> None:
    async with served() as port:
        port.ready = reasons
        for path in ("/readyz", "/ready"):
            answer = await port.ask("GET", path)
            assert answer.status == status
            assert answer.json == body if body else slug(answer) == "draining"
        assert (await port.ask("GET", "/healthz")).status == 200, "liveness asks for nothing else"


async def test_version_and_metrics() -> None:
    async with served() as port:
        assert (await port.ask("GET", "/version")).json["version"] == "1.2.3"
        text = await port.ask("GET", "/metrics")
        assert text.headers["Content-Type"].startswith("text/plain; version=") and b"build_info" in text.body
        accept = {"Accept": "application/openmetrics-text; version=1.0.0"}
        openmetrics = await port.ask("GET", "/metrics", headers=accept)
        assert openmetrics.headers["Content-Type"].startswith("application/openmetrics-text")


async def test_the_start_page() -> None:
    async with served() as port:
        port.metrics.served(Outcome(Served.FRESH, 200, parse_target("https://example.com/")), 0.001, 12_345)
        port.ready = ("store <slow>",)
        answer = await port.ask("GET", "/")
        page = answer.body.decode()
        assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert "Degraded: store &lt;slow&gt;." in page and "12,345" in page and "100.0%" in page
        assert "fresh: from the store" in page and "Also /health." in page and "Also /ready." in page
        assert "<script" not in page and page.startswith("<!DOCTYPE html>") and page.endswith("</html>\n")
        for path in ("/healthz", "/readyz", "/metrics", "/version", "/admin/config"):
            assert f'href="{path}"' in page
            assert (await port.ask("GET", path)).status == 200
        port.ready = None
        assert "Starting or shutting down." in (await port.ask("GET", "/")).body.decode()


async def test_the_start_page_before_the_first_request() -> None:
    async with served() as port:
        page = (await port.ask("GET", "/")).body.decode()
        assert "Ready." in page and "None yet." in page and "not yet" in page


def test_the_start_page_has_words_for_every_outcome() -> None:
    assert set(_OUTCOMES) == set(Served)


PURGES = {
    "url": ({"url": URL}, "uri:https://example.com/x?a=1&b=2", False),
    "url, canonical": ({"url": "HTTPS://EXAMPLE.com:443/x"}, "uri:https://example.com/x", False),
    "host": ({"host": "Example.COM"}, "host:example.com", False),
    "host and port": ({"host": "example.com:443"}, "host:example.com:443", False),
    "tag": ({"tag": "blue"}, "tag:blue", False),
    "all": ({"all": True}, "all", False),
    "soft": ({"url": "https://example.com/", "soft": True}, "uri:https://example.com/", True),
    "others null": ({"url": None, "host": "example.com", "all": False}, "host:example.com", False),
}


@pytest.mark.parametrize(("body", "scope", "soft"), PURGES.values(), ids=PURGES)
async def test_purge(body: dict[str, object], scope: str, soft: bool) -> None:
    async with served() as port:
        answer = await port.ask("POST", "/admin/purge", json=body)
        assert (answer.status, answer.json) == (200, {"purged": 2})
        assert port.control.orders == [("purge", scope, soft)]


async def test_purging_nothing_is_fine() -> None:
    async with served() as port:
        answer = await port.ask("POST", "/admin/purge", json={"tag": "absent"})
        assert (answer.status, answer.json) == (200, {"purged": 0})


BAD_BODIES = {
    "nothing": ("purge", b"", "bad-request"),
    "no JSON": ("purge", b"{", "bad-request"),
    "no UTF-8": ("purge", b'{"tag": "\xff"}', "bad-request"),
    "list": ("purge", b"[]", "bad-request"),
    "deep": ("purge", b"[" * 60_000, "bad-request"),
    "empty": ("purge", b"{}", "bad-request"),
    "only false": ("purge", b'{"all": false}', "bad-request"),
    "two": ("purge", b'{"tag": "a", "all": true}', "bad-request"),
    "unknown": ("purge", b'{"tag": "a", "sofd": true}', "bad-request"),
    "wrong type": ("purge", b'{"tag": 1}', "bad-request"),
    "text for truth": ("purge", b'{"tag": "a", "soft": "true"}', "bad-request"),
    "empty tag": ("purge", b'{"tag": ""}', "bad-request"),
    "two tags": ("purge", b'{"tag": "a b"}', "bad-request"),
    "no URL": ("purge", b'{"url": "/x"}', "bad-target"),
    "userinfo": ("purge", b'{"url": "https://u:p@example.com/"}', "bad-target"),
    "no host": ("purge", b'{"host": "*.example.com"}', "bad-target"),
    "refresh of a tag": ("refresh", b'{"tag": "a"}', "bad-request"),
    "refresh of two": ("refresh", b'{"url": "https://a.example/", "host": "b.example"}', "bad-request"),
    "refresh of nothing": ("refresh", b"{}", "bad-request"),
}


@pytest.mark.parametrize(("order", "body", "problem"), BAD_BODIES.values(), ids=BAD_BODIES)
async def test_a_body_that_is_not_exactly_one_order(order: str, body: bytes, problem: str) -> None:
    async with served() as port:
        answer = await port.ask("POST", f"/admin/{order}", data=body)
        assert (answer.status, slug(answer)) == (400, problem)
        assert port.control.orders == []
        if problem == "bad-request" and b"tag" not in body:
            assert '"url"' in answer.json["detail"], "it says what is allowed"


async def test_a_body_that_is_too_large() -> None:
    async with served() as port:
        answer = await port.ask("POST", "/admin/purge", data=b'{"tag": "' + b"a" * 2**16 + b'"}')
        assert (answer.status, slug(answer), answer.json["limit"]) == (413, "too-large", 65536)


PURGE_REQUESTS = {
    "gateway form": ("/https/example.com/x?a=1", {}, [("uri:https://example.com/x?a=1", False)]),
    "absolute form": ("http://example.com/x?a=1", {}, [("uri:http://example.com/x?a=1", False)]),
    "soft": (
        "/https/example.com/x",
        {"Fastly-Soft-Purge": "1"},
        [("uri:https://example.com/x", True)],
    ),
    "not soft": (
        "/https/example.com/x",
        {"Fastly-Soft-Purge": "0"},
        [("uri:https://example.com/x", False)],
    ),
    "tags": ("/", {"Surrogate-Key": "a b  a"}, [("tag:a", False), ("tag:b", False)]),
    "tags, soft": ("/", {"surrogate-key": "a", "fastly-soft-purge": "1"}, [("tag:a", True)]),
    "tags of any URL": ("/https/example.com/x", {"Surrogate-Key": "a"}, [("tag:a", False)]),
}


@pytest.mark.parametrize(("target", "fields", "purged"), PURGE_REQUESTS.values(), ids=PURGE_REQUESTS)
async def test_the_purge_method(target: str, fields: dict[str, str], purged: list[tuple[str, bool]]) -> None:
    async with served() as port:
        host = "example.com" if target.startswith("http:") else "localhost:9090"
        lines = [f"PURGE {target} HTTP/1.1", f"Host: {host}", *(f"{n}: {v}" for n, v in fields.items())]
        answer = await port.send("\r\n".join(lines))
        assert (answer.status, answer.json) == (200, {"purged": 2 * len(purged)})
        assert port.control.orders == [("purge", *each) for each in purged]


BAD_PURGE_REQUESTS = {
    "no URL": ("/x", "", 400, "bad-request"),
    "a page": ("/healthz", "", 400, "bad-request"),
    "no tag": ("/", "Surrogate-Key:  \r\n", 400, "bad-request"),
    "dot segment": ("/https/example.com/a/../b", "", 400, "bad-target"),
    "userinfo": ("/https/u:p@example.com/", "", 400, "bad-target"),
    "foreign name": ("/https/example.com/", "Host: evil.example\r\n", 403, "bad-request"),
}


@pytest.mark.parametrize(
    ("target", "fields", "status", "problem"), BAD_PURGE_REQUESTS.values(), ids=BAD_PURGE_REQUESTS
)
async def test_a_purge_method_refused(target: str, fields: str, status: int, problem: str) -> None:
    async with served() as port:
        fields = fields if "Host" in fields else f"Host: 127.0.0.1\r\n{fields}"
        answer = await port.send(f"PURGE {target} HTTP/1.1\r\n{fields}".removesuffix("\r\n"))
        assert (answer.status, answer.json["type"].rpartition(":")[2]) == (status, problem)
        assert port.control.orders == []


async def test_refresh() -> None:
    async with served() as port:
        by_url = await port.ask("POST", "/admin/refresh", json={"url": URL})
        by_host = await port.ask("POST", "/admin/refresh", json={"host": "example.com"})
        assert (by_url.json, by_host.json) == ({"refreshing": 1}, {"refreshing": 4})
        assert port.control.orders == [("refresh", f"uri:{URL}"), ("refresh", "host:example.com")]


ENTRIES = {
    "all": ({}, (None, 100)),
    "host": ({"host": "example.com"}, ("host:example.com", 100)),
    "limit": ({"limit": "7"}, (None, 7)),
}


@pytest.mark.parametrize(("query", "order"), ENTRIES.values(), ids=ENTRIES)
async def test_entries(query: dict[str, str], order: tuple[object, ...]) -> None:
    async with served() as port:
        answer = await port.ask("GET", "/admin/entries", params=query)
        assert answer.json == {"entries": [{"url": "https://example.com/x"}]}
        assert port.control.orders == [("entries", *order)]


async def test_explain() -> None:
    async with served() as port:
        answer = await port.ask("GET", "/admin/explain", params={"url": URL})
        assert answer.json == {"url": URL, "variants": []}
        assert port.control.orders == [("explain", f"uri:{URL}")]


BAD_QUERIES = {
    "no URL": ("/admin/explain", "bad-request"),
    "URL not encoded": (f"/admin/explain?url={URL}", "bad-request"),
    "two URLs": ("/admin/explain?url=https://a.example/&url=https://b.example/", "bad-request"),
    "no target": ("/admin/explain?url=ftp://example.com/", "bad-target"),
    "limit 0": ("/admin/entries?limit=0", "bad-request"),
    "limit no number": ("/admin/entries?limit=-1", "bad-request"),
    "limit too high": ("/admin/entries?limit=10001", "bad-request"),
    "limit very high": ("/admin/entries?limit=" + "9" * 5000, "bad-request"),
    "no host": ("/admin/entries?host=a/b", "bad-target"),
    "misspelt": ("/admin/entries?hots=example.com", "bad-request"),
}


@pytest.mark.parametrize(("path", "problem"), BAD_QUERIES.values(), ids=BAD_QUERIES)
async def test_a_query_refused(path: str, problem: str) -> None:
    async with served() as port:
        answer = await port.ask("GET", path)
        assert (answer.status, slug(answer)) == (400, problem)


async def test_the_configuration_is_told_masked() -> None:
    async with served(token=TOKEN) as port:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        as_json = await port.ask("GET", "/admin/config", headers=headers)
        as_yaml = await port.ask("GET", "/admin/config", headers=headers | {"Accept": "application/yaml"})
        assert as_yaml.headers["Content-Type"] == "application/yaml; charset=utf-8"
        assert as_json.json == yaml.safe_load(as_yaml.body)
        assert as_json.json["admin"] == {"host": "127.0.0.1", "port": 9090, "token": "********"}
        assert TOKEN.encode() not in as_json.body + as_yaml.body


async def test_the_log_level_changes() -> None:
    own, root = logging.getLogger("proxy"), logging.getLogger()
    before = own.level, root.level
    try:
        async with served() as port:
            answer = await port.ask("PUT", "/admin/log-level", json={"level": "debug"})
            assert (answer.status, answer.json) == (200, {"level": "debug"})
            assert own.level == logging.DEBUG
            refused = await port.ask("PUT", "/admin/log-level", json={"level": "loud"})
            assert (refused.status, slug(refused)) == (400, "bad-request")
            assert "warning" in refused.json["detail"] and own.level == logging.DEBUG
    finally:
        own.setLevel(before[0])
        root.setLevel(before[1])


ROUTING = {
    "unknown": ("GET", "/nowhere", 404, "not-found", None),
    "wrong method": ("GET", "/admin/purge", 405, "bad-request", "POST"),
    "preflight": ("OPTIONS", "/admin/purge", 405, "bad-request", "POST"),
    "unused method": ("DELETE", "/healthz", 405, "bad-request", "GET,HEAD"),
}


@pytest.mark.parametrize(("method", "path", "status", "problem", "allow"), ROUTING.values(), ids=ROUTING)
async def test_the_routers_refusals(method: str, path: str, status: int, problem: str, allow: str | None) -> None:
    async with served() as port:
        answer = await port.ask(method, path)
        assert (answer.status, slug(answer), answer.headers.get("Allow")) == (status, problem, allow)
        assert "Access-Control-Allow-Origin" not in answer.headers


async def test_other_errors_of_the_framework_are_problems_too() -> None:
    async with served() as port:
        port.control.fault = web.HTTPUnsupportedMediaType()
        answer = await port.ask("GET", "/admin/entries")
        assert (answer.status, slug(answer)) == (415, "bad-request")


async def test_a_fault_is_a_problem_without_its_text(caplog: pytest.LogCaptureFixture) -> None:
    async with served() as port:
        port.control.fault = RuntimeError("the secret reason")
        with caplog.at_level(logging.ERROR, "proxy.admin"):
            answer = await port.ask("GET", "/admin/entries")
        assert (answer.status, slug(answer)) == (500, "internal")
        assert b"secret" not in answer.body and b"RuntimeError" not in answer.body
        assert [record.request_id for record in caplog.records] == [answer.json["instance"]]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/"), ("GET", "/healthz"), ("HEAD", "/metrics"), ("GET", "/nowhere"), ("POST", "/admin/purge")],
)
async def test_no_answer_may_be_stored_or_sniffed(method: str, path: str) -> None:
    async with served() as port:
        headers = (await port.ask(method, path)).headers
        assert (headers["Cache-Control"], headers["X-Content-Type-Options"]) == ("no-store", "nosniff")
        assert headers["Server"] == "discovery-proxy"


GUARDED = [
    ("GET", "/healthz", False),
    ("GET", "/health", False),
    ("GET", "/readyz", False),
    ("GET", "/ready", False),
    ("GET", "/", True),
    ("GET", "/metrics", True),
    ("GET", "/version", True),
    ("GET", "/nowhere", True),
    ("GET", "/admin/entries", True),
    ("GET", "/admin/config", True),
    ("POST", "/admin/purge", True),
    ("PUT", "/admin/log-level", True),
    ("PURGE", "/https/example.com/", True),
    ("PURGE", "/healthz", True),
]


@pytest.mark.parametrize(("method", "path", "guarded"), GUARDED)
async def test_what_the_token_guards(method: str, path: str, guarded: bool) -> None:
    async with served(token=TOKEN) as port:
        answer = await port.ask(method, path)
        assert (answer.status == 401) is guarded
        if guarded:
            assert slug(answer) == "unauthorized"
            assert answer.headers["WWW-Authenticate"].startswith("Bearer realm=")
        assert port.control.orders == []


CREDENTIALS = {
    "right": (f"Bearer {TOKEN}", 200),
    "scheme in lower case": (f"bearer {TOKEN}", 200),
    "wrong": ("Bearer wrong-horse", 401),
    "longer": (f"Bearer {TOKEN}x", 401),
    "empty": ("Bearer ", 401),
    "other scheme": (f"Basic {TOKEN}", 401),
    "no scheme": (TOKEN, 401),
    "not ASCII": ("Bearer \u00e9", 401),
}


@pytest.mark.parametrize(("field_value", "status"), CREDENTIALS.values(), ids=CREDENTIALS)
async def test_the_token(field_value: str, status: int) -> None:
    async with served(token=TOKEN) as port:
        answer = await port.ask("GET", "/version", headers={"Authorization": field_value})
        assert answer.status == status


# Where it listens, Host as it arrives: may it enter?
NAMES = {
    "address": ("127.0.0.1", "127.0.0.1:9090", True),
    "other address": ("127.0.0.1", "192.0.2.1", True),
    "IPv6": ("127.0.0.1", "[::1]:9090", True),
    "localhost": ("127.0.0.1", "LocalHost:9090", True),
    "localhost, bound so": ("localhost", "localhost", True),
    "rebound name": ("127.0.0.1", "evil.example:9090", False),
    "rebound name, IPv6": ("::1", "evil.example", False),
    "name under localhost": ("127.0.0.1", "localhost.evil.example", False),
    "malformed": ("127.0.0.1", "a b", False),
    "none": ("127.0.0.1", None, True),
    "not on loopback": ("0.0.0.0", "proxy.internal:9090", True),
}


@pytest.mark.parametrize(("bound", "name", "enters"), NAMES.values(), ids=NAMES)
async def test_a_name_that_was_made_to_point_here(bound: str, name: str | None, enters: bool) -> None:
    async with served(host=bound, token=TOKEN) as port:
        host = "" if name is None else f"\r\nHost: {name}"
        answer = await port.send(f"GET /version HTTP/1.0{host}\r\nAuthorization: Bearer {TOKEN}")
        assert answer.status == (200 if enters else 403), answer
        assert (await port.send(f"GET /healthz HTTP/1.0{host}")).status == 200, "probes come under any name"


# Method, fields that a browser adds: may it enter? The port is filled in.
ORIGINS = {
    "a shell": ("POST", {}, True),
    "our own page": ("POST", {"Origin": "http://127.0.0.1:{}", "Sec-Fetch-Site": "same-origin"}, True),
    "the address bar": ("POST", {"Sec-Fetch-Site": "none"}, True),
    "another site": ("POST", {"Sec-Fetch-Site": "cross-site"}, False),
    "another port": ("POST", {"Sec-Fetch-Site": "same-site"}, False),
    "another origin": ("POST", {"Origin": "http://evil.example"}, False),
    "another scheme": ("POST", {"Origin": "https://127.0.0.1:{}"}, False),
    "an opaque origin": ("POST", {"Origin": "null"}, False),
    "a form of another site": ("PUT", {"Origin": "http://evil.example", "Content-Type": "text/plain"}, False),
    "the method PURGE": ("PURGE", {"Origin": "http://evil.example"}, False),
    "a link": ("GET", {"Sec-Fetch-Site": "cross-site"}, True),
}


@pytest.mark.parametrize(("method", "fields", "enters"), ORIGINS.values(), ids=ORIGINS)
async def test_pages_of_another_origin(method: str, fields: dict[str, str], enters: bool) -> None:
    async with served() as port:
        headers = {name: text.format(port.client.port) for name, text in fields.items()}
        answer = await port.ask(method, "/admin/entries", headers=headers)
        assert (answer.status != 403) is enters
        if not enters:
            assert slug(answer) == "bad-request" and port.control.orders == []


TRUST_ORDERS: dict[str, tuple[str, str, int, str]] = {
    "not JSON": ("/admin/trust/pin", "host", 400, "bad-request"),
    "without host": ("/admin/trust/pin", "{}", 400, "bad-request"),
    "another member": ("/admin/trust/unpin", '{"host": "a.example", "did": "x"}', 400, "bad-request"),
    "no document": ("/admin/trust/pin", '{"host": "a.example"}', 404, "not-found"),
    "records that cannot be used": ("/admin/trust/unpin", '{"host": "damaged.example"}', 503, "overloaded"),
}


@pytest.mark.parametrize(("path", "body", "status", "problem"), TRUST_ORDERS.values(), ids=TRUST_ORDERS)
async def test_orders_on_trust_that_cannot_be_carried_out(path: str, body: str, status: int, problem: str) -> None:
    async with served() as port:
        answer = await port.ask("POST", path, data=body)
        assert (answer.status, slug(answer)) == (status, problem)


async def test_trust_of_a_proxy_that_knows_nothing() -> None:
    async with served() as port:
        assert (await port.ask("GET", "/admin/trust")).json == {"domains": []}
        assert (await port.ask("POST", "/admin/trust/unpin", data='{"host": "a.example"}')).json == {
            "removed": False
        }
        assert slug(await port.ask("GET", "/admin/trust?host=a.example")) == "bad-request"
