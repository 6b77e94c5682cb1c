"""Ports of the surroundings: time, chance, secrets, the sender of callbacks, the journal."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from heliograph.app.webhook_job import TryResult, WebhookJob


class Clock(Protocol):
    """The clocks."""

    def now(self) -> int:
        """Milliseconds since the Unix epoch, UTC. May jump."""

    def monotonic(self) -> float:
        """Seconds from an arbitrary start, not that of the event loop. Never goes back. Goes on while the machine
        sleeps, where the system can tell."""


class Ids(Protocol):
    """Random bits for ids."""

    def tail(self) -> int:
        """62 random bits."""


class Secrets(Protocol):
    """Secrets and their verifiers."""

    def hash_password(self, password: str) -> str:
        """Returns the argon2id hash with its parameters, such as `$argon2id$v=19$m=19456,t=2,p=1$...`. Slow on purpose:
        tens of milliseconds of CPU."""

    def verify_password(self, hashed: str, password: str) -> bool:
        """Returns whether the password is right, False also for a text that is no hash. As slow as hashing."""

    def is_outdated(self, hashed: str) -> bool:
        """True if the hash was made with other parameters than new hashes; False for a malformed hash."""

    def token(self, octets: int) -> str:
        """Returns URL-safe text made from this many random octets."""

    def octets(self, count: int) -> bytes:
        """Returns random octets."""


class Passkeys(Protocol):
    """Passkeys (WebAuthn) of a site.

    `host`: the host name of its pages, for example `sms.example.com`.

    Options are JSON for a browser; answers are the browser's JSON. A passkey is octets: its id and its public key.
    """

    def creation_options(self, host: str, user: str, known: Sequence[bytes], challenge: bytes) -> dict[str, Any]:
        """Returns the options for making a passkey that is not among the `known`."""

    def created(self, host: str, challenge: bytes, answer: Mapping[str, Any]) -> bytes:
        """Returns the passkey that was made. Raises ValueError unless the answer is to these options."""

    def request_options(self, host: str, known: Sequence[bytes], challenge: bytes) -> dict[str, Any]:
        """Returns the options for signing in with any of the passkeys."""

    def proven(self, host: str, known: Sequence[bytes], challenge: bytes, answer: Mapping[str, Any]) -> int:
        """Returns the index of the passkey that answered. Raises ValueError if none of them did."""


class WebhookSender(Protocol):
    """Posts callbacks. Bounded: jobs beyond its limits come back as busy, at once."""

    def post(self, jobs: Sequence[WebhookJob]) -> None: ...

    def on_sent(self, listener: Callable[[list[TryResult]], None]) -> None:
        """Registers the listener for results, which come in groups. Each job has exactly one result, except after
        `on_lost`.
        """

    def on_lost(self, listener: Callable[[], None]) -> None:
        """Registers the listener for lost jobs: the sender's process died and runs again, so all jobs without a result
        are lost.
        """

    async def close(self) -> None: ...


class PortedNumbers(Protocol):
    """Numbers that may be in another network than that of their prefix: a file of them, or a server that is asked."""

    def find(self, number: str) -> str:
        """Returns the MCCMNC of a number's network, such as `26202`; empty if it is not known here."""

    def source(self, number: str) -> str:
        """Returns the origin of an answer of `find` in words, such as `the file of ported numbers`."""

    def unknown(self, numbers: Sequence[str]) -> Sequence[str]:
        """Returns the numbers about which a server must be asked; none if there is only a file."""

    async def ask(self, numbers: Sequence[str]) -> None:
        """Asks about numbers, for 300 ms at most. `find` then has the answers that came. Never raises."""

    async def refresh(self) -> None:
        """Takes in a changed file. Called once a second."""

    async def close(self) -> None:
        """Closes file and connections."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """The result of sending an alert to a destination."""

    destination: str
    """Position and scheme of its URL, for example `2, slack`."""
    problem: str
    """Empty if the destination took the alert."""


class AlertSender(Protocol):
    """Sends alerts to the people who look after the gateway."""

    async def send(self, title: str, text: str, *, is_over: bool = False) -> list[Attempt]:
        """Sends to all destinations at once; `is_over` tells that troubles are over. Returns the results in the order
        of the destinations. Never raises; takes seconds at most."""


class Journal(Protocol):
    """The log: events for people and machines. Cheap; never raises."""

    def log(self, level: str, event: str, **fields: Any) -> None: ...
