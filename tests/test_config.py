"""Configuration: defaults, the three sources and their precedence, every refusal, what is printed back."""

from collections.abc import Callable
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from proxy.config import ConfigError, ConnectTo, Settings, effective_yaml, load
from proxy.config.document import MalformedYaml, parse_yaml
from proxy.config.quantities import format_duration, format_size, parse_duration, parse_size
from proxy.config.settings import NOT_IN_FORCE
from proxy.discovery.classes import DocumentClass

EXAMPLES = sorted((Path(__file__).parent.parent / "config").glob("*.yaml"))
DIGEST = "ab" * 32

# The published keys and defaults, then those that this version adds.
PUBLISHED = """
listen:   {host: 127.0.0.1, port: 8080, workers: 1, drain_timeout: 30s, tls: {cert: null, key: null, client_ca: null}}
admin:    {host: 127.0.0.1, port: 9090, token: null}
log:      {level: info, format: json}
store:    {url: "sqlite:///var/discovery-proxy.db", operation_timeout: 100ms, key_prefix: discovery-proxy}
memory:   {max_bytes: 256MiB}
cache:    {max_body: 4MiB, max_variants: 64, s_maxage_forbids_stale: true, outage_stale: 0s, negative_ttl: 30s, classes: {}}
upstream: {ca_file: null, connect_timeout: 3s, total_timeout: 10s, max_header: 64KiB, connect_to: []}
dns:      {resolvers: [], transport: udp, dnssec: prefer, trust_ad_from: [], trust_anchors: null}
discovery: {deadline: 10s, concurrency: 4, mdns: {enabled: false, interfaces: []}}
trust:    {anchors: {}, pin_soft: 7d, pin_hard: 30d, probation: 1h, clock_skew: 300s, max_manifest_age: 90d}
failover: {mirror_max_age: 300s, hedge_delay: 400ms, deadline: 6s, mirrors_max: 8, ipfs_gateways: []}
relocation: {max_age: 24h, cross_domain: proof}
catalogs: {watch: [], interval: 1h, probe_concurrency: 2}
boundary: {mode: enforce, unlisted: pass, secrets: {listed: enforce, unlisted: report}, hosts: {}}
clients:  {auth: none, tokens: [], rate_limit: null, concurrency: null}
egress:   {mode: enforce, ports: [80, 443], allow_cidrs: [], allow_hosts: [], deny_hosts: []}
forward:  {connect: tunnel, connect_ports: [443]}
sites:    []
"""  # noqa: E501
ADDED = """
listen:   {max_header: 8190, idle_timeout: 75s, public_url: null}
cache:    {fills_per_origin: 64, background_refreshes: 32, refresh_backoff: 5s}
upstream: {idle_timeout: 4s, max_connections: 256}
trust:    {strict: false}
failover: {mirror_timeout: 3s, mirror_ports: [443]}
discovery: {anp: false, off_domain: false, issuer_slash: strict, mdns: {isolated: false}}
boundary:
  {review_url: null, released_for: 24h, idempotency_window: 24h, profile_lifetime: 30d, no_op_status: by-code}
"""

