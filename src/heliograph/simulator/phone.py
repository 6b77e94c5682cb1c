"""Messages from phones (mobile originated): their encoding, their parts, and when they are sent."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import count
from random import Random
from typing import Final

from heliograph.simulator.behaviour import LONGEST_CHARACTERS, NUMBER, Alphabet, Behaviour
from heliograph.simulator.counters import DeliveryCounters
from heliograph.simulator.deliveries import Deliveries, DeliverRequest
from heliograph.simulator.link import SimulatorLink
from heliograph.simulator.text import gsm_octets
from heliograph.smpp import codec
from heliograph.smpp import constants as c
from heliograph.smpp.constants import DataCoding
from heliograph.smpp.pdu import DeliverSm

PHONES: Final = 1_000
"""Number of phones that write at inbound_rate. Their numbers begin at 447700900000, a range reserved for fiction."""

NUMBER_MARK: Final = "{n}"
"""In a text at inbound_rate, this is replaced by the number of the message: 1 for the first since the start."""

PARTS_WAITING: Final = 1_000
"""Most waiting parts of messages from phones. Beyond that, messages of inbound_rate are dropped, so that receipts have
room."""

BEHIND_S: Final = 1.0
"""Seconds. A rate that cannot be kept catches up on at most this time."""

_ONE, _PART = 140, 134
"""Octets of a short message, and of a part beside its header of six octets (3GPP TS 23.040, 9.2.3.24.1)."""

_ONE_SEPTETS, _PART_SEPTETS = 160, 153
_HEADER: Final = bytes((5, 0, 3))

_PHONE: Final = re.compile(r"\+?([0-9]{3,15})")


class PhoneProblem(ValueError):
    """A message from a phone cannot be sent. The text is the reason."""


@dataclass(slots=True, eq=False, kw_only=True)
class PhonePart(DeliverRequest):
    """A deliver_sm of a message from a phone."""

    sender: str
    number: str
    text: str
    """The whole text of the message."""
    part: int
    total: int

    def describe(self) -> tuple[str, dict[str, object]]:
        return "from_phone", {
            "source_addr": self.sender,
            "destination_addr": self.number,
            "text": self.text,
            "part": self.part,
            "parts": self.total,
        }


def parts_of(text: str, alphabet: Alphabet) -> tuple[DataCoding, list[bytes]]:
    """Encodes a text in the alphabet of data_coding 0, or in UCS-2 if that lacks a letter, and cuts it into parts.

    Parts end between letters.
    """
    coding, one, part = DataCoding.DEFAULT, _ONE, _PART
    try:
        letters = [gsm_octets(letter) if alphabet is Alphabet.GSM else letter.encode(alphabet.value) for letter in text]
        if alphabet is not Alphabet.LATIN_1:
            one, part = _ONE_SEPTETS, _PART_SEPTETS
    except UnicodeEncodeError:
        coding = DataCoding.UCS2
        letters = [letter.encode("utf-16-be") for letter in text]
    if sum(map(len, letters)) <= one:
        return coding, [b"".join(letters)]
    parts = [b""]
    for letter in letters:
        if len(parts[-1]) + len(letter) > part:
            parts.append(b"")
        parts[-1] += letter
    return coding, parts


def bodies(sender: str, number: str, text: str, alphabet: Alphabet, reference: int) -> list[bytes]:
    """Encodes the bodies of the deliver_sm, each with one part; `reference` joins them."""
    coding, parts = parts_of(text, alphabet)
    return [
        codec.encode_body(
            DeliverSm(
                source_addr_ton=1,
                source_addr_npi=1,
                source_addr=sender,
                dest_addr_ton=0,
                dest_addr_npi=1,
                destination_addr=number,
                esm_class=c.ESM_UDHI if len(parts) > 1 else 0,
                data_coding=coding,
                short_message=(_HEADER + bytes((reference, len(parts), part)) if len(parts) > 1 else b"") + octets,
            )
        )
        for part, octets in enumerate(parts, 1)
    ]


class Phones:
    """Sends messages from phones: on demand, and at the rate of the behaviour."""

    def __init__(
        self,
        deliveries: Deliveries,
        counters: DeliveryCounters,
        now: Callable[[], float],
        later: Callable[[float, partial[None]], None],
    ) -> None:
        """`now` is in seconds by the clock of `later(seconds, task)`."""
        self._deliveries = deliveries
        self._counters = counters
        self._now = now
        self._later = later
        self._references = count()
        self._by_rate_so_far = count(1)
        self._behaviour = Behaviour()
        self._random = Random()
        self._turn = 0
        self._due = 0.0

    def behave(self, behaviour: Behaviour) -> None:
        """Uses this behaviour from now on."""
        self._behaviour = behaviour
        self._random = Random(behaviour.seed)
        self._turn += 1
        self._due = self._now()
        if behaviour.inbound_rate:
            self._next(self._turn)

    def send(self, sender: str, number: str, text: str) -> int:
        """Sends a message over a bind that receives. Returns the number of its parts.

        Raises PhoneProblem and sends nothing if the phone, the number or the text is invalid, or if no receiver is
        bound.
        """
        phone, to = _PHONE.fullmatch(sender.strip()), NUMBER.fullmatch(number.strip().removeprefix("+"))
        if phone is None:
            raise PhoneProblem(f"the phone's number has 3 to 15 digits, not {sender!r}")
        if to is None:
            raise PhoneProblem(f"the number it writes to has 3 to 15 digits, or 3 to 11 letters and digits: {number!r}")
        if not 0 < len(text) <= LONGEST_CHARACTERS:
            raise PhoneProblem(f"the text has 1 to {LONGEST_CHARACTERS} characters, not {len(text)}")
        if not (receivers := self._deliveries.receivers()):
            raise PhoneProblem("no receiver or transceiver is bound that could get it")
        return self._deliver(receivers[0], None, phone[1], to[0], text)

    def reply(self, home: SimulatorLink, phone: str, sender: str, text: str) -> None:
        """Answers a message. The answer goes to the message's sender if that is a number, otherwise to the first number
        of inbound_to.
        """
        number = sender if sender.isdecimal() else next(iter(self._behaviour.inbound_numbers), "")
        if number:
            self._deliver(home.system_id, home, phone, number, text)

    def _next(self, turn: int) -> None:
        """Sends the messages that are due by the rate, until the behaviour changes."""
        if turn != self._turn:
            return
        behaviour, now = self._behaviour, self._now()
        self._due = max(self._due, now - BEHIND_S)
        while self._due <= now:
            self._due += 1 / behaviour.inbound_rate
            if receivers := self._deliveries.receivers():
                phone = f"447700900{self._random.randrange(PHONES):03}"
                number = self._random.choice(behaviour.inbound_numbers)
                self._by_rate(self._random.choice(receivers), phone, number)
        self._later(self._due - now, partial(self._next, turn))

    def _by_rate(self, system_id: str, phone: str, number: str) -> None:
        if self._counters.waiting < PARTS_WAITING:
            text = self._behaviour.inbound_text.replace(NUMBER_MARK, str(next(self._by_rate_so_far)))
            self._deliver(system_id, None, phone, number, text)
        else:
            self._counters.planned += 1
            self._counters.dropped += 1

    def _deliver(self, system_id: str, home: SimulatorLink | None, phone: str, number: str, text: str) -> int:
        reference = next(self._references) % 256
        encoded = bodies(phone, number, text, self._behaviour.alphabet, reference)
        self._counters.planned += len(encoded)
        for part, body in enumerate(encoded, 1):
            self._deliveries.deliver(
                PhonePart(
                    system_id=system_id,
                    body=body,
                    counts=self._counters,
                    home=home,
                    sender=phone,
                    number=number,
                    text=text,
                    part=part,
                    total=len(encoded),
                )
            )
        return len(encoded)
