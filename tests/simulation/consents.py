"""Properties of opt-outs that must hold under all faults."""

from collections.abc import Callable

from heliograph.app.facts import Accept, Facts, InboundMessage, Message, Verdict
from heliograph.app.marks import attempted
from heliograph.domain.message.opt_out import Wish
from heliograph.domain.message.state import State
from tests.simulation.faults import Operator
from tests.simulation.phones import Phones
from tests.support.memory_rows import Rows

Consent = tuple[int, str]
"""An account, and a phone."""


class Consents:
    """Observes the order of commits, acknowledgements and writes."""

    def __init__(self, phones: Phones, operators: dict[int, Operator]) -> None:
        self._phones = phones
        self._operators = operators
        self._stops: dict[Consent, InboundMessage] = {}
        """The STOP that is in force, by whom it is of."""
        self._seen: set[int] = set()
        self._in_doubt: set[int] = set()
        """Messages that may have left before their STOP, as a crash hides it: they go on."""
        self._on_the_way: set[int] = set()
        """Messages that were about to leave when their STOP was committed: in doubt, if the next event is a crash."""
        self._marks: dict[str, int] = {}
        self._marks_before: dict[str, int] = {}
        """The marks at the end of the last run: a message up to its attempt mark may have left in that run."""

    def restart(self) -> None:
        """Must be called when the gateway's process has ended."""
        self._in_doubt |= self._on_the_way
        self._marks_before = dict(self._marks)

    def commit(self, look: Callable[[], Rows], facts: Facts) -> list[str]:
        """Must be called after each commit; `look` is asked for the rows where there was a STOP. A STOP leaves no
        waiting message behind, and is confirmed if the phone was not suppressed. A suppressed phone gets no new
        message."""
        wrong = []
        self._marks |= facts.marks
        fresh: dict[Consent, InboundMessage] = {}
        news: set[Consent] = set()
        """Of these, a message that an operator deferred after an earlier STOP is ended by its claim, not by this
        STOP."""
        for message in facts.inbound:
            if message.key in self._seen:
                continue
            self._seen.add(message.key)
            whose = message.account, message.sender
            if message.wish is Wish.STOP:
                kept = look().inbound[message.key]
                if whose in self._stops and kept.replied:
                    wrong.append(f"the STOP {message.key} was confirmed, and was no news")
                if (
                    whose not in self._stops
                    and message.reply is not None
                    and _went(message.reply) != bool(kept.replied)
                ):
                    wrong.append(f"the STOP {message.key} was news, and names the confirmation {kept.replied}")
                if whose not in self._stops:
                    news.add(whose)
                fresh[whose] = self._stops.setdefault(whose, message)
            elif message.changes_consent:
                self._stops.pop(whose, None)
                fresh.pop(whose, None)
        back = {each.key for each in facts.queueings}  # put back by this very commit: ended when they are claimed
        rows = look() if fresh else None
        for whose, stop in fresh.items():
            assert rows is not None
            about = {key for key, message in rows.messages.items() if _may_leave(rows, whose, message)}
            self._on_the_way |= about
            sending = {key for _, key in facts.sending}
            self._in_doubt |= {key for key in about if key in rows.queue and key not in sending}
            self._in_doubt |= {key for key in about if self._is_of_an_earlier_run(rows.messages[key])}
            left = [key for key in _waiting(rows, whose, stop) if key not in back] if whose in news else []
            wrong += [f"the STOP {stop.key} left {key} waiting" for key in left]
        for accept in facts.accepts:
            if accept.verdict is Verdict.ACCEPTED:
                wrong += [
                    f"{message.key} was accepted, although its recipient opted out"
                    for message in accept.messages
                    if message.state != State.FAILED and (message.account, message.destination) in self._stops
                ]
        return wrong

    def submit(self, look: Callable[[], Rows], message: Message) -> list[str]:
        """Must be called as a part is written; `look` is asked for the rows where its recipient opted out. Once a STOP
        is acknowledged no message begins to leave."""
        stop = self._stops.get((message.account, message.destination))
        if stop is None or _is_reply(look(), message.key) or self._has_begun(message) or message.key in self._in_doubt:
            return []
        acknowledged = any(text.whole == stop.content and text.acknowledged for text in self._phones.texts)
        return [f"{message.key} began to leave after the STOP {stop.key} was acknowledged"] if acknowledged else []

    def _is_of_an_earlier_run(self, message: Message) -> bool:
        return message.key <= self._marks_before.get(attempted(message.connector), 0)

    def _has_begun(self, message: Message) -> bool:
        """Whether it was written before; the part that is being written is counted already."""
        return (
            sum(
                operator.submits[message.key, n]
                for operator in self._operators.values()
                for n in range(message.segments)
            )
            > 1
        )

    def end(self, rows: Rows) -> list[str]:
        """Who is suppressed is who said so last."""
        said: dict[Consent, Wish] = {}
        for _, message in sorted(rows.inbound.items()):
            if message.changes_consent:
                said[message.account, message.sender] = message.wish
        stopped = {whose for whose, wish in said.items() if wish is Wish.STOP}
        wrong = [f"{whose} opted out and is not suppressed" for whose in stopped - rows.suppressions.keys()]
        wrong += [f"{whose} is suppressed and does not want it" for whose in rows.suppressions.keys() - stopped]
        return wrong


def _went(reply: Accept) -> bool:
    return reply.verdict is Verdict.ACCEPTED


def _is_reply(rows: Rows, key: int) -> bool:
    return any(each.replied == key for each in rows.inbound.values())


def _may_leave(rows: Rows, whose: Consent, message: Message) -> bool:
    """Whether the store has it that the message may have been written."""
    row = rows.queue.get(message.key)
    marked = message.key <= rows.mark(message.key, attempted(message.connector)) if row is None else row.attempted
    return (message.account, message.destination) == whose and message.state == State.SENT and marked


def _waiting(rows: Rows, whose: Consent, stop: InboundMessage) -> list[int]:
    """The keys of messages in the queue that no node has claimed and nothing of which has left."""
    return [
        key
        for key, row in rows.queue.items()
        if row.node is None
        and not row.attempted
        and key not in {of for of, _ in rows.sent}
        and key != rows.inbound[stop.key].replied
        and (rows.messages[key].account, rows.messages[key].destination) == whose
        and not _is_reply(rows, key)
    ]
