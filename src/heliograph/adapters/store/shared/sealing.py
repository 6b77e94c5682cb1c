"""Columns as an encrypted store has them: sealed on their way in, opened on their way out.

A number that is searched by has a *token* before its envelope, the same for the same number: SQL compares its first
TOKEN characters, which are all of a plain number. Behind the token of a message's destination, or of a suppressed
number, comes the digest by which suppressions are known, in text.
"""

import hashlib
from binascii import a2b_base64, b2a_base64
from struct import Struct
from typing import Final

from heliograph.app.facts import InboundMessage, InboundPart, Message
from heliograph.app.ports.encryption import HEAD_OCTETS, MAGIC, NONCE_OCTETS, CannotOpen, DataKey, KeyVault
from heliograph.domain.message.suppression import DIGEST_OCTETS, suppression_digest

SIGN: Final = "#"
"""The first character of a token; no number begins with it."""

TOKEN: Final = 23
"""Characters of a token; no plain number has more."""

TOKEN_OCTETS: Final = 16

PHONE: Final = TOKEN + 22
"""Characters of a token with the digest of a suppression."""

SECRET_OCTETS: Final = 32
"""Octets of each of a data key's secrets: its own, that of tokens, and that of the suppressions' digests."""

_key: Final = Struct(">q").pack

_MESSAGE_NUMBERS: Final = b"message.destination "
_MESSAGE_CONTENT: Final = b"message.content "
_INBOUND_SENDER: Final = b"inbound.sender "
_INBOUND_RECIPIENT: Final = b"inbound.recipient "
_INBOUND_CONTENT: Final = b"inbound.content "
_INBOUND_OCTETS: Final = b"inbound.octets "
_BODY: Final = b"callback_retry.body "


class UnknownKey(Exception):
    """A row is sealed with a data key that this process has not read yet."""


def text_of(sealed: bytes) -> str:
    return b2a_base64(sealed, newline=False).decode()


