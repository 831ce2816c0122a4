"""Central services are nobody's to depend on, and no obstacle to themselves."""

from __future__ import annotations

import pytest

from proxy.discovery.central import CENTRAL_SERVICES, is_central


@pytest.mark.parametrize("name", sorted(CENTRAL_SERVICES))
def test_central_services(name: str) -> None:
    assert is_central(name, "example.com")
    assert is_central(f"api.{name}", "example.com")
    assert not is_central(name, name)
    assert not is_central(f"{name}.example.net", "example.com")


@pytest.mark.parametrize("host", ["example.com", "www.example.com", "uaix.org.example.net", "org"])
def test_others(host: str) -> None:
    assert not is_central(host, "example.com")
