"""A keep-alive connection to an origin, with one request at a time. Answers are parsed only as far as needed.

An answer counts as soon as its head is complete. Its body is read to the end only to reuse the connection, and within
the limits. If the requester wants the body, the answer counts when the body is complete.
"""

import asyncio
from typing import Protocol, cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from heliograph.http_client.capacity import Slot
from heliograph.http_client.requester import AnswerBody, Job
from heliograph.http_client.settings import ClientLimits

SWITCHING_PROTOCOLS = 101


class ConnectionOwner(Protocol):
    """The owner of connections."""

    def opened(self, connection: "ClientConnection") -> None: ...

    def wants_body(self, job: Job, code: int, answer: AnswerBody) -> bool:
        """True if the body of the answer is to be read. Called when the head is complete."""

    def answered(self, job: Job, code: int, answer: AnswerBody | None) -> None:
        """Takes the answer to the job, with its body if that was wanted. The connection is not free yet."""

    def failed(self, job: Job, problem: str) -> None:
        """Notes that the job got no answer."""

    def again(self, job: Job, path: str, started: float) -> None:
        """Sends the job on a new connection: the origin had closed this one before it read the job."""

    def released(self, connection: "ClientConnection") -> None:
        """Takes back a connection after its answer has been read to the end."""

    def lost(self, connection: "ClientConnection") -> None:
        """Notes that the connection is gone; its job, if any, was answered or failed before."""


class AnswerReceiver(Protocol):
    """Gets the progress of an answer from the parser."""

    def on_message_begin(self) -> None: ...

    def on_headers_complete(self) -> None: ...

    def on_piece(self, data: bytes) -> None:
        """Takes a piece of the body."""

    def on_message_complete(self) -> None: ...


class AnswerReader:
    """Parser callbacks for an answer with a wanted body. Other answers have no callbacks for headers and bodies, to
    save a call for each header.
    """

    __slots__ = ("_answer", "_receiver")

    def __init__(self, receiver: AnswerReceiver, answer: AnswerBody) -> None:
        self._receiver = receiver
        self._answer = answer

    def on_message_begin(self) -> None:
        self._answer.begin()
        self._receiver.on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        self._answer.headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        self._receiver.on_headers_complete()

    def on_body(self, data: bytes) -> None:
        self._receiver.on_piece(data)

    def on_message_complete(self) -> None:
        self._receiver.on_message_complete()


