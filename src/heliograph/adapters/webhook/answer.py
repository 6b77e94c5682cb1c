"""The text of an answer, where it is wanted: Kannel's contract, by which a body of `text/plain` is a reply."""

import re
from typing import Final, Protocol

_TEXT = re.compile(rb"\s*text/plain\s*(?:;(.*))?", re.IGNORECASE | re.DOTALL).fullmatch
_CHARSET = re.compile(rb"""charset\s*=\s*["']?([A-Za-z0-9._:+-]{1,40})""", re.IGNORECASE).search
_DEFAULT: Final = "utf-8"


class AnswerText:
    """Gathers what says how an answer is to be read, and its body up to a limit."""

    __slots__ = ("_body", "_encoded", "_most", "_type", "is_sized")

    def __init__(self, most: int) -> None:
        """`most` is how many octets a text may have."""
        self._most = most
        self.begin()

    def begin(self) -> None:
        """Forgets what came before: another answer begins."""
        self._body = bytearray()
        self._type = b""
        self._encoded = False
        self.is_sized = False
        """Whether the answer says where its body ends; else its connection does."""

    def header(self, name: bytes, value: bytes) -> None:
        """Takes a header."""
        name = name.lower()
        if name == b"content-type":
            self._type = value
        elif name == b"content-encoding":
            self._encoded = value.strip().lower() not in (b"", b"identity")
        elif name in (b"content-length", b"transfer-encoding"):
            self.is_sized = True

    @property
    def is_text(self) -> bool:
        """Whether the body is to be read."""
        return _TEXT(self._type) is not None

    def add(self, data: bytes) -> bool:
        """Takes a piece of the body. Returns False once it is too long."""
        if len(self._body) + len(data) > self._most:
            return False
        self._body += data
        return True

    @property
    def too_long(self) -> str:
        """The problem of an answer that is too long."""
        return f"its text has more than {self._most} octets"

    def read(self) -> tuple[str, str]:
        """Returns the text without the blanks around it; and why it cannot be read, else nothing."""
        if self._encoded:
            return "", "its text is compressed"
        match = _TEXT(self._type)
        charset = None if match is None else _CHARSET(match[1] or b"")
        name = _DEFAULT if charset is None else charset[1].decode("ascii")
        try:
            text = bytes(self._body).decode(name)
            text.encode()  # some charsets can say what is no text
        except (LookupError, ValueError):
            return "", f"its text is not {name}"
        return text.strip(), ""


class AnswerReceiver(Protocol):
    """Hears of the progress of an answer, as a parser reads it."""

    def on_message_begin(self) -> None: ...

    def on_headers_complete(self) -> None: ...

    def on_piece(self, data: bytes) -> None:
        """Takes a piece of the body."""

    def on_message_complete(self) -> None: ...


class AnswerReader:
    """The callbacks of a parser whose answer's text is wanted. Others have none for headers and bodies, as each header
    of each answer would be a call."""

    __slots__ = ("_receiver", "_text")

    def __init__(self, receiver: AnswerReceiver, text: AnswerText) -> None:
        self._receiver = receiver
        self._text = text

    def on_message_begin(self) -> None:
        self._text.begin()
        self._receiver.on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        self._text.header(name, value)

    def on_headers_complete(self) -> None:
        self._receiver.on_headers_complete()

    def on_body(self, data: bytes) -> None:
        self._receiver.on_piece(data)

    def on_message_complete(self) -> None:
        self._receiver.on_message_complete()
