"""What the operator says about trust, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from proxy.trust.manifests import TrustRules
from proxy.trust.records.keyring import PROBATION_SECONDS


@dataclass(frozen=True, slots=True)
class ConfiguredAnchor:
    """The DID that signs for an authority; with a document, nothing is fetched from the domain."""

    did: str
    document: bytes | None = None


@dataclass(frozen=True, slots=True)
class TrustSettings:
    """Durations in seconds. `anchors` by authority: "example.com" or "example.com:8443".

    `patience` is how long the first answer for a domain waits for its DID document. `is_strict`: a pin between soft
    and hard age vouches for no copy (TRUST.md §6.5).
    """

    rules: TrustRules = field(default_factory=TrustRules)
    probation: float = PROBATION_SECONDS
    anchors: Mapping[str, ConfiguredAnchor] = field(default_factory=dict)
    patience: float = 2.0
    mirror_max_age: float = 300.0
    is_strict: bool = False