Write = Callable[[str], str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def to_file(text: str) -> str:
        path = tmp_path / "proxy.yaml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return to_file


def problems_of(path: str | None, environ: dict[str, str], flags: dict[str, object]) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        load(path, environ, flags)
    problems = caught.value.problems
    assert str(caught.value) == "\n".join(problems)
    return tuple(problem.replace(f"{path}: ", "file: ") for problem in problems)


def at(settings: Settings, dotted: str) -> Any:
    value: Any = settings
    for name in dotted.split("."):
        value = getattr(value, name)
    return value


def leaves(document: Any, path: str = "") -> dict[str, Any]:
    if not isinstance(document, dict) or not document:
        return {path: document}
    return {
        key: value
        for name, inner in document.items()
        for key, value in leaves(inner, f"{path}.{name}" if path else name).items()
    }


def test_every_published_and_added_key_exists_with_its_default_and_no_other(write: Write) -> None:
    effective = yaml.safe_load(effective_yaml(Settings()))
    expected = leaves(yaml.safe_load(PUBLISHED)) | leaves(yaml.safe_load(ADDED))
    assert set(leaves(effective)) == set(expected)
    assert list(effective) == list(yaml.safe_load(PUBLISHED))
    assert load(write(PUBLISHED), {}, {}) == load(write(ADDED), {}, {}) == load(None, {}, {}) == Settings()


@pytest.mark.parametrize(
    ("dotted", "written", "expected"),
    [
        ("listen.port", "'8081'", 8081),
        ("listen.port", "0", 0),
        ("listen.host", '"::1"', "::1"),
        ("listen.host", "Localhost", "localhost"),
        ("listen.drain_timeout", "1.5", 1.5),
        ("listen.drain_timeout", "0", 0.0),
        ("listen.tls.cert", "null", None),
        ("admin.token", "abc.DEF-1_2~3+/==", "abc.DEF-1_2~3+/=="),
        ("store.url", "memory://", "memory://"),
        ("store.url", "sqlite:///x.db", "sqlite:///x.db"),
        ("store.database", None, "var/discovery-proxy.db"),
        ("store.operation_timeout", "50ms", 0.05),
        ("memory.max_bytes", "1GiB", 2**30),
        ("memory.max_bytes", "10MB", 10**7),
        ("memory.max_bytes", "4096", 4096),
        ("cache.s_maxage_forbids_stale", "off", False),
        ("cache.outage_stale", "7d", 7 * 86400.0),
        ("cache.max_variants", "8", 8),
        ("upstream.ca_file", "2020-01-01", "2020-01-01"),
        (
            "upstream.connect_to",
            '["Example.com:443:127.0.0.1:9443"]',
            (ConnectTo("example.com", 443, "127.0.0.1", 9443),),
        ),
        (
            "upstream.connect_to",
            '["::[::1]:9443", ":80::81"]',
            (ConnectTo(None, None, "::1", 9443), ConnectTo(None, 80, None, 81)),
        ),
        ("forward.connect", "off", "off"),
        ("forward.connect_ports", "[443, 8443]", (443, 8443)),
        ("boundary.mode", "off", "off"),
        ("boundary.no_op_status", "'200'", "200"),
        ("boundary.released_for", "15m", 900.0),
        ("boundary.idempotency_window", "0", 0.0),
        ("boundary.review_url", "https://review.example/", "https://review.example/"),
        ("listen.public_url", "https://proxy.example/", "https://proxy.example/"),
        ("dns.dnssec", "off", "off"),
        ("clients.rate_limit", "2", 2.0),
        ("clients.rate_limit", "'0.5'", 0.5),
        ("egress.allow_cidrs", "[10.0.0.0/8, 'fd00::/8']", ("10.0.0.0/8", "fd00::/8")),
        ("failover.ipfs_gateways", "[https://gateway.example]", ("https://gateway.example/",)),
    ],
)
def test_a_value_becomes(write: Write, dotted: str, written: str | None, expected: object) -> None:
    *sections, key = dotted.split(".")
    text = "".join(f"{name}: {{" for name in sections) + f"{key}: {written}" + "}" * len(sections)
    value = at(load(write(text) if written else None, {}, {}), dotted)
    assert (value, type(value)) == (expected, type(expected)), dotted


def test_sites_and_class_overrides(write: Write) -> None:
    found = load(
        write("""
        sites:
          - {hosts: ["Agents.corp.example", "::1", "[::2]"], origin: "http://LOCALHOST:8000/", boundary: off}
          - {hosts: ["*"], origin: "https://[::1]"}
        cache: {classes: {agent-card: {lifetime: 5m, max_body: 1KiB}}}
        """),
        {},
        {},
    )
    assert [(site.hosts, site.origin, site.boundary) for site in found.sites] == [
        (("agents.corp.example", "::1", "::2"), "http://localhost:8000", "off"),
        (("*",), "https://[::1]", None),
    ]
    [(name, override)] = found.cache.classes.items()
    assert (name, override.lifetime, override.max_body) == (DocumentClass.AGENT_CARD, 300.0, 1024)
    assert override.stale_if_error is override.stale_while_revalidate is None


def test_what_holds_for_a_host_and_who_its_clients_are(write: Write) -> None:
    route = {"method": "POST", "highestSupportedPath": "/orders", "lowestSafeFallback": "/orders.html"}
    rules = {"secrets": "report", "allow_parameters": ["sid"], "routes": [route]}
    client = {"id": "a", "sha256": DIGEST, "atoms": ["mcp"], "allow_hosts": ["*.example.com"]}
    document = {
        "boundary": {"hosts": {"API.example.com:443": rules}},
        "clients": {"auth": "bearer", "tokens": [client]},
    }
    found = load(write(yaml.safe_dump(document)), {}, {})
    [(name, host)] = found.boundary.hosts.items()
    assert (name, host.mode, host.secrets, host.allow_parameters) == ("api.example.com", None, "report", ("sid",))
    assert host.routes == (route,)
    [token] = found.clients.tokens
    told = (token.id, token.level, token.ladder, token.atoms, token.allow_hosts)
    assert told == ("a", "L4", "exec", ("mcp",), ("*.example.com",))


@pytest.mark.parametrize(
    ("url", "database"),
    [("memory://", None), ("sqlite:///a/b.db", "a/b.db"), ("sqlite:////a/b.db", "/a/b.db")],
)
def test_the_database_of_a_store(url: str, database: str | None) -> None:
    assert load(None, {}, {"store.url": url}).store.database == database


FILE = "cache: {max_body: 1KiB, max_variants: 1, classes: {did: {lifetime: 1s}, aid: {lifetime: 1s}}}\n"


@pytest.mark.parametrize(
    ("environ", "flags", "dotted", "expected"),
    [
        pytest.param({}, {}, "cache.max_body", 1024, id="file over default"),
        pytest.param(
            {"DISCOVERY_PROXY_CACHE__MAX_BODY": "2KiB"}, {}, "cache.max_body", 2048, id="variable over file"
        ),
        pytest.param(
            {"DISCOVERY_PROXY_CACHE__MAX_BODY": "2KiB"},
            {"cache.max_body": 3},
            "cache.max_body",
            3,
            id="flag over environment",
        ),
        pytest.param({}, {"cache.max_body": None}, "cache.max_body", 1024, id="None is no flag"),
        pytest.param({}, {"cache": {"max_body": 3}}, "cache.max_variants", 1, id="a section as flag merges"),
        pytest.param(
            {"DISCOVERY_PROXY_CACHE__MAX_BODY": ""}, {}, "cache.max_body", 1024, id="empty variable is unset"
        ),
        pytest.param(
            {"DISCOVERY_PROXY_CACHE": "{max_body: 2KiB}"},
            {},
            "cache.max_variants",
            1,
            id="YAML section merges",
        ),
        pytest.param(
            {"DISCOVERY_PROXY_CACHE__MAX_BODY": "2KiB", "DISCOVERY_PROXY_CACHE": '{"max_body": "9KiB"}'},
            {},
            "cache.max_body",
            2048,
            id="the more specific variable wins",
        ),
        pytest.param({"DISCOVERY_PROXY_CACHE__CLASSES": "{}"}, {}, "cache.classes", {}, id="free mapping replaced"),
        pytest.param({"DISCOVERY_PROXY_EGRESS__PORTS": "[80]"}, {}, "egress.ports", (80,), id="list as YAML"),
        pytest.param({"DISCOVERY_PROXY_ADMIN__TOKEN": "12345"}, {}, "admin.token", "12345", id="a scalar is text"),
        pytest.param(
            {"DISCOVERY_PROXY_LOG__LEVEL": "debug"}, {"log.level": None}, "log.level", "debug", id="no flag"
        ),
        pytest.param({"DISCOVERY_PROXY_UPSTREAM__CA_FILE": "null"}, {}, "upstream.ca_file", None, id="null"),
        pytest.param(
            {"DISCOVERY_PROXY_CACHE__S_MAXAGE_FORBIDS_STALE": "no"},
            {},
            "cache.s_maxage_forbids_stale",
            False,
            id="a boolean in words",
        ),
        pytest.param({"PATH": "x", "discovery_proxy_x": "1"}, {}, "cache.max_body", 1024, id="foreign"),
        pytest.param(
            {
                "DISCOVERY_PROXY_SERVICE_HOST": "10.0.0.1",
                "DISCOVERY_PROXY_SERVICE_PORT_HTTP": "8080",
                "DISCOVERY_PROXY_PORT": "tcp://10.0.0.1:8080",
                "DISCOVERY_PROXY_PORT_8080_TCP": "tcp://10.0.0.1:8080",
                "DISCOVERY_PROXY_ADMIN_PORT_9090_TCP_ADDR": "10.0.0.1",
            },
            {},
            "listen.port",
            8080,
            id="variables of a Kubernetes service",
        ),
    ],
)
def test_precedence(
    write: Write, environ: dict[str, str], flags: dict[str, object], dotted: str, expected: object
) -> None:
    assert at(load(write(FILE), environ, flags), dotted) == expected


@pytest.mark.parametrize("text", ["", "# nothing\n", "cache:\nlisten: {tls: null}\n", "\ufeffcache: {}"])
def test_a_file_that_sets_nothing(write: Write, text: str) -> None:
    assert load(write(text), {}, {}) == Settings()


A_DURATION = "allowed: a duration such as 100ms, 30s, 5m, 1h or 7d (a bare number is seconds), at most 24855d"
A_SIZE = "allowed: a size such as 512KiB, 4MiB, 1GiB or 10MB (a bare number is bytes), above 0"
A_TEXT = "allowed: text; quote what YAML reads as a number"
A_STORE = "allowed: memory://, sqlite:///relative.db or sqlite:////absolute.db"
AN_ORIGIN = "allowed: an http or https URL without user, path and query, such as http://127.0.0.1:8000"
A_RULE = 'allowed: "HOST:PORT:CONNECT-HOST:CONNECT-PORT" as in curl, such as "example.com:443:127.0.0.1:9443"'
A_HOST = 'allowed: "*", or a host name or an address without port'
A_TOKEN = (
    "allowed: letters, digits and -._~+/ with = only at the end (RFC 6750 §2.1); quote what YAML reads as a number"
)
A_COUNT = "allowed: a whole number from 1 to 1000000000"
A_RATE = "allowed: a number of requests per second, above 0"
CLASH = "9090 is listen.port too; the two ports must differ"
NO_REDIS = "the redis store is not available in this version; use sqlite or memory"
A_CLASS = "allowed: " + ", ".join(name for name in DocumentClass if name is not DocumentClass.OTHER)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cache: {max_boddy: 4MiB}", "cache.max_boddy: unknown key; did you mean max_body?"),
        ("cahce: {}", "cahce: unknown key; did you mean cache?"),
        ("listen: {tls: {zzz: 1}}", "listen.tls.zzz: unknown key"),
        (
            "cache: {classes: {did: {lifetme: 1}}}",
            "cache.classes.did.lifetme: unknown key; did you mean lifetime?",
        ),
        (
            "sites: [{hosts: [a], orign: b, origin: http://a}]",
            "sites[0].orign: unknown key; did you mean origin?",
        ),
        ("sites: [{hosts: [a]}]", "sites[0].origin: required"),
        ("sites: [a]", "sites[0]: given text; allowed: a mapping with the keys hosts, origin, boundary"),
        ("sites: {}", "sites: given a mapping; allowed: a list"),
        ("memory: [1]", "memory: given a list; allowed: a mapping with the keys max_bytes"),
        ("memory: 4MiB", "memory: given text; allowed: a mapping with the keys max_bytes"),
        ("memory: 4", "memory: given a number; allowed: a mapping with the keys max_bytes"),
        ("memory: true", "memory: given true or false; allowed: a mapping with the keys max_bytes"),
        ("cache: {classes: [did]}", "cache.classes: given a list; allowed: a mapping"),
        (
            "cache: {classes: {did: null}}",
            "cache.classes.did: given nothing; allowed: a mapping with the keys "
            "lifetime, stale_while_revalidate, stale_if_error, max_body",
        ),
        ("cache: {classes: {other: {}}}", f"cache.classes.other: given 'other'; {A_CLASS}"),
        ("cache: {max_body: 4 MX}", f"cache.max_body: given '4 MX'; {A_SIZE}"),
        ("cache: {max_body: 0}", f"cache.max_body: given 0; {A_SIZE}"),
        ("cache: {max_body: 1.5}", f"cache.max_body: given 1.5; {A_SIZE}"),
        ("cache: {max_body: true}", f"cache.max_body: given true; {A_SIZE}"),
        ("cache: {max_body: null}", f"cache.max_body: given null; {A_SIZE}"),
        ("cache: {max_body: [1]}", f"cache.max_body: given a list; {A_SIZE}"),
        ("cache: {negative_ttl: -1s}", f"cache.negative_ttl: given '-1s'; {A_DURATION}"),
        ("cache: {negative_ttl: -1}", f"cache.negative_ttl: given -1; {A_DURATION}"),
        ("cache: {negative_ttl: .nan}", f"cache.negative_ttl: given NaN; {A_DURATION}"),
        ("cache: {negative_ttl: .inf}", f"cache.negative_ttl: given Infinity; {A_DURATION}"),
        ("cache: {negative_ttl: true}", f"cache.negative_ttl: given true; {A_DURATION}"),
        ("cache: {negative_ttl: 99999d}", f"cache.negative_ttl: given '99999d'; {A_DURATION}"),
        ("upstream: {connect_timeout: 0s}", f"upstream.connect_timeout: given '0s'; {A_DURATION}, above 0"),
        ("cache: {max_variants: 0}", f"cache.max_variants: given 0; {A_COUNT}"),
        ("cache: {max_variants: true}", f"cache.max_variants: given true; {A_COUNT}"),
        (
            "cache: {s_maxage_forbids_stale: 5}",
            "cache.s_maxage_forbids_stale: given 5; allowed: true or false",
        ),
        (
            "cache: {s_maxage_forbids_stale: maybe}",
            "cache.s_maxage_forbids_stale: given 'maybe'; allowed: true or false",
        ),
        ("listen: {port: 65536}", "listen.port: given 65536; allowed: a whole number from 0 to 65535"),
        ("listen: {port: 80x}", "listen.port: given '80x'; allowed: a whole number from 0 to 65535"),
        (
            "listen: {port: 0xffffffffffffffffffffffffffffffff}",
            "listen.port: given a number; allowed: a whole number from 0 to 65535",
        ),
        (
            "listen: {host: '127.0.0.1:80'}",
            "listen.host: given '127.0.0.1:80'; "
            "allowed: an address such as 127.0.0.1, 0.0.0.0 or ::1, or a host name",
        ),
        (
            "listen: {workers: 2}",
            "listen.workers: more than one worker is not available in this version; use 1",
        ),
        ("listen: {tls: {cert: a.pem}}", "listen.tls.key: cert and key are needed together"),
        ("listen: {tls: {key: a.pem}}", "listen.tls.cert: cert and key are needed together"),
        ("listen: {tls: {client_ca: a.pem}}", "listen.tls.client_ca: client_ca needs cert and key"),
        ("listen: {port: 9090}", f"admin.port: {CLASH}"),
        ("listen: {port: 9090, host: 0.0.0.0}", f"admin.port: {CLASH}"),
        (
            "admin: {host: 0.0.0.0}",
            "admin.token: required, because admin.host 0.0.0.0 is not a loopback address",
        ),
        (
            "admin: {host: proxy.example}",
            "admin.token: required, because admin.host proxy.example is not a loopback address",
        ),
        ("admin: {token: 12345}", f"admin.token: given ********; {A_TOKEN}"),
        ("admin: {token: 's3cret '}", f"admin.token: given ********; {A_TOKEN}"),
        ("log: {level: loud}", "log.level: given 'loud'; allowed: debug, info, warning or error"),
        (
            "log: {level: warn}",
            "log.level: given 'warn'; allowed: debug, info, warning or error; did you mean warning?",
        ),
        (
            "cache: {classes: {agentcard: {}}}",
            f"cache.classes.agentcard: given 'agentcard'; {A_CLASS}; did you mean agent-card?",
        ),
        ("store: {url: 'redis://u:s3cret@h/0'}", f"store.url: {NO_REDIS}"),
        ("store: {url: 'unix:///run/redis.sock'}", f"store.url: {NO_REDIS}"),
        (
            "store: {url: 'pg://u:s3cret@h/0?p=s3cret'}",
            f"store.url: given 'pg://********@h/0?********'; {A_STORE}",
        ),
        ("store: {url: 'u:s3/cr@et@h'}", f"store.url: given '********@h'; {A_STORE}"),
        ("store: {url: 5}", f"store.url: given 5; {A_STORE}"),
        ("store: {url: 'sqlite://x.db'}", f"store.url: given 'sqlite://x.db'; {A_STORE}"),
        ("store: {url: 'sqlite:///'}", f"store.url: given 'sqlite:///'; {A_STORE}"),
        ("store: {url: 'sqlite:////var/'}", f"store.url: given 'sqlite:////var/'; {A_STORE}"),
        ("store: {url: 'sqlite:///:memory:'}", f"store.url: given 'sqlite:///:memory:'; {A_STORE}"),
        ("store: {key_prefix: ' '}", f"store.key_prefix: given ' '; {A_TEXT}"),
        ("store: {key_prefix: 5}", f"store.key_prefix: given 5; {A_TEXT}"),
        (
            f"store: {{key_prefix: [], url: {'x' * 90}}}",
            (
                f"store.url: given '{'x' * 80}…'; {A_STORE}",
                f"store.key_prefix: given an empty list; {A_TEXT}",
            ),
        ),
        ("upstream: {connect_to: abc}", "upstream.connect_to: given 'abc'; allowed: a list"),
        ("upstream: {connect_to: ['a:443:b']}", f"upstream.connect_to[0]: given 'a:443:b'; {A_RULE}"),
        ("upstream: {connect_to: ['*:443:b:443']}", f"upstream.connect_to[0]: given '*:443:b:443'; {A_RULE}"),
        ("upstream: {connect_to: ['a:0:b:443']}", f"upstream.connect_to[0]: given 'a:0:b:443'; {A_RULE}"),
        (
            "upstream: {connect_to: ['a:443:b:65536']}",
            f"upstream.connect_to[0]: given 'a:443:b:65536'; {A_RULE}",
        ),
        ("upstream: {connect_to: [5]}", f"upstream.connect_to[0]: given 5; {A_RULE}"),
        (
            "forward: {connect: intercept}",
            "forward.connect: interception is not available in this version; use tunnel or off",
        ),
        ("forward: {connect: yes}", "forward.connect: given 'yes'; allowed: tunnel, intercept or off"),
        (
            "clients: {tokens: [{id: a, sha256: s3cret}]}",
            "clients.tokens[0].sha256: given ********; "
            "allowed: a SHA-256 digest, 64 lower-case hexadecimal digits, quoted",
        ),
        (
            f"clients: {{tokens: [{{id: a, sha256: {DIGEST}}}, {{id: a, sha256: {'cd' * 32}}}]}}",
            "clients.tokens: each id once",
        ),
        (
            f"clients: {{tokens: [{{id: a, sha256: {DIGEST}}}, {{id: b, sha256: {DIGEST}}}]}}",
            "clients.tokens: each sha256 once",
        ),
        (
            "clients: {auth: bearer}",
            "clients.auth: bearer needs clients.tokens: without any nobody could ask",
        ),
        (
            f"clients: {{auth: mtls, tokens: [{{id: a, sha256: {DIGEST}}}]}}",
            "clients.auth: mtls needs listen.tls.client_ca, the authorities of client certificates",
        ),
        (
            "boundary: {hosts: {h.example: {routes: [{method: POST}]}}}",
            "boundary.hosts.h.example.routes: /0/highest_supported_path: A route names its highest supported path. "
            "(local.route_required_field)",
        ),
        ("boundary: {hosts: {h.example: {}, 'h.example:443': {}}}", "boundary.hosts: each host once"),
        (
            "boundary: {hosts: {'a b': {}}}",
            "boundary.hosts: host names, with a port where it is not a default one, "
            "such as example.com or example.com:8443",
        ),
        (
            "boundary: {hosts: {h.example: {mode: 'on'}}}",
            "boundary.hosts.h.example.mode: given 'on'; allowed: enforce, report or off",
        ),
        (
            "boundary: {review_url: 'http://review.example/'}",
            "boundary.review_url: given 'http://review.example/'; allowed: an https URL without user",
        ),
        ("boundary: {no_op_status: '403'}", "boundary.no_op_status: given '403'; allowed: by-code or 200"),
        ("clients: {rate_limit: 0}", f"clients.rate_limit: given 0; {A_RATE}"),
        ("clients: {rate_limit: x}", f"clients.rate_limit: given 'x'; {A_RATE}"),
        (
            "egress: {allow_cidrs: [10.0.0.1/8]}",
            "egress.allow_cidrs[0]: given '10.0.0.1/8'; "
            "allowed: an address range such as 10.0.0.0/8, without host bits",
        ),
        (
            "catalogs: {watch: ['https://u:s3cret@h']}",
            "catalogs.watch[0]: given 'https://********@h'; allowed: an https URL without user",
        ),
        (
            "sites: [{hosts: [], origin: http://a}]",
            "sites[0].hosts: given an empty list; allowed: a list with at least one host",
        ),
        ("sites: [{hosts: ['a:80'], origin: http://a}]", f"sites[0].hosts[0]: given 'a:80'; {A_HOST}"),
        ("sites: [{hosts: [a], origin: http://a/x}]", f"sites[0].origin: given 'http://a/x'; {AN_ORIGIN}"),
        ("sites: [{hosts: [a], origin: ftp://a}]", f"sites[0].origin: given 'ftp://a'; {AN_ORIGIN}"),
        (
            "sites: [{hosts: [a], origin: 'http://a?p=s3cret'}]",
            f"sites[0].origin: given 'http://a?********'; {AN_ORIGIN}",
        ),
        ("sites: [{hosts: [a, A], origin: http://a}]", "sites: each host once; repeated: a"),
        ("a: 1\ncache: {}\ncache: {}\na: 2", ("line 3: duplicate key cache", "line 4: duplicate key a")),
        ("5: a", "line 1: a key that is not text; quote it"),
        (
            "- a",
            f"given a list; allowed: a mapping with the keys {', '.join(Settings.model_fields)}",
        ),
        ("cache: {max_body: [}", "line 1, column 20: expected the node content, but found '}'"),
    ],
)
def test_a_file_is_refused(write: Write, text: str, expected: str | tuple[str, ...]) -> None:
    expected = (expected,) if isinstance(expected, str) else expected
    problems = problems_of(write(text), {}, {})
    configuration = tuple(problem.replace("configuration: ", "file: ") for problem in problems)
    assert configuration == tuple(f"file: {problem}" for problem in expected), text
    assert "s3cret" not in "".join(problems)


