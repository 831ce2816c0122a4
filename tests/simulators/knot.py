"""A small internet of its own, signed and served by Knot DNS on loopback: one real name server for all its zones.

    with knot(directory, now) as internet:
        response = await internet.ask(dns.name.from_text("_agent.example.com"), RdataType.TXT)
        anchors = parse_anchors(internet.anchors_text)

The keys are new each time and the signatures are made by `kzonesign`, so that nothing that is tested here vouches
for itself. `knotd`, `kzonesign` and `keymgr` come with the packages knot and knot-dnssecutils.

| zone | what a validator finds |
|---|---|
| `.`, `com.`, `example.com.`, `sub.example.com.` | signed, NSEC; `example.com.` holds the published sample |
| `nsec3.com.`, `optout.com.` | signed, NSEC3; the latter with opt-out |
| `iterations.com.` | signed, NSEC3 with 150 iterations |
| `unsigned.com.`, `free.example.com.`, `free.nsec3.com.`, `free.optout.com.` | delegated without DS |
| `old.com.` | a DS of an algorithm that counts for nothing |
| `expired.com.`, `future.com.` | signatures of another time |
| `wrongkey.com.` | a DS of another key |
| `stripped.com.` | a DS, but no signatures |
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import dns.asyncquery
import dns.exception
import dns.flags
import dns.message
import dns.query
import dns.rcode
import dns.zone
from dns.name import Name
from dns.rdatatype import RdataType

from proxy.upstream.dns.failure import DnsFailure, DnsReason

TESTS: Final = Path(__file__).resolve().parents[1]
ZONES: Final = TESTS / "upstream" / "dns" / "zones"
SAMPLE: Final = TESTS / "samples" / "discovery" / "zone.example.com.db"
TOOLS: Final = ("knotd", "kzonesign", "keymgr")
_DAY: Final = 86_400
_PATIENCE: Final = 5.0
_OTHER_DIGEST: Final = "00" * 32


@dataclass(frozen=True, slots=True)
class Publication:
    """One zone: the `policy` it is signed by (None: it is not), how many `days` from now, and what is wrong."""

    domain: str
    files: tuple[Path, ...] = (ZONES / "plain.db",)
    policy: str | None = None
    days: int = 0
    has_wrong_ds: bool = False
    is_stripped: bool = False


# Children before their parents, which take up their DS records.
PUBLICATIONS: Final = (
    Publication("sub.example.com.", policy="nsec"),
    Publication("free.example.com."),
    Publication("free.nsec3.com."),
    Publication("free.optout.com."),
    Publication("example.com.", (SAMPLE, ZONES / "example.com.db"), policy="nsec"),
    Publication("nsec3.com.", (ZONES / "hashed.db",), policy="nsec3"),
    Publication("optout.com.", (ZONES / "hashed.db",), policy="opt-out"),
    Publication("iterations.com.", policy="iterations"),
    Publication("unsigned.com."),
    Publication("old.com."),
    Publication("expired.com.", policy="nsec", days=-60),
    Publication("future.com.", policy="nsec", days=60),
    Publication("wrongkey.com.", policy="nsec", has_wrong_ds=True),
    Publication("stripped.com.", policy="nsec", is_stripped=True),
    Publication("com.", (ZONES / "com.db",), policy="nsec"),
    Publication(".", (ZONES / "root.db",), policy="nsec"),
)

_POLICY: Final = """
  - id: {id}
    manual: on
    single-type-signing: on
    algorithm: ecdsap256sha256
    nsec3: {nsec3}
    nsec3-iterations: {iterations}
    nsec3-opt-out: {opt_out}
    nsec3-salt-length: {salt}
"""
_POLICIES: Final = "".join(
    _POLICY.format(id=name, nsec3=nsec3, iterations=iterations, opt_out=opt_out, salt=salt)
    for name, nsec3, iterations, opt_out, salt in (
        ("nsec", "off", 0, "off", 0),
        ("nsec3", "on", 5, "off", 4),
        ("opt-out", "on", 0, "on", 0),
        ("iterations", "on", 150, "off", 0),
    )
)


@dataclass(frozen=True)
class Internet:
    """The running server: its UDP and TCP `port` on 127.0.0.1, and the root's DS record in zone format."""

    port: int
    anchors_text: str
    directory: Path

    def zone(self, domain: str) -> dns.zone.Zone:
        """A zone as it is served."""
        path = self.directory / _file(domain)
        return dns.zone.from_file(str(path), origin=domain, relativize=False, check_origin=False)

    async def ask(self, name: Name, rdtype: RdataType) -> dns.message.Message:
        """One question with DO and CD set. Raises DnsFailure."""
        query = dns.message.make_query(name, rdtype, want_dnssec=True, payload=1232)
        query.flags |= dns.flags.CD
        try:
            response, _ = await dns.asyncquery.udp_with_fallback(query, "127.0.0.1", _PATIENCE, self.port)
        except (dns.exception.Timeout, OSError):
            raise DnsFailure(DnsReason.TIMEOUT, "The server did not answer in time.") from None
        if response.rcode() not in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN):
            raise DnsFailure(DnsReason.SERVFAIL, "The server did not answer.")
        return response


