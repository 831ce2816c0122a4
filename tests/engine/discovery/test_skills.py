"""Agent skills in a discovery: the index, and artifacts held to their digests (SK-1 to SK-7)."""

from __future__ import annotations

import gzip
from typing import Any

import pytest

from proxy.http.fields import Fields
from tests.engine.discovery.documents import (
    CATALOG_AT,
    HTML,
    SITE,
    SKILLS_AT,
    digest,
    skill,
    skills_index,
)
from tests.simulators.discovery import Described, Neighbourhood, neighbourhood
from tests.simulators.origin import Reply

BODY = b"# Shop\r\n\r\nHow to buy.\r\n"
NEWER = b"# Shop\n\nHow to buy, again.\n"
ARTIFACT = "/skills/shop/SKILL.md"
RAW = "https://raw.githubusercontent.com/example/skills/main/shop/SKILL.md"
MARKDOWN = {"content_type": "text/markdown"}


def published(*skills: dict[str, object], body: bytes = BODY, at: str = ARTIFACT) -> Neighbourhood:
    n = neighbourhood()
    n.publish(SKILLS_AT, skills_index(*skills))
    n.publish(at, body, **MARKDOWN)
    return n


def artifact(answer: Described, url: str = ARTIFACT) -> tuple[Any, ...]:
    """How an artifact is listed: found, trust and the rules it breaks."""
    listed = answer.document(url)
    return listed["found"], listed["trust"], [one["rule"] for one in listed["lint"]]


