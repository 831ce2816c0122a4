"""Plans: who is asked in which order, and why the others are not."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.failover.breaker import Breaker
from proxy.failover.gateways import parse_gateway
from proxy.failover.plan import Plan, PlanRules, mirror_url, plan, source_of
from proxy.http.targets import parse_target

NOW = 1_800_000_000.0
SITE = parse_target("https://example.com/")
GATEWAYS = (parse_gateway("https://gw.example"),)
RULES = PlanRules(GATEWAYS)
OPEN = Breaker().tripped(NOW)

ONE, TWO = "https://one.example/m.json", "https://two.example/m.json"
CID = "bafkreib2i6usdpkwnuvft6i6rsfjrdlzrrp6mvwvjbxlrpj6w444gomt5m"
VERSION_0 = "QmUNLLsPACCz1vLxQVkXqqLX5R1X345qqfHbsf67hvA3Nn"
VERSION_1 = "bafybeicznmevhcqwqwjhtpnogebmdkmgoqdk6m5mkuvc3asbtqc56ftzgq"
NAME = "k51qzi5uqu5dhjghbwdvbo6mi40htrq6e2z4pwgp15pgv3ho1azvidttzh8yy2"
SEEDS_SAMPLE = "ipfs://QmYwAPJzv5CZsnA625s3Xf2sm5Dsg7C733d"


def planned(
    listed: object, rules: PlanRules = RULES, breakers: Mapping[str, Breaker] | None = None, now: float = NOW
) -> Plan:
    return plan(listed, SITE, rules, breakers or {}, now)


def urls(made: Plan) -> list[str]:
    return [mirror_url(mirror) for mirror in made.candidates]


def skips(made: Plan) -> list[tuple[str, str]]:
    assert all(attempt.outcome == "skipped" and attempt.ms == 0 for attempt in made.skipped)
    return [(attempt.url, attempt.reason) for attempt in made.skipped]


def test_https_first_then_content_each_as_declared() -> None:
    made = planned([f"ipns://{NAME}", ONE, f"ipfs://{CID}", TWO])
    assert urls(made) == [ONE, TWO, f"ipns://{NAME}", f"ipfs://{CID}"]
    assert [source_of(mirror).value for mirror in made.candidates] == ["mirror", "mirror", "ipfs", "ipfs"]
    assert (made.skipped, made.site) == ((), SITE)


def test_one_place_is_asked_once() -> None:
    upper = CID.upper()
    made = planned([ONE, f"ipfs://{CID}", ONE, f"ipfs://{upper}", "https://ONE.example:443/m.json"])
    assert (urls(made), made.skipped) == ([ONE, f"ipfs://{CID}"], ())


SKIPPED = [
    pytest.param(SEEDS_SAMPLE, SEEDS_SAMPLE, "mirror_invalid", id="the seed's sample"),
    pytest.param("http://one.example/", "http://one.example/", "mirror_invalid", id="http"),
    pytest.param("https://example.com/m.json", "https://example.com/m.json", "mirror_invalid", id="own host"),
    pytest.param("https://one.example:8443/m", "https://one.example:8443/m", "mirror_invalid", id="port"),
    pytest.param("https://127.0.0.1/m", "https://127.0.0.1/m", "mirror_invalid", id="address"),
    pytest.param("https://a:b@one.example/m", "https://one.example/", "mirror_invalid", id="userinfo"),
    pytest.param("https://one.example/?token=12345678", "https://one.example/", "mirror_invalid", id="secret"),
    pytest.param("ipns://example.org", "ipns://example.org", "mirror_invalid", id="a domain as a name"),
    pytest.param(f"ipfs://{CID}/m.json", f"ipfs://{CID}/m.json", "ipfs_path_unsupported", id="path"),
    pytest.param(f"ipns://{NAME}/m.json", f"ipns://{NAME}/m.json", "ipfs_path_unsupported", id="path of a name"),
    pytest.param(7, "", "mirror_invalid", id="number"),
    pytest.param(None, "", "mirror_invalid", id="null"),
    pytest.param([[["https://one.example/"]]], "", "mirror_invalid", id="list"),
]


@pytest.mark.parametrize(("item", "url", "reason"), SKIPPED)
def test_a_bad_mirror_does_not_spoil_the_others(item: object, url: str, reason: str) -> None:
    made = planned([item, ONE])
    assert (urls(made), skips(made)) == ([ONE], [(url, reason)])
    by_content = isinstance(item, str) and item.startswith("ip")
    assert made.skipped[0].source.value == ("ipfs" if by_content else "mirror")


def test_ports_that_the_operator_allows() -> None:
    made = planned(["https://one.example:8443/m"], PlanRules(ports=frozenset({443, 8443})))
    assert urls(made) == ["https://one.example:8443/m"]


def test_without_a_gateway_there_is_no_content() -> None:
    made = planned([f"ipfs://{CID}", f"ipns://{NAME}", ONE], PlanRules())
    assert urls(made) == [ONE]
    assert skips(made) == [(f"ipfs://{CID}", "no-gateway"), (f"ipns://{NAME}", "no-gateway")]


@pytest.mark.parametrize(
    ("breakers", "now", "is_skipped"),
    [
        pytest.param({}, NOW, False, id="none"),
        pytest.param({"one.example": Breaker()}, NOW, False, id="closed"),
        pytest.param({"one.example": OPEN}, NOW, True, id="open"),
        pytest.param({"one.example": OPEN}, NOW + 6, False, id="probe due"),
        pytest.param({"two.example": OPEN}, NOW, False, id="another host's"),
        pytest.param({"gw.example": OPEN}, NOW, False, id="a gateway's"),
    ],
)
def test_breakers(breakers: Mapping[str, Breaker], now: float, is_skipped: bool) -> None:
    made = planned([ONE, f"ipfs://{CID}"], RULES, breakers, now)
    assert skips(made) == ([(ONE, "breaker-open")] if is_skipped else [])


def test_at_most_so_many() -> None:
    listed = [f"https://m{number}.example/" for number in range(12)]
    made = planned(listed)
    assert (urls(made), skips(made)) == (listed[:8], [(url, "too-many") for url in listed[8:]])
    made = planned([7, *listed[:4]], PlanRules(most=2))
    assert urls(made) == listed[:2]
    assert [reason for _, reason in skips(made)] == ["mirror_invalid", "too-many", "too-many"]


@pytest.mark.parametrize("listed", [None, {}, "https://one.example/", 7, True, []], ids=repr)
def test_what_is_no_list_lists_nothing(listed: object) -> None:
    assert planned(listed) == Plan(SITE, (), ())


def test_a_long_list_makes_a_short_plan() -> None:
    made = planned(["https://x.example/" + "a" * 10_000] * 100_000)
    assert len(made.skipped) <= 64 and all(len(attempt.url) <= 256 for attempt in made.skipped)


_JSON = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text(), max_size=3)


@given(
    st.lists(
        max_size=12, elements=_JSON | st.from_regex(r"(https|ipfs|ipns)://[A-Za-z0-9./:@?%-]{0,60}", fullmatch=True)
    )
)
def test_any_list_is_planned(listed: list[object]) -> None:
    made = planned(listed)
    assert len(made.candidates) <= 8
