"""The flags of what a publisher needs, and of `verify`."""

from __future__ import annotations

from functools import partial
from typing import Final

from proxy.cli.flags import CONFIG_HELP, Verbs, add_verb

_NEXT: Final = "\n  discovery-proxy "
_PROOFS: Final = ("eddsa-jcs-2022", "ecdsa-jcs-2019", "jws")
_CODECS: Final = ("raw", "dag-pb")
_TIME: Final = "such as 2026-11-30T12:00:00Z"


def add_publisher_verbs(verbs: Verbs) -> None:
    """Add `keygen`, `did-document`, `sign`, `verify` and `cid`."""
    _add_keygen(verbs)
    _add_did_document(verbs)
    _add_sign(verbs)
    _add_verify(verbs)
    _add_cid(verbs)


def _add_keygen(verbs: Verbs) -> None:
    verb = add_verb(verbs, "keygen", "make a key pair to sign with", f"keygen{_NEXT}keygen --type p256 --out k.pem")
    verb.add_argument("--type", choices=("ed25519", "p256", "p384"), default="ed25519", help="default: ed25519")
    out = "where the private key goes, as PKCS #8 in PEM (default: key.pem); - for standard output"
    verb.add_argument("--out", metavar="FILE", default="key.pem", help=out)
    verb.add_argument("--force", action="store_true", help="replace a file that is there: its key is lost")


def _add_did_document(verbs: Verbs) -> None:
    verb = add_verb(
        verbs,
        "did-document",
        "make the DID document of a domain: the keys that sign for it",
        "did-document --domain example.com --key key.pem --out did.json"
        f"{_NEXT}did-document --domain example.com --key old.pem --id key-1 --key new.pem --id key-2",
    )
    verb.add_argument("--domain", required=True, help="the domain, such as example.com or example.com:8443")
    add_key = partial(verb.add_argument, dest="keys", action="append", required=False)
    add_key(
        "--key", metavar="FILE", type=lambda text: ("--key", text), help="a private key; give several to rotate"
    )
    multikey = "a public key as keygen tells it, in place of --key"
    add_key("--public", metavar="MULTIKEY", type=lambda text: ("--public", text), help=multikey)
    names = "the name of each key, in the order of the keys (default: key-1, key-2, and so on)"
    verb.add_argument("--id", metavar="NAME", action="append", default=[], help=names)
    verb.add_argument("--out", metavar="FILE", default="-", help="where it goes (default: standard output)")


def _add_sign(verbs: Verbs) -> None:
    verb = add_verb(
        verbs,
        "sign",
        "sign a manifest or an agent card, so that copies of it on mirrors are believed",
        "sign manifest.json --key key.pem --did did:web:example.com --expires 90d --out signed.json"
        f"{_NEXT}sign m.json --key key.pem --did did:web:example.com --sequence auto --ipfs --out signed.json",
    )
    verb.add_argument("document", metavar="FILE", help="the document, or - for standard input")
    verb.add_argument(
        "--key", metavar="FILE", action="append", required=True, help="private key; several: a proof each"
    )
    verb.add_argument("--did", required=True, help="the DID that signs, such as did:web:example.com")
    names = "the name of each key in the DID document, in the order of the keys (default: key-1, key-2, and so on)"
    verb.add_argument("--method", metavar="NAME", action="append", default=[], help=names)
    proof = "the form of the proof (default: by the key; jws for an agent card)"
    verb.add_argument("--proof", choices=_PROOFS, help=proof)
    end = f"when the proof ends: 90d after it is made, or a time {_TIME} (default: never)"
    verb.add_argument("--expires", metavar="T", help=end)
    verb.add_argument("--created", metavar="T", help=f"when the proof is made, {_TIME} (default: now)")
    sequence = "the manifest's x-sequence; auto: one more than in FILE and in what --out replaces"
    verb.add_argument("--sequence", metavar="N", help=sequence)
    mirror = "URL of a copy, added to the manifest's x-independent-mirrors; may be repeated"
    verb.add_argument("--mirror", metavar="URL", action="append", default=[], help=mirror)
    verb.add_argument("--ipfs", action="store_true", help="make a copy for IPFS too, and list it as a mirror")
    verb.add_argument("--out", metavar="FILE", default="-", help="where it goes (default: standard output)")
    verb.add_argument(
        "--ipfs-out", metavar="FILE", help="where the copy goes (default: beside --out, as NAME.ipfs.json)"
    )


def _add_verify(verbs: Verbs) -> None:
    verb = add_verb(
        verbs,
        "verify",
        "tell whether a document is signed by the DID that it should be signed by",
        "verify signed.json --did did:web:example.com --did-document did.json"
        f"{_NEXT}verify https://mirror.example.net/m.json --did did:web:example.com --json",
    )
    document = "a manifest, agent card or AI catalog: a file, an http(s) URL, or - for standard input"
    verb.add_argument("document", metavar="FILE_OR_URL", help=document)
    verb.add_argument(
        "--did", required=True, help="the DID that has to have signed it, such as did:web:example.com"
    )
    verb.add_argument("--did-document", metavar="FILE", help="its document (default: fetched from its domain)")
    verb.add_argument(
        "--pinned-at", metavar="T", help="when --did-document was last known to be right (default: now)"
    )
    known = (
        "the manifest last known to be good, which this one may not be older than; without a proof it counts as new"
    )
    verb.add_argument("--baseline", metavar="FILE", help=known)
    host = "the site that a manifest has to be of, such as example.com:8443 (default: that of the DID)"
    verb.add_argument("--host", help=host)
    verb.add_argument("--now", metavar="T", help=f"judge as of this time, {_TIME}")
    verb.add_argument("--json", action="store_true", help="print the verdict as one JSON value")
    verb.add_argument("--config", metavar="FILE", help=f"{CONFIG_HELP}; it says how a URL is reached")


def _add_cid(verbs: Verbs) -> None:
    verb = add_verb(
        verbs,
        "cid",
        "tell the CID of the exact bytes of a file, as ipfs add --cid-version=1 does",
        "cid signed.ipfs.json",
    )
    verb.add_argument("document", metavar="FILE", help="the file, or - for standard input")
    codec = "take the file for one block of this codec, as ipfs block put does"
    verb.add_argument("--codec", choices=_CODECS, help=codec)
    verb.add_argument("--json", action="store_true", help="print CID, size and number of blocks as one JSON value")
