"""DNS at the network's edge: resolvers are asked, their answers become values, kept for as long as they hold.

`transport` is one exchange with one resolver and `responses` what of it can be read; `rounds` asks the resolvers in
turn, `aliases` follows CNAME and DNAME, `worth` says how far an answer is believed, `convert` makes values of its
records, `cache` keeps them, and `client` is what the engine asks (`ports.Dns`).
"""
