"""DNS-AID pointers: SVCB and HTTPS records that name an organisation's index, its catalog, or one agent.

DA-1 to DA-8, RFC 9460. A pointer is a hint: what lies at its end is trusted no further than its own proof, and one
that leads out of the domain counts only where DNSSEC vouches for it. Each record is listed with what came of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from proxy.discovery.names import same_site
from proxy.discovery.records.dnsvalues import Record, Svcb
from proxy.discovery.records.pairs import shown
from proxy.discovery.records.svcparams import ALL_KEYS, ParamsReason, ParamsRefused, Service, service
from proxy.discovery.urls import UrlReason, UrlRefused, checked
from proxy.http.targets import MalformedTarget, Target, parse_host

MAX_ALIASES: Final = 8
MAX_POINTERS: Final = 4

_AGENT_PROTOCOLS: Final = frozenset({"a2a", "anp", "mcp", "ucp"})
_WELL_KNOWN: Final = "/.well-known/"
_DEFAULT_FILE: Final = "ai-catalog.json"
_SEGMENT: Final = re.compile(r"[A-Za-z0-9._-]{1,128}")
_LONGEST_PATH: Final = 255


class PointerKind(StrEnum):
    """What the owner name makes of a record."""

    INDEX = "index"
    CATALOG = "catalog"
    ENTRIES = "entries"
    SEARCH = "search"
    AGENT = "agent"


_DOCUMENT_KINDS: Final = frozenset({PointerKind.INDEX, PointerKind.CATALOG, PointerKind.ENTRIES})


class PointerReason(StrEnum):
    """Why a record is not followed; `alias_loop` is the verdict of who follows aliases.

    The last three are UrlReason's words about the target.
    """

    MALFORMED_PARAMETER = ParamsReason.MALFORMED_PARAMETER.value
    UNSUPPORTED_MANDATORY = ParamsReason.UNSUPPORTED_MANDATORY.value
    TWO_AGENT_PROTOCOLS = "two_agent_protocols"
    WELL_KNOWN = "well_known"
    UNDERSCORE = "underscore"
    OFF_DOMAIN = "off_domain"
    NO_SERVICE = "no_service"
    ALIAS_PRESENT = "alias_present"
    ALIAS_LOOP = "alias_loop"
    TOO_MANY = "too_many"
    MALFORMED = UrlReason.MALFORMED.value
    SSRF = UrlReason.SSRF.value
    PORT = UrlReason.PORT.value


class PointerRefused(ValueError):
    """The record is not followed; `detail` repeats nothing long of it."""

    def __init__(self, reason: PointerReason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Pointer:
    """One record as listed; `reason` None: it may be followed.

    `url` is the document it points to, for `search` the base of the registry; an agent has one only if the record
    names a descriptor. `alias` is the name to ask for instead, all else being absent then (AliasMode): at most
    MAX_ALIASES of them in a row. `protocol` is what the agent speaks, as far as the record tells.
    """

    kind: PointerKind
    target: str
    priority: int
    port: int | None = None
    url: Target | None = None
    alpn: tuple[str, ...] = ()
    protocol: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    alias: str | None = None
    reason: PointerReason | None = None
    detail: str | None = None

    @property
    def accepted(self) -> bool:
        return self.reason is None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record was found: the name that was asked, as long as aliases are followed, and the domain.

    `secure`: DNSSEC vouches for the answer and the operator lets pointers out of the domain count (DA-5).
    """

    owner: str
    domain: str
    secure: bool

    @property
    def kind(self) -> PointerKind:
        label, _, rest = self.owner.partition(".")
        kinds = {f"_{kind}": kind for kind in PointerKind if kind is not PointerKind.AGENT}
        return kinds.get(label, PointerKind.AGENT) if rest == f"_agents.{self.domain}" else PointerKind.AGENT

    def admits(self, host: str) -> bool:
        """Whether a pointer from here to a canonical host counts."""
        return self.secure or same_site(host, self.domain)


def pointers(
    records: Iterable[Record], place: Place, *, holder: str | None = None, keys: Mapping[int, str] = ALL_KEYS
) -> tuple[Pointer, ...]:
    """The SVCB or HTTPS records of an answer by priority, equals in the order of the answer. Never raises.

    `holder` is the name that holds them if that is another than was asked: "." as a target means it. `keys` names
    the private parameters that count.
    """
    found = sorted((record for record in records if isinstance(record, Svcb)), key=lambda one: one.priority)
    has_alias = any(record.priority == 0 for record in found)
    return tuple(
        _listed(record, place, holder or place.owner, keys, position, has_alias=has_alias)
        for position, record in enumerate(found)
    )


