"""Discovery on the local link: agents heard by multicast DNS, and their manifests (U-D1, MD-1 to MD-3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from proxy.discovery.access.manifest import ManifestRefused, parse_manifest
from proxy.discovery.classes import DocumentClass
from proxy.discovery.names import LOCAL_SUFFIX, is_local
from proxy.discovery.records.localservices import Browsed, LocalAgent, UnusableService, read_service
from proxy.engine.discovery.call import Call
from proxy.engine.discovery.manifests import FoundManifest
from proxy.engine.discovery.reading import Manner
from proxy.engine.discovery.steps import StepEnd, StepOutcome
from proxy.http.messages import Realm
from proxy.http.targets import Target
from proxy.lint.manifest import lint_manifest
from proxy.ports import LocalLink

_WINDOW_SECONDS: Final = 2.0
_TRUST: Final = "unverified-local"
# Claims that nothing vouches for are asked for again soon, whatever their TTL.
_LONGEST_SECONDS: Final = 120.0


@dataclass(frozen=True, slots=True)
class Heard:
    """What a browse made of the instances: those of use, and the others with the reason."""

    agents: tuple[LocalAgent, ...]
    unusable: tuple[UnusableService, ...]
    problem: str | None


async def find_local(call: Call, link: LocalLink) -> FoundManifest | None:
    """The manifest of the call's host on the local link; its agents become endpoints of the call."""
    name = call.domain if is_local(call.domain) else call.domain + LOCAL_SUFFIX
    heard = await call.steps.take("mdns", name, lambda: _browse(call, link), lambda heard: _step_end(heard, name))
    if heard.problem is not None and not heard.agents:
        call.has_failures = True
    found: FoundManifest | None = None
    for agent in heard.agents:
        if agent.host != name:
            continue
        link.admit(agent.host, agent.addresses)
        target = Target("https", agent.host, agent.port, agent.path, None)
        call.published.add_endpoint(agent.proto or "uaix", target.uri, "mdns", _TRUST, place=agent.name)
        found = found or await _manifest(call, target, agent)
    return found


async def _browse(call: Call, link: LocalLink) -> Heard:
    browsed: Browsed = await link.browse(_WINDOW_SECONDS)
    read = [read_service(service, browsed.links) for service in browsed.services]
    lives = [float(service.ttl) for service in browsed.services]
    call.expire_at(call.clock() + min([_LONGEST_SECONDS, *lives]) if lives else call.clock())
    return Heard(
        tuple(one for one in read if isinstance(one, LocalAgent)),
        tuple(one for one in read if isinstance(one, UnusableService)),
        browsed.problem,
    )


def _step_end(heard: Heard, name: str) -> StepEnd:
    ours = [agent for agent in heard.agents if agent.host == name]
    told = [f"{agent.name}: {', '.join(agent.capabilities) or 'no capabilities'}" for agent in ours]
    told += [f"{one.name}: {one.detail}" for one in heard.unusable]
    told += [heard.problem] if heard.problem else []
    outcome = StepOutcome.FOUND if ours else StepOutcome.FAILED if heard.problem else StepOutcome.ABSENT
    return StepEnd(outcome, "; ".join(told))


async def _manifest(call: Call, target: Target, agent: LocalAgent) -> FoundManifest | None:
    reading = await call.read("manifest", target, DocumentClass.MANIFEST, Manner(realm=Realm.LOCAL))
    if not reading.is_found:
        call.published.add_document(reading)
        return None
    manifest = parse_manifest(reading.body, agent.host)
    call.published.add_document(reading, lint_manifest(reading.body, call.clock()), trust=_TRUST)
    if isinstance(manifest, ManifestRefused) or reading.needs_proof:
        detail = manifest.detail if isinstance(manifest, ManifestRefused) else "Another host serves it."
        call.steps.note("manifest-authority", reading.url, StepOutcome.REFUSED, detail)
        return None
    return FoundManifest(reading, manifest, "mdns", _TRUST, agent.did)
