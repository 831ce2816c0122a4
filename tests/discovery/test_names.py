"""Which names can be asked about, and which belong together."""

from __future__ import annotations

import pytest

from proxy.discovery.names import BadDomain, is_local, parse_domain, registrable_domain, same_site

GIVEN = [
    ("example.com", "example.com"),
    ("EXAMPLE.com.", "example.com"),
    ("bücher.example", "xn--bcher-kva.example"),
    ("xn--bcher-kva.example", "xn--bcher-kva.example"),
    ("a" * 63 + ".example", "a" * 63 + ".example"),
    ("under_score.example", "under_score.example"),
    ("printer.local", "printer.local"),
]
REFUSED = [
    ("https://example.com", "alone"),
    ("example.com/path", "alone"),
    ("example.com:443", "alone"),
    ("user@example.com", "alone"),
    ("example.com?x", "alone"),
    ("example.com#x", "alone"),
    ("[::1]", "alone"),
    ("", "neither"),
    (".", "neither"),
    ("..", "neither"),
    ("a..example", "neither"),
    (".example.com", "neither"),
    ("example.com..", "neither"),
    ("a" * 64 + ".example", "neither"),
    ("b" * 60 + ("." + "c" * 60) * 4, "neither"),
    (("b" * 57 + ".") * 4 + "example", "too long"),
    ("localhost", "localhost"),
    ("LOCALHOST.", "localhost"),
    ("app.localhost", "localhost"),
    ("intranet", "single label"),
    ("127.0.0.1", "IP address"),
    ("192.0.2.1.", "IP address"),
    ("2130706433", "number"),
    ("0x7f.1", "number"),
    ("exa mple.com", "neither"),
    ("exa\x00mple.com", "neither"),
    ("%zz.example", "neither"),
    ("\uff45xample.com", "full-width"),
]


@pytest.mark.parametrize(("text", "domain"), GIVEN)
def test_a_domain(text: str, domain: str) -> None:
    assert parse_domain(text) == domain


@pytest.mark.parametrize(("text", "why"), REFUSED)
def test_no_domain(text: str, why: str) -> None:
    with pytest.raises(BadDomain) as refused:
        parse_domain(text)
    assert why in refused.value.detail


def test_single_labels_exist_where_there_is_no_public_dns() -> None:
    assert parse_domain("Printer", isolated=True) == "printer"


SITES = [
    ("example.com", "www.example.com", True),
    ("api.example.co.uk", "example.co.uk", True),
    ("one.co.uk", "two.co.uk", False),
    ("a.github.io", "b.github.io", False),
    ("example.com", "example.net", False),
    ("example.com", "notexample.com", False),
    ("192.0.2.1", "192.0.2.2", False),
    ("com", "com", True),
]


@pytest.mark.parametrize(("host", "other", "same"), SITES)
def test_sites(host: str, other: str, same: bool) -> None:
    assert same_site(host, other) is same


def test_registrable_domain_of_a_suffix_is_itself() -> None:
    assert registrable_domain("co.uk") == "co.uk"


def test_the_local_link() -> None:
    assert is_local("printer.local") and not is_local("local.example")
