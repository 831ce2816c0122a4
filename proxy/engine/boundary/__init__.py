"""The no-op boundary in the engine: who asks for what, whether it passes, and what is remembered of what did not.

identity   who asks, and what that client has proven
settings   the boundary's part of the configuration
asking     a request as the boundary sees it
listing    the route records of one host
listings   which hosts have some: what they publish, and what the operator says of them
judging    the decision procedure on the data path
latching   refusals on record, and what opens them
enforcing  the story of a request at the boundary
observing  what an origin's answer says of the boundary
peeking    the beginning of a body that goes on
noting     a body that is kept when it has come whole
replays    results of requests with an Idempotency-Key
answering  the no-op as an answer
reading    lists of what is on record
control    what an operator decides of a conflict
"""
