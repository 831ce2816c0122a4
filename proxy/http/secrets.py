"""Secrets in URLs: credentials and private data where everybody on the way can read them (UAIX.md §5.5).

A URL is logged, cached, bookmarked and sent on as a Referer, so what must not be known must not stand in it.
Both names (`api_key=`) and values (a JWT under any name) give a secret away; each text is read as written and
after one and two rounds of percent-decoding. What is found is named and never quoted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from math import log2
from typing import Final
from urllib.parse import unquote

from proxy.http.secretmarks import RANDOM_RUN, may_hold
from proxy.http.secretnames import Category, category_of, plain_name


class Place(StrEnum):
    """Where in a URL a secret stands."""

    USERINFO = "userinfo"
    QUERY = "query"
    FRAGMENT = "fragment"
    PATH = "path"
    MATRIX = "matrix"


@dataclass(frozen=True, slots=True)
class Secret:
    """That a secret is there. `name` is the parameter's as written; None without one, or one not fit to be told."""

    name: str | None
    where: Place
    category: Category


# Made to be seen and to look random.
_RANDOM_BY_DESIGN: Final = frozenset({"idempotencykey", "nonce"})
# Rather private than secret: kept out of logs, not refused.
_PRIVATE_TEXT: Final = frozenset({"message", "body", "text", "email"})

_TELLABLE: Final = re.compile(r"[A-Za-z0-9_.\[\]-]{1,64}")
_AUTHORITY: Final = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:)?//([^/]*)")
_NESTED_USERINFO: Final = re.compile(r"""://[^][/?#%&;,+"'<>\s:@]*:[^][/?#%&;,+"'<>\s@]+@""")
_URL: Final = re.compile(r"""[A-Za-z][A-Za-z0-9+.-]{0,31}://[^\s"<>]*""")
_HOST: Final = re.compile(r"(?:[^:@\[\]]+|\[[0-9A-Fa-f:.]*\])(?::[0-9]*)?")
_PATH: Final = re.compile(r"[/?#]")
_PAIRS: Final = re.compile(r"[&;?#]")

# One search for every shape; the group that matched says which. Each begins where a word begins and is bounded or
# cannot begin again inside itself, so that the search stays linear.
_SHAPES: Final = re.compile(
    r"""(?<![A-Za-z0-9_-])(?:
        (?P<bearer>(?i:bearer)[ ]+[A-Za-z0-9._~+/=-]{8})
      | (?P<scheme>(?i:basic|token)[ ]+[A-Za-z0-9._~+/=-]{8,512})
      | (?P<jwt>eyJ[A-Za-z0-9_-]{5,}\.[A-Za-z0-9_-]{5,}\.)
      | (?P<pem>-----BEGIN[ ])
      | (?P<aws>(?:AKIA|ASIA)[0-9A-Z]{16}(?![A-Za-z0-9]))
      | (?P<vendor>gh[oprsu]_\w{6}|github_pat_\w{6}|sk_(?:live|test)_
          |xox[a-z]-[\w-]{6}|AIza[\w-]{6}|ya29\.[\w-]{6}|glpat-[\w-]{6})
      | (?P<prefix>(?:sk_|npm_|pypi-|tk_)[A-Za-z0-9_-]{8,512})
      | (?P<ssn>[0-9]{3}-[0-9]{2}-[0-9]{4}(?![A-Za-z0-9-]))
      | (?P<iban>[A-Z]{2}[0-9]{2}(?:[A-Z0-9]{11,30}|(?:[ ][A-Z0-9]{4}){2,7}(?:[ ][A-Z0-9]{1,3})?)(?![A-Za-z0-9]))
      | (?P<card>(?<![0-9]\.)(?:[0-9]{13,19}
          |[0-9]{4}(?:[ -][0-9]{4}){2}[ -][0-9]{1,7}|[0-9]{4}[ -][0-9]{6}[ -][0-9]{5})(?![A-Za-z0-9]))
    )""",
    re.VERBOSE | re.ASCII,
)
_SHAPE_CATEGORIES: Final = {
    "ssn": Category.REGULATED,
    "iban": Category.ACCOUNT,
    "card": Category.PAYMENT,
}
_RANDOM_BITS: Final = 4.0
# So that what is remembered takes a few megabytes at most.
_REMEMBERED_LENGTH: Final = 512
_REMEMBERED_URLS: Final = 8192
_UNLIKE_A_WORD: Final = re.compile(r"[0-9=]|[a-z][A-Z]")


def find_secret(url: str, allowed: frozenset[str] = frozenset()) -> Secret | None:
    """The first secret in a URL, a reference or a request target; None when there is none.

    `allowed`: parameter names that this route uses for something else. They are not held against the URL, nor
    is a value of theirs that merely looks random; a value of a known shape is.
    """
    exempt = _RANDOM_BY_DESIGN | {plain_name(name) for name in allowed}
    for text in _readings(url):
        if may_hold(text) and (found := _find_in(text, exempt)) is not None:
            return found
    return None


def known_secret(url: str, allowed: frozenset[str] = frozenset()) -> Secret | None:
    """What `find_secret` finds, known already where the same URL was looked at not long ago."""
    return _remembered(url, allowed) if len(url) <= _REMEMBERED_LENGTH else find_secret(url, allowed)


