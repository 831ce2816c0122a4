"""How resolvers are written down, and what the system says of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from proxy.upstream.dns.resolvers import BadResolver, Resolver, Transport, parse_resolver, system_resolvers

UDP, TCP, TLS = Transport.UDP, Transport.TCP, Transport.TLS

WRITTEN = {
    "IPv4": ("9.9.9.9", UDP, Resolver("9.9.9.9", 53)),
    "IPv4 over TCP": ("9.9.9.9", TCP, Resolver("9.9.9.9", 53)),
    "IPv4, port": ("127.0.0.1:5353", UDP, Resolver("127.0.0.1", 5353)),
    "IPv6": ("2001:db8::1", UDP, Resolver("2001:db8::1", 53)),
    "IPv6, brackets": ("[::1]", UDP, Resolver("::1", 53)),
    "IPv6, port": ("[::1]:53", UDP, Resolver("::1", 53)),
    "IPv6, other spelling": ("[2001:DB8:0:0::1]:5300", UDP, Resolver("2001:db8::1", 5300)),
    "IPv6, zone": ("fe80::1%eth0", UDP, Resolver("fe80::1%eth0", 53)),
    "TLS, address verified": ("9.9.9.9", TLS, Resolver("9.9.9.9", 853)),
    "TLS, name": ("9.9.9.9#DNS.example.", TLS, Resolver("9.9.9.9", 853, "dns.example")),
    "TLS, port, name": ("9.9.9.9:8853#dns.example", TLS, Resolver("9.9.9.9", 8853, "dns.example")),
    "TLS, IPv6, name": ("[::1]:853#dns.example", TLS, Resolver("::1", 853, "dns.example")),
    "spaces around": (" 9.9.9.9 ", UDP, Resolver("9.9.9.9", 53)),
    "highest port": ("9.9.9.9:65535", UDP, Resolver("9.9.9.9", 65535)),
}

REFUSED = {
    "nothing": ("", UDP, "IP address"),
    "name": ("dns.example", UDP, "IP address"),
    "name, port": ("dns.example:53", UDP, "IP address"),
    "URL": ("https://dns.example/dns-query", UDP, "IP address"),
    "bracket open": ("[::1:53", UDP, "Brackets"),
    "brackets around IPv4": ("[9.9.9.9]:53", UDP, "Brackets"),
    "after the bracket": ("[::1]53", UDP, "Brackets"),
    "no port": ("9.9.9.9:", UDP, "port"),
    "no port, IPv6": ("[::1]:", UDP, "port"),
    "port 0": ("9.9.9.9:0", UDP, "port"),
    "port too high": ("9.9.9.9:65536", UDP, "port"),
    "port a word": ("9.9.9.9:domain", UDP, "port"),
    "port in other digits": ("9.9.9.9:٥٣", UDP, "port"),
    "port without end": ("9.9.9.9:" + "1" * 5000, UDP, "port"),
    "number of an address": ("134744072", UDP, "IP address"),
    "name over UDP": ("9.9.9.9#dns.example", UDP, "tls"),
    "name over TCP": ("9.9.9.9#dns.example", TCP, "tls"),
    "empty name": ("9.9.9.9#", TLS, "certificate"),
    "bad name": ("9.9.9.9#dns example", TLS, "certificate"),
}


@pytest.mark.parametrize(("text", "transport", "resolver"), WRITTEN.values(), ids=WRITTEN)
def test_written(text: str, transport: Transport, resolver: Resolver) -> None:
    assert parse_resolver(text, transport) == resolver


@pytest.mark.parametrize(("text", "transport", "advice"), REFUSED.values(), ids=REFUSED)
def test_refused(text: str, transport: Transport, advice: str) -> None:
    with pytest.raises(BadResolver) as caught:
        parse_resolver(text, transport)
    assert isinstance(caught.value, ValueError) and advice in caught.value.detail == str(caught.value)


def test_as_diagnostics_name_it() -> None:
    assert str(Resolver("127.0.0.1", 53)) == "127.0.0.1:53"
    assert str(Resolver("::1", 853, "dns.example")) == "[::1]:853"


SYSTEM = {
    "one": ("nameserver 192.0.2.1\n", (Resolver("192.0.2.1", 53),)),
    "order kept": (
        "# made by hand\nsearch example.com\nnameserver 192.0.2.2\nnameserver ::1\noptions ndots:2 trust-ad\n",
        (Resolver("192.0.2.2", 53), Resolver("::1", 53)),
    ),
}
UNUSABLE = {
    "empty": b"",
    "no server": b"search example.com\n",
    "a name": b"nameserver dns.example\n",
    "no text": b"nameserver \xff\xfe\n",
    "bad search list": b"search a..b\nnameserver 192.0.2.1\n",
    "over HTTPS": b"nameserver https://dns.example/dns-query\n",
}


@pytest.mark.parametrize(("text", "resolvers"), SYSTEM.values(), ids=SYSTEM)
def test_of_the_system(tmp_path: Path, text: str, resolvers: tuple[Resolver, ...]) -> None:
    path = tmp_path / "resolv.conf"
    path.write_text(text, encoding="utf-8")
    assert system_resolvers(UDP, str(path)) == resolvers


def test_of_the_system_over_tls(tmp_path: Path) -> None:
    path = tmp_path / "resolv.conf"
    path.write_text("nameserver 192.0.2.1\n", encoding="utf-8")
    assert system_resolvers(TLS, str(path)) == (Resolver("192.0.2.1", 853),)


@pytest.mark.parametrize("octets", UNUSABLE.values(), ids=UNUSABLE)
def test_of_an_unusable_system(tmp_path: Path, octets: bytes) -> None:
    path = tmp_path / "resolv.conf"
    path.write_bytes(octets)
    with pytest.raises(BadResolver):
        system_resolvers(UDP, str(path))


def test_without_a_file(tmp_path: Path) -> None:
    with pytest.raises(BadResolver, match="list resolvers"):
        system_resolvers(UDP, str(tmp_path / "missing"))
