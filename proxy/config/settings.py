"""The whole configuration as one frozen value, and what can be said of it only as a whole."""

from collections.abc import Iterator
from typing import Final, Self

from pydantic import model_validator

from proxy.config import bounding, relocating, reserved, sections, trusting
from proxy.config.sections import Section
from proxy.config.values import reason

NOT_IN_FORCE: Final = (
    "store.key_prefix",
    "clients.rate_limit",
    "clients.concurrency",
    "egress.mode",
    "egress.ports",
    "egress.allow_hosts",
    "egress.deny_hosts",
)

_EVERY_ADDRESS: Final = frozenset({"0.0.0.0", "::"})


class Settings(Section):
    """The whole configuration, checked."""

    listen: sections.Listen = sections.Listen()
    admin: sections.Admin = sections.Admin()
    log: sections.Log = sections.Log()
    store: sections.Store = sections.Store()
    memory: sections.Memory = sections.Memory()
    cache: sections.Cache = sections.Cache()
    upstream: sections.Upstream = sections.Upstream()
    dns: sections.Dns = sections.Dns()
    discovery: sections.Discovery = sections.Discovery()
    trust: trusting.Trust = trusting.Trust()
    failover: trusting.Failover = trusting.Failover()
    relocation: relocating.Relocation = relocating.Relocation()
    catalogs: relocating.Catalogs = relocating.Catalogs()
    boundary: bounding.Boundary = bounding.Boundary()
    clients: bounding.Clients = bounding.Clients()
    egress: reserved.Egress = reserved.Egress()
    forward: sections.Forward = sections.Forward()
    sites: tuple[sections.Site, ...] = ()

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        hosts = {self.listen.host, self.admin.host}
        if 0 < self.listen.port == self.admin.port and (len(hosts) == 1 or hosts & _EVERY_ADDRESS):
            raise reason(f"{self.admin.port} is listen.port too; the two ports must differ", "admin", "port")
        if self.clients.auth == "mtls" and self.listen.tls.client_ca is None:
            raise reason(
                "mtls needs listen.tls.client_ca, the authorities of client certificates", "clients", "auth"
            )
        if self.clients.auth != "none" and not self.clients.tokens:
            raise reason(
                f"{self.clients.auth} needs clients.tokens: without any nobody could ask", "clients", "auth"
            )
        patterns = [pattern for site in self.sites for pattern in site.hosts]
        repeated = sorted({pattern for pattern in patterns if patterns.count(pattern) > 1})
        if repeated:
            raise reason(f"each host once; repeated: {', '.join(repeated)}", "sites")
        return self

    @property
    def not_in_force(self) -> tuple[str, ...]:
        """Dotted keys that differ from their default although this version does not act on them."""
        idle = (_differing_at(self, path) for path in NOT_IN_FORCE)
        return tuple(key for keys in idle for key in keys)


def _differing_at(settings: Settings, path: str) -> Iterator[str]:
    name, _, key = path.partition(".")
    differing = _differing(getattr(settings, name), name)
    return (found for found in differing if not key or found == path)


def _differing(section: Section, path: str) -> Iterator[str]:
    for name, field in type(section).model_fields.items():
        value = getattr(section, name)
        if isinstance(value, Section):
            yield from _differing(value, f"{path}.{name}")
        elif value != field.default:
            yield f"{path}.{name}"
