"""llms.txt (TX-1)."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.discovery.gate import NotADocument
from proxy.discovery.pages.llms import (
    MOST_LINES,
    MOST_LINKS,
    MOST_SECTIONS,
    OUTLINE_LIMIT,
    Guide,
    GuideLink,
    parse_llms,
)
from proxy.http.targets import parse_target

BASE = parse_target("https://example.com/docs/llms.txt")

GOOD = """# Shop

> Sells things.
> To people.

Read this first.

- [not in a section](/x)

## Guides

- [Start](start.md): where to begin
* [API](https://api.example.com/openapi.json "The API")
+ [Old](http://example.com/old)
Some text with a [link](/inline) in it.

```
## Not a section
- [not a link](/x)
```

## Optional ##

- [More](</more>):
"""


def read(text: str | bytes) -> Guide:
    found = parse_llms(text if isinstance(text, bytes) else text.encode(), BASE)
    assert isinstance(found, Guide), found
    return found


def test_lines_are_bounded() -> None:
    text = "# T\n## S\n" + "\n" * (MOST_LINES - 3) + "- [a](/b)\n"
    found = read(text)
    assert ([section.links[0].href for section in found.sections], found.findings) == (["/b"], ())
    cut = read("\n" + text)
    assert [section.links for section in cut.sections] == [()]
    assert [(finding.rule, finding.is_warning) for finding in cut.findings] == [("TX-1", True)]


def test_good_guide() -> None:
    found = read(GOOD)
    assert (found.title, found.summary, found.findings) == ("Shop", "Sells things. To people.", ())
    guides, optional = found.sections
    assert guides.name == "Guides"
    assert guides.links == (
        GuideLink("Start", "start.md", parse_target("https://example.com/docs/start.md"), "where to begin"),
        GuideLink(
            "API",
            "https://api.example.com/openapi.json",
            parse_target("https://api.example.com/openapi.json"),
            None,
        ),
        GuideLink("Old", "http://example.com/old", None, None),
    )
    assert optional.name == "Optional"
    assert [(link.href, link.note) for link in optional.links] == [("/more", None)]


OUTLINES: list[tuple[str, str, str | None, list[str]]] = [
    ("title only", "# Shop", "Shop", []),
    ("byte order mark", "\ufeff# Shop", "Shop", []),
    ("blank lines first", "\n\n  # Shop #\n", "Shop", []),
    ("second title", "# Shop\n# Other", "Shop", []),
    ("Windows line ends", "# Shop\r\n\r\n## A\r\n", "Shop", []),
    ("no title", "## A\n- [x](/x)", None, ["TX-1"]),
    ("text only", "Welcome.", None, ["TX-1"]),
    ("no space", "#Shop", None, ["TX-1"]),
    ("code", "    # Shop", None, ["TX-1"]),
    ("title second", "Welcome.\n# Shop", "Shop", ["TX-1"]),
    ("title behind a code block", "~~~\n# No\n~~~~\n# Shop", "Shop", ["TX-1"]),
    ("code block never ended", "```\n# No\n~~~\n", None, ["TX-1"]),
    ("section first", "## A\n# Shop", "Shop", ["TX-1"]),
    ("error message", "# Error\n\nSomething went wrong.", "Error", ["TX-1?"]),
    ("error number", "# 404", "404", ["TX-1?"]),
    ("not found", "# Page Not Found\n\nSorry.", "Page Not Found", ["TX-1?"]),
    ("could not be found", "# The page could not be found", "The page could not be found", ["TX-1?"]),
    ("error text with links", "# Error codes\n## All\n- [E1](/e1)", "Error codes", []),
    ("not an error", "# Terrors of the sea", "Terrors of the sea", []),
]


@pytest.mark.parametrize(("name", "text", "title", "expected"), OUTLINES, ids=[row[0] for row in OUTLINES])
def test_outlines(name: str, text: str, title: str | None, expected: list[str]) -> None:
    found = read(text)
    rules = [finding.rule + "?" * finding.is_warning for finding in found.findings]
    assert (found.title, rules) == (title, expected), name


ITEMS = [
    ("- [a](/b)", "a", "/b", None),
    ("  - [a](/b): c", "a", "/b", "c"),
    ("- [a](/b) : c ", "a", "/b", "c"),
    ("- [](/b)", "", "/b", None),
    ("-\t[a]( /b )", "a", "/b", None),
    ("- [a](/b 'title'): c", "a", "/b", "c"),
]
NO_ITEMS = ["- a", "-[a](/b)", "- [a]", "- [a]()", "- [a](/b", "[a](/b)", "1. [a](/b)", "- [a] (/b)"]


@pytest.mark.parametrize(("line", "title", "href", "note"), ITEMS)
def test_items(line: str, title: str, href: str, note: str | None) -> None:
    [section] = read(f"# T\n## S\n{line}").sections
    assert [(link.title, link.href, link.note) for link in section.links] == [(title, href, note)]


@pytest.mark.parametrize("line", NO_ITEMS)
def test_lines_that_are_no_items(line: str) -> None:
    [section] = read(f"# T\n## S\n{line}").sections
    assert section.links == ()


@pytest.mark.parametrize("body", [b"", b"<!DOCTYPE html><title>x</title>", b'{"error": "x"}', b"# a\x00"], ids=repr)
def test_anything_else_is_absent(body: bytes) -> None:
    assert isinstance(parse_llms(body, BASE), NotADocument)


def test_other_encodings_are_read() -> None:
    assert read(b"# Caf\xe9").title == "Caf\ufffd"


def test_outlines_are_bounded() -> None:
    found = read("# T\n" + "## S\n" * (MOST_SECTIONS + 1) + "- [a](/b)\n" * (MOST_LINKS + 1))
    assert (len(found.sections), len(found.sections[-1].links)) == (MOST_SECTIONS, MOST_LINKS)
    assert read("# T\n" + " " * OUTLINE_LIMIT + "\n## S").sections == ()


@pytest.mark.parametrize(
    "part", ["- [", "- [a](", "# ", "#", "# #", ">", "```\n", "`", "- [a](b)\n", "not ", "\n", " "]
)
def test_hostile_texts_take_linear_time(part: str) -> None:
    begin = time.process_time()
    for head in ("# ", "# T\n## S\n- [a](b"):
        parse_llms((head + part * (OUTLINE_LIMIT // len(part))).encode(), BASE)
    assert time.process_time() - begin < 5


@given(st.binary(max_size=80) | st.text(alphabet="# -[]()<>:`~\n ab/", max_size=80).map(str.encode))
def test_any_bytes_are_read(body: bytes) -> None:
    parse_llms(body, BASE)
    parse_llms(b"# a\n## b\n" + body, BASE)
