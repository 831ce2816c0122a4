"""Which URLs a publisher may send us to."""

from __future__ import annotations

import pytest

from proxy.discovery.urls import UrlReason, UrlRefused, admit, checked
from proxy.http.targets import parse_target

BASE = parse_target("https://example.com/a/b?q")

ADMITTED = [
    ("https://example.com", "https://example.com/"),
    ("HTTPS://EXAMPLE.com:443/a?b", "https://example.com/a?b"),
    ("https://example.com/a#fragment", "https://example.com/a"),
    ("https://example.com:8443/a", "https://example.com:8443/a"),
    ("https://93.184.216.34/a", "https://93.184.216.34/a"),
    ("https://example.com/a@b", "https://example.com/a@b"),
]
REFERENCES = [
    ("/c", "https://example.com/c"),
    ("c", "https://example.com/a/c"),
    ("../c", "https://example.com/c"),
    ("//other.example/c", "https://other.example/c"),
    ("?x", "https://example.com/a/b?x"),
    ("", "https://example.com/a/b?q"),
]
REFUSED = [
    ("http://example.com/", "https_required"),
    ("ftp://example.com/", "https_required"),
    ("ws://example.com/", "https_required"),
    ("https://user:secret@example.com/", "userinfo"),
    ("https://user@example.com/", "userinfo"),
    ("https://169.254.169.254/latest", "ssrf"),
    ("https://127.0.0.1/", "ssrf"),
    ("https://[::1]/", "ssrf"),
    ("https://[::ffff:10.0.0.1]/", "ssrf"),
    ("https://[64:ff9b::a9fe:a9fe]/", "ssrf"),
    ("https://localhost/", "ssrf"),
    ("https://app.localhost/", "ssrf"),
    ("https://intranet/", "ssrf"),
    ("https://2130706433/", "malformed"),
    ("https://0177.0.0.1/", "malformed"),
    ("https:///a", "malformed"),
    ("https://example.com:0/", "malformed"),
    ("https://example.com/a b", "malformed"),
    ("https://example.com\\@evil.example/", "userinfo"),
    ("https://exam\tple.com/", "malformed"),
    ("example.com", "malformed"),
    ("javascript:alert(1)", "malformed"),
    ("data:text/plain,x", "malformed"),
    ("https://example.com:22/", "port"),
    ("https://example.com:25/", "port"),
    ("https://example.com:6379/", "port"),
]


@pytest.mark.parametrize(("url", "uri"), ADMITTED)
def test_admitted(url: str, uri: str) -> None:
    assert admit(url).uri == uri


@pytest.mark.parametrize(("reference", "uri"), REFERENCES)
def test_references(reference: str, uri: str) -> None:
    assert admit(reference, BASE).uri == uri


@pytest.mark.parametrize(("url", "reason"), REFUSED)
def test_refused(url: str, reason: str) -> None:
    with pytest.raises(UrlRefused) as refused:
        admit(url)
    assert refused.value.reason is UrlReason(reason)
    assert "secret" not in refused.value.detail


@pytest.mark.parametrize(("url", "reason"), [row for row in REFUSED if "://" in row[0]])
def test_refused_as_a_reference(url: str, reason: str) -> None:
    with pytest.raises(UrlRefused) as refused:
        admit(url, BASE)
    assert refused.value.reason is UrlReason(reason)


def test_a_reference_that_stays_plain() -> None:
    with pytest.raises(UrlRefused) as refused:
        checked(parse_target("http://example.com/"))
    assert refused.value.reason is UrlReason.HTTPS_REQUIRED
