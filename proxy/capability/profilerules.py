"""The rules of capability profiles, as a validator applies them (*strict*): R1 to R12 of UAIX.md §3.

A list that is missing has nothing in it and a flag that is missing is not set, so a rule about them is judged as if
they stood there so; that they are missing is R1 besides. Where client level and profile id differ, what a low level
forbids is forbidden if either is low, and what L6 asks for is asked for if either is L6. What a record says in
prose is read by its clauses, and one that denies a thing does not say it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from proxy.capability.ladders import Label
from proxy.capability.profiles import (
    LEVELS,
    LISTS,
    PROFILE_IDS,
    Flag,
    ProfileRefused,
    Text,
    credential_place,
    read_texts,
)
from proxy.discovery.findings import Finding, pointer
from proxy.discovery.jsontext import JsonObject

REQUIRED: Final = "local.R1_profile_required_fields"
LEVEL_MISMATCH: Final = "local.R2_profile_level_mismatch"
LOW_LEVEL_JAVASCRIPT: Final = "local.R3_low_level_javascript"
JAVASCRIPT_ONLY: Final = "local.R4_javascript_only_dependency"
CONSENT_BOUNDARY: Final = "local.R5_consent_boundary_required"
IDEMPOTENCY: Final = "local.R6_idempotency_required"
WORKFLOW: Final = "local.R7_workflow_correlation_expiry"
HIGH_ASSURANCE: Final = "local.R8_high_assurance_evidence"
MEMORY_PROPOSAL: Final = "local.R9_memory_proposal_required"
RUNTIME_CLAIM: Final = "local.R10_uaix_runtime_claim"
CREDENTIAL: Final = "local.R11_unsafe_credential"
BOUNDARY: Final = "local.R12_boundary_ambiguity"

_CONSENT, _PROFILES, _, _EVIDENCE = LISTS
_FALLBACK: Final = "fallback_behavior"
_TEXTS: Final = ("client_level", "client_name", _FALLBACK, "safe_default_response")
_LOW: Final = frozenset({Label.L0, Label.L1})
_BOUNDED_BY_CONSENT: Final = frozenset(
    {Flag.CAN_POST_DATA, Flag.CAN_AUTHENTICATE, Flag.CAN_STORE_MEMORY, Flag.CAN_COORDINATE_AGENTS}
)
_PROPOSAL_PROFILE: Final = "uai.agent.memory-proposal.v1"
# A list with nothing but these in it is an empty one.
_NOTHING: Final = frozenset({"", "none", "nothing", "n/a"})


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.VERBOSE | re.IGNORECASE)


# What there must be among the evidence requirements.
_IDEMPOTENCY: Final = _pattern(r"idempoten")
_CORRELATION: Final = _pattern(r"correlat")
_EXPIRY: Final = _pattern(r"time[-_\s]?out|expir|deadline|\bttl\b")
_ASSURANCE: Final = {
    "provenance": _pattern(r"provenance"),
    "audit": _pattern(r"audit"),
    "validator": _pattern(r"validat"),
    "consent": _pattern(r"consent"),
    "final report": _pattern(r"final[-_\s]?report"),
}

_CLAUSE_MARKS: Final = re.compile(r"[,.;:!?](?=\s|\Z)|\n")
_LONGEST_CLAUSE: Final = 120
_NEGATION: Final = _pattern(
    r"\b(?:no(?![-\w])|not|never|none|nothing|without|neither|nor|cannot|[a-z]+n['\u2019]t)\b"
)

_SCRIPTS: Final = r"(?:javascript|ecmascript|js|scripts?)"
_SCRIPT: Final = _pattern(rf"\b{_SCRIPTS}\b")
_NEEDS_SCRIPTS: Final = _pattern(
    rf"""\b(?:needs?|requir(?:es?|ing)|depend(?:s|ing)?|rel(?:y|ies|ying)
            |only[ ](?:with|through|via|in|by|when|works?|available))\b [^,.;:!?\n]{{0,60}}? \b{_SCRIPTS}\b
      | \b{_SCRIPTS}\b [^,.;:!?\n]{{0,60}}? \b(?:required|needed|necessary|mandatory|essential)\b
      | \b(?:is|are)\s+{_SCRIPTS}[-\s]only\b"""
)
_WITHOUT_SCRIPTS: Final = _pattern(r"\b(?:static|json|sitemap|llms(?:-full)?\.txt|html|plain\s+text)\b")

_UAIX: Final = r"\bUAIX(?:\.org)?\b(?:['\u2019]s)?"
# Not what only goes by its rules.
_ITSELF: Final = (
    r"(?!-|\s+(?:compat|compl|conform|follow|aware|independent|ready|adopt|implement|client|user|agent|peer|mode|format"
    r"|record|packet|envelope|profile|evidence|document))"
)
_ITS_PARTS: Final = r"(?:[-\s]+(?:itself|server|service|platform|runtime|network|system|standard|engine|cloud))?"
_ASIDE: Final = r"(?:,[^,.;!?\n]{1,60},)?"
_ON_THE_WAY: Final = (
    r"(?:\s+(?:is|was|has|been|being|able|also|always|then|now|which|that|\w{1,20}(?:ly|,|\s+(?:and|or))))"
)
_MODAL: Final = r"(?:will|can|may|must|shall|should|would|could|does|to)"
_DOES: Final = r"(?:execut(?:es|ing)|run(?:s|ning)|host(?:s|ing)|orchestrat(?:es|ing))"
_DO: Final = r"(?:execute|run|host|orchestrate)"
_DONE: Final = r"(?:execut(?:ed|es|ing|ion)|run(?:s|ning)?|host(?:ed|ing)|orchestrat(?:ed|ing|ion))"
_SOMETHING: Final = r"\b(?!\s+(?:no|not|nothing|none|neither)\b(?!-))(?!\s*[:=])"
_RUNS_THINGS: Final = _pattern(
    rf"""{_UAIX}{_ITS_PARTS}{_ASIDE}{_ON_THE_WAY}{{0,5}} \s+ (?:{_DOES} | {_MODAL}{_ON_THE_WAY}{{0,3}}\s+{_DO})
            {_SOMETHING}
      | \b(?:lets?|makes?|has|have)\s+{_UAIX}{_ITS_PARTS}\s+{_DO}\b
      | {_UAIX}-(?:hosted|executed|orchestrated|run)\b | {_UAIX}\s+(?:hosted|orchestrated)\b
      | \b{_DONE}\s+(?:\w{{1,20}}ly\s+)?(?:by|on|in|inside|within|through|via|at)\s+(?:the\s+)?{_UAIX}{_ITSELF}
      | {_UAIX}\s+(?:is|acts\s+as|serves\s+as|works\s+as)\s+(?:(?:an?|the|our|your|also|not|no|agent|workflow|hosted
            |shared|central|task|execution|remote|multi-agent)\s+){{0,4}}
            (?:runtime|orchestrator|executor|host|execution\s+engine|hosting)\b"""
)
_OTHERS: Final = r"\b(?:carcinus(?:\.org)?|local-?endpoint(?:\.com)?|(?-i:Local\s+Endpoint))\b(?:['\u2019]s)?"
_PARTS: Final = (
    r"(?:part|component|module|member|product|service|subsidiary|division|feature|layer|piece|element)s?"
)
_IS_PART: Final = _pattern(
    rf"""{_OTHERS} [^.;!?\n]{{0,60}}? (?:
            \b{_PARTS}\s+of\s+(?:the\s+)?{_UAIX}
          | \b(?:belongs?\s+to|(?:owned|operated|provided|published)\s+by|included\s+in|inside|within)
            \s+(?:the\s+)?{_UAIX}{_ITSELF}
          | (?:\b(?:is|are)|=)\s+(?:(?:an?|the|also|really|just|simply|official|not|no|itself)\s+){{0,3}}
            {_UAIX}{_ITSELF})
      | {_UAIX} \s+ (?:includes?|contains?|comprises?|consists?\s+of|owns?|incorporates?|embeds?|encompasses)
            [^.;!?\n]{{0,60}}? {_OTHERS}
      | \bUAIX(?:\.org)?['\u2019]s\s+(?:own\s+)?{_OTHERS}"""
)


