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

MALFORMED_FIELD: Final = "A field of the response is malformed."
# With the limit of one field it bounds the memory that a head can take while it is parsed (16 MiB by default).
MAX_FIELDS: Final = 256

_TRUST_ADVICE: Final = "Name the authority that the proxy shall trust in upstream.ca_file."

# X509_V_ERR_…
_CERTIFICATE: Final = {
    9: "is not valid yet.",
    10: "has expired.",
    18: f"is self-signed. {_TRUST_ADVICE}",
    19: f"comes from an unknown authority. {_TRUST_ADVICE}",
    20: f"comes from an unknown authority. {_TRUST_ADVICE}",
    21: f"comes from an unknown authority. {_TRUST_ADVICE}",
    23: "has been revoked.",
    62: "is for another host.",
    64: "is for another host.",
}

_NO_CONNECTION: Final = "The connection to the origin failed."
_RESET: Final = "The connection to the origin was reset."
_NO_NAME: Final = "The origin's host name does not resolve. Check its spelling and the proxy's resolver."

_ERRNO: Final = {
    errno.ECONNREFUSED: "The origin refused the connection: nothing listens on its port.",
    errno.ECONNRESET: _RESET,
    errno.ECONNABORTED: _RESET,
    errno.EPIPE: _RESET,
    errno.EHOSTUNREACH: "There is no route to the origin's host.",
    errno.ENETUNREACH: "There is no route to the origin's network.",
    errno.EADDRNOTAVAIL: "The origin's address cannot be connected to from here.",
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
        return OriginUnavailable(OriginFault.UNREACHABLE, _ERRNO.get(_errno(error), _NO_CONNECTION))
    return OriginUnavailable(OriginFault.UNREACHABLE, "The request to the origin failed.")


def _errno(error: OSError) -> int:
    return error.errno or (errno.ECONNRESET if isinstance(error, ConnectionError) else 0)


def _certificate(error: Exception) -> str:
    source = getattr(error, "certificate_error", error)
    return f"The origin's TLS certificate {_CERTIFICATE.get(getattr(source, 'verify_code', 0), 'is not valid.')}"


def _line_too_long(error: Exception) -> str:
    return (
        f"A field or the reason phrase of the response is longer than {error.args[1]} bytes (upstream.max_header)."
    )


def _message(error: Exception) -> str:
    """The parser's own fixed text, where it has one."""
    cause = error.__cause__
    if isinstance(cause, http_exceptions.LineTooLong):
        return _line_too_long(cause)
    text = str(getattr(error, "message", ""))
    if text == "Too many headers received":
        return f"The response has more than {MAX_FIELDS} fields."
    if isinstance(cause, http_exceptions.BadStatusLine):
        return "The status line is malformed, or bytes follow the end of the previous message."
    if isinstance(cause, http_exceptions.InvalidHeader):
        return MALFORMED_FIELD
    match = _PARSER_TEXT.match(text)
    return "The response is malformed." if match is None else f"The response is malformed: {match['text']}."


def _payload(error: Exception) -> str:
    cause = error.__cause__
    if isinstance(cause, http_exceptions.ContentLengthError):
        return "The body is shorter than its Content-Length."
    if isinstance(cause, http_exceptions.TransferEncodingError):
        return "The body ends before its last chunk."
    return "The body was cut short."


def _fixed(text: str) -> Callable[[Exception], str]:
    return lambda _: text


# The first row that fits; subclasses stand before their bases.
_TABLE: Final[tuple[tuple[type[Exception], OriginFault, Callable[[Exception], str]], ...]] = (
    (
        ConnectionTimeoutError,
        OriginFault.TIMEOUT,
        _fixed("The origin took too long to accept a connection (upstream.connect_timeout)."),
    ),
    (ClientConnectorDNSError, OriginFault.UNREACHABLE, _fixed(_NO_NAME)),
    (socket.gaierror, OriginFault.UNREACHABLE, _fixed(_NO_NAME)),
    (ClientConnectorCertificateError, OriginFault.UNREACHABLE, _certificate),
    (ssl.SSLCertVerificationError, OriginFault.UNREACHABLE, _certificate),
    (ssl.SSLError, OriginFault.UNREACHABLE, _fixed("The TLS handshake with the origin failed.")),
    (
        ServerDisconnectedError,
        OriginFault.INVALID_RESPONSE,
        _fixed("The origin closed the connection before the end of the response head."),
    ),
    (ClientPayloadError, OriginFault.INVALID_RESPONSE, _payload),
    (http_exceptions.HttpProcessingError, OriginFault.INVALID_RESPONSE, _message),
)