@pytest.mark.parametrize(
    ("environ", "flags", "expected"),
    [
        (
            {"DISCOVERY_PROXY_CACHE__MAX_BODDY": "1"},
            {},
            "DISCOVERY_PROXY_CACHE__MAX_BODDY: unknown key; did you mean DISCOVERY_PROXY_CACHE__MAX_BODY?",
        ),
        (
            {"DISCOVERY_PROXY_PORT": "80"},
            {},
            "DISCOVERY_PROXY_PORT: unknown key; did you mean DISCOVERY_PROXY_LISTEN__PORT?",
        ),
        (
            {"DISCOVERY_PROXY_LISTEN_PORT": "80"},
            {},
            "DISCOVERY_PROXY_LISTEN_PORT: unknown key; did you mean DISCOVERY_PROXY_LISTEN__PORT?",
        ),
        (
            {"DISCOVERY_PROXY_CACHE": "{max_boddy: 1}"},
            {},
            "DISCOVERY_PROXY_CACHE: cache.max_boddy: unknown key; did you mean max_body?",
        ),
        (
            {"DISCOVERY_PROXY_CACHE": "{max_body: x}"},
            {},
            f"DISCOVERY_PROXY_CACHE: cache.max_body: given 'x'; {A_SIZE}",
        ),
        (
            {"DISCOVERY_PROXY_SITES": "[*s3cret]"},
            {},
            "DISCOVERY_PROXY_SITES: sites: line 1, column 2: found undefined alias '…'",
        ),
        (
            {"DISCOVERY_PROXY_MEMORY": "5"},
            {},
            "DISCOVERY_PROXY_MEMORY: memory: given a number; allowed: a mapping with the keys max_bytes",
        ),
        (
            {"DISCOVERY_PROXY_ADMIN__HOST": "::", "DISCOVERY_PROXY_ADMIN__PORT": "1"},
            {},
            "DISCOVERY_PROXY_ADMIN__HOST and DISCOVERY_PROXY_ADMIN__PORT: "
            "admin.token: required, because admin.host :: is not a loopback address",
        ),
        ({}, {"listen.prot": None}, "flags: listen.prot: unknown key; did you mean listen.port?"),
        ({}, {"listen.port": -1}, "flags: listen.port: given -1; allowed: a whole number from 0 to 65535"),
    ],
)
def test_the_environment_or_a_flag_is_refused(
    environ: dict[str, str], flags: dict[str, object], expected: str
) -> None:
    assert problems_of(None, environ, flags) == (expected,)


