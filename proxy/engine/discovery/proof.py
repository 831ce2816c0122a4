"""AID's proof of the endpoint's key, run live (AID-20 to AID-23).

The proof is bound to one request: it goes past every cache, and what remains of it is a verdict with its time.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Final

from proxy.discovery.authorization.challenges import MetadataLocated, parse_challenges, resource_metadata
from proxy.discovery.names import same_site
from proxy.discovery.records.aidrecord import AidRecord
from proxy.discovery.records.pka import (
    PkaReason,
    PkaRequest,
    PkaState,
    PkaVerdict,
    no_proof,
    request_fields,
    verify,
)
from proxy.engine.discovery.call import Call
from proxy.engine.discovery.steps import StepEnd, StepOutcome
from proxy.http.fields import Fields
from proxy.http.messages import Realm, Request, ResponseHead
from proxy.http.timestamps import timestamp
from proxy.ports import Origin, OriginUnavailable

_NONCE_OCTETS: Final = 32
_OUTCOMES: Final = {
    PkaState.VERIFIED: StepOutcome.FOUND,
    PkaState.FAILED: StepOutcome.REFUSED,
    PkaState.UNVERIFIABLE: StepOutcome.FAILED,
}


@dataclass(frozen=True, slots=True)
class Proof:
    """A verdict and when it was reached. `metadata_url`: what a 401 of the endpoint named (OA-1)."""

    verdict: PkaVerdict
    checked_at: float
    metadata_url: str | None = None

    @property
    def holds(self) -> bool:
        """Whether the endpoint proved to hold the key."""
        return self.verdict.state is PkaState.VERIFIED

    def told(self) -> dict[str, object]:
        """The verdict as the answer has it."""
        reason = self.verdict.reason
        return {
            "verdict": self.verdict.state.value,
            "reason": None if reason is None else reason.value,
            "checked_at": timestamp(self.checked_at),
            "domain_bound": self.verdict.is_domain_bound,
        }


async def prove(call: Call, record: AidRecord, origin: Origin, agent: str) -> Proof | None:
    """Ask the endpoint of `record` for its proof; None where the record has no key to prove."""
    if "pka" not in record.fields or record.target is None:
        return None
    call.expire_at(call.clock())
    if record.key is None:
        call.steps.note("aid-pka", record.uri, StepOutcome.SKIPPED, "The proof of an aid1 key is another one.")
        return Proof(no_proof(PkaReason.LEGACY_KEY), call.clock())
    refusal = call.refusal(record.target)
    if refusal is not None:
        call.refuse("aid-pka", record.target, refusal)
        return Proof(no_proof(PkaReason.UNAVAILABLE), call.clock())
    asked = PkaRequest(record.key, secrets.token_bytes(_NONCE_OCTETS), record.target, call.domain)
    return await call.steps.take("aid-pka", record.uri, lambda: _proved(call, asked, origin, agent), _step_end)


async def _proved(call: Call, asked: PkaRequest, origin: Origin, agent: str) -> Proof:
    fields = Fields((("User-Agent", agent), ("Accept", "*/*"), *request_fields(asked)))
    request = Request("GET", asked.target, fields, Realm.PUBLIC)
    try:
        response = await origin.fetch(request)
    except OriginUnavailable:
        return Proof(no_proof(PkaReason.UNAVAILABLE), call.clock())
    head = response.head
    response.close()
    verdict = verify(asked, head.status, head.fields, call.clock())
    return Proof(verdict, call.clock(), _named_metadata(head, asked))


def _named_metadata(head: ResponseHead, asked: PkaRequest) -> str | None:
    if head.status != 401:
        return None
    located = resource_metadata(parse_challenges(head.fields.get_all("www-authenticate")))
    if isinstance(located, MetadataLocated) and same_site(located.url.host, asked.target.host):
        return located.published
    return None


def _step_end(proof: Proof) -> StepEnd:
    reason = proof.verdict.reason
    return StepEnd(_OUTCOMES[proof.verdict.state], "" if reason is None else reason.value)
