"""The counters of the simulated operator."""

from dataclasses import dataclass


@dataclass(slots=True)
class SimulatorCounters:
    """Counts since the start, except where a count is of the present moment."""

    links: int = 0
    """Connections now."""
    bound: int = 0
    """Binds now."""
    binds: int = 0
    binds_refused: int = 0
    submits: int = 0
    """submit_sm, data_sm, and each destination of submit_multi."""
    accepted: int = 0
    throttled: int = 0
    queue_full: int = 0
    refused: int = 0
    """Messages refused with any other status."""
    withheld: int = 0
    """Messages taken without an answer."""
    cut: int = 0
    """Links cut on purpose."""
    silenced: int = 0
    """Links left half open."""
    receipts: int = 0
    """Receipts owed."""
    receipts_sent: int = 0
    """deliver_sm written, repeats of unanswered ones included."""
    receipts_answered: int = 0
    """Receipts that the peer took."""
    receipts_repeated: int = 0
    """Receipts sent again, since the link was lost, no answer came, or the peer asked for it."""
    receipts_refused: int = 0
    """Receipts that the peer refused for good."""
    receipts_waiting: int = 0
    """Receipts due that wait for a bind or for room in its window, now."""
    receipts_dropped: int = 0
    """Receipts given up, since too many were waiting."""
    protocol_errors: int = 0
    """Violations of the protocol by peers."""