def test_every_problem_is_told_at_once(write: Write) -> None:
    problems = problems_of(
        write("log: {level: loud, frmat: x}\nmemory: {max_bytes: x}"),
        {"DISCOVERY_PROXY_ADMIN__HOST": "::", "DISCOVERY_PROXY_X": "1"},
        {"listen.workers": 2},
    )
    assert [problem.split(": ")[:2] for problem in problems] == [
        ["file", "log.frmat"],
        ["DISCOVERY_PROXY_X", "unknown key"],
        ["flags", "listen.workers"],
        ["DISCOVERY_PROXY_ADMIN__HOST", "admin.token"],
        ["file", "log.level"],
        ["file", "memory.max_bytes"],
    ]


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    latin = tmp_path / "latin.yaml"
    latin.write_bytes(b"log: {level: \xe9}")
    assert problems_of(str(tmp_path / "none.yaml"), {}, {}) == ("file: cannot be read: No such file or directory",)
    assert problems_of(str(tmp_path), {}, {}) == ("file: cannot be read: Is a directory",)
    assert problems_of(str(latin), {}, {}) == ("file: cannot be read: not UTF-8 text",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "{a: off, b: true, c: 2020-01-01, d: yes, e: null}",
            {"a": "off", "b": True, "c": "2020-01-01", "d": "yes", "e": None},
        ),
        ("{b: &b {x: 1, y: 1}, c: {<<: *b, x: 2}}", {"b": {"x": 1, "y": 1}, "c": {"x": 2, "y": 1}}),
    ],
)
def test_yaml_is_read(text: str, expected: object) -> None:
    assert parse_yaml(text) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: !s3cret x", "line 1, column 4: could not determine a constructor for the tag '…'"),
        ("a: !!binary gA==", "line 1, column 4: could not determine a constructor for the tag '…'"),
        ("[a", "line 1, column 3: expected ',' or ']', but got '<stream end>'"),
        ("a: x\0", "control characters"),
        ("[" * 5000, "nested too deeply"),
        ("9" * 5000, "a value that is not of its type, or a number too long"),
        ("!!bool s3cret", "a value that is not of its type, or a number too long"),
        ("--- a\n--- b", "line 2, column 1: but found another document"),
    ],
    ids=lambda text: text[:30].replace("\0", "NUL"),
)
def test_yaml_is_refused(text: str, problem: str) -> None:
    with pytest.raises(MalformedYaml) as caught:
        parse_yaml(text)
    assert caught.value.problems == (problem,)


