"""The Link field and HTML's link elements (LK-1, LK-2)."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.discovery.pages.links import (
    HTML_LIMIT,
    MOST_LINKS,
    RELATIONS,
    WebLink,
    parse_html_links,
    parse_link_fields,
)
from proxy.discovery.urls import UrlReason
from proxy.http.targets import parse_target

SAMPLES = Path(__file__).parent.parent / "samples" / "discovery"
VECTORS = json.loads((SAMPLES / "link_header_vectors.json").read_bytes())
BASE = parse_target("https://example.com/a/b")


def found(links: tuple[WebLink, ...]) -> list[tuple[str, str]]:
    """Relation type and where it leads, or why it may not be followed."""
    return [(link.rel, link.target.uri if link.target else str(link.refusal)) for link in links]


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["h"][:50] for vector in VECTORS])
def test_vectors(vector: dict[str, Any]) -> None:
    by_relation = dict(found(parse_link_fields([vector["h"]], parse_target(vector["base"]))))
    if "urls" in vector:
        assert by_relation == vector["urls"]
    else:
        assert by_relation.get("ai-catalog") == vector["url"], vector.get("note")


CATALOG = ("ai-catalog", "https://example.com/c")

FIELDS: list[tuple[str, list[str], list[tuple[str, str]]]] = [
    ("nothing", [], []),
    ("empty", ["", " ", ", ,"], []),
    ("token", ["</c>; rel=ai-catalog"], [CATALOG]),
    ("quoted", ['</c>;rel="ai-catalog"'], [CATALOG]),
    ("upper case", ['</c>; REL="AI-Catalog"'], [CATALOG]),
    (
        "relative to the response",
        ['<c>; rel="ard"', '<../d>; rel="ard"'],
        [("ard", "https://example.com/a/c"), ("ard", "https://example.com/d")],
    ),
    ("itself", ['<>; rel="canonical"'], []),
    ("several relations", ['</c>; rel="x ard\tAI-CATALOG ard"'], [CATALOG, ("ard", CATALOG[1])]),
    (
        "several links",
        ["</x>; rel=next, </c>; rel=ai-catalog,</d>;rel=ard"],
        [CATALOG, ("ard", "https://example.com/d")],
    ),
    ("several lines", ["</x>; rel=next", "</c>; rel=ai-catalog"], [CATALOG]),
    ("comma in a quoted string", ['</x>; title="a, </d>; rel=ard"; rel=next, </c>; rel=ai-catalog'], [CATALOG]),
    ("escaped quote", [r'</x>; title="a\", </d>; rel=ard"; rel=next, </c>; rel=ai-catalog'], [CATALOG]),
    ("comma and semicolon in the target", ["</c,1;2>; rel=ard"], [("ard", "https://example.com/c,1;2")]),
    ("first rel counts", ["</c>; rel=ai-catalog; rel=ard"], [CATALOG]),
    ("no rel", ["</c>", "</c>; title=x"], []),
    ("rel without a value", ["</c>; rel", "</c>; rel="], []),
    ("other relations", ["</c>; rel=preload", '</c>; rel="https://example.com/rel"'], []),
    ("rev", ["</c>; rev=ai-catalog"], []),
    (
        "anchor here",
        ['</c>; rel=ai-catalog; anchor="#x"', '</c>; rel=ard; anchor="/other"'],
        [CATALOG, ("ard", CATALOG[1])],
    ),
    ("anchor at another port", ['</c>; rel=ai-catalog; anchor="https://example.com:8443/"'], []),
    ("anchor by http", ['</c>; rel=ai-catalog; anchor="http://example.com/"'], []),
    ("anchor of no use", ['</c>; rel=ai-catalog; anchor="urn:x"'], []),
    ("spaces", ["  < /c >  ;  rel = ai-catalog  ,"], [CATALOG]),
    ("empty parameters", ["</c>;; ;rel=ai-catalog;"], [CATALOG]),
    ("junk before", ["junk, </c>; rel=ai-catalog"], [CATALOG]),
    ("junk between", ["</x>; rel=ard junk, </c>; rel=ai-catalog"], [("ard", "https://example.com/x"), CATALOG]),
    ("unclosed quote", ['</x>; rel="ard, </c>; rel=ai-catalog'], [CATALOG]),
    ("unclosed target", ["</x; rel=ard, </c>; rel=ai-catalog"], [CATALOG]),
    ("http", ["<http://example.com/c>; rel=ard"], [("ard", "https_required")]),
    ("private", ["<https://127.0.0.1/>; rel=ard"], [("ard", "ssrf")]),
    ("userinfo", ["<https://a@example.com/>; rel=ard"], [("ard", "userinfo")]),
    ("malformed", ["</%zz>; rel=ard"], [("ard", "malformed")]),
    ("long", [f"</{'x' * 10_000}>; rel=ard"], [("ard", "malformed")]),
]


@pytest.mark.parametrize(("name", "values", "expected"), FIELDS, ids=[row[0] for row in FIELDS])
def test_link_fields(name: str, values: list[str], expected: list[tuple[str, str]]) -> None:
    assert found(parse_link_fields(values, BASE)) == expected, name


def test_what_a_link_holds() -> None:
    value = r"""</c>; rel=ard; type="application/ai-catalog+json"; title="A \"b\"" """
    assert parse_link_fields([value], BASE) == (
        WebLink(
            "ard",
            "/c",
            parse_target("https://example.com/c"),
            None,
            "application/ai-catalog+json",
            'A "b"',
            None,
            BASE,
        ),
    )


LANGUAGES = [
    ("hreflang=de", "de"),
    ('HrefLang="en-GB"; hreflang=fr', "en-GB"),
    ('hreflang=""', None),
    ("hreflang", None),
]


@pytest.mark.parametrize(("parameters", "language"), LANGUAGES)
def test_languages(parameters: str, language: str | None) -> None:
    [link] = parse_link_fields([f"</c>; rel=alternate; {parameters}"], BASE)
    assert link.hreflang == language
    [link] = parse_html_links(f'<link rel="alternate" href="/c" {parameters.replace(";", " ")}>'.encode(), BASE)
    assert link.hreflang == language


CONTEXTS = [("", BASE.uri), ('anchor="#x"', BASE.uri), ("anchor=c", "https://example.com/a/c")]


@pytest.mark.parametrize(("parameter", "context"), CONTEXTS)
def test_contexts(parameter: str, context: str) -> None:
    [link] = parse_link_fields([f"</c>; rel=ard; {parameter}"], BASE)
    assert link.context.uri == context


def test_the_context_of_an_html_link_is_the_page() -> None:
    [link] = parse_html_links(b'<base href="/other/"><link rel=ard href=c>', BASE)
    assert link.context == BASE


TITLES = [
    ("title=a", "a"),
    ("title*=UTF-8''%c3%a4%20b; title=a", "ä b"),
    ("title=a; title*=utf-8'de'b", "b"),
    ("title=a; title*=ISO-8859-1''%e4", "a"),
    ("title=a; title*=b", "a"),
    ("title*=UTF-8''%ff", "\ufffd"),
    ('title=""', None),
    ("type=x", None),
]


@pytest.mark.parametrize(("parameters", "title"), TITLES)
def test_titles(parameters: str, title: str | None) -> None:
    assert [link.title for link in parse_link_fields([f"</c>; rel=ard; {parameters}"], BASE)] == [title]


@pytest.mark.parametrize("relation", sorted(RELATIONS))
def test_each_relation_is_read_and_bounded_by_itself(relation: str) -> None:
    values = [f"</{number}>; rel={relation}" for number in range(MOST_LINKS + 1)]
    other = "ard" if relation != "ard" else "alternate"
    links = found(parse_link_fields([*values, f"</x>; rel={other}"], BASE))
    assert (len(links), links[-1]) == (MOST_LINKS + 1, (other, "https://example.com/x"))


LINK = '<link rel="ai-catalog" href="/c">'

PAGES: list[tuple[str, str, list[tuple[str, str]]]] = [
    ("plain", f"<!DOCTYPE html><html><head><title>x</title>{LINK}</head><body></body></html>", [CATALOG]),
    ("byte order mark", f"\ufeff<!doctype html>{LINK}", [CATALOG]),
    ("XML declaration", f'<?xml version="1.0"?><html>{LINK}', [CATALOG]),
    ("head left out", f"<meta charset=utf-8>{LINK}", [CATALOG]),
    ("upper case", "<HEAD><LINK REL=AI-CATALOG HREF=/c>", [CATALOG]),
    ("unquoted, XML style", "<link rel=ai-catalog href=/c />", [CATALOG]),
    ("single quotes", "<link\n rel = 'ai-catalog'\thref\n=\n'/c'/>", [CATALOG]),
    ("greater-than in a value", f'<meta content="a > b">{LINK}', [CATALOG]),
    ("first of two attributes", '<link rel="ai-catalog" rel="ard" href="/c" href="/d">', [CATALOG]),
    ("several relations", '<link rel="ard icon ai-catalog" href="/c">', [CATALOG, ("ard", CATALOG[1])]),
    ("spaces around", '<link rel=ai-catalog href="  /c\n">', [CATALOG]),
    (
        "character references",
        "<link rel=&#97;rd href='/?a=1&amp;b=&#x32;&copy=3&unknown;&#99999999;'>",
        [("ard", "malformed")],
    ),
    (
        "ampersand",
        '<link rel=ard href="/?a=1&amp;b=&#x32;&copy=3">',
        [("ard", "https://example.com/?a=1&b=2&copy=3")],
    ),
    ("no href", '<link rel="ard">', []),
    ("empty href", '<link rel="ard" href="">', []),
    ("no rel", '<link href="/c">', []),
    ("other relation", '<link rel="stylesheet" href="/c">', []),
    ("equals sign alone", "<link = rel=ai-catalog href=/c x=>", [CATALOG]),
    ("http", '<link rel="ard" href="http://example.com/">', [("ard", "https_required")]),
    (
        "base",
        f'<base href="/dir/">{LINK}<link rel="ard" href="d">',
        [CATALOG, ("ard", "https://example.com/dir/d")],
    ),
    ("base behind", '<link rel="ard" href="d"><base href="/dir/">', [("ard", "https://example.com/dir/d")]),
    (
        "first base counts",
        '<base target=x><base href="/1/"><base href="/2/"><link rel=ard href=d>',
        [("ard", "https://example.com/1/d")],
    ),
    (
        "base elsewhere",
        f'<base href="https://cdn.example.net/">{LINK}',
        [("ai-catalog", "https://cdn.example.net/c")],
    ),
    (
        "base by http",
        f'<base href="http://example.com/">{LINK}<link rel=ard href="https://example.com/d">',
        [("ai-catalog", "malformed"), ("ard", "https://example.com/d")],
    ),
    ("in a comment", f"<!-- {LINK} --><!--> <!---->{LINK}", [CATALOG]),
    ("comment ended otherwise", f"<!-- x --!>{LINK}", [CATALOG]),
    ("comment never ended", f"<!-- {LINK}", []),
    ("bogus comments", f"</ x><!x><![CDATA[x]]></>{LINK}", [CATALOG]),
    ("declaration never ended", f"<!x {LINK[:-1]}", []),
    ("in a script", f"<script>'{LINK}'</script >{LINK}", [CATALOG]),
    ("in a style", f"<STYLE>{LINK}</Style>{LINK}", [CATALOG]),
    ("in a title", f"<title>{LINK}</title>{LINK}", [CATALOG]),
    ("in noscript", f"<noscript>{LINK}</noscript>{LINK}", [CATALOG]),
    ("script with a longer name inside", f"<script></scripts>{LINK}</script>", []),
    ("script never ended", f"<script>{LINK}", []),
    (
        "in a template",
        f"<template><p>text{LINK}<template></template>{LINK} < <!-- {LINK} --></p></template>{LINK}",
        [CATALOG],
    ),
    ("end of no template", f"</template>{LINK}", [CATALOG]),
    ("behind the head", f"</head>{LINK}", []),
    ("in the body", f"<head></head><body>{LINK}", []),
    ("behind an element of the body", f"<div></div>{LINK}", []),
    ("behind text", f"Hello {LINK}", []),
    ("behind a lone less-than sign", f"<1{LINK}", []),
    ("behind other end tags", f"</p></meta>{LINK}", [CATALOG]),
    ("tag never ended", f"{LINK}<link rel=ard href=/d ", [CATALOG]),
    ("value never ended", f'{LINK}<link rel=ard href="/d>', [CATALOG]),
    ("less-than at the end", f"{LINK}<", [CATALOG]),
    ("empty", "", []),
    ("not HTML", '{"a": 1}', []),
]


@pytest.mark.parametrize(("name", "page", "expected"), PAGES, ids=[row[0] for row in PAGES])
def test_html(name: str, page: str, expected: list[tuple[str, str]]) -> None:
    assert found(parse_html_links(page.encode(), BASE)) == expected, name


def test_what_an_html_link_holds() -> None:
    [link] = parse_html_links(b'<link rel=alternate type="text/markdown" title="&quot;a" href=a.md>', BASE)
    assert link == WebLink(
        "alternate", "a.md", parse_target("https://example.com/a/a.md"), None, "text/markdown", '"a', None, BASE
    )


def test_only_the_beginning_of_a_page_is_read() -> None:
    page = b" " * (HTML_LIMIT - len(LINK)) + LINK.encode()
    assert found(parse_html_links(page, BASE)) == [CATALOG]
    assert parse_html_links(b" " + page, BASE) == ()
    assert parse_html_links(LINK.encode() + b"\xff", BASE, limit=10) == ()


def test_other_encodings_do_not_matter() -> None:
    assert found(parse_html_links(b"<title>\xe9</title>" + LINK.encode(), BASE)) == [CATALOG]


HOSTILE = [
    "<",
    "<a ",
    '<a b="',
    "<a b='\"",
    "<!",
    "<!--",
    "<?",
    "</",
    "&",
    "<title></titl",
    "<template>",
    "<a b=",
    "=",
    "<link ",
]
HOSTILE_FIELDS = ["<", "<a", "<a,", "<a>;", '<a>;a="', '<a>;a="\\",', '"', " ,", "=;", "<a>;rel=ard,", "\\", "\t"]


@pytest.mark.parametrize("part", HOSTILE, ids=repr)
@pytest.mark.parametrize("end", ["", '">', "-->"], ids=repr)
def test_hostile_markup_takes_linear_time(part: str, end: str) -> None:
    begin = time.process_time()
    parse_html_links((part * (HTML_LIMIT // len(part)) + end).encode(), BASE)
    assert time.process_time() - begin < 3


@pytest.mark.parametrize("part", HOSTILE_FIELDS, ids=repr)
def test_hostile_fields_take_linear_time(part: str) -> None:
    begin = time.process_time()
    parse_link_fields([part * (100_000 // len(part)), "<a>;" + part * (100_000 // len(part))], BASE)
    assert time.process_time() - begin < 3


@given(st.text(alphabet="<>;,=\"\\ relard/*'%", max_size=60) | st.text(max_size=40))
def test_any_field_is_read(value: str) -> None:
    parse_link_fields([value, f"<{value}>; rel=ard", f"</c>; rel=ard; {value}"], BASE)


@given(st.binary(max_size=60) | st.text(alphabet="<>/!-=\"' &#;linkbasehref", max_size=60).map(str.encode))
def test_any_page_is_read(page: bytes) -> None:
    parse_html_links(page, BASE)
    parse_html_links(b'<link rel=ard href="' + page + b'"><base href="' + page, BASE)


def test_refusals_are_those_of_urls() -> None:
    [link] = parse_link_fields(["<//10.0.0.1/>; rel=ard"], BASE)
    assert (link.target, link.refusal) == (None, UrlReason.SSRF)
