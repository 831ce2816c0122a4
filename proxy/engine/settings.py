"""The engine's limits and what holds for each document class, as values derived once from configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from proxy.caching.storing import StoragePolicy
from proxy.discovery.classes import POLICIES, ClassPolicy, DocumentClass, DocumentFormat, classify
from proxy.http.messages import Request

# What a body under a format gate may be coded with: the codings that can be undone to look inside.
CHECKABLE_CODINGS = frozenset({"gzip", "deflate"})


@dataclass(frozen=True, slots=True)
class EngineSettings:
    """Sizes in bytes, durations in seconds, counts as counts."""

    max_body: int = 4 * 2**20
    max_fields: int = 64 * 2**10
    background_refreshes: int = 32
    fills_per_origin: int = 64
    fill_patience: float = 3.0
    """How long a fill waits for one of its origin's places."""
    refresh_backoff: float = 5.0
    flight_lease: float = 20.0
    """How long a fill may hold its key: longer than the origin adapter lets any exchange last."""
    negative_ttl: float = 30.0
    outage_stale: float = 0.0
    s_maxage_forbids_stale: bool = True
    agent: str = "discovery-proxy"
    """The User-Agent of what is asked on behalf of everybody."""


@dataclass(frozen=True, slots=True)
class ClassRules:
    """One document class under the configuration in force."""

    document_class: DocumentClass
    storage: StoragePolicy
    max_body: int

    @property
    def is_gated(self) -> bool:
        """Whether only documents of a declared format are accepted."""
        return POLICIES[self.document_class].format is not DocumentFormat.ANY

    @property
    def has_copies(self) -> bool:
        """Whether publishers name places that keep verifiable copies of documents of this class."""
        return self.document_class is DocumentClass.MANIFEST

    @property
    def checkable(self) -> frozenset[str] | None:
        """The codings to ask an origin for; None leaves the client's choice."""
        return CHECKABLE_CODINGS if self.is_gated else None


class Rules:
    """The rules of every class. What a target is, its path tells, or else its own site, in the request."""

    def __init__(self, settings: EngineSettings, policies: Mapping[DocumentClass, ClassPolicy] = POLICIES) -> None:
        self._rules = {name: _rules(name, policies[name], settings) for name in DocumentClass}

    def of(self, request: Request) -> ClassRules:
        """The rules for `request`, by the normal form of its target's path."""
        document_class = classify(request.target.normal_path)
        if document_class is DocumentClass.OTHER and request.document_class is not None:
            document_class = DocumentClass(request.document_class)
        return self._rules[document_class]

    def of_class(self, document_class: DocumentClass) -> ClassRules:
        """The rules of a class that is known without a request."""
        return self._rules[document_class]


def _rules(name: DocumentClass, policy: ClassPolicy, settings: EngineSettings) -> ClassRules:
    storage = StoragePolicy(
        document_class=name,
        lifetime=policy.lifetime,
        stale_while_revalidate=policy.stale_while_revalidate,
        stale_if_error=policy.stale_if_error,
        negative_lifetime=settings.negative_ttl,
        outage_stale=settings.outage_stale,
        s_maxage_forbids_stale=settings.s_maxage_forbids_stale,
        mints_etag=name is not DocumentClass.OTHER,
    )
    return ClassRules(name, storage, settings.max_body if policy.max_body is None else policy.max_body)
