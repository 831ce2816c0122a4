"""Which bodies are documents of their class (CONTRACT §4 rule 8, §14.11; DISCOVERY_FORMATS C-15, C-16)."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.discovery.classes import POLICIES, DocumentClass, DocumentFormat
from proxy.discovery.gate import (
    Document,
    GateReason,
    MediaKind,
    NotADocument,
    gate,
    is_of_kind,
    is_page,
    read_document,
)
from proxy.discovery.jsontext import MAX_DEPTH, MOST_CONTAINERS, JsonDocument

SAMPLES = Path(__file__).parent.parent / "samples"
JSON_CLASSES = [name for name in DocumentClass if POLICIES[name].format is DocumentFormat.JSON]
GATED_CLASSES = [name for name in DocumentClass if name is not DocumentClass.OTHER]


def outcome(document_class: str, body: bytes, media_type: str | None = None) -> str:
    """The accepted kind, or the reason against: the one word the tables below compare."""
    match gate(DocumentClass(document_class), media_type, body):
        case Document(kind):
            return kind.value
        case NotADocument(reason, detail):
            assert detail
            return reason.value


def sample(name: str) -> Any:
    return json.loads((SAMPLES / name).read_bytes())


def manifest_samples() -> list[tuple[str, bytes]]:
    expected = sample("uaix/EXPECTED.json")["samples"]
    names = [f"uaix/{name}" for name, entry in expected.items() if entry["kind"] == "manifest"]
    names += [f"discovery/{path.name}" for path in sorted((SAMPLES / "discovery").glob("uaix_manifest_[!v]*"))]
    return [(name, (SAMPLES / name).read_bytes()) for name in [*names, "discovery/uaix_manifest_valid.json"]]


@pytest.mark.parametrize(("name", "body"), manifest_samples(), ids=lambda value: str(value)[:60])
def test_manifest_samples_pass_whatever_lint_says(name: str, body: bytes) -> None:
    assert outcome("manifest", body) == "json", name


@pytest.mark.parametrize(
    "vector", sample("discovery/uaix_manifest_vectors.json"), ids=lambda vector: str(vector["name"])
)
def test_manifest_vectors(vector: dict[str, Any]) -> None:
    expected = "not-an-object" if vector["expect"] == "reject" else "json"
    assert outcome("manifest", json.dumps(vector["doc"]).encode()) == expected, vector["rule"]


@pytest.mark.parametrize(
    "vector", sample("discovery/mcp_wellknown_shape_vectors.json"), ids=lambda vector: str(vector["shape"])
)
def test_mcp_server_card_shapes(vector: dict[str, Any]) -> None:
    assert outcome("mcp-server-card", json.dumps(vector["doc"]).encode()) == "json"


@pytest.mark.parametrize(
    "vector", sample("discovery/legacy_agent_json_sniff.json"), ids=lambda vector: str(vector["doc"])[:40]
)
def test_legacy_agent_json(vector: dict[str, Any]) -> None:
    expected = "json" if vector["kind"].startswith(("a2a", "dns-aid")) else "members-missing"
    assert outcome("agent-card", json.dumps(vector["doc"]).encode()) == expected, vector["kind"]


SITE = '{"url": "https://example.com/", "name": "x"}'

ACCEPTED = [
    # MANIFEST
    ("manifest", '{"profileId": "anything"}', "json"),
    ("manifest", '{"profile_id": "anything"}', "json"),
    ("manifest", f'{{"site": {SITE}, "routes": []}}', "json"),
    ("manifest", f'{{"profileId": null, "site": {SITE}}}', "json"),
    ("manifest", '{"title": "x", "package_version": "1.0", "canonical_url": "https://e.example/"}', "json"),
    ("manifest", '{"title": "x", "canonical_route": "/a/"}', "json"),
    ("manifest", '{"title": "x", "human_page": "/a/"}', "json"),
    # AI_CATALOG
    ("ai-catalog", '{"specVersion": "1.0", "host": {}, "entries": []}', "json"),
    ("ai-catalog", '{"@context": "x", "entries": [{"identifier": "a", "type": "b", "url": "c"}]}', "json"),
    ("ai-catalog", '{"specVersion": "1.0", "entries": [{"mediaType": "b"}], "metadata": {}}', "json"),
    # AGENT_CARD
    ("agent-card", '{"name": "a", "supportedInterfaces": [{"url": "u", "protocol": "x"}]}', "json"),
    ("agent-card", '{"name": "a", "protocolVersion": "0.3.0"}', "json"),
    ("agent-card", '{"name": "a", "preferredTransport": "GRPC"}', "json"),
    ("agent-card", '{"name": "a", "url": "https://e.example/", "capabilities": [], "skills": ["x"]}', "json"),
    # MCP_SERVER_CARD
    ("mcp-server-card", '{"name": "io.example/x", "remotes": []}', "json"),
    ("mcp-server-card", '{"transport": "http", "url": "https://e.example/", "servers": []}', "json"),
    ("mcp-server-card", '{"transports": {"sse": {"url": "/sse"}}}', "json"),
    ("mcp-server-card", '{"endpoint": "/mcp"}', "json"),
    ("mcp-server-card", '{"serverUrl": "https://e.example/mcp"}', "json"),
    ("mcp-server-card", '{"endpoints": {"mcp": {"primary": "/mcp"}}}', "json"),
    ("mcp-server-card", '{"name": "x", "url": "https://e.example/mcp"}', "json"),
    ("mcp-server-card", '{"servers": []}', "json"),
    ("mcp-server-card", '{"mcpServers": {}}', "json"),
    ("mcp-server-card", '{"specVersion": "draft", "entries": []}', "json"),
    # API_CATALOG, AGENT_SKILLS
    ("api-catalog", '{"linkset": [{"anchor": "a", "rel": "b", "href": "c"}], "_comment": "x"}', "json"),
    ("agent-skills", '{"$schema": "x", "skills": []}', "json"),
    ("agent-skills", '{"skills": [{"name": "a", "files": ["SKILL.md"]}]}', "json"),
    # OAUTH_AS, OAUTH_PR, DID, AID
    ("oauth-as", '{"issuer": "https://id.example/"}', "json"),
    ("oauth-pr", '{"resource": "https://api.example/mcp"}', "json"),
    ("did", '{"id": "did:web:e.example"}', "json"),
    ("aid", '{"v": "aid2", "u": "https://e.example/mcp", "p": "mcp"}', "json"),
    ("aid", '{"v": "aid1", "uri": "https://e.example/mcp"}', "json"),
    # OPENAPI
    ("openapi", '{"openapi": "3.1.0"}', "json"),
    ("openapi", '{"swagger": "2.0"}', "json"),
    ("openapi", "# a comment\n---\nopenapi: 3.1.0\n", "yaml"),
    ("openapi", "\ufeffopenapi: 3.1.0\n", "yaml"),
    ("openapi", "info: {}\r\n\"swagger\" : '2.0'\r\n", "yaml"),
    # LLMS, ROBOTS
    ("llms", "# Title\n\n> Summary\n", "text"),
    ("llms", "\ufeff# Title", "text"),
    ("llms", "<SYSTEM>For agents</SYSTEM>\n\n# Title", "text"),
    ("llms", "<https://e.example/>: an autolink", "text"),
    ("llms", "[A link](https://e.example/) first", "text"),
    ("llms", '"Quoted" opening', "text"),
    ("robots", "User-agent: *\r\nDisallow:\r\n", "text"),
    ("robots", "", "text"),
    ("robots", " \n", "text"),
    ("robots", "\ufeff", "text"),
    # SITEMAP
    ("sitemap", '<?xml version="1.0"?>\n<!-- a > b --><urlset xmlns="x"></urlset>', "xml"),
    ("sitemap", "<?xml-stylesheet href='?'?><?a?><sitemapindex/>", "xml"),
    ("sitemap", "\ufeff<!DOCTYPE urlset>\n<sm:urlset>", "xml"),
    ("sitemap", "https://e.example/\r\n\r\nhttp://e.example/a\r\n", "text"),
    # OTHER
    ("other", "", "opaque"),
    ("other", "<html>", "opaque"),
]


@pytest.mark.parametrize(("document_class", "body", "expected"), ACCEPTED, ids=[str(row) for row in ACCEPTED])
def test_accepted(document_class: str, body: str, expected: str) -> None:
    assert outcome(document_class, body.encode()) == expected


def test_robots_in_latin_1_is_text() -> None:
    assert outcome("robots", "# für alle\nUser-agent: *".encode("latin-1")) == "text"


NEVER_JSON_DOCUMENTS = [
    (b"", "empty"),
    (b" \r\n\t", "empty"),
    (b"\xef\xbb\xbf", "empty"),
    (b"<!doctype html><html></html>", "html"),
    (b"\xef\xbb\xbf \n<p>", "html"),
    (b"[]", "not-an-object"),
    (b'"not found"', "not-an-object"),
    (b"404", "not-an-object"),
    (b"null", "not-an-object"),
    (b"not found", "not-json"),
    (b"{}", "members-missing"),
    (b'{"error": "not found"}', "members-missing"),
    (b'{"error": {"code": 404, "message": "no such page"}}', "members-missing"),
    (
        b'{"statusCode": 404, "error": "Not Found", "message": "Cannot GET /x", "url": "/x"}',
        "members-missing",
    ),
    (b'{"type": "about:blank", "title": "Not Found", "status": 404, "detail": "x"}', "members-missing"),
    (b'{"name": "NotFound", "message": "Page not found", "code": 404}', "members-missing"),
    (b'{"error": "not found", "endpoints": ["/a"]}', "members-missing"),
]


@pytest.mark.parametrize("document_class", JSON_CLASSES)
@pytest.mark.parametrize(
    ("body", "expected"), NEVER_JSON_DOCUMENTS, ids=[repr(row[0])[:60] for row in NEVER_JSON_DOCUMENTS]
)
def test_never_a_json_document(document_class: DocumentClass, body: bytes, expected: str) -> None:
    assert outcome(document_class, body) == expected


def test_no_op_problem_is_not_a_manifest() -> None:
    body = (SAMPLES / "discovery/uaix_noop_problem.json").read_bytes()
    assert outcome("manifest", body) == "members-missing"


REFUSED = [
    # Members of the wrong shape do not identify.
    ("manifest", b'{"profileId": ""}', "members-missing"),
    ("manifest", b'{"profileId": 1, "site": "https://e.example/", "routes": []}', "members-missing"),
    ("manifest", b'{"site": {"name": "x"}}', "members-missing"),
    ("ai-catalog", b'{"entries": {}}', "members-missing"),
    ("agent-card", b'{"supportedInterfaces": []}', "members-missing"),
    ("agent-card", b'{"name": "a", "supportedInterfaces": {}}', "members-missing"),
    ("mcp-server-card", b'{"url": "/x"}', "members-missing"),
    ("mcp-server-card", b'{"serverInfo": "x", "endpoints": []}', "members-missing"),
    ("api-catalog", b'{"linkset": {}}', "members-missing"),
    ("agent-skills", b'{"skills": "x"}', "members-missing"),
    ("oauth-as", b'{"issuer": null}', "members-missing"),
    ("oauth-pr", b'{"resource": ["x"]}', "members-missing"),
    ("did", b'{"id": "https://e.example/"}', "members-missing"),
    ("did", b'{"id": 1}', "members-missing"),
    ("aid", b'{"v": "uaix1", "u": "https://e.example/"}', "members-missing"),
    ("aid", b'{"v": 2, "u": "https://e.example/"}', "members-missing"),
    ("aid", b'{"v": "aid2", "p": "mcp"}', "members-missing"),
    # OPENAPI
    ("openapi", b"", "empty"),
    ("openapi", b"<html>", "html"),
    ("openapi", b"{}", "members-missing"),
    ("openapi", b"{openapi: 3.1.0}", "not-json"),
    ("openapi", b"[]", "members-missing"),
    ("openapi", b'"not found"', "members-missing"),
    ("openapi", b"not found", "members-missing"),
    ("openapi", b"info:\n  openapi: 3.1.0\n", "members-missing"),
    ("openapi", b"openapi: 3.1.0\n\x00", "not-text"),
    # LLMS, ROBOTS
    ("llms", b"", "empty"),
    ("llms", b"\n<!DOCTYPE html>", "html"),
    ("llms", b"<html lang=en>", "html"),
    ("llms", b"<Title>Not found</Title>", "html"),
    ("llms", b"<!-- a page --><p>", "html"),
    ("llms", b"<?xml version='1.0'?><Error/>", "html"),
    ("llms", b"# a\x00b", "not-text"),
    ("llms", b"{}", "not-text"),
    ("llms", b"[]", "not-text"),
    ("llms", b'"not found"', "not-text"),
    ("llms", b'{"error": "not found"}', "not-text"),
    ("robots", b"<html>", "html"),
    ("robots", b"\x1f\x8b\x08\x00", "not-text"),
    ("robots", b'{"error": "not found"}', "not-text"),
    # SITEMAP
    ("sitemap", b"", "empty"),
    ("sitemap", b"<!doctype html>\n<!-- x -->\n<HTML><urlset>", "html"),
    ("sitemap", b"<rss/>", "not-a-sitemap"),
    ("sitemap", b"<!-- <urlset> ", "not-a-sitemap"),
    ("sitemap", b"< urlset>", "not-a-sitemap"),
    ("sitemap", b"not found", "not-a-sitemap"),
    ("sitemap", b"https://e.example/\n/relative\n", "not-a-sitemap"),
    ("sitemap", b'{"error": "not found"}', "not-a-sitemap"),
]


@pytest.mark.parametrize(
    ("document_class", "body", "expected"), REFUSED, ids=[f"{row[0]}-{row[1]!r}"[:80] for row in REFUSED]
)
def test_refused(document_class: str, body: bytes, expected: str) -> None:
    assert outcome(document_class, body) == expected


DID = b'{"id": "did:web:e.example"}'

MEDIA_TYPES = [
    ("did", DID, None, "json"),
    ("did", DID, "application/did+json", "json"),
    ("did", DID, "text/plain; charset=utf-8", "json"),
    ("did", DID, "application/octet-stream", "json"),
    ("did", DID, "garbage", "json"),
    ("did", DID, "text/html", "html"),
    ("did", DID, " Text/HTML ;charset=utf-8", "html"),
    ("openapi", b"openapi: 3.1.0", "text/html", "html"),
    ("llms", b"# Title", "text/markdown", "text"),
    ("llms", b"# Title", "text/html", "html"),
    ("robots", b"", "text/html", "text"),
    ("sitemap", b"<urlset/>", "text/html", "xml"),
    ("other", b"x", "text/html", "opaque"),
]


@pytest.mark.parametrize(("document_class", "body", "media_type", "expected"), MEDIA_TYPES, ids=str)
def test_media_type_is_a_hint(document_class: str, body: bytes, media_type: str | None, expected: str) -> None:
    assert outcome(document_class, body, media_type) == expected


def nested(depth: int, innermost: bytes = b"") -> bytes:
    """A DID document whose containers, the object itself included, are nested `depth` deep."""
    return b'{"id": "did:x:y", "a": ' + b"[" * (depth - 1) + innermost + b"]" * (depth - 1) + b"}"


NASTY = [
    ("depth allowed", nested(MAX_DEPTH), "json"),
    ("depth allowed, with a leaf", nested(MAX_DEPTH, b"1"), "json"),
    ("one too deep", nested(MAX_DEPTH + 1), "too-deep"),
    ("one too deep, with a leaf", nested(MAX_DEPTH + 1, b"1"), "too-deep"),
    ("deep objects", b'{"a":' * 40 + b"1" + b"}" * 40, "too-deep"),
    ("1 MiB of [", b"[" * (1 << 20), "too-deep"),
    ("1 MiB of {", b'{"a":' * (1 << 18), "too-deep"),
    (
        "as many containers as allowed",
        b'{"id": "did:x:y", "a": [' + b"[]," * (MOST_CONTAINERS - 3) + b"{}]}",
        "json",
    ),
    ("one more", b'{"id": "did:x:y", "a": [' + b"[]," * (MOST_CONTAINERS - 2) + b"{}]}", "too-many"),
    ("brackets in texts", b'{"id": "did:x:y", "a": [' + b'"[{",' * MOST_CONTAINERS + b"1]}", "json"),
    ("wide", b'{"id": "did:x:y", "a": [' + b"[]," * 10_000 + b"[]]}", "json"),
    ("repeated names", b'{"id": 1, "id": "did:x:y"}', "json"),
    ("byte order mark", b"\xef\xbb\xbf" + DID, "json"),
    ("escaped lone surrogate", rb'{"id": "did:x:y", "\ud800": "\udfff"}', "json"),
    ("encoded surrogate", b'{"id": "did:x:\xed\xa0\x80"}', "not-utf-8"),
    ("overlong", b'{"id": "did:x:\xc0\xaf"}', "not-utf-8"),
    ("Latin-1", b'{"id": "did:x:\xe9"}', "not-utf-8"),
    ("UTF-16", '{"id": "did:x:y"}'.encode("utf-16"), "not-utf-8"),
    ("UTF-16 without a mark", '{"id": "did:x:y"}'.encode("utf-16-be"), "not-json"),
    ("NaN", b'{"id": "did:x:y", "a": NaN}', "not-json"),
    ("Infinity", b'{"id": "did:x:y", "a": -Infinity}', "not-json"),
    ("reads as Infinity", b'{"id": "did:x:y", "a": 1e999999}', "not-json"),
    ("large but finite", b'{"id": "did:x:y", "a": 1.5e300}', "json"),
    ("huge integer", b'{"id": "did:x:y", "a": ' + b"9" * 100_000 + b"}", "not-json"),
    ("huge exponent", b'{"id": "did:x:y", "a": 1e' + b"9" * 100_000 + b"}", "not-json"),
    ("two texts", DID + DID, "not-json"),
    ("cut", DID[:-1], "not-json"),
    ("trailing comma", b'{"id": "did:x:y",}', "not-json"),
    ("comment", b'/* x */ {"id": "did:x:y"}', "not-json"),
    ("form feed first", b"\f" + DID, "not-json"),
    ("raw control character", b'{"id": "did:x:\n"}', "not-json"),
    ("NUL after", DID + b"\x00", "not-json"),
]


@pytest.mark.parametrize(("name", "body", "expected"), NASTY, ids=[row[0] for row in NASTY])
def test_nasty_json(name: str, body: bytes, expected: str) -> None:
    assert outcome("did", body) == expected, name


@pytest.mark.parametrize("document_class", GATED_CLASSES)
@pytest.mark.parametrize("body", [row[1] for row in NASTY], ids=[row[0] for row in NASTY])
def test_nasty_bodies_never_raise(document_class: DocumentClass, body: bytes) -> None:
    assert outcome(document_class, body)


BODIES = st.one_of(
    st.binary(max_size=60),
    st.text(alphabet='[]{}",:\\ud8t<?!->urlset\n\ufeff 0e+-.', max_size=60).map(str.encode),
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=10,
    ).map(lambda value: json.dumps(value).encode()),
    st.tuples(st.sampled_from([body.encode() for _, body, _ in ACCEPTED]), st.binary(max_size=4)).map(b"".join),
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(GATED_CLASSES), st.none() | st.text(max_size=12), BODIES)
def test_any_bytes_get_a_verdict(document_class: DocumentClass, media_type: str | None, body: bytes) -> None:
    verdict = gate(document_class, media_type, body)
    if verdict == Document(MediaKind.JSON):
        assert isinstance(json.loads(body), dict), "whoever parses an accepted body can rely on an object"


SECRET = "s3cr3t"


@pytest.mark.parametrize("document_class", GATED_CLASSES)
@pytest.mark.parametrize(
    "template", ["%s\x00", "<%s>", '{"%s": 1}', '["%s"]', '{"%s', '{"a": %s}'], ids=lambda value: repr(value)
)
def test_verdict_repeats_nothing_of_the_body(document_class: DocumentClass, template: str) -> None:
    verdict = gate(document_class, None, (template % SECRET).encode())
    assert SECRET not in repr(verdict)


@pytest.mark.parametrize(
    "document_class", [one for one in GATED_CLASSES if POLICIES[one].format is DocumentFormat.JSON]
)
@pytest.mark.parametrize("body", [row[1] for row in NASTY], ids=[row[0] for row in NASTY])
def test_a_document_is_read_as_the_gate_judges(document_class: DocumentClass, body: bytes) -> None:
    verdict, document = gate(document_class, None, body), read_document(document_class, body)
    if isinstance(document, JsonDocument):
        assert verdict == Document(MediaKind.JSON) and document.members == json.loads(body.decode("utf-8-sig"))
    else:
        assert verdict == document


@pytest.mark.parametrize(
    "body", [b"", b" \n", b"\xef\xbb\xbf", b"<html>", b"\xef\xbb\xbf <", b"{}", b"[]", b"null", DID], ids=repr
)
def test_what_is_no_json_is_refused_as_by_the_gate(body: bytes) -> None:
    verdict, document = gate(DocumentClass.DID, None, body), read_document(DocumentClass.DID, body)
    assert verdict == (Document(MediaKind.JSON) if isinstance(document, JsonDocument) else document)


def test_repeated_names_are_told() -> None:
    document = read_document(DocumentClass.DID, b'{"id": "did:x:y", "a": {"b": 1, "b": 1}}')
    assert document == JsonDocument({"id": "did:x:y", "a": {"b": 1}}, has_repeated_names=True)


def test_every_reason_occurs_in_the_tables() -> None:
    seen = {expected for _, expected in NEVER_JSON_DOCUMENTS} | {row[2] for row in REFUSED + NASTY}
    assert set(GateReason) <= seen


WEB_PAGES: dict[str, tuple[str | None, bytes, bool]] = {
    "declared": ("text/html; charset=utf-8", b"{}", True),
    "declared as XHTML": ("Application/XHTML+xml", b"", True),
    "a document type": ("application/json", b"<!DOCTYPE html><title>x</title>", True),
    "a document type in lower case": (None, b"  \r\n<!doctype HTML public>", True),
    "after a byte order mark": (None, b"\xef\xbb\xbf\n<!DOCTYPE html>", True),
    "a root element": ("text/plain", b'<HTML lang="de">', True),
    "after comments": (None, b"<!-- <a> --><!-- b -->\n<html>", True),
    "after a declaration": (None, b'<?xml version="1.0"?><!DOCTYPE html PUBLIC "-//W3C"><html>', True),
    "much later": (None, b"\n" * 2000 + b"<html>", False),
    "JSON": ("application/json", b'{"html": "<html>"}', False),
    "XML of another kind": ("application/xml", b'<?xml version="1.0"?><urlset>', False),
    "an element of a like name": (None, b"<htmlx>", False),
    "Markdown that begins with a tag": ("text/markdown", b"<note>\n# Title", False),
    "an endless comment": (None, b"<!--" * 500, False),
    "nothing": (None, b"", False),
    "octets": ("application/octet-stream", bytes(range(256)), False),
}


@pytest.mark.parametrize(("media_type", "body", "expected"), WEB_PAGES.values(), ids=WEB_PAGES)
def test_web_pages(media_type: str | None, body: bytes, expected: bool) -> None:
    assert is_page(media_type, body) is expected
    assert is_of_kind(DocumentClass.OTHER, media_type, body) is not expected


@given(st.sampled_from(DocumentClass), st.none() | st.text(max_size=20), st.binary(max_size=64))
def test_of_its_kind_is_what_the_gate_says(
    document_class: DocumentClass, media_type: str | None, body: bytes
) -> None:
    passes = isinstance(gate(document_class, media_type, body), Document)
    expected = not is_page(media_type, body) if document_class is DocumentClass.OTHER else passes
    assert is_of_kind(document_class, media_type, body) is expected
