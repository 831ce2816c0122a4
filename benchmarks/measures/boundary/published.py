"""What sites publish of their routes: a manifest of some, and single ones."""

from __future__ import annotations

import json
from typing import Final

from benchmarks import documents

REVIEW_URL: Final = f"{documents.HOST}/review"


def manifest(changes: int) -> bytes:
    """A manifest with so many changes, every other one at a template, and as many reads."""
    routes = [reading(f"/api/v1/orders{number}") for number in range(changes)]
    routes += [
        changing(f"/api/v1/{{account}}/orders{number}" if number % 2 else f"/api/v1/do{number}")
        for number in range(changes)
    ]
    document = {
        "profileId": "uaix.ai-ready-web.manifest.v1",
        "site": {"name": "Example", "url": f"{documents.HOST}/"},
        "readinessProfiles": ["ARW-F0"],
        "discovery": {"robots": f"{documents.HOST}/robots.txt"},
        "supportBoundary": "Evidence only.",
        "routes": routes,
    }
    return json.dumps(document).encode()


def reading(path: str) -> dict[str, object]:
    """A route that everybody may read."""
    return {
        "abilityLevel": "L1",
        "method": "GET",
        "highestSupportedPath": path,
        "lowestSafeFallback": "/orders.html",
        "sideEffecting": False,
    }


def changing(path: str) -> dict[str, object]:
    """A route that takes a client of level L4, and has a lower way and a place where a person decides."""
    return {
        "abilityLevel": "L4",
        "method": "POST",
        "highestSupportedPath": path,
        "requiresAuthentication": True,
        "lowestSafeFallback": "/orders.html",
        "humanReviewUrl": REVIEW_URL,
        "noOpBehavior": "human_review_required",
    }
