"""Which addresses connections go to, and which are refused because the proxy itself listens there."""

from __future__ import annotations

import socket
from contextlib import suppress

import pytest

from proxy.http.fields import Fields
from proxy.http.messages import Request
from proxy.http.targets import Target
from proxy.ports import OriginFault, OriginUnavailable
from proxy.upstream.addresses import CheckedResolver, OwnListeners
from proxy.upstream.connect_to import ConnectTo, connect_address
from proxy.upstream.origin import AiohttpOrigin, UpstreamLimits
from tests.simulators.wire import ScriptedOrigin
from tests.upstream.loopback import OK, client, request_to

ANY = ConnectTo(None, None, None, None)
HOST = ConnectTo("example.com", None, "10.0.0.1", None)
PORT = ConnectTo(None, 443, None, 9443)
BOTH = ConnectTo("example.com", 443, "10.0.0.2", 9443)

RULES = {
    "none": ((), ("example.com", 443)),
    "all parts": ((BOTH,), ("10.0.0.2", 9443)),
    "host only": ((HOST,), ("10.0.0.1", 443)),
    "port only": ((PORT,), ("example.com", 9443)),
    "the first that fits": ((HOST, BOTH), ("10.0.0.1", 443)),
    "another host": ((ConnectTo("example.org", None, "10.0.0.1", None),), ("example.com", 443)),
    "another port": ((ConnectTo("example.com", 80, "10.0.0.1", None),), ("example.com", 443)),
    "nothing changed, and no other rule": ((ANY, BOTH), ("example.com", 443)),
}


@pytest.mark.parametrize(("rules", "address"), RULES.values(), ids=RULES)
def test_connect_to(rules: tuple[ConnectTo, ...], address: tuple[str, int]) -> None:
    assert connect_address(rules, "example.com", 443) == address


Address = tuple[str, int]
LISTENERS: dict[str, tuple[Address, Address, bool]] = {
    "the address": (("127.0.0.1", 80), ("127.0.0.1", 80), True),
    "another port": (("127.0.0.1", 80), ("127.0.0.1", 81), False),
    "another address": (("127.0.0.1", 80), ("127.0.0.2", 80), False),
    "in IPv6 form": (("127.0.0.1", 80), ("::ffff:127.0.0.1", 80), True),
    "unspecified target": (("127.0.0.1", 80), ("0.0.0.0", 80), True),
    "unspecified target, IPv6": (("::1", 80), ("::", 80), True),
    "wildcard, loopback": (("0.0.0.0", 80), ("127.0.0.1", 80), True),
    "wildcard, other loopback": (("0.0.0.0", 80), ("127.9.9.9", 80), True),
    "wildcard, another port": (("0.0.0.0", 80), ("127.0.0.1", 81), False),
    "wildcard, not local": (("0.0.0.0", 80), ("192.0.2.1", 80), False),
    "wildcard, not local, IPv6": (("::", 80), ("2001:db8::1", 80), False),
    "IPv6 wildcard": (("::", 80), ("127.0.0.1", 80), True),
    "zone of the listener": (("fe80::1%lo", 80), ("fe80::1%lo", 80), True),
}


@pytest.mark.parametrize(("listener", "target", "refused"), LISTENERS.values(), ids=LISTENERS)
def test_own_listeners(listener: Address, target: Address, refused: bool) -> None:
    listeners = OwnListeners()
    listeners.add(*listener)
    try:
        listeners.check(*target)
    except OriginUnavailable as error:
        assert refused and error.fault is OriginFault.DENIED and "loop" in error.detail
    else:
        assert not refused


def test_every_own_address_of_a_wildcard_listener_is_refused() -> None:
    listeners = OwnListeners()
    listeners.add("0.0.0.0", 80)
    for *_, address in socket.getaddrinfo(socket.gethostname(), 80, socket.AF_INET, socket.SOCK_STREAM):
        with pytest.raises(OriginUnavailable):
            listeners.check(str(address[0]), 80)


WAYS = ("fetch", "upgrade", "connect")


async def go(upstream: AiohttpOrigin, way: str, host: str, port: int) -> None:
    request = Request("GET", Target("http", host, port, "/", None), Fields((("Upgrade", "x"),)))
    match way:
        case "fetch":
            await upstream.fetch(request)
        case "upgrade":
            await upstream.upgrade(request)
        case "connect":
            (await upstream.connect(host, port)).close()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "example.com", "0.0.0.0"])
async def test_no_connection_to_an_own_listener(way: str, host: str) -> None:
    limits = UpstreamLimits(connect_to=(ConnectTo("example.com", None, "127.0.0.1", None),))
    listeners = OwnListeners()
    async with ScriptedOrigin([OK]) as origin, client(limits, listeners) as upstream:
        listeners.add("127.0.0.1", origin.port)
        with pytest.raises(OriginUnavailable) as caught:
            await go(upstream, way, host, origin.port)
        assert (caught.value.fault, origin.connections) == (OriginFault.DENIED, 0)