@lru_cache(_REMEMBERED_URLS)
def _remembered(url: str, allowed: frozenset[str]) -> Secret | None:
    return find_secret(url, allowed)


def masked(text: str) -> str:
    """`text` with every URL in it that holds a secret cut down to its origin, as signed URLs have to be shown."""
    return _URL.sub(_origin_of, text) if "://" in text else text


def _origin_of(match: re.Match[str]) -> str:
    url = match[0]
    if find_secret(url) is None:
        return url
    scheme, _, rest = url.partition("://")
    authority = _PATH.split(rest, maxsplit=1)[0].rpartition("@")[2]
    origin = f"{scheme}://{authority}/"
    return origin if _HOST.fullmatch(authority) and find_secret(origin) is None else f"{scheme}:"


def find_private_text(url: str) -> str | None:
    """The lower-case name of the first query parameter that holds somebody's words or address, or None."""
    for text in _readings(url):
        for place, piece in _pieces(text):
            name = plain_name(piece.partition("=")[0])
            if place is Place.QUERY and "=" in piece and name in _PRIVATE_TEXT:
                return name
    return None


def _readings(url: str) -> Iterator[str]:
    """The text as written, and percent-decoded once and twice where that makes a difference."""
    yield url
    once = unquote(url)
    if once != url:
        yield once
        twice = unquote(once)
        if twice != once:
            yield twice


def _find_in(text: str, exempt: frozenset[str]) -> Secret | None:
    authority = _AUTHORITY.match(text.partition("#")[0].partition("?")[0])
    if (authority is not None and "@" in authority[1]) or _NESTED_USERINFO.search(text) is not None:
        return Secret(None, Place.USERINFO, Category.CREDENTIAL)
    for place, piece in _pieces(text):
        if piece and (found := _judge(place, piece, exempt)) is not None:
            return found
    return None


def _pieces(text: str) -> Iterator[tuple[Place, str]]:
    """Segments, parameters and pairs; the authority is left out."""
    rest, _, fragment = text.partition("#")
    hierarchy, _, query = rest.partition("?")
    authority = _AUTHORITY.match(hierarchy)
    path = hierarchy if authority is None else hierarchy[authority.end() :]
    # Without parameters a path is one piece, which spares long ones a loop.
    for segment in path.split("/") if "=" in path or ";" in path else (path,):
        first, *parameters = segment.split(";")
        yield Place.PATH, first
        yield from ((Place.MATRIX, parameter) for parameter in parameters)
    yield from ((Place.QUERY, pair) for pair in _PAIRS.split(query))
    yield from ((Place.FRAGMENT, pair) for pair in _PAIRS.split(fragment))


def _judge(place: Place, piece: str, exempt: frozenset[str]) -> Secret | None:
    name, mark, _ = piece.partition("=")
    plain = plain_name(name) if mark else ""
    if plain not in exempt and (category := category_of(plain)) is not None:
        return Secret(_tellable(name), place, category)
    is_form = place in (Place.QUERY, Place.FRAGMENT)
    category = _by_shape(piece.replace("+", " ") if is_form else piece)
    if category is None and is_form and plain not in exempt and _looks_random(piece):
        category = Category.CREDENTIAL
    return None if category is None else Secret(_tellable(name) if mark else None, place, category)


def _by_shape(text: str) -> Category | None:
    for match in _SHAPES.finditer(text):
        shape = str(match.lastgroup)
        if _is_borne_out(shape, match[0]):
            return _SHAPE_CATEGORIES.get(shape, Category.CREDENTIAL)
    return None


def _is_borne_out(shape: str, text: str) -> bool:
    """Whether a match is what it looks like: digits that add up, and no plain words after a common word."""
    match shape:
        case "card":
            return _passes_luhn(text)
        case "iban":
            return _passes_mod_97(text.replace(" ", ""))
        case "scheme" | "prefix":
            return _UNLIKE_A_WORD.search(text) is not None
        case _:
            return True


def _passes_luhn(text: str) -> bool:
    digits = [int(char) for char in reversed(text) if char.isdigit()]
    return sum(digits[::2] + [sum(divmod(2 * digit, 10)) for digit in digits[1::2]]) % 10 == 0


def _passes_mod_97(text: str) -> bool:
    """ISO 13616: the country and the check digits moved to the end, letters read as 10 to 35."""
    return int("".join(str(int(char, 36)) for char in text[4:] + text[:4])) % 97 == 1


def _looks_random(text: str) -> bool:
    return any(_is_random(match[0]) for match in RANDOM_RUN.finditer(text))


def _is_random(run: str) -> bool:
    kinds = (str.islower, str.isupper, str.isdigit)
    if not all(any(map(kind, run)) for kind in kinds):
        return False
    shares = [count / len(run) for count in Counter(run).values()]
    return -sum(share * log2(share) for share in shares) >= _RANDOM_BITS


def _tellable(name: str) -> str | None:
    """The name itself, unless it is long, holds odd characters or a secret of its own."""
    if _TELLABLE.fullmatch(name) is None or _by_shape(name) is not None or _looks_random(name):
        return None
    return name
