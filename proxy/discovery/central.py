"""Central services: names that discovery must be able to do without, and so never contacts (U-D9, U-D11).

They serve schemas, registries and directories for everybody. A domain that is asked about is no central service to
itself.
"""

from __future__ import annotations

from typing import Final

from proxy.discovery.names import same_site

CENTRAL_SERVICES: Final = frozenset(
    {
        "uaix.org",
        "uiax.org",
        "registry.modelcontextprotocol.io",
        "static.modelcontextprotocol.io",
        "modelcontextprotocol.io",
        "schemas.agentskills.io",
        "agentskills.io",
        "ai-catalog.org",
        "agentcommunity.org",
        "schema.org",
        "json-schema.org",
        "w3id.org",
        "smithery.ai",
        "glama.ai",
        "mcp.so",
        "pulsemcp.com",
    }
)


def is_central(host: str, domain: str) -> bool:
    """Whether asking `host` would make the discovery of `domain` depend on a central service."""
    if same_site(host, domain):
        return False
    labels = host.split(".")
    return any(".".join(labels[start:]) in CENTRAL_SERVICES for start in range(len(labels)))
