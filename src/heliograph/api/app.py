"""The ASGI application: it finds the door of each request, names the request, and counts and logs its answer.

A request to send may be answered without ASGI: see `api.fast_send`.
"""

import asyncio
import re
from collections.abc import Callable
from itertools import count
from typing import Final

from heliograph.api import answer
from heliograph.api.call import Call
from heliograph.api.checks import RequestChecks
from heliograph.api.door import Handler, HttpDoor
from heliograph.api.doors import open_doors
from heliograph.api.services import Services
from heliograph.app.observing.refusals import Asked
from heliograph.app.ports import Journal, Unavailable
from heliograph.app.sending.principal import Principal
from heliograph.app.sending.refusal import unavailable
from heliograph.domain.display import origin_of
from heliograph.domain.error import INTERNAL, MALFORMED, TOO_EARLY, UNAVAILABLE, Fault
from heliograph.http.asgi import Asgi, ClientGone, Event, Receive, Scope, Send, respond, respond_in_pieces
from heliograph.http.reply import Reply

REQUEST_ID: Final = re.compile(rb"[A-Za-z0-9._~+/=:-]{1,128}").fullmatch
"""Matches an id that a client may give its request."""

AWAY_S: Final = 0.4
"""Seconds that a request may take while the store is known to be away."""

REPORT_S: Final = 60.0
"""Seconds between two lines for the same reason."""


