"""The figures of `heliograph top`, computed from two samples of a gateway's metrics."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

_LINE = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{(.*)\})? ([+-]?(?:[\d.]+(?:e[+-]?\d+)?|Inf|NaN))").fullmatch
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\(.)")

Labels = tuple[tuple[str, str], ...]
Values = dict[str, dict[Labels, float]]

STAGES = {
    "accept": "heliograph_accept_seconds",
    "queue": "heliograph_queue_wait_seconds",
    "submit": "heliograph_submit_seconds",
    "receipt": "heliograph_receipt_delay_seconds",
    "callback": "heliograph_callback_seconds",
    "commit": "heliograph_store_commit_seconds",
}

_RATES: dict[str, tuple[str, dict[str, str]]] = {
    "accepted": ("heliograph_messages_accepted_total", {}),
    "submitted": ("heliograph_messages_submitted_total", {}),
    "delivered": ("heliograph_messages_final_total", {"state": "DELIVRD"}),
    "final": ("heliograph_messages_final_total", {}),
    "failed": ("heliograph_messages_failed_total", {}),
    "callbacks": ("heliograph_callbacks_total", {}),
    "callback_retries": ("heliograph_callback_retries_total", {}),
    "commits": ("heliograph_store_commit_seconds_count", {}),
}

_REFUSED = "heliograph_requests_refused_total"
_REPLAYED = "replayed"
"""A value of the label `reason` that does not mean a refusal: the request repeated an accepted request."""

_GAUGES = {
    "store_up": "heliograph_store_up",
    "waiting_in_store": "heliograph_queue_messages",
    "oldest_s": "heliograph_queue_oldest_seconds",
    "scheduled": "heliograph_scheduled_messages",
    "receipts_awaited": "heliograph_receipts_awaited",
    "unmatched_receipts": "heliograph_unmatched_receipts",
    "callbacks_in_the_air": "heliograph_callbacks_in_the_air",
    "callbacks_pending": "heliograph_callbacks_pending",
    "callbacks_failed": "heliograph_callbacks_failed",
    "balance": "heliograph_balance_credits",
    "memory_bytes": "process_resident_memory_bytes",
}

_CONNECTOR = {
    "binds_up": "heliograph_connector_binds_up",
    "binds": "heliograph_connector_binds",
    "silent_s": "heliograph_connector_silent_seconds",
    "in_flight": "heliograph_connector_in_flight",
    "window": "heliograph_connector_window",
    "rate_now": "heliograph_connector_rate",
    "rate_limit": "heliograph_connector_rate_limit",
    "paused_s": "heliograph_connector_paused_seconds",
    "queue": "heliograph_connector_queue",
    "put_off": "heliograph_deferred_messages",
}


@dataclass(slots=True)
class MetricsSample:
    """The metrics at a moment."""

    at: float
    """Monotonic seconds."""
    values: Values
    """Values by metric and labels."""

    @classmethod
    def read(cls, text: str, at: float) -> "MetricsSample":
        """Reads Prometheus' text format. Lines that cannot be read are left out."""
        values: Values = defaultdict(dict)
        for name, labels, value in _samples(text):
            values[name][labels] = value
        return cls(at, dict(values))

    def total(self, name: str, wanted: Mapping[str, str]) -> float:
        """Returns the sum over all samples with the wanted labels, for example `{"connector": "op1"}`."""
        found = self.values.get(name, {})
        return sum(value for labels, value in found.items() if wanted.items() <= dict(labels).items())

    def value(self, name: str, wanted: Mapping[str, str]) -> float | None:
        """Returns the first sample with the wanted labels, or None."""
        found = self.values.get(name, {})
        return next((value for labels, value in found.items() if wanted.items() <= dict(labels).items()), None)

    def label_values(self, name: str, label: str) -> list[str]:
        return sorted({dict(labels)[label] for labels in self.values.get(name, {})})


def _samples(text: str) -> Iterator[tuple[str, Labels, float]]:
    for line in text.splitlines():
        match = None if line.startswith("#") else _LINE(line)
        if match is not None:
            labels = tuple((name, _ESCAPE.sub(_unescaped, value)) for name, value in _LABEL.findall(match[2] or ""))
            yield match[1], labels, float(match[3])


def _unescaped(match: re.Match[str]) -> str:
    return "\n" if match[1] == "n" else match[1]


def figures_between(before: MetricsSample, after: MetricsSample) -> dict[str, Any]:
    """Returns the figures of the time between two samples.

    `rates` are per second. `latency` is in seconds, None if nothing happened. `waiting` is the sum of the connectors'
    queues in memory and of due rows in the store, which are in no connector's queue. `refused` is empty, because
    metrics do not have accounts.
    """
    span = max(after.at - before.at, 1e-3)

    def rate(name: str, wanted: Mapping[str, str]) -> float:
        # A counter that fell belongs to a gateway that was restarted.
        return round(max(0.0, after.total(name, wanted) - before.total(name, wanted)) / span, 2)

    cpu = rate("process_cpu_seconds_total", {})
    now = {word: after.value(name, {}) for word, name in _GAUGES.items()}
    in_memory = after.total(_CONNECTOR["queue"], {})
    refused = {
        reason: number
        for reason in after.label_values(_REFUSED, "reason")
        if reason != _REPLAYED and (number := rate(_REFUSED, {"reason": reason}))
    }
    now["held"] = after.total("heliograph_held_messages", {})
    now |= {"waiting_in_memory": in_memory, "waiting": in_memory + (now["waiting_in_store"] or 0.0)}
    return {
        "version": next(iter(after.label_values("heliograph_build_info", "version")), ""),
        "span_s": round(span, 3),
        "cpu": cpu,
        "rates": {
            **{word: rate(name, wanted) for word, (name, wanted) in _RATES.items()},
            "refused": round(sum(refused.values()), 2),
        },
        "refused_by_reason": refused,
        "refused": {"since": None, "totals": None},
        "latency": {stage: _quantiles(before, after, name) for stage, name in STAGES.items()},
        "now": now,
        "connectors": [
            _connector(after, name) | {
                "submitted": rate("heliograph_parts_total", {"connector": name, "outcome": "accepted"}),
                "refused": rate("heliograph_parts_total", {"connector": name, "outcome": "refused"}),
                "deferred": rate("heliograph_parts_total", {"connector": name, "outcome": "deferred"}),
                "throttled": rate("heliograph_throttled_total", {"connector": name}),
            }
            for name in after.label_values("heliograph_connector_binds", "connector")
        ],
    }  # fmt: skip


def _connector(sample: MetricsSample, name: str) -> dict[str, Any]:
    found: dict[str, Any] = {"name": name}
    for word, metric in _CONNECTOR.items():
        value = sample.value(metric, {"connector": name})
        found[word] = None if value == inf else value
    return found


def _quantiles(before: MetricsSample, after: MetricsSample, name: str) -> dict[str, float | None]:
    """Returns the upper bound of the bucket with the quantile; None beyond the last bucket, or without values."""
    buckets: dict[float, float] = defaultdict(float)
    for sample, sign in ((after, 1), (before, -1)):
        for labels, value in sample.values.get(f"{name}_bucket", {}).items():
            buckets[float(dict(labels)["le"])] += sign * value
    total = buckets.get(inf, 0.0)
    found: dict[str, float | None] = {"p50": None, "p95": None, "p99": None}
    if total <= 0:
        return found
    for word, share in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
        bound = next((le for le, count in sorted(buckets.items()) if count >= share * total), inf)
        found[word] = None if bound == inf else bound
    return found
