"""The forms in which a request reaches the proxy (RFC 9112 §3.2), told apart without side effects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from proxy.engine.boundary.settings import Mode
from proxy.http.problems import Problem, Slug
from proxy.http.targets import MalformedTarget, Target, parse_authority, parse_gateway, parse_target


class Form(StrEnum):
    """How a request names its target."""

    GATEWAY = "gateway"
    FORWARD = "forward"
    TUNNEL = "tunnel"
    SITE = "site"
    API = "api"


@dataclass(frozen=True, slots=True)
class Site:
    """Hosts, "*" for any, reverse-proxied to one origin, "https://example.com:8443".

    `mode` is the boundary's there; None follows what holds elsewhere.
    """

    hosts: tuple[str, ...]
    origin: str
    mode: Mode | None = None


@dataclass(frozen=True, slots=True)
class ToTarget:
    """Fetch `target` for the client; `site` is the one that it belongs to."""

    form: Form
    target: Target
    site: Site | None = None


@dataclass(frozen=True, slots=True)
class ToTunnel:
    """Connect to `host`:`port` and pass bytes."""

    host: str
    port: int
    form: Form = Form.TUNNEL


@dataclass(frozen=True, slots=True)
class ToApi:
    """The proxy's own resource at `path`; `query` is what followed the "?", without it."""

    path: str
    query: str = ""


@dataclass(frozen=True, slots=True)
class Unroutable:
    """The request names no usable target."""

    form: Form
    problem: Problem


Destination = ToTarget | ToTunnel | ToApi | Unroutable


def destination(method: str, request_target: str, hosts: tuple[str, ...], sites: Sequence[Site]) -> Destination:
    """Where a request goes. `hosts` are its Host field lines: one, or none from a client of HTTP/1.0."""
    try:
        host = _host_of(hosts)
    except MalformedTarget as error:
        detail = f"The request needs one Host field that names a host. {error.detail}"
        return Unroutable(Form.API, Problem(Slug.BAD_REQUEST, detail))
    try:
        if method == "CONNECT":
            return _tunnel(request_target)
        if not request_target.startswith("/"):
            return _absolute(request_target, sites)
        site = _site_of(host, sites)
        if site is not None:
            return ToTarget(Form.SITE, parse_target(site.origin + request_target), site)
        target = parse_gateway(request_target)
        if target is not None:
            return ToTarget(Form.GATEWAY, target, _at_origin(target, sites))
        path, _, query = request_target.partition("?")
        return ToApi(path, query)
    except MalformedTarget as error:
        return Unroutable(_form_of(method, request_target), Problem(Slug.BAD_TARGET, error.detail))


def _form_of(method: str, request_target: str) -> Form:
    if method == "CONNECT":
        return Form.TUNNEL
    return Form.GATEWAY if request_target.startswith("/") else Form.FORWARD


def _host_of(lines: tuple[str, ...]) -> str:
    """The host that the Host field names (RFC 9112 §3.2), "" when it is empty or, in HTTP/1.0, not there."""
    if len(lines) > 1:
        raise MalformedTarget("It has several.")
    return _parse_host_field(lines[0]) if lines and lines[0] else ""


@lru_cache(maxsize=1024)
def _parse_host_field(value: str) -> str:
    host, _ = parse_authority(value, 80)
    return host


def _tunnel(request_target: str) -> ToTunnel:
    host, separator, port = request_target.rpartition(":")
    if not separator or not port:
        raise MalformedTarget("CONNECT needs a host and a port, as in example.com:443.")
    return ToTunnel(*parse_authority(f"{host}:{port}", 0))


def _absolute(request_target: str, sites: Sequence[Site]) -> Destination:
    target = parse_target(request_target)
    for site in sites:
        if target.host in site.hosts:
            return ToTarget(Form.SITE, parse_target(site.origin + target.request_target), site)
    return ToTarget(Form.FORWARD, target, _at_origin(target, sites))


def _at_origin(target: Target, sites: Sequence[Site]) -> Site | None:
    """The site whose origin is named by its own address: the boundary there is the same."""
    return next((site for site in sites if site.origin == target.origin), None)


def _site_of(host: str, sites: Sequence[Site]) -> Site | None:
    return next((site for site in sites if host in site.hosts or "*" in site.hosts), None)
