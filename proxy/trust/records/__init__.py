"""What is remembered of a domain so that it can be verified while it is away: pins, versions, sequences.

Every change is a function of a value, an event and the time; nothing here waits, reads or writes.
"""
