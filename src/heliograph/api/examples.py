"""One fault of each entry of the catalogue, as the gateway words it: the document's examples."""

from heliograph.api import answer
from heliograph.domain import error
from heliograph.domain.error import Entry, Fault

BASE = "https://sms.example.com"
USER = "acme"
SECRETS = {1: "API-KEY", 2: "PASSWORD"}
"""Examples of secrets, by API version."""

FAULTS: dict[Entry, Fault] = {
    fault.entry: fault
    for fault in (
        Fault(error.MALFORMED, "The JSON body must be one object."),
        error.missing("to"),
        error.invalid(
            "to",
            "The destination must not begin with +; give digits with the country code, such as 447700900123. "
            "It is '+491701234567'.",
        ),
        Fault(error.UNAUTHENTICATED, "The credentials are wrong; v1 takes the user name and the API key."),
        Fault(error.NO_CREDIT, "The credit is too low: this costs 0.07. Nothing was sent or charged; top up."),
        Fault(error.FORBIDDEN, "The account is suspended; ask the operator of the gateway."),
        Fault(error.NOT_FOUND, "There is no such message in this account."),
        Fault(error.METHOD, "The method is not allowed here; use GET, HEAD, POST."),
        Fault(error.CONFLICT, "The message is sent, cancelled or due; only a scheduled one can be cancelled."),
        Fault(error.TOO_LARGE, "The body is too large; it may have 1048576 octets."),
        Fault(error.MEDIA_TYPE, "Send application/json or application/x-www-form-urlencoded."),
        Fault(error.TOO_EARLY, "One list query is allowed every 10 seconds; wait before the next.", None, 10),
        answer.unavailable(),
        Fault(error.INTERNAL, "The gateway failed on this request; give its X-Request-Id to the operator."),
    )
}