def profile_findings(value: object) -> tuple[Finding, ...]:
    """What a capability profile gets wrong: the value of a JSON text, a record alone or in an envelope."""
    if not isinstance(value, dict):
        return (Finding(REQUIRED, "", "A capability profile is an object with the members profile and body."),)
    body = value.get("body")
    if not isinstance(body, dict):
        return (Finding(REQUIRED, "/body", "The profile has no body that is an object."),)
    profile_id = value.get("profile")
    return (*_missing(profile_id, body), *_of_levels(profile_id, body), *_of_flags(body), *_of_texts(value))


def _missing(profile_id: object, body: JsonObject) -> Iterator[Finding]:
    """R1: the id and the 18 members, each of its type."""
    if not isinstance(profile_id, str):
        yield Finding(REQUIRED, "/profile", "The profile id is missing or no text.")
    for name in (*_TEXTS, *Flag, *LISTS):
        if not _is_of_type(name, body.get(name)):
            yield Finding(REQUIRED, pointer("body", name), f"The member {name} is missing or of a wrong type.")


def _is_of_type(name: str, value: object) -> bool:
    if name in LISTS:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    return isinstance(value, str if name in _TEXTS else bool)


def _of_levels(profile_id: object, body: JsonObject) -> Iterator[Finding]:
    """R2, R3, R5 for L6, R8: what the levels ask for."""
    stated = body.get("client_level")
    of_id = PROFILE_IDS.get(profile_id) if isinstance(profile_id, str) else None
    if isinstance(profile_id, str) and profile_id not in PROFILE_IDS:
        yield Finding(LEVEL_MISMATCH, "/profile", "The profile id is none of those published.")
    elif isinstance(stated, str) and (stated not in LEVELS or of_id not in (None, stated)):
        yield Finding(LEVEL_MISMATCH, "/body/client_level", "The level is none, or not that of the profile id.")
    levels = {LEVELS.get(stated) if isinstance(stated, str) else None, of_id}
    if levels & _LOW:
        yield from _of_low_levels(body)
    if Label.L6 in levels or any(_is_set(body, flag) for flag in _BOUNDED_BY_CONSENT):
        yield from _of_consent(body)
    if Label.L6 in levels:
        lacking = [name for name, pattern in _ASSURANCE.items() if not _asks_for(body, pattern)]
        if lacking:
            detail = f"L6 takes more evidence: {', '.join(lacking)}."
            yield Finding(HIGH_ASSURANCE, pointer("body", _EVIDENCE), detail)


