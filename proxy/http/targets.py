"""Target URIs: one strict parser for every form in which a target reaches the proxy.

RFC 9110 §7.1, RFC 9112 §3.2, RFC 3986. Invariants of every `Target` made here:

- the host is canonical before any rule or cache key sees it, so a host has one spelling and one verdict;
- path and query are kept as received: they key the cache and go on the wire untouched;
- the path has no dot segment, plain or percent-encoded, so what policy reads is what an origin resolves;
- a host that some address parser reads as IPv4 is plain dotted decimal or does not pass.

No error text quotes the input, which may carry a secret.
"""

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final

import idna

DEFAULT_PORTS: Final = {"http": 80, "https": 443}

_MAX_NAME: Final = 253
# What no URI may hold: some parsers take a backslash for a slash, and `"<>` would end the quoting in a Link.
_ILLEGAL: Final = re.compile(r'[^!-~]|["<>\\#]|%(?![0-9A-Fa-f]{2})')
_ABSOLUTE: Final = re.compile(r"(https?)://([^/?#]*)(.*)", re.ASCII | re.IGNORECASE | re.DOTALL)
_GATEWAY: Final = re.compile(r"/(https?)(?:/|(?=[?#])|\Z)([^/?#]*)(.*)", re.DOTALL)
_SCHEME: Final = re.compile(r"[^:/]+:")
_AUTHORITY: Final = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*)(?::(.*))?")
_PORT: Final = re.compile(r"[1-9][0-9]{0,4}")
_NAME: Final = re.compile(r"(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}")
_NUMERIC_LAST_LABEL: Final = re.compile(r"(?:^|\.)(?:[0-9]+|0x[0-9a-f]*)\Z")
_ONE_DOT: Final = re.compile(r"\.|%2[Ee]")
_TWO_DOTS: Final = re.compile(r"(?:\.|%2[Ee]){2}")
_DOT_SEGMENT: Final = re.compile(r"/(?:\.|%2[Ee]){1,2}(?=/|\Z)")
_ENCODED_OCTET: Final = re.compile(r"%([0-9A-Fa-f]{2})")
_ENCODED_HOST_OCTET: Final = re.compile(rb"%([0-9A-Fa-f]{2})")
# Letters, digits and signs that only look like others: two spellings of one host, of which one can be overlooked.
_FULL_WIDTH: Final = re.compile("[\uff01-\uff5e]")
_FRAGMENT: Final = "The target has a fragment: leave out # and what follows."
_ILLEGAL_CHARACTER: Final = "The target has a character that no URI may hold: percent-encode it."
_UNRESERVED: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


class MalformedTarget(ValueError):
    """The text is no usable http(s) target; `detail` says why in sentences, without quoting it."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Target:
    """A target URI (RFC 9110 §7.1) in parts.

    `scheme` is "http" or "https"; `host` is what `parse_host` returns; `path` begins with "/"; `query` is
    without its "?", None when there was no "?" at all.
    """

    scheme: str
    host: str
    port: int
    path: str
    query: str | None

    @property
    def authority(self) -> str:
        """host[:port], the scheme's default port left out: "example.com", "[::1]:8080"."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """The origin in ASCII (RFC 6454 §6.2): "https://example.com:8443"."""
        return f"{self.scheme}://{self.authority}"

    @property
    def request_target(self) -> str:
        """Origin form (RFC 9112 §3.2.1), as it goes on the wire."""
        return self.path if self.query is None else f"{self.path}?{self.query}"

    @property
    def uri(self) -> str:
        """The whole URI: the primary cache key (RFC 9111 §2)."""
        return f"{self.origin}{self.request_target}"

    @property
    def normal_path(self) -> str:
        """The path in RFC 3986 §6.2.2 normal form, for policy decisions only."""
        return _ENCODED_OCTET.sub(_normal_octet, self.path)


def parse_target(uri: str) -> Target:
    """The target of an absolute http(s) URI; raises MalformedTarget."""
    return _received_target(*_split_absolute(uri))


