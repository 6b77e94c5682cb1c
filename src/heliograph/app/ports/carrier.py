"""The carrier: one operator account, what is submitted to it, and what it tells."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from heliograph.app.facts import Message
from heliograph.app.ports.carrier_state import CarrierState
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.text.segment import HEADER_OCTETS

UNSENDABLE: Final = -1
"""The encoding of parts whose message takes more of them, in the operator's alphabets, than were charged."""


@dataclass(slots=True, eq=False)
class Part:
    """A part of a message, numbered from 0, to be submitted as one submit_sm. `octets` is user data without a header;
    `encoding` that of `domain.repertoire`, or UNSENDABLE; `reference` is the concatenation reference, the same for all
    `total` parts of a message. A long message may be a single part: then `octets` is all of it."""

    message: Message
    segment: int
    total: int
    encoding: int
    octets: bytes
    reference: int
    owner: Any = None
    """The dispatcher's own mark; carriers leave it alone."""
    header_octets: int = HEADER_OCTETS
    """Octets that the parts of a long message leave free for their header."""
    elements: bytes = b""
    """Elements of the user data header, but that which numbers the parts."""
    written: float = 0.0
    """Monotonic seconds of its last hand-over to the carrier; the lane's own mark too."""


@dataclass(slots=True)
class Accepted:
    """The operator took the part; `operator_id` is its own name for it."""

    operator_id: str


@dataclass(slots=True)
class Deferred:
    """The operator did not take the part this time; it is due again in `pause` seconds. `throttled` says that the
    operator objects to the rate, not to this message, as far as its status says. With the status NOT_SENT the part was
    never written, since its connection was lost, and goes again as soon as the window has room."""

    status: int
    pause: float
    throttled: bool = False


@dataclass(slots=True)
class Refused:
    """The operator refused the part for good. `state` is what the customer is told, with the `err` of the code `err`
    (`domain.receipt.err_of`). With the status NOT_SENT no submit_sm could hold the part, which was never written."""

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
    """A receipt as the operator sent it. `destination` is the number the message went to, as far as it says; `came`
    when it came, in ms, where that was long before now (`app.receipts.operator_ids.STALE_MS`), else 0. `other_id` is
    the id of its text where the parameter beside it says another; `other_number` the number in the place of the
    message's sender, where some operators leave the recipient. `marked`: the operator says that it is a receipt.
    `text_first`: `other_id` is likelier to be right. `asked`: it is the answer to a `Question`, no receipt, and says
    nothing of how the operator writes those. `err` is the operator's own code (`domain.receipt.own_code`)."""

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
    """A message from a phone, or one part of it, that the operator wants to be answered.

    `octets` is the user data, with its header if `has_header`; `coding` the SMPP data_coding. `part` is reference,
    total and number from 1 where they came beside the octets. `digest` (63 bits, never 0) stands for all octets as
    they came.
    `answer(True)` once it is durable, `answer(False)` if it cannot be kept: it then comes again. Returns False where
    the link is gone, so that the operator learns nothing. `stands` tells whether the link is still there, or came to a
    good end: then the operator has read what was written before.
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


@dataclass(frozen=True, slots=True)
class Question:
    """A part, or several that the operator took as one, whose receipt has not come: the operator's id, and the numbers
    of its message as the customer gave them."""

    operator_id: str
    sender: str
    destination: str


class CarrierEvents(Protocol):
    """Receives what a carrier tells its owner. Called on the event loop; must not block or raise."""

    def on_outcome(self, part: Part, outcome: Outcome) -> None:
        """Receives the outcome of a part; called exactly once for each part submitted."""

    def on_report(self, report: Report, acknowledge: Callable[[bool], None]) -> None:
        """Receives a report. The owner calls `acknowledge(True)` once the report is durable, `acknowledge(False)` if it
        cannot be kept; the operator then sends it again."""

    def on_unmarked(self, report: Report, acknowledge: Callable[[bool], None], otherwise: Callable[[], None]) -> None:
        """Receives what reads like a receipt but is not marked as one. The owner calls `acknowledge` as for a report if
        it is for a message of ours; else, once, `otherwise`: it came from a phone."""

    def on_inbound(self, incoming: Incoming) -> None:
        """A message came from a phone. Its `answer` is called once."""

    def on_late(self, part: Part, outcome: Outcome) -> None:
        """Receives the late answer to a part whose outcome was Unknown; called at most once a part."""

    def on_congestion(self, percent: int) -> None:
        """Receives the operator's load, 0 to 99 (congestion_state, SMPP v5.0, 4.8.4.18)."""

    def on_capacity(self) -> None:
        """Called when `capacity` or `paused_until` has changed."""


class Carrier(Protocol):
    """One operator account: all of its binds."""

    @property
    def capacity(self) -> int:
        """Parts that may be in flight at once, over all binds that are up; 0 when none is."""

    @property
    def header_octets(self) -> int:
        """Octets that the parts of a long message should leave free for their header. `Part.header_octets` says whether
        they do, since they may not become more of them than the customer was charged for."""

    def submit(self, parts: Sequence[Part]) -> None:
        """Writes the parts in one piece. At most `capacity` parts may have no committed outcome."""

    @property
    def can_ask(self) -> bool:
        """Whether `ask` asks now: the operator answers questions, and there is room that no part needs."""

    def ask(self, question: Question) -> None:
        """Asks the operator for the state of a part; its answer comes as a report, if ever. Does nothing unless
        `can_ask`."""

    def state(self) -> CarrierState:
        """Returns the state of each bind, with its last error and next attempt, for people."""

    async def drain(self, deadline: float) -> None:
        """Submits no more; waits for answers until `deadline` (seconds of the loop's clock), then unbinds and ends."""
