"""Catalogs with the origins' word applied."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest

from proxy.catalogs.applying import Applied, applied, located
from proxy.catalogs.catalog import MOST_ENTRIES
from proxy.catalogs.verdicts import UNKNOWN, Standing, Verdict
from proxy.relocation.records import Record, State
from proxy.relocation.rules import observe
from tests.catalogs.documents import (
    NEW,
    ONE,
    THREE,
    TWO,
    ai_catalog,
    ai_entry,
    apply,
    gone,
    left,
    mcp_item,
    moved,
    read,
    standings,
)
from tests.relocation.origin import DAY, NOW, seen

A, B = ai_entry(ONE, "one"), ai_entry(TWO, "two")
LINK_ONE, LINK_TWO = {"href": ONE, "type": "a/b"}, {"href": TWO}
ALONE: dict[str, Any] = {"name": "A", "url": ONE, "preferredTransport": "JSONRPC"}
CARD = {**ALONE, "additionalInterfaces": [{"url": TWO, "transport": "GRPC"}]}
PACKAGES = [{"registryType": "npm"}]


def nested(*listed: Any, **members: Any) -> dict[str, Any]:
    return {"identifier": "urn:air:example.com:nested", "data": ai_catalog(*listed), **members}


# Five deep, of which four are read.
DEEP: dict[str, Any] = ai_catalog({"data": ai_catalog({"data": ai_catalog({"data": ai_catalog(B)})})})
NO_URL = {name: member for name, member in A.items() if name != "url"}
CARD_IN_ENTRY = {"type": "application/a2a-agent-card+json", "data": CARD}

# A catalog, what the ledger has, and what is left.
CASES: dict[str, tuple[Any, list[Record], Any]] = {
    "moved": (ai_catalog(A, B), [moved(ONE)], ai_catalog(ai_entry(NEW, "one"), B)),
    "moved, by way of others": (
        ai_catalog(A),
        [moved(ONE, TWO), moved(TWO, THREE)],
        ai_catalog(ai_entry(THREE, "one")),
    ),
    "OV-6 gone, the first": (ai_catalog(A, B), [gone(ONE)], ai_catalog(B)),
    "OV-6 gone, the last": (ai_catalog(A, B), [gone(TWO)], ai_catalog(A)),
    "OV-6 gone, all": (ai_catalog(A, B, host={}), [gone(ONE), gone(TWO)], ai_catalog(host={})),
    "gone between others": (ai_catalog(A, B, A), [gone(TWO)], ai_catalog(A, A)),
    "gone, all but one between": (ai_catalog(A, B, A), [gone(ONE)], ai_catalog(B)),
    "moved and gone": (ai_catalog(A, B), [moved(ONE), gone(TWO)], ai_catalog(ai_entry(NEW, "one"))),
    "listed twice": (ai_catalog(A, A), [moved(ONE)], ai_catalog(*[ai_entry(NEW, "one")] * 2)),
    "written otherwise": (
        ai_catalog({"url": "HTTPS://Agents.example.com:443/%6Fne.json#top"}),
        [moved(ONE)],
        ai_catalog({"url": f"{NEW}#top"}),
    ),
    "relative": (
        ai_catalog({"url": "one.json"}),
        [moved("https://catalogs.example.org/all/one.json")],
        ai_catalog({"url": NEW}),
    ),
    "what is no entry": (ai_catalog(5, "x", A, None), [gone(ONE)], ai_catalog(5, "x", None)),
    "entry of a nested catalog": (
        ai_catalog(nested(A, B), A),
        [gone(ONE)],
        ai_catalog(nested(B)),
    ),
    "moved in a nested catalog": (
        ai_catalog(nested(nested(A, x=1), B)),
        [moved(ONE)],
        ai_catalog(nested(nested(ai_entry(NEW, "one"), x=1), B)),
    ),
    "nested catalog without entries left": (ai_catalog(nested(A), B), [gone(ONE)], ai_catalog(B)),
    "nested catalogs without entries left": (
        ai_catalog(nested(nested(A), nested(A)), B),
        [gone(ONE)],
        ai_catalog(B),
    ),
    "nested catalog that lists more": (
        ai_catalog(nested(A, {"identifier": "x", "data": "y"})),
        [gone(ONE)],
        ai_catalog(nested({"identifier": "x", "data": "y"})),
    ),
    "nested catalog beside a URL that stays": (
        ai_catalog(nested(A, url=TWO)),
        [gone(ONE)],
        ai_catalog(nested(url=TWO)),
    ),
    "URL beside a nested catalog that stays": (
        ai_catalog(nested(B, url=ONE)),
        [gone(ONE)],
        ai_catalog(nested(B)),
    ),
    "interface of a card in an entry": (
        ai_catalog({"type": "application/a2a-agent-card+json", "data": CARD}),
        [gone(TWO)],
        ai_catalog({"type": "application/a2a-agent-card+json", "data": ALONE}),
    ),
    "card in an entry": (
        ai_catalog({"type": "application/a2a-agent-card+json", "data": CARD}, ai_entry(THREE)),
        [gone(ONE), gone(TWO)],
        ai_catalog(ai_entry(THREE)),
    ),
    "remote of a server": (
        {"servers": [mcp_item(ONE, TWO), mcp_item(THREE)]},
        [gone(ONE)],
        {"servers": [mcp_item(TWO), mcp_item(THREE)]},
    ),
    "moved remote": ({"servers": [mcp_item(ONE, TWO)]}, [moved(TWO)], {"servers": [mcp_item(ONE, NEW)]}),
    "server without remotes left": (
        {"servers": [mcp_item(ONE, TWO), mcp_item(THREE)], "metadata": {"count": 2}},
        [gone(ONE), gone(TWO)],
        {"servers": [mcp_item(THREE)], "metadata": {"count": 2}},
    ),
    "interface of a card": (
        [CARD, THREE],
        [gone(TWO)],
        [ALONE, THREE],
    ),
    "URL of a card": ([CARD], [gone(ONE)], [{k: v for k, v in CARD.items() if k != "url"}]),
    "card without interfaces left": ({"agents": [CARD, THREE]}, [gone(ONE), gone(TWO)], {"agents": [THREE]}),
    "URL of a list": ([ONE, TWO, THREE], [gone(TWO), moved(THREE)], [ONE, NEW]),
    "two lists": (
        {"agents": [ONE], "cards": [TWO, THREE]},
        [gone(ONE), moved(TWO)],
        {"agents": [], "cards": [NEW, THREE]},
    ),
    "target of a context": (
        {"linkset": [{"anchor": "https://api.example.com/", "item": [LINK_ONE, LINK_TWO]}]},
        [gone(ONE)],
        {"linkset": [{"anchor": "https://api.example.com/", "item": [LINK_TWO]}]},
    ),
    "relation without targets left": (
        {"linkset": [{"service-desc": [LINK_ONE], "item": [LINK_TWO]}]},
        [gone(ONE)],
        {"linkset": [{"item": [LINK_TWO]}]},
    ),
    "relation with one target and no list": (
        {"linkset": [{"service-desc": LINK_ONE, "item": [LINK_TWO]}]},
        [gone(ONE)],
        {"linkset": [{"item": [LINK_TWO]}]},
    ),
    "context without targets left": (
        {"linkset": [{"anchor": "x", "item": [LINK_ONE]}, {"item": [LINK_TWO]}]},
        [gone(ONE)],
        {"linkset": [{"item": [LINK_TWO]}]},
    ),
    "flat context": (
        {"linkset": [{"rel": "item", "href": ONE}, {"item": []}]},
        [gone(ONE)],
        {"linkset": [{"item": []}]},
    ),
    "nested deeper than is read, and living": (
        ai_catalog(ai_entry(ONE, data=DEEP), B),
        [gone(ONE)],
        ai_catalog({k: v for k, v in ai_entry(ONE, data=DEEP).items() if k != "url"}, B),
    ),
    "nested deeper than is read, below an entry without a URL": (
        ai_catalog(
            {"data": ai_catalog({"data": ai_catalog({"data": ai_catalog(A, {**A, "data": ai_catalog(B)})})})}
        ),
        [gone(ONE)],
        ai_catalog(
            {"data": ai_catalog({"data": ai_catalog({"data": ai_catalog({**NO_URL, "data": ai_catalog(B)})})})}
        ),
    ),
    "nested deeper than is read, beside others": (
        ai_catalog({"data": DEEP}, nested(A), ai_entry(ONE, data={"entries": 5}), CARD_IN_ENTRY),
        [gone(ONE), gone(TWO)],
        ai_catalog({"data": DEEP}),
    ),
    "nested deeper than is read, and empty": (
        ai_catalog(
            {"data": ai_catalog({"data": ai_catalog({"data": ai_catalog({**A, "data": ai_catalog()})})})}, B
        ),
        [gone(ONE)],
        ai_catalog(B),
    ),
    "ANP item": (
        {"@type": "CollectionPage", "items": [{"@id": ONE, "name": "A"}, {"@id": TWO}], "next": "x"},
        [gone(ONE), moved(TWO)],
        {"@type": "CollectionPage", "items": [{"@id": NEW}], "next": "x"},
    ),
    "ANP item with two URLs": (
        {"@type": "CollectionPage", "items": [{"@id": ONE, "url": TWO}]},
        [gone(ONE)],
        {"@type": "CollectionPage", "items": [{"url": TWO}]},
    ),
    "ANP interface": (
        {"type": "AgentDescription", "items": [], "interfaces": [{"url": ONE}, {"url": TWO}]},
        [gone(ONE)],
        {"type": "AgentDescription", "items": [], "interfaces": [{"url": TWO}]},
    ),
}


@pytest.mark.parametrize(("value", "records", "expected"), CASES.values(), ids=CASES)
def test_cases(value: Any, records: list[Record], expected: Any) -> None:
    before = deepcopy(value)
    assert left(value, *records) == expected
    assert value == before


@pytest.mark.parametrize(("value", "records", "expected"), CASES.values(), ids=CASES)
def test_order_is_kept(value: Any, records: list[Record], expected: Any) -> None:
    assert json.dumps(left(value, *records)) == json.dumps(expected)


@pytest.mark.parametrize(("value", "records", "expected"), CASES.values(), ids=CASES)
def test_applied_again_nothing_changes(value: Any, records: list[Record], expected: Any) -> None:
    assert apply(expected, *records) == Applied(None, 0, 0)


def test_a_server_with_packages_stays_without_its_remotes() -> None:
    value = {"servers": [mcp_item(ONE, TWO, packages=PACKAGES)]}
    [item] = left(value, gone(ONE), gone(TWO))["servers"]
    assert item["server"] == {"name": "com.example/one", "packages": PACKAGES}
    assert left(value, gone(ONE))["servers"] == [mcp_item(TWO, packages=PACKAGES)]


def test_a_server_card_with_packages_in_an_entry() -> None:
    data = {"remotes": [{"url": ONE}], "packages": PACKAGES}
    value = ai_catalog({"type": "application/mcp-server-card+json", "data": data})
    [entry] = left(value, gone(ONE))["entries"]
    assert entry["data"] == {"packages": PACKAGES}


COUNTS: dict[str, tuple[Any, list[Record], tuple[int, int]]] = {
    "none": (ai_catalog(A, B), [], (0, 0)),
    "of others": (ai_catalog(A), [gone(TWO), moved(THREE)], (0, 0)),
    "one of each": (ai_catalog(A, B), [moved(ONE), gone(TWO)], (1, 1)),
    "each mention": (ai_catalog(A, A, B), [gone(ONE)], (0, 2)),
    "remotes": ({"servers": [mcp_item(ONE, TWO, THREE)]}, [gone(ONE), gone(TWO), moved(THREE)], (1, 2)),
}


@pytest.mark.parametrize(("value", "records", "expected"), COUNTS.values(), ids=COUNTS)
def test_counts(value: Any, records: list[Record], expected: tuple[int, int]) -> None:
    result = apply(value, *records)
    assert (result.moved, result.gone) == expected
    assert (result.body is None) is (expected == (0, 0))


# Elements of which the last URL is one more than are read, and what is left of them when all others are gone.
INTERFACES = [{"url": TWO}, {"url": THREE, "transport": "GRPC"}]
LAST: dict[str, tuple[str, Any, Any]] = {
    "card": (
        "agents",
        {"name": "A", "url": ONE, "supportedInterfaces": INTERFACES},
        {"name": "A", "supportedInterfaces": INTERFACES[1:]},
    ),
    "server": ("servers", mcp_item(ONE, TWO, THREE), mcp_item(THREE)),
    "server with packages": (
        "servers",
        mcp_item(ONE, TWO, THREE, packages=PACKAGES),
        mcp_item(THREE, packages=PACKAGES),
    ),
    "context": (
        "linkset",
        {"anchor": "x", "item": [LINK_ONE, LINK_TWO, {"href": THREE}]},
        {"anchor": "x", "item": [{"href": THREE}]},
    ),
    "nested catalog": (
        "entries",
        ai_entry(ONE, data=ai_catalog(ai_entry(TWO, x=1), ai_entry(THREE))),
        {**NO_URL, "data": ai_catalog(ai_entry(THREE))},
    ),
    "nested catalog, begun": (
        "entries",
        {"data": ai_catalog(A, nested(ai_entry(TWO, x=1), ai_entry(THREE)))},
        {"data": ai_catalog(nested(ai_entry(THREE)))},
    ),
}


@pytest.mark.parametrize(("member", "element", "expected"), LAST.values(), ids=LAST)
def test_what_was_not_read_whole_does_not_go(member: str, element: Any, expected: Any) -> None:
    one = {"agents": {"url": NEW}, "servers": mcp_item(NEW), "linkset": {"item": [{"href": NEW}]}}
    before = [one.get(member, {"url": NEW})] * (MOST_ENTRIES - 2)
    document = {member: [*before, element, element]}
    assert apply(document, gone(ONE), gone(TWO), gone(THREE)).gone == 2
    assert left(document, gone(ONE), gone(TWO), gone(THREE))[member][len(before) :] == [expected, element]


UNCHANGED = {
    "pending": moved(ONE, state=State.PENDING),
    "missing": gone(ONE, state=State.MISSING),
    "counted": gone(ONE, state=State.UNCONFIRMED),
}


@pytest.mark.parametrize("record", UNCHANGED.values(), ids=UNCHANGED)
def test_ov_3_what_is_not_settled_stays(record: Record) -> None:
    assert apply(ai_catalog(A), record) == Applied(None, 0, 0)


@pytest.mark.parametrize("status", ["active", "deprecated", "deleted"])
def test_ov_1_what_a_catalog_claims_changes_nothing(status: str) -> None:
    assert apply({"servers": [mcp_item(ONE, status=status)]}) == Applied(None, 0, 0)


def test_ov_6_listed_again_every_minute_it_stays_removed() -> None:
    tombstone = gone(ONE)
    for minute in range(3 * 24 * 60):
        catalog = ai_catalog(A, B, updatedAt=minute) if minute % 500 == 0 else ai_catalog(A, B)
        assert len(left(catalog, tombstone, now=NOW + 60.0 * minute)["entries"]) == 1, minute
    revived = observe(tombstone, seen(200, url=ONE, at=NOW + 3 * DAY)).record
    assert revived is None
    assert apply(ai_catalog(A, B)) == Applied(None, 0, 0)


NEVER_REMOVED = [
    *("http://agents.example.com/one.json", "https://user@agents.example.com/one.json", "javascript:alert(1)"),
    *("https://10.0.0.1/one.json", "https://localhost/one.json", "https://{x}.example.com/", "::", "https://"),
]


@pytest.mark.parametrize("url", NEVER_REMOVED)
def test_ov_1_urls_that_no_record_can_be_of_stay(url: str) -> None:
    assert left(ai_catalog(A, ai_entry(url)), gone(ONE), gone(url), moved(url)) == ai_catalog(ai_entry(url))


SIGNED = ai_catalog(A, signature={"jws": "x"})


@pytest.mark.parametrize("records", [[], [gone(ONE)], [moved(ONE)]], ids=len)
def test_what_is_signed_is_never_edited(records: list[Record]) -> None:
    catalog = read(SIGNED)
    with pytest.raises(ValueError, match="signed"):
        applied(catalog, standings(catalog, *records))


# What is not changed stays as it stands in the text, and of what is changed all else does. $1, $2 and $N stand
# for ONE, TWO and NEW.
LONG = "9" * 5000
TEXTS: dict[str, tuple[str, list[Record], str]] = {
    "spaces": (
        '\ufeff{ "entries" : [ {"url": "$1"} ,\n {"a" : 1.10,"url":"$2"} , {"url": "https://x.example/"}]}\n',
        [gone(ONE), moved(TWO)],
        '{ "entries" : [{"a":1.10,"url":"$N"},{"url": "https://x.example/"}]}\n',
    ),
    "numbers": (
        '{"entries":[{"url":"$1","n":[1.10,-0,1e999,' + LONG + ',0.1e-7]},{"n":1.0}],"m":-0.0}',
        [moved(ONE)],
        '{"entries":[{"url":"$N","n":[1.10,-0,1e999,' + LONG + ',0.1e-7]},{"n":1.0}],"m":-0.0}',
    ),
    "not ASCII": (
        '{"entries":[{"url":"$1","n":"\u00e9\\u00e9\U0001f600"},{"n":"\\u00e9"}]}',
        [moved(ONE)],
        '{"entries":[{"url":"$N","n":"\u00e9\u00e9\U0001f600"},{"n":"\\u00e9"}]}',
    ),
    "half a surrogate pair": (
        '{"entries":[{"url":"$1","n":"\\ud83d"},{"n":"\\ud83d"}]}',
        [moved(ONE)],
        '{"entries":[{"url":"$N","n":"\\ud83d"},{"n":"\\ud83d"}]}',
    ),
    "escaped slashes": (
        '{"entries":[{"url":"https:\\/\\/agents.example.com\\/one.json"},{"url":"https:\\/\\/x.example\\/"}]}',
        [gone(ONE)],
        '{"entries":[{"url":"https:\\/\\/x.example\\/"}]}',
    ),
}


def filled(text: str) -> str:
    return text.replace("$1", ONE).replace("$2", TWO).replace("$N", NEW)


@pytest.mark.parametrize(("text", "records", "expected"), TEXTS.values(), ids=TEXTS)
def test_texts(text: str, records: list[Record], expected: str) -> None:
    catalog = read(filled(text).encode())
    body = applied(catalog, standings(catalog, *records)).body
    assert body is not None and body.decode() == filled(expected)


def test_a_key_without_a_standing_stays() -> None:
    assert applied(read(ai_catalog(A)), {}) == Applied(None, 0, 0)
    assert applied(read(ai_catalog(A)), {ONE: UNKNOWN}) == Applied(None, 0, 0)


LOCATED: dict[str, tuple[str, Standing, str | None]] = {
    "unknown": (ONE, UNKNOWN, ONE),
    "unknown, written otherwise": ("one.json", UNKNOWN, "https://catalogs.example.org/all/one.json"),
    "no key": ("http://x.example", UNKNOWN, "http://x.example"),
    "confirmed": (ONE, Standing(Verdict.CONFIRMED, ONE), ONE),
    "moved": (ONE, Standing(Verdict.SUPERSEDED, NEW), NEW),
    "moved, with a fragment": (f"{ONE}#a", Standing(Verdict.SUPERSEDED, NEW), f"{NEW}#a"),
    "moved to a fragment": (f"{ONE}#a", Standing(Verdict.SUPERSEDED, f"{NEW}#b"), f"{NEW}#b"),
    "moved nobody knows where": (ONE, Standing(Verdict.SUPERSEDED, None), ONE),
    "gone": (ONE, Standing(Verdict.REMOVED, None), None),
}


@pytest.mark.parametrize(("url", "standing", "expected"), LOCATED.values(), ids=LOCATED)
def test_located(url: str, standing: Standing, expected: str | None) -> None:
    [entry] = read(ai_catalog(ai_entry(url))).entries
    assert located(entry, standing) == expected
