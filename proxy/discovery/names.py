"""The domain that is asked about, and which names belong together (C-1 to C-3).

The exact host given is what counts: no walk to a parent, no guess at `www`. The registrable domain, by the
Public Suffix List, only says how far a publisher's pointers and redirects may lead without further proof.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from publicsuffixlist import PublicSuffixList

from proxy.http.targets import MalformedTarget, is_address, parse_host

LOCAL_SUFFIX: Final = ".local"
_SUFFIXES: Final = PublicSuffixList()
_AGENT_PREFIX: Final = len("_entries._agents.")
_LONGEST_NAME: Final = 253


class BadDomain(ValueError):
    """The text is no domain that can be asked about; `detail` says why and what would be."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


def parse_domain(text: str, *, isolated: bool = False) -> str:
    """The canonical domain: lower case, A-labels, no trailing dot. Raises BadDomain.

    `isolated`: there is no public DNS, so a single label may name a host on the local link.
    """
    if any(mark in text for mark in "/?#@:[]\\"):
        raise BadDomain("Give a domain alone, such as example.com: no scheme, port, path or userinfo.")
    try:
        name = parse_host(text)
    except MalformedTarget as error:
        raise BadDomain(f"{error.detail} Give a domain such as example.com.") from None
    if is_address(name):
        raise BadDomain("An IP address publishes nothing: give the domain, such as example.com.")
    _refuse_unpublished(name, isolated=isolated)
    return name


def _refuse_unpublished(name: str, *, isolated: bool) -> None:
    labels = name.split(".")
    if any(not label or len(label) > 63 for label in labels):
        raise BadDomain("A label of the name is empty or longer than 63 octets.")
    if len(name) + _AGENT_PREFIX > _LONGEST_NAME:
        raise BadDomain("The name is too long for the records below it.")
    if name == "localhost" or name.endswith(".localhost"):
        raise BadDomain("localhost is every machine's own name (RFC 6761): no domain is behind it.")
    if len(labels) == 1 and not isolated:
        raise BadDomain("A single label is no domain: give one such as example.com.")


def is_local(domain: str) -> bool:
    """Whether the name belongs to the local link and to multicast DNS alone (RFC 6762 §3)."""
    return domain.endswith(LOCAL_SUFFIX)


@lru_cache(maxsize=4096)
def registrable_domain(host: str) -> str:
    """The part of a canonical host that one registrant holds; the host itself where there is no such part."""
    if is_address(host):
        return host
    return _SUFFIXES.privatesuffix(host) or host


def same_site(host: str, other: str) -> bool:
    """Whether two canonical hosts belong to one registrable domain."""
    return registrable_domain(host) == registrable_domain(other)
