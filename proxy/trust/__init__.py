"""Whether bytes are what their publisher published, pure: bytes in, a verdict out.

A *proof* is a signature inside a document; a *DID* names who may sign for a domain, and its *document* lists
the keys. A *pin* is that document as it was last seen at the domain itself: what copies are judged by while the
domain is away. A *content identifier* (CID) names bytes by their hash, so that a copy can be checked without
asking who sent it.

reasons       why something is not believed; the one error inside this package
verdict       verified bytes, or why they are not; unverified ones are another type
signatures/   strict JSON, its canonical form, keys, proofs
did/          did:web, DID documents, did:key, did:webvh logs
content/      content identifiers, blocks, files of blocks, IPNS records
manifests     the whole of what makes a copy of a manifest good; start reading here
acceptance    one good proof suffices
rollback      which of two versions is the newer
cards         signatures of A2A agent cards
catalogs      signatures of AI Catalogs
records/      what is remembered of a domain: pins, versions, and their durable form
"""
