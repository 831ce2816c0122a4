"""An endpoint that proves its key as AID asks (AID-20, AID-21, RFC 9421), or does it wrong in one way.

    endpoint = AidEndpoint(n.engine.clock)
    n.dns.txt("_agent.example.com", record("https://example.com/mcp"))
    n.engine.origin.answer("/mcp", endpoint)

Signature bases are put together here apart from the code under test.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from proxy.http.fields import Fields
from proxy.http.messages import Request
from proxy.ports import Clock
from tests.simulators.origin import Reply

KEY = Ed25519PrivateKey.from_private_bytes(b"\x07" * 32)
OTHER_KEY = Ed25519PrivateKey.from_private_bytes(b"\x08" * 32)
UNBOUND = ('"@method";req', '"@target-uri";req', '"@authority";req', '"@status"')
BOUND = (*UNBOUND[:3], '"aid-domain";req', UNBOUND[3])


def base64url(octets: bytes) -> str:
    return base64.urlsafe_b64encode(octets).decode().rstrip("=")


PUBLIC = base64url(KEY.public_key().public_bytes_raw())
THUMBPRINT = base64url(hashlib.sha256(f'{{"crv":"Ed25519","kty":"OKP","x":"{PUBLIC}"}}'.encode()).digest())


def record(uri: str, proto: str = "mcp", key: str = PUBLIC) -> str:
    """The TXT record of an endpoint that has a key."""
    return f"v=aid2;u={uri};p={proto};k={key}"


@dataclass
class AidEndpoint:
    """Answers for a path of an `OriginSimulator`; `stated` are parameters in place of the right ones."""

    clock: Clock
    status: int = 200
    covered: tuple[str, ...] = BOUND
    key: Ed25519PrivateKey = KEY
    cache_control: str = "no-store"
    age: int = 0
    stated: Mapping[str, str] = field(default_factory=dict)
    more: tuple[tuple[str, str], ...] = ()
    nonces: list[str] = field(default_factory=list)

    def __call__(self, request: Request) -> Reply:
        asked = request.fields.get("accept-signature") or ""
        nonce = re.search(r'nonce="([^"]+)"', asked)
        self.nonces.append("" if nonce is None else nonce[1])
        created = int(self.clock()) - self.age
        parameters = {
            "created": str(created),
            "expires": str(created + 60),
            "keyid": f'"{THUMBPRINT}"',
            "alg": '"ed25519"',
            "nonce": f'"{self.nonces[-1]}"',
            "tag": '"aid-pka-v2"',
            **self.stated,
        }
        said = "".join(f";{name}={value}" for name, value in parameters.items())
        signed = f"({' '.join(self.covered)}){said}"
        signature = base64.b64encode(self.key.sign(self._base(request, signed))).decode()
        lines = (
            ("Cache-Control", self.cache_control),
            ("Signature-Input", f"aid-pka={signed}"),
            ("Signature", f"aid-pka=:{signature}:"),
            *self.more,
        )
        return Reply(self.status, Fields(lines))

    def _base(self, request: Request, signed: str) -> bytes:
        target = request.target
        values = {
            '"@method";req': request.method,
            '"@target-uri";req': target.uri,
            '"@authority";req': target.authority,
            '"aid-domain";req': request.fields.get("aid-domain") or "",
            '"@status"': str(self.status),
        }
        lines = [f"{name}: {values[name]}" for name in self.covered]
        return "\n".join([*lines, f'"@signature-params": {signed}']).encode()
