"""Who a client is by token, certificate or address, and what that proves."""

from __future__ import annotations

import base64
import hashlib

import pytest

from proxy.capability.atoms import Atom
from proxy.config import load
from proxy.engine.boundary.identity import Identity
from proxy.http.fields import Fields
from proxy.server.clients import Clients, build_clients, unauthorized

TOKEN = "a.long-token"
ADDRESS = "192.0.2.7"


def digest(octets: bytes) -> str:
    return hashlib.sha256(octets).hexdigest()


def clients(auth: str = "none", **more: object) -> Clients:
    token = {"id": "owner", "sha256": digest(TOKEN.encode()), **more}
    flags: dict[str, object] = {"clients.tokens": [token], "clients.auth": auth}
    if auth == "mtls":
        flags |= {f"listen.tls.{name}": "x" for name in ("cert", "key", "client_ca")}
    return build_clients(load(None, {}, flags))


def basic(text: str) -> str:
    return f"Basic {base64.b64encode(text.encode()).decode()}"


LINES: dict[str, tuple[tuple[tuple[str, str], ...], str | None]] = {
    "bearer": ((("Proxy-Authorization", f"Bearer {TOKEN}"),), "proxy-authorization"),
    "lower case": ((("proxy-authorization", f"bearer  {TOKEN} "),), "proxy-authorization"),
    "own field": ((("Authorization", f"Bearer {TOKEN}"),), "authorization"),
    "password": ((("Proxy-Authorization", basic(f"x:{TOKEN}")),), "proxy-authorization"),
    "user": ((("Proxy-Authorization", basic(f"{TOKEN}:")),), "proxy-authorization"),
    "of the origin": ((("Authorization", "Bearer other"),), None),
    "twice": ((("Authorization", "Bearer other"), ("Authorization", f"Bearer {TOKEN}")), "authorization"),
    "both": ((("Proxy-Authorization", f"Bearer {TOKEN}"), ("Authorization", f"Bearer {TOKEN}")), "authorization"),
    "tab": ((("Authorization", f"Bearer\t{TOKEN}"),), "authorization"),
    "token": ((("Authorization", f"Token {TOKEN}"),), "authorization"),
    "blank": ((("Authorization", " "),), None),
    "not ASCII": ((("Proxy-Authorization", "Basic \xff"),), None),
    "no token": ((("Authorization", f"Digest {TOKEN}"),), None),
    "no base64": ((("Proxy-Authorization", "Basic %%%"),), None),
    "no UTF-8": ((("Proxy-Authorization", "Basic /w=="),), None),
    "huge": ((("Proxy-Authorization", "Bearer " + "a" * 10_000),), None),
    "surrogates": ((("Proxy-Authorization", "Bearer \udcff"),), None),
    "none": ((), None),
}


@pytest.mark.parametrize(("lines", "field"), LINES.values(), ids=LINES)
def test_tokens(lines: tuple[tuple[str, str], ...], field: str | None) -> None:
    fields = Fields(lines)
    found = clients().recognise(fields, ADDRESS, None)
    assert found is not None and found.field == field
    assert found.identity.client == (ADDRESS if field is None else "owner")
    assert found.identity.is_proven is (field is not None)
    asked = clients("bearer").recognise(fields, ADDRESS, None)
    assert (asked is None) is (field is None)


def test_what_a_token_proves() -> None:
    found = clients(level="L3", atoms=["a2a"]).recognise(Fields(LINES["bearer"][0]), ADDRESS, None)
    assert found is not None and found.identity.proven is not None
    assert Atom.A2A in found.identity.proven and Atom.JSON_POST in found.identity.proven
    assert Atom.AUTH not in found.identity.proven
    assert (found.identity.level, found.identity.ladder) == ("L3", "exec")


def test_certificates() -> None:
    known = clients("mtls", sha256=digest(b"certificate"))
    found = known.recognise(Fields(LINES["bearer"][0]), ADDRESS, b"certificate")
    assert found is not None and (found.identity.client, found.field) == ("owner", None)
    assert known.recognise(Fields(LINES["bearer"][0]), ADDRESS, b"another") is None
    assert known.recognise(Fields(), ADDRESS, None) is None


@pytest.mark.parametrize(
    ("pattern", "host", "may"),
    [
        ("example.com", "example.com", True),
        ("example.com", "www.example.com", False),
        ("*.example.com", "www.example.com", True),
        ("*.example.com", "example.com", False),
        ("*.example.com", "example.com.evil.net", False),
    ],
)
def test_hosts(pattern: str, host: str, may: bool) -> None:
    assert Identity("c", hosts=(pattern,)).may_reach(host) is may
    assert Identity("c").may_reach(host)


def test_challenges() -> None:
    for is_proxied, status, name in ((True, 407, "Proxy-Authenticate"), (False, 401, "WWW-Authenticate")):
        problem, challenge = unauthorized(is_proxied=is_proxied)
        assert (problem.status, challenge[0]) == (status, name)
