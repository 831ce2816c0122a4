"""A second opinion on AID: the same records, documents and proofs judged here and by `aid_py` (aid-discovery).

Where the two may differ stands in a table with the rule that explains it, and each row must occur, so no table can
outlive its causes. Only the wire is replaced: what the library decides, it decides by its own code.
"""

from __future__ import annotations

import itertools
import json
from base64 import urlsafe_b64decode
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from proxy.discovery.records.aid import parse_aid, parse_aid_document
from proxy.discovery.records.aidrecord import AidError, AidRecord
from proxy.discovery.records.dnsvalues import Txt
from proxy.discovery.records.pka import PkaRequest, PkaState, request_fields, verify
from proxy.discovery.records.pkakeys import PublicKey, base64url, parse_key, thumbprint
from proxy.discovery.records.txt import read_agent_txt
from proxy.http.fields import Fields
from proxy.http.targets import parse_target
from tests.discovery.test_pka import BOUND, KEY, PRIVATE, UNBOUND, Signer

aid_py = pytest.importorskip("aid_py", reason="aid-discovery is not installed")
aid_discover = pytest.importorskip("aid_py.discover")
aid_pka = pytest.importorskip("aid_py.pka")

NOW = 1_780_000_000.0
GOOD_KEY = "ebVWLo_mVPlAeLES6KmLp5AfhTrmlb7X4OORC60ElmQ"
LEGACY_KEY = "zJCwBHjjLTchNpqU9c4nxsFoAPBJHvn2J8VL9FELSJDt9"
GOOD = "https://a.example.com/mcp"

# Pieces of records, each with the rule by which the verdicts may differ, if any.
VERSIONS = {"v=aid2": None, "v=aid1": None, "v=aid3": None, "v=AID2": None, "V = aid2 ": None}
PLACES = {
    f"u={GOOD};p=mcp": None,
    f"uri={GOOD};proto=a2a": None,
    f"u={GOOD}?a=b#c;p=openapi": None,
    "u=https://a.example.com;p=grpc": None,
    "u=https://a.example.com:8443/;p=graphql": None,
    "u=wss://a.example.com/;p=websocket": None,
    "u=docker:image;p=local": None,
    "u=zeroconf:_mcp._tcp;p=zeroconf": None,
    f"u={GOOD}": None,
    "p=mcp": None,
    f"u={GOOD};p=ftp": None,
    f"u={GOOD};p=websocket": None,
    f"u={GOOD};p=local": None,
    f"u={GOOD};p=zeroconf": None,
    "u=wss://a.example.com/;p=mcp": None,
    "u=http://a.example.com/;p=mcp": None,
    "u=https://;p=mcp": None,
    "u=a.example.com;p=mcp": None,
    f"u={GOOD};uri={GOOD};p=mcp": None,
    f"u={GOOD};p=mcp;proto=mcp": None,
    "u=https://10.0.0.1/;p=mcp": "C-11: no address but a public one",
    "u=https://localhost/;p=mcp": "C-11: no address but a public one",
    "u=https://u:p@a.example.com/;p=mcp": "C-10: no userinfo",
    "u=https://a.example.com:25/;p=mcp": "C-10: no port of another protocol",
    "u=https://a.example.com/a b;p=mcp": "RFC 3986: what no URI may hold",
    "u=HTTPS://a.example.com/;p=mcp": "RFC 3986 §3.1: schemes in any case",
    "u=zeroconf:;p=zeroconf": "AID §2: zeroconf:<service_type>",
}
EXTRAS = {
    "": None,
    ";": None,
    ";a=oauth2_code": None,
    ";a=oauth": None,
    f";s={'x' * 60}": None,
    f";s={'é' * 31}": None,
    ";d=https://docs.example.com/": None,
    ";d=http://docs.example.com/": None,
    ";e=2030-01-01T00:00:00Z": None,
    ";e=2030-01-01": None,
    ";e=2030-02-30T00:00:00Z": None,
    f";k={GOOD_KEY}=": None,
    f";k={GOOD_KEY[:-1]}": None,
    ";i=g1": None,
    f";k={LEGACY_KEY};i=g1": None,
    ";x=1;y=2": None,
    ";x": None,
    ";x=": None,
    ";x=1;X=1": None,
    ";d=https://127.0.0.1/": "C-11: no address but a public one",
    f";k={GOOD_KEY};i=g1": "AID §2: an aid1 key is z-base58",
    f";k={GOOD_KEY[:-1]}R": "RFC 4648 §3.5: one spelling of a key",
    f";k={'A' * 43}": "TRUST §1.3: no key of small order",
}


