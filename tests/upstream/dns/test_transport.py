"""One exchange with one resolver, over every transport and with every kind of misbehaviour."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Sequence
from pathlib import Path

import dns.flags
import dns.message
import dns.rcode
import pytest

from proxy.metering import Meter, current_meter
from proxy.upstream.dns.failure import DnsFailure, DnsReason
from proxy.upstream.dns.resolvers import Resolver, Transport
from proxy.upstream.dns.transport import exchange
from tests.simulators.nameserver import Query, Reply, ScriptedNameserver, failing, records, silence
from tests.simulators.wire import Authority

UDP, TCP, TLS = Transport.UDP, Transport.TCP, Transport.TLS
NAME = "_agent.example.com"
GOOD = records(f'{NAME}. 300 IN TXT "v=uaix1"')
# What ends by itself is given more time than a busy machine takes; what only the clock ends, no more than it needs.
AMPLE, SHORT = 10.0, 1.0
LONG = records(f"{NAME}. 300 IN TXT " + " ".join(['"' + "x" * 255 + '"'] * 20))


def asked(size: int | None = 1232) -> dns.message.Message:
    return dns.message.make_query(NAME, "TXT", use_edns=0, payload=size)


def first(query: Query) -> bytes:
    """The good answer's octets."""
    [octets] = GOOD(query, "tcp")
    return octets


async def ask(
    reply: Reply,
    transport: Transport = UDP,
    seconds: float = AMPLE,
    query: dns.message.Message | None = None,
) -> tuple[dns.message.Message, ScriptedNameserver, Meter]:
    """One exchange with a server that gives `reply`."""
    async with ScriptedNameserver({(NAME, "TXT"): reply}) as server:
        meter = Meter()
        token = current_meter.set(meter)
        try:
            response = await exchange(query or asked(), Resolver("127.0.0.1", server.port), transport, seconds)
        finally:
            current_meter.reset(token)
        return response, server, meter


async def refusal(reply: Reply, transport: Transport = UDP, seconds: float = AMPLE) -> DnsReason:
    with pytest.raises(DnsFailure) as caught:
        await ask(reply, transport, seconds)
    return caught.value.reason


@pytest.mark.parametrize("transport", [UDP, TCP])
@pytest.mark.parametrize("rcode", [dns.rcode.NOERROR, dns.rcode.SERVFAIL, dns.rcode.REFUSED, dns.rcode.NXDOMAIN])
async def test_any_rcode_is_a_response(transport: Transport, rcode: dns.rcode.Rcode) -> None:
    response, server, meter = await ask(failing(rcode), transport)
    assert response.rcode() == rcode
    assert [asked.transport for asked in server.asked] == [transport.value]
    assert (meter.dns_queries, meter.bytes_sent, meter.bytes_received) == (1, server.octets_in, server.octets_out)


async def test_too_long_for_udp() -> None:
    response, server, meter = await ask(LONG)
    assert len(response.answer[0][0].strings) == 20
    assert [asked.transport for asked in server.asked] == ["udp", "tcp"]
    assert (meter.dns_queries, meter.bytes_sent, meter.bytes_received) == (2, server.octets_in, server.octets_out)


async def test_the_longest_message() -> None:
    strings = " ".join(['"' + "x" * 255 + '"'] * 127)
    huge = records(*(f"{NAME}. 300 IN TXT {strings} {number}" for number in range(2)))
    response, server, meter = await ask(huge, TCP)
    assert len(response.answer[0]) == 2 and meter.bytes_received == server.octets_out > 65_000


def damaged(change: str) -> Reply:
    def reply(query: Query, transport: str) -> Sequence[bytes]:
        good = first(query)
        other = dns.message.make_query("example.org", "TXT", id=query.id)
        match change:
            case "other id":
                return [bytes([good[0] ^ 1]) + good[1:]]
            case "other name":
                return [dns.message.make_response(other).to_wire()]
            case "garbage":
                return [good[:2] + b"\xff" * 40]
            case "too short":
                return [b"\0"]
            case "answer cut off":
                return [good[:-3]]
            case _:
                return [query.to_wire()]

    return reply


DAMAGES = {
    "other id": DnsReason.OTHER_QUESTION,
    "other name": DnsReason.OTHER_QUESTION,
    "garbage": DnsReason.OTHER_QUESTION,
    "too short": DnsReason.MALFORMED,
    "answer cut off": DnsReason.MALFORMED,
    "the query itself": DnsReason.OTHER_QUESTION,
}


@pytest.mark.parametrize("transport", [UDP, TCP])
@pytest.mark.parametrize(("change", "reason"), DAMAGES.items(), ids=DAMAGES)
async def test_no_answer_to_the_question(transport: Transport, change: str, reason: DnsReason) -> None:
    # A datagram that answers something else is passed over until the time is up.
    ends_by_clock = transport is UDP and reason is DnsReason.OTHER_QUESTION
    assert await refusal(damaged(change), transport, SHORT if ends_by_clock else AMPLE) is reason


@pytest.mark.parametrize("change", ["other id", "other name", "garbage", "the query itself"])
async def test_the_right_answer_after_a_wrong_one(change: str) -> None:
    def reply(query: Query, transport: str) -> Sequence[bytes]:
        return [*damaged(change)(query, transport), first(query)]

    response, server, meter = await ask(reply)
    assert response.answer and meter.bytes_received == server.octets_out


