"""robots.txt: lines that lead on (LK-4; RFC 9309)."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.discovery.robots import MOST_LINES, ROBOTS_LIMIT, ContentSignal, Robots, parse_robots

MAP = "https://example.com/ard.json"


def uris(found: Robots) -> tuple[list[str], list[str]]:
    return [target.uri for target in found.agentmaps], [target.uri for target in found.sitemaps]


PLACES: list[tuple[str, str, list[str], int]] = [
    ("plain", f"Agentmap: {MAP}", [MAP], 0),
    ("spaces", f" \tAgentmap \t:\t {MAP}  ", [MAP], 0),
    ("no space", f"Agentmap:{MAP}", [MAP], 0),
    ("comment behind", f"Agentmap: {MAP} # here", [MAP], 0),
    ("commented out", f"# Agentmap: {MAP}", [], 0),
    ("in a group", f"User-agent: *\nAgentmap: {MAP}\nDisallow: /", [MAP], 0),
    ("line ends", f"a:b\rAgentmap: {MAP}\r\nAgentmap: https://example.com/2\n", [MAP, "https://example.com/2"], 0),
    ("twice", f"Agentmap: {MAP}\nAgentmap: {MAP}", [MAP], 0),
    ("byte order mark", f"\ufeffAgentmap: {MAP}", [MAP], 0),
    ("relative", "Agentmap: /ard.json", [], 1),
    ("empty", "Agentmap:", [], 1),
    ("http", "Agentmap: http://example.com/ard.json", [], 1),
    ("private", "Agentmap: https://10.0.0.1/", [], 1),
    ("no colon", f"Agentmap {MAP}", [], 0),
    ("other field", f"Agentmaps: {MAP}", [], 0),
    ("nothing", "", [], 0),
    ("form feed ends no line", f"a:\x0cAgentmap: {MAP}", [], 0),
]


@pytest.mark.parametrize(("name", "text", "expected", "count"), PLACES, ids=[row[0] for row in PLACES])
@pytest.mark.parametrize("field", ["Agentmap", "agentMAP", "Sitemap", "sitemap"])
def test_places(field: str, name: str, text: str, expected: list[str], count: int) -> None:
    found = parse_robots(text.replace("Agentmap", field).encode())
    agentmaps, sitemaps = uris(found)
    assert (sitemaps if field.lower() == "sitemap" else agentmaps) == expected, name
    assert len(agentmaps) + len(sitemaps) == len(expected)
    assert len(found.findings) == count
    assert all((finding.rule, finding.is_warning) == ("LK-4", True) for finding in found.findings)


SIGNALS: list[tuple[str, str, list[ContentSignal], int]] = [
    (
        "in a group",
        "User-Agent: *\nContent-Signal: search=yes, ai-train=no\nAllow: /",
        [ContentSignal(("*",), (("search", "yes"), ("ai-train", "no")))],
        0,
    ),
    ("before any group", "content-signal: AI-Input=NO", [ContentSignal((), (("ai-input", "no"),))], 0),
    (
        "two names for one group",
        "User-agent: A\nSitemap: https://example.com/s\nUser-agent: b\nUser-agent: a\nContent-Signal: search=no",
        [ContentSignal(("a", "b"), (("search", "no"),))],
        0,
    ),
    (
        "two groups",
        "User-agent: a\nDisallow: /\nContent-Signal: search=no\nUser-agent: b\nContent-Signal: search=yes",
        [ContentSignal(("a",), (("search", "no"),)), ContentSignal(("b",), (("search", "yes"),))],
        0,
    ),
    ("group without a signal", "User-agent: a\nUser-agent: b", [], 0),
    ("first of a name", "Content-Signal: search=no, search=yes", [ContentSignal((), (("search", "no"),))], 0),
    ("twice", "Content-Signal: search=no\nContent-Signal: search=no", [ContentSignal((), (("search", "no"),))], 0),
    ("part of no use", "Content-Signal: search, ai-train = no", [ContentSignal((), (("ai-train", "no"),))], 1),
    ("empty", "Content-Signal:", [], 1),
    ("no name", "Content-Signal: =no", [], 1),
]


@pytest.mark.parametrize(("name", "text", "expected", "count"), SIGNALS, ids=[row[0] for row in SIGNALS])
def test_content_signals(name: str, text: str, expected: list[ContentSignal], count: int) -> None:
    found = parse_robots(text.encode())
    assert (list(found.content_signals), len(found.findings)) == (expected, count), name


def test_only_500_kib_are_read() -> None:
    line = f"Agentmap: {MAP}".encode()
    body = b"#" * (ROBOTS_LIMIT - len(line) - 1) + b"\n" + line
    assert uris(parse_robots(body))[0] == [MAP]
    found = parse_robots(b"#" + body)
    assert uris(found)[0] == ["https://example.com/ard.jso"], "cut where the limit is"
    assert [finding.rule for finding in found.findings] == ["LK-4"]


def test_each_list_is_bounded() -> None:
    agents = "".join(f"User-agent: a{number}\n" for number in range(MOST_LINES + 1))
    signals = "".join(f"Content-Signal: a=b{number}\n" for number in range(MOST_LINES + 1))
    maps = "".join(f"Agentmap: {MAP}?{number}\n" for number in range(MOST_LINES + 1))
    sites = maps.replace("Agentmap", "Sitemap")
    long = "Content-Signal: " + ",".join(f"a{number}=b" for number in range(MOST_LINES + 1))
    found = parse_robots((agents + signals + maps + sites).encode())
    assert len(found.agentmaps) == len(found.sitemaps) == len(found.content_signals) == MOST_LINES
    assert len(found.content_signals[0].user_agents) == MOST_LINES
    assert len(parse_robots(long.encode()).content_signals[0].signals) == MOST_LINES


@pytest.mark.parametrize(
    "part", ["agentmap: x\n", "#", ":", "user-agent: a\n", "content-signal: a=b,", "\r", "a=,", " "]
)
def test_hostile_files_take_linear_time(part: str) -> None:
    begin = time.process_time()
    parse_robots((part * (ROBOTS_LIMIT // len(part))).encode())
    parse_robots(("content-signal:" + part * (ROBOTS_LIMIT // len(part))).encode())
    assert time.process_time() - begin < 3


@given(st.binary(max_size=80) | st.text(alphabet="agentmap:sicl-user=#\r\n \t/", max_size=80).map(str.encode))
def test_any_bytes_are_read(body: bytes) -> None:
    for field in (b"", b"agentmap:", b"content-signal:"):
        parse_robots(field + body)
