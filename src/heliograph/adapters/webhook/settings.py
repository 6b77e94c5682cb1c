"""Settings of the webhook sender: its limits and the networks it may call. They travel to its process as they are."""

import msgspec

from heliograph.domain.limits.defaults import CALLBACK_TIMEOUT_S
from heliograph.net.address_guard import USUAL_PORTS


class WebhookLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The bounds of the webhook sender. Times are seconds, sizes octets.

    Connections, lines and origins (scheme, host, port) are shared so that no account can take all: one gets at most a
    fixed part of what is still free, so that some is always left for the next (`capacity`).
    """

    connections_per_origin: int = 64
    connections_per_address: int = 192
    """The most connections to one resolved address, whatever names lead to it."""
    connections: int = 1_024
    waiting_per_origin: int = 4_096
    waiting: int = 32_768
    origins: int = 4_096
    """The most origins remembered, each once an account; the ones unused for longest are forgotten first."""
    outstanding: int = 20_000
    """The most jobs without a result in the sender's own process."""

    try_seconds: float = float(CALLBACK_TIMEOUT_S)
    """The time for one try, from its connection or its place in line to the end of the answer's head."""
    wait_seconds: float = 10.0
    """The wait for a connection after which a job comes back as busy."""
    connect_seconds: float = 5.0
    """The time for name, TCP and TLS together."""
    rest_seconds: float = 1.0
    """The time to read the rest of an answer, so that the connection can be used again."""
    idle_seconds: float = 30.0
    crowded_idle_seconds: float = 1.0
    """Seconds that a connection stays idle while more than three quarters of them are in use."""
    drain_seconds: float = 5.0
    """The time for which `close` lets the jobs go on."""

    head_octets: int = 16_384
    body_octets: int = 65_536
    reply_octets: int = 16_384
    """The longest text of an answer that is a reply to a message from a phone."""

    breaker_failures: int = 20
    """The failures in a row after which the circuit breaker of an origin opens."""
    breaker_seconds: float = 5.0
    """The first pause of an open circuit breaker; each next is twice as long, up to `breaker_longest_seconds`."""
    breaker_longest_seconds: float = 60.0

    name_seconds: float = 30.0
    """The time for which the addresses of a name are remembered."""
    failed_name_seconds: float = 2.0
    lookups: int = 128
    """The most names being looked up at once; an account gets at most a quarter of what is free."""


class WebhookSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All settings of the webhook sender.

    `allowed` are networks (CIDR) that may be called although the guard refuses them otherwise. `ca_file` (PEM) is
    trusted in addition to the system's authorities. `ports` are those that may be called at all.
    """

    allowed: tuple[str, ...] = ()
    ca_file: str | None = None
    limits: WebhookLimits = WebhookLimits()
    ports: tuple[str, ...] = USUAL_PORTS
