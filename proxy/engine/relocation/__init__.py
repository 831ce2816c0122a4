"""The origin's word in the engine: heard, recorded before it is passed on, answered from, and asked for again.

`asking` is the only way to a record: the origin said it to a request with nothing of a client's. `hearing` brings
that about when an origin's answer to a client says something lasting; `answering` gives what is recorded in place
of the origin; `rechecks` ask again behind the scenes, and `following` goes to where a redirect leads.
"""
