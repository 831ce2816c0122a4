"""DNS records as the answer lists them: what each says, and why it counts or not. None is left out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final

from proxy.discovery.records.dnsvalues import DnsAnswer
from proxy.discovery.records.indextxt import IndexText
from proxy.discovery.records.svcb import Pointer
from proxy.discovery.records.txt import TxtKind, TxtRecord
from proxy.http.secrets import masked

_LISTED_KINDS: Final = frozenset({TxtKind.UAIX1, TxtKind.AID1, TxtKind.AID2})


def _record(
    answer: DnsAnswer, kind: str, value: Mapping[str, object], reason: str | None, *, accepted: bool
) -> dict[str, object]:
    return {
        "name": answer.name,
        "type": answer.type,
        "kind": kind,
        "value": _masked(value),
        "ttl": answer.ttl,
        "accepted": accepted,
        "reason": _masked(reason),
    }


def _masked(said: object) -> object:
    """What a record says, as it may be shown."""
    if isinstance(said, Mapping):
        return {name: _masked(value) for name, value in said.items()}
    if isinstance(said, list):
        return [_masked(value) for value in said]
    return masked(said) if isinstance(said, str) else said


def listing_order(record: Mapping[str, object]) -> tuple[str, ...]:
    """Resolvers give the records of a name in any order."""
    return (str(record["name"]), str(record["type"]), json.dumps(record["value"], sort_keys=True))


def listed_txt(answer: DnsAnswer, record: TxtRecord) -> dict[str, object]:
    """A record at `_agent`."""
    kind = record.kind.value if record.kind in _LISTED_KINDS else "foreign"
    value: Mapping[str, object] = record.value or {"text": record.text}
    needs_proof = (record.reason or "").startswith("needs_proof")
    return _record(answer, kind, value, record.reason, accepted=record.accepted and not needs_proof)


def listed_index(answer: DnsAnswer, text: IndexText) -> dict[str, object]:
    """A text of the index."""
    value: dict[str, object] = {"text": text.text}
    if text.agents:
        value = {"agents": [f"{agent.name}:{agent.protocol}" for agent in text.agents]}
    elif text.link is not None:
        value = {"url": text.link.uri}
    reason = None if text.reason is None else f"{text.reason}: {text.detail}"
    return _record(answer, "txt-index" if text.accepted else "foreign", value, reason, accepted=text.accepted)


def listed_pointer(answer: DnsAnswer, pointer: Pointer) -> dict[str, object]:
    """A SVCB or HTTPS record, or what a text says in place of one."""
    value = dict(_pointer_value(pointer))
    reason = None if pointer.reason is None else f"{pointer.reason}: {pointer.detail}"
    kind = {"SVCB": "svcb", "HTTPS": "https"}.get(answer.type, "txt-index")
    return _record(answer, kind, value, reason, accepted=pointer.accepted)


def _pointer_value(pointer: Pointer) -> Iterator[tuple[str, object]]:
    yield "target", pointer.target
    yield "priority", pointer.priority
    if pointer.port is not None:
        yield "port", pointer.port
    if pointer.alpn:
        yield "alpn", list(pointer.alpn)
    if pointer.url is not None:
        yield "url", pointer.url.uri
    if pointer.alias is not None:
        yield "alias", pointer.alias
    if pointer.parameters:
        yield "parameters", dict(pointer.parameters)
