"""The sections of the configuration on the no-op boundary and on clients: keys, defaults, units."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, JsonValue

from proxy.config.sections import Section
from proxy.config.values import Count, Digest, Duration, HttpsUrl, Rate, Text, Timeout, reason
from proxy.discovery.access.routereading import parse_route
from proxy.discovery.findings import failures
from proxy.http.secrets import find_secret
from proxy.http.targets import DEFAULT_PORTS, MalformedTarget, https_authority, parse_authority

MOST_ROUTES = 1000
ALLOWED = "allow_parameters"

Mode = Literal["enforce", "report", "off"]
SecretMode = Literal["enforce", "report"]
LevelName = Literal["L0", "L1", "L2", "L3", "L4", "L5", "L6", "L7"]
LadderName = Literal["exec", "surface", "profile", "autonomy"]
AtomName = Literal[
    "static_get",
    "json_get",
    "live_get",
    "url_synth",
    "browser_ui",
    "json_post",
    "auth",
    "readback",
    "coordinate",
    "negotiate",
    "mcp",
    "tools",
    "a2a",
]


def _routes(routes: tuple[JsonValue, ...]) -> tuple[JsonValue, ...]:
    if len(routes) > MOST_ROUTES:
        raise reason(f"at most {MOST_ROUTES} routes for one host")
    for index, route in enumerate(routes):
        _check_allowed(route, index)
        faults = failures(parse_route(route, f"/{index}").findings)
        if faults:
            raise reason(f"{faults[0].path}: {faults[0].detail} ({faults[0].rule})")
    return routes


def _check_allowed(route: JsonValue, index: int) -> None:
    allowed = route.get(ALLOWED, []) if isinstance(route, dict) else []
    if not isinstance(allowed, list) or not all(isinstance(name, str) and name for name in allowed):
        raise reason(f"/{index}/{ALLOWED}: a list of parameter names")


def _as_text(value: object) -> object:
    """YAML reads a bare status as a number."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _without_secret(url: str | None) -> str | None:
    secret = None if url is None else find_secret(url)
    if secret is not None:
        raise reason(f"a URL that everybody may see; this one has a {secret.category} secret in its {secret.where}")
    return url


def _hosts(hosts: Mapping[str, "BoundaryHost"]) -> Mapping[str, "BoundaryHost"]:
    try:
        named = {https_authority(*parse_authority(host, DEFAULT_PORTS["https"])): host for host in hosts}
    except MalformedTarget:
        raise reason(
            "host names, with a port where it is not a default one, such as example.com or example.com:8443"
        ) from None
    if len(named) < len(hosts):
        raise reason("each host once")
    return {name: hosts[given] for name, given in named.items()}


class BoundarySecrets(Section):
    """What a secret in a target URL leads to."""

    listed: SecretMode = "enforce"
    unlisted: SecretMode = "report"


class BoundaryHost(Section):
    """What holds for one host: `routes` are route records, and make it a listed one.

    `allow_parameters`: parameter names that mean nothing secret on this host; a route may have some of its own.
    """

    mode: Mode | None = None
    secrets: SecretMode | None = None
    allow_parameters: tuple[Text, ...] = ()
    routes: Annotated[tuple[JsonValue, ...], AfterValidator(_routes)] = ()


class Boundary(Section):
    """The no-op boundary.

    `review_url`: where a person decides when neither route nor site names a place. `released_for`: how long a
    person's release lets an intent pass. `no_op_status`: 200 for clients whose fetchers drop the body of an error.
    """

    mode: Mode = "enforce"
    unlisted: Literal["pass", "no-op"] = "pass"
    secrets: BoundarySecrets = BoundarySecrets()
    hosts: Annotated[Mapping[str, BoundaryHost], AfterValidator(_hosts)] = {}
    review_url: Annotated[HttpsUrl | None, AfterValidator(_without_secret)] = None
    released_for: Timeout = 86400.0
    idempotency_window: Duration = 86400.0
    profile_lifetime: Timeout = 30 * 86400.0
    no_op_status: Annotated[Literal["by-code", "200"], BeforeValidator(_as_text)] = "by-code"


class ClientToken(Section):
    """A client known by the SHA-256 of its bearer token, or of its certificate; what it is proven to be able to do.

    `atoms` are proven beside those of the level. `allow_hosts`: the only hosts it may reach, "*.example.com" any
    below example.com; none named: all.
    """

    id: Text
    sha256: Digest = Field(repr=False)
    level: LevelName = "L4"
    ladder: LadderName = "exec"
    atoms: tuple[AtomName, ...] = ()
    allow_hosts: tuple[Text, ...] = ()


def _tokens(tokens: tuple[ClientToken, ...]) -> tuple[ClientToken, ...]:
    for name in ("id", "sha256"):
        values = [getattr(token, name) for token in tokens]
        if len(set(values)) < len(values):
            raise reason(f"each {name} once")
    return tokens


class Clients(Section):
    """Who may use the proxy; `rate_limit` is requests per second of one client."""

    auth: Literal["none", "bearer", "mtls"] = "none"
    tokens: Annotated[tuple[ClientToken, ...], AfterValidator(_tokens)] = ()
    rate_limit: Rate | None = None
    concurrency: Count | None = None
