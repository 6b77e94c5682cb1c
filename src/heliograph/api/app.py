"""The ASGI application: paths and methods, and for each operation what is checked in which order.

    path, method, credentials, size, media type, syntax, fields, state, credit

A send may be answered without ASGI: see `api.fast_send`.
"""

import asyncio
import re
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Final

from heliograph.api import answer, decode, doors, operations
from heliograph.api.account import AccountRoot
from heliograph.api.bodies import Bodies
from heliograph.api.call import Call, Handler, Handlers
from heliograph.api.decode import USUAL, Bounds
from heliograph.api.send_fields import send_fields, time_text
from heliograph.api.shapes import Done, Health
from heliograph.api.turned_away import TurnedAway
from heliograph.app.facts import Accept
from heliograph.app.inbound.pull import Pulling
from heliograph.app.inbound.suppression_list import SuppressionList
from heliograph.app.observing.refusals import Asked, Refusals
from heliograph.app.ports import Clock, Journal, Unavailable
from heliograph.app.sending.authenticate import Authenticator, readmit
from heliograph.app.sending.browse import Browse, wants_delivery
from heliograph.app.sending.fields import Fields
from heliograph.app.sending.principal import Door, Principal
from heliograph.app.sending.reschedule import Rescheduling, no_such_message
from heliograph.app.sending.send import Sending
from heliograph.domain.error import INTERNAL, MALFORMED, MEDIA_TYPE, TOO_EARLY, TOO_LARGE, UNAVAILABLE, Fault
from heliograph.domain.limits import defaults
from heliograph.domain.message import ids
from heliograph.http.asgi import Asgi, ClientGone, Event, Receive, Scope, Send, respond
from heliograph.http.reply import Reply
from heliograph.runtime.listening import NoticeListeners
from heliograph.runtime.long_polls import LongPolls

REQUEST_ID: Final = re.compile(rb"[A-Za-z0-9._~+/=:-]{1,128}").fullmatch
"""Matches an id that a client may give its request."""

READY_KEPT_S = 1.0
"""Seconds that the answer of /health/ready is good for, since finding out writes to the disk."""


@dataclass(slots=True)
class Services:
    """The parts of the application behind the API. `probe` raises Unavailable while the store cannot be written."""

    authenticator: Authenticator
    sending: Sending
    rescheduling: Rescheduling
    browse: Browse
    pulling: Pulling
    long_polls: LongPolls
    suppression_list: SuppressionList
    listening: NoticeListeners
    clock: Clock
    journal: Journal
    probe: Callable[[], Awaitable[None]]
    refusals: Refusals
    request_prefix: str
    """Beginning of the request ids of this process: random, in `[A-Za-z0-9_-]`."""
    max_body: int = defaults.MAX_BODY_OCTETS
    bounds: Bounds = USUAL
    customers: bool = True
    """Whether customers are served; /health always is."""


