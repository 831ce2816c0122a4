"""Content codings undone: whole, cut, damaged, oversized (RFC 9110 §8.4; RFC 1950, 1951, 1952)."""

import gzip
import hashlib
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.http.codings import MAX_CODINGS, CodingFault, decode_body, is_complete

LIMIT = 1 << 20
TEXT = b'{"name": "quote"}' * 40


def raw_deflate(body: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return compressor.compress(body) + compressor.flush()


def gzip_stream(body: bytes) -> bytes:
    return gzip.compress(body, mtime=0)


def noise(size: int) -> bytes:
    """Incompressible octets, the same in every run."""
    return hashlib.shake_128(b"noise").digest(size)


def check(coding: str | None, body: bytes, limit: int = LIMIT) -> bytes | CodingFault:
    """The result of `decode_body`, after holding `is_complete` to the same verdict."""
    result = decode_body(coding, body, limit)
    fault = is_complete(coding, body, limit)
    assert fault == (result if isinstance(result, CodingFault) else None)
    return result


DECODED = [
    ("none", None, TEXT),
    ("empty value", "", TEXT),
    ("identity", "identity", TEXT),
    ("identity with gzip", "identity, gzip", gzip_stream(TEXT)),
    ("gzip", "gzip", gzip_stream(TEXT)),
    ("x-gzip", "x-gzip", gzip_stream(TEXT)),
    ("case and space", " GZip ", gzip_stream(TEXT)),
    ("empty elements", ", gzip ,", gzip_stream(TEXT)),
    ("gzip, several members", "gzip", gzip_stream(TEXT[:100]) + gzip_stream(b"") + gzip_stream(TEXT[100:])),
    ("deflate with zlib header", "deflate", zlib.compress(TEXT)),
    ("deflate, small window", "deflate", zlib.compress(TEXT, wbits=9)),
    ("deflate, no compression", "deflate", zlib.compress(TEXT, 0)),
    ("bare deflate", "deflate", raw_deflate(TEXT)),
    ("gzip then deflate", "gzip, deflate", zlib.compress(gzip_stream(TEXT))),
    ("deflate then gzip", "deflate, gzip", gzip_stream(raw_deflate(TEXT))),
    (
        "as many as allowed",
        ", ".join(["gzip"] * MAX_CODINGS),
        gzip_stream(gzip_stream(gzip_stream(gzip_stream(TEXT)))),
    ),
]


@pytest.mark.parametrize(("name", "coding", "body"), DECODED, ids=[row[0] for row in DECODED])
def test_decoded(name: str, coding: str | None, body: bytes) -> None:
    assert check(coding, body) == TEXT, name


@pytest.mark.parametrize("coding", [None, "gzip", "deflate", "gzip, deflate"])
def test_empty_body_has_nothing_to_undo(coding: str | None) -> None:
    assert check(coding, b"") == b""


BAD_CHECKSUM = gzip_stream(TEXT)[:-8] + b"\x00" * 4 + gzip_stream(TEXT)[-4:]

FAULTS = [
    ("br", "br", b"x", "unknown-coding"),
    ("zstd", "zstd", b"x", "unknown-coding"),
    ("compress", "x-compress", b"x", "unknown-coding"),
    ("one unknown among known", "br, gzip", gzip_stream(TEXT), "unknown-coding"),
    ("unknown, empty body", "br", b"", "unknown-coding"),
    ("one coding too many", ", ".join(["gzip"] * (MAX_CODINGS + 1)), b"x", "too-many-codings"),
    ("gzip without its trailer", "gzip", gzip_stream(TEXT)[:-8], "truncated"),
    ("gzip one octet short", "gzip", gzip_stream(TEXT)[:-1], "truncated"),
    ("gzip header only", "gzip", gzip_stream(TEXT)[:10], "truncated"),
    ("gzip, second member cut", "gzip", gzip_stream(TEXT) + gzip_stream(TEXT)[:-1], "truncated"),
    ("zlib one octet short", "deflate", zlib.compress(TEXT)[:-1], "truncated"),
    ("bare deflate one octet short", "deflate", raw_deflate(TEXT)[:-1], "truncated"),
    ("inner layer cut", "gzip, deflate", zlib.compress(gzip_stream(TEXT)[:-1]), "truncated"),
    ("inner layer empty", "gzip, deflate", zlib.compress(b""), "truncated"),
    ("not gzip", "gzip", TEXT, "corrupt"),
    ("gzip checksum", "gzip", BAD_CHECKSUM, "corrupt"),
    ("zlib checksum", "deflate", zlib.compress(TEXT)[:-1] + b"\x00", "corrupt"),
    ("not deflate", "deflate", b"\xff\xff\xff", "corrupt"),
    ("gzip labelled deflate", "deflate", gzip_stream(TEXT), "corrupt"),
    ("wrong order", "deflate, gzip", zlib.compress(gzip_stream(TEXT)), "corrupt"),
    ("text after gzip", "gzip", gzip_stream(TEXT) + b"x", "trailing-data"),
    ("zeros after gzip", "gzip", gzip_stream(TEXT) + b"\x00" * 9000, "trailing-data"),
    ("text after zlib", "deflate", zlib.compress(TEXT) + b"x", "trailing-data"),
    ("second zlib stream", "deflate", zlib.compress(TEXT) * 2, "trailing-data"),
    ("text after bare deflate", "deflate", raw_deflate(TEXT) + b"x", "trailing-data"),
]


@pytest.mark.parametrize(("name", "coding", "body", "fault"), FAULTS, ids=[row[0] for row in FAULTS])
def test_faults(name: str, coding: str, body: bytes, fault: str) -> None:
    assert check(coding, body) == CodingFault(fault), name


ZEROS = b"\x00" * (32 << 20)

LIMITS = [
    ("plain at the limit", None, TEXT, len(TEXT), True),
    ("plain over", None, TEXT, len(TEXT) - 1, False),
    ("gzip at the limit", "gzip", gzip_stream(TEXT), len(TEXT), True),
    ("gzip over", "gzip", gzip_stream(TEXT), len(TEXT) - 1, False),
    ("incompressible, larger than the limit while coded", "gzip", gzip_stream(b"a"), 1, True),
    ("bomb", "gzip", gzip_stream(ZEROS), LIMIT, False),
    ("bomb in deflate", "deflate", raw_deflate(ZEROS), LIMIT, False),
    ("bomb in a bomb", "gzip, gzip", gzip_stream(gzip_stream(ZEROS)), LIMIT, False),
    ("intermediate over", "gzip, gzip", gzip_stream(gzip_stream(b"")), 1, False),
    ("nothing allowed", None, b"x", 0, False),
]


@pytest.mark.parametrize(("name", "coding", "body", "limit", "fits"), LIMITS, ids=[row[0] for row in LIMITS])
def test_limit(name: str, coding: str | None, body: bytes, limit: int, fits: bool) -> None:
    result = check(coding, body, limit)
    assert isinstance(result, bytes) if fits else result is CodingFault.TOO_LARGE, name


@pytest.mark.parametrize("encode", [gzip_stream, zlib.compress, raw_deflate])
@pytest.mark.parametrize("size", [0, 1, 4096, 65536, 65537, 200_000])
@pytest.mark.parametrize("source", [noise, bytes], ids=["noise", "zeros"])
def test_any_size_round_trips(encode: Callable[[bytes], bytes], size: int, source: Callable[[int], bytes]) -> None:
    body = source(size)
    coding = "gzip" if encode is gzip_stream else "deflate"
    assert check(coding, encode(body)) == body


@settings(max_examples=100, deadline=None)
@given(st.sampled_from([gzip_stream, zlib.compress, raw_deflate]), st.binary(max_size=300), st.data())
def test_every_cut_is_noticed(encode: Callable[[bytes], bytes], body: bytes, data: st.DataObject) -> None:
    coded = encode(body)
    end = data.draw(st.integers(1, len(coded) - 1), label="end")
    coding = "gzip" if encode is gzip_stream else "deflate"
    assert check(coding, coded[:end]) is CodingFault.TRUNCATED


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(["gzip", "deflate", "gzip, deflate", "identity", "br", '"', "a;q=1"]),
    st.binary(max_size=80),
)
def test_any_bytes_get_a_verdict(coding: str, body: bytes) -> None:
    check(coding, body, 1000)
