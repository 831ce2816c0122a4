"""The three outcomes of resolution and the words in which they are explained (UAIX.md §4.3, §5.1, §5.3)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from proxy.capability.atoms import Atom


class Rule(StrEnum):
    """The step of the decision procedure that decided. D11 is the answer's, after executing."""

    D1 = "D1"
    D2 = "D2"
    D3 = "D3"
    D4 = "D4"
    D5 = "D5"
    D6 = "D6"
    D7 = "D7"
    D9 = "D9"
    D10 = "D10"
    D11 = "D11"


class Code(StrEnum):
    """The code of a no-op."""

    HUMAN_REVIEW_REQUIRED = "human_review_required"
    REJECTED = "rejected"


class Trigger(StrEnum):
    """The entries of the trigger catalogue `uaix.no-op-trigger-catalog.v1` that resolution can meet."""

    MALFORMED_SCHEMA = "malformed_schema"
    MISSING_PROFILE = "missing_profile"
    UNSUPPORTED_CAPABILITY_LEVEL = "unsupported_capability_level"
    AUTHORITY_BOUNDARY_CONFLICT = "authority_boundary_conflict"
    PRIVATE_NETWORK_PROBE_REQUESTED = "private_network_probe_requested"


class Field(StrEnum):
    """The member of a route record that an outcome uses."""

    HIGHEST_SUPPORTED_PATH = "highest_supported_path"
    POST_EQUIVALENT = "post_equivalent"
    BROWSER_FORM_EQUIVALENT = "browser_form_equivalent"
    POST_BLOCKED_FALLBACK = "post_blocked_fallback"
    LIVE_GET_BLOCKED_FALLBACK = "live_get_blocked_fallback"
    MCP_UNAVAILABLE_FALLBACK = "mcp_unavailable_fallback"
    AUTH_UNAVAILABLE_FALLBACK = "auth_unavailable_fallback"
    TOOL_UNAVAILABLE_FALLBACK = "tool_unavailable_fallback"
    LOWEST_SAFE_FALLBACK = "lowest_safe_fallback"


class Reason(StrEnum):
    """Why a no-op."""

    SECRET_IN_URL = "secret_in_url"
    RETRY_LOOP = "retry_loop"
    ROUTE_RECORD_MISSING = "route_record_missing"
    ROUTE_RECORD_UNUSABLE = "route_record_unusable"
    ROUTE_ALIAS_CONFLICT = "route_alias_conflict"
    CONSENT_MISSING = "consent_missing"
    POST_EQUIVALENT_MISSING = "post_equivalent_missing"
    POST_EQUIVALENT_DUE = "post_equivalent_due"
    """A GET-Action asked by a client that can post: of two ways that is the one for it."""
    RESTRICTED_GET = "restricted_get"
    IDEMPOTENCY_MISSING = "idempotency_missing"
    FALLBACK_IS_NO_OP = "fallback_is_no_op"
    CAPABILITY_MISSING = "capability_missing"


@dataclass(frozen=True, slots=True)
class Execute:
    """The client may use `url` with `method`. `field` None: a read of which no route record speaks."""

    rule: Rule
    method: str
    url: str
    field: Field | None


@dataclass(frozen=True, slots=True)
class Fallback:
    """The client is shown the lower way `url`, to be opened with GET; `missing`: in cause order, never empty.

    It is handed over and not executed for the client, and chosen once, so fallbacks cannot loop.
    """

    rule: Rule
    url: str
    field: Field
    missing: tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class NoOp:
    """Nothing is done: the client shows `url` to a person and stops.

    `missing`: in cause order, empty where no atom is the cause. `field`: the fallback that says "do nothing".
    """

    rule: Rule
    reason: Reason
    url: str
    trigger: Trigger = Trigger.AUTHORITY_BOUNDARY_CONFLICT
    code: Code = Code.HUMAN_REVIEW_REQUIRED
    missing: tuple[Atom, ...] = ()
    field: Field | None = None

    @property
    def slug(self) -> str:
        """The reason in one word, with its cause: "missing_auth", "auth_unavailable_fallback_is_no_op"."""
        if self.reason is Reason.CAPABILITY_MISSING:
            return f"missing_{self.missing[0]}"
        return self.reason if self.field is None else f"{self.field}_is_no_op"


Resolution = Execute | Fallback | NoOp
