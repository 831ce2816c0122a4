"""robots.txt: lines that lead on (LK-4; RFC 9309)."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.discovery.pages.robots import MOST_LINES, ROBOTS_LIMIT, Robots, parse_robots

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


def test_only_500_kib_are_read() -> None:
    line = f"Agentmap: {MAP}".encode()
    body = b"#" * (ROBOTS_LIMIT - len(line) - 1) + b"\n" + line
    assert uris(parse_robots(body))[0] == [MAP]
    found = parse_robots(b"#" + body)
    assert uris(found)[0] == ["https://example.com/ard.jso"], "cut where the limit is"
    assert [finding.rule for finding in found.findings] == ["LK-4"]


@pytest.mark.parametrize("field", ["Agentmap", "Sitemap"])
def test_each_field_is_bounded(field: str) -> None:
    lines = [f"{field}: {MAP}?{number}\n" for number in range(MOST_LINES)]
    assert sum(map(len, uris(parse_robots("".join(lines).encode())))) == MOST_LINES
    other = f"{'Sitemap' if field == 'Agentmap' else 'Agentmap'}: {MAP}\n"
    found = parse_robots("".join([*lines, lines[0], lines[0], other]).encode())
    assert sum(map(len, uris(found))) == MOST_LINES + 1
    [finding] = found.findings
    assert finding.detail == f"Only the first {MOST_LINES} {field.lower()} lines are read."


@pytest.mark.parametrize(
    "part", ["agentmap: x\n", f"sitemap: {MAP}\n", "#", ":", "user-agent: a\n", "\r", "\n", "\n \t", " "], ids=repr
)
def test_hostile_files_take_linear_time(part: str) -> None:
    begin = time.process_time()
    parse_robots((part * (ROBOTS_LIMIT // len(part))).encode())
    assert time.process_time() - begin < 1


@given(st.binary(max_size=80) | st.text(alphabet="agentmap:sicl-user=#\r\n \t/", max_size=80).map(str.encode))
def test_any_bytes_are_read(body: bytes) -> None:
    for field in (b"", b"agentmap:", b"sitemap:"):
        parse_robots(field + body)
