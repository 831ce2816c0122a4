"""Trustless gateways (TRUST.md §7.2, §7.4): where they are asked for blocks and records, and which are asked first.

A gateway is believed nothing, so a bad one costs time only. Each carries a *penalty* that a failure raises a little
and wrong bytes a lot, that a success halves and that time lets fade: whoever was bad is asked last, not never.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from proxy.http.targets import DEFAULT_PORTS, MalformedTarget, Target, is_loopback, parse_target

_FAILURE: Final = 1.0
_WRONG_BYTES: Final = 16.0
_HIGHEST: Final = 32.0
_HALF_LIFE: Final = 300.0


class MalformedGateway(ValueError):
    """The text names no gateway that may be used; `detail` says why."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Gateway:
    """A gateway in path form; `base` is what `/ipfs/…` and `/ipns/…` follow, with no "/" at the end of a path."""

    base: Target

    @property
    def url(self) -> str:
        """Its address, without a "/" at the end."""
        return self.base.uri.removesuffix("/")

    def block(self, cid: str) -> Target:
        """Where the block of a content identifier is asked for."""
        return self._below("ipfs", cid, "format=raw")

    def record(self, name: str) -> Target:
        """Where the record of an IPNS name is asked for."""
        return self._below("ipns", name, "format=ipns-record")

    def may_follow(self, target: Target) -> bool:
        """Whether a redirect may lead there: to the gateway's host or one below it, and not out of TLS."""
        if target.origin == self.base.origin:
            return True
        is_within = target.host == self.base.host or target.host.endswith(f".{self.base.host}")
        return is_within and target.scheme == "https" and target.port in (self.base.port, DEFAULT_PORTS["https"])

    def _below(self, namespace: str, name: str, query: str) -> Target:
        base = self.base
        path = f"{base.path.removesuffix('/')}/{namespace}/{name}"
        return Target(base.scheme, base.host, base.port, path, query)


def parse_gateway(text: str) -> Gateway:
    """The gateway at a URL such as "https://ipfs.example.net". Raises MalformedGateway.

    https, or http on the loopback; without query. The fragment-free path may be one below which the gateway lies.
    """
    try:
        target = parse_target(text)
    except MalformedTarget as error:
        raise MalformedGateway(error.detail) from None
    if target.query is not None:
        raise MalformedGateway("The address of a gateway has no query.")
    if target.scheme != "https" and not is_loopback(target.host):
        raise MalformedGateway("A gateway is asked by https; by http only on the loopback.")
    path = target.path.rstrip("/") or "/"
    return Gateway(Target(target.scheme, target.host, target.port, path, None))


@dataclass(frozen=True, slots=True)
class _Standing:
    penalty: float
    since: float

    def at(self, now: float) -> float:
        """The penalty that is left; a clock set back makes none grow."""
        return self.penalty * float(0.5 ** (max(0.0, now - self.since) / _HALF_LIFE))


_UNKNOWN: Final = _Standing(0.0, 0.0)


@dataclass(frozen=True, slots=True)
class GatewayScores:
    """The penalties of gateways as a value: each event makes the next one. Times in Unix seconds."""

    _of: Mapping[Gateway, _Standing] = field(default_factory=dict)

    def failed(self, gateway: Gateway, now: float) -> GatewayScores:
        """After no usable answer."""
        return self._with(gateway, self._penalty(gateway, now) + _FAILURE, now)

    def answered_wrongly(self, gateway: Gateway, now: float) -> GatewayScores:
        """After bytes that are not those that were asked for."""
        return self._with(gateway, self._penalty(gateway, now) + _WRONG_BYTES, now)

    def succeeded(self, gateway: Gateway, now: float) -> GatewayScores:
        """After bytes that were right."""
        penalty = self._penalty(gateway, now)
        return self._with(gateway, penalty / 2, now) if penalty else self

    def score(self, gateway: Gateway, now: float) -> float:
        """How much is thought of it, from near 0 to 1."""
        return 1.0 / (1.0 + self._penalty(gateway, now))

    def ordered(self, gateways: tuple[Gateway, ...], now: float) -> tuple[Gateway, ...]:
        """The best first; those about equal in the order given."""
        return tuple(sorted(gateways, key=lambda gateway: round(self._penalty(gateway, now))))

    def _penalty(self, gateway: Gateway, now: float) -> float:
        return self._of.get(gateway, _UNKNOWN).at(now)

    def _with(self, gateway: Gateway, penalty: float, now: float) -> GatewayScores:
        return GatewayScores({**self._of, gateway: _Standing(min(penalty, _HIGHEST), now)})
