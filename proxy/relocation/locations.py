"""Where a redirect leads, if a record may say so (OV-4, CONTRACT.md §14.1).

A record sends everybody who asks, for as long as it holds, so its target is held to more than that of a redirect
which is passed on once.
"""

from __future__ import annotations

from collections.abc import Sequence

from proxy.http.addresses import AddressClass, address_class
from proxy.http.secrets import Place, find_secret
from proxy.http.targets import MalformedTarget, Target, is_address, resolve
from proxy.relocation.changes import Reason
from proxy.relocation.records import LONGEST_URL, record_url


def recordable_location(asked: Target, locations: Sequence[str]) -> Target | Reason:
    """Where the Location lines of an answer of `asked` lead, or why that is not recorded."""
    if len(locations) > 1:
        return Reason.SEVERAL_LOCATIONS
    reference = locations[0].strip() if locations else ""
    if not reference:
        return Reason.NO_LOCATION
    # Before anything else is done with it: what follows takes time that grows with it.
    if len(reference) > LONGEST_URL:
        return Reason.TOO_LONG
    secret = find_secret(reference)
    if secret is not None:
        return Reason.USERINFO if secret.where is Place.USERINFO else Reason.SECRET
    try:
        location = resolve(asked, reference)
    except MalformedTarget:
        return Reason.MALFORMED
    return location_fault(asked, location) or location


def location_fault(asked: Target, location: Target) -> Reason | None:
    """Why a redirect from `asked` to `location` is not recorded; None when it may be."""
    if location.scheme != "https":
        return Reason.HTTPS_REQUIRED
    if location.host != asked.host and _is_local(location.host):
        return Reason.SSRF
    if record_url(location) == record_url(asked):
        return Reason.LOOP
    return url_fault(location)


def url_fault(target: Target) -> Reason | None:
    """Why the URL cannot be in any record; None when it can."""
    url = target.uri
    if len(url) > LONGEST_URL:
        return Reason.TOO_LONG
    return None if find_secret(url) is None else Reason.SECRET


def _is_local(host: str) -> bool:
    """Whether the host is of the local machine or network by its very name."""
    if is_address(host):
        return address_class(host) is not AddressClass.PUBLIC
    return host == "localhost" or host.endswith(".localhost") or "." not in host