class TestDigests:
    """SK-4."""

    async def test_the_artifact_that_was_meant(self) -> None:
        n = published(skill("shop", BODY))
        answer = await n.discover()
        assert artifact(answer) == (True, "origin-tls", [])
        listed = answer.document(ARTIFACT)
        assert (listed["class"], listed["sha256"]) == ("skill", digest(BODY)[7:])
        assert n.paths.count(SKILLS_AT) == n.paths.count(ARTIFACT) == 1

    async def test_another_artifact_is_rejected_after_one_more_look_at_both(self) -> None:
        n = published(skill("shop", b"other"))
        assert artifact(await n.discover()) == (True, "rejected", ["SK-4"])
        assert n.paths.count(SKILLS_AT) == n.paths.count(ARTIFACT) == 2

    async def test_the_second_look_goes_past_every_cache(self) -> None:
        n = published(skill("shop", b"other"))
        await n.discover()
        sent = [one.field("Cache-Control") for one in n.engine.origin.requests if one.path in (SKILLS_AT, ARTIFACT)]
        assert sent == [None, None, "no-cache", "no-cache"]

    async def test_many_that_differ_are_one_more_look_at_the_index(self) -> None:
        names = [f"s{number}" for number in range(6)]
        n = neighbourhood()
        n.publish(SKILLS_AT, skills_index(*(skill(name, b"other") for name in names)))
        for name in names:
            n.publish(f"/skills/{name}/SKILL.md", BODY, **MARKDOWN)
        answer = await n.discover()
        assert n.paths.count(SKILLS_AT) == 2
        assert all(artifact(answer, f"/{name}/SKILL.md") == (True, "rejected", ["SK-4"]) for name in names)

    async def test_a_new_index_with_a_stale_artifact_is_mended(self) -> None:
        n = published(skill("shop", BODY))
        n.publish(SKILLS_AT, skills_index(skill("shop", BODY)), cache_control="max-age=10, must-revalidate")
        await n.discover()
        n.publish(SKILLS_AT, skills_index(skill("shop", NEWER)), cache_control="max-age=10, must-revalidate")
        n.publish(ARTIFACT, NEWER, **MARKDOWN)
        n.engine.clock += 40
        answer = await n.discover()
        assert artifact(answer) == (True, "origin-tls", [])
        assert answer.document(ARTIFACT)["sha256"] == digest(NEWER)[7:]

    async def test_a_stale_index_with_a_new_artifact_is_mended(self) -> None:
        n = published(skill("shop", BODY))
        n.publish(ARTIFACT, BODY, cache_control="max-age=10, must-revalidate", **MARKDOWN)
        await n.discover()
        newer = skills_index(skill("shop", NEWER))
        n.publish(SKILLS_AT, newer)
        n.publish(ARTIFACT, NEWER, cache_control="max-age=10, must-revalidate", **MARKDOWN)
        n.engine.clock += 40
        answer = await n.discover()
        assert artifact(answer) == (True, "origin-tls", [])
        assert answer.document(SKILLS_AT)["sha256"] == digest(newer)[7:]

    async def test_what_was_mended_stays_so(self) -> None:
        n = published(skill("shop", BODY))
        n.publish(ARTIFACT, BODY, cache_control="max-age=10, must-revalidate", **MARKDOWN)
        await n.discover()
        n.publish(SKILLS_AT, skills_index(skill("shop", NEWER)))
        n.publish(ARTIFACT, NEWER, cache_control="max-age=10, must-revalidate", **MARKDOWN)
        n.engine.clock += 40
        await n.discover()
        asked = len(n.paths)
        n.engine.clock += 1
        assert artifact(await n.discover()) == (True, "origin-tls", [])
        assert len(n.paths) == asked

    async def test_an_artifact_that_moved_on_in_the_index_is_read_at_its_new_place(self) -> None:
        n = published(skill("shop", BODY))
        n.publish(ARTIFACT, BODY, cache_control="max-age=10, must-revalidate", **MARKDOWN)
        await n.discover()
        n.publish(SKILLS_AT, skills_index(skill("shop", NEWER, "/new/SKILL.md")))
        n.publish(ARTIFACT, b"# Moved\n", cache_control="max-age=10, must-revalidate", **MARKDOWN)
        n.publish("/new/SKILL.md", NEWER, **MARKDOWN)
        n.engine.clock += 40
        assert artifact(await n.discover(), "/new/SKILL.md") == (True, "origin-tls", [])

    async def test_one_that_is_gone_at_the_second_look_is_absent(self) -> None:
        n = published(skill("shop", b"other"))
        replies = [Reply(200, Fields([("Content-Type", "text/markdown")]), BODY), Reply(404)]
        n.engine.origin.answer(ARTIFACT, lambda _: replies.pop(0))
        listed = (await n.discover()).document(ARTIFACT)
        assert (listed["found"], listed["reason"]) == (False, "status-404")

    async def test_an_index_that_is_gone_at_the_second_look_still_counts(self) -> None:
        n = published(skill("shop", b"other"))
        index = skills_index(skill("shop", b"other"))
        n.publish(SKILLS_AT, index)
        first = n.engine.origin.answering(SKILLS_AT)
        calls: list[int] = []

        def once(request: Any) -> Reply:
            calls.append(1)
            return first(request) if len(calls) == 1 else Reply(404)

        n.engine.origin.answer(SKILLS_AT, once)
        answer = await n.discover()
        assert artifact(answer) == (True, "rejected", ["SK-4"])
        assert answer.document(SKILLS_AT)["found"] is True

    @pytest.mark.parametrize("change", [lambda b: b + b"\n", lambda b: b.replace(b"\r\n", b"\n"), lambda b: b[1:]])
    async def test_one_octet_decides(self, change: Any) -> None:
        n = published(skill("shop", BODY), body=change(BODY))
        assert artifact(await n.discover()) == (True, "rejected", ["SK-4"])

    async def test_the_digest_is_over_the_bytes_without_content_coding(self) -> None:
        n = published(skill("shop", BODY))
        n.publish(ARTIFACT, gzip.compress(BODY), fields=[("Content-Encoding", "gzip")], **MARKDOWN)
        assert artifact(await n.discover()) == (True, "origin-tls", [])

    async def test_an_archive_is_not_decoded(self) -> None:
        archive = gzip.compress(b"tar")
        n = published(skill("shop", archive, "/shop.tar.gz", type="archive"))
        n.publish("/shop.tar.gz", archive, content_type="application/gzip")
        assert artifact(await n.discover(), "/shop.tar.gz") == (True, "origin-tls", [])

    @pytest.mark.parametrize(
        "stated", [None, "sha256:00", "md5:" + "0" * 32, 7], ids=["none", "short", "weak", "number"]
    )
    async def test_without_a_digest_nothing_is_vouched_for(self, stated: object) -> None:
        n = published(skill("shop", BODY, digest=stated))
        answer = await n.discover()
        assert artifact(answer) == (True, "origin-tls", ["SK-4"])
        assert "SK-4" in {one["rule"] for one in answer.document(SKILLS_AT)["lint"]}
        assert n.paths.count(SKILLS_AT) == 1


