"""The keys of listed URLs, and which have none."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from proxy.catalogs.keys import NoKey, is_harmless, key_of, plain_key
from proxy.discovery.urls import UrlRefused, admit
from proxy.http.secrets import find_secret, masked
from proxy.http.targets import parse_target
from proxy.relocation.records import LONGEST_URL, record_url
from tests.catalogs.documents import BASE

KEYS = {
    "plain": ("https://example.com/a/b.json", "https://example.com/a/b.json"),
    "no path": ("https://example.com", "https://example.com/"),
    "root": ("https://example.com/", "https://example.com/"),
    "well-known": ("https://example.com/.well-known/x.json", "https://example.com/.well-known/x.json"),
    "upper case": ("HTTPS://Example.COM/A", "https://example.com/A"),
    "default port": ("https://example.com:443/a", "https://example.com/a"),
    "port": ("https://example.com:8443/a", "https://example.com:8443/a"),
    "trailing dot": ("https://example.com./a", "https://example.com/a"),
    "fragment": ("https://example.com/a#b", "https://example.com/a"),
    "query": ("https://example.com/a?v=%7e", "https://example.com/a?v=%7e"),
    "percent-encoding": ("https://example.com/%61%c3%a9", "https://example.com/a%C3%A9"),
    "dot segments": ("https://example.com/a/../b", "https://example.com/b"),
    "relative": ("b.json", "https://catalogs.example.org/all/b.json"),
    "relative path": ("/b.json", "https://catalogs.example.org/b.json"),
    "relative to the scheme": ("//example.com/b", "https://example.com/b"),
    "public address": ("https://93.184.215.14/x", "https://93.184.215.14/x"),
    "a name of a template's letters": ("https://example.com/%7Bid%7D", "https://example.com/%7Bid%7D"),
    "digits": ("https://example.com/123-45-tools", "https://example.com/123-45-tools"),
}


@pytest.mark.parametrize(("reference", "key"), KEYS.values(), ids=KEYS)
def test_keys(reference: str, key: str) -> None:
    assert key_of(reference, BASE) == key
    assert not isinstance(key_of(reference, BASE), NoKey)


NONE = {
    "empty": ("", NoKey.MALFORMED),
    "javascript": ("javascript:alert(1)", NoKey.MALFORMED),
    "data": ("data:text/html,x", NoKey.MALFORMED),
    "stdio": ("stdio:server", NoKey.MALFORMED),
    "gRPC address": ("grpc.example.com:443", NoKey.MALFORMED),
    "blank": ("https://exa mple.com/", NoKey.MALFORMED),
    "broken percent-encoding": ("https://example.com/%zz", NoKey.MALFORMED),
    "numeric host": ("https://2130706433/", NoKey.MALFORMED),
    "not ASCII": ("https://example.com/\u00e9", NoKey.MALFORMED),
    "port of nothing": ("https://example.com:99999/", NoKey.MALFORMED),
    "http": ("http://example.com/a", NoKey.HTTPS_REQUIRED),
    "ws": ("wss://example.com/a", NoKey.HTTPS_REQUIRED),
    "template": ("https://example.com/{tenant}/mcp", NoKey.TEMPLATE),
    "template of a host": ("https://{tenant}.example.com/mcp", NoKey.TEMPLATE),
    "userinfo": ("https://user:pass@example.com/a", NoKey.USERINFO),
    "user": ("https://user@example.com/a", NoKey.USERINFO),
    "loopback": ("https://127.0.0.1/a", NoKey.SSRF),
    "private": ("https://10.0.0.5/a", NoKey.SSRF),
    "link-local": ("https://[fe80::1]/a", NoKey.SSRF),
    "metadata": ("https://169.254.169.254/a", NoKey.SSRF),
    "localhost": ("https://localhost/a", NoKey.SSRF),
    "below localhost": ("https://a.localhost/a", NoKey.SSRF),
    "single label": ("https://intranet/a", NoKey.SSRF),
    "another protocol": ("https://example.com:25/a", NoKey.PORT),
    "key in the query": ("https://example.com/a?api_key=hunter22", NoKey.SECRET),
    "token in the fragment": ("https://example.com/a#access_token=hunter22", NoKey.SECRET),
    "relative, with a key": ("/a?api_key=hunter22", NoKey.SECRET),
    "token in the path": ("https://example.com/eyJhbGciOi.eyJzdWIiOi.c2ln", NoKey.SECRET),
    "long": ("https://example.com/" + "a/" * LONGEST_URL, NoKey.TOO_LONG),
    "long once it is resolved": ("/" + "a" * (LONGEST_URL - 1), NoKey.TOO_LONG),
}


@pytest.mark.parametrize(("reference", "reason"), NONE.values(), ids=NONE)
def test_ov_1_urls_that_no_record_can_be_of(reference: str, reason: NoKey) -> None:
    assert key_of(reference, BASE) is reason


WORDS = [
    *(
        "a",
        "mcp",
        "v1",
        "tool-12",
        "A",
        "x_y",
        ".",
        "..",
        "",
        "~u",
        "@me",
        "a.b",
        "..a",
        "a..b",
        "...",
        ".well-known",
    ),
    *(
        "%61",
        "%zz",
        "a b",
        "{id}",
        "a=b",
        "a;b",
        "a+b",
        "a:b",
        "é",
        "eyJhbGciOi.eyJzdWIiOi.x",
        "AKIAABCDEFGHIJKLMNOP",
    ),
    *("ghp_abcdef", "github_pat_abcdef", "sk_live_x", "sk_abcdef12", "xoxb-abcdef", "AIzaabcdef", "ya29.abcdef"),
    *("glpat-abcdef", "npm_abcdef12", "pypi-abcdef12", "tk_abcdef12", "123-45-6789", "4111111111111111"),
    *("4111-1111-1111-1111", "3782-822463-10005", "GB82WEST12345698765432", "-----BEGIN", "basic abcdefg1"),
]
HOSTS = [
    *(
        "example.com",
        "a-b.c_d.example",
        "x.io",
        "localhost",
        "a.localhost",
        "localhost.example.com",
        "intranet",
        "",
    ),
    *("1.2.3.4", "93.184.215.14", "10.0.0.1", "a.1", "a.0x1", "a.0xg", "a.b1", "-.a", "_a._b", "a..b", ".a", "a."),
    *("A.com", "a" * 63 + ".com", "a" * 64 + ".com", "a.com:443", "a.com:8443", "u@a.com", "xn--bcher-kva.example"),
]


def test_a_secret_that_is_one_once_it_is_resolved() -> None:
    base = parse_target("https://example.com/bearer%20/index.json")
    assert find_secret("abcdefgh/x") is None and key_of("abcdefgh/x", base) is NoKey.SECRET
    assert key_of("/abcdefgh/x", base) == "https://example.com/abcdefgh/x"


NAMES = ["v", "version", "api-version", "id", "lang", "a", "token", "api_key", "page", "sig", "eyJ", "profiles", ""]
QUERIES = st.lists(
    st.builds(
        lambda name, mark, values, separator: f"{name}{mark}{separator.join(values)}",
        st.sampled_from(NAMES),
        st.sampled_from(["=", "=", "", "=="]),
        st.lists(st.sampled_from(WORDS) | st.text("aZ09_-", max_size=34), max_size=3),
        st.sampled_from([*"/.~,-+ :;&", "", "%20"]),
    ),
    min_size=1,
    max_size=3,
).map(lambda pairs: "?" + "&".join(pairs))
PLAIN = st.builds(
    lambda scheme, host, words, end: f"{scheme}{host}{''.join(f'/{word}' for word in words)}{end}",
    st.sampled_from(["https://", "https://", "https://", "http://", "HTTPS://", "//", ""]),
    st.sampled_from(HOSTS) | st.text("abz09.-_x", max_size=12),
    st.lists(st.sampled_from(WORDS) | st.text("aegknstxypAEIZ09._-~@", max_size=16), max_size=4),
    st.sampled_from(["", "", "/", "?a=b", "#c"]) | QUERIES,
)


@given(PLAIN)
@example("https://a.b")
@example("https://a.b/?v=aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV")
@example("https://a.b/?v=aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0u")
@example("https://a.b?v=1")
@example("https://a.b/" + "c" * 238)
@example("https://a.b/" + "c" * 239)
def test_plain_keys_are_what_a_closer_look_finds(reference: str) -> None:
    key = plain_key(reference)
    if key is None:
        return
    assert key == record_url(parse_target(reference)) == record_url(admit(reference, BASE))
    assert find_secret(reference) is None


@pytest.mark.parametrize("host", ["example.com", "a.b.example.co", "mcp-1.example.io"])
@pytest.mark.parametrize(
    "path", ["", "/", "/mcp", "/.well-known/agent-card.json", "/a/b_C/@d/v1.2/", "/tools-12/x~y"]
)
def test_what_nearly_all_urls_are_like_is_plain(host: str, path: str) -> None:
    assert plain_key(f"https://{host}{path}") == f"https://{host}{path or '/'}"


@pytest.mark.parametrize(
    "query",
    [
        "v=1",
        "version=1.2.0",
        "id",
        "lang=en&format=json",
        "profile=a/b",
        "api-version=2025.06",
        "page=",
        "q=b&tenant_id=A-1",
    ],
)
def test_harmless_queries_are_plain(query: str) -> None:
    assert plain_key(f"https://example.com/mcp?{query}") == f"https://example.com/mcp?{query}"


@pytest.mark.parametrize(
    "query",
    [
        "",
        "token=x",
        "api_key=x",
        "v=eyJ",
        "v=%41",
        "v=1;id=2",
        "v=1?id=2",
        "v=1&",
        "sig",
        "v=1#a",
        "v=a:b",
        "v=1&user-token=x",
        "v=" + "a" * 32,
        "ghp_abcdef=1",
    ],
)
def test_other_queries_need_a_closer_look(query: str) -> None:
    assert plain_key(f"https://example.com/mcp?{query}") is None


REFERENCES = PLAIN | st.builds(
    lambda words, end: f"{'/'.join(words)}{end}",
    st.lists(st.sampled_from([*WORDS, "bearer%20a", "bearer a"]), max_size=4),
    QUERIES | st.sampled_from(["", "#x", "#token=x", "?", "?#"]),
)


@given(REFERENCES)
@example("bearer%20a/../bcdefghij")
@example("x/../a?token=b")
@example("?/all/catalog.json?token=b")
def test_a_key_holds_no_secret_and_is_refused_for_nothing_else(reference: str) -> None:
    try:
        target = admit(reference, BASE)
    except UrlRefused:
        return
    key = key_of(reference, BASE)
    has_secret = find_secret(reference) is not None or find_secret(target.uri) is not None
    if reference and "{" not in reference:
        assert key == (NoKey.SECRET if has_secret else record_url(target))


TEXTS = st.builds(
    lambda words, separators: "".join(
        f"{word}{separator}" for word, separator in zip(words, separators, strict=False)
    ),
    st.lists(
        st.sampled_from([*WORDS, "urn", "https", "bearer", "Token", "1234", "1234 5678 9012 3452", "at", "123"]),
        max_size=6,
    ),
    st.lists(st.sampled_from([" ", ".", ":", "/", "~", "://", " at ", "  ", "@", "-", "+", ": "]), max_size=6),
)


@given(TEXTS | PLAIN | st.builds(lambda url, word: f"{url} {word}", PLAIN, st.sampled_from(WORDS)))
@example("4111 1111 1111 1111")
@example("GB82 WEST 1234 5698 7654 32")
@example("basic abcdefg1 ")
def test_what_looks_harmless_is(text: str) -> None:
    if is_harmless(text):
        assert find_secret(text) is None and masked(text) == text


@pytest.mark.parametrize(
    "text", ["urn:air:example.com:a", "com.example/x-1", "Agent 1 at a.example", "https://a.example/ service-desc"]
)
def test_what_most_subjects_are_looks_harmless(text: str) -> None:
    assert is_harmless(text)


@given(st.text(max_size=80))
def test_any_text_has_a_key_or_none(reference: str) -> None:
    assert isinstance(key_of(reference, BASE), str)
