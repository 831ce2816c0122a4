"""Where a domain may publish: each source as a step, in the order of §10, a few at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from proxy.discovery.access.manifest import Links
from proxy.discovery.authorization.identifiers import IssuerSlash
from proxy.discovery.cards.a2a import AgentJsonKind, sniff_agent_json
from proxy.discovery.cards.mcp import card_probes
from proxy.discovery.classes import DocumentClass, classify
from proxy.discovery.findings import Finding
from proxy.discovery.gate import PAGES, GateReason, NotADocument
from proxy.discovery.jsontext import parse_json
from proxy.discovery.listings.catalog import Catalog
from proxy.discovery.listings.mediatypes import EntryKind
from proxy.discovery.names import same_site
from proxy.discovery.pages.links import WebLink, parse_html_links, parse_link_fields
from proxy.discovery.pages.llms import parse_llms
from proxy.discovery.pages.robots import Robots, parse_robots
from proxy.engine.discovery.aid import AidSource
from proxy.engine.discovery.anp import find_descriptions
from proxy.engine.discovery.apicatalogs import ApiCatalogs, description_protocol
from proxy.engine.discovery.authorization import find_authorization
from proxy.engine.discovery.call import at
from proxy.engine.discovery.cards import Leads, add_agent_card, add_server_card
from proxy.engine.discovery.catalogs import Expansion
from proxy.engine.discovery.description import Discovered
from proxy.engine.discovery.landing import Landing
from proxy.engine.discovery.manifests import find_manifest
from proxy.engine.discovery.provenance import is_usable
from proxy.engine.discovery.reading import Manner, Reading, ReadOutcome, shown
from proxy.engine.discovery.records import DnsFacts
from proxy.engine.discovery.skills import find_skills
from proxy.http.fields import Fields, essence
from proxy.http.messages import ResponseHead
from proxy.http.targets import Target
from proxy.ports import Origin

Result = TypeVar("Result")
_WELL_KNOWN: Final = "/.well-known/"
_MARKDOWN: Final = "text/markdown"
# Cards that vary by the version asked for are asked for in the newest one known here (A2A-6).
_A2A_VERSION: Final = Fields((("A2A-Version", "1.0"),))


@dataclass(frozen=True, slots=True)
class Reach:
    """What the sources of a call need beside it. `anp`: whether agent descriptions are asked for."""

    landing: Landing
    origin: Origin
    agent: str
    anp: bool
    issuer_slash: IssuerSlash


class Sources:
    """The sources of one call, and what has to be passed on between them."""

    def __init__(self, discovered: Discovered, facts: DnsFacts, reach: Reach) -> None:
        self._discovered = discovered
        self._call = discovered.call
        self._facts = facts
        self._reach = reach
        self._root = at(self._call.domain)
        self._leads = Leads()
        self._apis = ApiCatalogs(self._call)
        self._expansion = Expansion(self._call, self._leads, self._apis)
        self._aid = AidSource(self._call, facts, self._leads, reach.origin, reach.agent)
        self._has_documents = False
        self._has_page = False

    async def gather(self) -> None:
        """Read everything that is of use to the client."""
        if self._discovered.client.is_static:
            await self._manifest_and_static()
            return
        pointed = [pointer.url for pointer in self._facts.pointers if pointer.url is not None]
        places = (*pointed, self._at("ard.json"), self._at("ai-catalog.json"))
        # In the order in which they get a place: the manifest first.
        robots, read, found, links, _ = await asyncio.gather(
            self._manifest_and_static(),
            _each(self._expansion.read("catalog", target) for target in places),
            _each(
                (
                    self._agent_card(),
                    self._apis.read(self._at("api-catalog")),
                    find_skills(self._call, self._at("agent-skills/index.json")),
                )
            ),
            self._landing_links(),
            self._aid.by_record(),
        )
        self._has_documents = any(found) or any(read)
        # LK-3: what the page itself announces goes before what lies at a place of its own.
        catalogs = [*await self._lead_on(links, robots), *read]
        await self._expansion.expand(catalogs)
        await self._rest()

    def _at(self, name: str) -> Target:
        return at(self._call.domain, f"{_WELL_KNOWN}{name}")

    async def _manifest_and_static(self) -> Robots | None:
        """The manifest, then what it says is there for clients that only read."""
        found = self._discovered.found = await find_manifest(self._call, self._facts)
        manifest = found.manifest
        robots, llms = at(self._call.domain, "/robots.txt"), at(self._call.domain, "/llms.txt")
        if manifest is not None:
            robots, llms = manifest.links.robots or robots, manifest.links.llms or llms
            if not (self._discovered.client.is_static or manifest.is_downgraded):
                self._lead_further(manifest.links)
        parsed, _ = await asyncio.gather(self._robots(robots), self._llms(llms))
        static = self._discovered.static
        named = None if manifest is None else manifest.links.sitemap
        static["sitemap"] = None if named is None else named.uri
        if parsed is not None and parsed.sitemaps:
            static["sitemap"] = shown(parsed.sitemaps[0])
        return parsed

    def _lead_further(self, links: Links) -> None:
        """What a manifest names for clients that do more than read (U-D4); one of an unknown schema, to nobody."""
        if links.openapi is not None:
            self._call.published.add_endpoint("openapi", links.openapi.uri, "manifest", "origin-tls")
        if links.auth_metadata is not None:
            self._leads.metadata_urls.append(links.auth_metadata.uri)

    async def _robots(self, target: Target) -> Robots | None:
        reading = await self._call.read("robots", target, DocumentClass.ROBOTS)
        if not reading.is_found:
            self._call.published.add_document(reading)
            return None
        robots = parse_robots(reading.body)
        self._call.published.add_document(reading, robots.findings)
        self._discovered.static["robots"] = reading.url
        return robots if self._is_own(reading) else None

    async def _llms(self, target: Target) -> None:
        reading = await self._call.read("llms", target, DocumentClass.LLMS)
        if not reading.is_found:
            self._call.published.add_document(reading)
            return
        guide = parse_llms(reading.body, reading.target)
        self._call.published.add_document(reading, () if isinstance(guide, NotADocument) else guide.findings)
        self._discovered.static["llms"] = reading.url

    async def _agent_card(self) -> bool:
        """A2A-3: the card under its name, else under the old one."""
        manner = Manner(site=self._call.domain, fields=_A2A_VERSION)
        reading = await self._call.read("agent-card", self._at("agent-card.json"), DocumentClass.AGENT_CARD, manner)
        if is_usable(self._call, reading):
            add_agent_card(self._call, self._leads, reading, "agent-card")
            return True
        if reading.outcome not in (ReadOutcome.ABSENT, ReadOutcome.WRONG_KIND):
            return False
        old = await self._call.read("agent-card", self._at("agent.json"), DocumentClass.AGENT_CARD, manner)
        if not is_usable(self._call, old):
            return False
        if sniff_agent_json(parse_json(old.body)) is AgentJsonKind.DNS_AID:
            finding = Finding("DA-11", "", "agent.json holds DNS-AID metadata and no card.", is_warning=True)
            self._call.published.add_document(old, (finding,), document_class="other")
            return False
        add_agent_card(self._call, self._leads, old, "agent-card")
        return True

    async def _landing_links(self) -> tuple[WebLink, ...]:
        """LK-3: what the landing page's Link field says."""
        reading = await self._call.head(self._root, self._reach.landing)
        self._has_page = reading.is_found or reading.reason == "not-available"
        if not reading.is_found or not self._is_own(reading):
            return ()
        return parse_link_fields(reading.fields.get_all("link"), reading.target)

    def _is_own(self, reading: Reading) -> bool:
        """Whether a page is the domain's, wherever redirects led: another's says nothing of its agents (LK-2)."""
        return same_site(reading.target.host, self._call.domain)

    async def _lead_on(self, links: tuple[WebLink, ...], robots: Robots | None) -> list[Catalog | None]:
        """The catalogs that the page, robots.txt and the index in DNS lead to; API catalogs are read here."""
        targets = [(link.rel, link.target) for link in links if link.target is not None]
        targets += [("ard", target) for target in (robots.agentmaps if robots else ())]
        targets += [(_rel_of(link), link) for link in self._facts.links]
        catalogs = (self._expansion.read(rel, target) for rel, target in targets if rel in ("ard", "ai-catalog"))
        apis = (self._apis.read(target) for rel, target in targets if rel == "api-catalog")
        read, found = await asyncio.gather(_each(catalogs), _each(apis))
        self._has_documents = self._has_documents or any(read) or any(found)
        for link in links:
            if link.rel == "service-desc" and link.target is not None:
                protocol = description_protocol(link.type)
                self._call.published.add_endpoint(protocol, link.target.uri, "link", "origin-tls")
        return read

    async def _rest(self) -> None:
        """What depends on the documents found, or is asked for only where there are none."""
        jobs = [self._server_card()]
        is_plain = not self._has_documents or self._discovered.static.get("llms") is None
        if self._has_page and is_plain:
            jobs.append(self._landing_page())
        if self._reach.anp:
            jobs.append(find_descriptions(self._call, self._at("agent-descriptions")))
        await asyncio.gather(*jobs)
        known = self._aid.mcp_endpoint
        await self._aid.by_document()
        if self._aid.mcp_endpoint != known:
            await self._server_card()
        if self._discovered.client.may_authorise:
            leads = self._leads
            self._discovered.authorization = await find_authorization(
                self._call, leads.metadata_urls, leads.resources, self._reach.issuer_slash
            )

    async def _server_card(self) -> None:
        """MCP-1: one a catalog names is enough; else beside the endpoint, else at the well-known place."""
        if EntryKind.MCP_SERVER_CARD in self._expansion.kinds:
            return
        for target in card_probes(self._root, None, self._aid.mcp_endpoint):
            reading = await self._call.read(
                "mcp-server-card", target, DocumentClass.MCP_SERVER_CARD, Manner(site=self._call.domain)
            )
            if is_usable(self._call, reading):
                add_server_card(self._call, self._leads, reading, "mcp-server-card")
                return

    async def _landing_page(self) -> None:
        """The page itself: as Markdown where the site has that (TX-2), else for the links in its head (LK-2)."""
        manner = Manner(accept="text/markdown, text/html;q=0.9, */*;q=0.1")
        reading = await self._call.read("landing-page", self._root, DocumentClass.OTHER, manner)
        if not reading.is_found:
            return
        if reading.media_type == _MARKDOWN:
            self._found_markdown(reading)
            return
        if reading.media_type in PAGES and not self._has_documents and self._is_own(reading):
            await self._expansion.expand(await self._lead_on(parse_html_links(reading.body, reading.target), None))
        if self._discovered.static.get("llms") is None:
            path = await self._call.read(
                "markdown", at(self._call.domain, "/index.html.md"), DocumentClass.OTHER, Manner(judge=_is_markdown)
            )
            if path.is_found:
                self._found_markdown(path)

    def _found_markdown(self, reading: Reading) -> None:
        self._discovered.static["markdown"] = reading.url
        self._call.published.add_document(reading)


async def _each(jobs: Iterable[Coroutine[Any, Any, Result]]) -> list[Result]:
    """What each of them comes to; they begin when this does, in their order."""
    return await asyncio.gather(*jobs)


def _rel_of(link: Target) -> str:
    return "api-catalog" if classify(link.normal_path) is DocumentClass.API_CATALOG else "ai-catalog"


def _is_markdown(head: ResponseHead, _: bytes) -> NotADocument | None:
    if essence(head.fields.get("content-type")) in (_MARKDOWN, "text/plain"):
        return None
    return NotADocument(GateReason.NOT_TEXT, "the body is not declared as Markdown")
