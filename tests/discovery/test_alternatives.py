"""What stands in the place of a document: the choices of a 300, and the successor of a 409 or 410 (OV-7)."""

import gzip
import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.discovery.pages.alternatives import (
    BODY_LIMIT,
    MOST_ALTERNATIVES,
    MOST_LOOKED_AT,
    Alternative,
    alternatives_of,
    successor_of,
)
from proxy.http.fields import Fields
from proxy.http.messages import ResponseHead
from proxy.http.targets import parse_target

BASE = parse_target("https://example.com/docs/agent")
AT = "https://example.com"
Line = tuple[str, str]
Choice = tuple[str, str | None, str | None, float | None]
"""URL, type, language and quality."""


def head(*lines: Line, status: int = 300) -> ResponseHead:
    return ResponseHead(status, "", Fields(lines))


def choices(*lines: Line, body: object = b"") -> list[Choice]:
    octets = body if isinstance(body, bytes) else json.dumps(body).encode()
    return [
        (one.url.removeprefix(AT), one.type, one.language, one.quality)
        for one in alternatives_of(head(*lines), octets, BASE)
    ]


def urls(*lines: Line, body: object = b"") -> list[str]:
    return [url for url, *_ in choices(*lines, body=body)]


def successor(*lines: Line, body: object = b"", status: int = 410) -> str | None:
    octets = body if isinstance(body, bytes) else json.dumps(body).encode()
    return successor_of(head(*lines, status=status), octets, BASE)


# The form of RFC 2295 §8.3, and what is made of other ones.
ALTERNATES: dict[str, tuple[str, list[Choice]]] = {
    "none": ("", []),
    "one": (
        '{"a.en" 1.0 {type text/html} {language en}}',
        [("/docs/a.en", "text/html", "en", 1.0)],
    ),
    "several, the best first": (
        '{"a.1" 0.9 {type text/html} {language en}}, {"/a.2" 1 {type text/html}{language fr}},'
        ' {"https://other.example.net/a.3" 0.95 {type application/json}}',
        [
            ("/a.2", "text/html", "fr", 1.0),
            ("https://other.example.net/a.3", "application/json", None, 0.95),
            ("/docs/a.1", "text/html", "en", 0.9),
        ],
    ),
    "equal ones as listed": (
        '{"/b" 0.5}, {"/a" 0.5}',
        [("/b", None, None, 0.5), ("/a", None, None, 0.5)],
    ),
    "as servers send it": (
        '{"foo.en.html" 1 {type text/html} {charset iso-8859-1} {language en} {length 100}}',
        [("/docs/foo.en.html", "text/html", "en", 1.0)],
    ),
    "fallback variant": ('{"/a"}', [("/a", None, None, None)]),
    "list directive": ('{"/a" 0.5}, proxy-rvary="1"', [("/a", None, None, 0.5)]),
    "features and description": (
        '{"/a" 0.5 {features [!paged] blex; {tables}} {description "a } \\" { b" en} {type text/plain}}',
        [("/a", "text/plain", None, 0.5)],
    ),
    "type with parameters": ('{"/a" 1 {type Text/HTML;level="2"}}', [("/a", "text/html", None, 1.0)]),
    "first of several languages": ('{"/a" 1 {language en-GB, fr}}', [("/a", None, "en-GB", 1.0)]),
    "first attribute of a name": ('{"/a" 1 {TYPE a/b} {type c/d}}', [("/a", "a/b", None, 1.0)]),
    "first URL": ('{"/a" "/b" 1}', [("/a", None, None, 1.0)]),
    "empty URL": ('{"" 1}, {1}', []),
    "no braces": ('"/a" 1, /b', []),
    "empty": ("{}, {{}}, {,}", []),
    "of no type": ('{"/a" 1 {type html}}', [("/a", None, None, 1.0)]),
    "of no language": ('{"/a" 1 {language -}}', [("/a", None, None, 1.0)]),
    "attributes without value": ('{"/a" 1 {type}{language}{ }}', [("/a", None, None, 1.0)]),
    "quality 7": ('{"/a" 7}', [("/a", None, None, None)]),
    "quality NaN": ('{"/a" NaN}', [("/a", None, None, None)]),
    "quality below zero": ('{"/a" -1}', [("/a", None, None, None)]),
    "quality too fine": ('{"/a" 0.1234}', [("/a", None, None, None)]),
    "quality zero": ('{"/a" 0.000}', [("/a", None, None, 0.0)]),
    "never closed": ('{"/a" 1 {type text/html}', []),
    "closed too often": ('}} {"/a" 1}}} {"/b" 0.5}', [("/a", None, None, 1.0), ("/b", None, None, 0.5)]),
    "never closed inside": ('{"/a" 1 {type text/html, {"/b" 0.5}', []),
    "nested": ('{{"/a" 1}}', []),
    "quote never closed": ('{"/a" 1}, {"/b', [("/a", None, None, 1.0)]),
}


