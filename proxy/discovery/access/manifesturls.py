"""URLs and paths as a manifest publishes them: which may be used, and what the others break.

One test for all of them: no secret (U-G6), https (U-S1), a public host (C-10). Relative ones are resolved against
the site and never against where a copy of the manifest was found (U-M8).
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from proxy.discovery.findings import Finding
from proxy.discovery.urls import UrlReason, UrlRefused, admit
from proxy.http.secrets import Secret, find_secret
from proxy.http.targets import Target

LONGEST_URL: Final = 8192
"""In characters; what is longer no server is sure to take (RFC 9110 §4.1 asks for 8000 octets)."""
MOST_URL_CHARACTERS: Final = 64 * 1024
"""Of all URLs of one document: looking for secrets in them is slow, so what lies beyond is not read."""

# What looking into even the shortest URL comes to, in characters.
_SHORTEST: Final = 24


class UrlRule(StrEnum):
    """The rules that a published URL can break."""

    SECRET = "get_action_query_secret"
    HTTPS = "U-S1"
    NOT_FETCHABLE = "C-10"
    REVIEW_NOT_PUBLIC = "local.human_review_url_not_public"
    SITE_NOT_PUBLIC = "local.site_url_not_public"
    TWO_KEY = "local.two_key_url"


def published_target(
    reference: str, site: Target | None, path: str, rule: UrlRule | None = None
) -> Target | Finding:
    """The target of what stands at the pointer `path`, or the breach.

    `site` None: the reference has to be absolute. `rule` is reported for a URL that is not public and not https,
    where the place has a rule of its own.
    """
    if len(reference) > LONGEST_URL:
        return Finding(rule or UrlRule.NOT_FETCHABLE, path, f"The URL has more than {LONGEST_URL} characters.")
    secret = find_secret(reference)
    if secret is not None:
        return Finding(UrlRule.SECRET, path, secret_detail(secret))
    try:
        return admit(reference, site)
    except UrlRefused as refused:
        own = UrlRule.HTTPS if refused.reason is UrlReason.HTTPS_REQUIRED else UrlRule.NOT_FETCHABLE
        return Finding(rule or own, path, refused.detail)


def characters_of(urls: Iterable[object]) -> int:
    """What those of the values that are URLs count against MOST_URL_CHARACTERS; nothing where they go unread."""
    return sum(_SHORTEST + len(url) for url in urls if isinstance(url, str) and len(url) <= LONGEST_URL)


def secret_detail(secret: Secret) -> str:
    """What to say of a secret in a URL: where it stands and under which name."""
    called = "" if secret.name is None else f", named {secret.name}"
    return f"The URL carries a {secret.category} secret in its {secret.where}{called}."
