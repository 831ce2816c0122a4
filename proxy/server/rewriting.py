"""Gateway form in response fields: where a client of the gateway must go next.

Only fields are rewritten, never a body: a signed document stays byte-exact.
"""

from __future__ import annotations

from proxy.http.fields import Fields, split_list
from proxy.http.messages import ResponseHead
from proxy.http.targets import MalformedTarget, Target, gateway_form, resolve

_REFERENCES = ("location", "content-location")


def in_gateway_form(target: Target, head: ResponseHead) -> ResponseHead:
    """`head` with its references through the gateway, and a canonical link that says where it came from."""
    lines = [(name, _rewritten(target, name, value)) for name, value in head.fields]
    fields = Fields(lines).plus(("Link", f'<{target.uri}>; rel="canonical"'))
    return ResponseHead(head.status, head.reason, fields)


def _rewritten(target: Target, name: str, value: str) -> str:
    lowered = name.lower()
    if lowered in _REFERENCES:
        return _through_gateway(target, value)
    if lowered == "link":
        return ", ".join(_rewritten_link(target, member) for member in split_link(value))
    return value


def _through_gateway(target: Target, reference: str) -> str:
    """The reference resolved against the target, in gateway form; as it is when it names no http(s) target."""
    bare, separator, fragment = reference.partition("#")
    try:
        return gateway_form(resolve(target, bare)) + separator + fragment
    except MalformedTarget:
        return reference


def _rewritten_link(target: Target, member: str) -> str:
    if not member.startswith("<") or ">" not in member:
        return member
    reference, parameters = member[1:].split(">", 1)
    return f"<{_through_gateway(target, reference)}>{parameters}"


def split_link(value: str) -> list[str]:
    """The links of a Link field (RFC 8288 §3): commas inside `<…>` do not split."""
    members: list[str] = []
    for part in split_list(value):
        opened = members and members[-1].startswith("<") and ">" not in members[-1]
        if opened:
            members[-1] += "," + part
        else:
            members.append(part)
    return members