def test_records() -> None:
    seen: Counter[str] = Counter()
    compared = 0
    pieces = itertools.product(VERSIONS.items(), PLACES.items(), EXTRAS.items())
    for (version, _), (place, rule), (extra, other_rule) in pieces:
        text = f"{version};{place}{extra}"
        ours, theirs = isinstance(parse_aid(text, NOW), AidRecord), theirs_of(text) is None
        compared += 1
        if ours is not theirs:
            rules = [one for one in (rule, other_rule) if one is not None]
            assert rules, f"{text!r}: here {ours}, there {theirs}"
            if len(rules) == 1:
                seen[rules[0]] += 1
    assert compared == len(VERSIONS) * len(PLACES) * len(EXTRAS)
    assert set(seen) == {rule for rule in (*PLACES.values(), *EXTRAS.values()) if rule}


def theirs_of(text: str) -> str | None:
    """The name of their error; None where they accept."""
    try:
        aid_py.parse(text)
    except aid_py.AidError as error:
        return str(error.error_code)
    return None


@pytest.mark.parametrize("place", [place for place, rule in PLACES.items() if rule is None])
def test_what_both_read_says_the_same(place: str) -> None:
    text = f"v=aid2;{place};s=Tools;a=pat;k={GOOD_KEY}"
    ours = parse_aid(text, NOW)
    if isinstance(ours, AidRecord):
        assert dict(ours.fields) == aid_py.parse(text)


# Their word for a scheme that does not suit is ERR_INVALID_TXT; the table of codes counts schemes to security.
SCHEMES = "AID §2, table of codes: 1003 for a scheme"


@pytest.mark.parametrize(
    ("text", "difference"),
    [
        ("v=aid2;p=mcp", None),
        (f"v=aid2;u={GOOD}", None),
        (f"v=aid2;u={GOOD};p=ftp", None),
        (f"v=aid3;u={GOOD};p=mcp", None),
        (f"v=aid2;u={GOOD};p=mcp;x", None),
        (f"v=aid2;u={GOOD};p=mcp;a=x", None),
        ("v=aid2;u=http://a.example.com/;p=mcp", SCHEMES),
        ("v=aid2;u=sh:x;p=local", SCHEMES),
    ],
)
def test_codes(text: str, difference: str | None) -> None:
    ours = parse_aid(text, NOW)
    assert isinstance(ours, AidError)
    assert (ours.name == theirs_of(text)) is (difference is None)


class Answer(list[Any]):
    rrset = SimpleNamespace(ttl=300)


def theirs_on(monkeypatch: pytest.MonkeyPatch, records: list[Txt], **options: Any) -> tuple[str | None, list[str]]:
    """What their discovery makes of these records at every name: URI or name of the error, and the names asked."""
    asked: list[str] = []

    def resolve(name: str, rdtype: str, lifetime: float) -> Answer:
        asked.append(name)
        if not records:
            raise aid_discover.dns.resolver.NXDOMAIN
        return Answer(SimpleNamespace(strings=record.strings) for record in records)

    monkeypatch.setattr(aid_discover.dns.resolver, "resolve", resolve)
    try:
        record, _ = aid_discover.discover("example.com", well_known_fallback=False, **options)
    except aid_py.AidError as error:
        return str(error.error_code), asked
    except UnicodeDecodeError:
        return "UnicodeDecodeError", asked
    return str(record["uri"]), asked


def ours_on(records: list[Txt]) -> str:
    aid = read_agent_txt(records, "example.com", secure=False, now=NOW).aid
    return aid.uri if isinstance(aid, AidRecord) else aid.name


A = b"v=aid2;u=https://a.example.com/;p=mcp"
B = b"v=aid2;u=https://b.example.com/;p=mcp"
OLD = b"v=aid1;u=https://old.example.com/;p=mcp"
UAIX = b"v=uaix1; endpoint=https://example.com/m.json"