@given(st.text(max_size=40))
@settings(max_examples=100, deadline=None)
def test_no_text_raises_anything_else(text: str) -> None:
    try:
        parse_yaml(text)
    except MalformedYaml as error:
        assert error.problems


@pytest.mark.parametrize(
    ("shape", "why"),
    [
        ("trust: {anchors: &a {x: *a}}", "trust.anchors.x.did: required"),
        ("boundary: {hosts: {x: {routes: &a [*a]}}}", "cyclic"),
    ],
)
def test_a_mapping_within_itself_is_refused(write: Write, shape: str, why: str) -> None:
    assert why in problems_of(write(shape), {}, {})[0]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0s"),
        (0.1, "100ms"),
        (1.5, "1500ms"),
        (30.0, "30s"),
        (300.0, "5m"),
        (3600.0, "1h"),
        (604800.0, "7d"),
    ],
)
def test_durations_are_printed_with_their_unit(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [(8190, 8190), (1, 1), (1024, "1KiB"), (2**22, "4MiB"), (10**7, "10MB"), (2**30, "1GiB")],
)
def test_sizes_are_printed_with_their_unit(size: int, text: str | int) -> None:
    assert format_size(size) == text


@given(st.floats(0, 2**31) | st.integers(0, 2**31).map(lambda milliseconds: milliseconds / 1000))
@settings(max_examples=200, deadline=None)
def test_durations_are_read_back(seconds: float) -> None:
    assert parse_duration(format_duration(seconds)) == seconds


