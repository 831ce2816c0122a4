"""Derivation and comparison of issuers and resources (OA-2, OA-3, OA-4, OA-10, OA-11, OA-13)."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.discovery.authorization.identifiers import (
    LONGEST_IDENTIFIER,
    IdentifierRefused,
    MetadataProblem,
    check_issuer,
    check_metadata_url,
    check_resource,
    issuer_candidates,
    issuer_of_metadata_url,
    resource_candidates,
)

SAMPLES = Path(__file__).parent.parent / "samples" / "discovery"
VECTORS: dict[str, list[dict[str, Any]]] = json.loads((SAMPLES / "oauth_derivation_vectors.json").read_bytes())
REFUSALS = {
    "https required": "https_required",
    "query forbidden": "query_forbidden",
    "fragment forbidden": "fragment_forbidden",
    "looks like a metadata URL, not an issuer": "metadata_url",
}


@pytest.mark.parametrize("vector", VECTORS["rfc8414"], ids=lambda v: v["issuer"])
def test_issuer_vectors(vector: dict[str, Any]) -> None:
    found = issuer_candidates(vector["issuer"])
    if "error" in vector:
        assert isinstance(found, IdentifierRefused) and found.reason == REFUSALS[vector["error"]]
    else:
        assert found == tuple(vector["tries"])


@pytest.mark.parametrize("vector", VECTORS["rfc8414_validate"], ids=lambda v: f"{v['requested']} {v['got']}")
def test_issuer_comparison_vectors(vector: dict[str, Any]) -> None:
    assert (check_issuer(vector["requested"], vector["got"]) is None) is vector["ok"]


@pytest.mark.parametrize("vector", VECTORS["rfc9728"], ids=lambda v: v["resource"])
def test_resource_vectors(vector: dict[str, Any]) -> None:
    found = resource_candidates(vector["resource"])
    assert not isinstance(found, IdentifierRefused) and found[0] == vector["url"]
    root = "https://api.example.com/.well-known/oauth-protected-resource"
    assert found[1:] == (() if found[0] == root else (vector.get("then", root),))


@pytest.mark.parametrize(
    ("issuer", "reason"),
    [
        ("", "malformed"),
        ("as.example.com", "malformed"),
        ("https:", "malformed"),
        ("https://", "malformed"),
        ("https:///t", "malformed"),
        ("https://as.example.com/../t", "malformed"),
        ("https://as.example.com/a b", "malformed"),
        ("https://as.example.com/\n", "malformed"),
        ("https://as.example.com/" + "t" * LONGEST_IDENTIFIER, "malformed"),
        ("https://u:p@as.example.com", "userinfo"),
        ("https://10.0.0.1", "ssrf"),
        ("https://localhost/t", "ssrf"),
        ("https://as.example.com:25", "port"),
        ("ftp://as.example.com", "https_required"),
        ("https://as.example.com/t?", "query_forbidden"),
        ("https://as.example.com/t#", "fragment_forbidden"),
        ("https://as.example.com/.well-known/openid-configuration/t", "metadata_url"),
        ("https://as.example.com/t/.well-known/openid-configuration", "metadata_url"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_refused_issuers(issuer: str, reason: str) -> None:
    found = issuer_candidates(issuer)
    assert isinstance(found, IdentifierRefused) and found.reason == reason and found.detail.endswith(".")


@pytest.mark.parametrize(
    ("resource", "candidates"),
    [
        ("https://api.example.com?k=1", ("?k=1", "")),
        ("https://api.example.com/?k=1", ("?k=1", "")),
        ("https://api.example.com/a//", ("/a/", "")),
        ("https://api.example.com/a/?k=/", ("/a?k=/", "")),
        ("https://api.example.com/.well-known/openid-configuration", ("/.well-known/openid-configuration", "")),
    ],
)
def test_resource_candidates(resource: str, candidates: tuple[str, ...]) -> None:
    root = "https://api.example.com/.well-known/oauth-protected-resource"
    assert resource_candidates(resource) == tuple(f"{root}{rest}" for rest in candidates)


@pytest.mark.parametrize(
    ("resource", "reason"),
    [
        ("http://api.example.com/mcp", "https_required"),
        ("https://api.example.com/mcp#x", "fragment_forbidden"),
        ("https://192.168.0.1/mcp", "ssrf"),
        ("/mcp", "malformed"),
    ],
)
def test_refused_resources(resource: str, reason: str) -> None:
    found = resource_candidates(resource)
    assert isinstance(found, IdentifierRefused) and found.reason == reason


def test_candidates_keep_the_spelling() -> None:
    found = issuer_candidates("HTTPS://AS.Example.com:443/T%2f")
    assert found == (
        "HTTPS://AS.Example.com:443/.well-known/oauth-authorization-server/T%2f",
        "HTTPS://AS.Example.com:443/.well-known/openid-configuration/T%2f",
        "HTTPS://AS.Example.com:443/T%2f/.well-known/openid-configuration",
    )


@pytest.mark.parametrize(
    ("requested", "got", "strict", "pathless"),
    [
        ("https://a.example.com", "https://a.example.com", None, None),
        ("https://a.example.com", "https://a.example.com/", "issuer_mismatch", "issuer_slash"),
        ("https://a.example.com/", "https://a.example.com", "issuer_mismatch", "issuer_slash"),
        ("https://a.example.com", "https://a.example.com//", "issuer_mismatch", "issuer_mismatch"),
        ("https://a.example.com/t", "https://a.example.com/t/", "issuer_mismatch", "issuer_mismatch"),
        ("https://a.example.com", "https://A.example.com/", "issuer_mismatch", "issuer_mismatch"),
        ("https://a.example.com", "https://b.example.com", "issuer_mismatch", "issuer_mismatch"),
        ("https://a.example.com", "http://a.example.com", "issuer_mismatch", "issuer_mismatch"),
        ("https://a.example.com", "https://a.example.com:443", "issuer_mismatch", "issuer_mismatch"),
        ("https://a.example.com", "", "issuer_mismatch", "issuer_mismatch"),
    ],
)
def test_check_issuer(requested: str, got: str, strict: str | None, pathless: str | None) -> None:
    for slash, expected in (("strict", strict), ("pathless", pathless)):
        problem = check_issuer(requested, got, slash)  # type: ignore[arg-type]
        assert (problem and problem.code.value) == expected
        if problem is not None:
            assert (problem.rule, problem.path) == ("OA-11", "/issuer")
            assert problem.is_warning is (expected == "issuer_slash")
            assert json.dumps(requested) in problem.detail and json.dumps(got) in problem.detail


@pytest.mark.parametrize(
    ("requested", "got", "note"),
    [
        ("https://a.example.com/mcp", "https://a.example.com/mcp/", "last slash only"),
        ("https://a.example.com/", "https://a.example.com", "last slash only"),
        ("https://a.example.com/mcp", "https://a.example.com", "a parent of it"),
        ("https://a.example.com/mcp/x", "https://a.example.com/mcp/", "a parent of it"),
        ("https://a.example.com/mcp", "https://", ""),
        ("https://a.example.com/mcp", "https:", ""),
        ("https://a.example.com/mcp", "https://a.example.com/mc", ""),
        ("https://a.example.com/mcp", "https://b.example.com/mcp", ""),
        ("https://a.example.com/mcp", "", ""),
    ],
)
def test_check_resource(requested: str, got: str, note: str) -> None:
    assert check_resource(requested, requested) is None
    problem = check_resource(requested, got)
    assert problem is not None
    assert (problem.code, problem.rule, problem.path) == ("resource_mismatch", "OA-3", "/resource")
    assert not problem.is_warning
    assert problem.detail.endswith(f"{note}." if note else f"names {json.dumps(got)}.")
    assert json.dumps(requested) in problem.detail


@pytest.mark.parametrize(
    ("url", "issuer", "code"),
    [
        ("https://a.example.com/.well-known/oauth-authorization-server", "https://a.example.com", None),
        ("https://a.example.com/.well-known/oauth-authorization-server", "https://a.example.com/", None),
        ("https://a.example.com/.well-known/oauth-authorization-server/t", "https://a.example.com/t", None),
        ("https://a.example.com/.well-known/openid-configuration/t", "https://a.example.com/t/", None),
        ("https://a.example.com/t/.well-known/openid-configuration", "https://a.example.com/t", None),
        (
            "https://a.example.com/t/.well-known/oauth-authorization-server",
            "https://a.example.com/t",
            "metadata_url_mismatch",
        ),
        (
            "https://docs.example.com/.well-known/oauth-authorization-server",
            "https://a.example.com",
            "metadata_url_mismatch",
        ),
        (
            "https://A.example.com/.well-known/oauth-authorization-server",
            "https://a.example.com",
            "metadata_url_mismatch",
        ),
        (
            "http://a.example.com/.well-known/oauth-authorization-server",
            "http://a.example.com",
            "unusable_identifier",
        ),
        ("https://a.example.com/oauth", "", "unusable_identifier"),
    ],
)
def test_check_metadata_url(url: str, issuer: str, code: str | None) -> None:
    problem = check_metadata_url(url, issuer)
    assert (problem and problem.code.value) == code
    assert problem is None or problem.rule == ("OA-13" if code == "metadata_url_mismatch" else "OA-10")


@pytest.mark.parametrize(
    ("url", "issuer"),
    [
        ("https://a.example.com/.well-known/oauth-authorization-server", "https://a.example.com"),
        ("https://a.example.com/.well-known/oauth-authorization-server/", "https://a.example.com/"),
        ("https://a.example.com/.well-known/oauth-authorization-server/t", "https://a.example.com/t"),
        ("https://A.example.com:443/.well-known/openid-configuration/t/u", "https://A.example.com:443/t/u"),
        ("https://a.example.com/t/.well-known/openid-configuration", "https://a.example.com/t"),
        ("https://a.example.com/.well-known/openid-configurations", None),
        ("https://a.example.com/t", None),
        ("x", None),
    ],
)
def test_issuer_of_metadata_url(url: str, issuer: str | None) -> None:
    assert issuer_of_metadata_url(url) == issuer


def test_details_are_cut_and_escaped() -> None:
    problem = check_issuer("https://a.example.com", "\r\nSet-Cookie: \x1b[31m\u202e" + "x" * 100_000)
    assert isinstance(problem, MetadataProblem)
    assert len(problem.detail) < 400 and problem.detail.isascii() and problem.detail.isprintable()


@given(
    st.text(max_size=60) | st.from_regex(r"https?://[a-z.:@/?#%0-9-]{0,40}", fullmatch=True), st.text(max_size=20)
)
@settings(max_examples=300, deadline=None)
def test_no_text_raises(text: str, other: str) -> None:
    for found in (issuer_candidates(text), resource_candidates(text)):
        assert isinstance(found, IdentifierRefused) or all("/.well-known/" in url for url in found)
    issuer_of_metadata_url(text)
    for problem in (check_issuer(text, other), check_resource(text, other), check_metadata_url(text, other)):
        assert problem is None or problem.detail.isprintable()