class Sealer:
    """Seals and opens with the data keys of one store. Until one is current, rows are written as they are."""

    def __init__(self, vault: KeyVault) -> None:
        self.vault = vault
        self.current: DataKey | None = None
        """The key that is sealed with; None where rows are written plain."""
        self._known: dict[int, DataKey] = {}
        self._tokens = b""
        self._token = hashlib.blake2b(digest_size=TOKEN_OCTETS)
        # HMAC-SHA-256 of the suppressions' key up to the text, inside and outside: half of the work of each digest
        self._inner = hashlib.sha256()
        self._outer = hashlib.sha256()

    def learn(self, number: int, secrets: bytes) -> None:
        """Makes a data key known."""
        if number not in self._known:
            own = secrets[:SECRET_OCTETS]
            self._tokens = secrets[SECRET_OCTETS : SECRET_OCTETS * 2]
            self._token = hashlib.blake2b(key=self._tokens, digest_size=TOKEN_OCTETS)
            padded = secrets[SECRET_OCTETS * 2 :].ljust(64, b"\0")
            self._inner = hashlib.sha256(bytes(octet ^ 0x36 for octet in padded))
            self._outer = hashlib.sha256(bytes(octet ^ 0x5C for octet in padded))
            self._known[number] = self.vault.data_key(number, own)

    def use(self, number: int | None) -> None:
        """Seals with the key of this number from now on; None: with none."""
        self.current = None if number is None else self._known[number]

    def knows(self, number: int) -> bool:
        return number in self._known

    # --- values

    def seal(self, plain: bytes, place: bytes) -> bytes:
        return plain if self.current is None else self.current.seal(plain, place)

    def open(self, value: bytes, place: bytes) -> bytes:
        """Returns what was sealed, or the value where it is plain. Raises CannotOpen, UnknownKey."""
        if value[: len(MAGIC)] != MAGIC:
            return value
        number = int.from_bytes(value[len(MAGIC) : HEAD_OCTETS], "big")
        key = self._known.get(number)
        if key is None:
            raise UnknownKey(number)
        return key.open(value, place)

    def seal_text(self, plain: str, place: bytes) -> str:
        """Returns an envelope in text, behind the sign. Plain text must not begin with it."""
        return plain if self.current is None else SIGN + text_of(self.current.seal(plain.encode(), place))

    def open_text(self, value: str, place: bytes) -> str:
        return self._opened(value[1:], place) if value[:1] == SIGN else value

    def _opened(self, text: str, place: bytes) -> str:
        try:
            sealed = a2b_base64(text)
        except ValueError:
            raise CannotOpen("no envelope") from None
        if sealed[: len(MAGIC)] != MAGIC:
            raise CannotOpen("no envelope")
        return self.open(sealed, place).decode()

    # --- numbers

    def token(self, number: str) -> str:
        """Returns what stands for a number where it is searched by; a token stands for itself."""
        if self.current is None or not number or is_token(number):
            return number
        digest = self._token.copy()
        digest.update(number.encode())
        return SIGN + text_of(digest.digest())[:22]

    def phone(self, account: int, number: str) -> str:
        """Returns what stands for a number where it is searched by and may be suppressed for an account."""
        if self.current is None or not number:
            return number
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(f"{account}:{number}".encode())
        outer.update(inner.digest())
        return self.token(number) + text_of(outer.digest()[:DIGEST_OCTETS])[:22]

    def number(self, number: str, place: bytes) -> str:
        """Returns the token of a number and its envelope."""
        current = self.current
        return (
            number
            if current is None or not number
            else self.token(number) + text_of(current.seal(number.encode(), place))
        )

    def open_number(self, value: str, place: bytes) -> str:
        return self._opened(value[TOKEN:], place) if is_token(value[:TOKEN]) else value

    def suppressed(self, account: int, number: str) -> str:
        """Returns a suppressed number as its row has it."""
        if self.current is None or not number:
            return number
        phone = self.phone(account, number)
        return phone + text_of(self.current.seal(number.encode(), suppressed_place(phone)))

    def open_suppressed(self, value: str) -> str:
        return self._opened(value[PHONE:], suppressed_place(value[:PHONE])) if is_token(value[:TOKEN]) else value

    # --- rows

    def message(self, message: Message) -> tuple[str, str, bytes]:
        """Returns destination, sender and content (UTF-8) as a message's row has them. The sender of a sealed row is in
        the envelope of its destination."""
        return self.message_columns(
            message.key, message.account, message.destination, message.sender, message.content.encode()
        )

    def message_columns(
        self, key: int, account: int, destination: str, sender: str, content: bytes
    ) -> tuple[str, str, bytes]:
        current = self.current
        if current is None:
            return destination, sender, content
        place = _key(key)
        if destination:
            numbers = current.seal(f"{destination}\0{sender}".encode(), _MESSAGE_NUMBERS + place)
            destination, sender = self.phone(account, destination) + text_of(numbers), ""
        return destination, sender, current.seal(content, _MESSAGE_CONTENT + place) if content else content

    def open_message(
        self, key: int, destination: str, sender: str, content: str | bytes
    ) -> tuple[str, str, str | bytes]:
        """Returns destination, sender and content of a message's row."""
        if not isinstance(content, str):
            content = self.open(content, _MESSAGE_CONTENT + _key(key))
        destination, sender = self.open_numbers(key, destination, sender)
        return destination, sender, content

    def open_numbers(self, key: int, destination: str, sender: str) -> tuple[str, str]:
        if is_token(destination[:TOKEN]):
            numbers = self._opened(destination[PHONE:], _MESSAGE_NUMBERS + _key(key))
            destination, _, sender = numbers.partition("\0")
        return destination, sender

    def inbound(self, message: InboundMessage) -> tuple[str, str, bytes, bytes]:
        """Returns sender, recipient, content (UTF-8) and octets as an inbound message's row has them."""
        return self.inbound_columns(
            message.key, message.sender, message.recipient, message.content.encode(), message.octets
        )

    def inbound_columns(
        self, key: int, sender: str, recipient: str, content: bytes, octets: bytes
    ) -> tuple[str, str, bytes, bytes]:
        place = _key(key)
        return (
            self.number(sender, _INBOUND_SENDER + place),
            self.number(recipient, _INBOUND_RECIPIENT + place),
            self.seal(content, _INBOUND_CONTENT + place) if content else content,
            self.seal(octets, _INBOUND_OCTETS + place) if octets else octets,
        )

    def open_inbound(
        self, key: int, sender: str, recipient: str, content: str | bytes, octets: bytes
    ) -> tuple[str, str, str | bytes, bytes]:
        place = _key(key)
        if not isinstance(content, str):
            content = self.open(content, _INBOUND_CONTENT + place)
        return (
            self.open_number(sender, _INBOUND_SENDER + place),
            self.open_number(recipient, _INBOUND_RECIPIENT + place),
            content,
            self.open(bytes(octets), _INBOUND_OCTETS + place),
        )

    def open_inbound_sender(self, key: int, sender: str) -> str:
        return self.open_number(sender, _INBOUND_SENDER + _key(key))

    def part(self, part: InboundPart) -> tuple[str, str, bytes]:
        """Returns sender, recipient and octets as the row of a part has them: the numbers are in the envelope too."""
        of = part.parts_of
        sender, recipient = self.token(of.sender), self.token(of.recipient)
        if self.current is None:
            return sender, recipient, part.octets
        place = _part_place(sender, recipient, of.reference, of.total, part.number)
        plain = f"{of.sender}\0{of.recipient}\0".encode() + part.octets
        # the same octets under the same name are a repeat, which SQL has to see
        nonce = hashlib.blake2b(place + plain, digest_size=NONCE_OCTETS, key=self._tokens).digest()
        return sender, recipient, self.current.seal(plain, place, nonce)

    def open_part(
        self, sender: str, recipient: str, reference: int, total: int, number: int, octets: bytes
    ) -> tuple[str, str, bytes]:
        if octets[: len(MAGIC)] != MAGIC:
            return sender, recipient, octets
        plain = self.open(octets, _part_place(sender, recipient, reference, total, number))
        first, second, octets = plain.split(b"\0", 2)
        return first.decode(), second.decode(), octets

    def body(self, key: int, body: bytes) -> bytes:
        return self.seal(body, _BODY + _key(key)) if body else body

    def open_body(self, key: int, body: bytes) -> bytes:
        return self.open(bytes(body), _BODY + _key(key))


def is_token(text: str) -> bool:
    return len(text) == TOKEN and text[0] == SIGN


def digest_of(key: bytes, account: int, number: str) -> bytes:
    """Returns the digest by which the suppression of a number is known, or of what `Sealer.phone` made of it."""
    if len(number) >= PHONE and number[0] == SIGN:
        return a2b_base64(number[TOKEN:PHONE] + "==")
    return suppression_digest(key, account, number)


def _part_place(sender: str, recipient: str, reference: int, total: int, number: int) -> bytes:
    return f"inbound_part.octets {sender} {recipient} {reference} {total} {number}".encode()


def suppressed_place(phone: str) -> bytes:
    return f"suppression.number {phone}".encode()


def early_place(connector: int, operator_id: str) -> bytes:
    return f"early.destination {connector} {operator_id}".encode()


def settings_place(name: str) -> bytes:
    return f"connector.settings {name}".encode()


def factor_place(user: str, number: str) -> bytes:
    return f"admin_factor.secret {user} {number}".encode()


def secret_place(name: str) -> bytes:
    return f"account.signing_secret {name}".encode()
