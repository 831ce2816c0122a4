"""Fetching a copy from elsewhere: several places at once, nothing believed, everything told.

What a copy is worth is not decided here: it is given to a *judge*, and only what the judge verifies is an answer.
"""
