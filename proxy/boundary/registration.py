"""A capability profile on record: whose, which version, and until when it counts (UAIX.md §3; CONTRACT §8)."""

from __future__ import annotations

from dataclasses import dataclass

from proxy.capability.profiles import CapabilityProfile


@dataclass(frozen=True, slots=True)
class Registration:
    """What a client says of itself. Times are Unix seconds; `version` counts its registrations from 1."""

    client: str
    version: int
    profile: CapabilityProfile
    registered_at: float
    expires_at: float

    def is_valid(self, now: float) -> bool:
        """Whether it counts; a clock that jumped back before it was registered ends it as well."""
        return self.registered_at <= now < self.expires_at