def parse_gateway(request_target: str) -> Target | None:
    """The target of gateway form, "/https/example.com/x?y"; None when it is another form.

    The first segments "http" and "https" alone make it gateway form; raises MalformedTarget when no usable
    target follows them.
    """
    match = _GATEWAY.fullmatch(request_target)
    if match is None:
        return None
    scheme, authority, rest = match.groups()
    if not authority:
        raise MalformedTarget(f"Write the host after the scheme: /{scheme}/HOST/PATH.")
    return _received_target(scheme, authority, rest)


def gateway_form(target: Target) -> str:
    """The request target under which the proxy itself serves `target`: "/https/example.com:8443/x?y"."""
    return f"/{target.scheme}/{target.authority}{target.request_target}"


def resolve(base: Target, reference: str) -> Target:
    """The target of a URI reference found at `base` (RFC 3986 §5.2), its fragment dropped.

    Dot segments, also encoded ones, are resolved here: in a Location or Link they are legitimate.
    Raises MalformedTarget, also for any scheme but http and https.
    """
    hierarchy, mark, query = reference.partition("#")[0].partition("?")
    if hierarchy == "":
        return parse_target(f"{base.origin}{base.path}?{query}") if mark else base
    scheme, authority, path = _split_absolute(_absolute(base, hierarchy))
    return _received_target(scheme, authority, f"{_without_dot_segments(path)}{mark}{query}")


def parse_authority(text: str, default_port: int) -> tuple[str, int]:
    """Canonical host and port of `host[:port]` (RFC 9110 §7.2, RFC 9112 §3.2.3); raises MalformedTarget.

    `text` comes from the wire: an internationalised name is in A-labels or in percent-encoded UTF-8.
    """
    _refuse_illegal(text)
    if "@" in text:
        raise MalformedTarget("The authority has userinfo: leave it out.")
    match = _AUTHORITY.fullmatch(text)
    if match is None:
        raise MalformedTarget("A bracket in the authority is misplaced.")
    host, port = match.groups()
    return parse_host(host), default_port if port is None else _parse_port(port)


def https_authority(host: str, port: int) -> str:
    """`host` with its port, the one of https left out: "example.com", "example.com:8443"."""
    return host if port == DEFAULT_PORTS["https"] else f"{host}:{port}"


def parse_host(text: str) -> str:
    """The canonical form of a host: lower-case A-labels without trailing dot, or an address without brackets.

    Takes U-labels, A-labels, percent-encoded UTF-8, dotted IPv4, bracketed IPv6. Raises MalformedTarget for
    anything else, also for a name that is numeric only after mapping or only to lenient address parsers.
    """
    if text.startswith("[") and text.endswith("]"):
        return _parse_ipv6(text)
    name = _to_a_labels(_percent_decoded(text)).removesuffix(".")
    if len(name) > _MAX_NAME or _NAME.fullmatch(name) is None:
        raise MalformedTarget("The host is neither a name nor an address.")
    if _NUMERIC_LAST_LABEL.search(name) is not None:
        _refuse_ambiguous_ipv4(name, text)
    return name


