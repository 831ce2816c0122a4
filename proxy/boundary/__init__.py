"""The no-op boundary, pure: what a refused intent is, how it is remembered, and in which words it is answered.

A *conflict* is one request that met the boundary; while it is *held*, it is a latch: the same *intent* (client,
method and path, whatever the query) is answered from it and goes nowhere. A person *releases* it, or new proof.

intents      when two requests are the same intent
conflicts    the record of a conflict, and what becomes of it
observing    what an origin's answer says of the boundary (D11)
no_ops       the bodies of no-op answers
envelopes    the UAI-1 envelope that is the evidence of a conflict; enveloperules, what one gets wrong
idempotency  when a request is the replay of another
registration a capability profile on record
codec        conflicts and registrations as octets
telling      conflicts as people and programs are told of them

Source of all: UAIX.md §4.3, §5, §6; CONTRACT §8.
"""
