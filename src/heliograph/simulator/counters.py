"""The counters of the simulated operator."""

from dataclasses import asdict, dataclass, field


@dataclass(slots=True)
class DeliveryCounters:
    """Counts deliver_sm of one kind since the start, without the requests that still wait."""

    planned: int = 0
    """Deliveries that are owed, due or not."""
    sent: int = 0
    """Written deliveries, repeats included."""
    answered: int = 0
    """Accepted by the peer."""
    repeated: int = 0
    """Sent again, because the link was lost, no answer came, or the peer asked for it."""
    refused: int = 0
    """Finally refused by the peer."""
    waiting: int = 0
    """Due, and waiting now for a bind or for a window slot."""
    dropped: int = 0
    """Dropped, because too many were waiting."""


@dataclass(slots=True)
class SimulatorCounters:
    """Counts since the start, except for present numbers such as `links`."""

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
