"""The fields of a request to send, the same from every door.

A door (HTTP v1 and v2, the console; `Door`) parses its clients' requests into `Fields`. For a field that it cannot
parse it stores a `Fault`, which is raised when the field's turn comes. So the order of checks is the same for every
door.
"""

from dataclasses import dataclass
from typing import Any

from heliograph.domain.error import Fault
from heliograph.domain.message.state import Kind

SHOWN_CHARS = 40
"""Characters of a customer's value that an error message repeats."""

SEGMENT_CHARS = 2_048
"""Most characters of a text for each of its possible segments: more than any encoding of 160 needs, percent-encoded in
UTF-8 and with ignored characters.
"""

TIME_CHARS = 64
"""Most characters of a `time`; every valid form is shorter, for example `2026-11-27T02:54:36Z`."""


@dataclass(slots=True)
class Fields:
    """The decoded fields; None means absent."""

    to: list[str] | None = None
    """The destinations without repeats, in the given order, before they are checked to be numbers."""
    sender: str | None = None
    content: str | None = None
    """The text itself, or hexadecimal digits if the kind is BINARY."""
    time: str | None = None
    """Time of sending, in the formats of `domain.calendar`; Unix seconds may be a `Number`. None: now."""
    kind: Kind = Kind.TEXT
    wants_receipt: bool = False
    url: str | None = None
    """Receiver of the receipt."""
    reference: str | None = None
    submission: str | None = None
    """Takes the place of a reference without being shown: the SMPP server's name of a submission, for example
    `smpp:9f86d081884c7d659a2feaa0c55ad015:0`. A request that is equal in all octets has it too."""
    given: dict[str, Any] | None = None
    """The decoded fields of `app.sending.optional_fields`; None for nearly all requests."""
    esme: str = ""
    """What an SMPP client expects in the receipts (`domain.message.extras.Extras.esme`)."""
    unreadable: dict[str, Fault] | None = None
    """Faults of the fields that could not be read, by the names that customers know: `to`, `from`, `content`, `time`,
    `type`, `dlr`, `dlr-url`, `reference`."""

    @property
    def replays(self) -> str | None:
        """The reference under which a request is stored."""
        return self.reference if self.submission is None else self.submission

    def refuse(self, field: str, fault: Fault) -> None:
        """Notes that a field could not be read."""
        if self.unreadable is None:
            self.unreadable = {}
        self.unreadable[field] = fault


def shown(value: object) -> str:
    """Returns a customer's value, shortened for an error message."""
    text = value if isinstance(value, str) else str(value)
    return repr(text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + "…")
