"""Where to turn when an origin does not answer, pure.

A manifest lists its *mirrors*; a *plan* puts those that may be asked in their order; an *attempt* is what became of
one. Whom it is worth asking, a *breaker* says for each host and the *scores* for the gateways to content by hash.
"""
