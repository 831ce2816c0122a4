"""The parts that judge and find signed documents, put together under a configuration."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from proxy import __version__
from proxy.config import Settings
from proxy.config.trusting import Anchor
from proxy.engine.failover.recovery import Recovery
from proxy.engine.failover.settings import FailoverSettings
from proxy.engine.refresh import Refresher
from proxy.engine.state import EngineState
from proxy.engine.trust.continuing import Continuing
from proxy.engine.trust.control import TrustControl
from proxy.engine.trust.documents import DidDocuments
from proxy.engine.trust.known import Known
from proxy.engine.trust.pinning import Pinning
from proxy.engine.trust.probing import Probing
from proxy.engine.trust.settings import ConfiguredAnchor, TrustSettings
from proxy.engine.trust.standby import Standby
from proxy.engine.trust.verifying import Verifier
from proxy.engine.trust.voucher import SignatureVoucher
from proxy.engine.turns import Turns
from proxy.failover.gateways import parse_gateway
from proxy.failover.plan import PlanRules
from proxy.ports import Mirrors, Origin
from proxy.server.opening import CannotOpen, opening
from proxy.trust.did.document import parse_did_document
from proxy.trust.reasons import Untrusted
from proxy.trustrecords import TrustRecords

AGENT = f"discovery-proxy/{__version__}"


@dataclass(frozen=True, slots=True)
class Trusting:
    """What is known of domains, and who keeps it up to date, judges by it and looks for copies."""

    known: Known
    pinning: Pinning
    continuing: Continuing
    verifier: Verifier
    voucher: SignatureVoucher
    recovery: Recovery
    control: TrustControl

    def standby(self, state: EngineState, refresher: Refresher, settings: TrustSettings) -> Standby:
        """Who finds verified copies while an origin is down."""
        probing = Probing(state, refresher, state.clock)
        return Standby(
            state,
            self.known,
            self.pinning,
            self.continuing,
            self.verifier,
            self.recovery,
            probing,
            settings.mirror_max_age,
        )

    async def close(self) -> None:
        """Stop what is done behind the scenes."""
        await self.pinning.close()
        await self.continuing.close()


def build_trust(
    trust: TrustSettings,
    failover: FailoverSettings,
    state: EngineState,
    records: TrustRecords,
    turns: Turns,
    origin: Origin,
    mirrors: Mirrors,
) -> Trusting:
    """The parts, on the records that outlast them."""
    clock, observer = state.clock, state.observer
    known = Known(records, turns, state.copies, trust, clock)
    documents = DidDocuments(origin, mirrors, AGENT, clock, observer)
    pinning = Pinning(documents, known, trust, clock, observer)
    continuing = Continuing(documents, known, trust, clock, observer)
    verifier = Verifier(trust, clock, observer)
    voucher = SignatureVoucher(known, pinning, verifier, state.store, clock)
    recovery = Recovery(mirrors, observer, clock, failover)
    control = TrustControl(records, known, pinning, trust, clock)
    return Trusting(known, pinning, continuing, verifier, voucher, recovery, control)


def trust_settings(settings: Settings) -> TrustSettings:
    """The part of the configuration on trust. Raises CannotOpen for an anchor's document that cannot be used."""
    trust = settings.trust
    return TrustSettings(
        rules=trust.rules,
        probation=trust.probation,
        anchors={authority: _anchor(authority, anchor) for authority, anchor in trust.anchors.items()},
        mirror_max_age=settings.failover.mirror_max_age,
        is_strict=trust.strict,
    )


def failover_settings(settings: Settings) -> FailoverSettings:
    """The part of the configuration on failover."""
    failover = settings.failover
    gateways = tuple(parse_gateway(url) for url in failover.ipfs_gateways)
    return FailoverSettings(
        rules=PlanRules(gateways, failover.mirrors_max, frozenset(failover.mirror_ports)),
        hedge_delay=failover.hedge_delay,
        mirror_timeout=failover.mirror_timeout,
        deadline=failover.deadline,
    )


def _anchor(authority: str, anchor: Anchor) -> ConfiguredAnchor:
    document = _document(authority, anchor)
    if document is not None:
        try:
            parse_did_document(document, anchor.did)
        except Untrusted as error:
            raise CannotOpen(f"trust.anchors.{authority}: {error.detail} ({error.reason})") from None
    return ConfiguredAnchor(anchor.did, document)


def _document(authority: str, anchor: Anchor) -> bytes | None:
    if anchor.document is not None:
        with opening(f"trust.anchors.{authority}.document {anchor.document}"):
            return Path(anchor.document).read_bytes()
    if not anchor.keys:
        return None
    methods = [
        {"id": f"{anchor.did}#{name}", "type": "Multikey", "controller": anchor.did, "publicKeyMultibase": key}
        for name, key in anchor.keys.items()
    ]
    document = {"id": anchor.did, "verificationMethod": methods, "assertionMethod": [one["id"] for one in methods]}
    return json.dumps(document).encode()
