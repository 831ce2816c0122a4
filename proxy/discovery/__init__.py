"""What a site says about itself, pure.

A *document* is a published file by which a domain describes its agents, interfaces or keys; its *class* is
told from the path alone; a class has a *policy* (lifetimes when the origin is silent, size limit, format);
the *gate* reads the bytes of a 200 and says whether they are a document of their class or something else
that happens to be served there; *identifying members* are the few by which a class is recognised, fewer
than its schema requires.
"""
