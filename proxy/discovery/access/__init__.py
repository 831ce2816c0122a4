"""The access manifest: what a domain says of itself, and the routes by which it may be used.

manifest              the document; manifesturls are the places it names, manifestroutes its tables of routes
routes, routereading  one route, in any of its spellings
mirrors               where else the manifest is kept
"""
