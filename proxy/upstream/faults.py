"""What went wrong at an origin, told from the exception: the one table of errors of this package.

The details go to clients. They are written here or taken from the parser's fixed texts: no address, path, field or
body that an exception may quote gets into them. The exception itself stays attached as the cause.
"""

from __future__ import annotations

import errno
import re
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from aiohttp import (
    ClientConnectorCertificateError,
    ClientConnectorDNSError,
    ClientPayloadError,
    ConnectionTimeoutError,
    ServerDisconnectedError,
    http_exceptions,
)

from proxy.ports import OriginFault, OriginUnavailable

# With the limit of one field it bounds the memory that a head can take while it is parsed (16 MiB by default).
MAX_FIELDS: Final = 256

# X509_V_ERR_…
_CERTIFICATE: Final = {
    9: "is not valid yet",
    10: "has expired",
    18: "is self-signed",
    19: "comes from an unknown authority",
    20: "comes from an unknown authority",
    21: "comes from an unknown authority",
    23: "has been revoked",
    62: "is for another host",
    64: "is for another host",
}

_ERRNO: Final = {
    errno.ECONNREFUSED: "connection refused",
    errno.ECONNRESET: "connection reset",
    errno.ECONNABORTED: "connection reset",
    errno.EPIPE: "connection reset",
    errno.EHOSTUNREACH: "host unreachable",
    errno.ENETUNREACH: "network unreachable",
    errno.EADDRNOTAVAIL: "address not available",
}

# The parser's messages quote what it read; the fixed text that says what is wrong stands before it.
_PARSER_TEXT: Final = re.compile(r"(?P<text>[^\n]+):\n\n  b['\"]")


@contextmanager
def faults(overdue: str) -> Iterator[None]:
    """Nothing but OriginUnavailable comes out; `overdue` is the detail when time runs out inside.

    Catches every Exception: to a client a surprise in a library is an origin that could not be used.
    """
    try:
        yield
    except OriginUnavailable:
        raise
    except Exception as error:
        raise _origin_unavailable(error, overdue) from error


def invalid_response(detail: str) -> OriginUnavailable:
    """The origin answered, but with something that is no usable response."""
    return OriginUnavailable(OriginFault.INVALID_RESPONSE, detail)


def _origin_unavailable(error: Exception, overdue: str) -> OriginUnavailable:
    for kind, fault, detail in _TABLE:
        if isinstance(error, kind):
            return OriginUnavailable(fault, detail(error))
    if isinstance(error, TimeoutError):
        return OriginUnavailable(OriginFault.TIMEOUT, overdue)
    if isinstance(error, OSError):
        return OriginUnavailable(OriginFault.UNREACHABLE, _ERRNO.get(_errno(error), "connection failed"))
    return OriginUnavailable(OriginFault.UNREACHABLE, "request failed")


def _errno(error: OSError) -> int:
    return error.errno or (errno.ECONNRESET if isinstance(error, ConnectionError) else 0)


def _certificate(error: Exception) -> str:
    source = getattr(error, "certificate_error", error)
    return f"TLS certificate {_CERTIFICATE.get(getattr(source, 'verify_code', 0), 'is not valid')}"


def _line_too_long(error: Exception) -> str:
    return f"a field or the reason phrase is longer than the limit of {error.args[1]} bytes"


def _message(error: Exception) -> str:
    """The parser's own fixed text, where it has one."""
    cause = error.__cause__
    if isinstance(cause, http_exceptions.LineTooLong):
        return _line_too_long(cause)
    text = str(getattr(error, "message", ""))
    if text == "Too many headers received":
        return f"more than {MAX_FIELDS} fields"
    if isinstance(cause, http_exceptions.BadStatusLine):
        return "malformed status line, or bytes after the end of the previous message"
    if isinstance(cause, http_exceptions.InvalidHeader):
        return "malformed field"
    match = _PARSER_TEXT.match(text)
    return "malformed response" if match is None else f"malformed response: {match['text']}"


def _payload(error: Exception) -> str:
    cause = error.__cause__
    if isinstance(cause, http_exceptions.ContentLengthError):
        return "body shorter than its Content-Length"
    if isinstance(cause, http_exceptions.TransferEncodingError):
        return "body ends before its last chunk"
    return "body cut short"


def _fixed(text: str) -> Callable[[Exception], str]:
    return lambda _: text


# The first row that fits; subclasses stand before their bases.
_TABLE: Final[tuple[tuple[type[Exception], OriginFault, Callable[[Exception], str]], ...]] = (
    (ConnectionTimeoutError, OriginFault.TIMEOUT, _fixed("no connection in time")),
    (ClientConnectorDNSError, OriginFault.UNREACHABLE, _fixed("host name does not resolve")),
    (socket.gaierror, OriginFault.UNREACHABLE, _fixed("host name does not resolve")),
    (ClientConnectorCertificateError, OriginFault.UNREACHABLE, _certificate),
    (ssl.SSLCertVerificationError, OriginFault.UNREACHABLE, _certificate),
    (ssl.SSLError, OriginFault.UNREACHABLE, _fixed("TLS handshake failed")),
    (ServerDisconnectedError, OriginFault.INVALID_RESPONSE, _fixed("connection closed before the end of the head")),
    (ClientPayloadError, OriginFault.INVALID_RESPONSE, _payload),
    (http_exceptions.HttpProcessingError, OriginFault.INVALID_RESPONSE, _message),
)
