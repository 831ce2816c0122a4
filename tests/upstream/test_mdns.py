"""`ZeroconfLink` on the loopback interface, against python-zeroconf and a responder that breaks the rules.

Loopback carries multicast without special rights on Linux; where it does not, the tests are skipped and say so.
What needs a link to itself runs in a network namespace of its own, which takes root.
"""

from __future__ import annotations

import asyncio
import ctypes
import fcntl
import os
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import dns.name
import pytest
from zeroconf.asyncio import AsyncServiceInfo, AsyncZeroconf

from proxy.discovery.records.localservices import (
    SERVICE_TYPE,
    Browsed,
    LocalAgent,
    Service,
    UnusableService,
    read_service,
)
from proxy.upstream.mdns import ZeroconfLink
from tests.simulators.responder import (
    GROUP,
    LOOPBACK,
    Responder,
    address,
    announcement,
    goodbye,
    instance,
    location,
    multicast_socket,
    pointer,
    record,
    response,
    text,
)

Result = TypeVar("Result")
SECOND = 1.0
BROWSE = (dns.name.from_text(SERVICE_TYPE), "PTR")


@pytest.fixture(scope="module")
def multicast() -> None:
    """Loopback delivers a packet sent to the group."""
    try:
        with multicast_socket() as heard:
            heard.settimeout(1)
            heard.sendto(b"\0" * 12, GROUP)
            heard.recv(16)
    except OSError as error:
        pytest.skip(f"loopback carries no multicast here: {error}")


@asynccontextmanager
async def browsing(*interfaces: str) -> AsyncIterator[ZeroconfLink]:
    link = ZeroconfLink(interfaces or (LOOPBACK,))
    try:
        yield link
    finally:
        await link.close()


def named(browsed: Browsed, label: str) -> list[Service]:
    """Other tests may speak on the same link: only what bears the label counts."""
    return [service for service in browsed.services if service.name == f"{label}.{SERVICE_TYPE}"]


def agent(browsed: Browsed, label: str) -> LocalAgent | UnusableService:
    [service] = named(browsed, label)
    return read_service(service, browsed.links)


def own(name: str) -> str:
    """A label that no other process uses."""
    return f"{name} {os.getpid()}"


def own_host(name: str) -> str:
    return f"{name}-{os.getpid()}.local."


@asynccontextmanager
async def registered(*infos: AsyncServiceInfo) -> AsyncIterator[None]:
    zeroconf = AsyncZeroconf(interfaces=[LOOPBACK])
    try:
        for info in infos:
            await (await zeroconf.async_register_service(info, cooperating_responders=True))
        yield
    finally:
        await zeroconf.async_close()


def service_info(label: str, properties: dict[bytes, bytes]) -> AsyncServiceInfo:
    return AsyncServiceInfo(
        SERVICE_TYPE,
        f"{label}.{SERVICE_TYPE}",
        port=8443,
        properties=properties,
        server=own_host("registered"),
        parsed_addresses=[LOOPBACK, "10.1.2.3"],
    )


async def test_both_layouts_of_the_record(multicast: None) -> None:
    strings, one = own("Strings"), own("One. String")
    apart = {b"v": b"uaix1", b"Capabilities": b"L1", b"path": b"/agents/a.json"}
    together = {b"v": b"uaix1; capabilities=L3,L4"}
    async with registered(service_info(strings, apart), service_info(one, together)), browsing() as link:
        browsed = await link.browse()
    found = {label: agent(browsed, label) for label in (strings, one)}
    assert [(a.name, a.host, a.port, a.addresses) for a in found.values()] == [
        (strings, own_host("registered")[:-1], 8443, (LOOPBACK,)),
        (one, own_host("registered")[:-1], 8443, (LOOPBACK,)),
    ]
    assert [(a.path, a.capabilities) for a in found.values()] == [
        ("/agents/a.json", ("L1",)),
        ("/.well-known/uaix-agent-access.json", ("L3", "L4")),
    ]
    [lo] = browsed.links
    assert (lo.zone, [str(network) for network in lo.networks]) == (
        str(socket.if_nametoindex("lo")),
        ["127.0.0.0/8"],
    )
    assert all(100 <= service.ttl <= 120 for label in found for service in named(browsed, label))


async def test_names_that_no_instance_can_have_hide_no_other(multicast: None) -> None:
    good = own("Good")
    elsewhere = instance("x", dns.name.from_text("_http._tcp.local."))
    shouted = record(dns.name.from_text(SERVICE_TYPE.upper()), "PTR", instance(b"\xfe" * 63).to_text(), 4500)
    bad = [announcement(b"bell\x07"), announcement(b"\xff" * 63), response(pointer(elsewhere)), response(shouted)]
    async with Responder(*bad, announcement(good)) as responder, browsing() as link:
        first = await link.browse(SECOND)
        asked = responder.asked.count(BROWSE)
        await asyncio.sleep(0.2)  # the same question within a second is not asked (RFC 6762 §7.3)
        second = await link.browse(SECOND)
        again = responder.asked.count(BROWSE) - asked
    for browsed in (first, second):
        assert agent(browsed, good).port == 443
        assert not [service for service in browsed.services if "\ufffd" in service.name or "\x07" in service.name]
    assert asked and again