def is_address(host: str) -> bool:
    """Whether a canonical host is an address and not a name."""
    if ":" not in host and not host.rpartition(".")[2].isdigit():
        return False  # at once: nearly every host is a name
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Whether a canonical host is a loopback address or "localhost" (RFC 6761 §6.3)."""
    return host == "localhost" or (is_address(host) and ip_address(host).is_loopback)


def _received_target(scheme: str, authority: str, rest: str) -> Target:
    host, port = parse_authority(authority, DEFAULT_PORTS[scheme])
    _refuse_illegal(rest)
    path, mark, query = rest.partition("?")
    if _DOT_SEGMENT.search(path) is not None:
        raise MalformedTarget("The path has a dot segment: write it without . and .. segments.")
    return Target(scheme, host, port, path or "/", query if mark else None)


def _split_absolute(uri: str) -> tuple[str, str, str]:
    """Scheme, authority and the rest as received."""
    match = _ABSOLUTE.fullmatch(uri)
    if match is None:
        raise MalformedTarget("The target is no absolute http or https URI.")
    scheme, authority, rest = match.groups()
    return scheme.lower(), authority, rest


def _absolute(base: Target, hierarchy: str) -> str:
    """A reference without query made absolute, dot segments left in (RFC 3986 §5.2.2, §5.2.3)."""
    if _SCHEME.match(hierarchy) is not None:
        return hierarchy
    if hierarchy.startswith("//"):
        return f"{base.scheme}:{hierarchy}"
    if hierarchy.startswith("/"):
        return f"{base.origin}{hierarchy}"
    return f"{base.origin}{base.path[: base.path.rindex('/') + 1]}{hierarchy}"


def _without_dot_segments(path: str) -> str:
    """remove_dot_segments (RFC 3986 §5.2.4) of an empty or absolute path."""
    if _DOT_SEGMENT.search(path) is None:
        return path
    kept: list[str] = []
    segment = ""
    for segment in path.split("/")[1:]:
        if _TWO_DOTS.fullmatch(segment) is not None:
            del kept[-1:]
        elif _ONE_DOT.fullmatch(segment) is None:
            kept.append(segment)
    if _DOT_SEGMENT.fullmatch(f"/{segment}") is not None:
        kept.append("")
    return "".join(f"/{segment}" for segment in kept)


def _refuse_illegal(text: str) -> None:
    match = _ILLEGAL.search(text)
    if match is None:
        return
    if match[0] == "%":
        raise MalformedTarget("The target has malformed percent-encoding.")
    raise MalformedTarget(_FRAGMENT if match[0] == "#" else _ILLEGAL_CHARACTER)


def _parse_port(text: str) -> int:
    if _PORT.fullmatch(text) is None or int(text) > 65535:
        raise MalformedTarget("The port is no number from 1 to 65535.")
    return int(text)


def _parse_ipv6(text: str) -> str:
    try:
        address = IPv6Address(text[1:-1])
    except ValueError:
        raise MalformedTarget("The brackets hold no IPv6 address.") from None
    if address.scope_id is not None:
        raise MalformedTarget("The IPv6 address has a zone: leave it out.")
    return address.compressed


def _percent_decoded(text: str) -> str:
    if "%" not in text:
        return text
    try:
        return _ENCODED_HOST_OCTET.sub(lambda match: bytes((int(match[1], 16),)), text.encode()).decode()
    except UnicodeError:
        raise MalformedTarget("The host is not percent-encoded UTF-8.") from None


def _to_a_labels(name: str) -> str:
    """Lower case and IDNA (UTS 46 mapping, then RFC 5891); ASCII labels keep their underscores."""
    if name.isascii():
        return name.lower()
    if _FULL_WIDTH.search(name) is not None:
        raise MalformedTarget("The host is written in full-width forms.")
    try:
        mapped = idna.uts46_remap(name, std3_rules=False)
        return ".".join(label if label.isascii() else idna.alabel(label).decode() for label in mapped.split("."))
    except UnicodeError:
        raise MalformedTarget("The host is no valid internationalised name.") from None


def _refuse_ambiguous_ipv4(name: str, text: str) -> None:
    """A name ending in a number is dotted IPv4 as received, or refused: the rule of the WHATWG URL parser."""
    try:
        IPv4Address(name)
    except ValueError:
        raise MalformedTarget(
            "The host is a number that programs read differently: write it in dotted decimals."
        ) from None
    if text.removesuffix(".") != name:
        raise MalformedTarget("The host becomes numeric by decoding or mapping.")


def _normal_octet(match: re.Match[str]) -> str:
    octet = int(match[1], 16)
    return chr(octet) if octet in _UNRESERVED else match[0].upper()
