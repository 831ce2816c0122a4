"""The octets of a record made small: many are kept in memory, and they have most of their text in common."""

from __future__ import annotations

import zlib
from typing import Final

from proxy.relocation.codec import MOST_OCTETS, MalformedRecord

# Part of what stands in files: another one cannot read them. What is met most often is at the end.
_COMMON: Final = (
    b'"state":"missing","state":"pending","proof":"operator","proof":"none","successor":"https://'
    b'"note":"301 lets a client turn POST into GET: 308 does not."'
    b'"note":"Not found. That alone says nothing of why."'
    b'"note":"The origin has the document."'
    b"/.well-known/ai-catalog.json /.well-known/mcp/server.json /.well-known/agent-card.json"
    b'{"format":1,"url":"https://api.","state":"gone","status":410,"observed_at":'
    b'{"format":1,"url":"https://www.","state":"moved","status":308,"observed_at":17.0,"checked_at":17.0,'
    b'"fresh_until":17.0,"due_at":17.0,"location":null,"target":null,"proof":null,"location":"https://",'
    b'"target":"https://","proof":"proven","proof":"same-site","failures":0,"misses":0,"missing_since":null,'
    b'"successor":null,"history":[{"at":17.0,"status":308,"state":"pending","target":"https://","note":"",'
    b'"fresh_until":17.0},{"at":17.0,"status":308,"state":"moved","target":"https://","note":"",'
    b'"fresh_until":17.0},{"at":17.0,"status":410,"state":"gone","target":null,"note":"","fresh_until":17.0}]}'
)
_LEVEL: Final = 6


def packed(octets: bytes) -> bytes:
    """The small form."""
    packer = zlib.compressobj(_LEVEL, zdict=_COMMON)
    return packer.compress(octets) + packer.flush()


def unpacked(octets: bytes) -> bytes:
    """What was packed. Raises MalformedRecord, also for what is larger than a record."""
    unpacker = zlib.decompressobj(zdict=_COMMON)
    try:
        record = unpacker.decompress(octets, MOST_OCTETS)
    except zlib.error:
        raise MalformedRecord("The record cannot be unpacked.") from None
    if not unpacker.eof or unpacker.unused_data:
        raise MalformedRecord("The record is cut short, or goes on.")
    return record
