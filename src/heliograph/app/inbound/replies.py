"""Replies in the answers of webhooks: sent to the phone from the number that it wrote to, once for each message.

A reply is a request to send like any other, under the reference `reply:<id>` of the message. The webhook counts as
delivered when the reply is durable or refused. If the gateway dies in between, the webhook is called again, and its
answer has the same reference. A temporary problem, such as an account over its rate, has the webhook called again, too.
"""

from collections.abc import Callable
from typing import Final, cast

from heliograph.app.configuration import Account
from heliograph.app.facts import Accept, InboundMessage, InboundReply, Verdict
from heliograph.app.inbound.answer_limits import AnswerLimits
from heliograph.app.notice import Notice
from heliograph.app.ports import Clock, Gathering, Journal
from heliograph.app.sending.directory import Directory
from heliograph.app.sending.fields import Fields
from heliograph.app.sending.principal import Door, Principal
from heliograph.app.sending.send import Sending
from heliograph.app.webhook_job import TryResult
from heliograph.domain.error import NO_CREDIT, Fault
from heliograph.domain.message.ids import to_uuid
from heliograph.domain.numbers.number_rules import normalise_number
from heliograph.domain.text.inbound import REPLY_PREFIX, reply_reference

REPLY: Final = Door("reply", schedules=False, needs_templates=False, own_prefix=REPLY_PREFIX)

_REFUSALS: Final = {
    Verdict.TOO_LITTLE_CREDIT: NO_CREDIT.title,
    Verdict.SUSPENDED: "The account is suspended",
    Verdict.SUPPRESSED: "The phone opted out",
    Verdict.DAILY_MESSAGES: "The messages of the day are used up",
    Verdict.DAILY_SPEND: "The spending limit of the day is reached",
    Verdict.WAITING: "Too many messages wait already",
}
"""Why the commit refuses a reply."""


class PhoneReplies:
    """Implements `app.notices.webhook.ReplyTaker`. Until `sending` is set nothing is sent, and webhooks are put off."""

    def __init__(
        self, gathering: Gathering, directory: Directory, journal: Journal, clock: Clock, limits: AnswerLimits
    ) -> None:
        self._gathering = gathering
        self._directory = directory
        self._journal = journal
        self._clock = clock
        self._limits = limits
        self.sending: Sending | None = None

    def take(self, notice: Notice, account: Account, result: TryResult, then: Callable[[TryResult], None]) -> None:
        """See `app.notices.webhook.ReplyTaker`."""
        message = cast("InboundMessage", notice.subject)
        if not result.reply:
            self._refuse(message, result.problem)
            then(result)
            return
        withheld = self._limits.of_reply(message, self._clock.now())
        if withheld:
            self._refuse(message, withheld.meaning, withheld=withheld)
            then(result)
            return
        sending = self.sending
        if sending is None:
            then(_put_off(result, "nothing can be sent yet"))
            return

        def settled(accept: Accept) -> None:
            self._settle(message, accept.verdict, result, then)

        fields = Fields(
            to=[normalise_number(message.sender)],
            sender=normalise_number(message.recipient),
            content=result.reply,
            reference=reply_reference(message.key, message.tail),
        )
        try:
            sending.send(Principal(self._directory.view(account), REPLY), fields, settled)
        except Fault as fault:
            if fault.entry.retry:
                then(_put_off(result, fault.entry.title))
                return
            where = f" ({fault.field})" if fault.field else ""
            self._refuse(message, f"{fault.entry.title}{where}", fault.message)
            then(result)

    def _settle(
        self, message: InboundMessage, verdict: Verdict, result: TryResult, then: Callable[[TryResult], None]
    ) -> None:
        if verdict in (Verdict.UNAVAILABLE, Verdict.IN_DOUBT):  # its reference makes the repeat safe
            then(_put_off(result, "the store is away"))
            return
        if verdict is Verdict.ACCEPTED:
            self._limits.replied(message, self._clock.now())
        elif verdict not in (Verdict.REPLAYED, Verdict.REFERENCE_CONFLICT):  # a conflict is with an earlier reply to it
            self._refuse(message, _REFUSALS.get(verdict) or verdict.name.lower().replace("_", " "))
        then(result)

    def _refuse(self, message: InboundMessage, problem: str, sentence: str = "", withheld: str = "") -> None:
        """Records why there is no reply: in the log by a `problem` without texts and numbers, and with the message by
        the `sentence`, if given."""
        if self._limits.is_news(message.account, problem, self._clock.now()):
            name = to_uuid(message.key, message.tail)
            self._journal.log("warning", "reply.refused", inbound=name, account=message.account, problem=problem)
        self._gathering.facts.inbound_replies.append(
            InboundReply(message.account, message.key, sentence or problem, withheld)
        )
        self._gathering.wake_later()


def _put_off(result: TryResult, why: str) -> TryResult:
    return TryResult(result.key, 0, f"its reply was not accepted: {why}")