class TestPlaces:
    """SK-3, SK-5: where artifacts lie."""

    @pytest.mark.parametrize(
        ("url", "place"),
        [
            ("shop/SKILL.md", f"{SITE}/.well-known/agent-skills/shop/SKILL.md"),
            ("/skills/shop/SKILL.md", f"{SITE}{ARTIFACT}"),
            ("../../s.md", f"{SITE}/s.md"),
            ("//cdn.example.net/s.md", "https://cdn.example.net/s.md"),
            (RAW, RAW),
        ],
        ids=["beside", "absolute path", "up", "another host", "a branch"],
    )
    async def test_relative_to_the_index_and_elsewhere(self, url: str, place: str) -> None:
        n = published(skill("shop", BODY, url), at=place)
        assert artifact(await n.discover(), place) == (True, "origin-tls", [])

    @pytest.mark.parametrize(
        ("place", "leads_to", "trust"),
        [
            (f"{SITE}/s.md", None, "origin-tls"),
            ("https://docs.example.com/s.md", None, "origin-tls"),
            ("https://cdn.example.net/s.md", None, "hint"),
            (f"{SITE}/s.md", "https://cdn.example.net/s.md", "hint"),
            ("https://cdn.example.net/s.md", f"{SITE}/s.md", "origin-tls"),
        ],
        ids=["here", "another host", "another site", "moved away", "moved here"],
    )
    async def test_without_a_digest_another_site_s_word_is_a_hint(
        self, place: str, leads_to: str | None, trust: str
    ) -> None:
        n = published(skill("shop", BODY, place, digest=None), at=leads_to or place)
        if leads_to is not None:
            n.publish(place, b"", status=302, fields=[("Location", leads_to)])
        assert artifact(await n.discover(), leads_to or place) == (True, trust, ["SK-4"])

    async def test_a_mutable_branch_is_told_of(self) -> None:
        n = published(skill("shop", BODY, RAW), at=RAW)
        lint = (await n.discover()).document(SKILLS_AT)["lint"]
        assert [one["rule"] for one in lint] == ["SK-3"]

    async def test_a_mutable_branch_that_went_on_is_rejected_and_mended_by_a_new_index(self) -> None:
        n = published(skill("shop", BODY, RAW), at=RAW)
        await n.discover()
        n.publish(RAW, NEWER, **MARKDOWN)
        n.engine.clock += 400
        await n.discover()
        await n.engine.refreshed()
        n.engine.clock += 31
        answer = await n.discover()
        assert artifact(answer, "SKILL.md") == (True, "rejected", ["SK-4"])
        n.publish(SKILLS_AT, skills_index(skill("shop", NEWER, RAW)))
        n.engine.clock += 400
        assert artifact(await n.discover(), "SKILL.md") == (True, "origin-tls", [])

    async def test_redirects_are_followed(self) -> None:
        n = published(skill("shop", BODY))
        n.publish(SKILLS_AT, b"", status=302, fields=[("Location", "https://docs.example.net/index.json")])
        n.publish("https://docs.example.net/index.json", skills_index(skill("shop", BODY, f"{SITE}{ARTIFACT}")))
        n.publish(ARTIFACT, b"", status=301, fields=[("Location", "https://cdn.example.net/s.md")])
        n.publish("https://cdn.example.net/s.md", BODY, **MARKDOWN)
        assert artifact(await n.discover(), "/s.md") == (True, "hint", [])

    @pytest.mark.parametrize(
        "url",
        [
            "http://example.com/s.md",
            "https://10.0.0.1/s.md",
            "https://u:p@example.com/s.md",
            "https://example.com:22/s.md",
            "file:///etc/passwd",
            "",
            7,
        ],
    )
    async def test_what_may_not_be_fetched(self, url: object) -> None:
        n = published({**skill("shop", BODY), "url": url})
        answer = await n.discover()
        assert [one for one in answer["documents"] if one["class"] == "skill"] == []
        assert "SK-3" in {one["rule"] for one in answer.document(SKILLS_AT)["lint"]}

    async def test_central_services_are_not_asked(self) -> None:
        n = published(skill("shop", BODY, "https://agentskills.io/shop/SKILL.md"))
        answer = await n.discover()
        assert n.asked("agentskills.io") == []
        assert artifact(answer, "agentskills.io/shop/SKILL.md") == (False, None, [])

    @pytest.mark.parametrize("status", [404, 410, 403, 500])
    async def test_an_artifact_that_is_not_there(self, status: int) -> None:
        n = published(skill("shop", BODY), skill("other", BODY, ARTIFACT))
        n.publish(ARTIFACT, b"", status=status)
        assert artifact(await n.discover()) == (False, None, [])


