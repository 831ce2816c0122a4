"""Steps with the origin dead and its stale copy used up: who stands in for it, and who is not believed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from proxy.demo.agent import Answer
from proxy.demo.documents import MANIFEST
from proxy.demo.expectations import Unfulfilled, expect, expect_body, expect_manifest, expect_seen, expect_verified
from proxy.demo.origin import Seen
from proxy.demo.stage import Stage
from proxy.failover.attempts import AttemptOutcome
from proxy.http.problems import Slug
from proxy.trust.reasons import Reason
from proxy.trust.verdict import CopySource

_AT_ONCE_MS: Final = 20.0
_ATTEMPTS: Final = 5

End = tuple[CopySource, AttemptOutcome, str]
"""How an attempt ended: where, with what, and why."""

_NO_CID: Final[End] = (CopySource.IPFS, AttemptOutcome.SKIPPED, Reason.MIRROR_INVALID.value)
_TAMPERED: Final[End] = (CopySource.MIRROR, AttemptOutcome.REFUSED, Reason.SIGNATURE_INVALID.value)
_DEAD_MIRROR: Final[End] = (CopySource.MIRROR, AttemptOutcome.FAILED, Slug.ORIGIN_UNREACHABLE.value)
_DEAD_GATEWAY: Final[End] = (CopySource.IPFS, AttemptOutcome.FAILED, Slug.ORIGIN_UNREACHABLE.value)
_DEAD_ORIGIN: Final[End] = (CopySource.ORIGIN, AttemptOutcome.FAILED, Slug.ORIGIN_UNREACHABLE.value)
_BY_MIRROR: Final[End] = (CopySource.MIRROR, AttemptOutcome.SERVED, "")
_BY_IPFS: Final[End] = (CopySource.IPFS, AttemptOutcome.SERVED, "")


async def by_mirror(stage: Stage) -> Answer:
    """No stale copy is allowed any more: the mirror that was tampered with is refused, the next one serves."""
    await stage.fresh(MANIFEST)
    await stage.origin.kill()
    await stage.end_of_stale(MANIFEST)
    answer = await stage.sought(MANIFEST)
    _expect_copy(answer, CopySource.MIRROR, stage.revised.manifest.body)
    _expect_ends(answer, _NO_CID, _TAMPERED, _BY_MIRROR)
    return answer


async def copy_at_hand(stage: Stage) -> Answer:
    """The copy serves on, and nobody is waited for. The fastest of a few, for a busy machine."""
    answers = [await stage.agent.get(MANIFEST) for _ in range(_ATTEMPTS)]
    for answer in answers:
        _expect_copy(answer, CopySource.MIRROR, stage.revised.manifest.body)
        expect(answer, "a fresh hit", answer.is_fresh_hit)
    fastest = min(answers, key=lambda answer: answer.milliseconds)
    expect(fastest, f"less than {_AT_ONCE_MS:.0f} ms", fastest.milliseconds < _AT_ONCE_MS)
    return fastest


async def by_content(stage: Stage) -> Answer:
    """No mirror lives, and the copy is purged: content by its hash, from a gateway that nobody has to trust."""
    for mirror in stage.mirrors:
        await mirror.kill()
    await stage.operator.purge(MANIFEST)
    answer = await stage.sought(MANIFEST)
    _expect_copy(answer, CopySource.IPFS, stage.revised.copy)
    _expect_ends(answer, _NO_CID, _DEAD_MIRROR, _DEAD_MIRROR, _BY_IPFS)
    return answer


async def no_copy(stage: Stage) -> Answer:
    """Nobody is left: the answer says of each place why it has none."""
    await stage.gateway.kill()
    await stage.operator.purge(MANIFEST)
    answer = await stage.agent.get(MANIFEST)
    is_refusal = (answer.status, answer.problem) == (504, Slug.NO_TRUSTED_COPY)
    expect(answer, "504, problem no-trusted-copy", is_refusal)
    _expect_ends(answer, _DEAD_ORIGIN, _NO_CID, _DEAD_MIRROR, _DEAD_MIRROR, _DEAD_GATEWAY)
    return answer


async def mirror_back(stage: Stage) -> Answer:
    """One honest mirror is enough. That nobody had a copy is remembered for a second, but not past a purge."""
    _, honest = stage.mirrors
    await honest.start()
    await stage.operator.purge(MANIFEST)
    answer = await stage.sought(MANIFEST)
    _expect_copy(answer, CopySource.MIRROR, stage.revised.manifest.body)
    _expect_ends(answer, _NO_CID, _DEAD_MIRROR, _BY_MIRROR)
    return answer


async def origin_back(stage: Stage) -> Answer:
    """The origin answers: the copy is given up, however fresh it is."""
    await stage.origin.start()
    stage.waiting("the proxy to notice that the origin is back")
    answer = await stage.until(MANIFEST, lambda answer: answer.vouched.get("source") == CopySource.ORIGIN)
    expect_manifest(answer, stage.revised.manifest)
    expect_seen(stage.origin, answer, Seen(MANIFEST.path, None, 200))
    return answer


def _expect_copy(answer: Answer, source: CopySource, body: bytes) -> None:
    expect_body(answer, "manifest", body)
    expect_verified(answer, source)
    expect(answer, f"detail={source}", str(answer.cache_status.get("detail")) == source)


def _expect_ends(answer: Answer, *expected: End) -> None:
    """So the attempts ended, in this order."""
    came = [(attempt.source, attempt.outcome, attempt.reason) for attempt in answer.attempts]
    if came != list(expected):
        raise Unfulfilled(_listed(expected), _listed(came), answer)


def _listed(ends: Sequence[End]) -> str:
    return ", ".join(" ".join(end).rstrip() for end in ends) or "no attempt"
