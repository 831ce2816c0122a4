"""Capability profiles on record: what a client registers of itself, reads back and takes away (CONTRACT §8).

A profile is a claim and proves nothing, so anybody may register one, but only for itself: a name that a credential
vouches for, or another's address, is not anybody's to speak for. It is read leniently and judged strictly: what it
gets wrong is told as warnings, and only what cannot be put on record is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from ipaddress import ip_address
from typing import Final
from urllib.parse import quote, unquote

from proxy.boundaries import BoundaryRecords, BoundaryUnavailable
from proxy.boundary.registration import Registration
from proxy.caching.serving import CacheStatus
from proxy.capability.atoms import Atom
from proxy.capability.ladders import Ladder
from proxy.capability.profilerules import profile_findings
from proxy.capability.profiles import ProfileRefused, parse_profile
from proxy.discovery.findings import Finding
from proxy.discovery.jsontext import MalformedJson, parse_json
from proxy.engine.boundary.identity import Identity
from proxy.engine.outcome import Complete, Served
from proxy.engine.turns import Turns
from proxy.http.fields import essence
from proxy.http.problems import Problem, Slug
from proxy.http.timestamps import timestamp
from proxy.ports import Clock
from proxy.server.own import JSON, Own

LARGEST_PROFILE: Final = 64 * 1024
"""Octets of a body."""
METHODS: Final = ("GET", "HEAD", "PUT", "DELETE")

_PATH: Final = re.compile("/v1/clients/([^/]+)/profile")
_CLIENT: Final = re.compile("[!-~]{1,200}")
_BAD_ID: Final = Problem(
    Slug.BAD_REQUEST, "/v1/clients/ID/profile: an id has 1 to 200 visible ASCII characters, percent-encoded."
)
_NOT_ALLOWED: Final = Problem(Slug.BAD_REQUEST, f"A profile takes {', '.join(METHODS)}.", at_status=405)
_FORBIDDEN: Final = Problem(
    Slug.UNAUTHORIZED,
    "A client speaks for itself alone: name your own id, which without a credential is your address or any name "
    "that is no configured client's and no address.",
    at_status=403,
)
_NO_JSON: Final = Problem(Slug.BAD_REQUEST, f"Send the profile as Content-Type: {JSON}.", at_status=415)
_TOO_LARGE: Final = Problem(
    Slug.TOO_LARGE,
    f"A profile has at most {LARGEST_PROFILE} octets.",
    {"limit": LARGEST_PROFILE},
    at_status=413,
)
_UNAVAILABLE: Final = Problem(
    Slug.INTERNAL,
    "Profiles cannot be put on record now, and nothing was changed. Ask again in a few seconds; "
    "/readyz on the admin port and the log say why.",
    at_status=503,
)


def profile_owner(path: str) -> str | None:
    """The id in the path of a profile, still percent-encoded; None for any other path."""
    match = _PATH.fullmatch(path)
    return None if match is None else match[1]


class ProfilePages:
    """Answers for profiles, which count for `lifetime` seconds."""

    def __init__(self, records: BoundaryRecords, clock: Clock, lifetime: float) -> None:
        self._records = records
        self._clock = clock
        self._lifetime = lifetime
        self._own = Own(clock)
        self._turns = Turns()

    async def answer(
        self,
        method: str,
        client_id: str,
        caller: Identity,
        known_ids: frozenset[str],
        body: bytes = b"",
        media_type: str | None = None,
    ) -> Complete | Problem:
        """The answer to a request of `caller` for the profile of a client.

        `client_id` as in the path, see profile_owner; `known_ids`: the configured clients; `media_type`: the
        Content-Type of `body`.
        """
        answering = self._answering(method, body, media_type)
        if answering is None:
            return _NOT_ALLOWED
        client = unquote(client_id, errors="replace")
        if not _CLIENT.fullmatch(client):
            return _BAD_ID
        if _canonical(client) == _canonical(caller.client):
            client = caller.client
        elif caller.is_proven or client in known_ids or _is_address(client):
            return _FORBIDDEN
        try:
            await self._records.refresh()
            return await answering(client)
        except BoundaryUnavailable:
            return _UNAVAILABLE

    def _answering(
        self, method: str, body: bytes, media_type: str | None
    ) -> Callable[[str], Awaitable[Complete | Problem]] | None:
        async def put(client: str) -> Complete | Problem:
            return await self._put(client, body, media_type)

        return {"GET": self._get, "HEAD": self._get, "PUT": put, "DELETE": self._delete}.get(method)

    async def _get(self, client: str) -> Complete | Problem:
        registration = self._records.profile(client)
        if registration is None:
            return _absent(client, "No profile is on record for this client.")
        if not registration.is_valid(self._clock()):
            ended = timestamp(registration.expires_at)
            return _absent(client, f"The profile of this client counted until {ended}. Register it anew.")
        return self._told(200, registration, profile_findings(registration.profile.told()))

    async def _put(self, client: str, body: bytes, media_type: str | None) -> Complete | Problem:
        if not _is_json(media_type):
            return _NO_JSON
        if len(body) > LARGEST_PROFILE:
            return _TOO_LARGE
        try:
            value = parse_json(body)
        except MalformedJson as error:
            return _refused(f"The profile cannot be read: {error.detail}.", ())
        findings = profile_findings(value)
        try:
            profile = parse_profile(value)
        except ProfileRefused as refused:
            return _refused(refused.detail, findings)
        async with self._turns.of(client):
            before, now = self._records.profile(client), self._clock()
            version = 1 if before is None else before.version + 1
            registration = Registration(client, version, profile, now, now + self._lifetime)
            await self._records.register(registration)
        status = 200 if before is not None and before.is_valid(now) else 201
        return self._told(status, registration, findings)

    async def _delete(self, client: str) -> Complete | Problem:
        async with self._turns.of(client):
            if not await self._records.unregister(client):
                return _absent(client, "No profile is on record for this client.")
        return self._complete(204, b"")

    def _told(self, status: int, registration: Registration, findings: Iterable[Finding]) -> Complete:
        profile = registration.profile
        label, claimed = profile.label, profile.claimed
        members: Mapping[str, object] = {
            "client": registration.client,
            "url": f"/v1/clients/{quote(registration.client, safe='')}/profile",
            "version": registration.version,
            "registered_at": timestamp(registration.registered_at),
            "expires_at": timestamp(registration.expires_at),
            "level": None if label is None else label.value,
            "ladder": Ladder.PROFILE.value,
            "atoms": [atom.value for atom in Atom if atom in claimed],
            "findings": _told_findings(findings),
            "profile": profile.told(),
        }
        return self._complete(status, json.dumps(members).encode("ascii"), ("Content-Type", JSON))

    def _complete(self, status: int, body: bytes, *extra: tuple[str, str]) -> Complete:
        local = CacheStatus(detail="local")
        return self._own.complete(status, body, "no-store", extra, local, Served.LOCAL, "other")


def _absent(client: str, detail: str) -> Problem:
    return Problem(Slug.NOT_FOUND, detail, {"client": client})


def _refused(detail: str, findings: Iterable[Finding]) -> Problem:
    return Problem(Slug.BAD_REQUEST, detail, {"findings": _told_findings(findings)})


def _told_findings(findings: Iterable[Finding]) -> list[dict[str, str]]:
    return [{"rule": one.rule, "path": one.path, "detail": one.detail} for one in findings]


def _is_json(media_type: str | None) -> bool:
    kind = essence(media_type)
    return kind == JSON or kind.endswith("+json")


def _is_address(client: str) -> bool:
    try:
        ip_address(client.strip("[]"))
    except ValueError:
        return False
    return True


def _canonical(client: str) -> str:
    """The one spelling of an address; anything else as it is."""
    try:
        return str(ip_address(client))
    except ValueError:
        return client
