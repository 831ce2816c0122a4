"""What an origin says of where its documents are, and of those it has withdrawn, pure (DISCOVERY_FORMATS.md §9).

An origin's permanent redirect or its 410 is the one statement on a URL that nobody else can make. It becomes a
*record*: what was said, when it was last said, until when it holds, and how that came about. Every change of a
record is a function of the record, of what was seen and of the time.

records       a record, its history, and how both are told
changes       what became of a record, and why; a re-check that brought nothing
locations     where a redirect leads, if a record may say so
rules         what the origin's answer to a URL makes of its record; start reading here
confirmation  whether a document is where the redirect leads; what an operator decides
lookup        what a record answers at a given time, and when the origin is to be asked again
codec         the durable form
"""
