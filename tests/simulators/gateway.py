"""A trustless IPFS gateway on a loopback socket: blocks and IPNS records, served honestly or as a test wants it.

    async with TrustlessGateway(tls=authority.server("gateway.test", "*.ipfs.gateway.test")) as gateway:
        gateway.add_car(path)
        cid = gateway.add_file(b"...")
        gateway.behave(wrong_bytes)              # for everything
        gateway.behave(status(429), cid)         # for one block
        ...  # ask 127.0.0.1:{gateway.port} for /ipfs/{cid}?format=raw
        assert gateway.asked == [f"/ipfs/{cid.text}"]

A behaviour is a function of the request and of the octets that an honest gateway would send. Blocks are found by
their hash, so any text of an identifier will do, in the path or as a subdomain (CID.ipfs.HOST).
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from aiohttp import web
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from proxy.http.timestamps import timestamp
from proxy.trust.content.cid import IDENTITY, Cid, decode_cid, parse_cid
from proxy.trust.content.ipns import IpnsName, parse_name
from proxy.trust.content.protobuf import to_field
from proxy.trust.content.unixfs import add_file
from proxy.trust.content.varints import read_varint
from proxy.trust.signatures import base58

RAW_TYPE = "application/vnd.ipld.raw"
RECORD_TYPE = "application/vnd.ipfs.ipns-record"
_KEY_PREFIX = b"\x08\x01\x12\x20"

Behaviour = Callable[[web.Request, bytes], Awaitable[web.StreamResponse]]


async def honest(request: web.Request, octets: bytes) -> web.StreamResponse:
    """What was asked for, with the media type that goes with it."""
    is_record = request.path.startswith("/ipns/")
    fields = {"Cache-Control": "public, max-age=60" if is_record else "public, max-age=29030400, immutable"}
    return web.Response(body=octets, content_type=RECORD_TYPE if is_record else RAW_TYPE, headers=fields)


async def wrong_bytes(request: web.Request, octets: bytes) -> web.StreamResponse:
    """As many octets of the same type, but others."""
    return await honest(request, bytes(octet ^ 1 for octet in octets) or b"\0")


async def shortened(request: web.Request, octets: bytes) -> web.StreamResponse:
    """A complete answer with half of the octets."""
    return await honest(request, octets[: len(octets) // 2])


async def wrong_type(request: web.Request, octets: bytes) -> web.StreamResponse:
    """The right octets as something to download."""
    return web.Response(body=octets, content_type="application/octet-stream")


async def html(request: web.Request, octets: bytes) -> web.StreamResponse:
    """A page for people."""
    return web.Response(text="<!doctype html><title>Gateway</title>", content_type="text/html")


async def truncated(request: web.Request, octets: bytes) -> web.StreamResponse:
    """A 200 that says how long it is and breaks off half-way."""
    response = web.StreamResponse(headers={"Content-Type": RAW_TYPE, "Content-Length": str(len(octets) + 1)})
    await response.prepare(request)
    await response.write(octets[: len(octets) // 2])
    assert request.transport is not None
    request.transport.close()
    return response


async def endless(request: web.Request, octets: bytes) -> web.StreamResponse:
    """A 200 that never ends."""
    response = web.StreamResponse(headers={"Content-Type": RAW_TYPE})
    await response.prepare(request)
    while request.transport is not None and not request.transport.is_closing():
        await response.write(bytes(2**16))
        await asyncio.sleep(0)  # a write need not wait, and the client's leaving has to be heard of
    return response


def status(code: int, **fields: str) -> Behaviour:
    """An error, with fields such as Retry_After."""

    async def answer(request: web.Request, octets: bytes) -> web.StreamResponse:
        headers = {name.replace("_", "-"): value for name, value in fields.items()}
        return web.Response(status=code, text="No.", headers=headers)

    return answer


def slow(seconds: float, then: Behaviour = honest) -> Behaviour:
    """An answer that lets itself be waited for."""

    async def answer(request: web.Request, octets: bytes) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return await then(request, octets)

    return answer


def redirect(location: str) -> Behaviour:
    """A redirection; {cid} and {authority} in `location` stand for what was asked for and of whom."""

    async def answer(request: web.Request, octets: bytes) -> web.StreamResponse:
        name, authority = request.path.rpartition("/")[2], request.host
        target = location.replace("{cid}", name).replace("{authority}", authority)
        return web.Response(status=301, headers={"Location": target})

    return answer


async def to_subdomain(request: web.Request, octets: bytes) -> web.StreamResponse:
    """A redirection to the form CID.ipfs.HOST, where the answer is honest."""
    if ".ipfs." in request.host:
        return await honest(request, octets)
    move = redirect(f"{request.scheme}://{{cid}}.ipfs.{{authority}}/?{request.query_string}")
    return await move(request, octets)


class TrustlessGateway:
    """See the module's text. `asked` holds the path of each request, `requests` the whole requests."""

    def __init__(self, *, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> None:
        self.host = host
        self.port = 0
        self.requests: list[web.Request] = []
        self._tls = tls
        self._blocks: dict[tuple[int, bytes], bytes] = {}
        self._records: dict[str, bytes] = {}
        self._behaviour: Behaviour = honest
        self._behaviours: dict[bytes, Behaviour] = {}

    @property
    def url(self) -> str:
        """The gateway by its address: "http://127.0.0.1:4711"."""
        return f"{'http' if self._tls is None else 'https'}://{self.host}:{self.port}"

    @property
    def asked(self) -> list[str]:
        return [request.path for request in self.requests]

    def add_car(self, path: Path) -> None:
        """Serve the blocks of a CAR file."""
        for cid, octets in read_car(path.read_bytes()):
            self.add_block(cid, octets)

    def add_block(self, cid: Cid, octets: bytes) -> None:
        self._blocks[cid.hash_function, cid.digest] = octets

    def add_file(self, octets: bytes) -> Cid:
        """Serve a file, in as many blocks as it takes."""
        cid, blocks = add_file(octets)
        for block in blocks:
            self.add_block(*block)
        return cid

    def add_record(self, name: str, record: bytes) -> None:
        """Serve an IPNS record under its name."""
        self._records[parse_name(name).text] = record

    def behave(self, behaviour: Behaviour, cid: Cid | None = None) -> None:
        """Behave so from now on, for everything or for one block."""
        if cid is None:
            self._behaviour = behaviour
        else:
            self._behaviours[cid.digest] = behaviour

    async def __aenter__(self) -> Self:
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(application, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, self.host, 0, ssl_context=self._tls).start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request)
        if request.path.startswith("/ipns/"):
            return await self._answer_record(request)
        if not _asks_for(request, "raw", RAW_TYPE):
            return web.Response(status=406, text="This gateway has raw blocks only.")
        subdomain, dot, _ = request.host.partition(".ipfs.")
        try:
            cid = parse_cid(subdomain if dot else request.path.removeprefix("/ipfs/"))
        except ValueError:
            return web.Response(status=400, text="No content identifier.")
        octets = cid.digest if cid.hash_function == IDENTITY else self._blocks.get((cid.hash_function, cid.digest))
        behaviour = self._behaviours.get(cid.digest, self._behaviour)
        if octets is None and behaviour is honest:
            return web.Response(status=404, text="Not here.")
        return await behaviour(request, octets or b"")

    async def _answer_record(self, request: web.Request) -> web.StreamResponse:
        if not _asks_for(request, "ipns-record", RECORD_TYPE):
            return web.Response(status=406, text="This gateway has records only.")
        record = self._records.get(parse_name(request.path.removeprefix("/ipns/")).text)
        if record is None and self._behaviour is honest:
            return web.Response(status=404, text="Not here.")
        return await self._behaviour(request, record or b"")


