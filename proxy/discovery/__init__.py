"""What a site says about itself, pure: every format that discovery reads, from octets to values.

A *document* is a published file by which a domain describes its agents, interfaces or keys; its *class* is
told from the path alone; a class has a *policy* (lifetimes when the origin is silent, size limit, format);
the *gate* reads the bytes of a 200 and says whether they are a document of their class or something else
that happens to be served there; *identifying members* are the few by which a class is recognised, fewer
than its schema requires. A *record* is what DNS holds, a *pointer* a record or link that leads to a document:
never more than a hint. A *finding* is what a document gets wrong.

names, urls, redirects, central       whom may be asked about, and how far publishers may lead
classes, gate, jsontext               what every document has in common
findings, notes                       what is wrong with one, and how its reader keeps that
records                               DNS and the local link
access                                the access manifest and its routes
listings, cards, pages                the other documents, by what they are about
authorization                         OAuth metadata
"""
