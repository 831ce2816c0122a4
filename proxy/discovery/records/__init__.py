"""What DNS and the local link say: records from their octets to values, never more than hints.

dnsvalues             an answer of a resolver
txt                   the records at _agent: uaix1, aid…; pka proves that an endpoint holds a record's key
svcb, svcparams       DNS-AID's pointers; indextxt is what a text says in place of one
localservices         agents that multicast DNS heard, in both layouts of localtxt
"""
