"""Content by its hash over gateways that nobody has to trust: bad ones, and files that other programs made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from proxy.server import service, wiring
from proxy.trust.content.cid import parse_cid
from proxy.trust.signatures.datetimes import parse_date_time_stamp
from tests.end_to_end.trust.world import (
    HOST,
    World,
    ask_manifest,
    attempts,
    counted,
    looked_for,
    octets,
    signed_manifest,
    trust_of,
    verified_from,
)
from tests.simulators.gateway import (
    Behaviour,
    endless,
    html,
    ipns_name,
    ipns_record,
    redirect,
    shortened,
    slow,
    status,
    truncated,
    wrong_bytes,
)
from tests.trust.publisher import Json, without

VECTORS: Final = Path(__file__).resolve().parents[4] / "shared" / "vectors"
is_here = pytest.mark.skipif(not VECTORS.exists(), reason="the vectors are not on this machine")

# How the attempt at the first of two gateways ends, and why.
FIRST_GATEWAY: dict[str, tuple[Behaviour, str, str]] = {
    "wrong bytes": (wrong_bytes, "refused", "cid_mismatch"),
    "half the bytes": (shortened, "refused", "cid_mismatch"),
    "HTML": (html, "failed", "not-a-document"),
    "truncated": (truncated, "failed", "origin-invalid-response"),
    "endless": (endless, "failed", "too-large"),
    "to a private address": (redirect("https://10.1.2.3/ipfs/{cid}?format=raw"), "failed", "redirect-refused"),
    "to cloud metadata": (redirect("http://169.254.169.254/{cid}"), "failed", "redirect-refused"),
    "to another port": (redirect("http://127.0.0.1:1/ipfs/{cid}"), "failed", "redirect-refused"),
    "to itself": (redirect("/ipfs/{cid}?format=raw"), "failed", "too-many-redirects"),
    "404": (status(404), "failed", "status-404"),
    "410": (status(410), "failed", "status-410"),
    "429": (status(429, Retry_After="60"), "failed", "status-429"),
    "504": (status(504), "failed", "status-504"),
}


def listed_copy(world: World) -> tuple[bytes, bytes, str]:
    """A manifest that lists nothing but its copy for IPFS, that copy, and its URL; both gateways have it."""
    copy = signed_manifest()
    first, second = world.gateways
    url = f"ipfs://{first.add_file(copy).text}"
    second.add_file(copy)
    return signed_manifest(url), copy, url


@pytest.mark.parametrize(("behaviour", "outcome", "reason"), FIRST_GATEWAY.values(), ids=FIRST_GATEWAY)
async def test_the_second_serves(
    world: World, log: pytest.LogCaptureFixture, behaviour: Behaviour, outcome: str, reason: str
) -> None:
    async with world.proxy(failover__hedge_delay=3) as proxy:
        body, copy, url = listed_copy(world)
        await world.known(proxy, body)
        first, second = world.gateways
        first.behave(behaviour)
        answer = await ask_manifest(proxy)
        assert (answer.status, answer.body, trust_of(answer)) == (200, copy, verified_from("ipfs"))
        block = f"{first.url}/ipfs/{url.removeprefix('ipfs://')}"
        assert looked_for(log) == [("ipfs", block, outcome, reason), ("ipfs", url, "served", "")]
        asked = await counted(proxy, "discovery_proxy_upstream_requests_total", reason="gateway")
        assert sum(asked.values()) == 2 and asked["verified"] == 1
        assert len(first.asked) == (4 if reason == "too-many-redirects" else 1)
        assert {request.headers["Accept"] for request in second.requests} == {"application/vnd.ipld.raw"}


async def test_a_slow_one_is_overtaken(world: World) -> None:
    async with world.proxy() as proxy:
        body, copy, _ = listed_copy(world)
        await world.known(proxy, body)
        world.gateways[0].behave(slow(5.0))
        answer = await ask_manifest(proxy)
        assert (answer.body, trust_of(answer)) == (copy, verified_from("ipfs"))


async def test_who_answered_wrongly_is_asked_last(world: World) -> None:
    async with world.proxy(failover__hedge_delay=3) as proxy:
        body, copy, _ = listed_copy(world)
        await world.known(proxy, body)
        first, second = world.gateways
        first.behave(wrong_bytes)
        for times in (1, 2):
            assert (await ask_manifest(proxy)).body == copy
            assert (len(first.asked), len(second.asked)) == (1, times)
            await proxy.purge()


async def test_where_every_gateway_misbehaves_the_log_tells_of_each(
    world: World, log: pytest.LogCaptureFixture
) -> None:
    async with world.proxy(failover__hedge_delay=3) as proxy:
        body, _, url = listed_copy(world)
        await world.known(proxy, body)
        first, second = world.gateways
        first.behave(wrong_bytes)
        second.behave(status(410))
        answer = await ask_manifest(proxy)
        assert (answer.status, answer.slug) == (504, "no-trusted-copy")
        assert [(outcome, reason) for _, _, outcome, reason in looked_for(log)[:2]] == [
            ("refused", "cid_mismatch"),
            ("failed", "status-410"),
        ]
        # Where the operator's gateways are is nobody else's business.
        assert [(source, place) for source, place, _, _ in attempts(answer)] == [("ipfs", url)]


async def test_a_name_leads_to_the_current_copy(world: World, log: pytest.LogCaptureFixture) -> None:
    """Written once in the manifest, it leads to versions that came later; never back."""
    key = Ed25519PrivateKey.generate()
    name = ipns_name(key)
    url = f"ipns://{name.text}"

    def point_to(body: bytes, sequence: int) -> None:
        for gateway in world.gateways:
            value = f"/ipfs/{gateway.add_file(body).text}"
            until = wiring.wall_clock() + 3600
            gateway.add_record(name.text, ipns_record(key, value, sequence=sequence, valid_until=until))

    async with world.proxy() as proxy:
        first = await world.known(proxy, signed_manifest(url))
        newer = signed_manifest(url, sequence=43)
        point_to(newer, 7)
        answer = await ask_manifest(proxy)
        assert (answer.body, trust_of(answer)) == (newer, verified_from("ipfs"))
        assert looked_for(log) == [("ipfs", url, "served", "")]
        await proxy.purge()
        point_to(first, 6)
        answer = await ask_manifest(proxy)
        assert (answer.status, attempts(answer)) == (504, [("ipfs", url, "refused", "rollback")])
        point_to(first, 8)
        answer = await ask_manifest(proxy)
        assert (answer.status, attempts(answer)) == (504, [("ipfs", url, "refused", "rollback")])


def made_by_others() -> list[Any]:
    """What other programs made of the published manifest."""
    if not VECTORS.exists():
        return [pytest.param({}, marks=is_here, id="none")]
    rows = json.loads((VECTORS / "ipfs" / "fixtures.json").read_bytes())
    made = [row for row in rows if row.get("file", "").startswith("unixfs-made-by-js/")]
    return [pytest.param(row, id=Path(row["file"]).stem) for row in made]


class Past:
    """A time at which the published manifest is valid, and the keys of its domain by configuration."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        cases = json.loads((VECTORS / "uaix" / "mirror-verification-cases.json").read_bytes())
        then = parse_date_time_stamp(cases["now"])
        assert then is not None
        behind = wiring.wall_clock() - then
        monkeypatch.setattr(service, "wall_clock", lambda: wiring.wall_clock() - behind)
        document = folder / "anchor.json"
        document.write_text(cases["didDocument"], encoding="utf-8")
        self.sections: dict[str, object] = {
            "trust__anchors": {HOST: {"did": cases["did"], "document": str(document)}}
        }
        self.manifest = (VECTORS / "ipfs" / "manifest.json").read_bytes()

    def unsigned(self, *mirrors: str) -> bytes:
        """The same version as the origin has it, which may do without a proof."""
        document: Json = json.loads(self.manifest)
        return octets({**without(document, "proof"), "x-independent-mirrors": [*mirrors]})


