"""Phones that write: operators deliver their messages, and repeat them until they get an answer."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from heliograph.app.facts import CallbackEnd, InboundMessage, PartSet
from heliograph.app.inbound.reception import Reception
from heliograph.app.ports import Incoming
from heliograph.domain.text.inbound import reply_reference
from tests.simulation.faults import Odds, Operator
from tests.support.memory_rows import Rows
from tests.support.virtual_time import later

OWNED_NUMBER = "3388"
NOBODYS_NUMBER = "4000"

PHONES = ("1700000000", "2700000001", "1700000002", "2700000003")
"""Phones that have routes."""

WISHES = ("STOP", "stop", "Start", "HELP", "yes")


@dataclass(eq=False)
class Text:
    """A text that a phone sent, in parts."""

    sender: str
    recipient: str
    connector: int
    reference: int
    parts: list[str]
    acknowledged: set[int] = field(default_factory=set)
    """Numbers of parts, from 1, that the operator has an answer to."""

    @property
    def whole(self) -> str:
        return "".join(self.parts)


class Phones:
    """All phones, behind all operators; they outlive the gateway."""

    def __init__(
        self,
        chance: random.Random,
        odds: Odds,
        operators: dict[int, Operator],
        rows: Callable[[], Rows],
        wrong: list[str],
    ) -> None:
        """`wrong` gets each promise to an operator that came too early."""
        self._chance = chance
        self._odds = odds
        self._operators = operators
        self._rows = rows
        self._wrong = wrong
        self.texts: list[Text] = []
        self.answered = False
        """Whether receivers answer with replies."""
        self.reachable = False
        """Whether the phones' numbers have routes."""
        self.wishes = False
        """Whether some texts are words such as STOP."""

    def write(self) -> None:
        """A phone writes: the parts come in any order, mostly close together."""
        chance = self._chance
        number = len(self.texts)
        wish = chance.choice(WISHES) if self.wishes and chance.random() < 0.5 else ""
        total = 1 if wish else chance.choice((1, 1, 1, 2, 3, 5))
        text = Text(
            PHONES[number % 4] if self.reachable else f"49170{number % 4}",
            NOBODYS_NUMBER if chance.random() < 0.1 else OWNED_NUMBER,
            chance.choice(sorted(self._operators)),
            number,
            # characters other than letters are ignored, and distinguish the STOP messages here
            [f"{wish}{'!' * number}"] if wish else [f"text {number} part {part} " for part in range(1, total + 1)],
        )
        self.texts.append(text)
        for part in chance.sample(range(1, total + 1), total):
            slow = chance.random() < 0.1
            later(chance.random() * (10.0 if slow else 0.1), self._send, text, part)

    def _send(self, text: Text, number: int) -> None:
        chance = self._chance
        carrier = self._operators[text.connector].link()
        if carrier is None:
            later(1.0, self._send, text, number)
            return
        link = carrier.links
        over = False

        def again() -> None:
            nonlocal over
            if not over:
                over = True
                later(chance.random() * 3, self._send, text, number)

        def stands() -> bool:
            return carrier.stands(link)

        def answer(kept: bool) -> bool:
            if not stands() or carrier.dead:
                return False
            if kept:
                self._check(text, number)
                later(chance.random() * 0.05, read)
            else:
                again()
            return True

        def read() -> None:
            nonlocal over
            if (stands() or chance.random() < 0.5) and not over:
                over = True
                text.acknowledged.add(number)

        def watch() -> None:
            if over:
                return
            if stands() and not carrier.dead:
                later(0.5, watch)
            else:
                later(0.1, again)

        watch()
        if chance.random() < self._odds.link_drops:
            later(chance.random() * 0.05, carrier.drop)
        total = len(text.parts)
        digest = 1 + text.reference * 8 + number
        carrier.enter(
            carrier.events.on_inbound,
            Incoming(
                text.sender,
                text.recipient,
                0,
                False,
                text.parts[number - 1].encode(),
                (text.reference, total, number) if total > 1 else None,
                digest,
                answer,
                stands,
                lambda: carrier.waits(link),
            ),
        )

    def _check(self, text: Text, number: int) -> None:
        rows = self._rows()
        if len(text.parts) > 1:
            of = PartSet(text.connector, text.sender, text.recipient, text.reference, len(text.parts))
            there = (of, number) in rows.inbound_parts
        else:
            there = any(message.content == text.whole for message in rows.inbound.values())
        if not there:
            self._wrong.append(f"part {number} of {text.whole!r} was acknowledged and is not there")


def check(rows: Rows, phones: Phones, arrived: dict[int, list[bytes]]) -> list[str]:
    """Every text of a phone is there once, complete, under a single id, and reached its owner, if any."""
    wrong = []
    found: dict[str, list[int]] = {}
    for key, message in rows.inbound.items():
        found.setdefault(message.content, []).append(key)
    for text in phones.texts:
        keys = found.pop(text.whole, [])
        if len(keys) != 1:
            wrong.append(f"{text.whole!r} has the ids {keys}")
        if len(text.acknowledged) < len(text.parts):
            wrong.append(f"{text.whole!r} has answers to {text.acknowledged} only")
        for key in keys:
            message = rows.inbound[key]
            owned = text.recipient == OWNED_NUMBER
            if bool(message.account) != owned or bool(message.way) != owned or not message.complete:
                wrong.append(f"{text.whole!r} was kept as {message}")
            done = rows.callbacks.get(key)
            if owned and done is None:
                wrong.append(f"the customer was never told of {text.whole!r}")
            if owned and done is not None and not arrived.get(key) and done.code < 300:
                wrong.append(f"the callback of {text.whole!r} is done and never arrived")
            if phones.answered and done is not None and done.end is CallbackEnd.DELIVERED:
                wrong += _reply(rows, message)
            if not owned and key in arrived:
                wrong.append(f"somebody was told of {text.whole!r}")
    wrong += [f"nobody sent {content!r}" for content in found]
    return wrong


def _reply(rows: Rows, inbound: InboundMessage) -> list[str]:
    """A message with a finished webhook has a single reply, to the phone, from its number."""
    reference = reply_reference(inbound.key, inbound.tail)
    text = f"re {inbound.key} "
    replies = [message for message in rows.messages.values() if message.content.startswith(text)]
    if not replies:
        return [f"{inbound.content!r} has no reply, {rows.refused_replies.get(inbound.key)}"]
    (reply, *more) = replies
    wrong = [f"{inbound.content!r} has the replies {replies}"] if more else []
    if (reply.destination, reply.sender, reply.reference) != (inbound.sender, inbound.recipient, reference):
        wrong.append(f"{inbound.content!r} was replied to by {reply}")
    return wrong


def leftovers(reception: Reception) -> list[str]:
    """Returns a sentence for each attribute in which the reception still keeps something after the end."""
    repeats = ("_held", "waiting", "_unsure", "_looked_up", "_settling", "_answered")
    kept = {name: getattr(reception.repeats, name) for name in repeats}
    kept |= {name: getattr(reception, name) for name in ("_next", "_committing", "_sets", "_fresh_sets")}
    return [f"the reception's {name} holds {held}" for name, held in kept.items() if held]