@pytest.mark.parametrize(("value", "expected"), ALTERNATES.values(), ids=ALTERNATES)
def test_the_alternates_field(value: str, expected: list[Choice]) -> None:
    assert choices(("Alternates", value)) == expected


def test_each_line_of_the_field_is_read_by_itself() -> None:
    assert urls(("Alternates", '{"/a" 1'), ("Alternates", '{"/b" 1}')) == ["/b"]


LINKS: list[tuple[str, list[Choice]]] = [
    ('</a>; rel="alternate"', [("/a", None, None, None)]),
    (
        '</a>; rel=alternate; type="application/json"; hreflang=de',
        [("/a", "application/json", "de", None)],
    ),
    ('</a>; rel="alternate"; type="text/html; charset=utf-8"', [("/a", "text/html", None, None)]),
    ('</a>; rel="alternate"; type=json; hreflang="d e"', [("/a", None, None, None)]),
    ("</a>; rel=alternate; hreflang=de; hreflang=fr", [("/a", None, "de", None)]),
    ("<b>; rel=alternate, </a>; rel=alternate", [("/docs/b", None, None, None), ("/a", None, None, None)]),
    ("</a>; rel=successor-version, </b>; rel=canonical", []),
    ('</a>; rel=alternate; anchor="#part"', [("/a", None, None, None)]),
    ('</a>; rel=alternate; anchor="/another"', []),
    ('</a>; rel=alternate; anchor="https://other.example.net/docs/agent"', []),
]


@pytest.mark.parametrize(("value", "expected"), LINKS)
def test_links(value: str, expected: list[Choice]) -> None:
    assert choices(("Link", value)) == expected


ONE = {"url": "/a", "type": "text/html", "language": "en", "quality": 0.5}

