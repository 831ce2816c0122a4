from __future__ import annotations

from contextlib import suppress

import dns.name
import pytest
from dns.dnssectypes import DSDigest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.upstream.dns.anchors import NO_ANCHORS, ROOT_ANCHORS, Anchors, BadAnchors, parse_anchors
from tests.upstream.dns.signed import REVOKE, SEP, ZONE, Signer, name

DIGEST = "0123456789ABCDEF" * 4
KSK_2017 = (
    "AwEAAaz/tAm8yTn4Mfeh5eyI96WSVexTBAvkMgJzkKTOiW1vkIbzxeF3+/4RgWOq7HrxRixHlFlExOLAJr5emLvN7SWXgnLh4+B5xQlN"
    "Vz8Og8kvArMtNROxVQuCaSnIDdD5LKyWbRd2n9WGe2R8PzgCmr3EgVLrjyBxWezF0jLHwVN8efS3rCj/EWgvIWgb9tarpVUDK/b58Da+"
    "sqqls3eNbuv7pr+eoZG+SrDK6nWeL3c6H5Apxz7LjVc1uTIdsIXxuOLYA4/ilBmSVIzuDWfdRUfhHdY6+cn8HFRm+2hM8AnXGXws9555"
    "KrUB5qihylGa8subX2Nn6UwNR1AkUTV74bU="
)


def test_the_root_anchors_are_those_of_iana() -> None:
    [zone] = ROOT_ANCHORS.by_zone
    assert zone == dns.name.root
    assert [anchor.key_tag for anchor in ROOT_ANCHORS.by_zone[zone]] == [20326, 38696]


def test_the_published_key_is_the_anchor_of_its_digest() -> None:
    text = f"; autotrust trust anchor file\n. 86400 IN DNSKEY 257 3 8 {KSK_2017} ;{{id = 20326 (ksk)}}\n"
    assert parse_anchors(text).by_zone[dns.name.root] == ROOT_ANCHORS.by_zone[dns.name.root][:1]


FORMS = [
    ("DS", f". DS 1 13 2 {DIGEST}", {".": 1}),
    ("class and TTL", f". 300 IN DS 1 13 2 {DIGEST}", {".": 1}),
    ("SHA-384", f". DS 1 8 4 {DIGEST}{DIGEST[:32]}", {".": 1}),
    ("SHA-1", f". DS 1 8 1 {DIGEST[:40]}", {".": 1}),
    ("two of one zone", f". DS 1 13 2 {DIGEST}\n. DS 2 13 2 {DIGEST}", {".": 2}),
    ("an island", f"Example.COM. DS 1 13 2 {DIGEST}", {"example.com.": 1}),
    ("a name without a dot", f"example.com DS 1 13 2 {DIGEST}", {"example.com.": 1}),
    ("a key", f"example. DNSKEY {Signer('example.').key.to_text()}", {"example.": 1}),
    ("a zone signing key", f"example. DNSKEY {Signer('example.', ZONE).key.to_text()}", {"example.": 1}),
]


@pytest.mark.parametrize(("case", "text", "expected"), FORMS, ids=[row[0] for row in FORMS])
def test_forms_of_anchors(case: str, text: str, expected: dict[str, int]) -> None:
    found = parse_anchors(text).by_zone
    assert {zone.to_text().lower(): len(anchors) for zone, anchors in found.items()} == expected, case


def test_a_key_becomes_its_digest() -> None:
    signer = Signer("example.")
    [anchor] = parse_anchors(f"example. DNSKEY {signer.key.to_text()}").by_zone[name("example.")]
    assert anchor.to_text() == signer.ds(DSDigest.SHA256)


REFUSED = [
    ("empty", "", "no trust anchor"),
    ("comment", "; nothing\n", "no trust anchor"),
    ("no zone format", "<html>", "zone format"),
    ("unbalanced", f". DS ( 1 13 2 {DIGEST}", "zone format"),
    ("cut digest", ". DS 1 13 2 0123", "zone format"),
    ("directive", "$INCLUDE /etc/hostname\n", "zone format"),
    ("generated", f"$GENERATE 1-65535 a$ DS 1 13 2 {DIGEST}", "zone format"),
    ("another type", ". A 192.0.2.1", "neither DS nor DNSKEY"),
    ("another class", f". CH DS 1 13 2 {DIGEST}", "zone format"),
    ("RSASHA1", f". DS 1 5 2 {DIGEST}", "not supported"),
    ("GOST digest", f". DS 1 13 3 {DIGEST}", "not supported"),
    ("revoked", f". DNSKEY {Signer('.', ZONE | SEP | REVOKE).key.to_text()}", "revoked"),
    ("no zone key", f". DNSKEY {Signer('.', 0).key.to_text()}", "revoked"),
    ("RSASHA1 key", f". DNSKEY 257 3 5 {KSK_2017}", "no supported algorithm"),
    ("NUL", ". DS \x00", "zone format"),
]


@pytest.mark.parametrize(("case", "text", "why"), REFUSED, ids=[row[0] for row in REFUSED])
def test_what_is_no_anchor(case: str, text: str, why: str) -> None:
    with pytest.raises(BadAnchors, match=why) as caught:
        parse_anchors(text)
    assert "20326" in str(caught.value), f"{case}: advice is missing"


ISLANDS = parse_anchors(f"com. DS 1 13 2 {DIGEST}\na.example.com. DS 1 13 2 {DIGEST}")

ABOVE = [
    (ISLANDS, "com.", "com."),
    (ISLANDS, "example.com.", "com."),
    (ISLANDS, "A.Example.Com.", "a.example.com."),
    (ISLANDS, "_agent.a.example.com.", "a.example.com."),
    (ISLANDS, "aa.example.com.", "com."),
    (ISLANDS, "example.org.", None),
    (ISLANDS, ".", None),
    (ROOT_ANCHORS, ".", "."),
    (ROOT_ANCHORS, "example.com.", "."),
    (NO_ANCHORS, "example.com.", None),
]


@pytest.mark.parametrize(("anchors", "asked", "expected"), ABOVE, ids=lambda value: str(value)[:20])
def test_the_closest_anchor_above(anchors: Anchors, asked: str, expected: str | None) -> None:
    assert anchors.above(name(asked)) == (None if expected is None else name(expected))


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=80) | st.text(alphabet='. DSNKEYIN13257(){};"\\\n\t$ABC0', max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(BadAnchors):
        parse_anchors(text)