class Api:
    def __init__(self, services: Services) -> None:
        self.services = services
        self._authenticator = services.authenticator
        self._sending = services.sending
        self._clock = services.clock
        self._request_prefix = services.request_prefix.encode()
        self._requests = count(1)
        self._ready_until = 0.0
        self._bodies = Bodies()
        self.responses: dict[int, int] = {}
        """Answers so far, by status."""
        self.turned_away = TurnedAway(services.journal)
        self._mounts: list[tuple[str, Asgi]] = []
        self.home: str | None = None
        """The page for people that `/` leads to."""
        self.overhear: Callable[[bytes, Reply], None] | None = None
        """Called with each answer of the API and its request's id; None while nobody wants to know."""
        run: dict[str, Callable[[Call, bytes], Awaitable[Reply]]] = {
            "send_message": self._send,
            "send_message_v2": self._send,
            "quote_message": self._quote,
            "list_messages": self._list,
            "get_message": self._get,
            "reschedule_message": self._reschedule,
            "cancel_message": self._cancel,
            "list_message_events": self._history,
            "get_balance": self._balance,
            "get_balance_v2": self._balance,
            "get_liveness": self._live,
            "get_readiness": self._ready,
            **AccountRoot(
                services.pulling, services.long_polls, services.suppression_list, services.listening, self._readmit
            ).operations,
        }
        paths: dict[str, Handlers] = {}
        for operation in operations.OPERATIONS:
            if operation.version and not services.customers:
                continue
            handler = Handler(doors.BY_VERSION.get(operation.version), bool(operation.body), run[operation.name])
            handlers = paths.setdefault(operation.path, {})
            handlers[operation.method] = handler
            if operation.method == "GET":
                handlers["HEAD"] = handler
        self._paths = {path: handlers for path, handlers in paths.items() if "{" not in path}
        self._paths_with_name = [(_matcher(path), handlers) for path, handlers in paths.items() if "{" in path]

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
            reply = await self._handle(call)
        except Fault as fault:
            reply = self._refused(call, fault)
            work = self._clock.monotonic() - call.begun if call.begun else 0.0
        except Unavailable:
            reply = self._refused(call, answer.unavailable())
        except (ClientGone, asyncio.CancelledError):
            # The connection is gone, or is dropped at the end of a stop: there is nobody to answer.
            return None
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets an answer and the log the rest
            self.log_failure(error, call.scope["method"], call.request_id)
            reply = self._refused(call, internal_fault())
        self.note_response(reply.status)
        if self.overhear is not None and call.request_id is not None:
            self.overhear(call.request_id, reply)
        await _respond(call, reply, send, work)
        return None

    def _with_request_id(self, scope: Scope, send: Send) -> Send:
        """Names the request in an answer that a mounted application did not name it in."""

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
        """Returns a new `X-Request-Id`, for a request whose client gave none."""
        return b"%b-%x" % (self._request_prefix, next(self._requests))

    @property
    def max_body(self) -> int:
        """Octets of the largest request body."""
        return self.services.max_body

    def failed(self, error: Exception, method: str, request_id: bytes | None) -> Reply:
        """Logs an error of ours in what is not the API itself, and returns the answer to it."""
        self.log_failure(error, method, request_id)
        return self._refused_early(internal_fault())

    def log_failure(self, error: Exception, method: str, request_id: bytes | None) -> None:
        """Logs an error of ours. The journal has its place, never the values: they may be a text."""
        self.services.journal.say(
            "error",
            "http.request_failed",
            request_id="" if request_id is None else request_id.decode(),
            method=method,
            problem=type(error).__name__,
            where=" < ".join(f"{at.name}:{at.lineno}" for at in reversed(traceback.extract_tb(error.__traceback__))),
        )

    def malformed(self, problem: str) -> Reply:
        return self._refused_early(Fault(MALFORMED, problem))

    def overloaded(self, problem: str) -> Reply:
        return self._refused_early(Fault(UNAVAILABLE, problem))

    def note_refusal(self, who: Principal | None, fault: Fault, asked: Asked) -> None:
        """Notes that a request is answered with the fault; `who` is None where its account is not known."""
        account = None if who is None else who.view.account
        self.services.refusals.note(account, fault, asked, self._clock.now())

    def _refused(self, call: Call, fault: Fault) -> Reply:
        request_id = b"" if call.request_id is None else call.request_id
        asked = Asked(call.scope["method"], call.scope["path"], call.address, request_id.decode())
        self.note_refusal(getattr(call, "who", None), fault, asked)
        return answer.of_fault(fault)

    def _refused_early(self, fault: Fault) -> Reply:
        """Refuses what is no request of the API, or none at all yet."""
        self.note_refusal(None, fault, Asked("", "", "", ""))
        return answer.of_fault(fault)

    def too_many(self, problem: str, seconds: int) -> Reply:
        return answer.of_fault(Fault(TOO_EARLY, problem, None, seconds))

    def note_turned_away(self, why: str, client: str) -> None:
        """Counts, and now and then reports, a connection that was refused or closed to make room."""
        self.turned_away.note(why, client, self._clock.monotonic())

    def note_no_room(self, problem: OSError) -> None:
        """Reports that the system lets no more connections be accepted."""
        self.services.journal.say("error", "http.no_room", problem=problem.strerror or str(problem))

    def note_response(self, status: int) -> None:
        """Counts an answer."""
        self.responses[status] = self.responses.get(status, 0) + 1

    async def _handle(self, call: Call) -> Reply:
        if call.scope["path"] == "/" and self.home is not None and call.scope["method"] in ("GET", "HEAD"):
            return Reply(303, b"{}", ((b"location", self.home.encode()),))
        handlers = self._find(call)
        handler = handlers.get(call.scope["method"])
        if handler is None:
            self._refused(call, answer.not_allowed(handlers))
            return answer.of_not_allowed(handlers)
        if handler.door is not None:
            call.who = who = await self._authenticate(handler.door, call)
            self._authenticator.admission.admit(who.view, call.address, self._clock.monotonic())
        return await handler.run(call, await self._body(call) if handler.reads else b"")

    async def _readmit(self, call: Call) -> None:
        """Checks once more, after a while, whether the request may be answered. Raises Fault."""
        call.who = who = await self._authenticate(call.who.door, call)
        readmit(who.view, call.address)

    async def _authenticate(self, door: Door, call: Call) -> Principal:
        """Raises Fault (401, 429)."""
        now = self._clock.monotonic()
        proven = self._authenticator.proven(door, call.authorization, now)
        if proven is not None:
            return proven.principal
        credentials = doors.basic_credentials(call.authorization)
        return await self._authenticator.check(door, credentials, call.address, now)

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

    async def _body(self, call: Call) -> bytes:
        """The whole body. Raises Fault (413, 415) and ClientGone."""
        most = self.services.max_body
        declared = call.content_length
        if declared is not None and declared.isdigit() and int(declared[:20]) > most:
            raise _too_large(most)
        call.waits_to_send = False
        message = await call.receive()
        body: bytes = message.get("body", b"")
        if message["type"] == "http.disconnect":
            raise ClientGone
        if message.get("more_body", False):
            body = await self._gather(call, body, most)
        if len(body) > most:
            raise _too_large(most)
        if call.content_encoding is not None and call.content_encoding.lower() not in (b"", b"identity"):
            raise Fault(MEDIA_TYPE, "A compressed body is not supported; send it as it is.")
        return body

    async def _gather(self, call: Call, first: bytes, most: int) -> bytes:
        """The rest of a body that comes in pieces, up to the first one beyond `most` octets. Raises Fault (429) where
        the account has too many of them, and ClientGone."""
        bodies, account = self._bodies, call.who.view.account.id
        gathered = bytearray()
        piece, more = first, True
        try:
            while True:
                bodies.add(account, len(piece))
                gathered += piece
                if not more or len(gathered) > most:
                    return bytes(gathered)
                message = await call.receive()
                if message["type"] == "http.disconnect":
                    raise ClientGone
                piece, more = message.get("body", b""), message.get("more_body", False)
        finally:
            bodies.release(account, len(gathered))

    # --- operations

    async def _send(self, call: Call, body: bytes) -> Reply:
        fields = self._fields(call, body)
        stored: asyncio.Future[Accept] = asyncio.get_running_loop().create_future()
        try:
            self._sending.send(call.who, fields, partial(_settle, stored))
        except Fault as fault:
            if not self._sending.may_be_replayed(fields, fault):
                raise
            call.begun = 0.0
            first = await self._sending.replay(call.who, fields, fault)
            self.services.refusals.replayed += 1
            return answer.of_accept(first)
        call.begun = 0.0
        return answer.of_accept(await stored)

    def _fields(self, call: Call, body: bytes) -> Fields:
        call.begun = self._clock.monotonic()
        return send_fields(decode.media_type(call.content_type, body), body, call.who, self.services.bounds)

    async def _quote(self, call: Call, body: bytes) -> Reply:
        fields = self._fields(call, body)
        accept = await self._sending.quote(call.who, fields)
        longest = max(accept.messages, key=lambda message: message.segments)
        return answer.of_quote(accept, longest, self._sending.split(longest), fields.content)

    async def _list(self, call: Call, _: bytes) -> Reply:
        query = decode.query(call.scope["query_string"])
        with_delivery = wants_delivery(query)
        messages = await self.services.browse.list(call.who.view, query, self._clock.now())
        deliveries = await self.services.browse.deliveries(messages) if with_delivery else None
        return answer.of_page(messages, call.who.view.zone, deliveries)

    async def _get(self, call: Call, _: bytes) -> Reply:
        query = decode.query(call.scope["query_string"])
        key, tail = _message_id(call)
        with_delivery = wants_delivery(query)
        found = await self.services.browse.get(call.who.view, key, tail, query)
        messages = found if isinstance(found, list) else [found]
        deliveries = await self.services.browse.deliveries(messages) if with_delivery else None
        if isinstance(found, list):
            return answer.of_page(found, call.who.view.zone, deliveries)
        return answer.of_message(found, call.who.view.zone, deliveries)

    async def _history(self, call: Call, _: bytes) -> Reply:
        record = await self.services.browse.trace(call.who.view, *_message_id(call))
        return answer.of_history(record, call.who.view.zone)

    async def _reschedule(self, call: Call, body: bytes) -> Reply:
        media = decode.media_type(call.content_type, body)
        view, now = call.who.view, self._clock.now()
        rescheduling = self.services.rescheduling
        call.begun = self._clock.monotonic()
        given = decode.time_field(media, body)
        time = rescheduling.new_time(view, None if given is None else time_text(given), now)
        call.begun = 0.0
        return answer.of_rescheduled(await rescheduling.reschedule(view, *_message_id(call), time, now))

    async def _cancel(self, call: Call, _: bytes) -> Reply:
        await self.services.rescheduling.cancel(call.who.view, *_message_id(call), self._clock.now())
        return answer.of(Done("00"))

    async def _balance(self, call: Call, _: bytes) -> Reply:
        return answer.of_balance(await self.services.browse.balance(call.who.view))

    async def _live(self, _: Call, __: bytes) -> Reply:
        return answer.of(Health("00", "live"))

    async def _ready(self, _: Call, __: bytes) -> Reply:
        if self._clock.monotonic() >= self._ready_until:
            await self.services.probe()
            self._ready_until = self._clock.monotonic() + READY_KEPT_S
        return answer.of(Health("00", "ready"))


