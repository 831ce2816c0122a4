"""What a service heard on the local link offers, and which are of no use (DISCOVERY_FORMATS §7, MD-1 to MD-3)."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.discovery.records.localservices import (
    SERVICE_TYPE,
    Link,
    LocalAgent,
    Service,
    UnusableService,
    is_acceptable,
    read_service,
)


def link(name: str, zone: str, *networks: str) -> Link:
    return Link(name, zone, tuple(ip_network(network) for network in networks))


HOME = link("eth0", "2", "192.168.7.0/24", "169.254.0.0/16", "fe80::/64", "fd12:3456::/64", "2001:db8:7::/64")
CABLE = link("eth1", "3", "10.0.0.0/8", "fe80::/64")
LOOPBACK = link("lo", "1", "127.0.0.0/8")
WIDE = link("wide", "9", "0.0.0.0/0", "::/0")
LINKS = (HOME, CABLE)

SERVICE = Service(
    name=f"Front desk.{SERVICE_TYPE}",
    host="Desk.local.",
    port=8443,
    addresses=("192.168.7.20", "fe80::20%2"),
    attributes={b"v": b"uaix1", b"capabilities": b"L3,L4"},
    ttl=120,
)
AGENT = LocalAgent(
    name="Front desk",
    host="desk.local",
    port=8443,
    addresses=("192.168.7.20", "fe80::20%2"),
    path="/.well-known/uaix-agent-access.json",
    did=None,
    proto=None,
    version="uaix1",
    capabilities=("L3", "L4"),
    problems=(),
)

ADDRESSES = {
    # MD-3: private and link-local, on a prefix of the link
    "private": ("192.168.7.20", LINKS, True),
    "on the other link": ("10.200.0.1", LINKS, True),
    "IPv4 link-local": ("169.254.10.1", LINKS, True),
    "unique local": ("fd12:3456::9", LINKS, True),
    "IPv6 link-local by index": ("fe80::20%2", LINKS, True),
    "IPv6 link-local by name": ("fe80::20%eth1", LINKS, True),
    "mapped": ("::ffff:192.168.7.20", LINKS, True),
    "loopback where that is the link": ("127.0.0.1", (LOOPBACK,), True),
    "private, off the prefix": ("192.168.8.20", LINKS, False),
    "unique local, off the prefix": ("fd12:3457::9", LINKS, False),
    "of a link that is not browsed": ("10.200.0.1", (HOME,), False),
    "no links": ("192.168.7.20", (), False),
    "IPv6 link-local of another zone": ("fe80::20%7", LINKS, False),
    "IPv6 link-local without a zone": ("fe80::20", LINKS, False),
    "IPv6 link-local, the link without IPv6": ("fe80::20%1", (LOOPBACK,), False),
    "loopback": ("127.0.0.1", LINKS, False),
    "a name": ("desk.local", LINKS, False),
    "nothing": ("", LINKS, False),
    "octets": ("\x00\xff", LINKS, False),
    # what no prefix makes acceptable
    "public": ("93.184.216.34", (WIDE,), False),
    "public IPv6": ("2606:2800:220::1", (WIDE,), False),
    "documentation": ("2001:db8:7::1", LINKS, False),
    "shared (CGNAT)": ("100.64.0.1", (WIDE,), False),
    "metadata": ("169.254.169.254", LINKS, False),
    "multicast": ("224.0.0.251", (WIDE,), False),
    "broadcast": ("255.255.255.255", (WIDE,), False),
    "NAT64": ("64:ff9b::c0a8:714", (WIDE,), False),
}


@pytest.mark.parametrize(("address", "links", "acceptable"), ADDRESSES.values(), ids=ADDRESSES)
def test_addresses(address: str, links: tuple[Link, ...], acceptable: bool) -> None:
    assert is_acceptable(address, links) is acceptable


def test_a_service_in_both_layouts() -> None:
    assert read_service(SERVICE, LINKS) == AGENT
    one_string = replace(SERVICE, attributes={b"v": b"uaix1; capabilities=L3,L4"})
    assert read_service(one_string, LINKS) == AGENT


def test_what_the_record_says_is_handed_on() -> None:
    attributes = {b"v": b"uaix1", b"path": b"/a.json", b"did": b"did:web:a.example", b"proto": b"a2a", b"x": b"y"}
    agent = read_service(replace(SERVICE, attributes=attributes), LINKS)
    assert agent == replace(AGENT, path="/a.json", did="did:web:a.example", proto="a2a", capabilities=())


USABLE = {
    "host without the last dot": ({"host": "desk.local"}, {}),
    "host with an underscore": ({"host": "desk._agent._tcp.local."}, {"host": "desk._agent._tcp.local"}),
    "host in UTF-8": ({"host": "bücher.local."}, {"host": "xn--bcher-kva.local"}),
    "port 443": ({"port": 443}, {"port": 443}),
    "the highest port": ({"port": 65535}, {"port": 65535}),
    "an address twice": ({"addresses": ("192.168.7.20", "192.168.7.20")}, {"addresses": ("192.168.7.20",)}),
    "many addresses": (
        {"addresses": tuple(f"10.0.0.{number}" for number in range(1, 40))},
        {"addresses": tuple(f"10.0.0.{number}" for number in range(1, 17))},
    ),
    "a dot in the name": ({"name": f"Desk. Two.{SERVICE_TYPE}"}, {"name": "Desk. Two"}),
    "the type in upper case": ({"name": f"Desk.{SERVICE_TYPE.upper()}"}, {"name": "Desk"}),
    "another type": ({"name": "Desk._http._tcp.local."}, {"name": "Desk._http._tcp.local."}),
    "controls in the name": ({"name": f"a\x1b[2J\u202eb.{SERVICE_TYPE}"}, {"name": "a\ufffd[2J\ufffdb"}),
    "a long name": ({"name": "é" * 500}, {"name": "é" * 63}),
}


@pytest.mark.parametrize(("given_", "expected"), USABLE.values(), ids=USABLE)
def test_usable(given_: dict[str, object], expected: dict[str, object]) -> None:
    assert read_service(replace(SERVICE, **given_), LINKS) == replace(AGENT, **expected)


UNUSABLE = {
    "no attributes": ({"attributes": {}}, "version"),
    "another version": ({"attributes": {b"v": b"uaix2"}}, "version"),
    "AID's version": ({"attributes": {b"v": b"aid2", b"p": b"mcp"}}, "version"),
    "a boolean version": ({"attributes": {b"v": None}}, "version"),
    # MD-1: nothing on the link answers for a public name
    "a public host": ({"host": "example.com."}, "host"),
    "a public host that ends alike": ({"host": "example.notlocal."}, "host"),
    "the suffix alone": ({"host": "local."}, "host"),
    "an address as host": ({"host": "192.168.7.20"}, "host"),
    "a bracketed host": ({"host": "[fe80::20]"}, "host"),
    "an empty host": ({"host": ""}, "host"),
    "a blank in the host": ({"host": "front desk.local."}, "host"),
    "controls in the host": ({"host": "desk\r\n.local."}, "host"),
    "no port": ({"port": 0}, "port"),
    "a negative port": ({"port": -1}, "port"),
    "a port too high": ({"port": 65536}, "port"),
    "another protocol's port": ({"port": 22}, "port"),
    "no address": ({"addresses": ()}, "address"),
    "a public address": ({"addresses": ("93.184.216.34",)}, "address"),
    "another net's address": ({"addresses": ("192.168.8.1", "127.0.0.1")}, "address"),
}


@pytest.mark.parametrize(("given_", "reason"), UNUSABLE.values(), ids=UNUSABLE)
def test_unusable(given_: dict[str, object], reason: str) -> None:
    verdict = read_service(replace(SERVICE, **given_), LINKS)
    assert isinstance(verdict, UnusableService)
    assert (verdict.name, verdict.reason) == ("Front desk", reason)
    assert verdict.detail


def test_addresses_that_lead_elsewhere_are_left_out_and_told() -> None:
    mixed = replace(SERVICE, addresses=("93.184.216.34", "192.168.7.20", "fe80::20"))
    agent = read_service(mixed, LINKS)
    assert isinstance(agent, LocalAgent)
    assert agent.addresses == ("192.168.7.20",)
    assert [(finding.rule, finding.is_warning) for finding in agent.problems] == [("MD-3", True)]


@given(
    name=st.text(max_size=300),
    host=st.text(max_size=80) | st.text(alphabet="a.%[]:_-\u00e9", max_size=80).map(lambda text: f"{text}.local."),
    port=st.integers(-10, 70_000),
    addresses=st.lists(st.text(max_size=40) | st.ip_addresses().map(str), max_size=20),
    value=st.binary(max_size=300),
)
def test_nothing_heard_makes_it_raise(name: str, host: str, port: int, addresses: list[str], value: bytes) -> None:
    attributes = {b"v": b"uaix1; " + value, b"path": value}
    verdict = read_service(Service(name, host, port, tuple(addresses), attributes, 1), (HOME, WIDE))
    assert verdict.name.isprintable()
    if isinstance(verdict, LocalAgent):
        assert verdict.host.endswith(".local") and verdict.addresses and verdict.path.startswith("/")
