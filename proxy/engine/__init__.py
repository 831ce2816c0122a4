"""One request, told in order: look up, decide, fill or refresh, answer.

outcome      what was served and why: one value feeds header, log line and metrics
settings     the engine's limits and each document class's policy, as values
state        what the parts of the engine share
collapse     one fill per key; how a wait for it can end
holdoff      back-off after a failed fill
places       how many fills may ask one origin at once
acceptance   is a body an answer at all: does it decode, is it the document its class declares
fill         asking the origin: send, judge the answer, store
refresh      fills behind stale answers: bounded, backed off
exchanges    what an exchange with an origin can come to beside an answer
vouching     the seam to who judges signatures
outage       what is answered while an origin fails
copies       verified copies that stand in for it
forwarder    requests that no stored response can answer, and what they do to the store
answers      answers from the store, from an origin, or by ourselves
question     one client's request on its way
gateway      the story of a request; start reading here
control      purge, refresh, explain, entries: what an operator asks
explanation  why a request would be answered as it would, with its arithmetic
trust/       pins, what vouches for what an origin sends, verified copies when it does not answer
failover/    fetching copies: mirrors raced, content by its hash
discovery/   everything that a domain publishes, in one call
relay        two byte streams, for CONNECT and upgrades
"""
