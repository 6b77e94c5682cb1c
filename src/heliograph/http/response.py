"""Writes the application's answer: its head, and the framing of its body."""

import re
from collections.abc import Iterable

_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+").fullmatch
_VALUE = re.compile(rb"[^\x00-\x08\x0a-\x1f\x7f]*").fullmatch

UNKNOWN = -1
"""Length of a body if the application has not declared it."""


class Response:
    """An answer. Its head is written together with the first piece of its body."""

    __slots__ = ("_bodiless", "_chunked", "_head", "_left", "keep_alive")

    def __init__(
        self, start: bytes, status: int, headers: Iterable[tuple[bytes, bytes]], request: tuple[str, str], keep: bool
    ) -> None:
        """`start`: status line and the server's own headers.

        `request`: method and version of the request, for example `("GET", "1.1")`.

        `keep`: whether the connection may stay open.

        Raises ValueError if the headers are malformed.
        """
        method, version = request
        length = UNKNOWN
        lines = [start]
        for name, value in headers:
            lower = name.lower()
            if _NAME(name) is None or _VALUE(value) is None:
                raise ValueError("a header of the answer cannot be written")
            if lower == b"transfer-encoding":
                raise ValueError("how an answer is framed is the server's affair")
            if lower == b"connection":
                keep = keep and b"close" not in value.lower()
                continue
            if lower == b"content-length":
                if not value.isdigit():
                    raise ValueError("the length of the answer is no number")
                length = int(value)
                if status == 204:
                    continue
            lines.append(b"%b: %b\r\n" % (lower, value))
        self._bodiless = method == "HEAD" or status in (204, 304)
        self._chunked = length == UNKNOWN and not self._bodiless and version != "1.0"
        self._left = length
        if self._chunked:
            lines.append(b"transfer-encoding: chunked\r\n")
        elif length == UNKNOWN and not self._bodiless:
            keep = False  # the end of the connection ends it
        if not keep:
            lines.append(b"connection: close\r\n")
        lines.append(b"\r\n")
        self.keep_alive = keep
        self._head = b"".join(lines)

    @property
    def begun(self) -> bool:
        """Whether any octet of the response has been written."""
        return not self._head

    def octets(self, body: bytes, more: bool) -> bytes:
        """Returns the next octets to write; with `more`, another piece follows. Raises ValueError if the body is longer
        or shorter than declared.
        """
        head = self._head
        piece = b"" if self._bodiless else self._frame(body, more)
        self._head = b""
        return head + piece if head else piece

    def _frame(self, body: bytes, more: bool) -> bytes:
        if self._chunked:
            piece = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            return piece if more else piece + b"0\r\n\r\n"
        if self._left != UNKNOWN:
            if len(body) > self._left or (len(body) < self._left and not more):
                raise ValueError("the answer has another length than it says")
            self._left -= len(body)
        return body