def _of_low_levels(body: JsonObject) -> Iterator[Finding]:
    """R3 and R4: a client that only fetches cannot need scripts."""
    runs_scripts = _is_set(body, Flag.CAN_EXECUTE_JAVASCRIPT)
    if runs_scripts:
        detail = "L0 and L1 execute no scripts."
        yield Finding(LOW_LEVEL_JAVASCRIPT, pointer("body", Flag.CAN_EXECUTE_JAVASCRIPT), detail)
    fetches = _is_set(body, Flag.CAN_FETCH_STATIC) or _is_set(body, Flag.CAN_FETCH_JSON)
    is_dependent = any(_says(_NEEDS_SCRIPTS, text) for text in _narrated(body)) and not _has_plain_fallback(body)
    if is_dependent or (runs_scripts and not fetches):
        detail = "The client depends on what only scripts show: name a static or JSON fallback."
        yield Finding(JAVASCRIPT_ONLY, pointer("body", _FALLBACK), detail)


def _of_consent(body: JsonObject) -> Iterator[Finding]:
    """R5."""
    if all(item.strip().lower() in _NOTHING for item in _items(body, _CONSENT)):
        detail = "Say what takes a person's consent of what this client can do."
        yield Finding(CONSENT_BOUNDARY, pointer("body", _CONSENT), detail)