@given(st.integers(1, 2**40) | st.integers(1, 2**20).map(lambda mebibytes: mebibytes * 2**20))
@settings(max_examples=200, deadline=None)
def test_sizes_are_read_back(size: int) -> None:
    assert parse_size(format_size(size)) == size


EVERYTHING = f"""
admin: {{host: 0.0.0.0, token: s3cret}}
cache: {{classes: {{did: {{lifetime: 1h}}}}}}
upstream: {{connect_to: ["a:443:[::1]:9443", ":::81"]}}
store: {{key_prefix: mine}}
egress: {{mode: open, allow_cidrs: ["10.0.0.0/8"]}}
catalogs: {{watch: ["https://h/list?key=s3cret"]}}
boundary: {{mode: report, hosts: {{h.example: {{mode: enforce}}}}}}
clients: {{tokens: [{{id: a, sha256: {DIGEST}}}], rate_limit: 2}}
sites:
- {{hosts: [a, "::1"], origin: http://a:8000, boundary: enforce}}
- {{hosts: ["*"], origin: http://b, boundary: off}}
"""


def test_what_is_not_in_force_is_named(write: Write) -> None:
    assert load(write(EVERYTHING), {}, {}).not_in_force == (
        "store.key_prefix",
        "clients.rate_limit",
        "egress.mode",
    )


