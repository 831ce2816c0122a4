"""The internet of the tests itself: that it is what the tests take it for."""

from __future__ import annotations

import socket
import subprocess
import time
from pathlib import Path

import dns.dnssec
import pytest
from dns.rcode import NOERROR
from dns.rdatatype import CNAME, DNSKEY, DS, NSEC, NSEC3, RRSIG, SOA, TXT, RdataType

from proxy.discovery.records.dnsvalues import DnsOutcome, Security
from proxy.upstream.dns.anchors import parse_anchors
from proxy.upstream.dns.client import DnsClient
from proxy.upstream.dns.failure import DnsFailure
from proxy.upstream.dns.resolvers import Resolver
from proxy.upstream.dns.rounds import Rounds
from proxy.upstream.dns.settings import DnsSettings
from proxy.upstream.dns.validation import Validator
from tests.simulators import knot as simulator
from tests.simulators.knot import PUBLICATIONS, Internet, knot, missing_tools
from tests.upstream.dns.signed import NOW, name


@pytest.mark.parametrize("domain", [each.domain for each in PUBLICATIONS])
async def test_every_zone_is_served(internet: Internet, domain: str) -> None:
    received = await internet.ask(name(domain), SOA)
    assert received.rcode() == NOERROR
    assert received.answer[0].name == name(domain)


SIGNED = [each for each in PUBLICATIONS if each.policy is not None and each.domain != "."]


@pytest.mark.parametrize("publication", SIGNED, ids=[each.domain for each in SIGNED])
async def test_the_parent_answers_for_ds_records(internet: Internet, publication: simulator.Publication) -> None:
    domain = name(publication.domain)
    received = await internet.ask(domain, DS)
    rrset = received.find_rrset(received.answer, domain, "IN", DS)
    [signature] = received.find_rrset(received.answer, domain, "IN", RRSIG, DS)
    assert signature.signer == domain.parent()
    keys = internet.zone(publication.domain).get_rdataset(publication.domain, DNSKEY)
    if publication.is_stripped:
        assert keys is None
    else:
        made = {dns.dnssec.make_ds(domain, key, "SHA256").digest for key in keys or ()}
        assert (rrset[0].digest in made) is not publication.has_wrong_ds


async def test_an_alias_into_another_zone_is_only_a_part(internet: Internet) -> None:
    received = await internet.ask(name("away.example.com."), TXT)
    assert {rrset.rdtype for rrset in received.answer} == {CNAME, RRSIG}
    assert not any(rrset.rdtype == SOA for rrset in received.authority)


DENIALS = [("nothing.example.com.", NSEC, 0), ("nothing.nsec3.com.", NSEC3, 0), ("nothing.optout.com.", NSEC3, 1)]


@pytest.mark.parametrize(("asked", "rdtype", "flags"), DENIALS)
async def test_kinds_of_denial(internet: Internet, asked: str, rdtype: RdataType, flags: int) -> None:
    received = await internet.ask(name(asked), TXT)
    found = [rrset[0] for rrset in received.authority if rrset.rdtype == rdtype]
    assert found and all(getattr(record, "flags", 0) == flags for record in found)


async def test_further_records_are_signed_with_the_rest(tmp_path: Path) -> None:
    if missing_tools():
        pytest.skip("Knot DNS is not on PATH")
    began = time.monotonic()
    with knot(tmp_path, NOW, {"example.com.": '_agent.new IN TXT "v=aid1"'}) as internet:
        assert time.monotonic() - began < 3
        received = await internet.ask(name("_agent.new.example.com."), TXT)
        assert {rrset.rdtype for rrset in received.answer} == {TXT, RRSIG}
        port = internet.port
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", port))  # free again


async def test_a_server_that_is_gone_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulator, "_PATIENCE", 0.05)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent, pytest.raises(DnsFailure):
        silent.bind(("127.0.0.1", 0))
        await Internet(silent.getsockname()[1], "", tmp_path).ask(name("example.com."), SOA)


ANSWERS = [
    ("_agent.shop.example.com", "TXT", DnsOutcome.ANSWER, Security.SECURE),
    ("billing.example.com", "SVCB", DnsOutcome.ANSWER, Security.SECURE),
    ("shop.example.com", "TXT", DnsOutcome.NODATA, Security.SECURE),
    ("nothing.example.com", "TXT", DnsOutcome.NXDOMAIN, Security.SECURE),
    ("away.example.com", "TXT", DnsOutcome.ANSWER, Security.SECURE),
    ("astray.example.com", "TXT", DnsOutcome.ANSWER, Security.INSECURE),
    ("_agent.tree.example.com", "TXT", DnsOutcome.ANSWER, Security.SECURE),
    ("_agent.unsigned.com", "TXT", DnsOutcome.ANSWER, Security.INSECURE),
    ("nothing.optout.com", "TXT", DnsOutcome.NXDOMAIN, Security.INSECURE),
    ("_agent.expired.com", "TXT", DnsOutcome.FAILURE, Security.BOGUS),
    ("_agent.stripped.com", "TXT", DnsOutcome.FAILURE, Security.BOGUS),
]


@pytest.mark.parametrize(("asked", "rdtype", "outcome", "security"), ANSWERS)
async def test_what_the_client_makes_of_it(
    internet: Internet, asked: str, rdtype: str, outcome: DnsOutcome, security: Security
) -> None:
    rounds = Rounds(DnsSettings((Resolver("127.0.0.1", internet.port),)))
    validator = Validator(rounds.exchange, parse_anchors(internet.anchors_text), lambda: NOW)
    client = DnsClient(rounds, lambda: NOW, validator)
    answer = await client.resolve(asked, rdtype)
    await client.close()
    assert (answer.outcome, answer.security) == (outcome, security)
    assert bool(answer.records) is (outcome is DnsOutcome.ANSWER)


def test_a_zone_that_is_none_is_told(tmp_path: Path) -> None:
    if missing_tools():
        pytest.skip("Knot DNS is not on PATH")
    with pytest.raises(RuntimeError, match="kzonesign failed"), knot(tmp_path, NOW, {"example.com.": "@ IN A x"}):
        pass


def test_a_server_that_does_not_start_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulator, "_publish", lambda *_: "")
    monkeypatch.setattr(simulator, "_serving", lambda *_: "nonsense")
    if missing_tools():
        pytest.skip("Knot DNS is not on PATH")
    with pytest.raises(RuntimeError, match="knotd does not serve"), knot(tmp_path, NOW):
        pass


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulator.shutil, "which", lambda tool: None if tool == "knotd" else f"/bin/{tool}")
    assert missing_tools() == ("knotd",)


def test_tools_do_not_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulator, "_PATIENCE", 0.05)
    with pytest.raises(subprocess.TimeoutExpired):
        simulator._run("sleep", "5")
