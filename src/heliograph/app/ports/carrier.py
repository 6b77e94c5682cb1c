"""The carrier: an operator account to which parts are submitted, and the events that it reports."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from heliograph.app.facts import Message
from heliograph.app.ports.carrier_state import CarrierState
from heliograph.domain.message.extras import Tlv
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.text.segment import HEADER_OCTETS

UNSENDABLE: Final = -1
"""The encoding of parts whose message this operator cannot take as it was accepted: it takes more parts than were
charged in the operator's alphabets, or has a TLV that does not pass."""


@dataclass(slots=True, eq=False)
class Part:
    """A part of a message, to be submitted as a submit_sm. Parts are numbered from 0.

    `octets`: user data without a header. A long message may be a single part: then `octets` is the whole of it.

    `encoding`: an encoding of `domain.repertoire`, or UNSENDABLE.

    `reference`: the concatenation reference, the same for all `total` parts of a message.
    """

    message: Message
    segment: int
    total: int
    encoding: int
    octets: bytes
    reference: int
    owner: Any = None
    """A value of the dispatcher. Carriers ignore it."""
    header_octets: int = HEADER_OCTETS
    """Octets that the parts of a long message leave free for their header, for example 6 for a header with an 8-bit
    reference."""
    elements: bytes = b""
    """Elements of the user data header, without the element that numbers the parts."""
    tlvs: tuple[Tlv, ...] = ()
    """Optional parameters of the submit_sm: the request's, as far as this operator allows them, and the template's."""
    written: float = 0.0
    """Monotonic seconds of its last hand-over to the carrier; the lane's own mark too."""


@dataclass(slots=True)
class Accepted:
    """The operator took the part. `operator_id` is the operator's id of it, for example `7f3a90c1`."""

    operator_id: str


@dataclass(slots=True)
class Deferred:
    """The operator did not accept the part this time. The part is due again in `pause` seconds.

    `throttled`: the status objects to the rate rather than to this message, for example ESME_RTHROTTLED.

    With the status NOT_SENT the part was never written, because its connection was lost. It is sent again as soon as
    the window has a free slot.
    """

    status: int
    pause: float
    throttled: bool = False


@dataclass(slots=True)
class Refused:
    """The operator refused the part for good.

    `state`: the state that the customer sees, with the `err` of the code `err` (`domain.receipt.err_of`).

    With the status NOT_SENT the part was never written, because no submit_sm can hold it.
    """

    status: int
    state: Delivery
    err: str


@dataclass(slots=True)
class Unknown:
    """The part was written and not answered: the operator may have it or not."""

    reason: str


Outcome = Accepted | Deferred | Refused | Unknown


@dataclass(slots=True)
class Report:
    """A receipt as the operator sent it.

    `destination`: the recipient's number, or empty if the receipt has none. For example `491701234567`.

    `came`: when the receipt arrived (ms since the epoch), set only if it was kept for more than `STALE_MS`
    (`app.receipts.readings`); otherwise 0.

    `other_id`: the id in the text, if it differs from the TLV's.

    `other_number`: the number in the field of the message's sender. Some operators put the recipient there.

    `marked`: the operator marked it as a receipt.

    `text_first`: `other_id` is more likely to be right.

    `asked`: it is the answer to a `Question`. It says nothing about the operator's receipts.

    `err`: the operator's own code (`domain.receipt.own_code`).
    """

    operator_id: str
    destination: str
    state: Delivery
    final: bool
    err: str
    came: int = 0
    other_id: str = ""
    other_number: str = ""
    marked: bool = True
    text_first: bool = False
    asked: bool = False


@dataclass(slots=True, eq=False)
class Incoming:
    """A message from a phone, or a part of it. The operator waits for an answer.

    `octets`: user data, with its header if `has_header`.

    `coding`: the SMPP data_coding.

    `part`: reference, total and number (from 1), if they came in TLVs.

    `digest`: 63 bits of a hash of all received octets, never 0.

    `answer(True)`: call it once the message is durable. `answer(False)`: call it if the message cannot be kept; the
    operator then sends it again. Returns False if the link is gone, so that the operator gets no answer.

    `stands`: tells whether the link is up, or was closed cleanly. In both cases the operator has read the earlier
    answers.

    `waits`: tells whether the link is up, so that the operator waits for the answer. Without an answer it sends the
    message again after a clean end, too.
    """

    sender: str
    recipient: str
    coding: int
    has_header: bool
    octets: bytes
    part: tuple[int, int, int] | None
    digest: int
    answer: Callable[[bool], bool]
    stands: Callable[[], bool]
    waits: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Question:
    """A part, or several parts that the operator accepted as one, without a receipt so far. Has the operator's id and
    the message's numbers as the customer wrote them.
    """

    operator_id: str
    sender: str
    destination: str


class CarrierEvents(Protocol):
    """Events of a carrier. Called on the event loop; must not block or raise."""

    def on_outcome(self, part: Part, outcome: Outcome) -> None:
        """Receives the outcome of a part; called exactly once for each part submitted."""

    def on_report(self, report: Report, acknowledge: Callable[[bool], None]) -> None:
        """Receives a report. The owner calls `acknowledge(True)` once the report is durable, `acknowledge(False)` if it
        cannot be kept; the operator then sends it again."""

    def on_unmarked(self, report: Report, acknowledge: Callable[[bool], None], otherwise: Callable[[], None]) -> None:
        """Handles a deliver_sm that reads like a receipt but is not marked as a receipt.

        If it belongs to one of our messages, call `acknowledge` as for a report. Otherwise call `otherwise` once: it
        came from a phone.
        """

    def on_inbound(self, incoming: Incoming) -> None:
        """A message came from a phone. Its `answer` is called once."""

    def on_late(self, part: Part, outcome: Outcome) -> None:
        """Handles the late answer to a part with the outcome Unknown. Called at most once for each part."""

    def on_congestion(self, percent: int) -> None:
        """Receives the operator's load, 0 to 99 (congestion_state, SMPP v5.0, 4.8.4.18)."""

    def on_capacity(self) -> None:
        """Called when `capacity` or `paused_until` has changed."""


class Carrier(Protocol):
    """An operator account with all its binds."""

    @property
    def capacity(self) -> int:
        """Parts that may be in flight at once, over all binds that are up; 0 if all are down."""

    @property
    def header_octets(self) -> int:
        """Octets that the parts of a long message should leave free for their header. `Part.header_octets` has the
        octets actually free: a header must not make more parts than the customer was charged for."""

    def submit(self, parts: Sequence[Part]) -> None:
        """Writes the parts together. At most `capacity` parts may wait for a committed outcome."""

    @property
    def can_ask(self) -> bool:
        """Whether `ask` sends a query now: the operator answers queries, and a slot is free that no part needs."""

    def ask(self, question: Question) -> None:
        """Queries the operator for the state of a part. The answer, if any, comes as a report. Does nothing unless
        `can_ask`."""

    def state(self) -> CarrierState:
        """Returns the state of each bind, with its last error and next attempt, for people."""

    async def drain(self, deadline: float) -> None:
        """Submits no more; waits for answers until `deadline` (seconds of the loop's clock), then unbinds and ends."""
