"""What a call costs, added up where it crosses the wire."""

from __future__ import annotations

from proxy.metering import Meter


def test_a_step_counts_for_the_call_it_belongs_to() -> None:
    call = Meter()
    first, second = Meter(call), Meter(call)
    first.http_sent("a.example", 100)
    first.received(1000)
    second.http_sent("b.example", 50)
    second.dns_sent(40)
    second.received(60)
    assert (first.http_requests, first.dns_queries, first.bytes_sent, first.bytes_received) == (1, 0, 100, 1000)
    assert (second.http_requests, second.dns_queries, second.bytes_sent, second.bytes_received) == (1, 1, 90, 60)
    assert (call.http_requests, call.dns_queries, call.bytes_sent, call.bytes_received) == (2, 1, 190, 1060)
    assert call.hosts == {"a.example", "b.example"}
