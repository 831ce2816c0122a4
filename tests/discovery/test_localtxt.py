"""The TXT record of an agent on the local link (DISCOVERY_FORMATS §7, RFC 6763 §6)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.discovery.records.localtxt import DEFAULT_PATH, LocalText, read_text

Attributes = dict[bytes, bytes | None]
PLAIN = LocalText("uaix1", DEFAULT_PATH, None, None, (), ())


def received(*strings: bytes) -> Attributes:
    """Attributes as a TXT record's character-strings give them, exact repetitions dropped."""
    attributes: Attributes = {}
    for string in strings:
        key, equals, value = string.partition(b"=")
        attributes.setdefault(key, value if equals else None)
    return attributes


def read(*strings: bytes) -> LocalText:
    return read_text(received(*strings))


FULL = LocalText("uaix1", "/agents/a.json", "did:web:example.com", "mcp", ("L3", "L4"), ())

LAYOUTS = {
    "a string an attribute": (
        b"v=uaix1",
        b"capabilities=L3,L4",
        b"path=/agents/a.json",
        b"did=did:web:example.com",
        b"proto=mcp",
    ),
    "one string": (b"v=uaix1; capabilities=L3,L4; path=/agents/a.json; did=did:web:example.com; proto=mcp",),
    "one string, no blanks, ending in a semicolon": (
        b"v=uaix1;capabilities=L3,L4;path=/agents/a.json;did=did:web:example.com;proto=mcp;",
    ),
    "one string, blanks everywhere": (
        b"v= uaix1 ;; capabilities = L3, L4 ; path = /agents/a.json ; did= did:web:example.com; proto=mcp ",
    ),
    "both": (b"v=uaix1; capabilities=L3,L4", b"path=/agents/a.json", b"did=did:web:example.com", b"proto=mcp"),
    "keys in any case": (
        b"V=uaix1",
        b"CAPABILITIES=L3,L4",
        b"Path=/agents/a.json",
        b"DID=did:web:example.com",
        b"pRoTo=MCP",
    ),
    "txtvers first, unknown attributes": (
        b"txtvers=1",
        b"v=uaix1; x=y; capabilities=L3,L4; path=/agents/a.json",
        b"color=\xff\xfe",
        b"=nothing",
        b"did=did:web:example.com",
        b"proto=mcp",
    ),
}


@pytest.mark.parametrize("strings", LAYOUTS.values(), ids=LAYOUTS)
def test_layouts(strings: tuple[bytes, ...]) -> None:
    assert read(*strings) == FULL


FIRST_COUNTS = {
    "in another case": (b"capabilities=L1", b"v=uaix1", b"Capabilities=L2"),
    "before the one string": (b"capabilities=L1", b"v=uaix1; capabilities=L2"),
    "after the one string": (b"v=uaix1; capabilities=L1", b"capabilities=L2"),
    "within the one string": (b"v=uaix1; capabilities=L1; capabilities=L2",),
    "of two one-strings": (b"v=uaix1; capabilities=L1", b"V=uaix9; capabilities=L2"),
}


@pytest.mark.parametrize("strings", FIRST_COUNTS.values(), ids=FIRST_COUNTS)
def test_the_first_of_a_name_counts(strings: tuple[bytes, ...]) -> None:
    text = read(*strings)
    assert (text.version, text.capabilities, text.problems) == ("uaix1", ("L1",), ())


ABSENT = {
    "no attributes": ((), None),
    "an empty string": ((b"",), None),
    "a boolean version": ((b"v",), None),
    "a boolean version, then a value": ((b"v", b"V=uaix1"), None),
    "an empty version": ((b"v=",), None),
    "attributes but no version in the one string": ((b"v=; capabilities=L1",), None),
    "another version": ((b"v=uaix2",), "uaix2"),
    "the version in upper case": ((b"v=UAIX1",), "UAIX1"),
    "the version within another attribute": ((b"x=1; v=uaix1",), None),
}


@pytest.mark.parametrize(("strings", "version"), ABSENT.values(), ids=ABSENT)
def test_version(strings: tuple[bytes, ...], version: str | None) -> None:
    assert read(*strings).version == version


@pytest.mark.parametrize("key", [b"capabilities", b"path", b"did", b"proto"])
@pytest.mark.parametrize("suffix", [b"", b"="], ids=["boolean", "empty"])
def test_an_attribute_without_a_value_is_none(key: bytes, suffix: bytes) -> None:
    assert read(b"v=uaix1", key + suffix) == PLAIN
    assert read(b"v=uaix1; " + key + suffix) == PLAIN


PATHS = {
    "the default": (b"/.well-known/uaix-agent-access.json", True),
    "the root": (b"/", True),
    "percent-encoded": (b"/caf%C3%A9/a.json", True),
    "dots in a name": (b"/..a/b../c.json", True),
    "relative": (b"agents/a.json", False),
    "another authority": (b"//example.com/a.json", False),
    "a URL": (b"https://example.com/a.json", False),
    "two dots": (b"/a/../b", False),
    "one dot": (b"/./b", False),
    "encoded dots": (b"/a/%2e%2E/b", False),
    "a query": (b"/a?b", False),
    "a fragment": (b"/a#b", False),
    "a blank": (b"/a b", False),
    "a backslash": (b"/\\example.com/", False),
    "not ASCII": ("/café".encode(), False),
    "broken percent-encoding": (b"/a%zz", False),
}


