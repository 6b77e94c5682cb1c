"""The counters of the simulated operator."""

from dataclasses import asdict, dataclass, field


@dataclass(slots=True)
class DeliveryCounters:
    """Counts deliver_sm of one kind since the start, without the requests that still wait."""

    planned: int = 0
    """All that are owed, due or not."""
    sent: int = 0
    """Writings, repeats of unanswered ones included."""
    answered: int = 0
    """Taken by the peer."""
    repeated: int = 0
    """Sent again, since the link was lost, no answer came, or the peer asked for it."""
    refused: int = 0
    """Refused by the peer for good."""
    waiting: int = 0
    """Due, and waiting for a bind or for room in its window, now."""
    dropped: int = 0
    """Given up, since too many were waiting."""


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
    receipts: DeliveryCounters = field(default_factory=DeliveryCounters)
    from_phones: DeliveryCounters = field(default_factory=DeliveryCounters)
    """Parts of messages from phones."""
    protocol_errors: int = 0
    """Violations of the protocol by peers."""

    def by_name(self) -> dict[str, int]:
        """Returns each count by name. The counts of receipts are named, for example, `receipts_sent`."""
        named: dict[str, int] = {}
        for name, value in asdict(self).items():
            if isinstance(value, dict):
                named |= {f"{name}_{each}": number for each, number in value.items()}
            else:
                named[name] = value
        return named