async def test_goodbye_removes(multicast: None) -> None:
    leaving, staying, returning = own("Leaving"), own("Staying"), own("Returning")
    packets = [announcement(label) for label in (leaving, staying, returning)]
    async with Responder(*packets) as responder, browsing() as link:
        browse = asyncio.get_running_loop().create_task(link.browse(SECOND))
        await asyncio.sleep(0.4)
        responder.packets = ()
        responder.send(goodbye(leaving))
        responder.send(goodbye(returning))
        responder.send(announcement(returning, port=444))
        browsed = await browse
        later = await link.browse(SECOND)
    for heard in (browsed, later):
        assert not named(heard, leaving) and named(heard, staying)
        assert agent(heard, returning).port == 444


MANY, OCTETS, BOOLEAN, FOREIGN = own("Many"), own("Octets"), own("Boolean"), own("Foreign")
MUTE, UNREACHABLE, ZONED = own("Mute"), own("Unreachable"), own("Zoned")
FULL = (b"v=uaix1", *(b"k%d=" % number for number in range(63)), b"capabilities=L3")
NO_HOST = dns.name.Name([b"\xff" * 63, b"local", b""]).to_text()


@pytest.fixture(scope="module")
def odd(multicast: None) -> Browsed:
    """What one browse makes of many that stray from the rules."""
    unreachable = instance(UNREACHABLE)
    packets = (
        announcement(MANY, strings=FULL),
        announcement(OCTETS, strings=(b"V=uaix1", b"did=\xff\xfe", b"=x", b"capabilities=L2")),
        announcement(BOOLEAN, strings=(b"v",)),
        announcement(FOREIGN, strings=(b"v=uaix2",)),
        announcement(b"caf\xe9"),
        response(pointer(instance(MUTE))),
        response(pointer(unreachable), location(unreachable, NO_HOST), text(unreachable, (b"v=uaix1",))),
        announcement(ZONED, own_host("zoned"), addresses=("fe80::5", "fd00::5", "10.0.0.5")),
    )

    async def work() -> Browsed:
        async with Responder(*packets), browsing() as link:
            return await link.browse(SECOND)

    return asyncio.run(work())


def test_a_record_of_too_many_attributes(odd: Browsed) -> None:
    crowded = agent(odd, MANY)
    assert (crowded.capabilities, [finding.rule for finding in crowded.problems]) == ((), ["MD-2"])


def test_a_record_that_is_no_text(odd: Browsed) -> None:
    garbled = agent(odd, OCTETS)
    assert (garbled.capabilities, [finding.path for finding in garbled.problems]) == (("L2",), ["/did"])


def test_records_of_others(odd: Browsed) -> None:
    assert agent(odd, BOOLEAN).reason == agent(odd, FOREIGN).reason == "version"


def test_a_name_in_another_encoding_is_an_instance_all_the_same(odd: Browsed) -> None:
    assert agent(odd, "caf\ufffd").name == "caf\ufffd"


def test_an_instance_that_never_says_where_it_is(odd: Browsed) -> None:
    assert not named(odd, MUTE) and not named(odd, UNREACHABLE)
    assert odd.problem is not None
    assert odd.problem.endswith(" announced instances did not say in time where they are.")


def test_an_address_of_the_one_link_gets_its_zone(odd: Browsed) -> None:
    [service] = named(odd, ZONED)
    assert set(service.addresses) == {f"fe80::5%{odd.links[0].zone}", "fd00::5", "10.0.0.5"}
    assert agent(odd, ZONED).reason == "address"


async def test_what_is_missing_is_asked_for(multicast: None) -> None:
    label, host = own("Asked"), own_host("asked")
    name = instance(label)
    rest = response(location(name, host), text(name, (b"v=uaix1",)), address(host, LOOPBACK))
    async with Responder(response(pointer(name))) as responder, browsing() as link:
        browse = asyncio.get_running_loop().create_task(link.browse(SECOND))
        await responder.hears(name, "SRV")
        responder.send(rest)
        assert agent(await browse, label).host == host[:-1]


async def test_a_short_ttl_of_its_pointer_keeps_nobody_alive(multicast: None) -> None:
    """MD-4: the PTR record is kept for 1125 s, the others run out."""
    label = own("Brief")
    async with Responder(announcement(label, own_host("brief"), ttl=1)) as responder, browsing() as link:
        [service] = named(await link.browse(SECOND), label)
        assert service.ttl <= 1
        responder.packets = ()
        await asyncio.sleep(0.5)
        assert not named(await link.browse(SECOND), label)


