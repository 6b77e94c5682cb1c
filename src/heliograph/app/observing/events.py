"""Tells what happens to messages as it comes true, for people who listen. While nobody does, it costs nothing."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from heliograph.app.facts import CallbackEnd, Facts, Message, Verdict

REMEMBERED = 20_000
"""Messages of which the narrator knows whose they are, the latest; others must be looked up."""

NO_ANSWER = -1

_ENDS = {CallbackEnd.DELIVERED: "delivered", CallbackEnd.GONE: "gone", CallbackEnd.GIVEN_UP: "given_up"}


@dataclass(slots=True)
class Happening:
    """One thing that has come true. `key` is the message's, 0 where none is known; `message` is there if the narrator
    has seen it. `segment` counts from 1. `details` hold nothing secret: no text and no number."""

    at: int
    event: str
    key: int
    message: Message | None
    segment: int | None = None
    connector: int | None = None
    details: dict[str, Any] = field(default_factory=dict)


Listener = Callable[[list[Happening]], None]


class Narrator:
    """A `Watcher` that hands happenings to listeners. They are called on the event loop and must not block or raise."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []
        self._messages: OrderedDict[int, Message] = OrderedDict()

    def listen(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def leave(self, listener: Listener) -> None:
        """Harmless if it does not listen."""
        if listener in self._listeners:
            self._listeners.remove(listener)
        if not self._listeners:
            self._messages.clear()

    def remember(self, message: Message) -> None:
        """A message that was looked up."""
        self._messages[message.key] = message
        if len(self._messages) > REMEMBERED:
            self._messages.popitem(last=False)

    def committed(self, facts: Facts, now: int, seconds: float) -> None:  # noqa: ARG002 - the protocol's signature
        """See `app.ports.Watcher`."""
        if not self._listeners:
            return
        found = self._accepted(facts, now) + self._sent(facts) + self._reported(facts) + self._told(facts, now)
        if found:
            for listener in tuple(self._listeners):
                listener(found)

    def _new(self, at: int, event: str, key: int, segment: int | None = None, **details: Any) -> Happening:
        return Happening(at, event, key, self._messages.get(key), segment, None, details)

    def _accepted(self, facts: Facts, now: int) -> list[Happening]:
        found = []
        for accept in facts.accepts:
            if accept.verdict is not Verdict.ACCEPTED:
                continue
            for message in accept.messages:
                self.remember(message)
                event = "scheduled" if accept.scheduled else "accepted"
                found.append(self._new(now, event, message.key, segments=message.segments, price=message.price))
        return found

    def _sent(self, facts: Facts) -> list[Happening]:
        found = []
        for attempt in facts.attempts:
            event, details = "deferred", {"status": f"0x{attempt.status:08X}"}
            if attempt.status == NO_ANSWER:
                event, details = "unanswered", {}
            happening = self._new(attempt.at, event, attempt.key, attempt.segment + 1, **details)
            happening.connector = attempt.connector
            found.append(happening)
        for answer in facts.submissions:
            if answer.status < 0:
                happening = self._new(answer.at, "not_sent_again", answer.key, answer.segment + 1)
            elif answer.status:
                status = f"0x{answer.status:08X}"
                happening = self._new(answer.at, "refused", answer.key, answer.segment + 1, status=status)
            else:
                happening = self._new(
                    answer.at, "submitted", answer.key, answer.segment + 1,
                    operator_id=answer.operator_id, waited_ms=answer.waited, took_ms=answer.took,
                )  # fmt: skip
            happening.connector = answer.connector
            found.append(happening)
        return found

    def _reported(self, facts: Facts) -> list[Happening]:
        found = [
            self._new(each.at, "receipt", each.key, each.segment + 1, state=each.state.name, err=each.err)
            for each in (*facts.progress, *facts.parts)
        ]
        for early in facts.early:
            happening = self._new(early.at, "unmatched_receipt", 0, state=early.state.name, err=early.err)
            happening.details["operator_id"] = early.operator_id
            happening.connector = early.connector
            found.append(happening)
        for final in facts.finals:
            event = "failed" if final.failed else "final"
            happening = self._new(final.at, event, final.key, state=final.state.name, err=final.err)
            if final.failed:
                happening.details["refund"] = final.refund
            found.append(happening)
        return found

    def _told(self, facts: Facts, now: int) -> list[Happening]:
        found = [
            self._new(done.at, "callback", done.key, result=_ENDS[done.end], code=done.code, attempts=done.attempts)
            for done in facts.callbacks
        ]
        found += [
            self._new(
                now, "callback_retry", retry.key,
                problem=retry.problem, attempts=retry.attempts, in_s=max(0, retry.due - now) // 1000,
            )
            for retry in facts.callback_retries
            if retry.problem and not retry.held
        ]  # fmt: skip
        return found
