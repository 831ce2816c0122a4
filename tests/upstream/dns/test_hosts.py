"""The machine's own names, before DNS."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from proxy.upstream.dns.hosts import HostsFile, parse_hosts

FILES = [
    (b"", {}),
    (b"127.0.0.1 localhost\n", {"localhost": ("127.0.0.1",)}),
    (
        b"10.0.0.1\tOne.Example. two.example # three.example\n",
        {"one.example": ("10.0.0.1",), "two.example": ("10.0.0.1",)},
    ),
    (b"::1 a.example\n10.0.0.1 a.example\r\n", {"a.example": ("::1", "10.0.0.1")}),
    (b"# 10.0.0.1 a.example\nnonsense a.example\n10.0.0.1\n\xff\xfe\n", {}),
]


@pytest.mark.parametrize(("octets", "addresses"), FILES)
def test_lines(octets: bytes, addresses: dict[str, tuple[str, ...]]) -> None:
    assert parse_hosts(octets) == addresses


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "hosts"
    hosts = HostsFile(path)
    assert hosts.addresses("a.example") == ()
    path.write_text("10.0.0.1 a.example\n")
    assert hosts.addresses("a.example") == ("10.0.0.1",)
    path.write_text("10.0.0.2 a.example\n")
    os.utime(path, (1, 1))
    assert hosts.addresses("a.example") == ("10.0.0.2",)
    path.unlink()
    assert hosts.addresses("a.example") == ("10.0.0.2",)
