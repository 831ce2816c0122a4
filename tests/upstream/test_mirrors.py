"""Mirrors over real TLS on the loopback: what is read, what is followed, and what is let go of."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from ipaddress import ip_network

import pytest

from proxy.http.messages import Realm
from proxy.http.targets import Target, parse_target
from proxy.ports import MirrorAnswer, MirrorUnavailable, OriginFault
from proxy.upstream.addresses import CheckedResolver, OwnListeners
from proxy.upstream.connect_to import ConnectTo
from proxy.upstream.mirrors import MirrorClient
from proxy.upstream.origin import AiohttpOrigin, UpstreamLimits
from proxy.upstream.origins import Origins, PublicAddresses
from tests.simulators.clock import FakeClock
from tests.simulators.origin import OriginSimulator, Reply
from tests.simulators.wire import Authority, Ending, Parts, ScriptedOrigin
from tests.upstream.loopback import message

HOST, CDN = "mirror.example.net", "cdn.example.org"
BODY = b'{"profileId": "x"}'
LENGTH = b"Content-Length: %d" % len(BODY)
OK = message(LENGTH, b"Content-Type: Application/JSON; charset=utf-8", body=BODY)
FOUND = b"HTTP/1.1 302 Found"
AGENT = "discovery-proxy/test"
NETWORKS = (ip_network("127.0.0.0/8"),)


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


@pytest.fixture(scope="module")
def ca_file(authority: Authority, tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(authority.write(tmp_path_factory.mktemp("tls") / "ca.pem"))


def anywhere(target: Target) -> bool:
    return True


@dataclass
class Loopback:
    """A client of mirrors, and the mirror that it reaches under every name of the tests."""

    client: MirrorClient
    origin: ScriptedOrigin

    async def fetch(
        self,
        url: str = f"https://{HOST}/m.json",
        *,
        max_bytes: int = 1000,
        seconds: float = 5.0,
        realm: Realm = Realm.PUBLIC,
        may_follow: Callable[[Target], bool] = anywhere,
    ) -> MirrorAnswer:
        target = parse_target(url)
        return await self.client.fetch(target, "application/json", max_bytes, seconds, realm, may_follow)

    async def failure(self, **how: object) -> str:
        with pytest.raises(MirrorUnavailable) as unavailable:
            await self.fetch(**how)  # type: ignore[arg-type]
        assert unavailable.value.detail and "127." not in unavailable.value.detail
        return unavailable.value.reason


Script = tuple[bytes | Parts, ...]


@asynccontextmanager
async def loopback(authority: Authority, ca_file: str, *script: Script) -> AsyncIterator[Loopback]:
    """`script` has the replies of each connection. Names lead to the mirror as `connect_to` has them in tests of
    the whole proxy, but for the policy of addresses, which here is that of the realm."""
    tls = authority.server(HOST, CDN, "127.0.0.1")
    async with ScriptedOrigin(*script, tls=tls) as origin:
        rules = tuple(ConnectTo(name, None, "127.0.0.1", origin.port) for name in (HOST, CDN))
        limits = UpstreamLimits(connect_timeout=2.0, total_timeout=4.0, ca_file=ca_file, connect_to=rules)
        own = OwnListeners()
        near = AiohttpOrigin(limits, CheckedResolver(PublicAddresses(own, NETWORKS)), lambda: 1_000_000.0)
        far = AiohttpOrigin(
            UpstreamLimits(ca_file=ca_file), CheckedResolver(PublicAddresses(own)), lambda: 1_000_000.0
        )
        origins = Origins({Realm.ANY: near, Realm.PUBLIC: far}, rules)
        try:
            yield Loopback(MirrorClient(origins, AGENT), origin)
        finally:
            await origins.close()


async def test_a_copy(authority: Authority, ca_file: str) -> None:
    async with loopback(authority, ca_file, (OK,)) as mirror:
        assert await mirror.fetch() == MirrorAnswer("application/json", BODY, None)
        [request] = mirror.origin.requests
        head, _, rest = request.partition(b"\r\n")
        assert head == b"GET /m.json HTTP/1.1" and rest.endswith(b"\r\n\r\n")
        lines = {line.partition(b": ")[0].lower(): line.partition(b": ")[2] for line in rest.split(b"\r\n")}
        assert (lines[b"user-agent"], lines[b"accept"]) == (AGENT.encode(), b"application/json")
        assert (lines[b"accept-encoding"], lines[b"host"]) == (b"identity", HOST.encode())
        assert not {b"cookie", b"authorization", b"referer"} & lines.keys()


def redirect(location: str) -> bytes:
    return message(b"Location: " + location.encode(), b"Content-Length: 0", status=FOUND)


FOLLOWED = [
    pytest.param(((redirect("/other"), OK),), [b"/m.json", b"/other"], id="same host"),
    pytest.param(((redirect(f"https://{CDN}/m"),), (OK,)), [b"/m.json", b"/m"], id="another host"),
    pytest.param(
        ((*(redirect(f"/{number}") for number in range(3)), OK),), [b"/m.json", b"/0", b"/1", b"/2"], id="three"
    ),
]


@pytest.mark.parametrize(("script", "paths"), FOLLOWED)
async def test_redirects(
    authority: Authority, ca_file: str, script: tuple[Script, ...], paths: list[bytes]
) -> None:
    async with loopback(authority, ca_file, *script) as mirror:
        assert (await mirror.fetch()).body == BODY
        assert [request.split(b" ")[1] for request in mirror.origin.requests] == paths


FAILURES: dict[str, tuple[bytes | Parts, str]] = {
    "404": (message(b"Content-Length: 2", status=b"HTTP/1.1 404 N", body=b"no"), "status-404"),
    "503": (message(b"Content-Length: 0", status=b"HTTP/1.1 503 S"), "status-503"),
    "206": (message(LENGTH, status=b"HTTP/1.1 206 P", body=BODY), "status-206"),
    "204": (message(status=b"HTTP/1.1 204 N"), "status-204"),
    "304": (message(status=b"HTTP/1.1 304 N"), "status-304"),
    "300": (message(b"Location: /x", b"Content-Length: 0", status=b"HTTP/1.1 300 M"), "status-300"),
    "coded": (message(LENGTH, b"Content-Encoding: gzip", body=BODY), "origin-invalid-response"),
    "coded twice": (message(LENGTH, b"Content-Encoding: identity, br", body=BODY), "origin-invalid-response"),
    "too large": (message(b"Content-Length: 1001", body=b"x" * 1001), "too-large"),
    "truncated": ((message(b"Content-Length: 999", body=BODY), Ending.CLOSE), "origin-invalid-response"),
    "cut chunked": (
        (message(b"Transfer-Encoding: chunked", body=b"5\r\nhello\r\n"), Ending.CLOSE),
        "origin-invalid-response",
    ),
    "reset": ((message(b"Content-Length: 999", body=BODY), Ending.RESET), "origin-invalid-response"),
    "no HTTP": (b"<html>hello</html>\r\n\r\n", "origin-invalid-response"),
    "redirect nowhere": (message(b"Content-Length: 0", status=FOUND), "redirect-refused"),
    "redirect to http": (redirect(f"http://{CDN}/m"), "redirect-refused"),
    "redirect to another scheme": (redirect("ftp://cdn.example.org/m"), "redirect-refused"),
    "redirect with userinfo": (redirect(f"https://a:b@{CDN}/m"), "redirect-refused"),
    "redirect to a long URL": (redirect("/" + "a" * 9000), "redirect-refused"),
    "redirect to loopback": (redirect("https://127.0.0.1/m"), "egress-denied"),
    "redirect to metadata": (redirect("https://169.254.169.254/latest"), "egress-denied"),
    "redirect to IPv6 loopback": (redirect("https://[::1]/m"), "egress-denied"),
    "redirect to localhost": (redirect("https://localhost/m"), "egress-denied"),
    "redirect to a single label": (redirect("https://intranet/m"), "egress-denied"),
}


@pytest.mark.parametrize(("reply", "reason"), FAILURES.values(), ids=FAILURES)
async def test_failures(authority: Authority, ca_file: str, reply: bytes | Parts, reason: str) -> None:
    async with loopback(authority, ca_file, (reply,)) as mirror:
        assert await mirror.failure() == reason
        assert len(mirror.origin.requests) == 1


async def test_four_redirects_are_too_many(authority: Authority, ca_file: str) -> None:
    async with loopback(authority, ca_file, tuple(redirect(f"/{number}") for number in range(9))) as mirror:
        assert await mirror.failure() == "too-many-redirects"
        assert len(mirror.origin.requests) == 4


async def test_where_redirects_may_lead_is_for_the_caller_to_say(authority: Authority, ca_file: str) -> None:
    async with loopback(authority, ca_file, (redirect(f"https://{CDN}/m"),)) as mirror:
        assert await mirror.failure(may_follow=lambda target: target.host == HOST) == "redirect-refused"
        assert len(mirror.origin.requests) == 1


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
async def test_publishers_lead_to_public_addresses_only(authority: Authority, ca_file: str, host: str) -> None:
    async with loopback(authority, ca_file, (OK,)) as mirror:
        assert await mirror.failure(url=f"https://{host}:{mirror.origin.port}/m") == "egress-denied"
        assert mirror.origin.connections == 0


async def test_operators_gateways_may_be_anywhere(authority: Authority, ca_file: str) -> None:
    async with loopback(authority, ca_file, (redirect("/b"), OK)) as mirror:
        url = f"https://127.0.0.1:{mirror.origin.port}/a"
        assert (await mirror.fetch(url, realm=Realm.ANY)).body == BODY


@pytest.mark.parametrize("location", [f"http://{CDN}/m", "https://a@127.0.0.1/", "//", "urn:x", "/%zz"], ids=repr)
async def test_where_gateways_may_not_redirect_to(authority: Authority, ca_file: str, location: str) -> None:
    async with loopback(authority, ca_file, (redirect(location),)) as mirror:
        url = f"https://127.0.0.1:{mirror.origin.port}/a"
        assert await mirror.failure(url=url, realm=Realm.ANY) == "redirect-refused"


SLOW: dict[str, Parts] = {
    "silent": (Ending.STAY,),
    "silent after the head": (message(LENGTH), Ending.STAY),
    "silent in the body": (message(LENGTH, body=BODY[:5]), Ending.STAY),
}


@pytest.mark.parametrize("parts", SLOW.values(), ids=SLOW)
async def test_slow_mirrors_are_given_up(authority: Authority, ca_file: str, parts: Parts) -> None:
    async with loopback(authority, ca_file, (parts,)) as mirror:
        loop = asyncio.get_running_loop()
        began = loop.time()
        assert await mirror.failure(seconds=0.3) == "origin-timeout"
        assert loop.time() - began < 3.0


async def test_an_endless_mirror_is_cut_at_the_limit(authority: Authority, ca_file: str) -> None:
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    parts = (message(b"Transfer-Encoding: chunked"), *(chunk,) * 400, Ending.STAY)
    async with loopback(authority, ca_file, (parts,)) as mirror:
        assert await mirror.failure(max_bytes=2**20) == "too-large"


async def test_time_counts_over_redirects(authority: Authority, ca_file: str) -> None:
    script = (redirect("/a"), (Ending.STAY,))
    async with loopback(authority, ca_file, script) as mirror:
        assert await mirror.failure(seconds=0.3) == "origin-timeout"
        assert len(mirror.origin.requests) == 2


async def test_a_mirror_with_a_bad_certificate(ca_file: str) -> None:
    async with loopback(Authority(), ca_file, (OK,)) as mirror:
        assert await mirror.failure() == "origin-unreachable"


async def test_a_mirror_where_nobody_is(authority: Authority, ca_file: str) -> None:
    async with ScriptedOrigin([OK]) as gone:
        pass
    async with loopback(authority, ca_file, (OK,)) as mirror:
        assert await mirror.failure(url=f"https://127.0.0.1:{gone.port}/", realm=Realm.ANY) == "origin-unreachable"


FRESH = [
    pytest.param({}, None, id="silent"),
    pytest.param({"cache_control": "max-age=60"}, 60.0, id="max-age"),
    pytest.param({"cache_control": "max-age=60, s-maxage=30"}, 30.0, id="s-maxage"),
    pytest.param({"cache_control": "max-age=60", "fields": [("Age", "45")]}, 15.0, id="age"),
    pytest.param({"cache_control": "max-age=60", "fields": [("Age", "90")]}, 0.0, id="stale"),
    pytest.param({"cache_control": "no-store"}, 0.0, id="no-store"),
    pytest.param({"cache_control": "no-cache, max-age=60"}, 0.0, id="no-cache"),
    pytest.param({"cache_control": "private"}, 0.0, id="private"),
    pytest.param({"fields": [("Expires", "0")]}, 0.0, id="expired"),
    pytest.param({"last_modified": "Thu, 01 Jan 2015 00:00:00 GMT"}, None, id="last modified"),
    pytest.param({"cache_control": "max-age=x"}, 0.0, id="malformed"),
]


@pytest.mark.parametrize(("how", "max_age"), FRESH)
async def test_how_long_an_answer_is_fresh(how: dict[str, object], max_age: float | None) -> None:
    origin = OriginSimulator(FakeClock())
    origin.respond("/m.json", body=BODY, **how)  # type: ignore[arg-type]
    answer = await MirrorClient(origin, AGENT).fetch(
        parse_target(f"https://{HOST}/m.json"), "*/*", 1000, 5.0, Realm.PUBLIC, anywhere
    )
    assert answer.max_age == max_age and origin.leaked == []


@pytest.mark.parametrize("fault", list(OriginFault))
async def test_faults_keep_their_slug(fault: OriginFault) -> None:
    origin = OriginSimulator(FakeClock())
    origin.fail(fault)
    with pytest.raises(MirrorUnavailable) as unavailable:
        await MirrorClient(origin, AGENT).fetch(
            parse_target(f"https://{HOST}/"), "*/*", 1000, 5.0, Realm.PUBLIC, anywhere
        )
    assert unavailable.value.reason == fault.value


@pytest.mark.parametrize("status", [200, 302, 404])
async def test_every_response_is_let_go_of(status: int) -> None:
    origin = OriginSimulator(FakeClock())
    origin.answer("/", lambda request: Reply(status, body=b"x" * 2000))
    with pytest.raises(MirrorUnavailable):
        await MirrorClient(origin, AGENT).fetch(
            parse_target(f"https://{HOST}/"), "*/*", 1000, 5.0, Realm.PUBLIC, anywhere
        )
    assert origin.leaked == [] and origin.responses != []