@pytest.mark.parametrize(("path", "is_good"), PATHS.values(), ids=PATHS)
def test_path(path: bytes, is_good: bool) -> None:
    text = read(b"v=uaix1", b"path=" + path)
    assert text.path == (path.decode() if is_good else DEFAULT_PATH)
    assert [(finding.rule, finding.path) for finding in text.problems] == ([] if is_good else [("MD-2", "/path")])


DIDS = {
    "did:web": (b"did:web:example.com", True),
    "with path and port": (b"did:web:example.com%3A8443:agents:a", True),
    "did:webvh": (b"did:webvh:Qm123:example.com", True),
    "no method": (b"did::example.com", False),
    "a method in upper case": (b"did:WEB:example.com", False),
    "a name alone": (b"example.com", False),
    "with a fragment": (b"did:web:example.com#key-1", False),
    "a broken escape": (b"did:web:example.com%3", False),
    "a blank": (b"did:web:example .com", False),
}


@pytest.mark.parametrize(("did", "is_good"), DIDS.values(), ids=DIDS)
def test_did(did: bytes, is_good: bool) -> None:
    text = read(b"v=uaix1", b"did=" + did)
    assert text.did == (did.decode() if is_good else None)
    assert [(finding.rule, finding.path) for finding in text.problems] == ([] if is_good else [("MD-3", "/did")])


@pytest.mark.parametrize(
    ("proto", "expected"),
    [(b"mcp", "mcp"), (b"A2A", "a2a"), (b"x.y+z-1", "x.y+z-1"), (b"a" * 33, None), (b"-a", None), (b"a b", None)],
)
def test_proto(proto: bytes, expected: str | None) -> None:
    text = read(b"v=uaix1", b"proto=" + proto)
    assert text.proto == expected
    assert [finding.path for finding in text.problems] == ([] if expected else ["/proto"])


CAPABILITIES = {
    "one": (b"L0", ("L0",), True),
    "as listed": (b"L7,L3", ("L7", "L3"), True),
    "blanks and case": (b" l3 , L4 ,", ("L3", "L4"), True),
    "twice": (b"L3,L3,l3", ("L3",), True),
    "a level too high": (b"L3,L8", ("L3",), False),
    "words": (b"tools,L3", ("L3",), False),
    "other separators": (b"L3 L4", (), False),
    "digits that only look so": ("L\u0663".encode(), (), False),
}


@pytest.mark.parametrize(("value", "levels", "is_whole"), CAPABILITIES.values(), ids=CAPABILITIES)
def test_capabilities(value: bytes, levels: tuple[str, ...], is_whole: bool) -> None:
    text = read(b"v=uaix1", b"capabilities=" + value)
    assert text.capabilities == levels
    assert [(finding.rule, finding.path) for finding in text.problems] == (
        [] if is_whole else [("MD-2", "/capabilities")]
    )


@pytest.mark.parametrize("value", [b"\xff", b"L3\x00", "L3\u202e".encode(), b"\xed\xa0\x80", b"L3," * 100])
@pytest.mark.parametrize("key", ["v", "capabilities", "path", "did", "proto"])
def test_what_is_no_text_is_passed_over(key: str, value: bytes) -> None:
    text = read_text({b"v": b"uaix1"} | {key.encode(): value})
    assert [(finding.rule, finding.path) for finding in text.problems] == [("MD-2", f"/{key}")]
    assert text.version == (None if key == "v" else "uaix1")
    assert text == LocalText(text.version, DEFAULT_PATH, None, None, (), text.problems)


def fillers(count: int) -> list[bytes]:
    return [b"k%d=" % number for number in range(count)]


BOUNDS = {
    "64 attributes": ([b"v=uaix1", *fillers(62), b"capabilities=L3"], ("L3",), []),
    "65 attributes": ([b"v=uaix1", *fillers(63), b"capabilities=L3"], (), [""]),
    "65 attributes in one string": ([b"v=uaix1" + b";a" * 63 + b";capabilities=L3"], (), [""]),
    "very many in one string": ([b"v=uaix1" + b";a=b" * 100_000], (), ["", ""]),
    "1,300 octets": ([b"v=uaix1", b"x=" + b"y" * 1289], (), []),
    "1,301 octets": ([b"v=uaix1", b"x=" + b"y" * 1290], (), [""]),
}


@pytest.mark.parametrize(("strings", "levels", "places"), BOUNDS.values(), ids=BOUNDS)
def test_bounds(strings: list[bytes], levels: tuple[str, ...], places: list[str]) -> None:
    text = read(*strings)
    assert (text.version, text.capabilities) == ("uaix1", levels)
    assert [finding.path for finding in text.problems] == places
    assert all(finding.is_warning and finding.rule == "MD-2" for finding in text.problems)


KEYS = st.sampled_from([b"v", b"V", b"capabilities", b"path", b"did", b"proto", b""]) | st.binary(max_size=20)
VALUES = (
    st.none() | st.binary(max_size=300) | st.sampled_from([b"uaix1", b"uaix1; path=/a; did=did:web:a", b"L1,L2"])
)


@given(st.dictionaries(KEYS, VALUES, max_size=80))
def test_no_octets_make_it_raise(attributes: Attributes) -> None:
    text = read_text(attributes)
    assert text.path.startswith("/")
    assert len(text.capabilities) <= 8
    assert all(str(finding.detail).isprintable() for finding in text.problems)
