"""Agents on the local link, as heard by multicast DNS (MD-1 to MD-7).

`Service` is one resolved instance of `_agent._tcp.local.`; what its TXT record says is a claim that nothing vouches
for, so it is `unverified-local` throughout.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Service:
    """One instance: its full name, where it listens, its TXT attributes as received (value None: no "=")."""

    name: str
    host: str
    port: int
    addresses: tuple[str, ...]
    attributes: Mapping[bytes, bytes | None]
    ttl: int


@dataclass(frozen=True, slots=True)
class Browsed:
    """What a browse came to; `problem` says why nothing could be heard, in a sentence."""

    services: tuple[Service, ...]
    problem: str | None = None
