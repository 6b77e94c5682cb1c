"""The feed of message events for subscribers. It costs nothing without subscribers."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from heliograph.app.facts import (
    LOW_BALANCE,
    NO_ANSWER,
    CallbackEnd,
    Facts,
    InboundMessage,
    Message,
    Verdict,
    subject_key_of,
)
from heliograph.domain.message.opt_out import Wish
from heliograph.domain.message.receipt import Delivery, err_of

REMEMBERED = 20_000
"""The most messages that the feed remembers, the latest ones; others must be looked up."""


@dataclass(slots=True)
class MessageEvent:
    """An event of a message, as it is shown to users. `key` is the message's, 0 if unknown; `message` is set if the
    feed has seen it. `segment` counts from 1. `details` hold nothing secret: no text and no number."""

    at: int
    event: str
    key: int
    message: Message | InboundMessage | None
    segment: int | None = None
    connector: int | None = None
    details: dict[str, Any] = field(default_factory=dict)


Listener = Callable[[list[MessageEvent]], None]


class EventFeed:
    """Implements `Watcher`: hands events to listeners, which run on the event loop and must not block or raise."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []
        self._messages: OrderedDict[int, Message | InboundMessage] = OrderedDict()

    def subscribe(self, listener: Listener) -> None:
        self._listeners.append(listener)

    def unsubscribe(self, listener: Listener) -> None:
        """Removes the listener; harmless if it is not subscribed."""
        if listener in self._listeners:
            self._listeners.remove(listener)
        if not self._listeners:
            self._messages.clear()

    def remember(self, message: Message | InboundMessage) -> None:
        """Remembers a message, so that later events of it name its account."""
        self._messages[message.key] = message
        if len(self._messages) > REMEMBERED:
            self._messages.popitem(last=False)

    def committed(self, facts: Facts, now: int, seconds: float) -> None:  # noqa: ARG002 - the protocol's signature
        """See `app.ports.Watcher`."""
        if not self._listeners:
            return
        found = self._accepted(facts, now) + self._sent(facts) + self._reported(facts)
        found += self._from_phones(facts) + self._told(facts, now)
        if found:
            for listener in tuple(self._listeners):
                listener(found)

    def _new(self, at: int, event: str, key: int, segment: int | None = None, **details: Any) -> MessageEvent:
        return MessageEvent(at, event, key, self._messages.get(key), segment, None, details)

    def _accepted(self, facts: Facts, now: int) -> list[MessageEvent]:
        found = []
        for accept in facts.accepts:
            if accept.verdict is not Verdict.ACCEPTED:
                continue
            for message in accept.messages:
                self.remember(message)
                event = "scheduled" if accept.scheduled else "accepted"
                found.append(self._new(now, event, message.key, segments=message.segments, price=message.price))
        return found

    def _sent(self, facts: Facts) -> list[MessageEvent]:
        found = []
        for attempt in (*facts.attempts, *facts.throttles):
            name, details = "deferred", {"status": f"0x{attempt.status:08X}"}
            if attempt.status == NO_ANSWER:
                name, details = "unanswered", {}
            event = self._new(attempt.at, name, attempt.key, attempt.segment + 1, **details)
            event.connector = attempt.connector
            found.append(event)
        for answer in facts.submissions:
            if answer.status < 0:
                event = self._new(answer.at, "not_sent_again", answer.key, answer.segment + 1)
            elif answer.status:
                status = f"0x{answer.status:08X}"
                event = self._new(answer.at, "refused", answer.key, answer.segment + 1, status=status)
            else:
                event = self._new(
                    answer.at, "submitted", answer.key, answer.segment + 1,
                    operator_id=answer.operator_id, waited_ms=answer.waited, took_ms=answer.took,
                )  # fmt: skip
            event.connector = answer.connector
            found.append(event)
        return found

    def _reported(self, facts: Facts) -> list[MessageEvent]:
        found = [
            self._new(each.at, "receipt", each.key, each.segment + 1, **_state(each.state, each.err))
            for each in (*facts.progress, *facts.parts)
        ]
        for early in facts.early:
            event = self._new(early.at, "unmatched_receipt", 0, **_state(early.state, early.err))
            event.details["operator_id"] = early.operator_id
            event.connector = early.connector
            found.append(event)
        for resend in facts.resends:
            event = self._new(resend.at, "resent", resend.key, **_state(resend.state, resend.err))
            event.connector = resend.instead
            found.append(event)
        for final in facts.finals:
            name = "failed" if final.failed else "final"
            event = self._new(final.at, name, final.key, **_state(final.state, final.err))
            if final.failed:
                event.details["refund"] = final.refund
            found.append(event)
        return found

    def _from_phones(self, facts: Facts) -> list[MessageEvent]:
        found = []
        for part in facts.inbound_parts:
            event = self._new(part.at, "part_received", 0, part.number, parts=part.parts_of.total)
            event.connector = part.parts_of.connector
            found.append(event)
        for message in facts.inbound:
            self.remember(message)
            details: dict[str, Any] = {"parts": message.parts}
            if not message.complete:
                details["complete"] = False
            if message.wish is not Wish.NONE:
                details["wish"] = message.wish.name.lower()
            event = self._new(message.at, "received" if message.account else "unrouted", message.key, **details)
            event.connector = message.connector
            found.append(event)
        return found

    def _told(self, facts: Facts, now: int) -> list[MessageEvent]:
        found = [
            self._new(
                done.at,
                "callback",
                subject_key_of(done.key),
                **_about(done.key),
                result=CallbackEnd(done.end).name.lower(),
                code=done.code,
                attempts=done.attempts,
            )
            for done in facts.callbacks
        ]
        found += [
            self._new(
                now, "callback_retry", subject_key_of(retry.key), **_about(retry.key),
                problem=retry.problem, attempts=retry.attempts, in_s=max(0, retry.due - now) // 1000,
            )
            for retry in facts.callback_retries
            if retry.problem and not retry.claimed
        ]  # fmt: skip
        return found


def _about(key: int) -> dict[str, Any]:
    """Returns the subject of a notice that is not about a message."""
    return {"about": "low balance"} if key < LOW_BALANCE else {}


def _state(state: Delivery, code: str) -> dict[str, Any]:
    """Returns the details of a state: `err` as customers see it, and the operator's own code, if it gave any."""
    details: dict[str, Any] = {"state": state.name, "err": err_of(code, state)}
    return details | {"operator_code": code} if code else details
