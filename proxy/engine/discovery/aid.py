"""AID: the endpoint that a record or the well-known document names, its key proved live where it has one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from proxy.discovery.classes import DocumentClass
from proxy.discovery.findings import Finding
from proxy.discovery.records.aid import choose_aid, parse_aid_document
from proxy.discovery.records.aidrecord import AidCode, AidError, AidRecord, Proto
from proxy.discovery.records.pka import PkaReason
from proxy.engine.discovery.call import Call, at
from proxy.engine.discovery.cards import Leads
from proxy.engine.discovery.proof import prove
from proxy.engine.discovery.publications import HINT, ORIGIN_TLS
from proxy.engine.discovery.records import DnsFacts
from proxy.engine.discovery.steps import StepOutcome
from proxy.http.targets import Target
from proxy.ports import Origin

_STEP: Final = "aid"
_REFUSALS: Final[Mapping[PkaReason | None, str]] = {
    PkaReason.LEGACY_KEY: "The key of an aid1 record has another proof, which is not asked for here.",
    PkaReason.UNAVAILABLE: "The endpoint could not be asked to prove that it holds the key of the record.",
}


class AidSource:
    """AID in one call. `mcp_endpoint` is where an MCP server is known to listen by its word."""

    def __init__(self, call: Call, facts: DnsFacts, leads: Leads, origin: Origin, agent: str) -> None:
        self._call = call
        self._facts = facts
        self._leads = leads
        self._origin = origin
        self._agent = agent
        self.mcp_endpoint: Target | None = None

    async def by_record(self) -> None:
        """What DNS says: of AID, and the agents that the index names."""
        record = self._facts.agent.aid
        if isinstance(record, AidRecord):
            refusal = await self._add(record, record.version.value, HINT)
            if refusal is not None:
                self._facts.refuse_aid(f"{AidCode.ERR_SECURITY.name}: {refusal}")
        for name, agents in self._facts.agents.items():
            for pointer in agents:
                target = Target("https", pointer.target, pointer.port or 443, "/", None)
                self._call.published.add_endpoint(
                    pointer.protocol or "unknown", target.uri, "svcb", HINT, place=name
                )

    async def by_document(self) -> None:
        """The last probe, and only where DNS had no record or no answer (AID-9)."""
        said = self._facts.agent.aid
        if isinstance(said, AidRecord) or not said.allows_document:
            return
        target = at(self._call.domain, "/.well-known/agent")
        reading = await self._call.read(_STEP, target, DocumentClass.AID)
        if not reading.is_found:
            self._call.published.add_document(reading)
            return
        read = parse_aid_document(reading.body, reading.fields.get("content-type"), self._call.clock())
        record = choose_aid([read])
        if isinstance(record, AidError):
            self._call.published.add_document(reading, (Finding(record.name, "", record.detail),))
            return
        self._call.published.add_document(reading)
        await self._add(record, "aid-well-known", ORIGIN_TLS)

    async def _add(self, record: AidRecord, source: str, trust: str) -> str | None:
        """List the endpoint of a record; why not, where it has a key and does not prove to hold it (AID-21)."""
        if record.target is None:
            detail = f"{record.proto} endpoints are for a person on the machine to decide on."
            self._call.steps.note(_STEP, record.proto.value, StepOutcome.SKIPPED, detail)
            return None
        proof = await prove(self._call, record, self._origin, self._agent)
        if proof is not None and not proof.holds:
            return _REFUSALS.get(proof.verdict.reason, "The endpoint did not prove to hold the key of the record.")
        told = None if proof is None else proof.told()
        self._call.published.add_endpoint(record.proto.value, record.uri, source, trust, proof=told)
        metadata_url = None if proof is None else proof.metadata_url
        if record.proto is Proto.MCP or metadata_url is not None:
            self._leads.resources.setdefault(record.uri, metadata_url)
        if record.proto is Proto.MCP:
            self.mcp_endpoint = record.target
        return None
