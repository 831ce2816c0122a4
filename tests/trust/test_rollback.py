"""Versions of a manifest: which one is the newer (TRUST.md §6.4)."""

from __future__ import annotations

from typing import Any

import pytest

from proxy.trust.reasons import Reason, Untrusted
from proxy.trust.rollback import (
    MOST_CLAIMS,
    Accepted,
    Contested,
    Equivocal,
    Version,
    equivocates,
    judge,
    version_of,
)
from proxy.trust.verdict import Rejected
from tests.trust.publisher import manifest, signed

OLDER, NEWER = 100.0, 200.0


def version(core: str = "a", sequence: int | None = None, created: float = OLDER) -> Version:
    return Version(core, sequence, created)


@pytest.mark.parametrize(
    ("new", "baseline", "expected"),
    [
        pytest.param(version(), None, True, id="nothing known"),
        pytest.param(version(created=NEWER), version(created=OLDER), False, id="same core, signed again"),
        pytest.param(version(created=OLDER), version(created=NEWER), False, id="same core, an earlier copy"),
        pytest.param(version("b", 8), version("a", 7), True, id="sequence higher"),
        pytest.param(version("b", 8, OLDER), version("a", 7, NEWER), True, id="higher, made earlier"),
        pytest.param(version("b", 6), version("a", 7), Reason.ROLLBACK, id="sequence lower"),
        pytest.param(version("b", 6, NEWER), version("a", 7, OLDER), Reason.ROLLBACK, id="lower, made later"),
        pytest.param(version("b", 7, NEWER), version("a", 7, OLDER), Reason.EQUIVOCATION, id="sequence equal"),
        pytest.param(version("b", 0), version("a", -1), True, id="sequence from below nought"),
        pytest.param(version("b", None, NEWER), version("a", None, OLDER), True, id="made later"),
        pytest.param(version("b", None, OLDER), version("a", None, NEWER), Reason.ROLLBACK, id="made earlier"),
        pytest.param(version("b"), version("a"), Reason.EQUIVOCATION, id="made at the same time"),
        pytest.param(version("b", 1, NEWER), version("a", None, OLDER), True, id="a sequence from now on"),
        pytest.param(version("b", None, OLDER), version("a", 1, NEWER), Reason.ROLLBACK, id="a sequence no more"),
    ],
)
def test_which_is_newer(new: Version, baseline: Version | None, expected: bool | Reason) -> None:
    verdict = judge(new, baseline)
    if isinstance(expected, Reason):
        assert isinstance(verdict, Rejected) and verdict.reason is expected
        assert isinstance(verdict, Equivocal) is (expected is Reason.EQUIVOCATION)
        assert not isinstance(verdict, Equivocal) or verdict.version == new
    else:
        assert verdict == Accepted(is_newer=expected)


CLAIMS = (version("b", 8), version("c", 8), version("d", None, NEWER))


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        pytest.param(version("a", 7, NEWER), False, id="the baseline itself"),
        pytest.param(version("b", 8), Reason.EQUIVOCATION, id="one of two"),
        pytest.param(version("c", 8), Reason.EQUIVOCATION, id="the other"),
        pytest.param(version("e", 8, NEWER + 1), Reason.EQUIVOCATION, id="a third"),
        pytest.param(version("d", None, NEWER + 9), Reason.EQUIVOCATION, id="a contested one, signed again"),
        pytest.param(version("e", None, NEWER), Reason.EQUIVOCATION, id="made when a contested one was"),
        pytest.param(version("e", 6), Reason.ROLLBACK, id="older than the baseline"),
        pytest.param(version("e", 9, OLDER), True, id="above them all"),
        pytest.param(version("e", None, NEWER + 1), True, id="later than them all"),
    ],
)
def test_a_contested_baseline(new: Version, expected: bool | Reason) -> None:
    verdict = judge(new, Contested(version("a", 7), CLAIMS))
    if isinstance(expected, Reason):
        assert isinstance(verdict, Rejected) and verdict.reason is expected
    else:
        assert verdict == Accepted(is_newer=expected)


def test_too_many_claims() -> None:
    claims = tuple(version(str(number), number) for number in range(10, 10 + MOST_CLAIMS))
    assert isinstance(judge(version("new", 99), Contested(version("a", 1), claims)), Equivocal)
    assert judge(version("new", 99), Contested(version("a", 1), claims[1:])) == Accepted(is_newer=True)
    assert judge(version("a", 1), Contested(version("a", 1), claims)) == Accepted(is_newer=False)


def test_equivocation() -> None:
    assert equivocates(version("b", 7, NEWER), version("a", 7, OLDER))
    assert not equivocates(version("a", 7), version("a", 7))
    assert not equivocates(version("b", 8), version("a", 7))


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"x-independent-mirrors": None}, id="no mirrors"),
        pytest.param({"x-independent-mirrors": ["ipfs://bafkqaaa"]}, id="other mirrors"),
        pytest.param({"proof": {"anything": 1}}, id="a proof"),
        pytest.param({"signatures": []}, id="signatures"),
        pytest.param({"x-sequence": 42.0}, id="the same number written otherwise"),
    ],
)
def test_outside_the_core(change: dict[str, Any]) -> None:
    assert version_of(manifest(**change), OLDER) == version_of(signed(manifest()), OLDER)


@pytest.mark.parametrize("change", [{"x-sequence": 43}, {"routes": []}, {"x-new": None, "site": {}}], ids=str)
def test_inside_the_core(change: dict[str, Any]) -> None:
    assert version_of(manifest(**change), OLDER).core != version_of(manifest(), OLDER).core


@pytest.mark.parametrize(
    ("written", "sequence"),
    [
        (42, 42),
        (-1, -1),
        (42.0, 42),
        (1e21, 10**21),
        (42.5, None),
        (True, None),
        ("42", None),
        ([42], None),
        ({}, None),
    ],
    ids=repr,
)
def test_sequence(written: object, sequence: int | None) -> None:
    assert version_of({"x-sequence": written}, OLDER).sequence == sequence


def test_no_sequence() -> None:
    assert version_of({}, OLDER) == Version(
        "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a", None, OLDER
    )


def test_without_canonical_form() -> None:
    with pytest.raises(Untrusted) as refused:
        version_of({"x": 2**53}, OLDER)
    assert refused.value.reason is Reason.JSON_NUMBER_RANGE