class TestIndexes:
    """SK-1, SK-2: which index is read."""

    async def test_of_an_unknown_schema_nothing_is_read(self) -> None:
        n = neighbourhood()
        schema = "https://raw.githubusercontent.com/x/y/main/schema.json"
        n.publish(SKILLS_AT, {**skills_index(skill("shop", BODY)), "$schema": schema})
        answer = await n.discover()
        assert [one["rule"] for one in answer.document(SKILLS_AT)["lint"]] == ["SK-1"]
        assert ARTIFACT not in n.paths

    async def test_without_a_schema_it_is_of_the_first_version(self) -> None:
        n = neighbourhood()
        n.publish(SKILLS_AT, {"skills": [{"name": "shop", "description": "Helps.", "files": ["SKILL.md"]}]})
        n.publish("/.well-known/agent-skills/shop/SKILL.md", BODY, **MARKDOWN)
        answer = await n.discover()
        assert artifact(answer, "/shop/SKILL.md") == (True, "origin-tls", ["SK-4"])
        assert "SK-1" in {one["rule"] for one in answer.document(SKILLS_AT)["lint"]}

    @pytest.mark.parametrize(
        "members",
        [{"type": "skill"}, {"type": None}, {"name": None}, {"type": 7}, {"name": ""}],
        ids=["unknown type", "no type", "no name", "type no text", "empty name"],
    )
    async def test_a_skill_that_cannot_be_read_leaves_the_others(self, members: dict[str, object]) -> None:
        n = published({**skill("bad", BODY, "/bad.md"), **members}, skill("shop", BODY))
        answer = await n.discover()
        assert artifact(answer) == (True, "origin-tls", [])
        assert "SK-2" in {one["rule"] for one in answer.document(SKILLS_AT)["lint"]}
        assert "/bad.md" not in n.paths

    @pytest.mark.parametrize(
        ("body", "how"),
        [
            (HTML, {"content_type": "text/html"}),
            (b"", {}),
            (b"[]", {}),
            (b'{"skills":{}}', {}),
            (b"x", {"status": 401}),
            (b"x", {"status": 500}),
        ],
        ids=["HTML", "empty", "list", "skills no list", "401", "500"],
    )
    async def test_what_is_no_index(self, body: bytes, how: dict[str, Any]) -> None:
        n = neighbourhood()
        n.publish(SKILLS_AT, body, **how)
        assert (await n.discover()).document(SKILLS_AT)["found"] is False

    async def test_thirty_two_artifacts(self) -> None:
        n = neighbourhood()
        n.publish(SKILLS_AT, skills_index(*(skill(f"s{number}", BODY) for number in range(40))))
        answer = await n.discover()
        assert len([path for path in n.paths if path.startswith("/skills/")]) == 32
        assert answer.step("skill", SKILLS_AT)["outcome"] == "skipped"

    async def test_an_artifact_of_twenty_megabytes_is_refused(self) -> None:
        body = b"x" * 20_000_000
        n = published(skill("shop", body), body=body)
        listed = (await n.discover()).document(ARTIFACT)
        assert (listed["found"], listed["reason"]) == (False, "too-large")
        assert n.engine.origin.leaked == []

    async def test_the_old_place_is_not_guessed(self) -> None:
        n = neighbourhood()
        await n.discover()
        assert "/.well-known/skills/index.json" not in n.paths


async def test_an_index_that_is_read_again_is_held_to_its_format() -> None:
    """A good copy is not replaced by the web page that is there for a moment."""
    n = neighbourhood()
    at = "https://example.com/sk.json"
    entry = {"identifier": "urn:air:example.com:s", "type": "application/agent-skills+json", "url": at}
    n.publish(CATALOG_AT, {"specVersion": "1.0", "entries": [entry]})
    n.publish(at, skills_index(skill("shop", b"other")))
    n.publish(ARTIFACT, BODY, **MARKDOWN)
    good = n.engine.origin.answering(at)

    def again(request: Any) -> Reply:
        if "no-cache" in (request.fields.get("cache-control") or ""):
            return Reply(200, Fields((("Content-Type", "text/html"),)), b"<html>oops</html>")
        return good(request)

    n.engine.origin.answer(at, again)
    await n.discover()
    assert all(b"oops" not in stored.body for stored in n.engine.store.peek(at))
