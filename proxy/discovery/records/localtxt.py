"""The TXT record of an agent on the local link (DISCOVERY_FORMATS §7, RFC 6763 §6).

It comes in two layouts: one string an attribute, as DNS-SD has it, and everything in the value of `v`, separated by
semicolons: `v=uaix1; capabilities=L3,L4`. Keys compare without case and the first of a name counts; unknown ones
are passed over. Everything in it is a claim.

Invariants: no octets make it raise; what is passed over though its key is known is a finding.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final

from proxy.discovery.findings import Finding, pointer
from proxy.http.targets import MalformedTarget, parse_target

DEFAULT_PATH: Final = "/.well-known/uaix-agent-access.json"

_MOST_ATTRIBUTES: Final = 64
_LONGEST_VALUE: Final = 255
_ADVISED_SIZE: Final = 1300  # RFC 6763 §6.2: with more, the response may not fit into one packet
_LEVEL: Final = re.compile("L[0-7]")
_DID: Final = re.compile(r"did:[a-z0-9]+:(?:[A-Za-z0-9._:-]|%[0-9A-Fa-f]{2})+")
_PROTO: Final = re.compile(r"[a-z0-9][a-z0-9+.-]{0,31}")


@dataclass(frozen=True, slots=True)
class LocalText:
    """What the record says. `version` is the value of `v`; all else is well formed, or its default or None.

    `capabilities` are levels of the Executability Matrix, "L0" to "L7" (MD-2); `problems` are warnings.
    """

    version: str | None
    path: str
    did: str | None
    proto: str | None
    capabilities: tuple[str, ...]
    problems: tuple[Finding, ...]


def read_text(attributes: Mapping[bytes, bytes | None]) -> LocalText:
    """Read the attributes as received, in their order (value None: no "="). Never raises."""
    reader = _Reader(attributes)
    return LocalText(
        reader.text("v"),
        reader.path(),
        reader.did(),
        reader.proto(),
        reader.capabilities(),
        tuple(reader.problems),
    )


class _Reader:
    def __init__(self, attributes: Mapping[bytes, bytes | None]) -> None:
        self.problems: list[Finding] = []
        self._values: dict[bytes, bytes | None] = {}
        flat = tuple(islice(_flat(attributes), _MOST_ATTRIBUTES + 1))
        if len(flat) > _MOST_ATTRIBUTES:
            self._warn("MD-2", "", f"There are more than {_MOST_ATTRIBUTES} attributes: the rest is not read.")
        if sum(len(key) + len(value or b"") + 2 for key, value in attributes.items()) > _ADVISED_SIZE:
            self._warn("MD-2", "", f"The record is larger than {_ADVISED_SIZE} octets.")
        for key, value in flat[:_MOST_ATTRIBUTES]:
            self._values.setdefault(key.lower(), value)

    def text(self, key: str) -> str | None:
        """The value; None when there is none, it is empty, or it is not text."""
        value = self._values.get(key.encode())
        if not value:
            return None
        text = value.decode(errors="replace")
        if len(value) <= _LONGEST_VALUE and "\N{REPLACEMENT CHARACTER}" not in text and text.isprintable():
            return text
        self._warn("MD-2", pointer(key), f"The value is no text of at most {_LONGEST_VALUE} octets.")
        return None

    def path(self) -> str:
        path = self.text("path")
        if path is None or _is_path(path):
            return path or DEFAULT_PATH
        self._warn("MD-2", "/path", "It is no absolute path without dot segments: the default counts.")
        return DEFAULT_PATH

    def did(self) -> str | None:
        did = self.text("did")
        if did is None or _DID.fullmatch(did):
            return did
        self._warn("MD-3", "/did", "It is no DID.")
        return None

    def proto(self) -> str | None:
        proto = (self.text("proto") or "").lower()
        if proto == "" or _PROTO.fullmatch(proto):
            return proto or None
        self._warn("MD-2", "/proto", "It is no name of a protocol.")
        return None

    def capabilities(self) -> tuple[str, ...]:
        claimed = [level.strip().upper() for level in (self.text("capabilities") or "").split(",")]
        levels = dict.fromkeys(level for level in claimed if _LEVEL.fullmatch(level))
        if any(level and level not in levels for level in claimed):
            self._warn("MD-2", "/capabilities", "Not everything in it is a level from L0 to L7.")
        return tuple(levels)

    def _warn(self, rule: str, path: str, detail: str) -> None:
        self.problems.append(Finding(rule, path, detail, is_warning=True))


def _flat(attributes: Mapping[bytes, bytes | None]) -> Iterator[tuple[bytes, bytes | None]]:
    """Every attribute, those within the value of `v` after it."""
    for key, value in attributes.items():
        if key.lower() != b"v" or value is None:
            yield key, value
            continue
        version, *pairs = value.split(b";", _MOST_ATTRIBUTES)
        yield key, version.strip()
        for pair in pairs:
            inner, equals, rest = pair.partition(b"=")
            yield inner.strip(), rest.strip() if equals else None


def _is_path(text: str) -> bool:
    if not text.startswith("/") or text.startswith("//"):
        return False
    try:
        return parse_target(f"https://host.local{text}").query is None
    except MalformedTarget:
        return False
