"""Content codings, undone (RFC 9110 §8.4): gzip (RFC 1952), deflate (RFC 1950 and, as deployed, 1951).

A cut stream is told from a whole one by the coding itself, whatever the framing said. Work goes chunk by
chunk, so memory is bounded by the limit and not by what a small body can expand to.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import StrEnum
from itertools import chain
from typing import Final

from proxy.http.fields import split_list

# Real responses carry one coding; each more is work that a peer can ask for with a few octets.
MAX_CODINGS: Final = 4

_INPUT_CHUNK: Final = 4 * 1024
_OUTPUT_CHUNK: Final = 64 * 1024

# zlib's `wbits`: which wrapper it expects around the deflate stream.
_RAW: Final = -zlib.MAX_WBITS
_ZLIB: Final = zlib.MAX_WBITS
_GZIP: Final = 16 + zlib.MAX_WBITS
_GZIP_FIRST_OCTET: Final = 0x1F


class CodingFault(StrEnum):
    """Why a body cannot be decoded."""

    UNKNOWN_CODING = "unknown-coding"
    TOO_MANY_CODINGS = "too-many-codings"
    TRUNCATED = "truncated"
    CORRUPT = "corrupt"
    TRAILING_DATA = "trailing-data"
    TOO_LARGE = "too-large"


class _Undecodable(Exception):
    def __init__(self, fault: CodingFault) -> None:
        super().__init__(fault)
        self.fault = fault


def decode_body(content_encoding: str | None, body: bytes, max_bytes: int) -> bytes | CodingFault:
    """The body without its codings, at most `max_bytes` long, or why there is none.

    `content_encoding` is the combined field value. Every intermediate result has to keep within `max_bytes`
    too. An empty body has nothing to undo: servers label those with the coding they would have used.
    """
    try:
        return b"".join(_decoded(content_encoding, body, max_bytes))
    except _Undecodable as error:
        return error.fault


def is_complete(content_encoding: str | None, body: bytes, max_bytes: int) -> CodingFault | None:
    """None where `decode_body` gives a body, else its fault; keeps no output."""
    try:
        for _ in _decoded(content_encoding, body, max_bytes):
            pass
    except _Undecodable as error:
        return error.fault
    return None


def _decoded(content_encoding: str | None, body: bytes, max_bytes: int) -> Iterator[bytes]:
    codings = [coding for coding in split_list((content_encoding or "").lower()) if coding != "identity"]
    if len(codings) > MAX_CODINGS:
        raise _Undecodable(CodingFault.TOO_MANY_CODINGS)
    if not _UNDO.keys() >= set(codings):
        raise _Undecodable(CodingFault.UNKNOWN_CODING)
    chunks = (body[start : start + _INPUT_CHUNK] for start in range(0, len(body), _INPUT_CHUNK))
    if not codings or not body:
        return _bounded(chunks, max_bytes)
    stream: Iterator[bytes] = chunks
    # Listed in the order in which they were applied (RFC 9110 §8.4).
    for coding in reversed(codings):
        stream = _bounded(_UNDO[coding](stream), max_bytes)
    return stream


def _bounded(chunks: Iterable[bytes], max_bytes: int) -> Iterator[bytes]:
    total = 0
    for chunk in chunks:
        total += len(chunk)
        if total > max_bytes:
            raise _Undecodable(CodingFault.TOO_LARGE)
        yield chunk


def _ungzipped(chunks: Iterator[bytes]) -> Iterator[bytes]:
    return _inflated(chunks, _GZIP)


def _undeflated(chunks: Iterator[bytes]) -> Iterator[bytes]:
    head = b""
    for chunk in chunks:
        head += chunk
        if len(head) >= 2:
            break
    return _inflated(chain((head,), chunks), _ZLIB if _is_zlib(head) else _RAW)


_UNDO: Final[Mapping[str, Callable[[Iterator[bytes]], Iterator[bytes]]]] = {
    "gzip": _ungzipped,
    "x-gzip": _ungzipped,
    "deflate": _undeflated,
}


def _is_zlib(head: bytes) -> bool:
    """RFC 1950 §2.2: method 8, a possible window, check bits. No compressor starts a bare stream so."""
    return len(head) >= 2 and head[0] & 0x0F == 8 and head[0] >> 4 <= 7 and (head[0] << 8 | head[1]) % 31 == 0


def _inflated(chunks: Iterable[bytes], wbits: int) -> Iterator[bytes]:
    inflater = zlib.decompressobj(wbits)
    for chunk in chunks:
        rest = chunk
        while rest:
            if inflater.eof:
                # Only gzip may go on, with another member (RFC 1952 §2.2).
                if wbits != _GZIP or rest[0] != _GZIP_FIRST_OCTET:
                    raise _Undecodable(CodingFault.TRAILING_DATA)
                inflater = zlib.decompressobj(wbits)
            yield _inflate(inflater, rest)
            rest = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
    # All input may be taken while output is still held back by the chunk size.
    while not inflater.eof:
        output = _inflate(inflater, b"")
        if not output and not inflater.eof:
            raise _Undecodable(CodingFault.TRUNCATED)
        yield output


def _inflate(inflater: "zlib._Decompress", data: bytes) -> bytes:
    try:
        return inflater.decompress(data, _OUTPUT_CHUNK)
    except zlib.error:
        raise _Undecodable(CodingFault.CORRUPT) from None
