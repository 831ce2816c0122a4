"""The forms in which a request reaches the proxy, and what passes unchanged, through a whole proxy over sockets."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.request import HTTPSHandler, ProxyHandler, build_opener

import pytest
import trustme
from aiohttp import ClientSession, ClientTimeout, WSMsgType, web

from proxy.engine.gateway import Gateway
from tests.end_to_end.running import PATIENCE, Reply, Running, Wire, request, running
from tests.simulators.wire import Authority, Ending, ScriptedOrigin
from tests.simulators.wire import Reply as Scripted

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nCache-Control: no-store\r\n\r\nhi"
FORMS = ("gateway", "forward", "site")


def target(form: str, origin: ScriptedOrigin, path: str) -> str:
    """The request target that names `path` at the origin."""
    authority = f"127.0.0.1:{origin.port}"
    return {"gateway": f"/http/{authority}{path}", "forward": f"http://{authority}{path}", "site": path}[form]


@asynccontextmanager
async def proxied(form: str, *script: Sequence[Scripted]) -> AsyncIterator[tuple[Running, ScriptedOrigin]]:
    """A proxy and an origin, which is a site's where the form needs one."""
    async with ScriptedOrigin(*script) as origin:
        sites = [{"hosts": ["proxy"], "origin": f"http://127.0.0.1:{origin.port}"}] if form == "site" else []
        async with running(sites=sites) as proxy:
            yield proxy, origin


def sent_lines(received: bytes) -> dict[str, str]:
    """The fields of a request as an origin received it, names in lower case."""
    lines = received.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")[1:]
    return {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}


PATHS = (
    "/",
    "/?",
    "/a?b",
    "/a%2Fb/%7e%7E/;c=d,e(f)'g*h!i$j&k@l:m",
    "//a///b/",
    "/a/...",
    "/a?q=%20+&&x=%C3%A9?/../&https://b.example/",
    "/%25%32%65",
)


@pytest.mark.parametrize("form", FORMS)
async def test_path_and_query_pass_octet_for_octet(form: str) -> None:
    async with proxied(form, [OK] * len(PATHS)) as (proxy, origin), Wire.open(proxy.port) as wire:
        for path in PATHS:
            assert (await wire.ask(request("GET", target(form, origin, path)))).status == 200
        assert [received.split(b" ")[1].decode() for received in origin.requests] == list(PATHS)