async def test_listener_added_later() -> None:
    listeners = OwnListeners()
    async with ScriptedOrigin([OK]) as origin, client(policy=listeners) as upstream:
        assert await (await upstream.fetch(request_to(origin))).read(9) == b"hi"
        listeners.add("127.0.0.1", origin.port)
        with pytest.raises(OriginUnavailable):
            await upstream.fetch(request_to(origin))


async def test_name_with_underscore_and_connect_to() -> None:
    rule = ConnectTo("_agent.example.com", 80, "localhost", None)
    async with ScriptedOrigin([OK]) as origin:
        limits = UpstreamLimits(connect_to=(ConnectTo(rule.host, 80, "localhost", origin.port),))
        async with client(limits) as upstream:
            request = Request("GET", Target("http", "_agent.example.com", 80, "/", None), Fields())
            assert await (await upstream.fetch(request)).read(9) == b"hi"
            assert b"\r\nHost: _agent.example.com\r\n" in origin.requests[0]


async def test_ipv6() -> None:
    try:
        origin = await ScriptedOrigin([OK], host="::1").__aenter__()
    except OSError:
        pytest.skip("no IPv6 on loopback")
    async with client() as upstream:
        assert await (await upstream.fetch(request_to(origin, host="::1"))).read(9) == b"hi"
    await origin.__aexit__(None, None, None)


class AddressBook:
    """A look-up by DNS that keeps what it was asked."""

    def __init__(self, *addresses: str) -> None:
        self.addresses = addresses
        self.asked: list[str] = []

    async def __call__(self, host: str) -> tuple[str, ...]:
        self.asked.append(host)
        return self.addresses


class NoDocumentation:
    """A policy that refuses one network."""

    def check(self, address: str, port: int) -> None:
        if address.startswith("192.0.2."):
            raise OriginUnavailable(OriginFault.DENIED, "Refused.")


ANY_FAMILY, V4, V6 = socket.AF_UNSPEC, socket.AF_INET, socket.AF_INET6
BOTH_FAMILIES = ("2001:db8::1", "198.51.100.1", "198.51.100.2")
LOOK_UPS: dict[str, tuple[tuple[str, ...], socket.AddressFamily, list[tuple[str, int]]]] = {
    "one": (("198.51.100.1",), ANY_FAMILY, [("198.51.100.1", V4)]),
    "all, in their order": (
        BOTH_FAMILIES,
        ANY_FAMILY,
        [("2001:db8::1", V6), ("198.51.100.1", V4), ("198.51.100.2", V4)],
    ),
    "IPv4 wanted": (BOTH_FAMILIES, V4, [("198.51.100.1", V4), ("198.51.100.2", V4)]),
    "IPv6 wanted": (BOTH_FAMILIES, V6, [("2001:db8::1", V6)]),
}


@pytest.mark.parametrize(("addresses", "family", "expected"), LOOK_UPS.values(), ids=LOOK_UPS)
async def test_looked_up(
    addresses: tuple[str, ...], family: socket.AddressFamily, expected: list[tuple[str, int]]
) -> None:
    book = AddressBook(*addresses)
    results = await CheckedResolver(NoDocumentation(), book).resolve("example.com", 443, family)
    assert [(result["host"], result["family"]) for result in results] == expected
    assert {(result["hostname"], result["port"]) for result in results} == {("example.com", 443)}
    assert book.asked == ["example.com"]


NOWHERE: dict[str, tuple[tuple[str, ...], socket.AddressFamily]] = {
    "no address": ((), ANY_FAMILY),
    "none of the family": (("198.51.100.1",), V6),
}


@pytest.mark.parametrize(("addresses", "family"), NOWHERE.values(), ids=NOWHERE)
async def test_looked_up_in_vain(addresses: tuple[str, ...], family: socket.AddressFamily) -> None:
    with pytest.raises(OSError):
        await CheckedResolver(NoDocumentation(), AddressBook(*addresses)).resolve("example.com", 443, family)


@pytest.mark.parametrize("refused", [0, 1, 2])
async def test_one_refused_address_refuses_the_host(refused: int) -> None:
    addresses = list(BOTH_FAMILIES)
    addresses.insert(refused, "192.0.2.1")
    with pytest.raises(OriginUnavailable) as caught:
        await CheckedResolver(NoDocumentation(), AddressBook(*addresses)).addresses("example.com", 443)
    assert caught.value.fault is OriginFault.DENIED


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1", "host.localhost", "host.local"])
async def test_left_to_the_system(host: str) -> None:
    book = AddressBook("198.51.100.1")
    with suppress(OSError):  # whether the system knows the name is its own matter
        await CheckedResolver(NoDocumentation(), book).resolve(host, 443)
    assert book.asked == []


async def test_what_a_connection_is_made_with() -> None:
    infos = await CheckedResolver(OwnListeners(), AddressBook("198.51.100.1")).addresses("example.com", 443)
    assert infos == [(V4, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("198.51.100.1", 443))]
