"""Where else a manifest says that its copies lie: `x-independent-mirrors` (U-M9, TRUST.md §6.1).

A mirror is a claim of the publisher and nothing is taken from it unverified. One that cannot be used is listed with
the reason and does not spoil the manifest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from proxy.discovery.access.manifesturls import LONGEST_URL, UrlRule
from proxy.discovery.findings import Finding, pointer
from proxy.discovery.urls import UrlReason, UrlRefused, admit
from proxy.http.secrets import find_secret
from proxy.http.targets import Target
from proxy.trust.content.cid import Cid, MalformedCid, parse_cid
from proxy.trust.content.ipns import IpnsName, parse_name
from proxy.trust.reasons import Untrusted

MOST_MIRRORS: Final = 8
UNUSABLE: Final = "U-M9"

_MOST_READ: Final = 64


class MirrorReason(StrEnum):
    """Why a listed mirror is not used."""

    NOT_TEXT = "not-text"
    SECRET = "secret"
    SCHEME = "scheme"
    URL = "url"
    OWN_HOST = "own-host"
    CID = "cid"
    NAME = "name"
    NOT_CONTENT = "not-content"
    TOO_MANY = "too-many"


@dataclass(frozen=True, slots=True)
class HttpsMirror:
    """A copy at a URL."""

    index: int
    target: Target


@dataclass(frozen=True, slots=True)
class IpfsMirror:
    """A copy by content; `path` is "" or begins with "/"."""

    index: int
    cid: Cid
    path: str


@dataclass(frozen=True, slots=True)
class IpnsMirror:
    """A copy by the name of a key that signs which content is meant; `path` as above."""

    index: int
    name: IpnsName
    path: str


Mirror = HttpsMirror | IpfsMirror | IpnsMirror


@dataclass(frozen=True, slots=True)
class RefusedMirror:
    """The element `index` of the list, and why it is not used."""

    index: int
    reason: MirrorReason


@dataclass(frozen=True, slots=True)
class Mirrors:
    """The list in its order, parted into those to be tried (at most MOST_MIRRORS) and the others."""

    usable: tuple[Mirror, ...]
    refused: tuple[RefusedMirror, ...]
    findings: tuple[Finding, ...]


def read_mirrors(listed: list[object], site: Target, path: str) -> Mirrors:
    """The mirrors of a manifest of `site`; `path` is the pointer to the list. Of a long list the head is read."""
    usable: list[Mirror] = []
    refused: list[RefusedMirror] = []
    for index, item in enumerate(listed[:_MOST_READ]):
        mirror = _mirror(index, item, site)
        if isinstance(mirror, RefusedMirror):
            refused.append(mirror)
        elif len(usable) == MOST_MIRRORS:
            refused.append(RefusedMirror(index, MirrorReason.TOO_MANY))
        else:
            usable.append(mirror)
    return Mirrors(tuple(usable), tuple(refused), tuple(_finding(mirror, path) for mirror in refused))


def _finding(mirror: RefusedMirror, path: str) -> Finding:
    where = path + pointer(mirror.index)
    if mirror.reason is MirrorReason.SECRET:
        return Finding(UrlRule.SECRET, where, "The URL of the mirror carries a secret.")
    return Finding(UNUSABLE, where, f"The mirror is not used: {mirror.reason}.", is_warning=True)


def _mirror(index: int, item: object, site: Target) -> Mirror | RefusedMirror:
    if not isinstance(item, str):
        return RefusedMirror(index, MirrorReason.NOT_TEXT)
    if len(item) > LONGEST_URL:
        return RefusedMirror(index, MirrorReason.URL)
    if find_secret(item) is not None:
        return RefusedMirror(index, MirrorReason.SECRET)
    scheme, separator, rest = item.partition("://")
    by_content = _BY_CONTENT.get(scheme.lower()) if separator else None
    return _https(index, item, site) if by_content is None else _parted(index, rest, by_content)


def _https(index: int, url: str, site: Target) -> Mirror | RefusedMirror:
    try:
        target = admit(url)
    except UrlRefused as refused:
        is_scheme = refused.reason is UrlReason.HTTPS_REQUIRED
        return RefusedMirror(index, MirrorReason.SCHEME if is_scheme else MirrorReason.URL)
    if target.host == site.host:
        return RefusedMirror(index, MirrorReason.OWN_HOST)
    return HttpsMirror(index, target)


def _parted(index: int, rest: str, read: _ByContent) -> Mirror | RefusedMirror:
    name, slash, path = rest.partition("/")
    if not path.isascii() or not path.isprintable() or any(mark in path for mark in " ?#"):
        return RefusedMirror(index, MirrorReason.URL)
    return read(index, name, slash + path)


def _ipfs(index: int, text: str, path: str) -> Mirror | RefusedMirror:
    try:
        cid = parse_cid(text)
    except MalformedCid:
        return RefusedMirror(index, MirrorReason.CID)
    if not cid.names_content:
        return RefusedMirror(index, MirrorReason.NOT_CONTENT)
    return IpfsMirror(index, cid, path)


def _ipns(index: int, text: str, path: str) -> Mirror | RefusedMirror:
    """Names of keys only: what a domain name stands for in IPNS, nobody has signed."""
    try:
        return IpnsMirror(index, parse_name(text), path)
    except Untrusted:
        return RefusedMirror(index, MirrorReason.NAME)


_ByContent = Callable[[int, str, str], Mirror | RefusedMirror]
_BY_CONTENT: Final[Mapping[str, _ByContent]] = MappingProxyType({"ipfs": _ipfs, "ipns": _ipns})
