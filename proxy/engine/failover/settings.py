"""How long and how hard a copy is looked for (TRUST.md §6.6)."""

from __future__ import annotations

from dataclasses import dataclass, field

from proxy.failover.plan import PlanRules


@dataclass(frozen=True, slots=True)
class FailoverSettings:
    """Durations in seconds, sizes in bytes.

    `hedge_delay` is how long one is waited for before the next is asked beside it, `mirror_timeout` how long in
    all; `deadline` is for everything together.
    """

    rules: PlanRules = field(default_factory=PlanRules)
    hedge_delay: float = 0.4
    mirror_timeout: float = 3.0
    deadline: float = 6.0
    max_manifest: int = 2**20
