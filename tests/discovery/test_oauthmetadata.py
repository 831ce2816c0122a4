"""Metadata of authorization servers and protected resources (OA-3, OA-4, OA-12, OA-16)."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.discovery.authorization.metadata import MOST_ISSUERS, AuthorizationServer, NamedIssuer, ProtectedResource
from proxy.discovery.gate import NotADocument
from tests.discovery.reading import parse_authorization_server, parse_protected_resource

SERVER: dict[str, Any] = {
    "issuer": "https://id.example.com",
    "authorization_endpoint": "https://id.example.com/authorize",
    "token_endpoint": "https://id.example.com/token",
    "jwks_uri": "https://id.example.com/keys",
    "response_types_supported": ["code"],
    "grant_types_supported": ["authorization_code", "refresh_token"],
    "token_endpoint_auth_methods_supported": ["private_key_jwt"],
    "code_challenge_methods_supported": ["plain", "S256"],
}
RESOURCE: dict[str, Any] = {
    "resource": "https://api.example.com/mcp",
    "authorization_servers": ["https://id.example.com", "https://id.example.com/t"],
    "jwks_uri": "https://api.example.com/keys",
}
ABSENT = object()


def changed(document: dict[str, Any], **members: Any) -> bytes:
    merged = {name: value for name, value in {**document, **members}.items() if value is not ABSENT}
    return json.dumps(merged).encode()


def server(**members: Any) -> AuthorizationServer:
    found = parse_authorization_server(changed(SERVER, **members))
    assert isinstance(found, AuthorizationServer)
    return found


def resource(**members: Any) -> ProtectedResource:
    found = parse_protected_resource(changed(RESOURCE, **members))
    assert isinstance(found, ProtectedResource)
    return found


def codes(found: AuthorizationServer | ProtectedResource) -> list[str]:
    return [problem.code.value for problem in found.problems]


def test_a_server_is_read_as_published() -> None:
    found = server()
    assert found == AuthorizationServer(
        "https://id.example.com",
        "https://id.example.com/authorize",
        "https://id.example.com/token",
        "https://id.example.com/keys",
        ("code",),
        ("authorization_code", "refresh_token"),
        ("private_key_jwt",),
        ("plain", "S256"),
        False,
        (),
    )


SERVER_PROBLEMS = [
    ("no response types", {"response_types_supported": ABSENT}, ["member_missing"]),
    ("no authorization endpoint", {"authorization_endpoint": ABSENT}, ["member_missing"]),
    ("no token endpoint", {"token_endpoint": ABSENT}, ["member_missing"]),
    (
        "client credentials need no authorization endpoint",
        {"authorization_endpoint": ABSENT, "grant_types_supported": ["client_credentials"]},
        [],
    ),
    ("implicit needs no token endpoint", {"token_endpoint": ABSENT, "grant_types_supported": ["implicit"]}, []),
    ("the default grants", {"grant_types_supported": ABSENT}, []),
    (
        "the default grants need both endpoints",
        {"grant_types_supported": ABSENT, "authorization_endpoint": ABSENT},
        ["member_missing"],
    ),
    ("no challenge methods", {"code_challenge_methods_supported": ABSENT}, ["s256_missing"]),
    ("plain alone", {"code_challenge_methods_supported": ["plain"]}, ["s256_missing"]),
    ("s256 in small letters", {"code_challenge_methods_supported": ["s256"]}, ["s256_missing"]),
    ("response type none", {"response_types_supported": ["none"]}, ["stub"]),
    ("no grant types", {"grant_types_supported": []}, ["stub"]),
    ("grant type none", {"grant_types_supported": ["none"]}, ["stub"]),
    (
        "issuer alone",
        dict.fromkeys(set(SERVER) - {"issuer"}, ABSENT),
        ["member_missing", "member_missing", "member_missing", "stub", "s256_missing"],
    ),
    ("http endpoint", {"token_endpoint": "http://id.example.com/token"}, ["insecure_url"]),
    ("http in capitals", {"jwks_uri": "HTTP://id.example.com/keys"}, ["insecure_url"]),
    ("http endpoint that is not returned", {"revocation_endpoint": "http://id.example.com/"}, ["insecure_url"]),
    ("http issuer", {"issuer": "http://id.example.com"}, ["insecure_url"]),
    ("private endpoint", {"token_endpoint": "https://10.0.0.1/token"}, ["unusable_url"]),
    ("relative endpoint", {"jwks_uri": "/keys"}, ["unusable_url"]),
    ("userinfo over http", {"jwks_uri": "http://u:p@id.example.com/"}, ["unusable_url"]),
    ("endpoint a number", {"jwks_uri": 1}, ["member_malformed"]),
    ("endpoint empty", {"jwks_uri": ""}, ["member_malformed"]),
    ("null is absent", {"jwks_uri": None}, []),
    ("issuer with a query", {"issuer": "https://id.example.com?x"}, ["unusable_identifier"]),
    ("issuer of another scheme", {"issuer": "urn:x"}, ["unusable_identifier"]),
    (
        "issuer a metadata URL",
        {"issuer": "https://id.example.com/.well-known/oauth-authorization-server"},
        ["unusable_identifier"],
    ),
    ("methods as text", {"token_endpoint_auth_methods_supported": "none"}, ["member_malformed"]),
    ("a method as number", {"token_endpoint_auth_methods_supported": ["none", 1]}, ["member_malformed"]),
    ("very many methods", {"token_endpoint_auth_methods_supported": ["x"] * 100_000}, ["member_malformed"]),
]


@pytest.mark.parametrize(
    ("members", "expected"), [row[1:] for row in SERVER_PROBLEMS], ids=[row[0] for row in SERVER_PROBLEMS]
)
def test_problems_of_a_server(members: dict[str, Any], expected: list[str]) -> None:
    assert codes(server(**members)) == expected
    assert server(**members).is_stub is ("stub" in expected)


def test_an_http_endpoint_is_told_and_not_upgraded() -> None:
    found = server(token_endpoint="http://id.example.com/token")
    assert found.token_endpoint == "http://id.example.com/token"
    [problem] = found.problems
    assert (problem.rule, problem.path, problem.is_warning) == ("OA-16", "/token_endpoint", True)
    assert server(token_endpoint="https://10.0.0.1/token").token_endpoint is None


def test_an_http_identifier_is_no_warning() -> None:
    [problem] = server(issuer="http://id.example.com").problems
    assert (problem.rule, problem.path, problem.is_warning) == ("OA-16", "/issuer", False)


def test_lists_are_bounded() -> None:
    assert (
        len(server(token_endpoint_auth_methods_supported=["x"] * 100_000).token_endpoint_auth_methods_supported)
        == 64
    )
    assert server(grant_types_supported=ABSENT).grant_types_supported is None
    assert server(response_types_supported=None).response_types_supported == ()


def test_a_resource_is_read_as_published() -> None:
    assert resource() == ProtectedResource(
        "https://api.example.com/mcp",
        (NamedIssuer("https://id.example.com"), NamedIssuer("https://id.example.com/t")),
        (),
    )


RECOVERED = NamedIssuer("https://id.example.com/t", is_recovered=True)
RESOURCE_PROBLEMS = [
    ("absent", ABSENT, (), []),
    ("empty", [], (), []),
    ("slash kept", ["https://ID.example.com/"], (NamedIssuer("https://ID.example.com/"),), []),
    ("twice", ["https://id.example.com"] * 2, (NamedIssuer("https://id.example.com"),), []),
    (
        "metadata URL",
        ["https://id.example.com/.well-known/oauth-authorization-server/t"],
        (RECOVERED,),
        ["metadata_url_as_issuer"],
    ),
    (
        "metadata URL of OpenID",
        ["https://id.example.com/t/.well-known/openid-configuration"],
        (RECOVERED,),
        ["metadata_url_as_issuer"],
    ),
    (
        "metadata URL beside its issuer",
        ["https://id.example.com/t", "https://id.example.com/.well-known/oauth-authorization-server/t"],
        (NamedIssuer("https://id.example.com/t"),),
        ["metadata_url_as_issuer"],
    ),
    (
        "metadata URL twice over",
        ["https://id.example.com/.well-known/openid-configuration/.well-known/openid-configuration"],
        (),
        ["unusable_identifier"],
    ),
    ("metadata URL with a query", ["https://id.example.com/.well-known/openid-configuration?p=x"], (), None),
    ("http", ["http://id.example.com"], (), ["insecure_url"]),
    ("metadata address", ["https://169.254.169.254/"], (), ["unusable_identifier"]),
    ("text", "https://id.example.com", (), ["member_malformed"]),
    ("null", None, (), ["member_malformed"]),
    (
        "number within",
        [1, "https://id.example.com"],
        (NamedIssuer("https://id.example.com"),),
        ["member_malformed"],
    ),
]


@pytest.mark.parametrize(
    ("servers", "issuers", "expected"),
    [row[1:] for row in RESOURCE_PROBLEMS],
    ids=[row[0] for row in RESOURCE_PROBLEMS],
)
def test_authorization_servers(servers: Any, issuers: tuple[NamedIssuer, ...], expected: list[str] | None) -> None:
    found = resource(authorization_servers=servers)
    assert found.authorization_servers == issuers
    assert codes(found) == (["unusable_identifier"] if expected is None else expected)
    assert all(problem.rule in ("OA-4", "OA-16") for problem in found.problems)


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"resource": "http://api.example.com/mcp"}, [("insecure_url", "OA-16", "/resource")]),
        ({"resource": "https://api.example.com/mcp#x"}, [("unusable_identifier", "OA-3", "/resource")]),
        ({"jwks_uri": 5}, [("member_malformed", "OA-4", "/jwks_uri")]),
        ({"jwks_uri": "http://api.example.com/"}, [("insecure_url", "OA-16", "/jwks_uri")]),
    ],
    ids=str,
)
def test_problems_of_a_resource(members: dict[str, Any], expected: list[tuple[str, str, str]]) -> None:
    assert [(p.code.value, p.rule, p.path) for p in resource(**members).problems] == expected


def test_of_very_many_issuers_the_first_are_read() -> None:
    found = resource(authorization_servers=[f"https://id{n}.example.com" for n in range(50_000)])
    assert len(found.authorization_servers) == MOST_ISSUERS
    assert codes(found) == ["too_many"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "empty"),
        (b"  \r\n", "empty"),
        (b"<!DOCTYPE html><title>App</title>", "html"),
        (b"Welcome to the API", "not-json"),
        (b'"banner"', "not-an-object"),
        (b'{"message": "Welcome"}', "members-missing"),
        (b'{"issuer": 5, "resource": []}', "members-missing"),
        (b'{"issuer": "", "resource": ""}', "members-missing"),
        (b'{"issuer": "\xff", "resource": "\xff"}', "not-utf-8"),
        (b'{"a":' * 100_000, "too-deep"),
    ],
)
def test_what_is_no_metadata(body: bytes, reason: str) -> None:
    for found in (parse_authorization_server(body), parse_protected_resource(body)):
        assert isinstance(found, NotADocument) and found.reason == reason


def test_of_a_repeated_name_the_last_one_counts() -> None:
    found = parse_protected_resource(b'{"resource": "https://a.example.com", "resource": "https://b.example.com"}')
    assert isinstance(found, ProtectedResource) and found.resource == "https://b.example.com"


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from([*SERVER, *RESOURCE]), ANYTHING))
@settings(max_examples=200, deadline=None)
def test_members_of_any_type(members: dict[str, Any]) -> None:
    body = json.dumps(members).encode()
    assert isinstance(parse_authorization_server(body), AuthorizationServer | NotADocument)
    assert isinstance(parse_protected_resource(body), ProtectedResource | NotADocument)


@given(st.binary(max_size=200))
@settings(max_examples=100, deadline=None)
def test_no_bytes_raise(body: bytes) -> None:
    assert isinstance(parse_authorization_server(body), AuthorizationServer | NotADocument)
    assert isinstance(parse_protected_resource(body), ProtectedResource | NotADocument)
