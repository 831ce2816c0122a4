"""Where stored responses, purge marks and trust records live: memory in front, a persistent store behind it.

`tiered` is what the engine holds of responses. Everything below it may be slow, damaged or gone without a request
failing. `trustrecords` is no cache: it is told from the response store by being refused, and never emptied, when it
is damaged.
"""
