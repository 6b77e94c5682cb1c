"""One keep-alive connection to a receiver: one request at a time, its answer parsed as far as is needed.

An answer's verdict is its status. It stands as soon as the head is complete; the body is read to its end only to
use the connection again, and no further than the limits allow. Where the job wants the text of its answer, a 2xx with
text stands when that has come.
"""

import asyncio
from typing import Protocol, cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from heliograph.adapters.webhook.answer import AnswerReader, AnswerText
from heliograph.adapters.webhook.capacity import Place
from heliograph.adapters.webhook.settings import WebhookLimits
from heliograph.app.webhook_job import WebhookJob

SWITCHING_PROTOCOLS = 101


class WebhookConnectionOwner(Protocol):
    """The owner of connections."""

    def opened(self, connection: "WebhookConnection") -> None: ...

    def answered(self, job: WebhookJob, code: int, reply: str = "", problem: str = "") -> None:
        """Takes the answer to the job; the connection is not free yet. `problem` says why a reply cannot be read."""

    def failed(self, job: WebhookJob, problem: str) -> None:
        """Notes that the job got no answer."""

    def again(self, job: WebhookJob, path: str, started: float) -> None:
        """Sends the job on a fresh connection: the receiver had closed this one before it read the job."""

    def released(self, connection: "WebhookConnection") -> None:
        """Takes back a connection whose answer has been read to its end."""

    def lost(self, connection: "WebhookConnection") -> None:
        """Notes that the connection is gone; its job, if any, was answered or failed before."""


class WebhookConnection(asyncio.Protocol):
    """One connection. It is cut at `deadline` (of the loop's clock): no answer in time, or idle for too long."""

    __slots__ = (
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
        "_text",
        "_transport",
        "deadline",
        "limits",
        "place",
        "started",
    )

    def __init__(self, owner: WebhookConnectionOwner, limits: WebhookLimits, started: float, place: Place) -> None:
        """`started` is when the opening of the connection began, `place` its own in the shared capacity."""
        self._owner = owner
        self.limits = limits
        self.started = started
        self.place = place
        self._parser: HttpResponseParser | None = HttpResponseParser(self)
        self._job: WebhookJob | None = None
        self._path = ""
        self._octets = 0
        self._fresh = True
        self._interim = False
        self._complete = False
        self._surplus = False
        """Whether the receiver sent more than an answer, so that the connection must not be used again."""
        self._keep = False
        self._problem = ""
        self._text: AnswerText | None = None
        """Text of the answer, where the job wants it."""
        self._code = 0
        """Status of the answer whose text is being read; else 0."""
        self.deadline = 0.0

    @property
    def busy(self) -> bool:
        """Whether a job was sent and has no answer yet."""
        return self._job is not None

    def send(self, job: WebhookJob, path: str, octets: bytes, started: float) -> None:
        """Sends the request of the job, whose time runs from `started`."""
        self._job = job
        self._path = path
        self.started = started
        self._octets = 0
        if job.wants_reply:
            text = self._text = AnswerText(self.limits.reply_octets)
            self._parser = HttpResponseParser(AnswerReader(self, text))
        elif self._text is not None:
            self._text = None
            self._parser = HttpResponseParser(self)
        self.deadline = started + self.limits.try_seconds
        self._transport.write(octets)

    def rest(self, deadline: float) -> None:
        """Leaves the connection idle until `deadline`. The receiver may close it whenever it likes."""
        self._fresh = False
        self.deadline = deadline

    def close(self, problem: str) -> None:
        """Gives up the connection; its job, if it has one, fails with this problem."""
        self._problem = problem
        self._transport.abort()

    def expire(self) -> None:
        """Cuts the connection, whose deadline has passed."""
        self.close(f"no answer within {self.limits.try_seconds:g} s")

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
            self._hurry()

    def connection_lost(self, exc: Exception | None) -> None:
        self._parser = None
        job = self._job
        if job is not None:
            text = self._text
            if self._code and text is not None and not text.is_sized and not self._problem and exc is None:
                self._tell_text()
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
            # More than was asked for: whose answer would that be?
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
        text = self._text
        if text is not None and 200 <= code < 300 and text.is_text:
            self._code = code
            return
        self._job = None
        if 200 <= code < 1000:
            self._owner.answered(job, code)
        else:
            self._surplus = True
            self._owner.failed(job, f"HTTP {code} is no answer to a POST")

    def on_message_complete(self) -> None:
        if self._interim:
            self._interim = False
            return
        if self._code:
            self._tell_text()
        parser = self._parser
        self._keep = parser is not None and parser.should_keep_alive()
        self._complete = True

    def on_piece(self, data: bytes) -> None:
        """Takes a piece of the body of an answer whose text is wanted."""
        text, job = self._text, self._job
        if self._code and text is not None and job is not None and not text.add(data):
            code, self._code, self._job = self._code, 0, None
            self._owner.answered(job, code, "", text.too_long)

    # --- inside

    def _tell_text(self) -> None:
        """Gives the answer whose text has come."""
        text, job = self._text, self._job
        assert text is not None
        assert job is not None
        code, self._code, self._job = self._code, 0, None
        reply, problem = text.read()
        self._owner.answered(job, code, reply, problem)

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

    def _hurry(self) -> None:
        """Shortens the deadline: the status is known, and the rest of the answer gets only a little more time."""
        soon = asyncio.get_running_loop().time() + self.limits.rest_seconds
        self.deadline = min(self.deadline, soon)