# Field, as the origin sends it, and as a client of the gateway gets it ("{o}" is the origin's authority).
REFERENCES = {
    "Location, absolute": ("Location", "https://b.example/x?y#z", "/https/b.example/x?y#z"),
    "Location with port": ("Location", "http://b.example:8080/x", "/http/b.example:8080/x"),
    "Location, own origin": ("Location", "http://{o}/x", "/http/{o}/x"),
    "Location, path": ("Location", "/x", "/http/{o}/x"),
    "Location, relative": ("Location", "../x", "/http/{o}/x"),
    "Location, without scheme": ("Location", "//b.example/x", "/http/b.example/x"),
    "Location, other scheme": ("Location", "mailto:a@b.example", "mailto:a@b.example"),
    "Location, unusable": ("Location", "https://127.1/x", "https://127.1/x"),
    "Content-Location": ("Content-Location", "/x.en", "/http/{o}/x.en"),
    "Link": ("Link", '<https://b.example/x>; rel="next"', '</https/b.example/x>; rel="next"'),
    "Link, several": (
        "Link",
        '<https://b.example/a,b>; rel="a", </c>; title="x, <y>"; rel=c',
        '</https/b.example/a,b>; rel="a", </http/{o}/c>; title="x, <y>"; rel=c',
    ),
    "Link, other scheme": ("Link", "<urn:x:y>; rel=type", "<urn:x:y>; rel=type"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("name", "value", "rewritten"), REFERENCES.values(), ids=REFERENCES.keys())
async def test_references_are_rewritten_in_gateway_form_alone(
    form: str, name: str, value: str, rewritten: str
) -> None:
    body = b'{"next": "https://b.example/x"}'
    async with ScriptedOrigin([lambda _: reply]) as origin:
        authority = f"127.0.0.1:{origin.port}"
        value, rewritten = value.replace("{o}", authority), rewritten.replace("{o}", authority)
        reply = (
            f"HTTP/1.1 201 Created\r\n{name}: {value}\r\nCache-Control: no-store\r\nContent-Length: {len(body)}"
            "\r\n\r\n"
        ).encode() + body
        async with running(sites=[{"hosts": ["site"], "origin": f"http://{authority}"}]) as proxy:
            host = "Host: site" if form == "site" else "Host: proxy"
            answer = await proxy.get(target(form, origin, "/d/p"), host)
    canonical = f'<http://{authority}/d/p>; rel="canonical"'
    lines = answer.get_all(name)
    if form == "gateway":
        assert lines == [rewritten, canonical] if name == "Link" else lines == [rewritten]
        assert answer.get_all("link")[-1] == canonical
    else:
        assert lines == [value]
        assert canonical not in answer.get_all("link")
    assert answer.body == body


_DROPPED = (
    "Connection: keep-alive, X-Named, TE",
    "X-Named: 1",
    "Keep-Alive: timeout=5",
    "TE: trailers",
    "Trailer: X-T",
    "Proxy-Authorization: Basic x",
    "Proxy-Connection: keep-alive",
    "Upgrade: h2c",
    "X-Forwarded-For: 1.2.3.4",
    "X-Forwarded-Host: evil.example",
    "X-Forwarded-Proto: https",
    "X-Forwarded-Anything: 1",
    "Forwarded: for=1.2.3.4",
    "X-Host: evil.example",
    "X-Original-URL: /evil",
    "X-Rewrite-URL: /evil",
)
_KEPT = ["Accept: a/b;q=0.5", "X-Kept: a\xe9b", "Cookie: c=d", "User-Agent: e"]


@pytest.mark.parametrize("form", FORMS)
async def test_request_fields_of_the_hop_and_unkeyed_ones_stay_behind(form: str) -> None:
    async with proxied(form, [OK]) as (proxy, origin):
        await proxy.get(target(form, origin, "/"), *_DROPPED, *_KEPT)
        fields = sent_lines(origin.requests[0])
    assert fields["host"] == f"127.0.0.1:{origin.port}"
    assert fields["via"] == "1.1 discovery-proxy"
    assert [f"{name}: {fields[name.lower()]}" for name in ("Accept", "X-Kept", "Cookie", "User-Agent")] == _KEPT
    own = {"host", "via", "surrogate-capability"} if form == "site" else {"host", "via"}
    assert fields.keys() == own | {"accept", "x-kept", "cookie", "user-agent"}


_OF_THE_HOP = (
    "HTTP/1.1 200 Fine\r\nConnection: X-Named, close\r\nX-Named: 1\r\nKeep-Alive: timeout=5\r\nTrailer: X-T\r\n"
    "Proxy-Authenticate: x\r\nX-Kept: a\xe9b\r\nCache-Control: STORING\r\nVia: 1.0 inner\r\n"
    "Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX-T: 1\r\n\r\n"
)


@pytest.mark.parametrize("storing", ["no-store", "max-age=60"])
@pytest.mark.parametrize("form", FORMS)
async def test_response_fields_of_the_hop_stay_behind(form: str, storing: str) -> None:
    reply = _OF_THE_HOP.replace("STORING", storing).encode("latin-1")
    async with proxied(form, [reply]) as (proxy, origin):
        answers = [await proxy.get(target(form, origin, "/"))]
        if storing != "no-store":
            answers.append(await proxy.get(target(form, origin, "/")))
            assert origin.connections == 1
    for answer in answers:
        assert (answer.status, answer.body, answer.get("x-kept")) == (200, b"hi", "a\xe9b")
        assert answer.get("via") == "1.0 inner, 1.1 discovery-proxy"
        for name in ("connection", "x-named", "keep-alive", "proxy-authenticate", "trailer", "x-t"):
            assert answer.get(name) is None


FRAMINGS = {
    "HEAD": ("HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", 200, "5"),
    "HEAD without length": ("HEAD", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 200, None),
    "204": ("GET", b"HTTP/1.1 204 No Content\r\n\r\n", 204, None),
    "304": ("GET", b'HTTP/1.1 200 OK\r\nETag: "a"\r\nContent-Length: 2\r\n\r\nhi', 304, None),
    "empty body": ("GET", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, "0"),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("method", "reply", "status", "length"), FRAMINGS.values(), ids=FRAMINGS.keys())
async def test_response_without_body_leaves_the_connection_usable(
    form: str, method: str, reply: bytes, status: int, length: str | None
) -> None:
    condition = ('If-None-Match: "a"',) if status == 304 else ()
    async with proxied(form, [reply], [OK]) as (proxy, origin), Wire.open(proxy.port) as wire:
        answer = await wire.ask(request(method, target(form, origin, "/"), *condition), method)
        assert (answer.status, answer.body, answer.get("content-length")) == (status, b"", length)
        assert answer.get("transfer-encoding") is None
        assert (await wire.ask(request("GET", target(form, origin, "/next")))).status == 200


@pytest.mark.parametrize("form", FORMS)
async def test_interim_response_passes_as_the_form_has_it(form: str) -> None:
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\nConnection: X\r\nX: 1\r\n\r\n"
    async with proxied(form, [(hints, OK)]) as (proxy, origin), Wire.open(proxy.port) as wire:
        await wire.send(request("GET", target(form, origin, "/")))
        head = await wire.head()
        expected = f"/http/127.0.0.1:{origin.port}/style.css" if form == "gateway" else "/style.css"
        assert (head.status, head.get_all("link")[0]) == (103, f"<{expected}>; rel=preload")
        assert head.get("connection") is None and head.get("x") is None
        assert (await wire.reply()).status == 200


async def test_http_1_0_client_keeps_its_connection() -> None:
    async with proxied("gateway", [OK, OK]) as (proxy, origin), Wire.open(proxy.port) as wire:
        for _ in range(2):
            await wire.send(
                f"GET {target('gateway', origin, '/')} HTTP/1.0\r\nConnection: keep-alive\r\n\r\n".encode()
            )
            answer = await wire.reply()
            assert (answer.status, answer.body, answer.get("connection")) == (200, b"hi", "keep-alive")


async def test_connection_ends_when_the_client_says_so() -> None:
    async with proxied("gateway", [OK]) as (proxy, origin), Wire.open(proxy.port) as wire:
        answer = await wire.ask(request("GET", target("gateway", origin, "/"), "Connection: close"))
        assert answer.get("connection") == "close"
        assert await wire.rest() == b""


async def test_site_is_found_by_host_and_everything_else_is_not_the_sites() -> None:
    async with ScriptedOrigin([OK] * 9) as origin:
        site = {"hosts": ["site.example", "other.site.example"], "origin": f"http://127.0.0.1:{origin.port}"}
        async with running(sites=[site]) as proxy:
            for host, path, expected in (
                ("site.example", "/a", 200),
                ("SITE.example:8080", "/https/b.example/c", 200),
                ("other.site.example.", "/", 200),
                ("other.example", "/a", 404),
            ):
                assert (await proxy.get(path, f"Host: {host}")).status == expected, host
            assert (await proxy.get("http://site.example/abs", "Host: ignored.example")).status == 200
            absolute = f"http://127.0.0.1:{origin.port}/fwd"
            assert (await proxy.get(absolute, "Host: site.example")).status == 200
        assert [received.split(b" ")[1] for received in origin.requests] == [
            b"/a",
            b"/https/b.example/c",
            b"/",
            b"/abs",
            b"/fwd",
        ]


@pytest.mark.parametrize("form", FORMS)
async def test_events_arrive_one_by_one(form: str) -> None:
    gates = [asyncio.Event() for _ in range(3)]
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n\r\n"
    parts = [part for n, gate in enumerate(gates) for part in (gate, b"data: %d\n\n" % n)]
    async with proxied(form, [(head, *parts)]) as (proxy, origin), Wire.open(proxy.port) as wire:
        await wire.send(request("GET", target(form, origin, "/events")))
        answer = await wire.head()
        assert answer.get("content-type") == "text/event-stream"
        for n, gate in enumerate(gates):
            gate.set()
            async with asyncio.timeout(PATIENCE):
                size = int(await wire.reader.readuntil(b"\r\n"), 16)
                assert await wire.reader.readexactly(size + 2) == b"data: %d\n\n\r\n" % n
        assert await wire.reader.readuntil(b"0\r\n\r\n")


async def test_event_stream_outlives_the_time_limit() -> None:
    gate = asyncio.Event()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n\r\n"
    async with (
        ScriptedOrigin([(head, gate, b"data: late\n\n")]) as origin,
        running(upstream__total_timeout=0.1) as proxy,
    ):
        asking = asyncio.get_running_loop().create_task(proxy.get(target("gateway", origin, "/")))
        await asyncio.sleep(0.3)
        gate.set()
        assert (await asking).body == b"data: late\n\n"


async def test_stream_that_the_proxy_ends_does_not_look_whole() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: 1\n\n"
    async with ScriptedOrigin([(head, Ending.STAY)]) as origin:
        async with running(listen__drain_timeout=0.1) as proxy:
            reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
            wire = Wire(reader, writer)
            await wire.send(request("GET", target("gateway", origin, "/")))
            await wire.head()
        answer = await wire.rest()
        writer.close()
    assert answer.startswith(b"9\r\ndata: 1\n\n\r\n")
    assert b"\r\n0\r\n\r\n" not in answer


@asynccontextmanager
async def websocket_origin() -> AsyncIterator[int]:
    """Echoes messages, with a subprotocol."""

    async def echo(incoming: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(protocols=("chat",))
        await socket.prepare(incoming)
        async for message in socket:
            if message.type is WSMsgType.TEXT:
                await socket.send_str(f"{incoming.path_qs} {message.data}")
            elif message.type is WSMsgType.BINARY:
                await socket.send_bytes(message.data)
        return socket

    application = web.Application()
    application.router.add_get("/{tail:.*}", echo)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


@pytest.mark.parametrize("form", ["gateway", "site"])
async def test_websocket_passes_both_ways(form: str) -> None:
    async with (
        websocket_origin() as port,
        running(
            sites=[{"hosts": ["127.0.0.1"], "origin": f"http://127.0.0.1:{port}"}] if form == "site" else []
        ) as proxy,
        ClientSession(timeout=ClientTimeout(PATIENCE)) as session,
    ):
        path = "/chat?a=b" if form == "site" else f"/http/127.0.0.1:{port}/chat?a=b"
        async with session.ws_connect(f"ws://127.0.0.1:{proxy.port}{path}", protocols=("chat",)) as socket:
            assert socket.protocol == "chat"
            for text in ("one", "two"):
                await socket.send_str(text)
                assert await socket.receive_str() == f"/chat?a=b {text}"
            large = bytes(2**20)
            await socket.send_bytes(large)
            assert await socket.receive_bytes() == large
        assert socket.close_code == 1000


async def test_websocket_messages_behind_the_request_are_not_lost() -> None:
    switched = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nearly"
    async with (
        ScriptedOrigin([(switched, Ending.STAY)]) as origin,
        running() as proxy,
        Wire.open(proxy.port) as wire,
    ):
        octets = request("GET", target("gateway", origin, "/"), "Connection: upgrade", "Upgrade: WebSocket")
        await wire.send(octets + b"also early")
        head = await wire.head()
        assert (head.status, head.get("upgrade"), head.get("connection")) == (101, "websocket", "Upgrade")
        async with asyncio.timeout(PATIENCE):
            assert await wire.reader.readexactly(5) == b"early"


def resident_bytes() -> int:
    """What this process holds in memory."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


@pytest.mark.parametrize("framing", ["length", "chunked"])
async def test_large_body_streams_in_bounded_memory(framing: str) -> None:
    piece, pieces = bytes(2**18), 200
    line = f"Content-Length: {len(piece) * pieces}" if framing == "length" else "Transfer-Encoding: chunked"
    head = f"HTTP/1.1 200 OK\r\nCache-Control: max-age=60\r\n{line}\r\n\r\n".encode()
    chunk = piece if framing == "length" else b"%x\r\n%b\r\n" % (len(piece), piece)
    last = b"" if framing == "length" else b"0\r\n\r\n"
    async with (
        ScriptedOrigin([(head, *[chunk] * pieces, last)]) as origin,
        running(cache__max_body="1MiB") as proxy,
        Wire.open(proxy.port) as wire,
    ):
        before = highest = resident_bytes()
        await wire.send(request("GET", target("gateway", origin, "/"), "Connection: close"))
        assert (await wire.head()).status == 200
        received = 0
        async with asyncio.timeout(30):
            while data := await wire.reader.read(2**16):
                received += len(data)
                highest = max(highest, resident_bytes())
        assert received >= len(piece) * pieces
        assert highest - before < 24 * 2**20
        assert (await proxy.admin("/admin/entries"))["entries"] == []


async def test_upload_streams_to_the_origin_while_it_is_sent() -> None:
    piece, pieces = bytes(2**18), 100
    arrived, got = asyncio.Event(), 0

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal got
        await reader.readuntil(b"\r\n\r\n")
        while size := int(await reader.readuntil(b"\r\n"), 16):
            got += len(await reader.readexactly(size + 2)) - 2
            arrived.set()
        writer.write(OK)
        await reader.read()
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with running() as proxy, Wire.open(proxy.port) as wire:
        await wire.send(request("POST", f"/http/127.0.0.1:{port}/", "Transfer-Encoding: chunked"))
        await wire.send(b"%x\r\n%b\r\n" % (len(piece), piece))
        async with asyncio.timeout(PATIENCE):
            await arrived.wait()
        before = highest = resident_bytes()
        for _ in range(pieces):
            await wire.send(b"%x\r\n%b\r\n" % (len(piece), piece))
            highest = max(highest, resident_bytes())
        assert (await wire.ask(b"0\r\n\r\n")).status == 200
    server.close()
    assert got == len(piece) * (pieces + 1)
    assert highest - before < 24 * 2**20


async def test_tunnel_passes_octets_and_the_end_of_each_direction() -> None:
    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received = await reader.read()
        writer.write(b"got " + received)
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with running(forward__connect_ports=[port]) as proxy, Wire.open(proxy.port) as wire:
        await wire.send(request("CONNECT", f"127.0.0.1:{port}") + b"at once, ")
        head = await wire.head()
        assert (head.status, head.get("content-length"), head.get("transfer-encoding")) == (200, None, None)
        await wire.send(b"GET / HTTP/1.1\r\n\r\n")
        wire.writer.write_eof()
        assert await wire.rest() == b"got at once, GET / HTTP/1.1\r\n\r\n"
    server.close()


@pytest.mark.parametrize("sender", ["client", "origin"])
async def test_tunnel_holds_little_for_who_does_not_read(sender: str) -> None:
    gate = asyncio.Event()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            if sender == "origin":
                await _send_for_ever(writer)
            await gate.wait()
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with running(forward__connect_ports=[port]) as proxy, Wire.open(proxy.port) as wire:
        await wire.send(request("CONNECT", f"127.0.0.1:{port}"))
        assert (await wire.head()).status == 200
        before = resident_bytes()
        with suppress(TimeoutError):
            async with asyncio.timeout(0.5):
                if sender == "client":
                    await _send_for_ever(wire.writer)
                await gate.wait()
        assert resident_bytes() - before < 24 * 2**20
        gate.set()
    server.close()


async def _send_for_ever(writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(bytes(2**20))
        await writer.drain()


@pytest.mark.parametrize(
    ("settings", "rule"),
    [
        ({"forward__connect": "off"}, "forward.connect"),
        ({"forward__connect_ports": [443]}, "forward.connect_ports"),
    ],
    ids=["off", "port"],
)
async def test_tunnel_is_refused_by_configuration(settings: dict[str, object], rule: str) -> None:
    async with running(**settings) as proxy:
        answer = await proxy.ask(request("CONNECT", "127.0.0.1:8443"), "CONNECT")
        assert (answer.status, answer.slug) == (403, "egress-denied")
        assert f'"rule": "{rule}"'.encode() in answer.body


async def test_tunnel_to_nobody_is_a_problem() -> None:
    async with running(forward__connect_ports=[1]) as proxy:
        answer = await proxy.ask(request("CONNECT", "127.0.0.1:1"), "CONNECT")
        assert (answer.status, answer.slug) == (504, "origin-unreachable")


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture(scope="module")
def ca_file(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return authority.write(tmp_path_factory.mktemp("tls") / "ca.pem")


@pytest.fixture
def trusting(ca_file: Path) -> Iterator[ssl.SSLContext]:
    yield ssl.create_default_context(cafile=str(ca_file))


async def test_origin_under_the_configured_authority_is_reached(authority: Authority, ca_file: Path) -> None:
    async with ScriptedOrigin([OK], tls=authority.server("a.example")) as origin:
        rule = f"a.example:443:127.0.0.1:{origin.port}"
        async with running(upstream__ca_file=str(ca_file), upstream__connect_to=[rule]) as proxy:
            answer = await proxy.get("/https/a.example/x")
        assert (answer.status, answer.body) == (200, b"hi")
        assert answer.get("link") == '<https://a.example/x>; rel="canonical"'
        assert sent_lines(origin.requests[0])["host"] == "a.example"


async def test_origin_under_an_unknown_authority_is_refused(authority: Authority) -> None:
    async with ScriptedOrigin([OK], tls=authority.server("a.example")) as origin:
        async with running(upstream__connect_to=[f"a.example:443:127.0.0.1:{origin.port}"]) as proxy:
            answer = await proxy.get("/https/a.example/x")
        assert (answer.status, answer.slug) == (504, "origin-unreachable")
        assert b"TLS certificate" in answer.body
        assert origin.requests == []


async def test_library_client_reaches_a_tls_origin_through_a_tunnel(
    authority: Authority, trusting: ssl.SSLContext
) -> None:
    async with ScriptedOrigin([OK], tls=authority.server("127.0.0.1")) as origin:
        async with running(forward__connect_ports=[origin.port]) as proxy:
            opener = build_opener(
                ProxyHandler({"https": f"http://127.0.0.1:{proxy.port}"}), HTTPSHandler(context=trusting)
            )
            url = f"https://127.0.0.1:{origin.port}/x"

            def fetch() -> tuple[int, bytes]:
                with opener.open(url, timeout=PATIENCE) as answer:
                    return answer.status, answer.read()

            assert await asyncio.to_thread(fetch) == (200, b"hi")
        assert "via" not in sent_lines(origin.requests[0])


@pytest.fixture
def listener(tmp_path: Path) -> dict[str, str]:
    """Certificate, key and authority of the data port."""
    ca = trustme.CA()
    certificate = ca.issue_cert("127.0.0.1")
    paths = {name: str(tmp_path / f"{name}.pem") for name in ("cert", "key", "ca")}
    certificate.private_key_pem.write_to_path(paths["key"])
    for blob in certificate.cert_chain_pems:
        blob.write_to_path(paths["cert"], append=True)
    ca.cert_pem.write_to_path(paths["ca"])
    return paths


async def test_data_port_speaks_tls(listener: dict[str, str]) -> None:
    context = ssl.create_default_context(cafile=listener["ca"])
    tls = {f"listen__tls__{name}": listener[name] for name in ("cert", "key")}
    async with ScriptedOrigin([OK] * 3) as origin, running(**tls) as proxy:
        async with Wire.open(proxy.port, tls=context) as wire:
            for _ in range(2):
                answer = await wire.ask(request("GET", target("gateway", origin, "/")))
                assert (answer.status, answer.body) == (200, b"hi")
        async with Wire.open(proxy.port) as plain:
            await plain.send(request("GET", "/"))
            assert not (await plain.rest()).startswith(b"HTTP/1.1 200")
        async with Wire.open(proxy.port, tls=context) as wire:
            assert (await wire.ask(request("GET", target("gateway", origin, "/")))).status == 200


async def test_data_port_asks_for_client_certificates(listener: dict[str, str]) -> None:
    tls = {f"listen__tls__{name}": listener[name] for name in ("cert", "key")}
    async with running(**tls, listen__tls__client_ca=listener["ca"]) as proxy:
        known, unknown = (ssl.create_default_context(cafile=listener["ca"]) for _ in range(2))
        known.load_cert_chain(listener["cert"], listener["key"])
        async with Wire.open(proxy.port, tls=known) as wire:
            assert (await wire.ask(request("GET", "/"))).status == 200
        with pytest.raises((ssl.SSLError, ConnectionError, asyncio.IncompleteReadError)):
            async with Wire.open(proxy.port, tls=unknown) as wire:
                await wire.ask(request("GET", "/"))


async def test_own_resources_are_answered_where_no_site_is() -> None:
    async with running() as proxy, Wire.open(proxy.port) as wire:
        answer: Reply = await wire.ask(request("GET", "/"))
        assert (answer.status, answer.get("content-type")) == (200, "text/plain; charset=utf-8")
        assert answer.get("date") is not None
        assert (await wire.ask(request("HEAD", "/"), "HEAD")).get("content-length") == str(len(answer.body))
        assert (await wire.ask(request("GET", "/nothing"))).slug == "not-found"


async def test_fault_of_our_own_is_a_problem_and_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError("a secret")

    monkeypatch.setattr(Gateway, "handle", broken)
    async with running() as proxy, Wire.open(proxy.port) as wire:
        answer = await wire.ask(request("GET", "/http/127.0.0.1:1/"))
        assert (answer.status, answer.slug, answer.get("connection")) == (500, "internal", "close")
        assert await wire.rest() == b""
        assert b"secret" not in answer.body
        assert (await proxy.get("/")).status == 200
    assert [record.getMessage() for record in caplog.records if record.exc_info] == ["a request failed"]
