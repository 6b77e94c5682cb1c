"""Counters of the data that retention and erasure removed."""

from collections import Counter

from heliograph.domain.message.retention import Stage


class RetentionCounters:
    """Messages of either way that were redacted or dropped, by stage, since the start; and how far it is behind."""

    def __init__(self) -> None:
        self.done: Counter[Stage] = Counter()
        self.left = Counter[Stage]()
        """Messages that were looked at while something was owed for them: they are looked at again."""
        self.lag_ms: dict[Stage, int] = {}
        """Age (ms) beyond the retention limit of the data that is being removed now; 0 if nothing is."""
