"""The data port: bytes become messages, messages become bytes; and the process around it.

forms       which target a request names
framing     requests that other recipients might read otherwise
handler     one request from the socket to its log line
protocol    the connection
wire        responses as bytes
rewriting   gateway form in response fields
api         the proxy's own resources
wiring      all parts put together
service     start, reload, drain, stop
run         event loop and signals
offline     explain without a running proxy
"""

from proxy.server.offline import explain_offline
from proxy.server.run import run

__all__ = ["explain_offline", "run"]
