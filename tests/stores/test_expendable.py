"""Which records are forgotten when there are too many without keys and mirrors."""

from __future__ import annotations

from dataclasses import replace

from proxy.stores.expendable import Expendable
from proxy.trust.records.knowledge import Knowledge
from tests.trust.records.domains import known_domain


def test_the_one_untouched_longest_goes_first() -> None:
    expendable = Expendable(2, ["a", "b"])
    assert expendable.surplus == ()
    expendable.written(Knowledge("c", ""))
    assert expendable.surplus == ("a",)
    expendable.touch("a")
    assert expendable.surplus == ("b",)
    expendable.written(Knowledge("b", "did"))
    assert expendable.surplus == ("c",)
    expendable.forgotten("c")
    assert expendable.surplus == ()


def test_what_has_keys_or_mirrors_is_not_counted() -> None:
    expendable = Expendable(0, ["example.com"])
    expendable.written(known_domain())
    expendable.touch("example.com")
    expendable.forgotten("example.com")
    assert expendable.surplus == ()
    expendable.written(replace(known_domain(), pin=None, manifests={}))
    assert expendable.surplus == ("example.com",)