def missing_tools() -> tuple[str, ...]:
    """Which programs of Knot DNS are not on PATH."""
    return tuple(tool for tool in TOOLS if shutil.which(tool) is None)


@contextmanager
def knot(directory: Path, now: int, extra: Mapping[str, str] | None = None) -> Iterator[Internet]:
    """The internet, served from `directory` until the block ends; its signatures hold at `now` (Unix seconds).

    `extra` is further zone-format text by domain ("example.com."), relative to it, that is signed with the rest.
    """
    anchors_text = _publish(directory, now, extra or {})
    port = _free_port()
    configuration = directory / "knotd.conf"
    configuration.write_text(_serving(directory, port), encoding="utf-8")
    with (directory / "knotd.log").open("wb") as log:
        process = subprocess.Popen(["knotd", "-c", str(configuration)], stdout=log, stderr=subprocess.STDOUT)
        try:
            _wait_for(port, process, directory / "knotd.log")
            yield Internet(port, anchors_text, directory)
        finally:
            process.terminate()
            process.wait(_PATIENCE)


def _file(domain: str) -> str:
    return f"{domain.rstrip('.') or 'root'}.zone"


def _publish(directory: Path, now: int, extra: Mapping[str, str]) -> str:
    """Write and sign every zone; the DS record of the root, as text."""
    (directory / "signing.conf").write_text(_signing(directory), encoding="utf-8")
    digests: dict[str, str] = {}
    for publication in PUBLICATIONS:
        domain = publication.domain
        texts = [path.read_text(encoding="utf-8") for path in publication.files]
        below = [digest for child, digest in digests.items() if _parent(child) == domain]
        text = "\n".join([*texts, extra.get(domain, ""), *below, ""])
        (directory / _file(domain)).write_text(text, encoding="utf-8")
        if publication.policy is not None:
            digests[domain] = _sign(directory, publication, now + publication.days * _DAY)
    return digests["."]


def _parent(domain: str) -> str | None:
    return None if domain == "." else domain.partition(".")[2] or "."


def _sign(directory: Path, publication: Publication, at: int) -> str:
    """The DS record of a new key, with which the zone's file is signed in place at the time `at`."""
    domain, configuration = publication.domain, str(directory / "signing.conf")
    dates = [f"{state}={at}" for state in ("created", "publish", "ready", "active")]
    kind = ("algorithm=ecdsap256sha256", "ksk=yes", "zsk=yes")
    _run("keymgr", "-c", configuration, domain, "generate", *kind, *dates)
    records = _run("keymgr", "-c", configuration, domain, "ds").splitlines()
    [digest] = [record for record in records if " 13 2 " in record]
    if not publication.is_stripped:
        _run("kzonesign", "-c", configuration, "-t", str(at), "-o", str(directory), domain)
    if publication.has_wrong_ds:
        digest = digest[: -len(_OTHER_DIGEST)] + _OTHER_DIGEST
    return digest


def _run(*command: str) -> str:
    finished = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    if finished.returncode:
        raise RuntimeError(f"{command[0]} failed: {finished.stderr.strip()}")
    return finished.stdout


def _signing(directory: Path) -> str:
    zones = "".join(
        f"  - domain: {publication.domain}\n    file: {_file(publication.domain)}\n"
        f"    dnssec-signing: on\n    dnssec-policy: {publication.policy}\n"
        for publication in PUBLICATIONS
        if publication.policy is not None
    )
    storage = f"  storage: {directory}\n"
    template = f"template:\n  - id: default\n    storage: {directory}\n"
    return f"database:\n{storage}policy:{_POLICIES}{template}zone:\n{zones}"


def _serving(directory: Path, port: int) -> str:
    zones = "".join(f"  - domain: {each.domain}\n    file: {_file(each.domain)}\n" for each in PUBLICATIONS)
    return (
        f"server:\n  rundir: {directory}\n  listen: 127.0.0.1@{port}\n"
        "  udp-workers: 1\n  tcp-workers: 1\n  background-workers: 1\n"
        f"database:\n  storage: {directory}\n"
        "log:\n  - target: stdout\n    any: warning\n"
        f"template:\n  - id: default\n    storage: {directory}\n"
        "    zonefile-sync: -1\n    journal-content: none\n"
        f"zone:\n{zones}"
    )


def _free_port() -> int:
    """A port that is free for UDP and TCP; somebody may still take it before the server does."""
    while True:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp, socket.socket() as tcp:
            udp.bind(("127.0.0.1", 0))
            port: int = udp.getsockname()[1]
            try:
                tcp.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """Until the zone that is loaded last answers. Raises RuntimeError with the server's own words."""
    query = dns.message.make_query(".", RdataType.SOA)
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        try:
            response = dns.query.udp(query, "127.0.0.1", timeout=0.1, port=port)
        except (dns.exception.Timeout, OSError):
            time.sleep(0.02)
            continue
        if response.answer:
            return
    raise RuntimeError(f"knotd does not serve: {log.read_text(encoding='utf-8').strip()}")
