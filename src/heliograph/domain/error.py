"""The catalogue of the errors that customers see. API, documentation and command line are drawn from it."""

from typing import NamedTuple


class Entry(NamedTuple):
    code: str
    """The `Status` of the answer; `00` is success and never here."""
    http: int
    title: str
    """One line that is true of every fault of the entry."""
    when: str
    """The causes, for the documentation."""
    retry: bool = False
    """The same request may succeed later; its answer carries `Retry-After`."""


MALFORMED = Entry("01", 400, "The request cannot be read", "The body is malformed or wrongly encoded.")
MISSING = Entry(
    "02",
    400,
    "A required field is missing",
    "A required field is missing; on v2 also `dlr-url` when `dlr` asks for a receipt.",
)
INVALID = Entry("03", 400, "A field is invalid", "A field is invalid, or not accepted here (`time` on v2).")
UNAUTHENTICATED = Entry(
    "04",
    401,
    "The credentials are missing or wrong",
    "Missing or wrong credentials, or the secret of the other API version.",
)
NO_CREDIT = Entry("05", 402, "The credit is too low", "Too little credit; nothing was sent or charged.")
FORBIDDEN = Entry(
    "06",
    403,
    "Not allowed",
    "The account is suspended, the client address or the sender ID is not allowed, or the recipient opted out.",
)
NOT_FOUND = Entry(
    "07",
    404,
    "Not found",
    "No such path, or nothing of that name in this account (another account's message looks the same).",
)
METHOD = Entry("08", 405, "The method is not allowed here", "Another method than those in `Allow`.")
CONFLICT = Entry(
    "09",
    409,
    "Not in a state for it",
    "The message is already sent, cancelled or due; or the reference was used for another request.",
)
TOO_LARGE = Entry("10", 413, "The body is too large", "The body is over the limit.")
MEDIA_TYPE = Entry("11", 415, "The media type is not supported", "A body that is neither JSON nor form encoded.")
TOO_EARLY = Entry("12", 429, "Too early", "Too early, over the account's rate, or too many that wait.", retry=True)
UNAVAILABLE = Entry(
    "13",
    503,
    "Not available for the moment",
    "The store is unavailable or the queue is full; nothing was charged.",
    retry=True,
)
INTERNAL = Entry("99", 500, "A fault of the gateway", "A fault of ours; the request id finds it in the log.")

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
    INTERNAL,
)


class Fault(Exception):
    """One fault, as it will be answered.

    `message` says what is wrong and what to do; `field` names the request field at fault; `retry_after` is in
    whole seconds, on every fault of an entry with `retry` (1 where nothing better is known).
    """

    __slots__ = ("entry", "field", "message", "retry_after")

    def __init__(self, entry: Entry, message: str, field: str | None = None, retry_after: int | None = None) -> None:
        super().__init__(entry, message, field, retry_after)
        self.entry = entry
        self.message = message
        self.field = field
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


def missing(field: str) -> Fault:
    return Fault(MISSING, f"The field {field} is missing; it is required here.", field)


def invalid(field: str, message: str) -> Fault:
    return Fault(INVALID, message, field)
