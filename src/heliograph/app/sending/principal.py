"""Identity as a value: the account of a request, and the door that it came through."""

from dataclasses import dataclass
from enum import Enum

from heliograph.app.sending.directory import AccountView
from heliograph.domain.message.way import Way


class Secret(Enum):
    """The kind of secret that proves an identity."""

    API_KEY = "API key"
    PASSWORD = "password"  # noqa: S105 - a word for people
    SMPP_PASSWORD = "SMPP password"  # noqa: S105 - a word for people


@dataclass(frozen=True, slots=True)
class Door:
    """An entry point for requests to send, with its own rules.

    A door translates: it parses its clients' requests into `Fields`, and formats the results for them.
    """

    name: str
    """A word of up to 16 octets, also used in error messages."""
    secret: Secret = Secret.API_KEY
    schedules: bool = True
    """Whether a request may be scheduled by its `time`."""
    numeric_senders: bool = True
    """Whether a sender may be a phone number."""
    way: Way = Way.WEBHOOK
    """The way of receipts for requests through this door. Only webhooks need a URL."""
    default_callback: bool = True
    """True if a receipt without URL goes to the account's URL; otherwise such a request is refused."""
    needs_templates: bool = True
    """True if its texts must fit a template when the connector requires it; otherwise texts without a template are sent
    without TLVs.
    """
    own_prefix: str = ""
    """Begins references that only this door may use, for example `sending-list-`; empty for none."""


@dataclass(frozen=True, slots=True)
class Principal:
    """An account with the door of its request."""

    view: AccountView
    door: Door
