"""The leaf types of the configuration: what an operator may write, and how it is printed back.

Every type takes what YAML, the environment or a flag gives, numbers as text included, and refuses by
`allowed` or `reason`, so that a problem can say what would have been right. Secrets serialise as `MASK`.
"""

import re
from collections.abc import Callable
from ipaddress import ip_address, ip_network
from typing import Annotated, Final

from pydantic import AfterValidator, BeforeValidator, PlainSerializer
from pydantic_core import PydanticCustomError

from proxy.config.quantities import format_duration, format_size, parse_duration, parse_size
from proxy.discovery.classes import DocumentClass
from proxy.http.targets import parse_host, parse_target
from proxy.upstream.connect_to import ConnectTo

MASK: Final = "********"

_DURATION: Final = "a duration such as 100ms, 30s, 5m, 1h or 7d (a bare number is seconds), at most 24855d"
_CONNECT_TO: Final = re.compile(r"(\[[^]]*\]|[^][:]*):([0-9]*):(\[[^]]*\]|[^][:]*):([0-9]*)")
_SQLITE: Final = re.compile(r"sqlite:///(?!:memory:\Z)[^?#\x00-\x1f]*[^?#/\x00-\x1f]")
_REDIS: Final = ("redis://", "rediss://", "redis+sentinel://", "redis+cluster://", "unix://")
_CLASSES: Final = tuple(name for name in DocumentClass if name is not DocumentClass.OTHER)


def allowed(what: str, *choices: str) -> PydanticCustomError:
    """The refusal of a value, saying what would be accepted; of `choices` the closest is suggested."""
    return PydanticCustomError("allowed", "{allowed}", {"allowed": what, "choices": choices})


def reason(why: str, *key: str) -> PydanticCustomError:
    """The refusal of a value or, with `key` (relative to the section), of values that do not go together."""
    return PydanticCustomError("reason", "{reason}", {"reason": why, "key": key})


def mask_url(text: str) -> str:
    """The text with the parts of a URL that may hold a secret, userinfo and query, masked."""
    without_userinfo = re.sub(r"^([A-Za-z0-9+.-]*://)?.*@", rf"\1{MASK}@", text, flags=re.DOTALL)
    return re.sub(r"\?.+", f"?{MASK}", without_userinfo, flags=re.DOTALL)


def _checked(parse: Callable[[object], object], what: str) -> BeforeValidator:
    """Runs `parse`; its ValueError becomes the refusal that says what is allowed."""

    def check(value: object) -> object:
        try:
            return parse(value)
        except ValueError as error:
            raise allowed(what) from error

    return BeforeValidator(check)


def _from_text(parse: Callable[[str], object], what: str) -> BeforeValidator:
    def check(value: object) -> object:
        if not isinstance(value, str):
            raise ValueError
        return parse(value)

    return _checked(check, what)


def _matching(pattern: str, what: str) -> BeforeValidator:
    def parse(text: str) -> str:
        if re.fullmatch(pattern, text) is None:
            raise ValueError
        return text

    return _from_text(parse, what)


def _integer(low: int, high: int) -> BeforeValidator:
    def parse(value: object) -> int:
        number = int(value) if isinstance(value, str) and re.fullmatch("[0-9]{1,10}", value) else value
        if not isinstance(number, int) or isinstance(number, bool) or not low <= number <= high:
            raise ValueError
        return number

    return _checked(parse, f"a whole number from {low} to {high}")


def _parse_timeout(value: object) -> float:
    seconds = parse_duration(value)
    if seconds == 0:
        raise ValueError
    return seconds


def _parse_rate(value: object) -> float:
    number = float(value) if isinstance(value, str) else value
    if not isinstance(number, int | float) or isinstance(number, bool) or not 0 < number <= 10**9:
        raise ValueError
    return float(number)


def _parse_host(text: str) -> str:
    # Without brackets an IPv6 address is just as clear here, where no port can follow.
    return str(ip_address(text)) if ":" in text and "[" not in text else parse_host(text)


def _parse_host_pattern(text: str) -> str:
    return "*" if text == "*" else _parse_host(text)


def _parse_url(text: str) -> str:
    return parse_target(text).uri


def _parse_https_url(text: str) -> str:
    target = parse_target(text)
    if target.scheme != "https":
        raise ValueError
    return target.uri


def _parse_origin(text: str) -> str:
    target = parse_target(text)
    if target.request_target != "/":
        raise ValueError
    return target.origin


