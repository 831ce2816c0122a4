"""The key of a listed URL: the form in which an origin's word on it is recorded (`record_url`).

Catalogs are written by others, so a URL is held to what may be fetched for a publisher's word (C-10), and to what a
record may hold. One that is not has no key: it is neither looked up nor asked for, and stays in its catalog.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import Final

from proxy.discovery.urls import UrlRefused, admit
from proxy.http.secrets import find_secret
from proxy.http.targets import Target
from proxy.relocation.records import LONGEST_URL, record_url


class NoKey(StrEnum):
    """Why no record can be of a listed URL."""

    MALFORMED = "malformed"
    TEMPLATE = "template"
    HTTPS_REQUIRED = "https_required"
    USERINFO = "userinfo"
    SSRF = "ssrf"
    PORT = "port"
    SECRET = "secret"
    TOO_LONG = "too-long"


# URLs as nearly all are: in normal form, of a public name, with nothing that needs a closer look. A word that
# begins like a secret (see proxy.http.secrets) needs one, and so does a name that might be a number.
_HOST: Final = r"(?:[a-z0-9_-]{1,63}+\.)++(?!localhost(?:/|\Z))[a-z][a-z0-9_-]{0,62}+"
_LIKE_A_SECRET: Final = (
    r"eyJ|gh[a-z]|github_|sk_|tk_|npm_|xox|ya29|glpat|pypi-|AKIA|ASIA|AIza"
    r"|[A-Z]{2}[0-9]{2}|[0-9]{3,4}-|[0-9]{13}"
)
# Only these letters begin none of them, which is seen at once.
_WORD: Final = rf"(?:[abcdfh-moqru-wz]|(?!{_LIKE_A_SECRET})[A-Za-z0-9_-])[A-Za-z0-9_-]*+"
_PATH: Final = rf"/(?:[.@~]?+{_WORD}(?:[/.@~]{{1,2}}+{_WORD})*+/?+)?+"
# Long enough, a word may look random. In a query that tells of a secret, and so may a name.
_SHORT_WORD: Final = rf"(?!{_LIKE_A_SECRET})[A-Za-z0-9_-]{{1,31}}+"
_PAIR: Final = rf"{_SHORT_WORD}(?:=(?:{_SHORT_WORD}(?:[/.~,]{_SHORT_WORD})*+)?+)?+"
_QUERY: Final = rf"\?({_PAIR}(?:&{_PAIR})*+)"
_PLAIN: Final = re.compile(rf"https://{_HOST}({_PATH}(?:{_QUERY})?+)?+")
# Shorter than any host or URL may be.
_LONGEST_PLAIN: Final = 250
# What most subjects are: URNs, names and versions, a name at a host, a URL and a relation type.
_MERE_WORD: Final = rf"(?!{_LIKE_A_SECRET}|[0-9]{{4}} [0-9]|(?i:bearer|basic|token))[A-Za-z0-9_-]++"
_HARMLESS: Final = re.compile(
    rf"https://{_HOST}(?:{_PATH})?+(?: {_WORD})?+|{_MERE_WORD}(?:[ .:/~]{{1,2}}{_MERE_WORD})*+"
)


def plain_key(reference: str) -> str | None:
    """The key of a reference as nearly all are, at little cost; None for all others."""
    match = _PLAIN.fullmatch(reference) if len(reference) <= _LONGEST_PLAIN else None
    if match is None:
        return None
    path, query = match.groups()
    if path is None:
        return f"{reference}/"
    return reference if query is None or _has_harmless_names(query) else None


def _has_harmless_names(query: str) -> bool:
    return all([_is_harmless_name(pair.partition("=")[0]) for pair in query.split("&")])


# Catalogs of thousands of URLs have a few names.
@lru_cache(maxsize=256)
def _is_harmless_name(name: str) -> bool:
    return find_secret(f"?{name}=") is None


def key_of(reference: str, base: Target) -> str | NoKey:
    """The key of a reference in the catalog at `base`, whose path has at most LONGEST_URL characters."""
    return plain_key(reference) or _looked_at(reference, base)


def is_harmless(text: str) -> bool:
    """Whether there is no secret in a text, as far as can be seen at little cost; there may be none otherwise."""
    return len(text) <= _LONGEST_PLAIN and _HARMLESS.fullmatch(text) is not None


def _looked_at(reference: str, base: Target) -> str | NoKey:
    if not reference:
        return NoKey.MALFORMED
    # Before anything else is done with it: what follows takes time that grows with it.
    if len(reference) > LONGEST_URL:
        return NoKey.TOO_LONG
    if "{" in reference:
        return NoKey.TEMPLATE
    try:
        target = admit(reference, base)
    except UrlRefused as error:
        return NoKey(error.reason.value)
    if len(target.uri) > LONGEST_URL:
        return NoKey.TOO_LONG
    if find_secret(reference) is not None:
        return NoKey.SECRET
    # What was looked at once need not be again: it is not what resolving has made of it.
    if not reference.endswith(target.request_target) and find_secret(target.uri) is not None:
        return NoKey.SECRET
    return record_url(target)
