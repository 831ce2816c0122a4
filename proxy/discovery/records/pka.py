"""PKA: does an endpoint hold the key that its AID record names? (AID-20 to AID-23, RFC 9421)

The proof is a signature over one request and its answer, made for one nonce. A verdict holds for that moment
only: neither proof nor answer is ever cached. It shows that the endpoint holds the key, not that the owner of
the zone chose it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Never, cast

import http_sf
from http_sf.types import BareItemType, ItemOrInnerListType, ItemType

from proxy.discovery.records.pkakeys import PublicKey, base64url, thumbprint
from proxy.http.fields import Fields, split_list
from proxy.http.targets import Target

LABEL: Final = "aid-pka"
TAG: Final = "aid-pka-v2"
ALGORITHM: Final = "ed25519"
METHOD: Final = "GET"
LONGEST_WINDOW: Final = 300
CLOCK_SKEW: Final = 30
_SIGNATURE_OCTETS: Final = 64
_BASE: Final = '"@method";req "@target-uri";req "@authority";req'
_UNBOUND: Final = f'({_BASE} "@status")'
_BOUND: Final = f'({_BASE} "aid-domain";req "@status")'
_PARAMETERS: Final = {"created": int, "expires": int, "keyid": str, "alg": str, "nonce": str, "tag": str}


@dataclass(frozen=True, slots=True)
class PkaRequest:
    """The request that asks for a proof: GET `target` with the fields of `request_fields`, redirects not followed.

    `nonce` is at least 32 random octets, new for each request. `domain` is the canonical name that was asked
    about, to have the answer bound to it; None asks for no binding.
    """

    key: PublicKey
    nonce: bytes
    target: Target
    domain: str | None = None


class PkaState(StrEnum):
    VERIFIED = "verified"
    FAILED = "failed"
    UNVERIFIABLE = "unverifiable"


class PkaReason(StrEnum):
    """Why there is no proof. The first two leave it open whether the endpoint could give one."""

    UNAVAILABLE = "unavailable"
    LEGACY_KEY = "legacy_key"
    REDIRECT = "redirect"
    DOMAIN_REFUSED = "domain_refused"
    UNSIGNED = "unsigned"
    CACHEABLE = "cacheable"
    MALFORMED = "malformed"
    REPEATED = "repeated"
    COMPONENTS = "components"
    DOMAIN_NOT_ASKED = "domain_not_asked"
    PARAMETERS = "parameters"
    WINDOW = "window"
    TOO_EARLY = "too_early"
    EXPIRED = "expired"
    KEY_ID = "key_id"
    ALGORITHM = "algorithm"
    NONCE = "nonce"
    TAG = "tag"
    SIGNATURE = "signature"


_OPEN: Final = frozenset({PkaReason.UNAVAILABLE, PkaReason.LEGACY_KEY})


@dataclass(frozen=True, slots=True)
class PkaVerdict:
    """What came of the proof. `signed_at` is in Unix seconds by the endpoint's clock, for a proof that holds.

    `is_domain_bound`: the endpoint signed that it serves the domain asked about.
    """

    state: PkaState
    reason: PkaReason | None = None
    signed_at: int | None = None
    is_domain_bound: bool = False


def no_proof(reason: PkaReason) -> PkaVerdict:
    """The verdict where nothing was proved: `failed`, or `unverifiable` where the reason leaves it open."""
    return PkaVerdict(PkaState.UNVERIFIABLE if reason in _OPEN else PkaState.FAILED, reason)


def request_fields(request: PkaRequest) -> tuple[tuple[str, str], ...]:
    """The field lines that ask for a proof (AID-20, AID-22; RFC 9421 §5.1)."""
    covered = _UNBOUND if request.domain is None else _BOUND
    wanted = (
        f'{LABEL}={covered};created;expires;keyid="{thumbprint(request.key)}";alg="{ALGORITHM}"'
        f';nonce="{base64url(request.nonce)}";tag="{TAG}"'
    )
    asked = (("Accept-Signature", wanted), ("Cache-Control", "no-store"))
    return asked if request.domain is None else (*asked, ("AID-Domain", request.domain))


def signature_base(components: Sequence[tuple[str, str]], parameters: str) -> bytes:
    """The octets that are signed (RFC 9421 §2.5): component identifiers with their values, then the parameters."""
    lines = [f"{identifier}: {value}" for identifier, value in components]
    return "\n".join([*lines, f'"@signature-params": {parameters}']).encode()


def verify(request: PkaRequest, status: int, fields: Fields, now: float) -> PkaVerdict:
    """The verdict on the answer to `request` (AID-21), by its status and header fields. Never raises.

    Any status may be signed but a redirection. `now` is in Unix seconds.
    """
    try:
        return _verified(request, status, fields, now)
    except _Unproved as unproved:
        return no_proof(unproved.reason)


class _Unproved(Exception):
    def __init__(self, reason: PkaReason) -> None:
        super().__init__(reason)
        self.reason = reason


def _verified(request: PkaRequest, status: int, fields: Fields, now: float) -> PkaVerdict:
    _require_answer(request, status, fields)
    covered, parameters = _signature_input(fields)
    signature = _signature(fields)
    is_bound = covered == _BOUND
    if not is_bound and covered != _UNBOUND:
        raise _Unproved(PkaReason.COMPONENTS)
    if is_bound and request.domain is None:
        raise _Unproved(PkaReason.DOMAIN_NOT_ASKED)
    created = _check_parameters(request, parameters, now)
    base = signature_base(
        _components(request, status, is_bound=is_bound), f"{covered}{_serialised_parameters(parameters)}"
    )
    if not request.key.verifies(signature, base):
        raise _Unproved(PkaReason.SIGNATURE)
    return PkaVerdict(PkaState.VERIFIED, None, created, is_bound)


def _require_answer(request: PkaRequest, status: int, fields: Fields) -> None:
    if 300 <= status < 400:
        raise _Unproved(PkaReason.REDIRECT)
    if "signature-input" not in fields and "signature" not in fields:
        if status >= 500 or status == 429:
            raise _Unproved(PkaReason.UNAVAILABLE)
        is_refusal = status == 403 and request.domain is not None
        raise _Unproved(PkaReason.DOMAIN_REFUSED if is_refusal else PkaReason.UNSIGNED)
    directives = [directive for value in fields.get_all("cache-control") for directive in split_list(value)]
    if not any(directive.partition("=")[0].strip().lower() == "no-store" for directive in directives):
        raise _Unproved(PkaReason.CACHEABLE)


def _signature_input(fields: Fields) -> tuple[str, Mapping[str, BareItemType]]:
    """The covered components in their serialised form, and the parameters (RFC 9421 §4.1)."""
    value, parameters = _member(fields, "signature-input")
    if not isinstance(value, list):
        raise _Unproved(PkaReason.MALFORMED)
    return http_sf.ser([cast(ItemOrInnerListType, (value, {}))]), parameters


def _signature(fields: Fields) -> bytes:
    """The octets of the signature (RFC 9421 §4.2)."""
    value, parameters = _member(fields, "signature")
    if not isinstance(value, bytes) or len(value) != _SIGNATURE_OCTETS or parameters:
        raise _Unproved(PkaReason.MALFORMED)
    return value


def _member(fields: Fields, name: str) -> tuple[BareItemType | list[ItemType], Mapping[str, BareItemType]]:
    """The member of our label in a dictionary field; whatever comes twice in the field voids it."""
    try:
        text = ", ".join(fields.get_all(name)).encode("ascii")
        members = http_sf.parse(text, tltype="dictionary", on_duplicate_key=_refuse_repetition)
    except (UnicodeEncodeError, http_sf.StructuredFieldError):
        raise _Unproved(PkaReason.MALFORMED) from None
    member = cast(dict[str, object], members).get(LABEL)
    if member is None:
        raise _Unproved(PkaReason.UNSIGNED)
    return cast(tuple[BareItemType | list[ItemType], Mapping[str, BareItemType]], member)


def _refuse_repetition(key: str, context: str) -> Never:
    raise _Unproved(PkaReason.REPEATED)


def _check_parameters(request: PkaRequest, parameters: Mapping[str, BareItemType], now: float) -> int:
    """The time of signing, if every parameter is as asked for."""
    if {name: type(value) for name, value in parameters.items()} != _PARAMETERS:
        raise _Unproved(PkaReason.PARAMETERS)
    created, expires = cast(int, parameters["created"]), cast(int, parameters["expires"])
    for reason, holds in (
        (PkaReason.WINDOW, created < expires <= created + LONGEST_WINDOW),
        (PkaReason.TOO_EARLY, created <= now + CLOCK_SKEW),
        (PkaReason.EXPIRED, now <= expires + CLOCK_SKEW),
        (PkaReason.KEY_ID, parameters["keyid"] == thumbprint(request.key)),
        (PkaReason.ALGORITHM, cast(str, parameters["alg"]).lower() == ALGORITHM),
        (PkaReason.NONCE, parameters["nonce"] == base64url(request.nonce)),
        (PkaReason.TAG, parameters["tag"] == TAG),
    ):
        if not holds:
            raise _Unproved(reason)
    return created


def _components(request: PkaRequest, status: int, *, is_bound: bool) -> list[tuple[str, str]]:
    """Identifiers and values in the order of the covered list (RFC 9421 §2.2, §2.4)."""
    target = request.target
    domain = [('"aid-domain";req', request.domain)] if is_bound and request.domain is not None else []
    return [
        ('"@method";req', METHOD),
        ('"@target-uri";req', target.uri),
        ('"@authority";req', target.authority),
        *domain,
        ('"@status"', str(status)),
    ]


def _serialised_parameters(parameters: Mapping[str, BareItemType]) -> str:
    item = http_sf.ser((True, dict(parameters)))
    return item.removeprefix("?1")
