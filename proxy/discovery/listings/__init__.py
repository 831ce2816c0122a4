"""Documents that list others: catalogs, skills, API catalogs and agent descriptions.

catalog, catalogentries   AI catalogs in three dialects; mediatypes tells what an entry leads to
skills, linkset, anp      the other formats
digests                   whether what is there is what was listed
"""