async def test_case_changed() -> None:
    def reply(query: Query, transport: str) -> Sequence[bytes]:
        return [first(query).replace(b"\x06_agent", b"\x06_AGENT", 1)]

    response, _, _ = await ask(reply)
    assert response.answer


async def test_from_another_address() -> None:
    """A datagram that guesses port, id and question, but comes from elsewhere."""
    loop = asyncio.get_running_loop()
    asker: list[tuple[str, int]] = []

    class Server(asyncio.DatagramProtocol):
        def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
            asker.append(addr)
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as forger:
                forger.sendto(first(dns.message.from_wire(data)), addr)

    transport, _ = await loop.create_datagram_endpoint(Server, local_addr=("127.0.0.1", 0))
    port = transport.get_extra_info("sockname")[1]
    with pytest.raises(DnsFailure) as caught:
        await exchange(asked(), Resolver("127.0.0.1", port), UDP, SHORT)
    transport.abort()
    assert caught.value.reason is DnsReason.TIMEOUT and len(asker) == 1


async def test_a_flood() -> None:
    def reply(query: Query, transport: str) -> Sequence[bytes]:
        return [*damaged("other id")(query, transport)] * 500

    assert await refusal(reply, UDP, SHORT) is DnsReason.OTHER_QUESTION


@pytest.mark.parametrize("transport", [UDP, TCP])
async def test_silence(transport: Transport) -> None:
    assert await refusal(silence, transport, 0.1) is DnsReason.TIMEOUT


async def test_no_time_at_all() -> None:
    assert await refusal(GOOD, UDP, -1.0) is DnsReason.TIMEOUT


@pytest.mark.parametrize("transport", [UDP, TCP])
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
async def test_nobody_there(transport: Transport, host: str) -> None:
    async with ScriptedNameserver({}) as server:
        port = server.port
    with pytest.raises(DnsFailure) as caught:
        await exchange(asked(), Resolver(host, port), transport, AMPLE)
    assert caught.value.reason is DnsReason.UNREACHABLE


async def test_truncated_over_tcp() -> None:
    assert await refusal(records(flags=dns.flags.TC), TCP) is DnsReason.TRUNCATED
    assert await refusal(records(flags=dns.flags.TC), UDP) is DnsReason.TRUNCATED


ENDINGS = {
    "at once": (b"", DnsReason.UNREACHABLE),
    "in the length": (b"\0", DnsReason.UNREACHABLE),
    "in the message": (b"\0\x40" + b"x" * 10, DnsReason.TRUNCATED),
}


@pytest.mark.parametrize(("octets", "reason"), ENDINGS.values(), ids=ENDINGS)
async def test_connection_closed(octets: bytes, reason: DnsReason) -> None:
    async def close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(2 + len(asked().to_wire()))
        writer.write(octets)
        writer.close()

    server = await asyncio.start_server(close, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(DnsFailure) as caught:
            await exchange(asked(), Resolver("127.0.0.1", port), TCP, AMPLE)
    assert caught.value.reason is reason


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority()


NAMES = {
    "name": (("dns.example",), "dns.example", None),
    "address": (("127.0.0.1",), None, None),
    "name of somebody else": (("dns.example.org",), "dns.example", DnsReason.UNREACHABLE),
    "address not in the certificate": (("dns.example",), None, DnsReason.UNREACHABLE),
}


@pytest.mark.parametrize(("names", "wanted", "reason"), NAMES.values(), ids=NAMES)
async def test_tls(
    authority: Authority, tmp_path: Path, names: tuple[str, ...], wanted: str | None, reason: DnsReason | None
) -> None:
    trusted = ssl.create_default_context(cafile=str(authority.write(tmp_path / "ca.pem")))
    async with ScriptedNameserver({(NAME, "TXT"): LONG}, tls=authority.server(*names)) as server:
        resolver = Resolver("127.0.0.1", server.port, wanted)
        if reason is None:
            response = await exchange(asked(), resolver, TLS, AMPLE, trusted)
            assert len(response.answer[0][0].strings) == 20 and server.count(NAME, "TXT") == 1
            return
        with pytest.raises(DnsFailure) as caught:
            await exchange(asked(), resolver, TLS, AMPLE, trusted)
        assert caught.value.reason is reason and not server.asked


async def test_tls_with_an_unknown_authority(authority: Authority) -> None:
    async with ScriptedNameserver({}, tls=authority.server("127.0.0.1")) as server:
        with pytest.raises(DnsFailure) as caught:
            resolver = Resolver("127.0.0.1", server.port)
            await exchange(asked(), resolver, TLS, AMPLE, ssl.create_default_context())
    assert caught.value.reason is DnsReason.UNREACHABLE and "TLS" in caught.value.detail


async def test_nothing_is_counted_without_a_meter() -> None:
    async with ScriptedNameserver({(NAME, "TXT"): GOOD}) as server:
        assert (await exchange(asked(), Resolver("127.0.0.1", server.port), UDP, AMPLE)).answer


async def test_cancelled() -> None:
    async with ScriptedNameserver({(NAME, "TXT"): silence}) as server:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await exchange(asked(), Resolver("127.0.0.1", server.port), UDP, 5.0)
