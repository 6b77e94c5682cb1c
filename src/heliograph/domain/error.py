"""The catalogue of customers' errors. API, documentation and command line are generated from it."""

from enum import StrEnum
from typing import NamedTuple


class Reason(StrEnum):
    """Reason of a refused request, for figures and lists. Finer than the codes of answers if different people can fix
    the cause: for example, the customer tops up, but an administrator adds a route."""

    MALFORMED = "malformed"
    MISSING = "missing"
    INVALID = "invalid"
    NO_ROUTE = "no_route"
    """No route or no price covers a destination."""
    MARGIN = "margin"
    """Each connector for a destination is below the least margin of the account's plan, or of unknown cost."""
    CREDENTIALS = "credentials"
    CREDIT = "credit"
    SUSPENDED = "suspended"
    ADDRESS = "address"
    """The account may not be used from the client's address."""
    SENDER = "sender"
    """The account may not use the sender ID."""
    SENDER_PENDING = "sender_pending"
    """The sender ID is registered for the account, and not yet approved."""
    SENDER_REFUSED = "sender_refused"
    """The sender ID was refused in the account's registry."""
    SENDER_COUNTRY = "sender_country"
    """A rule for the destination's country refuses the sender ID."""
    SUPPRESSED = "suppressed"
    """The recipient opted out."""
    FORBIDDEN = "forbidden"
    """Not allowed, for another reason."""
    NOT_FOUND = "not_found"
    METHOD = "method"
    CONFLICT = "conflict"
    TOO_LARGE = "too_large"
    MEDIA_TYPE = "media_type"
    PREFIX = "prefix"
    """The account may not send to the destination."""
    RATE = "rate"
    """Over the account's messages a second."""
    REQUESTS = "requests"
    """Over the account's requests a second."""
    DAILY_MESSAGES = "daily_messages"
    """Over the account's messages a day."""
    DAILY_SPEND = "daily_spend"
    """Over the account's credits a day."""
    WAITING = "waiting"
    """Over the account's waiting messages."""
    TOO_EARLY = "too_early"
    UNAVAILABLE = "unavailable"
    IN_DOUBT = "in_doubt"
    """The request may be stored and charged, or not."""
    INTERNAL = "internal"


class Entry(NamedTuple):
    code: str
    """The `Status` of the answer; `00` is success and never here."""
    http: int
    title: str
    """A line that fits every fault of the entry."""
    when: str
    """The causes, for the documentation."""
    reason: Reason
    """Reason of a fault without a more specific reason."""
    retry: bool = False
    """The same request may succeed later; its answer carries `Retry-After`."""


MALFORMED = Entry(
    "01", 400, "The request cannot be read", "The body is malformed or wrongly encoded.", Reason.MALFORMED
)
MISSING = Entry(
    "02",
    400,
    "A required field is missing",
    "A required field is missing; on v2 also `dlr-url` when `dlr` asks for a receipt.",
    Reason.MISSING,
)
INVALID = Entry(
    "03",
    400,
    "A field is invalid",
    "A field is invalid, or not allowed in this API version (`time` on v2).",
    Reason.INVALID,
)
UNAUTHENTICATED = Entry(
    "04",
    401,
    "The credentials are missing or wrong",
    "Missing or wrong credentials, or the secret of the other API version.",
    Reason.CREDENTIALS,
)
NO_CREDIT = Entry(
    "05",
    402,
    "The credit is too low",
    "Too little credit, or the account's daily spending limit is reached; nothing was sent or charged.",
    Reason.CREDIT,
)
FORBIDDEN = Entry(
    "06",
    403,
    "Not allowed",
    "The account is suspended, the client address, the sender ID or the destination is not allowed, or the recipient "
    "opted out.",
    Reason.FORBIDDEN,
)
NOT_FOUND = Entry(
    "07",
    404,
    "Not found",
    "No such path, or no such message or number in this account. Another account's message gets the same answer.",
    Reason.NOT_FOUND,
)
METHOD = Entry("08", 405, "The method is not allowed here", "A method that is not in `Allow`.", Reason.METHOD)
CONFLICT = Entry(
    "09",
    409,
    "Not in a state for it",
    "The message is already sent, cancelled or due; or the reference was used for another request.",
    Reason.CONFLICT,
)
TOO_LARGE = Entry("10", 413, "The body is too large", "The body is over the limit.", Reason.TOO_LARGE)
MEDIA_TYPE = Entry(
    "11", 415, "The media type is not supported", "A body that is neither JSON nor form encoded.", Reason.MEDIA_TYPE
)
TOO_EARLY = Entry(
    "12",
    429,
    "Too early",
    "Over a limit of the account: requests or messages a second, messages a day, waiting messages, or list queries.",
    Reason.TOO_EARLY,
    retry=True,
)
UNAVAILABLE = Entry(
    "13",
    503,
    "Not available for the moment",
    "The store is unavailable or the queue is full; nothing was charged.",
    Reason.UNAVAILABLE,
    retry=True,
)
IN_DOUBT = Entry(
    "14",
    504,
    "The outcome is not known yet",
    "The store was lost in the middle of the request, which may be stored and charged, or not. Send it again with the "
    "same `reference`.",
    Reason.IN_DOUBT,
    retry=True,
)
INTERNAL = Entry(
    "99",
    500,
    "A fault of the gateway",
    "An error of the gateway. Its log has the cause under the request id.",
    Reason.INTERNAL,
)

CATALOGUE: tuple[Entry, ...] = (
    MALFORMED,
    MISSING,
    INVALID,
    UNAUTHENTICATED,
    NO_CREDIT,
    FORBIDDEN,
    NOT_FOUND,
    METHOD,
    CONFLICT,
    TOO_LARGE,
    MEDIA_TYPE,
    TOO_EARLY,
    UNAVAILABLE,
    IN_DOUBT,
    INTERNAL,
)


class Fault(Exception):
    """A fault with the data of its answer.

    `message`: the problem and its solution.

    `field`: the wrong field of the request.

    `retry_after`: whole seconds, for every fault of an entry with `retry` (1 if unknown).

    `reason`: the entry's by default.
    """

    __slots__ = ("entry", "field", "message", "reason", "retry_after")

    def __init__(
        self,
        entry: Entry,
        message: str,
        field: str | None = None,
        retry_after: int | None = None,
        reason: Reason | None = None,
    ) -> None:
        super().__init__(entry, message, field, retry_after)
        self.entry = entry
        self.message = message
        self.field = field
        self.reason = entry.reason if reason is None else reason
        self.retry_after = 1 if entry.retry and retry_after is None else retry_after

    def __str__(self) -> str:
        where = f" ({self.field})" if self.field else ""
        return f"{self.entry.code}{where}: {self.message}"

    def body(self) -> dict[str, str]:
        """The answer's JSON object."""
        body = {"Status": self.entry.code, "Message": self.message}
        if self.field is not None:
            body["Field"] = self.field
        return body


def missing(field: str, instead: str = "") -> Fault:
    """Returns the fault of a missing field. `instead` is a name in the request that probably means it, such as `text`
    for `content`."""
    problem = f"The field {field} is missing; it is required here."
    if instead:
        problem += f" There is no field {instead}; did you mean {field}?"
    return Fault(MISSING, problem, field)


def invalid(field: str, message: str, reason: Reason | None = None) -> Fault:
    return Fault(INVALID, message, field, None, reason)
