"""Every family of addresses that is nobody's to name, and those that look public."""

from __future__ import annotations

import pytest

from proxy.http.addresses import AddressClass, address_class

FAMILIES = [
    ("93.184.216.34", "public"),
    ("2606:2800:220:1:248:1893:25c8:1946", "public"),
    ("::ffff:93.184.216.34", "public"),
    ("127.0.0.1", "loopback"),
    ("127.255.255.254", "loopback"),
    ("::1", "loopback"),
    ("0.0.0.0", "loopback"),
    ("0.1.2.3", "loopback"),
    ("::", "loopback"),
    ("::ffff:127.0.0.1", "loopback"),
    ("10.1.2.3", "private"),
    ("172.31.255.255", "private"),
    ("192.168.0.1", "private"),
    ("fc00::1", "private"),
    ("169.254.1.1", "link-local"),
    ("fe80::1", "link-local"),
    ("fe80::1%eth0", "link-local"),
    ("fec0::1", "link-local"),
    ("169.254.169.254", "metadata"),
    ("::ffff:169.254.169.254", "metadata"),
    ("169.254.170.2", "metadata"),
    ("fd00:ec2::254", "metadata"),
    ("100.100.100.200", "metadata"),
    ("100.64.0.1", "reserved"),
    ("198.18.0.1", "reserved"),
    ("192.0.0.8", "reserved"),
    ("192.0.2.1", "reserved"),
    ("198.51.100.1", "reserved"),
    ("203.0.113.1", "reserved"),
    ("192.88.99.1", "reserved"),
    ("240.0.0.1", "reserved"),
    ("2001:db8::1", "reserved"),
    ("100::1", "reserved"),
    ("2001:2::1", "reserved"),
    ("224.0.0.1", "multicast"),
    ("255.255.255.255", "multicast"),
    ("ff02::1", "multicast"),
    ("::127.0.0.1", "embedded"),
    ("64:ff9b::a9fe:a9fe", "embedded"),
    ("64:ff9b:1::a9fe:a9fe", "embedded"),
    ("2002:a9fe:a9fe::1", "embedded"),
    ("2001:0:a9fe:a9fe::1", "embedded"),
]


@pytest.mark.parametrize(("address", "family"), FAMILIES)
def test_families(address: str, family: str) -> None:
    assert address_class(address) is AddressClass(family)


@pytest.mark.parametrize("text", ["example.com", "", "1.2.3", "::g", "127.0.0.1:80"])
def test_no_address(text: str) -> None:
    with pytest.raises(ValueError, match="IPv4 or IPv6"):
        address_class(text)
