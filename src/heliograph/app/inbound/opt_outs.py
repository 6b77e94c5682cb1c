"""Judges STOP, START and HELP of phones, and composes the gateway's replies.

Only accounts with `opt_out` have their texts judged, and only texts from phones. For example, `Stop!` to 3388
suppresses the phone, and `stop_text` goes back to it from 3388. A reply is a message of the account, over the connector
that the text came over. It waits in the queue like any other message, and suppressions do not apply to it.
"""

from heliograph.app.configuration import NumberOwner
from heliograph.app.facts import Accept, InboundMessage, Message
from heliograph.app.inbound.answer_limits import AnswerLimits
from heliograph.app.ports import Journal
from heliograph.app.sending.directory import Directory
from heliograph.domain.message.opt_out import OptOutWords, Wish
from heliograph.domain.message.state import Kind, State
from heliograph.domain.numbers import phone
from heliograph.domain.text import segment


class OptOuts:
    """Judges texts by the words of all languages, and composes replies."""

    def __init__(
        self, words: OptOutWords, directory: Directory, journal: Journal, validity_ms: int, limits: AnswerLimits
    ) -> None:
        """`validity_ms`: milliseconds for which a reply may wait to be sent."""
        self._words = words
        self._directory = directory
        self._journal = journal
        self._validity_ms = validity_ms
        self._limits = limits

    def judge(self, message: InboundMessage, owner: NumberOwner) -> None:
        """Sets `wish` and `reply` of a message that is about to be recorded."""
        if not owner.opt_out or not phone.is_destination(message.sender):
            return
        message.wish = wish = self._words.judge(message.content)
        text = {Wish.STOP: owner.stop_text, Wish.HELP: owner.help_text}.get(wish)
        if not text:
            return
        message.withheld = withheld = self._limits.of_answer(message, owner)
        if not withheld:
            message.reply = self._reply(message, owner, text)
        elif withheld.is_told:
            self._log(message, withheld.meaning)

    def _reply(self, message: InboundMessage, owner: NumberOwner, text: str) -> Accept | None:
        phone_number, number = message.sender, message.recipient
        network = self._directory.network(phone_number)
        price = self._directory.price(owner.plan, phone_number, network)
        reason = phone.sender_problem(number, msisdn_allowed=True)
        if price is None:
            reason = "no price of the account's plan covers the phone"
        if reason is not None or price is None:
            self._log(message, reason or "")
            return None
        segments = segment.count(text, Kind.TEXT, self._directory.repertoire(message.connector))[1]
        charge = price * segments
        reply = Message(
            owner.account, phone_number, number, Kind.TEXT, text, segments, charge, message.at,
            message.at + self._validity_ms, State.SENT, message.connector, queued=True,
            network=network,
        )  # fmt: skip
        return Accept(owner.account, [reply], charge, message.at, exempt=True)

    def _log(self, message: InboundMessage, reason: str) -> None:
        if self._limits.is_news(message.account, reason, message.at):
            self._journal.log("warning", "opt_out.not_replied", account=message.account, reason=reason)
