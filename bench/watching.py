"""Measures the cost of watching: the tally of a commit's facts, for each message, and a scrape.

    python -m bench.watching

A message has five facts of note here: accepted, answered, final, called back, and the commit itself. Run it with the
interpreter in `.native/bin` for the compiled modules.
"""

import time
from collections.abc import Callable

from heliograph.adapters.metrics import render
from heliograph.adapters.metrics.exposition import Sample
from heliograph.app.facts import (
    Accept,
    CallbackDone,
    CallbackEnd,
    Facts,
    Message,
    MessageEnd,
    Submission,
    Verdict,
)
from heliograph.app.observing.catalogue import METRICS, MetricKind
from heliograph.app.observing.counters import Histogram, MessageCounters
from heliograph.app.observing.events import EventFeed
from heliograph.app.observing.series_counter import SeriesCounter
from heliograph.domain.message.ids import IdSequence
from heliograph.domain.message.receipt import Delivery

MESSAGES = 200
"""In a commit."""

ROUNDS = 2_000
BEST_OF = 5


def facts() -> Facts:
    keys = IdSequence(0)
    messages = [
        Message(1, f"4917{n:09}", "Acme", 0, "x", 1, 1_000_000, n % 3, 0, 1, 1, key=keys.next(1))
        for n in range(MESSAGES)
    ]
    each = list(enumerate(messages))
    return Facts(
        accepts=[Accept(1, [message], 1_000_000, 1_000 - n % 30, verdict=Verdict.ACCEPTED) for n, message in each],
        submissions=[Submission(1, message.key, 0, 1, "x", 0, 4, n % 50, n % 20, message) for n, message in each],
        finals=[
            MessageEnd(
                1, message.key, Delivery.DELIVRD, "000", 9, owed=True, waited=n % 3, message=message, connector=1
            )
            for n, message in each
        ],
        callbacks=[CallbackDone(1, message.key, CallbackEnd.DELIVERED, 200, 1, 0, n % 40) for n, message in each],
    )


def best(work: Callable[[], object], rounds: int) -> float:
    """Returns the seconds a call of the best run, because disturbances only add."""
    times = []
    for _ in range(BEST_OF):
        begun = time.perf_counter()
        for _ in range(rounds):
            work()
        times.append((time.perf_counter() - begun) / rounds)
    return min(times)


def main() -> None:
    given, counters, feed = facts(), MessageCounters(), EventFeed()
    counted = best(lambda: counters.committed(given, 1_000, 0.002), ROUNDS) / MESSAGES
    told = best(lambda: feed.committed(given, 1_000, 0.002), ROUNDS) / MESSAGES
    series = SeriesCounter()
    kept = best(lambda: series.committed(given, 1_000, 0.002), ROUNDS) / MESSAGES
    samples = [
        Sample(
            metric.name,
            ("x",) * len(metric.labels),
            Histogram(metric.bounds) if metric.kind is MetricKind.HISTOGRAM else 1,
        )
        for metric in METRICS.values()
    ] * 5
    scrape = best(lambda: render(samples), 20)
    print(f"tally         {counted * 1e6:6.2f} us a message")
    print(f"narrator      {told * 1e6:6.2f} us a message, while nobody listens")
    print(f"series        {kept * 1e6:6.2f} us a message")
    print(f"text          {scrape * 1e3:6.2f} ms a scrape of {len(samples)} samples")


if __name__ == "__main__":
    main()