@pytest.mark.parametrize(
    ("texts", "rule"),
    [
        ([], None),
        ([(A,)], None),
        ([(A[:10], A[10:])], None),
        ([(OLD,), (A,)], None),
        ([(A,), (B,)], None),
        ([(A,), (A + b";",)], None),
        ([(b"v=aid2;p=mcp",), (A,)], None),
        ([(b"v=aid2;p=mcp",)], None),
        ([(b"v=aid3;u=https://a.example.com/;p=mcp",)], None),
        ([(A,), (UAIX,)], None),
        ([(OLD,), (b"v=spf1 -all",)], None),
        ([(b"v=aid2;u=https://a.example.com/;p=ftp",)], None),
        ([(b"v=AID1; endpoint=https://x.example.com/",)], None),
        ([(UAIX,)], "U-T8: no AID record is absence"),
        ([(b"v=spf1 -all",)], "U-T8: no AID record is absence"),
        ([(b"u=https://a.example.com/;p=mcp;v=aid2",)], "C-23: v comes first"),
        ([(A + b";e=2020-01-01T00:00:00Z",)], "AID §2: a past dep fails"),
        ([(A,), (b"\xff",)], "C-20: one bad sibling is its own fault"),
    ],
)
def test_sets_of_records(monkeypatch: pytest.MonkeyPatch, texts: list[tuple[bytes, ...]], rule: str | None) -> None:
    for order in (texts, texts[::-1]):
        records = [Txt(strings) for strings in order]
        theirs, asked = theirs_on(monkeypatch, records)
        assert (ours_on(records) == theirs) is (rule is None)
        assert asked == ["_agent.example.com"]


def test_the_protocol_is_never_asked_by_name_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """AID-7: the base name comes first; the library begins at the legacy one if it is given a protocol."""
    _, asked = theirs_on(monkeypatch, [Txt((A,))], protocol="mcp")
    assert asked[0] == "_agent._mcp.example.com"


MEMBERS = {"v": "aid2", "u": GOOD, "p": "mcp"}


@pytest.mark.parametrize(
    ("document", "media_type", "rule"),
    [
        (MEMBERS, "application/json", None),
        ({"v": "aid1", "uri": GOOD, "proto": "mcp", "auth": None, "x": 1}, "application/json; charset=utf-8", None),
        (MEMBERS, "text/html", None),
        ([], "application/json", None),
        ({**MEMBERS, "p": "ftp"}, "application/json", None),
        ({**MEMBERS, "desc": "x" * 65_536}, "application/json", None),
        ({**MEMBERS, "p": None}, "application/json", "AID §2, table of codes: 1005 for a bad document"),
        ({**MEMBERS, "i": "g1"}, "application/json", "AID §2, table of codes: 1005 for a bad document"),
        ({**MEMBERS, "uri": GOOD}, "application/json", "AID-1: no alias beside the full name"),
        ({**MEMBERS, "auth": 1}, "application/json", "AID-9: the values of a record are texts"),
        ({**MEMBERS, "auth": ""}, "application/json", "AID-1: no empty value"),
    ],
)
def test_documents(monkeypatch: pytest.MonkeyPatch, document: object, media_type: str, rule: str | None) -> None:
    body = json.dumps(document).encode()
    ours = parse_aid_document(body, media_type, NOW)
    theirs = theirs_on_document(monkeypatch, body, media_type)
    assert ((ours.uri if isinstance(ours, AidRecord) else ours.name) == theirs) is (rule is None)


class Response:
    """What urllib hands over, as far as the library looks."""

    def __init__(self, body: bytes, headers: Any, status: int = 200) -> None:
        self.body, self.headers, self.status = body, headers, status

    def __enter__(self) -> Response:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def read(self) -> bytes:
        return self.body


def theirs_on_document(monkeypatch: pytest.MonkeyPatch, body: bytes, media_type: str) -> str:
    def resolve(name: str, rdtype: str, lifetime: float) -> Answer:
        raise aid_discover.dns.resolver.NXDOMAIN

    opener = SimpleNamespace(open=lambda request, timeout: Response(body, {"Content-Type": media_type}))
    monkeypatch.setattr(aid_discover.dns.resolver, "resolve", resolve)
    monkeypatch.setattr("urllib.request.build_opener", lambda *handlers: opener)
    try:
        record, _ = aid_discover.discover("example.com")
    except aid_py.AidError as error:
        return str(error.error_code)
    return str(record["uri"])


URI = "https://api.example.com/mcp?x=1"
UNCANONICAL = UNBOUND.replace(" ", "  ")