def test_the_effective_configuration_is_masked_and_says_what_is_idle(write: Write) -> None:
    settings = load(write(EVERYTHING), {}, {})
    text = effective_yaml(settings)
    printed = yaml.safe_load(text)
    assert "s3cret" not in text + repr(settings)
    assert DIGEST not in text + repr(settings)
    assert printed["admin"]["token"] == printed["clients"]["tokens"][0]["sha256"] == "********"
    assert printed["catalogs"]["watch"] == ["https://h/list?********"]
    assert printed["upstream"]["connect_to"] == ["a:443:[::1]:9443", ":::81"]
    marked = [line.split(":")[0] for line in text.splitlines() if line.endswith("in force in this version")]
    assert marked == [f"  {key.partition('.')[2]}" if "." in key else key for key in NOT_IN_FORCE]


def test_the_effective_configuration_loads_again(write: Write) -> None:
    public = EVERYTHING.replace("host: 0.0.0.0, token: s3cret", "host: '::1'").replace("?key=s3cret", "")
    settings = load(write(public.replace(f"tokens: [{{id: a, sha256: {DIGEST}}}]", "tokens: []")), {}, {})
    assert load(write(effective_yaml(settings)), {}, {}) == settings


def test_settings_do_not_change() -> None:
    with pytest.raises(ValidationError):
        Settings().listen.port = 1  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        ConnectTo(None, None, None, None).port = 1  # type: ignore[misc]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_loads_and_sets_only_what_is_in_force(path: Path) -> None:
    assert load(str(path), {}, {}).not_in_force == ()


def test_the_examples_are_there() -> None:
    assert {path.name for path in EXAMPLES} >= {"sidecar.yaml", "shared-egress.yaml", "site.yaml"}


def test_the_readme_names_every_key_with_its_default() -> None:
    readme = (EXAMPLES[0].parent / "README.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1:3] for line in readme.splitlines() if line.startswith("| `")]
    documented = {key.strip().strip("`"): yaml.safe_load(value.strip().strip("`")) for key, value in rows}
    assert set(documented) == set(leaves(yaml.safe_load(effective_yaml(Settings()))))
    assert load(None, {}, documented) == Settings()