def _of_flags(body: JsonObject) -> Iterator[Finding]:
    """R6, R7, R9: what an ability asks for."""
    where = pointer("body", _EVIDENCE)
    if _is_set(body, Flag.CAN_POST_DATA) and not _asks_for(body, _IDEMPOTENCY):
        yield Finding(IDEMPOTENCY, where, "A client that posts names an idempotency key as evidence.")
    is_bounded = _asks_for(body, _CORRELATION) and _asks_for(body, _EXPIRY)
    if _is_set(body, Flag.CAN_RUN_LONG_TASKS) and not is_bounded:
        yield Finding(WORKFLOW, where, "A client with long tasks names a correlation and a timeout or expiry.")
    if _is_set(body, Flag.CAN_STORE_MEMORY) and _PROPOSAL_PROFILE not in _items(body, _PROFILES):
        detail = f"A client that stores memory declares {_PROPOSAL_PROFILE}: review comes before."
        yield Finding(MEMORY_PROPOSAL, pointer("body", _PROFILES), detail)


def _of_texts(value: JsonObject) -> Iterator[Finding]:
    """R10 to R12: what no text of the record may say. More texts than are looked at cannot be vouched for."""
    try:
        texts = read_texts(value)
    except ProfileRefused as refused:
        yield Finding(CREDENTIAL, "", refused.detail)
        return
    yield from _said(texts, _RUNS_THINGS, RUNTIME_CLAIM, "UAIX records, and executes, runs and hosts nothing.")
    place = credential_place(texts)
    if place is not None:
        yield Finding(CREDENTIAL, place, "This looks like a credential: leave it out.")
    yield from _said(texts, _IS_PART, BOUNDARY, "Carcinus and LocalEndpoint are no part of UAIX.")


def _said(texts: Iterable[Text], pattern: re.Pattern[str], rule: str, detail: str) -> Iterator[Finding]:
    """One finding at the first text that says it."""
    path = next((text.path for text in texts if _says(pattern, text.value)), None)
    if path is not None:
        yield Finding(rule, path, detail)


def _says(pattern: re.Pattern[str], text: str) -> bool:
    return any(not _is_denied(match) for match in pattern.finditer(text))


def _is_denied(match: re.Match[str]) -> bool:
    """Whether the clause, up to the end of what matched, has a negation."""
    before = match.string[max(0, match.start() - _LONGEST_CLAUSE) : match.start()]
    return _NEGATION.search(_CLAUSE_MARKS.split(before)[-1] + match[0]) is not None


def _narrated(body: JsonObject) -> Iterator[str]:
    for name in (*_TEXTS, *LISTS):
        text = body.get(name)
        yield from (text,) if isinstance(text, str) else _items(body, name)


def _has_plain_fallback(body: JsonObject) -> bool:
    """Whether a clause of the fallback names what is read without scripts."""
    fallback = body.get(_FALLBACK)
    clauses = _CLAUSE_MARKS.split(fallback) if isinstance(fallback, str) else []
    return any(_says(_WITHOUT_SCRIPTS, clause) for clause in clauses if _SCRIPT.search(clause) is None)


def _asks_for(body: JsonObject, pattern: re.Pattern[str]) -> bool:
    return any(_says(pattern, item) for item in _items(body, _EVIDENCE))


def _items(body: JsonObject, name: str) -> list[str]:
    values = body.get(name)
    return [item for item in values if isinstance(item, str)] if isinstance(values, list) else []


def _is_set(body: JsonObject, flag: Flag) -> bool:
    return body.get(flag) is True
