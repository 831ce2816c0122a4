"""One request, told in order: look up, decide, fill or refresh, answer.

outcome      what was served and why: one value feeds header, log line and metrics
settings     the engine's limits and each document class's policy, as values
acceptance   is a body an answer at all: does it decode, is it the document its class declares
collapse     one fill per key; how a wait for it can end
fill         asking the origin: send, judge the answer, store
refresh      fills behind stale answers: bounded, backed off
question     one client's request on its way
gateway      the story of a request
control      purge, refresh, explain, entries: what an operator asks
relay        two byte streams, for CONNECT and upgrades
"""
