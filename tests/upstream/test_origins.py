"""Which network a request goes out on, and what publishers cannot reach."""

from __future__ import annotations

from ipaddress import ip_network

import pytest

from proxy.http.fields import NO_FIELDS
from proxy.http.messages import Realm, Request
from proxy.http.targets import parse_target
from proxy.ports import OriginFault, OriginUnavailable
from proxy.upstream.addresses import OwnListeners
from proxy.upstream.connect_to import ConnectTo
from proxy.upstream.origins import Origins, PublicAddresses
from tests.simulators.clock import FakeClock
from tests.simulators.origin import OriginSimulator

ALLOWED = [
    ("93.184.216.34", (), True),
    ("127.0.0.1", (), False),
    ("10.0.0.1", (), False),
    ("10.0.0.1", ("10.0.0.0/8",), True),
    ("10.0.0.1", ("192.168.0.0/16",), False),
    ("::ffff:10.0.0.1", ("10.0.0.0/8",), True),
    ("fd00::1", ("fd00::/8",), True),
    ("169.254.169.254", ("169.254.0.0/16",), False),
    ("169.254.169.254", ("169.254.169.254/32",), True),
    ("64:ff9b::a9fe:a9fe", (), False),
    ("2002:a00:1::1", ("10.0.0.0/8",), False),
    ("224.0.0.1", (), False),
]


@pytest.mark.parametrize(("address", "networks", "allowed"), ALLOWED)
def test_addresses(address: str, networks: tuple[str, ...], allowed: bool) -> None:
    policy = PublicAddresses(OwnListeners(), map(ip_network, networks))
    if allowed:
        policy.check(address, 443)
        return
    with pytest.raises(OriginUnavailable) as refused:
        policy.check(address, 443)
    assert refused.value.fault is OriginFault.DENIED
    assert address not in refused.value.detail


def test_our_own_port_is_refused_also_in_an_allowed_range() -> None:
    own = OwnListeners()
    own.add("127.0.0.1", 8080)
    policy = PublicAddresses(own, [ip_network("127.0.0.0/8")])
    policy.check("127.0.0.1", 8081)
    with pytest.raises(OriginUnavailable, match="loop"):
        policy.check("127.0.0.1", 8080)


MAPPED = (ConnectTo("example.com", 443, "127.0.0.1", 9443),)
WAYS = [
    ("https://example.net/a", Realm.ANY, (), Realm.ANY),
    ("https://example.net/a", Realm.PUBLIC, (), Realm.PUBLIC),
    ("https://example.com/a", Realm.PUBLIC, MAPPED, Realm.ANY),
    ("https://example.com:8443/a", Realm.PUBLIC, MAPPED, Realm.PUBLIC),
    ("https://example.net/a", Realm.PUBLIC, MAPPED, Realm.PUBLIC),
    ("https://printer.local/a", Realm.LOCAL, (), Realm.LOCAL),
]


@pytest.mark.parametrize(("uri", "realm", "rules", "taken"), WAYS)
async def test_ways_out(uri: str, realm: Realm, rules: tuple[ConnectTo, ...], taken: Realm) -> None:
    realms = {one: OriginSimulator(FakeClock()) for one in Realm}
    origins = Origins(realms, rules)
    await origins.fetch(Request("GET", parse_target(uri), NO_FIELDS, realm))
    assert [one for one, origin in realms.items() if origin.requests] == [taken]


async def test_without_a_local_link_nothing_goes_there() -> None:
    origins = Origins({Realm.ANY: OriginSimulator(FakeClock())}, ())
    with pytest.raises(OriginUnavailable, match=r"discovery\.mdns"):
        await origins.fetch(Request("GET", parse_target("https://printer.local/"), NO_FIELDS, Realm.LOCAL))
    with pytest.raises(OriginUnavailable):
        await origins.connect("example.com", 443)
    await origins.close()
