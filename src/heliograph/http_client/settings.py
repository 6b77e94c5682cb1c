"""Settings of a client: its limits, and the networks and ports that it may call."""

import msgspec

from heliograph.net.address_guard import USUAL_PORTS


class ClientLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The limits of a client. Times are seconds, sizes octets.

    Connections, queues and origins (scheme, host, port) are shared so that no account can take all. An account gets at
    most a fixed part of the free capacity (`capacity`).
    """

    connections_per_origin: int = 64
    connections_per_address: int = 192
    """Most connections to a resolved address, over all names."""
    connections: int = 1_024
    waiting_per_origin: int = 4_096
    waiting: int = 32_768
    origins: int = 4_096
    """The most origins remembered, each once an account; the ones unused for longest are forgotten first."""

    try_seconds: float = 10.0
    """Timeout of an attempt, from its connection or its turn in the queue to the end of the answer's head."""
    wait_seconds: float = 10.0
    """The wait for a connection after which a job comes back as busy."""
    connect_seconds: float = 5.0
    """The time for name, TCP and TLS together."""
    rest_seconds: float = 1.0
    """The time to read the rest of an answer, so that the connection can be used again."""
    idle_seconds: float = 30.0
    full_idle_seconds: float = 1.0
    """Seconds that a connection stays idle while more than three quarters of them are in use."""

    head_octets: int = 16_384
    body_octets: int = 65_536
    reply_octets: int = 16_384
    """The longest body of an answer that its requester wants."""

    breaker_failures: int = 20
    """The failures in a row after which the circuit breaker of an origin opens."""
    breaker_seconds: float = 5.0
    """The first pause of an open circuit breaker; each next is twice as long, up to `breaker_longest_seconds`."""
    breaker_longest_seconds: float = 60.0

    name_seconds: float = 30.0
    """The time for which the addresses of a name are remembered."""
    failed_name_seconds: float = 2.0
    lookups: int = 128
    """Most concurrent lookups; an account gets at most a quarter of the free slots."""


class ClientSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All settings of a client.

    `allowed`: networks (CIDR) that may be called although the guard refuses them otherwise.

    `ca_file`: PEM, trusted in addition to the system's authorities.

    `ports`: the only ports that may be called.
    """

    allowed: tuple[str, ...] = ()
    ca_file: str | None = None
    limits: ClientLimits = ClientLimits()
    ports: tuple[str, ...] = USUAL_PORTS
