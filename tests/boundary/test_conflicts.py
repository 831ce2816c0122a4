"""What becomes of a conflict (UAIX.md D2, D11, §5.2; CONTRACT §8)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.boundary.conflicts import MOST_CREDENTIALS, Cause, Conflict, Settlement, State
from proxy.capability.atoms import Atom
from proxy.capability.ladders import Atoms
from proxy.capability.resolution import Code

NOW = 1_000_000.0
HELD = Conflict(
    id="0" * 32,
    intent="1" * 64,
    client="agent-1",
    method="POST",
    url="https://example.com/orders",
    cause=Cause.PROXY,
    rule="D10",
    reason="missing_auth",
    code=Code.HUMAN_REVIEW_REQUIRED,
    review_url="https://example.com/review",
    observed_at=NOW,
    envelope={},
)


def test_a_conflict_begins_held() -> None:
    assert (HELD.state, HELD.settled_at, HELD.settlement) == (State.HELD, None, None)


@pytest.mark.parametrize("settlement", Settlement)
def test_release(settlement: Settlement) -> None:
    released = HELD.released(settlement, NOW + 5)
    assert (released.state, released.settlement, released.settled_at) == (State.RELEASED, settlement, NOW + 5)
    assert replace(released, state=State.HELD, settlement=None, settled_at=None) == HELD


AUTH, POST, READBACK = Atom.AUTH, Atom.JSON_POST, Atom.READBACK
BASE: Atoms = frozenset({Atom.STATIC_GET, Atom.JSON_GET})

# members of the conflict, proven now, credential now: what opens it
PROOFS: dict[str, tuple[dict[str, object], Atoms, str | None, Settlement | None]] = {
    "nothing new": ({"missing": (AUTH,), "proven": BASE}, BASE, None, None),
    "what was missing": ({"missing": (AUTH,), "proven": BASE}, BASE | {AUTH}, None, Settlement.PROOF),
    "more than was missing": ({"missing": (AUTH,), "proven": BASE}, BASE | {AUTH, POST}, None, Settlement.PROOF),
    "one of two": ({"missing": (AUTH, POST), "proven": BASE}, BASE | {AUTH}, None, None),
    "both": ({"missing": (AUTH, POST), "proven": BASE}, BASE | {AUTH, POST}, None, Settlement.PROOF),
    "something else": ({"missing": (AUTH,), "proven": BASE}, BASE | {POST}, None, None),
    "proven before": ({"missing": (AUTH,), "proven": BASE | {AUTH}}, BASE | {AUTH}, None, None),
    "less than before": ({"proven": BASE | {AUTH}}, BASE, None, None),
    "nothing missing, nothing new": ({"proven": BASE}, BASE, None, None),
    "nothing missing, something new": ({"proven": BASE}, BASE | {POST}, None, Settlement.PROOF),
    "a credential alone": ({"missing": (AUTH,), "proven": BASE}, BASE, "00000001", None),
    "a credential after 403": ({"cause": Cause.UPSTREAM_403, "proven": BASE}, BASE, "00000001", None),
    "a credential after 428": ({"cause": Cause.UPSTREAM_428}, frozenset(), "00000001", None),
    "a credential after a body": ({"cause": Cause.UPSTREAM_BODY}, frozenset(), "00000001", None),
    "a credential after a secret": ({"cause": Cause.SECRET}, frozenset(), "00000001", None),
    "proof after 403": (
        {"cause": Cause.UPSTREAM_403, "proven": BASE},
        BASE | {READBACK},
        None,
        Settlement.PROOF,
    ),
    "401 and none": ({"cause": Cause.UPSTREAM_401}, frozenset(), None, None),
    "401 and the first": ({"cause": Cause.UPSTREAM_401}, frozenset(), "00000001", Settlement.CREDENTIAL),
    "401 and the same": ({"cause": Cause.UPSTREAM_401, "credential": "00000001"}, frozenset(), "00000001", None),
    "401 and another": (
        {"cause": Cause.UPSTREAM_401, "credential": "00000001"},
        frozenset(),
        "00000002",
        Settlement.CREDENTIAL,
    ),
    "401 and none any more": ({"cause": Cause.UPSTREAM_401, "credential": "00000001"}, frozenset(), None, None),
    "401 and the last that is tried": (
        {"cause": Cause.UPSTREAM_401, "refused_credentials": MOST_CREDENTIALS - 1},
        frozenset(),
        "00000001",
        Settlement.CREDENTIAL,
    ),
    "401 and guessing": (
        {"cause": Cause.UPSTREAM_401, "refused_credentials": MOST_CREDENTIALS},
        frozenset(),
        "00000001",
        None,
    ),
    "401 and guessing, with proof": (
        {"cause": Cause.UPSTREAM_401, "refused_credentials": MOST_CREDENTIALS, "proven": BASE},
        BASE | {AUTH},
        "00000001",
        None,
    ),
    "401 and proof with the same credential": (
        {"cause": Cause.UPSTREAM_401, "credential": "00000001", "proven": BASE},
        BASE | {AUTH},
        "00000001",
        Settlement.PROOF,
    ),
}


@pytest.mark.parametrize(("members", "proven", "credential", "expected"), PROOFS.values(), ids=PROOFS)
def test_what_opens_it(
    members: dict[str, object], proven: Atoms, credential: str | None, expected: Settlement | None
) -> None:
    conflict = replace(HELD, **members)  # type: ignore[arg-type]
    assert conflict.opened_by(proven, credential) is expected


BY_PERSON = HELD.released(Settlement.PERSON, NOW)

# conflict, seconds since the release: whether the intent may pass
PERMITS: dict[str, tuple[Conflict, float, bool]] = {
    "held": (HELD, 0, False),
    "at once": (BY_PERSON, 0, True),
    "within its time": (BY_PERSON, 3599.9, True),
    "at its end": (BY_PERSON, 3600, False),
    "long after": (BY_PERSON, 1e9, False),
    "the clock set back": (BY_PERSON, -1, False),
    "by proof": (HELD.released(Settlement.PROOF, NOW), 0, False),
    "by credential": (HELD.released(Settlement.CREDENTIAL, NOW), 0, False),
    "without a time": (replace(BY_PERSON, settled_at=None), 0, False),
    "without a cause": (replace(BY_PERSON, settlement=None), 0, False),
    "held, with what a release has": (replace(BY_PERSON, state=State.HELD), 0, False),
}


@pytest.mark.parametrize(("conflict", "since", "expected"), PERMITS.values(), ids=PERMITS)
def test_how_long_a_person_permits(conflict: Conflict, since: float, expected: bool) -> None:
    assert conflict.permits(NOW + since, 3600.0) is expected


_ATOMS = st.frozensets(st.sampled_from(Atom))


@given(_ATOMS, _ATOMS, st.sampled_from(Cause))
def test_the_same_proof_opens_nothing(proven: Atoms, missing: Atoms, cause: Cause) -> None:
    conflict = replace(HELD, cause=cause, proven=proven, missing=tuple(missing), credential="00000001")
    assert conflict.opened_by(proven, "00000001") is None
    assert conflict.opened_by(proven, None) is None
