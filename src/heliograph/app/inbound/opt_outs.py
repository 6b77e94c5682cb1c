"""Judges STOP, START and HELP of phones, and composes the gateway's replies.

Only accounts with `opt_out` have their texts judged, and only texts from phones. For example, `Stop!` to 3388
suppresses the phone, and `stop_text` goes back to it from 3388. A reply is a message of the account, over the connector
that the text came over. It waits in the queue like any other message, and suppressions do not apply to it.
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
"""Milliseconds within which a phone's further HELP gets no answer. An automatic responder on the other side would go
on for ever, at the account's cost."""

HELPED_MOST: Final = 10_000
"""Phones with a remembered answer to HELP, the latest: about 1 MB."""


class OptOuts:
    """Judges texts by the words of all languages, and composes replies."""

    def __init__(self, words: OptOutWords, directory: Directory, journal: Journal, validity_ms: int) -> None:
        """`validity_ms`: milliseconds for which a reply may wait to be sent."""
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
        """Returns whether HELP gets an answer, and remembers it. A phone gets at most one answer in `HELP_PAUSE_MS`."""
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
            self._journal.log("warning", "opt_out.not_replied", account=owner.account, reason=reason)
            return None
        segments = segment.count(text, Kind.TEXT, self._directory.repertoire(message.connector))[1]
        charge = price * segments
        reply = Message(
            owner.account, phone_number, number, Kind.TEXT, text, segments, charge, message.at,
            message.at + self._validity_ms, State.SENT, message.connector, queued=True,
            network=self._directory.network(phone_number),
        )  # fmt: skip
        return Accept(owner.account, [reply], charge, message.at, exempt=True)
