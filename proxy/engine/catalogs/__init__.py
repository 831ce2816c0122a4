"""Catalogs of others in the engine: read through the cache, held against what origins say, watched.

reading   one catalog, with all pages of a registry where that is wanted
judging   where each of its URLs stands, by the records, by what is stored, by asking the origins
probing   asking origins about many URLs, politely
watching  the catalogs that an operator names, read again and again
aside     long work, without keeping everybody waiting
holding   what is known of one of those between two readings
"""