def service_pointer(said: Service, place: Place, priority: int) -> Pointer:
    """The pointer to a service. Raises PointerRefused."""
    agent_protocols = [name for name in said.alpn if name in _AGENT_PROTOCOLS]
    if len(agent_protocols) > 1:
        raise PointerRefused(PointerReason.TWO_AGENT_PROTOCOLS, "One agent protocol per record.")
    if any(label.startswith("_") for label in said.host.split(".")):
        raise PointerRefused(PointerReason.UNDERSCORE, "The target has a label that no certificate can name.")
    host = _canonical(said.host, place)
    path = _path(place.kind, said.parameters)
    try:
        target = checked(Target("https", host, said.port, path or "/", None))
    except UrlRefused as refused:
        raise PointerRefused(PointerReason(refused.reason.value), refused.detail) from None
    protocol = agent_protocols[0] if agent_protocols else _protocol_beside(said.parameters, place)
    return Pointer(
        kind=place.kind,
        target=target.host,
        priority=priority,
        port=target.port,
        url=None if path is None else target,
        alpn=tuple(shown(name) for name in said.alpn),
        protocol=protocol,
        parameters={name: shown(value) for name, value in said.parameters.items()},
    )


def _listed(
    record: Svcb, place: Place, holder: str, keys: Mapping[int, str], position: int, *, has_alias: bool
) -> Pointer:
    host = holder if record.target == "." and record.priority else record.target
    try:
        if position >= MAX_POINTERS:
            raise PointerRefused(PointerReason.TOO_MANY, f"There are more than {MAX_POINTERS} records.")
        if has_alias and position > 0:
            raise PointerRefused(PointerReason.ALIAS_PRESENT, "Beside an alias no other record counts.")
        if record.priority == 0:
            return _alias(host, place)
        return service_pointer(service(record, host, keys), place, record.priority)
    except (PointerRefused, ParamsRefused) as refused:
        reason = PointerReason(refused.reason.value)
        return Pointer(place.kind, shown(host), record.priority, reason=reason, detail=refused.detail)


def _alias(name: str, place: Place) -> Pointer:
    """AliasMode (RFC 9460 §2.4.2), in which the parameters are ignored."""
    if name == ".":
        raise PointerRefused(PointerReason.NO_SERVICE, "The record says that there is no service.")
    alias = _canonical(name, place)
    return Pointer(place.kind, alias, 0, alias=alias)


def _canonical(name: str, place: Place) -> str:
    """The host of a name that a record points to, if it may point there (DA-5)."""
    try:
        host = parse_host(name)
    except MalformedTarget as error:
        raise PointerRefused(PointerReason.MALFORMED, error.detail) from None
    if not place.admits(host):
        raise PointerRefused(PointerReason.OFF_DOMAIN, "A pointer out of the domain needs DNSSEC or a signature.")
    return host


def _path(kind: PointerKind, parameters: Mapping[str, str]) -> str | None:
    """The path of the document that a record points to (DA-4); None where it points to an agent alone."""
    if "well-known" in parameters:
        segment = parameters["well-known"]
        if _SEGMENT.fullmatch(segment) is None or ".." in segment or segment == ".":
            raise PointerRefused(PointerReason.WELL_KNOWN, "well-known takes a single segment only.")
        return f"{_WELL_KNOWN}{segment}"
    if "well-known-path" in parameters:
        return _absolute_path(parameters["well-known-path"])
    if kind in _DOCUMENT_KINDS:
        return f"{_WELL_KNOWN}{_DEFAULT_FILE}"
    return "/" if kind is PointerKind.SEARCH else None


def _absolute_path(path: str) -> str:
    segments = path.removeprefix(_WELL_KNOWN).split("/")
    is_plain = all(_SEGMENT.fullmatch(segment) and ".." not in segment and segment != "." for segment in segments)
    if not path.startswith(_WELL_KNOWN) or len(path) > _LONGEST_PATH or not is_plain:
        raise PointerRefused(PointerReason.WELL_KNOWN, f"The path is no plain one below {_WELL_KNOWN}.")
    return path


def _protocol_beside(parameters: Mapping[str, str], place: Place) -> str | None:
    """The agent protocol by `bap`, or by the owner name of the older scheme `_name._protocol._agents`."""
    bap = parameters.get("bap", "").partition("=")[0].partition(",")[0].strip().lower()
    labels = place.owner.removesuffix(f"._agents.{place.domain}").split(".")
    named = labels[-1].removeprefix("_") if labels[-1].startswith("_") else ""
    return next((name for name in (bap, named) if name in _AGENT_PROTOCOLS), None)
