"""Requests and response heads as octets on the wire (RFC 9112).

Octets and str map by ISO-8859-1 in both directions, so that any field value survives (RFC 9110 §5.5: obs-text).
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from io import BytesIO
from typing import Final

from aiohttp.http import HttpVersion, HttpVersion10, HttpVersion11, RawResponseMessage

from proxy.http.fields import Fields, is_token, split_list
from proxy.http.messages import Request, ResponseHead
from proxy.ports import Body
from proxy.upstream.faults import MALFORMED_FIELD, invalid_response

# Written here: the framing is that of this hop, and the Host that the client sent may be a name of the proxy.
_OWN_FIELDS: Final = ("Host", "Content-Length", "Transfer-Encoding", "Connection")
# RFC 9110 §8.6: methods that anticipate content say so even when there is none.
_ANTICIPATE_CONTENT: Final = frozenset({"POST", "PUT", "PATCH"})
_LENGTH: Final = re.compile(r"[0-9]+", re.ASCII)
# What would end a line or be dropped on the way; the parser lets some of it pass.
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
# RFC 9112 §7.4: the codings there are, beside chunked.
_CODINGS: Final = frozenset({"compress", "deflate", "gzip", "x-compress", "x-gzip"})
_VERSIONS: Final[tuple[HttpVersion, ...]] = (HttpVersion10, HttpVersion11)


@dataclass(frozen=True, slots=True)
class RequestOctets:
    """A request ready to be sent: `head` up to the empty line, and the body as aiohttp takes it."""

    head: bytes
    body: BytesIO | AsyncIterator[bytes] | None
    is_chunked: bool


def request_octets(
    request: Request, body: Body, sending: Callable[[], None], *, upgrade: bool = False
) -> RequestOctets:
    """The request's fields as they are, with Host of the target and the framing of `body`.

    A streamed body goes with the Content-Length that the fields state, else chunked; `sending` is called before
    each piece of it. Raises ValueError for a request that cannot be written: a control character in it, or one
    that is no octet.
    """
    framing, content = _framing(request, body, sending)
    lines = [
        ("Host", request.target.authority),
        *request.fields.without(_OWN_FIELDS),
        *framing,
        *([("Connection", "Upgrade")] if upgrade else []),
    ]
    text = [f"{request.method} {request.target.request_target} HTTP/1.1", *(f"{n}: {v}" for n, v in lines)]
    if any(_CONTROL.search(line) for line in text):
        raise ValueError("control character in a request")
    head = "\r\n".join([*text, "", ""]).encode("latin-1")
    return RequestOctets(head, content, ("Transfer-Encoding", "chunked") in framing)


def _framing(
    request: Request, body: Body, sending: Callable[[], None]
) -> tuple[list[tuple[str, str]], BytesIO | AsyncIterator[bytes] | None]:
    if body is None or body == b"":
        return ([("Content-Length", "0")] if request.method in _ANTICIPATE_CONTENT else []), None
    if isinstance(body, bytes):
        return [("Content-Length", str(len(body)))], BytesIO(body)
    stated = set(request.fields.get_all("content-length"))
    if len(stated) == 1 and _LENGTH.fullmatch(length := stated.pop()):
        return [("Content-Length", length)], _watched(body, sending, int(length))
    return [("Transfer-Encoding", "chunked")], _watched(body, sending, None)


async def _watched(
    body: AsyncIterator[bytes], sending: Callable[[], None], length: int | None
) -> AsyncIterator[bytes]:
    """The body; raises ValueError unless it has the length that was stated.

    An origin that answers early would otherwise take the next request on the connection for the missing rest.
    """
    sent = 0
    async for piece in body:
        sending()
        sent += len(piece)
        if length is not None and sent > length:
            break
        yield piece
    if length is not None and sent != length:
        raise ValueError("request body does not have its Content-Length")


def response_head(message: RawResponseMessage, max_bytes: int) -> ResponseHead:
    """The head as received, or OriginUnavailable for one that is not fit to be passed on.

    Checks what aiohttp's parser does not: the version, the status' range, control characters, unknown transfer
    codings, and the size of all fields together.
    """
    if message.version not in _VERSIONS:
        raise invalid_response("The response is in an HTTP version that is not supported.")
    if message.code < 100:
        raise invalid_response("The status code of the response is out of range.")
    if len(message.reason) + sum(len(name) + len(value) + 4 for name, value in message.raw_headers) > max_bytes:
        raise invalid_response(f"The head of the response is longer than {max_bytes} bytes (upstream.max_header).")
    fields = Fields((name.decode("latin-1"), value.decode("latin-1")) for name, value in message.raw_headers)
    # The parser lets a space stand behind some names: nobody would know such a field, or all would differ about it.
    if not all(is_token(name) for name, _ in fields):
        raise invalid_response(MALFORMED_FIELD)
    reason = message.reason.encode("utf-8", "surrogateescape").decode("latin-1")
    if _CONTROL.search(reason) or any(_CONTROL.search(value) for _, value in fields):
        raise invalid_response("The head of the response has a control character in it.")
    if not _has_plain_framing(fields):
        raise invalid_response("The response has a transfer coding that cannot be undone.")
    return ResponseHead(message.code, reason, fields)


def _has_plain_framing(fields: Fields) -> bool:
    """No transfer coding, chunked alone, or one name that no coding has, as `identity` was.

    RFC 9112 §6.3 ends the body of such a response with the connection. A real coding other than chunked cannot be
    undone here, and its octets must not be passed on without the label.
    """
    codings = [coding.lower() for coding in split_list(fields.get("transfer-encoding") or "chunked")]
    if codings == ["chunked"]:
        return True
    return len(codings) == 1 and codings[0] not in _CODINGS and "content-length" not in fields
