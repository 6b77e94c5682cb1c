"""Judges what phones ask for (STOP, START, HELP), and composes the gateway's replies.

Only the texts of accounts whose `opt_out` is on are judged, and only those of senders that are phones. A reply is a
message of the account, from the number that was written to, over the connector that the text came over. It waits in the
queue like any other, and suppressions do not hold for it.
"""

from collections import OrderedDict
from typing import Final

from heliograph.app.configuration import NumberOwner
from heliograph.app.facts import Accept, InboundMessage, Message
from heliograph.app.ports import Journal
from heliograph.app.sending.directory import Directory
from heliograph.domain.message.opt_out import OptOutWords, Wish
from heliograph.domain.message.state import Kind, State
from heliograph.domain.numbers import phone
from heliograph.domain.text import segment

HELP_PAUSE_MS: Final = 600_000
"""Time (ms) within which a phone's further HELP is not answered again: what answers by itself on the other side would
go on for ever, at the account's cost."""

HELPED_MOST: Final = 10_000
"""Phones whose last answered HELP is remembered."""


class OptOuts:
    """Judges texts by the words of all languages, and composes replies."""

    def __init__(self, words: OptOutWords, directory: Directory, journal: Journal, validity_ms: int) -> None:
        """`validity_ms`: for how long a reply may wait to be sent."""
        self._words = words
        self._directory = directory
        self._journal = journal
        self._validity_ms = validity_ms
        self._helped: OrderedDict[tuple[int, str], int] = OrderedDict()

    def judge(self, message: InboundMessage, owner: NumberOwner) -> None:
        """Sets `wish` and `reply` of a message that is about to be recorded."""
        if not owner.opt_out or not phone.is_destination(message.sender):
            return
        message.wish = wish = self._words.judge(message.content)
        text = {Wish.STOP: owner.stop_text, Wish.HELP: owner.help_text}.get(wish)
        if text and (wish is not Wish.HELP or self._may_help(message, owner)):
            message.reply = self._reply(message, owner, text)

    def _may_help(self, message: InboundMessage, owner: NumberOwner) -> bool:
        """Notes an answer to HELP, unless the phone had one of late from this process."""
        phone_of = (owner.account, message.sender)
        last = self._helped.get(phone_of)
        if last is not None and 0 <= message.at - last < HELP_PAUSE_MS:
            return False
        self._helped[phone_of] = message.at
        self._helped.move_to_end(phone_of)
        while len(self._helped) > HELPED_MOST:
            self._helped.popitem(last=False)
        return True

    def _reply(self, message: InboundMessage, owner: NumberOwner, text: str) -> Accept | None:
        phone_number, number = message.sender, message.recipient
        price = self._directory.price(owner.plan, phone_number)
        reason = phone.sender_problem(number, msisdn_allowed=True)
        if price is None:
            reason = "no price of the account's plan covers the phone"
        if reason is not None or price is None:
            self._journal.say("warning", "opt_out.not_replied", account=owner.account, reason=reason)
            return None
        segments = segment.count(text, Kind.TEXT, self._directory.repertoire(message.connector))[1]
        charge = price * segments
        reply = Message(
            owner.account, phone_number, number, Kind.TEXT, text, segments, charge, message.at,
            message.at + self._validity_ms, State.SENT, message.connector, queued=True,
        )  # fmt: skip
        return Accept(owner.account, [reply], charge, message.at, exempt=True)
