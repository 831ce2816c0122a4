"""Fetching DID documents and logs from where the DID says, bounded and without redirects (TRUST.md §1.2)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from proxy.engine.failover.gateways import metered
from proxy.failover.attempts import AttemptOutcome
from proxy.http.fields import Fields, essence
from proxy.http.messages import Realm, Request
from proxy.http.targets import Target
from proxy.ports import Clock, Mirrors, MirrorUnavailable, Observer, Origin, OriginUnavailable, Overflow
from proxy.trust.did.document import MOST_OCTETS
from proxy.trust.did.web import MalformedDid, document_target, is_webvh
from proxy.trust.did.webvh.log import MOST_OCTETS as MOST_LOG_OCTETS
from proxy.trust.did.webvh.places import log_target, watcher_targets, witness_target
from proxy.trust.records.pin import NO_VALIDATORS, Pin, Validators

_SECONDS: Final = 5.0
_ACCEPT: Final = "application/did+json, application/did+ld+json, application/did, application/json"
_ACCEPT_LOG: Final = "text/jsonl, application/jsonl, application/json;q=0.5, */*;q=0.1"
_GONE: Final = frozenset({404, 410})
_MOST_WATCHERS: Final = 4
_MOST_MIRRORS: Final = 2


@dataclass(frozen=True, slots=True)
class Fetched:
    """The document or log of the DID; not verified."""

    body: bytes
    validators: Validators = NO_VALIDATORS
    witnesses: bytes | None = None


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The domain says that it is the one that is pinned."""


@dataclass(frozen=True, slots=True)
class NotThere:
    """The domain says, over TLS, that there is none."""


@dataclass(frozen=True, slots=True)
class Unusable:
    """Nothing that could be used came; `reason` is a stable word."""

    reason: str


FetchEnd = Fetched | Unchanged | NotThere | Unusable


class DidDocuments:
    """Asks domains for their documents, and watchers for logs."""

    def __init__(self, origin: Origin, mirrors: Mirrors, agent: str, clock: Clock, observer: Observer) -> None:
        self._origin = origin
        self._mirrors = mirrors
        self._agent = agent
        self._clock = clock
        self._observer = observer

    async def fetch(self, did: str, pin: Pin | None) -> FetchEnd:
        """What the domain of `did` has, asked conditionally on the pin. Never raises."""
        try:
            if is_webvh(did):
                return await self._log(did, pin)
            return await self._get(document_target(did), _ACCEPT, MOST_OCTETS, pin)
        except MalformedDid:
            return Unusable("did_invalid")

    async def from_elsewhere(
        self, did: str, watchers: Sequence[str], mirrors: Sequence[Target]
    ) -> tuple[Fetched, ...]:
        """Every log of a did:webvh that watchers have, or mirrors beside their manifest; unverified."""
        watched = [watcher_targets(watcher, did) for watcher in watchers[:_MOST_WATCHERS]]
        beside = [_beside(mirror) for mirror in mirrors[:_MOST_MIRRORS]]
        places = [one for one in dict.fromkeys((*watched, *beside)) if one is not None]
        asked = [self._log_at(*place) for place in places]
        return tuple(found for found in await asyncio.gather(*asked) if found is not None)

    async def _log(self, did: str, pin: Pin | None) -> FetchEnd:
        end = await self._get(log_target(did), _ACCEPT_LOG, MOST_LOG_OCTETS, pin)
        if not isinstance(end, Fetched):
            return end
        witnesses = await self._get(witness_target(did), _ACCEPT_LOG, MOST_LOG_OCTETS, None)
        return Fetched(end.body, end.validators, witnesses.body if isinstance(witnesses, Fetched) else None)

    async def _log_at(self, log: Target, witnesses: Target) -> Fetched | None:
        body = await self._from_mirror(log)
        return None if body is None else Fetched(body, witnesses=await self._from_mirror(witnesses))

    async def _from_mirror(self, target: Target) -> bytes | None:
        try:
            answer = await self._mirrors.fetch(
                target, _ACCEPT_LOG, MOST_LOG_OCTETS, _SECONDS, Realm.PUBLIC, lambda hop: hop.scheme == "https"
            )
        except MirrorUnavailable:
            return None
        return answer.body

    async def _get(self, target: Target, accept: str, most: int, pin: Pin | None) -> FetchEnd:
        started = self._clock()
        try:
            async with asyncio.timeout(_SECONDS):
                end = await self._exchange(target, accept, most, pin)
        except TimeoutError:
            end = Unusable("origin-timeout")
        except OriginUnavailable as error:
            end = Unusable(error.fault.value)
        result = _RESULTS.get(type(end)) or metered(AttemptOutcome.FAILED, getattr(end, "reason", ""))
        self._observer.upstream("did", result, self._clock() - started)
        return end

    async def _exchange(self, target: Target, accept: str, most: int, pin: Pin | None) -> FetchEnd:
        lines = [("User-Agent", self._agent), ("Accept", accept), ("Accept-Encoding", "identity")]
        if pin is not None and pin.validators.etag is not None:
            lines.append(("If-None-Match", pin.validators.etag))
        if pin is not None and pin.validators.last_modified is not None:
            lines.append(("If-Modified-Since", pin.validators.last_modified))
        response = await self._origin.fetch(Request("GET", target, Fields(lines), Realm.PUBLIC))
        try:
            status, fields = response.head.status, response.head.fields
            if status == 304:
                return Unchanged() if len(lines) > 3 else Unusable("origin-invalid-response")
            if status in _GONE:
                return NotThere()
            if 300 <= status < 400:
                return Unusable("redirect-refused")
            if status != 200:
                return Unusable(f"status-{status}")
            if essence(fields.get("content-type")) == "text/html" or "content-encoding" in fields:
                return Unusable("not-a-document")
            body = await response.read(most)
        finally:
            response.close()
        if isinstance(body, Overflow):
            return Unusable("did_doc_too_large")
        return Fetched(body, Validators(_plain(fields.get("etag")), _plain(fields.get("last-modified"))))


_RESULTS: Final = {Fetched: "stored", Unchanged: "not-modified", NotThere: "absent"}


def _plain(validator: str | None) -> str | None:
    """A validator that can be kept and sent again; of any other character there is none in good use."""
    return validator if validator is not None and validator.isascii() and validator.isprintable() else None


def _beside(mirror: Target) -> tuple[Target, Target]:
    """Where a mirror would keep the log: in the folder of its copy."""
    folder = mirror.path.rpartition("/")[0]
    log = replace(mirror, path=f"{folder}/did.jsonl", query=None)
    return log, replace(log, path=f"{folder}/did-witness.json")
