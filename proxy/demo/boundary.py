"""Steps in which something is to be changed: who may not is told where a person decides, and does not get past."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, Final

from proxy.capability.resolution import Code
from proxy.demo.agent import Answer
from proxy.demo.documents import ORDER, REVIEW_URL
from proxy.demo.expectations import expect, expect_posted, expect_told
from proxy.demo.stage import CLIENT, TOKEN, Stage
from proxy.discovery.findings import failures
from proxy.lint import lint

_FROM_RECORD: Final = "no-op-D2"
_REPLAYED: Final = "idempotent-replay"
_UNPROVEN_KEY: Final = "order-1"
_PROVEN_KEY: Final = "order-2"
_HELD: Final = (Code.HUMAN_REVIEW_REQUIRED.value, REVIEW_URL)


async def unproven(stage: Stage) -> Answer:
    """An agent that nobody knows orders: it is told who decides, and the origin hears nothing of it."""
    answer = await stage.agent.post(ORDER, _UNPROVEN_KEY)
    _expect_held(answer)
    expect(answer, "detail=no-op-D9: a lower way is published", answer.detail == "no-op-D9")
    expect_posted(stage.origin, answer)
    return answer


async def by_another_query(stage: Stage) -> Answer:
    """It tries another query and another key: the same intent, answered from the record."""
    answer = await stage.agent.post(ORDER, f"{_UNPROVEN_KEY}-again", query="?retry=1")
    _expect_held(answer)
    expect(answer, f"detail={_FROM_RECORD}", answer.detail == _FROM_RECORD)
    expect_posted(stage.origin, answer)
    return answer


async def released(stage: Stage) -> Answer:
    """A person lets this intent pass: the same order arrives, once."""
    await _release(stage)
    answer = await stage.agent.post(ORDER, _UNPROVEN_KEY)
    _expect_done(stage, answer)
    return answer


async def refused_by_origin(stage: Stage) -> Answer:
    """An agent that has proven what it can do orders. The origin itself wants a person: its word is passed on."""
    stage.origin.take(ORDER, REVIEW_URL)
    answer = await stage.agent.post(ORDER, _PROVEN_KEY, token=TOKEN)
    _expect_held(answer)
    expect(answer, "the origin's own answer", answer.source == "origin")
    expect_posted(stage.origin, answer, 403)
    return answer


async def refused_by_record(stage: Stage) -> Answer:
    """That agent insists, by another query: the origin is not asked again, though it would do it now."""
    stage.origin.take(ORDER)
    answer = await stage.agent.post(ORDER, f"{_PROVEN_KEY}-again", query="?retry=1", token=TOKEN)
    _expect_held(answer)
    expect(answer, f"detail={_FROM_RECORD}", answer.detail == _FROM_RECORD)
    expect_posted(stage.origin, answer)
    return answer


async def released_again(stage: Stage) -> Answer:
    """A person lets it pass."""
    await _release(stage)
    answer = await stage.agent.post(ORDER, _PROVEN_KEY, token=TOKEN)
    _expect_done(stage, answer)
    return answer


async def same_key(stage: Stage) -> Answer:
    """The agent does not know whether its order arrived, and sends it again: it is not done twice."""
    answer = await stage.agent.post(ORDER, _PROVEN_KEY, token=TOKEN)
    expect(answer, "201 from what is kept", (answer.status, answer.detail) == (201, _REPLAYED))
    expect_told(answer, "Idempotent-Replayed", answer.fields.get("idempotent-replayed"), "true")
    expect_posted(stage.origin, answer)
    return answer


async def evidence(stage: Stage) -> Answer:
    """Both conflicts are on record, each with an envelope that keeps the rules of `lint`."""
    answer = await stage.agent.evidence()
    expect(answer, "200", answer.status == 200)
    conflicts: list[dict[str, Any]] = answer.members["evidence"]
    told = [(one["client"], one["method"], one["url"], one["state"], one["released_by"]) for one in conflicts]
    released = ("POST", ORDER.url, "released", "person")
    expect_told(answer, "conflicts", told, [("127.0.0.1", *released), (CLIENT, *released)])
    now = datetime.now(UTC).timestamp()
    for one in conflicts:
        found = failures(lint("envelope", json.dumps(one["envelope"]).encode(), now=now))
        expect_told(answer, "what lint finds", [finding.rule for finding in found], [])
    return answer


async def _release(stage: Stage) -> None:
    """As a person does who has looked at the only order that is held."""
    [conflict] = await stage.operator.held()
    await stage.operator.release(conflict["id"])


def _expect_held(answer: Answer) -> None:
    expect(answer, f"403 with the code {_HELD[0]} and {_HELD[1]}", (answer.status, answer.no_op) == (403, _HELD))


def _expect_done(stage: Stage, answer: Answer) -> None:
    expect(answer, "201 from the origin", (answer.status, answer.source) == (201, "origin"))
    expect_posted(stage.origin, answer, 201)
