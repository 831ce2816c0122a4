"""The data port: bytes become messages, messages become bytes; and the process around it.

forms       which target a request names
incoming    a request as received, and what of it goes on
handler     one request from the socket to its log line
protocol    the connection
wire        responses as bytes
rewriting   gateway form in response fields
api         the proxy's own resources
own         how they are asked and answer
recordpages what is recorded of relocations; recordfeed what changes; recordreading how much is read at once
catalogpages catalogs of others, with the origins' word applied; slots how many at once
schema      what all these answer, as OpenAPI; shapes, recordschema and catalogschema are its parts
wiring      all parts put together
trusting    those of them that judge and find signed documents
relocating  those that hear and repeat the origins' word
catalogs    those that read and judge catalogs of others
enginesettings  what the engine goes by
keeping     what outlasts a configuration
opening     files and ports, and what a failure to open them is about
reloading   what a reload takes over
usage       what a reload has to wait for
service     start, reload, drain, stop
run         event loop and signals
offline     explain without a running proxy
oneshot     discover and read documents without one
"""

from proxy.server.offline import NoStore, explain_offline
from proxy.server.oneshot import discover_once, read_did_once, read_once
from proxy.server.opening import CannotOpen
from proxy.server.run import run

__all__ = ["CannotOpen", "NoStore", "discover_once", "explain_offline", "read_did_once", "read_once", "run"]