def _parse_network(text: str) -> str:
    return str(ip_network(text))


def _accept_document_class(value: object) -> DocumentClass:
    if not isinstance(value, str) or value not in _CLASSES:
        raise allowed(", ".join(_CLASSES), *_CLASSES)
    return DocumentClass(value)


def _parse_connect_to(text: str) -> ConnectTo:
    match = _CONNECT_TO.fullmatch(text)
    if match is None:
        raise ValueError
    host, port, connect_host, connect_port = match.groups()
    return ConnectTo(_host_or_any(host), _port_or_any(port), _host_or_any(connect_host), _port_or_any(connect_port))


def _host_or_any(text: str) -> str | None:
    return parse_host(text) if text else None


def _port_or_any(text: str) -> int | None:
    port = int(text[:6]) if text else None
    if port is not None and not 0 < port < 65536:
        raise ValueError
    return port


def _accept_store_url(value: object) -> str:
    text = value if isinstance(value, str) else ""
    if text.startswith(_REDIS):
        raise reason("the redis store is not available in this version; use sqlite or memory")
    if text != "memory://" and not _SQLITE.fullmatch(text):
        raise allowed("memory://, sqlite:///relative.db or sqlite:////absolute.db")
    return text


def _some(values: tuple[str, ...]) -> tuple[str, ...]:
    if not values:
        raise allowed("a list with at least one host")
    return values


_TOKEN_ALLOWED: Final = (
    "letters, digits and -._~+/ with = only at the end (RFC 6750 §2.1); quote what YAML reads as a number"
)

Text = Annotated[str, _matching(r"(?=.*\S)[^\x00-\x1f\x7f]+", "text; quote what YAML reads as a number")]
Duration = Annotated[float, _checked(parse_duration, _DURATION), PlainSerializer(format_duration)]
Timeout = Annotated[float, _checked(_parse_timeout, f"{_DURATION}, above 0"), PlainSerializer(format_duration)]
Size = Annotated[
    int,
    _checked(parse_size, "a size such as 512KiB, 4MiB, 1GiB or 10MB (a bare number is bytes), above 0"),
    PlainSerializer(format_size),
]
Count = Annotated[int, _integer(1, 10**9)]
Port = Annotated[int, _integer(1, 65535)]
ListenPort = Annotated[int, _integer(0, 65535)]
Rate = Annotated[float, _checked(_parse_rate, "a number of requests per second, above 0")]
BearerToken = Annotated[
    str,
    _matching(r"[A-Za-z0-9._~+/-]+=*", _TOKEN_ALLOWED),
    PlainSerializer(lambda _: MASK, return_type=str),
]
Digest = Annotated[
    str,
    _matching(r"[0-9a-f]{64}", "a SHA-256 digest, 64 lower-case hexadecimal digits, quoted"),
    PlainSerializer(lambda _: MASK, return_type=str),
]
StoreUrl = Annotated[str, BeforeValidator(_accept_store_url), PlainSerializer(mask_url)]
Url = Annotated[str, _from_text(_parse_url, "an http or https URL without user"), PlainSerializer(mask_url)]
HttpsUrl = Annotated[str, _from_text(_parse_https_url, "an https URL without user"), PlainSerializer(mask_url)]
Origin = Annotated[
    str,
    _from_text(_parse_origin, "an http or https URL without user, path and query, such as http://127.0.0.1:8000"),
]
BindHost = Annotated[str, _from_text(_parse_host, "an address such as 127.0.0.1, 0.0.0.0 or ::1, or a host name")]
Address = Annotated[str, _from_text(lambda text: str(ip_address(text)), "an IP address such as 127.0.0.1 or ::1")]
HostPattern = Annotated[str, _from_text(_parse_host_pattern, '"*", or a host name or an address without port')]
HostPatterns = Annotated[tuple[HostPattern, ...], AfterValidator(_some)]
Network = Annotated[str, _from_text(_parse_network, "an address range such as 10.0.0.0/8, without host bits")]
DocumentClassName = Annotated[DocumentClass, BeforeValidator(_accept_document_class)]
ConnectRule = Annotated[
    ConnectTo,
    _from_text(
        _parse_connect_to,
        '"HOST:PORT:CONNECT-HOST:CONNECT-PORT" as in curl, such as "example.com:443:127.0.0.1:9443"',
    ),
    PlainSerializer(str),
]
