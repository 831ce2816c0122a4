"""The resources of the boundary: advice on routes, evidence, and what clients say of themselves (CONTRACT §8)."""

from __future__ import annotations

from typing import Final

from proxy.engine.boundary.asking import Asking
from proxy.engine.boundary.identity import Identity
from proxy.engine.outcome import Complete
from proxy.http.messages import Request
from proxy.http.problems import Problem
from proxy.http.targets import Target
from proxy.server.evidencepages import EVIDENCE, EvidencePages
from proxy.server.own import Asked
from proxy.server.profilepages import METHODS, ProfilePages, profile_owner
from proxy.server.resolvepages import RESOLVE, ResolvePages

_READS: Final = ("GET", "HEAD")
_NOWHERE: Final = Target("https", "origin.invalid", 443, "/", None)


class BoundedPages:
    """Answers for them; `ids` are the clients that the operator has configured."""

    def __init__(
        self, resolving: ResolvePages, evidence: EvidencePages, profiles: ProfilePages, ids: frozenset[str]
    ) -> None:
        self._resolving = resolving
        self._evidence = evidence
        self._profiles = profiles
        self._ids = ids

    def methods(self, path: str) -> tuple[str, ...]:
        """What may be done at `path`; () where none of these resources is."""
        if path == RESOLVE:
            return ("POST",)
        if path == EVIDENCE or path.startswith(f"{EVIDENCE}/"):
            return _READS
        return METHODS if profile_owner(path) is not None else ()

    async def answer(self, asked: Asked) -> Complete | Problem:
        """The answer to a request for one of them."""
        identity = asked.identity or Identity("")
        if asked.path == RESOLVE:
            request = Request(asked.method, _NOWHERE, asked.fields)
            return await self._resolving.answer(Asking(request, identity, request_id=asked.request_id), asked.body)
        owner = profile_owner(asked.path)
        if owner is None:
            return await self._evidence.answer(asked, identity.client if identity.is_proven else None)
        media_type = asked.fields.get("content-type")
        return await self._profiles.answer(asked.method, owner, identity, self._ids, asked.body, media_type)