async def test_a_later_record_replaces_an_earlier_one(multicast: None) -> None:
    label, host = own("Moving"), own_host("moving")
    name = instance(label)
    async with Responder(announcement(label, host, port=443)) as responder, browsing() as link:
        assert agent(await link.browse(SECOND), label).addresses == (LOOPBACK,)
        await asyncio.sleep(0.2)  # what is not yet a second old is not replaced (RFC 6762 §10.2)
        responder.packets = ()
        responder.send(response(location(name, host, 444), address(host, "127.0.0.2"), flush=True))
        moved = agent(await link.browse(1.5), label)
    assert (moved.port, moved.addresses) == (444, ("127.0.0.2",))


async def test_browses_share_a_window_and_outlive_a_caller(multicast: None) -> None:
    label = own("Shared")
    async with Responder(announcement(label)), browsing() as link:
        loop = asyncio.get_running_loop()
        start = loop.time()
        impatient = loop.create_task(link.browse(SECOND))
        patient = loop.create_task(link.browse(3 * SECOND))
        await asyncio.sleep(0.2)
        impatient.cancel()
        late = await link.browse(SECOND)
        assert await patient is late and named(late, label)
        assert loop.time() - start < 2


async def test_the_window_is_bounded_both_ways(multicast: None) -> None:
    async def lasting(seconds: float) -> float:
        async with browsing() as link:
            start = asyncio.get_running_loop().time()
            await link.browse(seconds)
            return asyncio.get_running_loop().time() - start

    least, most = await asyncio.gather(lasting(0), lasting(3600))
    assert 1 <= least < 2 and 3 <= most < 4


async def test_closing_ends_a_browse_with_what_it_heard(multicast: None) -> None:
    label = own("Closing")
    async with Responder(announcement(label)):
        link = ZeroconfLink((LOOPBACK,))
        browse = asyncio.get_running_loop().create_task(link.browse(3 * SECOND))
        await asyncio.sleep(0.5)
        async with asyncio.timeout(1):
            await link.close()
            assert named(await browse, label)
        assert await link.browse() == Browsed((), "Browsing has ended.")
        await link.close()


async def test_closing_what_was_never_opened() -> None:
    await ZeroconfLink().close()


async def test_no_such_interface_is_told_at_once() -> None:
    async with browsing("nosuch0", "192.0.2.254") as link, asyncio.timeout(0.5):
        browsed = await link.browse()
    assert browsed == Browsed((), "No multicast DNS: no interface to browse on has an address.")


async def test_an_interface_too_many_is_told(multicast: None) -> None:
    async with browsing("nosuch0", "lo") as link:
        browsed = await link.browse(SECOND)
    assert [place.name for place in browsed.links] == ["lo"]
    assert browsed.problem == "There is no interface nosuch0."


CLONE_NEWNET = 0x40000000
SIOCSIFFLAGS = 0x8914


def in_namespace(work: Callable[[], Awaitable[Result]]) -> Result:
    """Run `work` in a thread that has a network of its own, its loopback interface down."""
    libc = ctypes.CDLL(None, use_errno=True)

    def run() -> Result:
        if libc.unshare(CLONE_NEWNET) != 0:
            raise PermissionError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return asyncio.run(work())  # type: ignore[arg-type]

    with ThreadPoolExecutor(1) as pool:
        try:
            return pool.submit(run).result()
        except PermissionError as error:
            pytest.skip(f"a network namespace needs rights that are not given here: {error}")


def loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", 0x41))


def no_more_groups() -> None:
    Path("/proc/sys/net/ipv4/igmp_max_memberships").write_text("0")


def test_without_an_interface_nothing_waits_and_one_that_comes_is_used() -> None:
    async def work() -> tuple[Browsed, Browsed, Browsed]:
        everywhere = ZeroconfLink()
        async with browsing("lo") as link:
            async with asyncio.timeout(0.5):
                before, all_before = await link.browse(), await everywhere.browse()
            loopback_up()
            async with Responder(announcement("Agent")):
                return before, all_before, await link.browse(SECOND)

    before, all_before, after = in_namespace(work)
    assert before == all_before == Browsed((), "No multicast DNS: no interface to browse on has an address.")
    assert agent(after, "Agent").port == 443


def test_a_host_without_room_for_another_group() -> None:
    async def work() -> Browsed:
        loopback_up()
        no_more_groups()
        async with browsing() as link:
            return await link.browse()

    assert in_namespace(work) == Browsed((), "No multicast DNS: no interface takes part in multicast.")


# What zeroconf could not bind it leaves to the collector.
@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
def test_a_port_that_another_holds_alone() -> None:
    async def work() -> Browsed:
        loopback_up()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
            taken.bind(("", GROUP[1]))
            async with browsing() as link:
                return await link.browse()

    assert in_namespace(work) == Browsed((), "No multicast DNS: Address already in use.")


def test_more_instances_than_count() -> None:
    labels = [f"Agent {number}" for number in range(70)]

    async def work() -> Browsed:
        loopback_up()
        async with Responder(*map(announcement, labels)), browsing() as link:
            return await link.browse(SECOND)

    browsed = in_namespace(work)
    assert len(browsed.services) == 64
    assert browsed.problem == "Only the first 64 instances count."
