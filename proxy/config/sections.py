"""The sections of the configuration that this version acts on: keys, defaults, units.

Durations are float seconds, sizes int bytes, lists tuples.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from proxy.config.values import (
    Address,
    BearerToken,
    BindHost,
    ConnectRule,
    Count,
    DocumentClassName,
    Duration,
    HostPatterns,
    HttpsUrl,
    ListenPort,
    Origin,
    Port,
    Size,
    StoreUrl,
    Text,
    Timeout,
    reason,
)
from proxy.http.targets import is_loopback
from proxy.upstream.dns.resolvers import BadResolver, Transport, parse_resolver


def _one_worker(workers: int) -> int:
    if workers > 1:
        raise reason("more than one worker is not available in this version; use 1")
    return workers


def _no_interception(connect: str) -> str:
    if connect == "intercept":
        raise reason("interception is not available in this version; use tunnel or off")
    return connect


def _no_dns_over_https(transport: str) -> str:
    if transport == "https":
        raise reason("DNS over HTTPS is not available in this version; use tls, tcp or udp")
    return transport


class Section(BaseModel):
    """A frozen group of keys; a key that it does not name is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Tls(Section):
    """PEM files of a TLS listener; `client_ca` asks for client certificates."""

    cert: Text | None = None
    key: Text | None = None
    client_ca: Text | None = None

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if (self.cert is None) != (self.key is None):
            raise reason("cert and key are needed together", "key" if self.key is None else "cert")
        if self.client_ca is not None and self.cert is None:
            raise reason("client_ca needs cert and key", "client_ca")
        return self


class Listen(Section):
    """The data port. `max_header` bounds the request line and each request header line, in bytes.

    `public_url`: by which agents reach it, for what the proxy publishes of itself.
    """

    host: BindHost = "127.0.0.1"
    port: ListenPort = 8080
    workers: Annotated[Count, AfterValidator(_one_worker)] = 1
    drain_timeout: Duration = 30.0
    tls: Tls = Tls()
    max_header: Size = 8190
    idle_timeout: Timeout = 75.0
    public_url: HttpsUrl | None = None


class Admin(Section):
    """The admin port; off loopback it is never without a token."""

    host: BindHost = "127.0.0.1"
    port: ListenPort = 9090
    token: BearerToken | None = Field(default=None, repr=False)

    @model_validator(mode="after")
    def _guarded(self) -> Self:
        if self.token is None and not is_loopback(self.host):
            raise reason(f"required, because admin.host {self.host} is not a loopback address", "token")
        return self


class Log(Section):
    """What is logged and how."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["json", "text"] = "json"


class Store(Section):
    """The second-level store behind memory."""

    url: StoreUrl = "sqlite:///var/discovery-proxy.db"
    operation_timeout: Timeout = 0.1
    key_prefix: Text = "discovery-proxy"

    @property
    def database(self) -> str | None:
        """The path of the SQLite file; None when everything stays in memory."""
        return self.url.removeprefix("sqlite:///") if self.url.startswith("sqlite:") else None


class Memory(Section):
    """The first-level store, indexes included."""

    max_bytes: Size = 256 * 2**20


class ClassOverride(Section):
    """What replaces a document class's own defaults; None leaves them."""

    lifetime: Duration | None = None
    stale_while_revalidate: Duration | None = None
    stale_if_error: Duration | None = None
    max_body: Size | None = None


class Cache(Section):
    """What is stored, how long it may serve, and how much work filling it may cause."""

    max_body: Size = 4 * 2**20
    max_variants: Count = 64
    s_maxage_forbids_stale: bool = True
    outage_stale: Duration = 0.0
    negative_ttl: Duration = 30.0
    classes: Mapping[DocumentClassName, ClassOverride] = {}
    fills_per_origin: Count = 64
    background_refreshes: Count = 32
    refresh_backoff: Timeout = 5.0


class Upstream(Section):
    """Connections to origins."""

    ca_file: Text | None = None
    connect_timeout: Timeout = 3.0
    total_timeout: Timeout = 10.0
    max_header: Size = 64 * 2**10
    connect_to: tuple[ConnectRule, ...] = ()
    idle_timeout: Duration = 4.0
    max_connections: Count = 256


class Dns(Section):
    """Resolvers and DNSSEC; no resolvers means the system's. `trust_anchors` is a file or "none"."""

    resolvers: tuple[Text, ...] = ()
    transport: Annotated[Literal["udp", "tcp", "tls", "https"], AfterValidator(_no_dns_over_https)] = "udp"
    dnssec: Literal["off", "prefer", "require"] = "prefer"
    trust_ad_from: tuple[Address, ...] = ()
    trust_anchors: Text | None = None

    @model_validator(mode="after")
    def _resolvable(self) -> Self:
        for text in self.resolvers:
            try:
                parse_resolver(text, Transport(self.transport))
            except BadResolver as error:
                raise reason(error.detail, "resolvers") from None
        return self


class Mdns(Section):
    """Discovery on the local link. `isolated`: there is no public DNS, so every name is looked for there."""

    enabled: bool = False
    isolated: bool = False
    interfaces: tuple[Text, ...] = ()

    @model_validator(mode="after")
    def _enabled(self) -> Self:
        if self.isolated and not self.enabled:
            raise reason("isolated needs enabled: true", "isolated")
        return self


class Discovery(Section):
    """Bounds of one discovery call, and what it may believe.

    `anp` asks for ANP agent descriptions too; `off_domain` follows signed pointers out of the domain; with
    `issuer_slash` pathless, an issuer without a path may differ from its metadata by the last slash.
    """

    deadline: Timeout = 10.0
    concurrency: Count = 4
    anp: bool = False
    off_domain: bool = False
    issuer_slash: Literal["strict", "pathless"] = "strict"
    mdns: Mdns = Mdns()


class Forward(Section):
    """CONNECT requests."""

    connect: Annotated[Literal["tunnel", "intercept", "off"], AfterValidator(_no_interception)] = "tunnel"
    connect_ports: tuple[Port, ...] = (443,)


class Site(Section):
    """A reverse-proxied origin; `boundary` None follows `boundary.mode`."""

    hosts: HostPatterns
    origin: Origin
    boundary: Literal["enforce", "report", "off"] | None = None