@pytest.mark.parametrize(
    ("change", "domain", "rule"),
    [
        ({}, None, None),
        ({"covered": BOUND}, "example.com", None),
        ({}, "example.com", None),
        ({"covered": BOUND}, None, None),
        ({"status": 401}, None, None),
        ({"status": 302}, None, None),
        ({"expires": int(NOW) + 300}, None, None),
        ({"expires": int(NOW) + 301}, None, None),
        ({"created": int(NOW) + 31, "expires": int(NOW) + 60}, None, None),
        ({"created": int(NOW) - 90, "expires": int(NOW) - 31}, None, None),
        ({"tag": '"x"'}, None, None),
        ({"alg": '"ED25519"'}, None, None),
        ({"alg": '"rsa"'}, None, None),
        ({"keyid": '"x"'}, None, None),
        ({"uri": "https://api.example.com/"}, None, None),
        ({"authority": "api.example.com:443"}, None, None),
        ({"covered": UNBOUND.replace('"@method";req', '"@method"')}, None, None),
        ({"covered": '("@authority";req "@target-uri";req "@method";req "@status")'}, None, None),
        ({"more": ";x=1"}, None, None),
        ({"more": f";created={int(NOW)}"}, None, None),
        ({"order": ("tag", "nonce", "alg", "keyid", "expires", "created")}, None, None),
        ({"nonce": '"x"'}, None, None),
        ({"covered": UNCANONICAL}, None, "RFC 9421 §2.3: the parameters are signed in their one serialised form"),
        ({"alg": "ed25519"}, None, "RFC 9421 §2.3: alg is a string, not a token"),
    ],
)
def test_proofs(
    monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], domain: str | None, rule: str | None
) -> None:
    """The endpoint answers the library's own request; the same answer to the same nonce is judged here."""
    answers: list[tuple[bytes, Signer]] = []

    def open_(request: Any, timeout: float) -> Response:
        nonce = request.get_header("Accept-signature").partition(';nonce="')[2].partition('"')[0]
        signer = Signer(**{"nonce": f'"{nonce}"', **change})
        answers.append((nonce_octets(nonce), signer))
        return Response(b"", dict(signer.fields()), signer.status)

    monkeypatch.setattr(aid_pka, "_open_no_redirect", open_)
    monkeypatch.setattr(aid_pka.time, "time", lambda: NOW)
    theirs = proved(lambda: aid_pka.perform_pka_handshake(URI, KEY.text, domain=domain))
    ((nonce, signer),) = answers
    verdict = verify(PkaRequest(KEY, nonce, parse_target(URI), domain), signer.status, signer.fields(), NOW)
    ours = verdict.is_domain_bound if verdict.state is PkaState.VERIFIED else None
    assert (ours == theirs) is (rule is None)


def nonce_octets(text: str) -> bytes:
    return urlsafe_b64decode(f"{text}=")


def proved(handshake: Callable[[], bool]) -> bool | None:
    try:
        return handshake()
    except aid_py.AidError:
        return None


@pytest.mark.parametrize("domain", [None, "example.com"])
def test_both_ask_in_the_same_words(monkeypatch: pytest.MonkeyPatch, domain: str | None) -> None:
    seen: list[dict[str, str]] = []

    def open_(request: Any, timeout: float) -> Response:
        seen.append({name.lower(): value for name, value in request.header_items()})
        return Response(b"", Fields(), 503)

    monkeypatch.setattr(aid_pka, "_open_no_redirect", open_)
    proved(lambda: aid_pka.perform_pka_handshake(URI, KEY.text, domain=domain))
    text = seen[0]["accept-signature"].partition(';nonce="')[2].partition('"')[0]
    ours = request_fields(PkaRequest(KEY, nonce_octets(text), parse_target(URI), domain))
    assert {name.lower(): value for name, value in ours} == seen[0]


def test_both_derive_the_same_key_id() -> None:
    octets, key_id = aid_pka._derive_aid2_key_material(GOOD_KEY)
    assert (base64url(octets), key_id) == (GOOD_KEY, thumbprint(parse_key(GOOD_KEY)))
    assert PublicKey(PRIVATE.public_key().public_bytes_raw()) == KEY


def test_both_read_the_keys_of_aid1() -> None:
    assert len(aid_pka._multibase_decode(LEGACY_KEY)) == 32