@pytest.fixture
def past(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Past:
    return Past(tmp_path, monkeypatch)


@is_here
@pytest.mark.parametrize("row", made_by_others())
async def test_what_others_have_made_of_a_published_manifest(world: World, past: Past, row: dict[str, Any]) -> None:
    gateway, file = world.gateways[0], VECTORS / "ipfs" / row["file"]
    if file.suffix == ".car":
        gateway.add_car(file)
    else:
        gateway.add_block(parse_cid(row["root"]), file.read_bytes())
    async with world.proxy(**past.sections) as proxy:
        await world.known(proxy, past.unsigned(f"ipfs://{row['root']}"))
        answer = await ask_manifest(proxy)
        if row["expect"] == "reject-not-a-file":
            assert (answer.status, attempts(answer)[-1][2:]) == (504, ("refused", "ipfs_not_a_file"))
            return
        assert trust_of(answer) == verified_from("ipfs")
        # DAG-JSON is JSON: the file is the block, and signed in its canonical form.
        assert answer.body == (past.manifest if row["expect"] == "content" else file.read_bytes())
        assert json.loads(answer.body) == json.loads(past.manifest)


@is_here
async def test_the_domain_is_not_asked_for_keys_that_are_configured(world: World, past: Past) -> None:
    async with world.proxy(**past.sections) as proxy:
        world.publish(past.manifest)
        answer = await ask_manifest(proxy)
        assert (answer.body, trust_of(answer)) == (past.manifest, verified_from("origin"))
        assert len(world.origin.asked) == 1
