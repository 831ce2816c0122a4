"""Connecting elsewhere than a target says (`upstream.connect_to`), as curl's `--connect-to`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ConnectTo:
    """Connect elsewhere for a target, as curl's `--connect-to`; Host and the name in TLS stay the target's.

    `host` and `port` say which targets it is for, None matching any; `connect_host` and `connect_port` where to
    connect instead, None leaving them unchanged. Hosts are canonical, IPv6 without brackets.
    """

    host: str | None
    port: int | None
    connect_host: str | None
    connect_port: int | None

    def is_for(self, host: str, port: int) -> bool:
        """Whether the rule is for this target."""
        return self.host in (None, host) and self.port in (None, port)

    def __str__(self) -> str:
        hosts = (f"[{host}]" if ":" in (host or "") else host or "" for host in (self.host, self.connect_host))
        ports = (self.port or "", self.connect_port or "")
        return ":".join(f"{host}:{port}" for host, port in zip(hosts, ports, strict=True))


def connect_address(rules: Iterable[ConnectTo], host: str, port: int) -> tuple[str, int]:
    """Where to connect for a target: what the first rule for it says, else the target itself."""
    for rule in rules:
        if rule.is_for(host, port):
            return rule.connect_host or host, rule.connect_port or port
    return host, port