BODIES: dict[str, tuple[object, list[Choice]]] = {
    "array": ([ONE], [("/a", "text/html", "en", 0.5)]),
    "alternatives": ({"alternatives": [ONE]}, [("/a", "text/html", "en", 0.5)]),
    "variants": ({"variants": [ONE]}, [("/a", "text/html", "en", 0.5)]),
    "choices": ({"choices": [ONE]}, [("/a", "text/html", "en", 0.5)]),
    "first list": (
        {"alternatives": {}, "variants": [ONE], "choices": [{"url": "/b"}]},
        [("/a", "text/html", "en", 0.5)],
    ),
    "other names": (
        [{"href": "a", "media_type": "a/b", "hreflang": "fr-CA", "q": "0.250"}],
        [("/docs/a", "a/b", "fr-CA", 0.25)],
    ),
    "the first name counts": (
        [{"url": "/a", "href": "/b", "quality": 0, "q": 1}],
        [("/a", None, None, 0.0)],
    ),
    "the second where the first is nothing": (
        [{"url": None, "href": "/b", "type": "", "media_type": "c/d", "quality": None, "q": 1}],
        [("/b", "c/d", None, 1.0)],
    ),
    "the best first": (
        [{"url": "/a"}, {"url": "/b", "q": 0.2}, {"url": "/c", "q": 0.9}, {"url": "/d"}],
        [("/c", None, None, 0.9), ("/b", None, None, 0.2), ("/a", None, None, None), ("/d", None, None, None)],
    ),
    "wrong types": (
        [{"url": "/a", "type": 1, "language": ["en"], "quality": True}, {"url": ["/b"]}, {"url": 5}, {}],
        [("/a", None, None, None)],
    ),
    "no objects": ([None, 1, "/a", ["/b"], [[]], True], []),
    "quality 7": ([{"url": "/a", "q": 7}], [("/a", None, None, None)]),
    "quality of many digits": ([{"url": "/a", "q": 10**4000}], [("/a", None, None, None)]),
    "quality NaN as text": ([{"url": "/a", "q": "NaN"}], [("/a", None, None, None)]),
    "quality of another type": ([{"url": "/a", "q": {}}], [("/a", None, None, None)]),
    "lists that are none": ({"alternatives": "/a", "variants": None, "choices": 1}, []),
    "an object of another kind": ({"url": "/a"}, []),
    "null": (None, []),
    "text": ("/a", []),
    "NaN": (b'[{"url":"/a","q":NaN}]', []),
    "infinite": (b'[{"url":"/a","q":1e999}]', []),
    "a number of too many digits": (b'[{"url":"/a","q":%s}]' % (b"1" * 9000), []),
    "half a surrogate pair": (
        b'[{"url":"/\\ud800","type":"\\ud800/x","language":"\\ud800"},{"url":"/a"}]',
        [("/a", None, None, None)],
    ),
    "not UTF-8": (b'[{"url":"/\xff"}]', []),
    "not JSON": (b"<html>", []),
    "cut": (b'[{"url":"/a"}', []),
    "deep": (b"[" * 5000 + b"]" * 5000, []),
    "names twice": (b'[{"url":"/a","url":"/b"}]', [("/b", None, None, None)]),
    "a byte order mark": (b'\xef\xbb\xbf[{"url":"/a"}]', [("/a", None, None, None)]),
}


@pytest.mark.parametrize(("body", "expected"), BODIES.values(), ids=BODIES)
def test_bodies(body: object, expected: list[Choice]) -> None:
    assert choices(body=body) == expected


UNFIT = {
    "script": "javascript:alert(1)",
    "data": "data:text/html,x",
    "http": "http://example.com/a",
    "userinfo": "https://user:pass@example.com/a",
    "private address": "https://10.0.0.5/a",
    "loopback": "https://127.0.0.1/a",
    "the machine itself": "https://localhost/a",
    "name inside": "https://intranet/a",
    "local link": "https://printer.local/a",
    "port of another protocol": "https://example.com:22/a",
    "malformed": "https://exa mple.com/",
    "long": f"/{'x' * 9000}",
    "itself": "https://example.com/docs/agent",
    "itself, written otherwise": "HTTPS://EXAMPLE.com:443/docs/%61gent#x",
    "nothing": "",
    "a secret": "/a?access_token=s3cr3tvalue",
}


@pytest.mark.parametrize("url", UNFIT.values(), ids=UNFIT)
class TestWhatMayNotBeFetched:
    def test_is_no_alternative(self, url: str) -> None:
        assert urls(("Alternates", f'{{"{url}" 1}}, {{"/ok" 0.5}}')) == ["/ok"]
        assert urls(("Link", f'<{url}>; rel="alternate", </ok>; rel="alternate"')) == ["/ok"]
        assert urls(("Location", url), body=[{"url": url}, {"url": "/ok"}]) == ["/ok"]

    def test_is_no_successor(self, url: str) -> None:
        assert successor(("Link", f'<{url}>; rel="successor-version"')) is None
        assert successor(body={"url": url}) is None
        assert successor(("Link", f'<{url}>; rel="successor-version"'), body={"url": "/ok"}) == f"{AT}/ok"


def test_the_local_link_speaks_of_itself_alone() -> None:
    printer = parse_target("https://printer.local/agent")
    for url, expected in (("/new", "https://printer.local/new"), ("https://example.com/new", None)):
        assert successor_of(head(), json.dumps({"url": url}).encode(), printer) == expected


