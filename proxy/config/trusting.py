"""The sections of the configuration on trust and failover: keys, defaults, units."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from proxy.config.sections import Section
from proxy.config.values import Count, Duration, Port, Text, Timeout, Url, reason
from proxy.discovery.access.mirrors import MOST_MIRRORS
from proxy.failover.gateways import MalformedGateway, parse_gateway
from proxy.http.targets import DEFAULT_PORTS, MalformedTarget, https_authority, parse_authority
from proxy.trust.did.web import MalformedDid, parse_web_did
from proxy.trust.manifests import TrustRules
from proxy.trust.reasons import Untrusted
from proxy.trust.signatures.keys import parse_multikey


def _authority(text: str) -> str:
    try:
        return https_authority(*parse_authority(text, DEFAULT_PORTS["https"]))
    except MalformedTarget:
        raise reason(
            "a host name, with a port where it is not 443, such as example.com or example.com:8443"
        ) from None


def _did(text: str) -> str:
    try:
        parse_web_did(text)
    except MalformedDid as error:
        raise reason(f"a did:web or did:webvh; {error}") from None
    return text


def _multikey(text: str) -> str:
    try:
        parse_multikey(text)
    except Untrusted as error:
        raise reason(f"a public key in Multikey form, such as z6Mk…; {error.detail}") from None
    return text


def _gateway(url: str) -> str:
    try:
        parse_gateway(url)
    except MalformedGateway as error:
        raise reason(error.detail) from None
    return url


def _no_more_mirrors(count: int) -> int:
    if count > MOST_MIRRORS:
        raise reason(f"at most {MOST_MIRRORS}, which is as many as a manifest may list")
    return count


def _from_did(value: Any) -> Any:
    return {"did": value} if isinstance(value, str) else value


Authority = Annotated[Text, AfterValidator(_authority)]
Did = Annotated[Text, AfterValidator(_did)]
Multikey = Annotated[Text, AfterValidator(_multikey)]
GatewayUrl = Annotated[Url, AfterValidator(_gateway)]


class Anchor(Section):
    """The DID of a domain, and its keys where they are not to be fetched from it.

    `document` is a file with the DID document; `keys` are public keys by the fragment of their verification method.
    """

    did: Did
    document: Text | None = None
    keys: Mapping[Text, Multikey] = {}

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if self.document is not None and self.keys:
            raise reason("either document or keys, not both", "keys")
        return self


class Trust(Section):
    """Anchors by domain, and the ages that pins may reach; with `strict` none counts past its soft age."""

    anchors: Mapping[Authority, Annotated[Anchor, BeforeValidator(_from_did)]] = {}
    pin_soft: Duration = 7 * 86400.0
    pin_hard: Duration = 30 * 86400.0
    probation: Duration = 3600.0
    clock_skew: Duration = 300.0
    max_manifest_age: Duration = 90 * 86400.0
    strict: bool = False

    @property
    def rules(self) -> TrustRules:
        """What verifying goes by."""
        return TrustRules(self.clock_skew, self.pin_soft, self.pin_hard, self.max_manifest_age)

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.pin_soft > self.pin_hard:
            raise reason("no longer than pin_hard", "pin_soft")
        return self


class Failover(Section):
    """Mirrors and IPFS gateways while an origin is down."""

    mirror_max_age: Duration = 300.0
    hedge_delay: Duration = 0.4
    deadline: Timeout = 6.0
    mirrors_max: Annotated[Count, AfterValidator(_no_more_mirrors)] = MOST_MIRRORS
    mirror_timeout: Timeout = 3.0
    mirror_ports: tuple[Port, ...] = (443,)
    ipfs_gateways: tuple[GatewayUrl, ...] = Field(default=(), repr=False)
