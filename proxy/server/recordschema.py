"""The shapes of what is told of relocations (see server.recordpages)."""

from __future__ import annotations

from typing import Final

from proxy.relocation.records import Proof, State
from proxy.server.recordfeed import LONGEST_WAIT, WITHDRAWN
from proxy.server.recordpages import FEED, NDJSON, RECORDS, STATES
from proxy.server.shapes import (
    COUNT,
    SHA256,
    SHA256_OR_NULL,
    TEXT,
    TIME,
    TIME_OR_NULL,
    URL,
    URL_OR_NULL,
    Schema,
    answer,
    header,
    list_of,
    object_of,
    one_of,
    parameter,
    refusals,
)

_STANDING: Final[dict[str, Schema]] = {
    "id": SHA256,
    "url": URL,
    "state": one_of(*STATES),
    "target": URL_OR_NULL,
    "status": COUNT,
    "observed_at": TIME,
    "checked_at": TIME,
}
_RECORD: Final[dict[str, Schema]] = {
    **_STANDING,
    "fresh_until": TIME,
    "evidence": object_of(
        {
            "host": TEXT,
            "location": URL_OR_NULL,
            "proof": one_of(*Proof, null=True),
            "successor": URL_OR_NULL,
            "failures": COUNT,
            "misses": COUNT,
            "missing_since": TIME_OR_NULL,
            "note": TEXT,
        }
    ),
}
_OBSERVATION: Final = object_of(
    {
        "at": TIME,
        "host": TEXT,
        "status": COUNT,
        "state": one_of(*State, null=True),
        "target": URL_OR_NULL,
        "fresh_until": TIME_OR_NULL,
        "note": TEXT,
    }
)
_CHANGE: Final[dict[str, Schema]] = {
    "cursor": COUNT,
    "event": one_of(*STATES, WITHDRAWN),
    **_STANDING,
    "state": one_of(*STATES, null=True),
    "note": TEXT,
    "catalogs": list_of(TEXT),
}

RECORD_SCHEMAS: Final[dict[str, Schema]] = {
    "Record": object_of(_RECORD),
    "RecordWithHistory": object_of({**_RECORD, "history": list_of(_OBSERVATION)}),
    "Records": object_of({"records": list_of({"$ref": "#/components/schemas/Record"}), "next": SHA256_OR_NULL}),
    "RecordChange": object_of(_CHANGE, optional=("catalogs",)),
}

_LIMIT: Final = parameter("limit", "query", "How many at the most: 1 to 1000, 100 by default.", COUNT)
_UNREADABLE: Final = {"503": "What is recorded cannot be read now."}
_TOO_MANY: Final = {"503": "What is recorded cannot be read now, or too many are reading it."}
_LINK: Final = {
    "Link": header(
        "Where to go on, as the relation `next`: after the last line here.", f'<{FEED}?cursor=17>; rel="next"'
    )
}
_LIST: Final = {
    "operationId": "listRecords",
    "summary": "What origins say of where their documents are, and of those that they have withdrawn",
    "parameters": [
        parameter("host", "query", "Records of this host alone, whatever the port."),
        parameter("state", "query", "Records in this state alone.", one_of(*STATES)),
        parameter("cursor", "query", "The `next` of the answer before."),
        _LIMIT,
    ],
    "responses": {
        "200": answer("A page of records; `next` is null on the last one.", "Records"),
        **refusals({"400": "A parameter is not what it can be.", **_TOO_MANY}),
    },
}
_ONE: Final = {
    "operationId": "readRecord",
    "summary": "One record, with everything that was seen, oldest first",
    "parameters": [parameter("id", "path", "The SHA-256 of the URL in hex.", SHA256)],
    "responses": {
        "200": answer("The record.", "RecordWithHistory"),
        **refusals({"400": "This is no id.", "404": "Nothing is recorded under this id.", **_UNREADABLE}),
    },
}
_FEED: Final = {
    "operationId": "readRecordFeed",
    "summary": "What has changed, oldest first: each URL once, at its latest change",
    "parameters": [
        parameter("cursor", "query", "The cursor of the last line that was read; 0, the default, for all.", COUNT),
        _LIMIT,
        parameter(
            "wait", "query", f"Seconds to wait for a change where there is none: 0 to {LONGEST_WAIT}.", COUNT
        ),
    ],
    "responses": {
        "200": {
            **answer("Changes, one JSON object a line. Link tells where to go on.", "RecordChange", NDJSON),
            "headers": _LINK,
        },
        **refusals(
            {
                "400": "A parameter is not what it can be, or the cursor is of records that are lost.",
                "503": "What is recorded cannot be read now, or too many wait or are reading it.",
            }
        ),
    },
}

RECORD_PATHS: Final[dict[str, object]] = {
    RECORDS: {"get": _LIST},
    FEED: {"get": _FEED},
    f"{RECORDS}/{{id}}": {"get": _ONE},
}
