"""Jobs for the client, their answers, and the requester that takes results."""

from typing import Any, Protocol


class Job(Protocol):
    """A request to make."""

    url: str
    account: int
    """The account that the connection counts for."""
    wants_reply: bool
    """Whether the body of the answer may be wanted. `Requester.wants_body` then decides by the head."""


class AnswerBody:
    """Gathers the headers of an answer, and its body up to a limit."""

    __slots__ = ("_most", "body", "headers", "is_too_long")

    def __init__(self, most: int) -> None:
        """`most`: octets that the body may have."""
        self._most = most
        self.begin()

    def begin(self) -> None:
        """Drops the previous content, because another answer begins, as after `100 Continue`."""
        self.headers: dict[bytes, bytes] = {}
        """Headers by their names in lower case, such as `content-type`. Of repeated headers, the last."""
        self.body = bytearray()
        self.is_too_long = False
        """Whether the body was longer than allowed, and is cut."""

    @property
    def is_sized(self) -> bool:
        """True if the answer declares its length; otherwise the end of the connection ends it."""
        return b"content-length" in self.headers or b"transfer-encoding" in self.headers

    def add(self, data: bytes) -> bool:
        """Takes a piece of the body. Returns False once it is too long."""
        if len(self.body) + len(data) > self._most:
            self.is_too_long = True
            return False
        self.body += data
        return True


class Requester(Protocol):
    """Writes requests and handles their results: each job has one result, by `answered`, `failed` or `put_off`.

    Called on the event loop; must not block or raise.
    """

    def octets(self, job: Any, path: str, standing: str) -> bytes:
        """Returns head and body of the request, right before they are written. `path` is that of the job's URL with its
        query; `standing` is the result of `request.standing_lines` for the URL's origin."""

    def wants_body(self, job: Any, code: int, answer: AnswerBody) -> bool:
        """True if the body of the answer is to be read. Called when its head is complete, only for a job with
        `wants_reply`.
        """

    def answered(self, job: Any, code: int, answer: AnswerBody | None) -> None:
        """Takes the status of the answer; its headers and body are given only if its body was wanted."""

    def failed(self, job: Any, problem: str) -> None:
        """Notes that the job got no answer. `problem` may be shown to the owner of the origin."""

    def put_off(self, job: Any, problem: str, room: float) -> None:
        """Notes that the job was not tried. `room`: seconds until its origin has room for it, 0 if unknown."""
