"""Values of answers, as a person reads them."""

from __future__ import annotations

import pytest

from proxy.cli.parts import shown


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        ("https://example.com/", "https://example.com/"),
        (443, "443"),
        (["a", None, "b"], "a, -, b"),
        ({"well-known-path": "/a.json", "x": None}, "well-known-path=/a.json, x=-"),
        ({}, ""),
    ],
)
def test_shown(value: object, text: str | None) -> None:
    assert shown(value) == text
