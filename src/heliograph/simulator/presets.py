"""Presets: knobs that go together, by the kind of operator that has them."""

from dataclasses import dataclass
from typing import Any, Final

from heliograph.simulator.limiter import LimiterKind


@dataclass(frozen=True, slots=True)
class Preset:
    """A set of `knobs`, which are fields of `Behaviour`. Knobs given on the command line override them."""

    what: str
    knobs: dict[str, Any]


PRESETS: Final = {
    "flaky": Preset(
        "links are cut and unbound, some answers never come, some queues are full",
        {
            "latency_ms": 20.0, "latency_jitter_ms": 80.0, "withhold_share": 0.002, "queue_full_share": 0.01,
            "cut_share": 0.002, "unbind_after": 500, "receipt_other_bind_share": 0.1,
        },
    ),
    "slow": Preset(
        "answers take half a second to one second, final states some seconds, links carry 20,000 octets a second",
        {
            "latency_ms": 500.0, "latency_jitter_ms": 500.0, "receipt_delay_ms": 3_000.0,
            "receipt_jitter_ms": 5_000.0, "bytes_per_s": 20_000,
        },
    ),
    "strict": Preset(
        "10 messages in any second, throttled messages included; two binds; 500 messages without a final state",
        {
            "throttle_per_s": 10.0, "throttle_by": LimiterKind.SLIDING, "throttle_counts_refused": True,
            "max_binds": 2, "queue_limit": 500,
        },
    ),
    "dlr-late": Preset(
        "receipts come a minute late, before the answer, twice, in another order, or not at all",
        {
            "receipt_delay_ms": 1_000.0, "receipt_jitter_ms": 4_000.0, "receipt_late_share": 0.3,
            "receipt_late_ms": 60_000.0, "receipt_early_share": 0.05, "receipt_double_share": 0.05,
            "receipt_reorder_share": 0.1, "receipt_missing_share": 0.02,
        },
    ),
}  # fmt: skip
