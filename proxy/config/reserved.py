"""The sections of the configuration that this version checks but does not act on: keys, defaults, units."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, JsonValue

from proxy.config.sections import Section
from proxy.config.values import Count, Digest, Network, Port, Rate, Text


class BoundarySecrets(Section):
    """What a secret in a target URL leads to."""

    listed: Literal["enforce", "report"] = "enforce"
    unlisted: Literal["enforce", "report"] = "report"


class Boundary(Section):
    """The no-op boundary; `hosts` holds routes by host."""

    mode: Literal["enforce", "report", "off"] = "enforce"
    unlisted: Literal["pass", "no-op"] = "pass"
    secrets: BoundarySecrets = BoundarySecrets()
    hosts: Mapping[str, JsonValue] = {}


class ClientToken(Section):
    """A client known by the SHA-256 of its bearer token."""

    id: Text
    sha256: Digest = Field(repr=False)
    level: Literal["L0", "L1", "L2", "L3", "L4", "L5", "L6", "L7"] = "L4"
    ladder: Literal["exec", "surface", "profile", "autonomy"] = "exec"
    atoms: tuple[Text, ...] = ()
    allow_hosts: tuple[Text, ...] = ()


class Clients(Section):
    """Who may use the proxy; `rate_limit` is requests per second of one client."""

    auth: Literal["none", "bearer", "mtls"] = "none"
    tokens: tuple[ClientToken, ...] = ()
    rate_limit: Rate | None = None
    concurrency: Count | None = None


class Egress(Section):
    """Where the proxy may connect to."""

    mode: Literal["enforce", "report", "open"] = "enforce"
    ports: tuple[Port, ...] = (80, 443)
    allow_cidrs: tuple[Network, ...] = ()
    allow_hosts: tuple[Text, ...] = ()
    deny_hosts: tuple[Text, ...] = ()
