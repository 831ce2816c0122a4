"""Route records: what a site says about one way to use it, in two spellings (UAIX.md §4.1).

Members are read in camelCase and snake_case; both present and different is an *alias conflict*, and such a route is
never executed. Unknown members are ignored here and kept in the document.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RouteRecord:
    """One route, normalised. Paths and URLs are as published; None or () where a member is absent or unusable."""

    method: str
    highest_supported_path: str | None = None
    lowest_safe_fallback: str | None = None
    content_type: str | None = None
    side_effect_status: str | None = None
    fetch_execution_class: str | None = None
    required_fields: tuple[str, ...] = ()
    result_url_field: str | None = None
    restore_readback_url_field: str | None = None
    write_credential_response_path: str | None = None
    browser_form_equivalent: str | None = None
    get_safety: str | None = None
    post_blocked_fallback: str | None = None
    live_get_blocked_fallback: str | None = None
    mcp_unavailable_fallback: str | None = None
    auth_unavailable_fallback: str | None = None
    tool_unavailable_fallback: str | None = None
    human_review_url: str | None = None
    no_op_behavior: str | None = None
    """The code; of an object form, its `code`."""
    no_op_url: str | None = None
    """The `url` of an object form."""
    ability_level: str | None = None
    requires_authentication: bool = False
    post_equivalent: str | None = None
    target_clients: tuple[str, ...] = ()
    consent_required: bool = False
    conflicts: tuple[str, ...] = ()
    """Members present in both spellings with different values, by snake_case name."""
