"""A phone that opts out of many scheduled messages, while another account sends."""

import time
from collections.abc import Sequence

from bench.loop.figures import NOTHING, Journey, Refused, Request, pair, percentiles, read_journeys, read_requests
from bench.loop.fill import PRICE, add_queue
from bench.loop.gateways import NUMBER_OF_PHONES, Heliograph
from bench.loop.processes import until
from bench.loop.run import Bench, Load

HEADS = ("gateway", "scheduled", "to response ms", "others/s", "others before, to 200 ms p50/p99",
         "others meanwhile, to 200 ms p50/p99", "others meanwhile, to submit_sm ms p50/p99")  # fmt: skip

PHONE = "49100000000"
"""The phone of number 0."""

OTHERS_FROM = 100_000
"""The first number of the others' messages."""

RATE = 500.0
BEFORE_S = 3.0
AFTER_S = 2.0
DUE_MS = 86_400_000
MICRO = 1_000_000


def measure(bench: Bench, gateway: Heliograph, size: int) -> Sequence[str]:
    """A run. Raises Refused unless exactly the scheduled messages were refunded, and no other message was lost."""
    gateway.prepare()
    gateway.add_account("other")
    gateway.take_from_phones()
    now = int(time.time() * 1000)
    before = _balance(gateway)
    add_queue(gateway, "bench", size, now, now + DUE_MS, PHONE)
    if before - _balance(gateway) != size * PRICE // MICRO:
        raise Refused(f"{gateway.name}: the scheduled messages were not charged")
    load = Load(seconds=BEFORE_S + AFTER_S + 2, rate=RATE, connections=16)
    bench.start(gateway, 100, warm=False)
    try:
        customers = bench.customers(gateway, gateway.ask_as("other"), load, OTHERS_FROM).begin()
        time.sleep(BEFORE_S)
        bench.operator.send_from_phones(NUMBER_OF_PHONES, 1, 0, "STOP")
        until(lambda: bench.operator.stats()["receipt_responses"] > 0, "the phone's message is acknowledged")
        summary, data = customers.end()
        bench.drain(summary["good"])
        journeys = read_journeys(bench.operator.records())
    finally:
        bench.stop(gateway)
    # the confirmation is a message of the account, and charged
    if (gone := before - _balance(gateway)) > 1:
        raise Refused(f"{gateway.name}: {gone:g} credits were not refunded")
    if faults := gateway.audit():
        raise Refused(f"{gateway.name}: {faults}")
    return _row(gateway.name, size, journeys[0], read_requests(data), journeys[OTHERS_FROM:])


def _balance(gateway: Heliograph) -> float:
    """Credits of the account that the phone opts out of."""
    return float(gateway.command("account", "show", "bench")["balance"])


def _row(name: str, size: int, stop: Journey, requests: list[Request], journeys: list[Journey]) -> Sequence[str]:
    others = list(zip(requests, [*journeys, *[NOTHING] * len(requests)], strict=False))
    if lost := sum(request.accepted and not journey.submits for request, journey in others):
        raise Refused(f"{name}: {lost} messages of the others were never submitted")
    until_ns = stop.receipt + int(AFTER_S * 1e9)
    calm = [request for request, _ in others if request.answered and request.answered < stop.submitted]
    meanwhile = [both for both in others if stop.submitted - 50_000_000 <= both[0].sent <= until_ns]
    return (
        name, str(size), f"{(stop.receipt - stop.submitted) / 1e6:.1f}", f"{RATE:.0f}",
        pair(percentiles(request.answered - request.sent for request in calm)),
        pair(percentiles(request.answered - request.sent for request, _ in meanwhile)),
        pair(percentiles(journey.submitted - request.sent for request, journey in meanwhile if journey.submits)),
    )  # fmt: skip
