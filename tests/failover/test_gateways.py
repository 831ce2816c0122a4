"""Gateways: which addresses are ones, where they may redirect to, and in which order they are asked."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.failover.gateways import Gateway, GatewayScores, MalformedGateway, parse_gateway
from proxy.http.targets import parse_target

NOW = 1_800_000_000.0
CID = "bafkreib2i6usdpkwnuvft6i6rsfjrdlzrrp6mvwvjbxlrpj6w444gomt5m"
FIRST, SECOND, THIRD = (parse_gateway(f"https://{name}.example") for name in ("first", "second", "third"))
ALL = (FIRST, SECOND, THIRD)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://ipfs.example.net", "https://ipfs.example.net"),
        ("https://ipfs.example.net/", "https://ipfs.example.net"),
        ("https://IPFS.example.net:8443/below//", "https://ipfs.example.net:8443/below"),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
        ("http://[::1]:8080/", "http://[::1]:8080"),
        ("http://localhost", "http://localhost"),
        ("https://10.0.0.7", "https://10.0.0.7"),
    ],
)
def test_gateways(text: str, url: str) -> None:
    gateway = parse_gateway(text)
    assert gateway.url == url
    assert gateway.block(CID).uri == f"{url}/ipfs/{CID}?format=raw"
    assert gateway.record("k51").uri == f"{url}/ipns/k51?format=ipns-record"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ipfs.example.net",
        "ftp://ipfs.example.net",
        "http://ipfs.example.net",
        "http://10.0.0.7",
        "https://a@ipfs.example.net",
        "https://ipfs.example.net/?x=1",
        "https://ipfs.example.net/?",
        "https://ipfs.example.net/#x",
        "https://ipfs.example.net/../",
    ],
)
def test_what_is_no_gateway(text: str) -> None:
    with pytest.raises(MalformedGateway) as refused:
        parse_gateway(text)
    assert refused.value.detail


@given(st.text())
def test_any_text_is_a_gateway_or_refused(text: str) -> None:
    with suppress(MalformedGateway):
        parse_gateway(text)


@pytest.mark.parametrize(
    ("gateway", "target", "may"),
    [
        ("https://gw.example", "https://gw.example/ipfs/x", True),
        ("https://gw.example", "https://bafy.ipfs.gw.example/", True),
        ("https://gw.example:8443", "https://bafy.ipfs.gw.example:8443/", True),
        ("https://gw.example:8443", "https://bafy.ipfs.gw.example/", True),
        ("https://gw.example", "https://bafy.ipfs.gw.example:8443/", False),
        ("https://gw.example", "http://gw.example/", False),
        ("https://gw.example", "https://other.example/", False),
        ("https://gw.example", "https://evilgw.example/", False),
        ("https://a.gw.example", "https://gw.example/", False),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8080/ipfs/x", True),
        ("http://127.0.0.1:8080", "http://127.0.0.1:8081/ipfs/x", False),
        ("http://localhost:8080", "http://bafy.ipfs.localhost:8080/", False),
    ],
)
def test_redirects(gateway: str, target: str, may: bool) -> None:
    assert parse_gateway(gateway).may_follow(parse_target(target)) is may


def after(events: str, start: float = NOW) -> GatewayScores:
    """Scores after a run of events of the first gateway: `x` failed, `!` wrong bytes, `.` succeeded."""
    scores = GatewayScores()
    for event in events:
        change = {"x": scores.failed, "!": scores.answered_wrongly, ".": scores.succeeded}[event]
        scores = change(FIRST, start)
    return scores


@pytest.mark.parametrize(
    ("events", "seconds", "is_first"),
    [
        pytest.param("", 0, True, id="as the operator wrote them"),
        pytest.param("...", 0, True, id="successes earn nothing in advance"),
        pytest.param("x", 0, False, id="one failure"),
        pytest.param("x", 301, True, id="a failure is forgotten"),
        pytest.param("x.", 0, True, id="a success after it"),
        pytest.param("xxx.", 0, False, id="a success after three"),
        pytest.param("!", 301, False, id="wrong bytes are remembered longer"),
        pytest.param("!", 3600, True, id="and forgotten too"),
        pytest.param("!.....", 0, True, id="and made good"),
        pytest.param("x" * 1000, 3600, True, id="penalties have a bound"),
        pytest.param("x", -3600, False, id="clock set back"),
    ],
)
def test_order(events: str, seconds: float, is_first: bool) -> None:
    ordered = after(events).ordered(ALL, NOW + seconds)
    assert ordered == (ALL if is_first else (SECOND, THIRD, FIRST))


def test_the_worse_is_later() -> None:
    scores = after("!").failed(SECOND, NOW)
    assert scores.ordered(ALL, NOW) == (THIRD, SECOND, FIRST)
    assert scores.ordered((), NOW) == ()


def test_scores() -> None:
    scores = after("x")
    assert scores.score(SECOND, NOW) == 1.0
    assert scores.score(FIRST, NOW) == 0.5
    assert after("!").score(FIRST, NOW) < 0.1
    assert after("x", NOW).score(FIRST, NOW - 1e9) == 0.5


def test_an_event_makes_another_value() -> None:
    scores = GatewayScores()
    assert scores.failed(FIRST, NOW) is not scores and scores.score(FIRST, NOW) == 1.0
    assert scores.succeeded(FIRST, NOW) is scores
    assert Gateway(FIRST.base) == FIRST