class TestTheServersPreference:
    def test_comes_first(self) -> None:
        lines = [("Location", "b"), ("Alternates", '{"/a" 1}, {"/docs/b" 0.1 {type text/html}}')]
        assert choices(*lines) == [("/docs/b", "text/html", None, 0.1), ("/a", None, None, 1.0)]

    def test_may_stand_alone(self) -> None:
        assert choices(("Location", "/b")) == [("/b", None, None, None)]

    def test_is_one(self) -> None:
        assert urls(("Location", "/b"), ("Location", "/c"), ("Alternates", '{"/a" 1}')) == ["/a"]


class TestSeveralListings:
    def test_the_first_description_counts(self) -> None:
        body = [{"url": "/a", "q": 0.4, "type": "a/b"}, {"url": "/b"}]
        lines = [("Alternates", '{"/a" 0.9 {language en}}'), ("Link", "</b>; rel=alternate; type=c/d")]
        assert choices(*lines, body=body) == [("/a", None, "en", 0.9), ("/b", "c/d", None, None)]

    def test_one_without_a_description_takes_the_next(self) -> None:
        lines = [("Link", "</b>; rel=alternate, </a>; rel=alternate")]
        body = [{"url": "/a"}, {"url": "/b", "type": "c/d"}]
        assert choices(*lines, body=body) == [("/b", "c/d", None, None), ("/a", None, None, None)]


class TestBounds:
    def test_so_many_are_offered(self) -> None:
        body = [{"url": f"/{number}", "q": number / 1000} for number in range(500)]
        expected = [f"/{number}" for number in range(499, 499 - MOST_ALTERNATIVES, -1)]
        assert urls(body=body) == expected
        assert urls(("Location", "/1"), body=body) == ["/1", *expected[:-1]]

    def test_so_many_are_looked_at(self) -> None:
        unfit = [{"url": "https://10.0.0.5/"}] * (MOST_LOOKED_AT - 1)
        assert urls(body=[*unfit, {"url": "/a"}, {"url": "/b"}]) == ["/a"]

    def test_ten_thousand(self) -> None:
        field = ", ".join(f'{{"/{number}" 0.5 {{type text/html}}}}' for number in range(10_000))
        assert urls(("Alternates", field)) == [f"/{number}" for number in range(MOST_ALTERNATIVES)]
        links = ", ".join(f"</{number}>; rel=alternate" for number in range(10_000))
        assert len(urls(("Link", links))) == MOST_ALTERNATIVES

    def test_a_long_body_is_not_read(self) -> None:
        body = b'[{"url":"/a"}]'
        assert urls(body=body.ljust(BODY_LIMIT)) == ["/a"]
        assert urls(body=body.ljust(BODY_LIMIT + 1)) == []
        body = b'{"url":"/a"}'
        assert successor(body=body.ljust(BODY_LIMIT)) == f"{AT}/a"
        assert successor(body=body.ljust(BODY_LIMIT + 1)) is None

    def test_one_that_unpacks_to_a_long_one_neither(self) -> None:
        coding = ("Content-Encoding", "gzip")
        assert urls(coding, body=gzip.compress(b'[{"url":"/a"}]')) == ["/a"]
        assert urls(coding, body=gzip.compress(b'[{"url":"/a"}]'.ljust(10**6))) == []
        assert urls(coding, body=b'[{"url":"/a"}]') == []