class TurnedAway:
    """Connections that were refused, or closed to make room, by reason. Times are seconds of a monotonic clock."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._report_next: dict[str, float] = {}
        self._unsaid: dict[str, int] = {}
        self.counts: dict[str, int] = {}
        """Since the start."""

    def note(self, why: str, client: str, now: float) -> None:
        """Counts a connection. The first in a minute is logged with its client's address, and the number of others
        since the last line.
        """
        self.counts[why] = self.counts.get(why, 0) + 1
        if now < self._report_next.get(why, now):
            self._unsaid[why] = self._unsaid.get(why, 0) + 1
            return
        self._report_next[why] = now + REPORT_S
        self._journal.log("warning", "http.turned_away", reason=why, client=client, unsaid=self._unsaid.pop(why, 0))


Handlers = dict[str, Handler]
"""Handlers of a path, by method."""

Matcher = Callable[[str], re.Match[str] | None]


class Api:
    """A router: the doors of the customers' API, and applications that are mounted beside them."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self._clock = services.clock
        self._request_prefix = services.request_prefix.encode()
        self._requests = count(1)
        self.checks = RequestChecks(services.authenticator, services.clock, services.max_body)
        self.responses: dict[int, int] = {}
        """Answers so far, by status."""
        self.turned_away = TurnedAway(services.journal)
        self._mounts: list[tuple[str, Asgi]] = []
        self.home: str | None = None
        """The page for people to which `/` redirects."""
        self.overhear: Callable[[bytes, Reply], None] | None = None
        """Called with each answer of the API and its request's id; None without a listener."""
        self._paths: dict[str, Handlers] = {}
        self._paths_with_name: list[tuple[Matcher, Handlers]] = []
        for door in open_doors(services, self.checks):
            self.add(door)

    def add(self, door: HttpDoor) -> None:
        """Serves the paths of a door. Each path belongs to a single door."""
        paths: dict[str, Handlers] = {}
        for (method, path), handler in door.handlers.items():
            handlers = paths.setdefault(path, {})
            handlers[method] = handler
            if method == "GET":
                handlers["HEAD"] = handler
        self._paths.update({path: handlers for path, handlers in paths.items() if "{" not in path})
        for path, handlers in paths.items():
            if "{" in path:
                # The group is the id or the number.
                pattern = re.sub(r"\\{\w+\\}", "([^/]+?)", re.escape(path)) + "/?"
                self._paths_with_name.append((re.compile(pattern).fullmatch, handlers))

    def mount(self, path: str, application: Asgi) -> None:
        """Leaves everything at and below a path to another application."""
        self._mounts.append((path, application))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise RuntimeError(f"nothing here speaks {scope['type']}")
        for prefix, application in self._mounts:
            if scope["path"] == prefix or scope["path"].startswith(f"{prefix}/"):
                return await application(scope, receive, self._with_request_id(scope, send))
        call, work = Call(scope, receive), 0.0
        given = call.request_id
        if given is None or REQUEST_ID(given) is None:
            call.request_id = self.next_request_id()
        try:
            reply = await self._serve(call)
        except Fault as fault:
            reply = self._refused(call, fault)
            work = self._clock.monotonic() - call.begun if call.begun else 0.0
        except Unavailable:
            reply = self._refused(call, unavailable())
        except (ClientGone, asyncio.CancelledError):
            # The connection is closed, or is dropped at the end of a stop: no client waits for an answer.
            return None
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets an answer and the log the rest
            self.log_failure(error, scope["method"], call.request_id)
            reply = self._refused(call, internal_fault())
        self.note_response(reply.status)
        if self.overhear is not None and call.request_id is not None:
            self.overhear(call.request_id, reply)
        await _respond(call, reply, send, work)
        return None

    def _with_request_id(self, scope: Scope, send: Send) -> Send:
        """Adds the request's id to the answer of a mounted application, if the answer lacks it."""

        async def named(message: Event) -> None:
            if message["type"] == "http.response.start":
                self.note_response(message["status"])
                headers = list(message.get("headers", ()))
                if not any(name.lower() == b"x-request-id" for name, _ in headers):
                    given = next((value for name, value in scope["headers"] if name == b"x-request-id"), None)
                    kept = given is not None and REQUEST_ID(given) is not None
                    headers.append((b"x-request-id", given if kept else self.next_request_id()))
                    message = {**message, "headers": headers}
            await send(message)

        return named

    def next_request_id(self) -> bytes:
        """Returns a new `X-Request-Id`, for a request without a valid one."""
        return b"%b-%x" % (self._request_prefix, next(self._requests))

    @property
    def max_body(self) -> int:
        """Octets of the largest request body."""
        return self.services.max_body

    def failed(self, error: Exception, method: str, request_id: bytes | None) -> Reply:
        """Logs an error of ours outside the API itself, and returns the answer."""
        self.log_failure(error, method, request_id)
        return self._refused_early(internal_fault())

    def log_failure(self, error: Exception, method: str, request_id: bytes | None) -> None:
        """Logs an error of ours. The journal has its place, never the values: they may be a text."""
        self.services.journal.log(
            "error",
            "http.request_failed",
            request_id="" if request_id is None else request_id.decode(),
            method=method,
            **origin_of(error),
        )

    def malformed(self, problem: str) -> Reply:
        return self._refused_early(Fault(MALFORMED, problem))

    def overloaded(self, problem: str) -> Reply:
        return self._refused_early(Fault(UNAVAILABLE, problem))

    def note_refusal(self, who: Principal | None, fault: Fault, asked: Asked) -> None:
        """Notes that a request is answered with the fault; `who` is None if its account is unknown."""
        account = None if who is None else who.view.account
        self.services.refusals.note(account, fault, asked, self._clock.now())

    def _refused(self, call: Call, fault: Fault) -> Reply:
        """Notes the Fault, and returns the door's answer to it."""
        request_id = b"" if call.request_id is None else call.request_id
        asked = Asked(call.scope["method"], call.scope["path"], call.address, request_id.decode())
        self.note_refusal(getattr(call, "who", None), fault, asked)
        return call.refuse(fault)

    def _refused_early(self, fault: Fault) -> Reply:
        """Refuses a request that does not belong to the API, or is incomplete."""
        self.note_refusal(None, fault, Asked("", "", "", ""))
        return answer.of_fault(fault)

    def too_many(self, problem: str, seconds: int) -> Reply:
        return answer.of_fault(Fault(TOO_EARLY, problem, None, seconds))

    def note_turned_away(self, why: str, client: str) -> None:
        """Counts, and now and then reports, a connection that was refused or closed to make room."""
        self.turned_away.note(why, client, self._clock.monotonic())

    def note_no_room(self, problem: OSError) -> None:
        """Reports that the system refuses to accept more connections."""
        self.services.journal.log("error", "http.no_room", problem=problem.strerror or str(problem))

    def note_response(self, status: int) -> None:
        """Counts an answer."""
        self.responses[status] = self.responses.get(status, 0) + 1

    async def _serve(self, call: Call) -> Reply:
        method = call.scope["method"]
        if call.scope["path"] == "/" and self.home is not None and method in ("GET", "HEAD"):
            return Reply(303, b"{}", ((b"location", self.home.encode()),))
        handlers = self._find(call)
        handler = handlers.get(method)
        if handler is not None:
            call.refuse = handler.door.refuse
            if self.services.away() and not call.scope["path"].startswith("/health/"):
                return await _run_briefly(handler, call)
            return await handler.run(call)
        call.refuse = next(iter(handlers.values())).door.refuse
        reply = self._refused(call, answer.not_allowed(handlers))
        reply.headers = (*reply.headers, answer.allow(handlers))
        return reply

    def _find(self, call: Call) -> Handlers:
        path = call.scope["path"]
        handlers = self._paths.get(path)
        if handlers is None and path.endswith("/"):
            handlers = self._paths.get(path[:-1])
        if handlers is not None:
            return handlers
        for matches, handlers in self._paths_with_name:
            match = matches(path)
            if match is not None:
                call.target = match[1]
                return handlers
        raise answer.no_such_path()


async def _run_briefly(handler: Handler, call: Call) -> Reply:
    """Runs an operation while the store is away. Requests to send are refused by the commit, unless the store has just
    come back. The others wait for the store, which may still be readable."""
    try:
        async with asyncio.timeout(AWAY_S) as call.limit:
            return await handler.run(call)
    except TimeoutError:
        raise Unavailable("the store is away") from None


async def _respond(call: Call, reply: Reply, send: Send, work: float) -> None:
    assert call.request_id is not None, "it is given, or made before anything else"
    headers = [
        (b"content-type", reply.content_type),
        (b"content-length", b"%d" % len(reply.body)),
        (b"x-request-id", call.request_id),
    ]
    if reply.pieces is not None:
        headers = [headers[0], headers[2], *reply.headers]
        await respond_in_pieces(call.scope, call.receive, send, reply.status, headers, reply.pieces)
        return
    if reply.headers:
        headers.extend(reply.headers)
    if call.waits_to_send:
        # It was refused by its headers alone, so whether its body still comes is unknown (RFC 9110, 10.1.1).
        headers.append((b"connection", b"close"))
    await respond(call.scope, send, reply.status, headers, reply.body, work)


def internal_fault() -> Fault:
    return Fault(INTERNAL, "The gateway failed on this request; give its X-Request-Id to the operator.")
