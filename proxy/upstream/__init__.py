"""The network behind the ports: origins over HTTP/1.1, tunnels, and which addresses may be connected to."""