SUCCESSORS: dict[str, tuple[list[Line], object, str | None]] = {
    "nothing": ([], b"", None),
    "link": ([("Link", '</v2>; rel="successor-version"')], b"", "/v2"),
    "relative link": ([("Link", "<v2>; rel=successor-version")], b"", "/docs/v2"),
    "link to another host": (
        [("Link", '<https://other.example.net/v2>; rel="successor-version"')],
        b"",
        "https://other.example.net/v2",
    ),
    "link among others": (
        [("Link", '</x>; rel="canonical", </v2>; rel="next successor-version"')],
        b"",
        "/v2",
    ),
    "first link": ([("Link", "</v2>; rel=successor-version, </v3>; rel=successor-version")], b"", "/v2"),
    "alternate only": ([("Link", "</v2>; rel=alternate")], b"", None),
    "link of another page": ([("Link", '</v2>; rel=successor-version; anchor="/other"')], b"", None),
    "link before body": ([("Link", "</v2>; rel=successor-version")], {"url": "/v3"}, "/v2"),
    "Location": ([("Location", "/v2")], b"", None),
    "problem document": (
        [("Content-Type", "application/problem+json")],
        {"type": "about:blank", "title": "Gone", "status": 410, "url": "/v2"},
        "/v2",
    ),
    "minimal": ([], {"code": 410, "url": "https://example.com/v2"}, "/v2"),
    "DID superseded": ([], {"error": "did_superseded", "url": "v2"}, "/docs/v2"),
    "fragment dropped": ([], {"url": "/v2#part"}, "/v2"),
    "url is null": ([], {"url": None}, None),
    "url is a number": ([], {"url": 410}, None),
    "url is a list": ([], {"url": ["/v2"]}, None),
    "url is an object": ([], {"url": {"url": "/v2"}}, None),
    "array": ([], [{"url": "/v2"}], None),
    "text": ([], "/v2", None),
    "null": ([], b"null", None),
    "HTML": ([("Content-Type", "text/html")], b"<a href=/v2>", None),
    "not UTF-8": ([], b'{"url":"/v2","x":"\xff"}', None),
    "deep": ([], b'{"url":' * 5000, None),
    "unknown coding": ([("Content-Encoding", "br")], {"url": "/v2"}, None),
}


@pytest.mark.parametrize("status", [409, 410])
@pytest.mark.parametrize(("lines", "body", "expected"), SUCCESSORS.values(), ids=SUCCESSORS)
def test_successors(lines: list[Line], body: object, expected: str | None, status: int) -> None:
    """OV-7."""
    found = successor(*lines, body=body, status=status)
    assert (None if found is None else found.removeprefix(AT)) == expected


def test_what_is_described() -> None:
    assert not Alternative(AT).is_described
    described = (Alternative(AT, "a/b"), Alternative(AT, language="en"), Alternative(AT, quality=0.0))
    assert all(one.is_described for one in described)


HOSTILE = ["{", "}", '"', "\\", '{"', '{"a"', '"\\"', "{}", "{{", '{"a"{', '{"a" 1{type ', " ", ",", '{"a" 1}']


@pytest.mark.parametrize("part", HOSTILE, ids=repr)
def test_hostile_fields_take_linear_time(part: str) -> None:
    begin = time.process_time()
    value = part * (200_000 // len(part))
    alternatives_of(head(("Alternates", value), ("Alternates", '{"a" ' + value)), b"", BASE)
    assert time.process_time() - begin < 3


def test_unfit_ones_take_little_time() -> None:
    begin = time.process_time()
    for url in (f"/{'%41' * 2700}", f"https://{'é' * 60}.example/", f"/{'../' * 2700}"):
        listed = ", ".join(f'{{"{url}{number}" 1}}' for number in range(1000))
        alternatives_of(head(("Alternates", listed)), b"", BASE)
    assert time.process_time() - begin < 3


@given(st.text(alphabet='{}"\\ 1.,/atypelngu', max_size=80) | st.text(max_size=40), st.binary(max_size=60))
def test_anything_is_read(value: str, body: bytes) -> None:
    lines = [(name, value) for name in ("Alternates", "Link", "Location", "Content-Encoding")]
    for line in lines:
        for one in alternatives_of(head(line), body, BASE):
            assert one.url.startswith("https://") and parse_target(one.url) != BASE
        successor_of(head(line, status=410), body, BASE)
    alternatives_of(head(*lines), body, BASE)
    wrapped = f'<{value}>; rel="alternate successor-version"; type="{value}"; hreflang={value}'
    alternatives_of(head(("Link", wrapped)), body, BASE)
    successor_of(head(("Link", wrapped), status=409), body, BASE)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["url", "href", "q", "quality", "type", "language", "choices"]), inner)
    ),
    max_leaves=15,
)


@given(values)
def test_any_json_is_read(value: object) -> None:
    octets = json.dumps(value).encode()
    for one in alternatives_of(head(), octets, BASE):
        assert one.quality is None or 0 <= one.quality <= 1
    successor_of(head(status=410), octets, BASE)
