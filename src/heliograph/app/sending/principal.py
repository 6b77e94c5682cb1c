"""Identity as a value: whose account a request is about, and the door it came through."""

from dataclasses import dataclass
from enum import Enum

from heliograph.app.sending.directory import AccountView
from heliograph.domain.message.way import Way


class Secret(Enum):
    """The kind of secret that proves who somebody is."""

    API_KEY = "API key"
    PASSWORD = "password"  # noqa: S105 - a word for people


@dataclass(frozen=True, slots=True)
class Door:
    """A way in for requests to send, and the rules that are its own.

    A door translates: it reads what its clients write into `Fields`, and says in their words what became of them.
    """

    name: str
    """One word of up to 16 octets, for error messages too."""
    secret: Secret = Secret.API_KEY
    schedules: bool = True
    """Whether a request may be scheduled by its `time`."""
    numeric_senders: bool = True
    """Whether a sender may be a phone number."""
    way: Way = Way.WEBHOOK
    """The way by which receipts go back to who asks for them here. Only webhooks need a URL."""
    default_callback: bool = True
    """Whether a receipt without a URL of its own goes to the account's; else such a request is refused."""
    needs_templates: bool = True
    """Whether its texts must fit a template where the connector wants one; else they go without TLVs if they fit
    none."""


@dataclass(frozen=True, slots=True)
class Principal:
    """An account that asks by one of the doors."""

    view: AccountView
    door: Door