def _asks_for(request: web.Request, form: str, media_type: str) -> bool:
    return request.query.get("format") == form and request.headers.get("Accept") == media_type


def read_car(octets: bytes) -> Iterator[tuple[Cid, bytes]]:
    """The blocks of a CAR (version 1) in its order; its header is passed over, no hash is checked."""
    length, position = read_varint(octets, 0)
    position += length
    while position < len(octets):
        length, position = read_varint(octets, position)
        section, position = octets[position : position + length], position + length
        size = _cid_length(section)
        yield decode_cid(section[:size]), section[size:]


def _cid_length(section: bytes) -> int:
    if section.startswith(b"\x12\x20"):
        return 34
    position = 0
    for _ in range(4):
        number, position = read_varint(section, position)
    return position + number


def ipns_name(key: Ed25519PrivateKey) -> IpnsName:
    """The name of a key."""
    return parse_name(base58.encode(b"\x00\x24" + _KEY_PREFIX + key.public_key().public_bytes_raw()))


def ipns_record(
    key: Ed25519PrivateKey, value: str, *, sequence: int = 1, valid_until: float, ttl_seconds: int = 300
) -> bytes:
    """A record by which the holder of a key says what its name stands for; `valid_until` in Unix seconds."""
    data = cbor(
        {
            "TTL": ttl_seconds * 10**9,
            "Value": value.encode(),
            "Sequence": sequence,
            "Validity": timestamp(valid_until, "microseconds").encode(),
            "ValidityType": 0,
        }
    )
    return to_field(8, key.sign(b"ipns-signature:" + data)) + to_field(9, data)


def cbor(value: int | bytes | str | dict[str, int | bytes]) -> bytes:
    """CBOR (RFC 8949) of what the data of a record is made of, in the order given."""
    match value:
        case int():
            return _cbor_head(0, value)
        case bytes():
            return _cbor_head(2, len(value)) + value
        case str():
            return _cbor_head(3, len(value.encode())) + value.encode()
        case dict():
            return _cbor_head(5, len(value)) + b"".join(cbor(key) + cbor(one) for key, one in value.items())


def _cbor_head(kind: int, argument: int) -> bytes:
    if argument < 24:
        return bytes([kind << 5 | argument])
    size = next(size for size in (1, 2, 4, 8) if argument < 1 << 8 * size)
    return bytes([kind << 5 | 23 + size.bit_length()]) + argument.to_bytes(size, "big")
