"""Why something is not believed: the closed list of codes, and the error that carries one inside this package."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Reason(StrEnum):
    """Reason codes, stable towards clients: they stand in answers, logs and metrics."""

    # What to verify against.
    TRUST_ANCHOR_MISSING = "trust_anchor_missing"
    TRUST_ANCHOR_EXPIRED = "trust_anchor_expired"
    TRUST_ANCHOR_ON_PROBATION = "trust_anchor_on_probation"
    TRUST_RECORD_DAMAGED = "trust_record_damaged"
    TRUST_RECORD_UNAVAILABLE = "trust_record_unavailable"
    # The text.
    TOO_LARGE = "too_large"
    JSON_INVALID = "json_invalid"
    JSON_DUPLICATE_KEY = "json_duplicate_key"
    JSON_NUMBER_RANGE = "json_number_range"
    JSON_SURROGATE = "json_surrogate"
    JSON_DEPTH = "json_depth"
    NOT_OBJECT = "not_object"
    # The DID document; the codes of the text with a prefix, and its own.
    DID_DOC_TOO_LARGE = "did_doc_too_large"
    DID_DOC_JSON_INVALID = "did_doc_json_invalid"
    DID_DOC_JSON_DUPLICATE_KEY = "did_doc_json_duplicate_key"
    DID_DOC_JSON_NUMBER_RANGE = "did_doc_json_number_range"
    DID_DOC_JSON_SURROGATE = "did_doc_json_surrogate"
    DID_DOC_JSON_DEPTH = "did_doc_json_depth"
    DID_DOC_NOT_OBJECT = "did_doc_not_object"
    DID_DOC_ID_MISMATCH = "did_doc_id_mismatch"
    DID_DOC_INVALID = "did_doc_invalid"
    # The manifest.
    PROFILE_MISMATCH = "profile_mismatch"
    SITE_MISMATCH = "site_mismatch"
    UNSIGNED = "unsigned"
    TOO_MANY_PROOFS = "too_many_proofs"
    # A proof.
    PROOF_MALFORMED = "proof_malformed"
    PROOF_TYPE_UNSUPPORTED = "proof_type_unsupported"
    CRYPTOSUITE_UNSUPPORTED = "cryptosuite_unsupported"
    PURPOSE_MISMATCH = "purpose_mismatch"
    PROOF_FEATURE_UNSUPPORTED = "proof_feature_unsupported"
    PROOF_DOMAIN_MISMATCH = "proof_domain_mismatch"
    PROOF_CREATED_MISSING = "proof_created_missing"
    PROOF_NOT_YET_VALID = "proof_not_yet_valid"
    CONTEXT_MISMATCH = "context_mismatch"
    KEY_SUITE_MISMATCH = "key_suite_mismatch"
    SIGNATURE_INVALID = "signature_invalid"
    PROOF_EXPIRED = "proof_expired"
    PROOF_TOO_OLD = "proof_too_old"
    JWS_HEADER_UNSUPPORTED = "jws_header_unsupported"
    # The key of a proof.
    VM_FOREIGN_DID = "vm_foreign_did"
    VM_NOT_FOUND = "vm_not_found"
    VM_CONTROLLER_MISMATCH = "vm_controller_mismatch"
    VM_NOT_ASSERTION = "vm_not_assertion"
    VM_REVOKED = "vm_revoked"
    VM_EXPIRED = "vm_expired"
    KEY_TYPE_UNSUPPORTED = "key_type_unsupported"
    KEY_WEAK = "key_weak"
    # The version.
    ROLLBACK = "rollback"
    EQUIVOCATION = "equivocation"
    # Content by its hash.
    CID_MISMATCH = "cid_mismatch"
    CID_UNSUPPORTED = "cid_unsupported"
    IPFS_NOT_A_FILE = "ipfs_not_a_file"
    IPFS_LIMITS = "ipfs_limits"
    IPFS_PATH_UNSUPPORTED = "ipfs_path_unsupported"
    IPNS_INVALID = "ipns_invalid"
    # A did:webvh log.
    WEBVH_INVALID = "webvh_invalid"
    # A mirror that the manifest lists.
    MIRROR_INVALID = "mirror_invalid"


UNVERIFIABLE: Final = frozenset(
    {
        Reason.TRUST_ANCHOR_MISSING,
        Reason.TRUST_ANCHOR_EXPIRED,
        Reason.TRUST_ANCHOR_ON_PROBATION,
        Reason.TRUST_RECORD_DAMAGED,
        Reason.TRUST_RECORD_UNAVAILABLE,
        Reason.PROOF_TYPE_UNSUPPORTED,
        Reason.CRYPTOSUITE_UNSUPPORTED,
        Reason.KEY_TYPE_UNSUPPORTED,
        Reason.VM_FOREIGN_DID,
    }
)
"""Reasons that leave it open whether a signature is good (SIG-8); with any other it is not."""


UNKNOWN_KEY: Final = frozenset({Reason.VM_NOT_FOUND, Reason.VM_NOT_ASSERTION})
"""Reasons that a newer DID document may do away with."""


class Untrusted(ValueError):
    """Something is not believed; `detail` is for people and repeats no published text."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail
