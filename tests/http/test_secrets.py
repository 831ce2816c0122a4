"""Secrets in URLs: names and values that give them away, and what only looks alike (UAIX.md §5.5)."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.http.secrets import Category, Place, Secret, find_private_text, find_secret, masked

JWT = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJleGFtcGxlIn0."
RANDOM = "q8Xv2LmT9aPz4KdW7cRy1NbH6sJf3GuE"
SITE = "https://example.com"

NAMES = {
    Category.CREDENTIAL: """
        key api_key api-key apikey API.KEY x-api-key access_key secret_key token access_token csrf-token secret
        client_secret password passwd passphrase pass pwd user_password pin otp mfa bearer Authorization auth
        credential credentials cookie session session_id sid JSESSIONID jwt saml SAMLResponse code_verifier
        private_key ssh-key signature sig X-Amz-Signature X-Amz-Credential X-Amz-Security-Token X-Goog-Signature
        AWSAccessKeyId GoogleAccessId Key-Pair-Id""",
    Category.ACCOUNT: "account account_id account-number iban bic routing_number customerId",
    Category.REGULATED: "ssn national_id passport tax_id nhs_number mrn patient patient_id diagnosis",
    Category.PAYMENT: "card card_number credit_card pan cvv cvc payment payment_id payment_method",
    Category.PRIVATE_MESSAGE: "private_message privateMessage dm",
}
NAME_ROWS = [(name, category) for category, names in NAMES.items() for name in names.split()]


@pytest.mark.parametrize(("name", "category"), NAME_ROWS, ids=[name for name, _ in NAME_ROWS])
def test_names(name: str, category: Category) -> None:
    assert find_secret(f"{SITE}/a?x=1&{name}=1") == Secret(name, Place.QUERY, category)


INNOCENT = """
    q page keyword monkey tokens signal design spin passage author cards accounts idempotency_key nonce"""


@pytest.mark.parametrize("name", INNOCENT.split())
def test_names_that_are_no_secret(name: str) -> None:
    assert find_secret(f"{SITE}/a?{name}=1#{name}=1") is None


PLACES = [
    ("password in userinfo", "https://alice:pw@example.com/r/1", None, Place.USERINFO),
    ("user alone", "https://alice@example.com", None, Place.USERINFO),
    ("no scheme", "//alice:pw@example.com/", None, Place.USERINFO),
    ("encoded userinfo", "https://alice%3Apw%40example.com/", None, Place.USERINFO),
    ("a URL in the query", "/cb?next=https://a:pw@example.com/", None, Place.USERINFO),
    ("another scheme in the query", "/cb?db=redis://:pw@cache/0", None, Place.USERINFO),
    ("query", "/a?token=1", "token", Place.QUERY),
    ("empty value", "/a?token=", "token", Place.QUERY),
    ("semicolon", "/a?x=1;token=1", "token", Place.QUERY),
    ("second question mark", "/a?next=/b?token=1", "token", Place.QUERY),
    ("brackets", "/a?user[api_key]=1", "user[api_key]", Place.QUERY),
    ("list brackets", "/a?token[]=1", "token[]", Place.QUERY),
    ("fragment", "/openapi.json#access_token=1", "access_token", Place.FRAGMENT),
    ("route in the fragment", "/#/home?token=1", "token", Place.FRAGMENT),
    ("path segment", "/a/token=1/b", "token", Place.PATH),
    ("matrix", "/a;jsessionid=1/b", "jsessionid", Place.MATRIX),
    ("later matrix parameter", "/a;v=1;sid=2", "sid", Place.MATRIX),
    ("encoded name", "/a?%74oken=1", "token", Place.QUERY),
    ("encoded separators", "/a?x=1%26token%3D1", "token", Place.QUERY),
    ("encoded twice", "/a?idempotency_key=r%2526api_key%253D1", "api_key", Place.QUERY),
    ("encoded question mark", "/a%3Ftoken=1", None, Place.PATH),
    ("value in the path", "/a/AKIAIOSFODNN7EXAMPLE", None, Place.PATH),
    ("value without a name", f"/a?{JWT}", None, Place.QUERY),
]


@pytest.mark.parametrize(("url", "name", "place"), [row[1:] for row in PLACES], ids=[row[0] for row in PLACES])
def test_places(url: str, name: str | None, place: Place) -> None:
    found = find_secret(url)
    assert found is not None and (found.name, found.where) == (name, place)


VALUES = {
    "bearer": ("Bearer abcdefgh", Category.CREDENTIAL),
    "bearer plus": ("bearer+abcdefgh12345678", Category.CREDENTIAL),
    "basic": ("Basic dXNlcjpwYXNz", Category.CREDENTIAL),
    "token": ("use Token abcdefgh1", Category.CREDENTIAL),
    "jwt": (JWT, Category.CREDENTIAL),
    "signed jwt": (f"{JWT}c2ln", Category.CREDENTIAL),
    "pem": ("-----BEGIN PRIVATE KEY-----", Category.CREDENTIAL),
    "aws": ("ASIAIOSFODNN7EXAMPLE", Category.CREDENTIAL),
    "stripe": ("sk_live_abcdef", Category.CREDENTIAL),
    "sk": ("sk_4eC39HqLyjWD", Category.CREDENTIAL),
    "github": ("ghp_abcdef123456", Category.CREDENTIAL),
    "github fine-grained": ("github_pat_11AAAAAA", Category.CREDENTIAL),
    "slack": ("xoxb-123456-abc", Category.CREDENTIAL),
    "google": ("AIzaSyA1234567", Category.CREDENTIAL),
    "google oauth": ("ya29.a0AfH6SM", Category.CREDENTIAL),
    "gitlab": ("glpat-abc123xyz", Category.CREDENTIAL),
    "npm": ("npm_abc123xyz456", Category.CREDENTIAL),
    "pypi": ("pypi-AgEIcHlwaS5v", Category.CREDENTIAL),
    "tk": ("tk_abcd1234efgh", Category.CREDENTIAL),
    "ssn": ("078-05-1120", Category.REGULATED),
    "iban": ("GB82WEST12345698765432", Category.ACCOUNT),
    "iban in groups": ("DE89 3704 0044 0532 0130 00", Category.ACCOUNT),
    "card": ("4111111111111111", Category.PAYMENT),
    "card in groups": ("4111 1111 1111 1111", Category.PAYMENT),
    "card with hyphens": ("4111-1111-1111-1111", Category.PAYMENT),
    "fifteen digits": ("3782 822463 10005", Category.PAYMENT),
}


@pytest.mark.parametrize(("value", "category"), VALUES.values(), ids=VALUES)
def test_values_anywhere(value: str, category: Category) -> None:
    plus = value.replace("+", " ")
    assert find_secret(f"{SITE}/a?note={value}") == Secret("note", Place.QUERY, category)
    assert find_secret(f"{SITE}/a?nonce={value}") == Secret("nonce", Place.QUERY, category)
    assert find_secret(f"{SITE}/a#note={value}") == Secret("note", Place.FRAGMENT, category)
    assert find_secret(f"{SITE}/a/{plus}/b") == Secret(None, Place.PATH, category)
    assert find_secret(f"{SITE}/a/b;v={plus}") == Secret("v", Place.MATRIX, category)


HARMLESS = {
    "prose": "basic training and token economy",
    "word like a prefix": "/npm_packages/pypi-mirror-list/sk_SK",
    "inside a word": "/task_12345678/desk_12345678/xAKIAIOSFODNN7EXAMPLE",
    "no Luhn": "4111111111111112",
    "too few digits": "411111111111",
    "too many digits": "41111111111111111111",
    "coordinate": "/?lng=13.4111111111111111",
    "UUID of digits": "/550e8400-e29b-41d4-9716-446655440000",
    "no IBAN": "GB83WEST12345698765432",
    "date": "2026-11-30",
    "telephone number": "+1-555-010-1120",
    "content id in the path": "/ipfs/QmYwAPJzv5CZsnA625s3Xf2sm5Dsg7C733dXyZ12345abcd",
    "random in the path": f"/{RANDOM}",
    "random, exempt": f"/?idempotency_key={RANDOM}&nonce={RANDOM}#nonce={RANDOM}",
    "hash": "/?sha256=e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "one case": f"/?x={RANDOM.lower()}",
    "few characters": "/?x=Ab1Ab1Ab1Ab1Ab1Ab1Ab1Ab1Ab1Ab1Ab1Ab1",
    "short": f"/?x={RANDOM[:31]}",
    "name without value": "/?token&key",
    "at sign in the path": "https://social.example/@alice/1",
    "at sign in the query": "/?next=https://example.com/@alice&to=bob@example.com",
    "user of another scheme": "/?repo=ssh://git@example.com/a",
    "short jwt": "/eyJ.eyJ.x",
    "nothing": "",
}


@pytest.mark.parametrize("url", HARMLESS.values(), ids=HARMLESS)
def test_harmless(url: str) -> None:
    assert find_secret(url) is None


def test_random_values_count_where_nothing_else_is_random() -> None:
    assert find_secret(f"/?cursor={RANDOM}") == Secret("cursor", Place.QUERY, Category.CREDENTIAL)
    assert find_secret(f"/#{RANDOM}") == Secret(None, Place.FRAGMENT, Category.CREDENTIAL)


def test_allowed_names_are_held_to_shapes_only() -> None:
    allowed = frozenset({"Sig", "account-id"})
    assert find_secret(f"/?sig={RANDOM}&accountId=7", allowed) is None
    assert find_secret(f"/?sig={JWT}", allowed) == Secret("sig", Place.QUERY, Category.CREDENTIAL)
    assert find_secret("/?token=1", allowed) is not None


UNTOLD = {"shape": "ghp_abcdef123456", "random": f"{RANDOM}x", "space": "a b", "long": "n" * 65, "nul": "n\x00"}


@pytest.mark.parametrize("name", UNTOLD.values(), ids=UNTOLD)
def test_a_name_that_may_be_the_secret_is_not_told(name: str) -> None:
    found = find_secret(f"/?{name}=AKIAIOSFODNN7EXAMPLE")
    assert found is not None and found.name is None


@pytest.mark.parametrize("name", ["message", "body", "text", "e-mail", "user[email]"])
def test_private_text_is_named_and_no_secret(name: str) -> None:
    url = f"/say?x=1&{name}=hello"
    assert find_secret(url) is None
    assert find_private_text(url) == name.replace("-", "").removeprefix("user[").removesuffix("]")


@pytest.mark.parametrize("url", ["/body", "/a;text=1", "/a#text=1", "/a?text", "/a?context=1"])
def test_what_is_no_private_text(url: str) -> None:
    assert find_private_text(url) is None


LONG = {
    "jwt beginnings": "/" + "eyJaaaaa",
    "jwt halves": "/?q=" + "eyJaaaaaa.",
    "schemes": "/?q=" + "token ",
    "digits": "/?q=" + "4111 1111 ",
    "segments": "/" + "a/",
    "groups": "/?" + "AB12 ",
    "authorities": "/?x=" + "://a:",
    "encoded percent signs": "/?" + "%25",
    "brackets": "/?" + "[b",
    "spaces": "/?q=basic" + " ",
}


@pytest.mark.parametrize("start", LONG.values(), ids=LONG)
def test_long_urls_take_linear_time(start: str) -> None:
    began = time.perf_counter()
    find_secret(start + start[-6:] * 40_000)
    assert time.perf_counter() - began < 5


# How each begins, and what then is repeated: shapes in which a search might begin again and again.
HOSTILE = {
    "digits": ("/?q=", "4"),
    "digits in the path": ("/", "4"),
    "groups of digits": ("/?q=", "4111 1111 "),
    "groups of digits, hyphens": ("/?q=", "4111-1111-"),
    "numbers like an SSN": ("/?q=", "078-05-112 "),
    "beginnings of a JWT": ("/?q=", "eyJ"),
    "first parts of a JWT": ("/?q=", "eyJaaaaa."),
    "first parts, cut short": ("/?q=", "eyJaaaaa.eyJ."),
    "names, equals signs": ("/?", "a="),
    "equals signs": ("/?", "="),
    "parameters": ("/?", "a=&"),
    "ampersands": ("/?", "&"),
    "semicolons": ("/", ";"),
    "semicolons in the query": ("/?", ";"),
    "matrix parameters": ("/", "a;b/"),
    "question marks": ("/", "?"),
    "number signs": ("/", "#"),
    "percent signs, encoded": ("/?", "%25"),
    "percent signs, encoded twice": ("/?", "%2525"),
    "equals signs, encoded twice": ("/?", "a%253D"),
    "letters that are not ASCII": ("/?q=", "%C3%A9"),
    "no encoding": ("/?q=", "%zz"),
    "bearer": ("/?q=", "Bearer "),
    "bearer, encoded": ("/?q=", "Bearer%20"),
    "bearer, plus signs": ("/?q=", "Bearer+"),
    "basic with words": ("/?q=", "basic aaaaaaaa "),
    "basic and spaces": ("/?q=basic", " "),
    "prefixes": ("/?q=", "sk_"),
    "prefixes with words": ("/?q=", "npm_aaaaaaaa "),
    "vendors": ("/?q=", "xoxb-"),
    "PEM": ("/?q=", "-----BEGIN"),
    "hyphens": ("/?q=", "-"),
    "IBAN in groups": ("/?q=", "AB12 "),
    "IBAN": ("/?q=", "AB12CDEF"),
    "words with three kinds of characters": ("/?q=", "aB3"),
    "such words, with ends": ("/?q=", "aB3" * 13 + "."),
    "segments": ("/", "a/"),
    "slashes": ("", "/"),
    "brackets": ("/?", "["),
    "names in brackets": ("/?", "a[b]="),
    "separators in names": ("/?", "a.-_"),
    "authorities": ("/?x=", "://a:"),
    "authorities in one another": ("/?x=", "://a:b"),
    "colons": ("//", ":"),
    "schemes": ("", "a:"),
    "at signs": ("/a?x=", "@"),
    "NUL": ("/?q=", "\0"),
}
_SHORTEST = 16 * 1024


@pytest.mark.parametrize(("beginning", "part"), HOSTILE.values(), ids=HOSTILE)
def test_work_grows_as_length_does(beginning: str, part: str) -> None:
    """At 16, 32 and 64 KiB: twice the length is twice the work, and where it were squared, four times."""
    urls = [(beginning + part * size)[:size] for size in (_SHORTEST, 2 * _SHORTEST, 4 * _SHORTEST)]
    once, twice, four_times = (min(_seconds(url) for _ in range(5)) for url in urls)
    # What takes microseconds is over before anything could grow, and cannot be timed.
    floor = 0.0003
    assert twice < 3 * max(once, floor) and four_times < 7 * max(once, floor), (once, twice, four_times)


def _seconds(url: str) -> float:
    began = time.process_time()
    find_secret(url)
    return time.process_time() - began


@given(st.text())
def test_any_text_is_judged(url: str) -> None:
    found = find_secret(url)
    assert found is None or found.name is None or found.name.isascii()
    find_private_text(url)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("example.com", "example.com"),
        ("https://example.com/a?page=2#x", "https://example.com/a?page=2#x"),
        ("https://example.com/a?token=abc", "https://example.com/"),
        ("https://example.com:8443/a?token=abc", "https://example.com:8443/"),
        ("https://user:pass@example.com/a", "https://example.com/"),
        ("https://example.com#access_token=abc", "https://example.com/"),
        ("https://example.com/a'?token=abc", "https://example.com/"),
        ("At https://a.example/x?sig=1 and https://b.example/y.", "At https://a.example/ and https://b.example/y."),
        ("https://u:p@/x", "https:"),
        ("https://u:p/w@h.example/x?sig=1", "https:"),
        ("https://[2001:db8::1]:8443/x?sig=1", "https://[2001:db8::1]:8443/"),
    ],
)
def test_masked(text: str, shown: str) -> None:
    assert masked(text) == shown


def test_masked_takes_linear_time() -> None:
    started = time.perf_counter()
    masked("a" * 400_000 + "://")
    assert time.perf_counter() - started < 2.0
