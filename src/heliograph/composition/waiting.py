"""Answers 503 while a gateway waits for its database. Customers and load balancers so learn that it is not ready,
instead of getting no connection."""

import secrets
from itertools import count

from heliograph.adapters.metrics import MetricsPage
from heliograph.adapters.metrics.exposition import Sample
from heliograph.adapters.metrics.page import PATH as METRICS_PATH
from heliograph.api import answer
from heliograph.api.shapes import Health
from heliograph.app.ports import Journal
from heliograph.app.sending.refusal import STORE_PAUSE_S
from heliograph.domain.display import origin_of
from heliograph.domain.error import INTERNAL, MALFORMED, TOO_EARLY, UNAVAILABLE, Fault
from heliograph.http.asgi import Receive, Scope, Send, respond
from heliograph.http.reply import Reply

PROBLEM = "The gateway starts, and waits for its database; nothing was charged. Send it again later."


def waiting_metrics(*, past_lost: bool) -> list[Sample]:
    """Returns the samples of a gateway that waits."""
    return [Sample("heliograph_store_up", (), 0), Sample("heliograph_past_lost", (), int(past_lost))]


class WaitingRoom:
    """An ASGI application, and the texts of its server (`http.reply.Replies`).

    Each request gets 503 with `Retry-After`. But `/health/live` gets 200: the process runs, and a restart would not
    help. `/metrics` tells that the store is away, and whether it is refused for a loss."""

    def __init__(self, journal: Journal, metrics: MetricsPage | None) -> None:
        """`metrics`: None where another address has them."""
        self._journal = journal
        self._metrics = metrics
        self._prefix = secrets.token_hex(4).encode()
        self._requests = count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._metrics is not None and scope["path"].rstrip("/") == METRICS_PATH:
            await self._metrics(scope, receive, send)
            return
        is_live = scope["path"].rstrip("/") == "/health/live"
        reply = answer.of(Health("00", "live")) if is_live else self.overloaded(PROBLEM)
        headers = [
            (b"content-type", reply.content_type),
            (b"content-length", b"%d" % len(reply.body)),
            (b"x-request-id", self.next_request_id()),
            (b"connection", b"close"),
            *reply.headers,
        ]
        await respond(scope, send, reply.status, headers, reply.body)

    def malformed(self, problem: str) -> Reply:
        return answer.of_fault(Fault(MALFORMED, problem))

    def overloaded(self, problem: str) -> Reply:
        return answer.of_fault(Fault(UNAVAILABLE, problem, None, STORE_PAUSE_S))

    def too_many(self, problem: str, seconds: int) -> Reply:
        return answer.of_fault(Fault(TOO_EARLY, problem, None, seconds))

    def failed(self, error: Exception, method: str, request_id: bytes | None) -> Reply:  # noqa: ARG002 - as above
        self._journal.log("error", "http.request_failed", method=method, **origin_of(error))
        return answer.of_fault(Fault(INTERNAL, "The gateway failed on this request."))

    def next_request_id(self) -> bytes:
        return b"%b-%x" % (self._prefix, next(self._requests))

    def note_response(self, status: int) -> None:
        """Answers are not counted: the metrics begin with the gateway."""

    def note_no_room(self, problem: OSError) -> None:
        self._journal.log("error", "http.no_room", problem=problem.strerror or str(problem))

    def note_turned_away(self, why: str, client: str) -> None:
        """Connections are not counted either."""
