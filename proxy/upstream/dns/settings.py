"""What the operator decides about DNS."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from enum import StrEnum

from proxy.upstream.dns.resolvers import Resolver, Transport


class Dnssec(StrEnum):
    """What DNSSEC is wanted for: nothing, to tell how far an answer can be believed, or to believe it at all."""

    OFF = "off"
    PREFER = "prefer"
    REQUIRE = "require"


@dataclass(frozen=True, slots=True)
class DnsSettings:
    """Times are seconds: `timeout` for a whole question, `attempt_timeout` for one exchange with one resolver.

    The AD bit (RFC 4035 §3.2.3) is believed from the resolvers at the literal addresses `trust_ad_from`. `tls`
    verifies resolvers asked over TLS; None is the system's authorities. `failure_ttl` is how long a failure is
    remembered.
    """

    resolvers: tuple[Resolver, ...]
    transport: Transport = Transport.UDP
    timeout: float = 2.0
    attempt_timeout: float = 1.0
    dnssec: Dnssec = Dnssec.PREFER
    trust_ad_from: frozenset[str] = frozenset()
    failure_ttl: float = 5.0
    tls: ssl.SSLContext | None = None
