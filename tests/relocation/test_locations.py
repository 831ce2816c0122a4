"""Where a redirect may lead that is recorded (OV-4, CONTRACT.md §14.1)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.http.targets import Target
from proxy.relocation.changes import Reason
from proxy.relocation.locations import location_fault, recordable_location, url_fault
from proxy.relocation.records import LONGEST_URL
from tests.relocation.origin import NEW, OTHER, URL, target

ASKED = target(URL)

LOCATIONS: dict[str, tuple[tuple[str, ...], str]] = {
    "absolute": ((NEW,), NEW),
    "path": (("/new.json",), NEW),
    "relative": (("new.json?v=2#top",), f"{NEW}?v=2"),
    "dot segments": (("/a/../new.json",), NEW),
    "scheme-relative": (("//other.example.net/x.json",), OTHER),
    "with spaces around": ((f" {NEW}\t",), NEW),
    "another port": (("https://example.com:8443/x",), "https://example.com:8443/x"),
    "public address": (("https://93.184.215.14/x",), "https://93.184.215.14/x"),
    "percent-encoding as it is": (("/%c3%a9",), "https://example.com/%c3%a9"),
    "query of its own": (("?v=2",), f"{URL}?v=2"),
}


@pytest.mark.parametrize(("lines", "expected"), LOCATIONS.values(), ids=LOCATIONS)
def test_what_is_recorded(lines: tuple[str, ...], expected: str) -> None:
    location = recordable_location(ASKED, lines)
    assert isinstance(location, Target) and location.uri == expected


JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl"

REFUSED: dict[str, tuple[tuple[str, ...], Reason]] = {
    "none": ((), Reason.NO_LOCATION),
    "empty": (("",), Reason.NO_LOCATION),
    "blank": ((" \t",), Reason.NO_LOCATION),
    "two": ((NEW, OTHER), Reason.SEVERAL_LOCATIONS),
    "the same twice": ((NEW, NEW), Reason.SEVERAL_LOCATIONS),
    "itself": ((URL,), Reason.LOOP),
    "itself by path": (("/agent-card.json",), Reason.LOOP),
    "itself but for a fragment": (("#top",), Reason.LOOP),
    "itself in another spelling": (("https://EXAMPLE.COM:443/%61gent-card.json",), Reason.LOOP),
    "OV-4 http": (("http://example.com/x",), Reason.HTTPS_REQUIRED),
    "OV-4 http of a private address": (("http://10.0.0.5/x",), Reason.HTTPS_REQUIRED),
    "javascript": (("javascript:alert(1)",), Reason.MALFORMED),
    "data": (("data:text/html,x",), Reason.MALFORMED),
    "file": (("file:///etc/passwd",), Reason.MALFORMED),
    "ftp": (("ftp://example.com/x",), Reason.MALFORMED),
    "no host": (("https:///x",), Reason.MALFORMED),
    "no URL": (("https://exa mple.com/",), Reason.MALFORMED),
    "two in one line": ((f"{NEW}, {OTHER}",), Reason.MALFORMED),
    "broken percent-encoding": (("/%zz",), Reason.MALFORMED),
    "numeric host": (("https://2130706433/",), Reason.MALFORMED),
    "not ASCII": (("/\u00e9",), Reason.MALFORMED),
    "userinfo": (("https://user:pass@example.com/x",), Reason.USERINFO),
    "user alone": (("https://user@example.com/x",), Reason.USERINFO),
    "userinfo without scheme": (("//user@example.com/x",), Reason.USERINFO),
    "key": (("/x?api_key=hunter22",), Reason.SECRET),
    "token in the path": ((f"/{JWT}/x",), Reason.SECRET),
    "token in the fragment": (("/x#access_token=hunter22",), Reason.SECRET),
    "loopback": (("https://127.0.0.1/x",), Reason.SSRF),
    "loopback, IPv6": (("https://[::1]/x",), Reason.SSRF),
    "loopback in IPv6": (("https://[::ffff:127.0.0.1]/x",), Reason.SSRF),
    "private": (("https://10.0.0.5/x",), Reason.SSRF),
    "metadata": (("https://169.254.169.254/latest",), Reason.SSRF),
    "multicast": (("https://224.0.0.1/x",), Reason.SSRF),
    "localhost": (("https://localhost/x",), Reason.SSRF),
    "below localhost": (("https://a.localhost/x",), Reason.SSRF),
    "single label": (("https://intranet/x",), Reason.SSRF),
    "long": ((f"/{'a/' * LONGEST_URL}",), Reason.TOO_LONG),
    "long once it is resolved": ((f"/{'a/' * (LONGEST_URL // 2 - 1)}",), Reason.TOO_LONG),
}


@pytest.mark.parametrize(("lines", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_is_not_recorded(lines: tuple[str, ...], reason: Reason) -> None:
    assert recordable_location(ASKED, lines) is reason


def test_a_host_of_the_local_network_may_move_what_is_its_own() -> None:
    asked = target("https://10.0.0.5/x")
    assert location_fault(asked, target("https://10.0.0.5/y")) is None
    assert location_fault(asked, target("https://10.0.0.6/y")) is Reason.SSRF


def test_urls_that_are_in_no_record() -> None:
    assert url_fault(ASKED) is None
    assert url_fault(target(f"{URL}?password=x")) is Reason.SECRET
    assert url_fault(target(f"{URL}?{'a/' * LONGEST_URL}")) is Reason.TOO_LONG


@given(st.lists(st.text(max_size=80), max_size=3))
def test_any_text_is_a_location_or_a_reason(lines: list[str]) -> None:
    location = recordable_location(ASKED, lines)
    assert isinstance(location, Target | Reason)