class ClientConnection(asyncio.Protocol):
    """A connection. It is cut at `deadline` (of the loop's clock): no answer in time, or idle for too long."""

    __slots__ = (
        "_answer",
        "_code",
        "_complete",
        "_fresh",
        "_interim",
        "_job",
        "_keep",
        "_octets",
        "_owner",
        "_parser",
        "_path",
        "_problem",
        "_surplus",
        "_transport",
        "deadline",
        "limits",
        "slot",
        "started",
    )

    def __init__(self, owner: ConnectionOwner, limits: ClientLimits, started: float, slot: Slot) -> None:
        """`started`: when the opening of the connection began. `slot`: its slot in the shared capacity."""
        self._owner = owner
        self.limits = limits
        self.started = started
        self.slot = slot
        self._parser: HttpResponseParser | None = HttpResponseParser(self)
        self._job: Job | None = None
        self._path = ""
        self._octets = 0
        self._fresh = True
        self._interim = False
        self._complete = False
        self._surplus = False
        """Whether the origin sent more than an answer, so that the connection must not be used again."""
        self._keep = False
        self._problem = ""
        self._answer: AnswerBody | None = None
        """Headers and body of the answer, where the job wants them."""
        self._code = 0
        """Status of the answer with the body being read; otherwise 0."""
        self.deadline = 0.0

    @property
    def busy(self) -> bool:
        """Whether a job was sent and has no answer yet."""
        return self._job is not None

    def send(self, job: Job, path: str, octets: bytes, started: float) -> None:
        """Sends the request of the job; its timeout counts from `started`."""
        self._job = job
        self._path = path
        self.started = started
        self._octets = 0
        if job.wants_reply:
            answer = self._answer = AnswerBody(self.limits.reply_octets)
            self._parser = HttpResponseParser(AnswerReader(self, answer))
        elif self._answer is not None:
            self._answer = None
            self._parser = HttpResponseParser(self)
        self.deadline = started + self.limits.try_seconds
        self._transport.write(octets)

    def rest(self, deadline: float) -> None:
        """Leaves the connection idle until `deadline`. The origin may close it at any time."""
        self._fresh = False
        self.deadline = deadline

    def close(self, problem: str) -> None:
        """Closes the connection; its job, if it has one, fails with this problem."""
        self._problem = problem
        self._transport.abort()

    def expire(self) -> None:
        """Cuts the connection after its deadline."""
        self.close(f"no answer within {self.limits.try_seconds:g} s")

    def cut_off(self) -> None:
        """Ends a connection that was made while its dial was given up. The loop may report no end of it: uvloop reports
        none of a transport that the cancelled dial has closed."""
        self._transport.abort()
        self.connection_lost(None)

    # --- from the loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._owner.opened(self)

    def data_received(self, data: bytes) -> None:
        parser = self._parser
        if parser is None:
            return
        self._octets += len(data)
        try:
            if self._octets > self.limits.head_octets:
                self._feed_long(parser, data)
            else:
                parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade):
            self._problem = "its answer is not HTTP"
            self._keep = False
            self._complete = True
        if self._complete:
            self._complete = False
            if self._keep and not self._surplus:
                self._fresh = False
                self.deadline = self.started + self.limits.idle_seconds
                self._owner.released(self)
            else:
                self._transport.abort()
        elif self._surplus:
            self._transport.abort()
        elif self._job is None:
            # The status is known: the rest of the answer gets only a little more time.
            soon = asyncio.get_running_loop().time() + self.limits.rest_seconds
            self.deadline = min(self.deadline, soon)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._parser is None:
            return  # it was cut off
        self._parser = None
        job = self._job
        if job is not None:
            answer = self._answer
            if self._code and answer is not None and not answer.is_sized and not self._problem and exc is None:
                self._end_body(job, answer)
                self._owner.lost(self)
                return
            self._job = None
            if not self._fresh and not self._octets and not self._problem:
                self._owner.again(job, self._path, self.started)
            elif self._code:
                self._owner.failed(job, self._problem or "it closed the connection before the end of its answer")
            else:
                self._owner.failed(job, self._problem or "it closed the connection without an answer")
        self._owner.lost(self)

    # --- from the parser

    def on_message_begin(self) -> None:
        if self._job is None:
            # More answers than requests: they cannot be assigned.
            self._surplus = True

    def on_headers_complete(self) -> None:
        job = self._job
        parser = self._parser
        if job is None or parser is None:
            return
        code = parser.get_status_code()
        if 100 <= code < 200 and code != SWITCHING_PROTOCOLS:
            self._interim = True
            return
        answer = self._answer
        if answer is not None and 200 <= code < 1000 and self._owner.wants_body(job, code, answer):
            self._code = code
            return
        self._job = None
        if 200 <= code < 1000:
            self._owner.answered(job, code, None)
        else:
            self._surplus = True
            self._owner.failed(job, f"HTTP {code} is no answer to a POST")

    def on_message_complete(self) -> None:
        if self._interim:
            self._interim = False
            return
        job, answer = self._job, self._answer
        if self._code and job is not None and answer is not None:
            self._end_body(job, answer)
        parser = self._parser
        self._keep = parser is not None and parser.should_keep_alive()
        self._complete = True

    def on_piece(self, data: bytes) -> None:
        """Handles a piece of a wanted body."""
        answer, job = self._answer, self._job
        if self._code and answer is not None and job is not None and not answer.add(data):
            self._end_body(job, answer)

    # --- inside

    def _end_body(self, job: Job, answer: AnswerBody) -> None:
        """Gives the answer to the owner: its body has come, or is too long."""
        code, self._code, self._job = self._code, 0, None
        self._owner.answered(job, code, answer)

    def _feed_long(self, parser: HttpResponseParser, data: bytes) -> None:
        """Feeds octets beyond the limit of a head: as a body they are good up to its own limit."""
        if self.busy and not self._code:
            head = data[: len(data) - (self._octets - self.limits.head_octets)]
            parser.feed_data(head)
            if self._job is not None and not self._code:
                self._problem = "the head of its answer is too long"
                self._surplus = True
                return
            data = data[len(head) :]
        if self._octets > self.limits.head_octets + self.limits.body_octets:
            self._surplus = True
        elif not self._surplus:
            parser.feed_data(data)
