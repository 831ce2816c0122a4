"""The first tier: order, bounds and honest accounting."""

import gc
import tracemalloc
from collections.abc import Callable

import pytest

from proxy.caching.freshness import Lifetime, LifetimeSource
from proxy.caching.stored import StoredResponse
from proxy.http.fields import Fields
from proxy.stores.memory import Memory
from tests.stores.samples import START, bodies, response, variant


class Evictions(list[tuple[str, int]]):
    def __call__(self, reason: str, count: int) -> None:
        self.append((reason, count))


def roomy(max_variants: int = 64) -> tuple[Memory, Evictions]:
    evictions = Evictions()
    return Memory(10_000_000, max_variants, evictions), evictions


VARIANTS = {
    "nothing": ([], []),
    "one": ([response(b"a")], [b"a"]),
    "same variant replaced": ([response(b"a"), response(b"b")], [b"b"]),
    "variants side by side": ([variant("en"), variant("fr"), variant("de")], [b"en", b"fr", b"de"]),
    "newest last": ([variant("en"), variant("fr"), variant("en", b"en2")], [b"fr", b"en2"]),
    "other Vary kept": ([response(b"a"), variant("en")], [b"a", b"en"]),
}


@pytest.mark.parametrize(("puts", "expected"), VARIANTS.values(), ids=VARIANTS)
def test_variants(puts: list[StoredResponse], expected: list[bytes]) -> None:
    memory, evictions = roomy()
    for stored in puts:
        memory.put("k", stored, START)
    assert bodies(memory.get("k", START)) == expected
    assert len(memory) == len(expected) == len(list(memory.items())) and evictions == []


def test_what_is_held_equals_what_was_put() -> None:
    memory, _ = roomy()
    stored = variant("en", fields=Fields([("A", "1"), ("a", "2"), ("Long", "x" * 5000)]), tags=("t",))
    memory.put("k", stored, START)
    assert memory.get("k", START) == (stored,)


def test_the_oldest_born_variant_leaves_beyond_the_limit() -> None:
    memory, evictions = roomy(max_variants=2)
    for age, language in ((5, "en"), (9, "fr"), (0, "de")):
        memory.put("k", variant(language, born=START - age), START)
    assert bodies(memory.get("k", START)) == [b"en", b"de"]
    assert evictions == [("variants", 1)]


def test_least_recently_used_keys_leave_when_full() -> None:
    evictions = Evictions()
    memory = Memory(50_000, 64, evictions)
    for number in range(4):
        memory.put(f"k{number}", response(bytes(10_000)), START)
    memory.get("k0", START)
    memory.put("k4", response(bytes(10_000)), START)
    assert [key for key, _ in memory.items()] == ["k2", "k3", "k0", "k4"]
    assert evictions == [("capacity", 1)] and memory.bytes <= 50_000


def test_a_response_beyond_the_budget_goes_and_so_does_the_one_it_replaces() -> None:
    evictions = Evictions()
    memory = Memory(50_000, 64, evictions)
    memory.put("other", response(), START)
    memory.put("k", response(b"old"), START)
    memory.put("k", response(bytes(60_000)), START)
    assert memory.get("k", START) == () and len(memory) == 1
    assert evictions == [("capacity", 1)]


def test_one_key_may_not_outgrow_the_budget() -> None:
    evictions = Evictions()
    memory = Memory(50_000, 64, evictions)
    for language in ("en", "fr"):
        memory.put("k", variant(language, bytes(30_000)), START)
    assert (len(memory), memory.bytes, evictions) == (0, 0, [("capacity", 2)])


@pytest.mark.parametrize(
    "touch",
    [
        pytest.param(lambda memory, now: memory.get("k", now), id="seen by get"),
        pytest.param(lambda memory, now: memory.put("k", variant("fr", born=now), now), id="seen by put"),
    ],
)
def test_what_is_past_use_is_dropped_when_seen(touch: Callable[[Memory, float], object]) -> None:
    memory, evictions = roomy()
    memory.put("k", variant("en"), START)
    memory.put("k", variant("de", keep_until=START + 9000), START)
    touch(memory, START + 3601)
    assert b"en" not in bodies(memory.get("k", START)) and b"de" in bodies(memory.get("k", START))
    assert evictions == [("expired", 1)]


def test_remove_and_discard() -> None:
    memory, evictions = roomy()
    english, newer, french = variant("en"), variant("en", b"en2"), variant("fr")
    for stored in (english, newer, french):
        memory.put("k", stored, START)
    memory.discard("k", english)
    assert bodies(memory.get("k", START)) == [b"en2", b"fr"], "a replaced response was discarded"
    memory.discard("k", newer)
    assert bodies(memory.get("k", START)) == [b"fr"]
    assert (memory.remove("k"), memory.remove("k"), memory.remove("unknown")) == (1, 0, 0)
    assert (memory.bytes, len(memory), evictions) == (0, 0, [])


def text(value: str) -> str:
    """A string of its own, as a parser makes one for every message."""
    return "".join(list(value))


def document(number: int) -> StoredResponse:
    """A discovery document as origins send it: 2 KB, 12 fields, a third of them its own."""
    lines = {
        "Date": f"Mon, 01 Jan 2027 {number // 3600:02}:{number // 60 % 60:02}:{number % 60:02} GMT",
        "Content-Type": "application/json",
        "Content-Length": "2048",
        "ETag": f'"{number * 7919:032x}"',
        "Last-Modified": f"Sun, 31 Dec 2026 {number // 3600:02}:{number // 60 % 60:02}:00 GMT",
        "Cache-Control": "public, max-age=3600",
        "Vary": "Accept-Encoding",
        "Server": "nginx",
        "X-Content-Type-Options": "nosniff",
        "Strict-Transport-Security": "max-age=63072000; includeSubDomains",
        "X-Request-Id": f"{number * 104729:032x}",
        "Access-Control-Allow-Origin": "*",
    }
    fields = Fields((text(name), text(value)) for name, value in lines.items())
    return response(
        b"%02048d" % number,
        born=START + number / 7,
        uri=text(f"https://host-{number}.example/.well-known/agent-card.json"),
        fields=fields,
        downstream_etag=fields.get("etag"),
        vary=(text("accept-encoding"),),
        selecting=(text("br, gzip"),),
        lifetime=Lifetime(float(text("3600")), LifetimeSource.MAX_AGE),
    )


def test_bytes_are_what_entries_cost() -> None:
    """Per entry about: body 2.1 KB, index by name 1.8, own lines 0.6, the response 0.7, tables 0.3."""
    entries = 5_000
    memory = Memory(1 << 40, 64, Evictions())
    memory.put("warm", document(0), START)
    memory.remove("warm")
    gc.collect()
    gc.disable()  # it would spend most of the time on looking at what is held
    tracemalloc.start()
    try:
        for number in range(entries):
            stored = document(number)
            memory.put(stored.uri, stored, START)
        del stored
        real = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
        gc.enable()
    ratio = memory.bytes / real
    assert 0.85 < ratio < 1.15, f"{memory.bytes / entries:.0f} bytes an entry said, {real / entries:.0f} real"


def test_unique_urls_stay_within_the_budget() -> None:
    memory = Memory(2_000_000, 64, Evictions())
    counts = set()
    for number in range(3000):
        stored = document(number)
        memory.put(stored.uri, stored, START)
        if number > 1000:
            counts.add(len(memory))
    assert memory.bytes <= 2_000_000
    assert max(counts) - min(counts) <= 10, "shared parts that come and go may move the count a little"