async def _respond(call: Call, reply: Reply, send: Send, work: float) -> None:
    assert call.request_id is not None, "it is given, or made before anything else"
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(reply.body)),
        (b"x-request-id", call.request_id),
    ]
    if reply.headers:
        headers.extend(reply.headers)
    if call.waits_to_send:
        # It was refused by its headers, so that nobody can tell whether its body still comes (RFC 9110, 10.1.1).
        headers.append((b"connection", b"close"))
    await respond(call.scope, send, reply.status, headers, reply.body, work)


def internal_fault() -> Fault:
    return Fault(INTERNAL, "The gateway failed on this request; give its X-Request-Id to the operator.")


def _too_large(most: int) -> Fault:
    return Fault(TOO_LARGE, f"The body is too large; it may have {most} octets.")


def _message_id(call: Call) -> tuple[int, int]:
    found = ids.parse(call.target)
    if found is None:
        raise no_such_message()
    return found


def _matcher(path: str) -> Callable[[str], re.Match[str] | None]:
    """Returns what matches paths of this form, whose group is the id or the number."""
    return re.compile(re.sub(r"\\{\w+\\}", "([^/]+?)", re.escape(path)) + "/?").fullmatch


def _settle(stored: "asyncio.Future[Accept]", accept: Accept) -> None:
    if not stored.done():  # the client may have gone
        stored.set_result(accept)
