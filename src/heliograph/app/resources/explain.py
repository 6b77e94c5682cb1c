"""Explains the state of a message in a sentence or two, for a person who looks for it at night."""

from collections.abc import Callable, Mapping, Sequence
from typing import assert_never

from heliograph.app.configuration import DRAIN, OFF, ON, Tables
from heliograph.app.facts import NOT_SENT, CallbackEnd
from heliograph.app.ports import ConnectorReport
from heliograph.app.ports.carrier_state import FRESH_MS
from heliograph.app.records import CallbackView, MessageRecord
from heliograph.app.resources.history import expired_while_held
from heliograph.domain.calendar import format_utc
from heliograph.domain.display import counted, duration
from heliograph.domain.limits.gate import Holder, holder_of
from heliograph.domain.message.ids import time_of
from heliograph.domain.message.receipt import Delivery, err_of
from heliograph.domain.message.state import State

_SAYS = {
    Delivery.DELIVRD: "The operator reported it as delivered.",
    Delivery.EXPIRED: "The operator accepted it, but did not reach the phone during the validity of the message.",
    Delivery.DELETED: "The operator accepted it, and deleted it before delivery.",
    Delivery.UNDELIV: "The operator accepted it, and reported it as undeliverable.",
    Delivery.UNKNOWN: "The operator accepted it, but its fate is unknown: no receipt came in time, or a receipt with "
    "the state UNKNOWN.",
    Delivery.REJECTD: "The operator accepted it, and rejected it afterwards.",
}

_REFUNDED = " It was refunded."
_HELD = {
    Holder.ADMINISTRATOR: "It is held by an administrator. Release it (`heliograph queue release`).",
    Holder.GUARD: "It is held: the pumping guard suspects fraud in the account's messages to such numbers. Release or "
    "refund them (`heliograph guard list`).",
    Holder.SUSPENDED: "It is held.",
}
_HELD_UNTIL_ITS_END = {
    Holder.ADMINISTRATOR: "was held by an administrator",
    Holder.GUARD: "was held by the pumping guard",
    Holder.SUSPENDED: "was held, because its account was suspended",
    None: "was held",
}
_SUSPENDED = (
    " Its account is suspended: it waits until the account is resumed (`heliograph account resume`), and is refunded "
    "if its validity ends first."
)


def explain(
    trace: MessageRecord,
    connectors: Mapping[int, str],
    status_name: Callable[[int], str],
    obstacle: Callable[[int], str] = lambda _: "",
    *,
    suspended: bool = False,
) -> str:
    """Returns the explanation, for example "It waits for its time.".

    `connectors` are names by id. `status_name` returns the name of a command status. `obstacle` returns why a connector
    cannot send now, or "". `suspended` is True if the account is suspended.
    """
    message = trace.message
    if (holder := holder_of(trace.held)) is not None:
        return _HELD[holder] + (_SUSPENDED if suspended else "")
    match state := State(message.state):
        case State.SCHEDULED:
            return "It waits for its time." + (_SUSPENDED if suspended else "")
        case State.CANCELLED:
            return "It was cancelled before its time." + _REFUNDED
        case State.FAILED:
            if _was_suppressed(trace):
                return "It was not sent: its recipient had opted out when it was accepted. It was not charged."
            return _failed(trace, connectors, status_name) + _REFUNDED + _untold(trace.callback)
        case State.SENT:
            if trace.final is not None and trace.final[0] is not None:
                ended = _ended(trace.final[0], trace.final[1]) + _elsewhere(trace, connectors)
                return ended + _untold(trace.callback)
            waits = suspended and trace.queued is not None
            return _open(trace, connectors, status_name, obstacle) + (_SUSPENDED if waits else "")
        case _:
            assert_never(state)


def _was_suppressed(trace: MessageRecord) -> bool:
    """Returns whether the message failed in the commit that accepted its request: its recipient was suppressed, and the
    recipients beside it were not. Every later failure has an end after the key of the message."""
    message, final = trace.message, trace.final
    return final is not None and not message.price and final[2] <= time_of(message.key)


def _failed(trace: MessageRecord, connectors: Mapping[int, str], status_name: Callable[[int], str]) -> str:
    refused = next((each for each in trace.submissions if each.status > 0), None)
    if refused is not None:
        name = connectors.get(refused.connector, "a removed connector")
        return f"The operator behind {name} refused it: {status_name(refused.status)}, {refused.status:#x}."
    if trace.final is not None and trace.final[0] is Delivery.EXPIRED:
        hold = next((each for each in trace.holds if expired_while_held(trace, each)), None)
        where = "waited for its operator" if hold is None else _HELD_UNTIL_ITS_END[holder_of(hold.why)]
        return f"It was not sent: its validity ended while it {where}."
    if trace.message.is_unreadable:
        return (
            "It was not sent: its row in the store is damaged, so that its text cannot be opened "
            "(`heliograph audit --deep`)."
        )
    unfit = next((each for each in trace.submissions if each.status == NOT_SENT), None)
    if unfit is not None:
        name = connectors.get(unfit.connector, "a removed connector")
        cause = (
            "because the connector's settings changed after it was accepted"
            if unfit.connector == trace.message.connector
            else f"which was to take it in place of {connectors.get(trace.message.connector, 'a removed connector')}"
        )
        return (
            f"It was not sent: it cannot be written for the operator behind {name}, {cause}. The log has the reason "
            "(smpp.cannot_be_sent)."
        )
    return "It was not sent: there was no longer a route for it."


def _ended(state: Delivery, code: str) -> str:
    if state is Delivery.DELIVRD:
        return _SAYS[state]
    shown = err_of(code, state)
    if not code:
        return f"{_SAYS[state]} The operator did not give a code (shown as {shown})."
    says = f"{_SAYS[state]} The operator's code is {code}; ask the operator for its meaning."
    return says if code.zfill(3) == shown else f"{says} The customer got {shown}, because codes have three digits."


def _elsewhere(trace: MessageRecord, connectors: Mapping[int, str]) -> str:
    """Returns which connector sent the message in place of its own, or "". Questions go to that operator."""
    own = trace.message.connector
    sent_by = {each.connector for each in trace.submissions if not each.status} - {own}
    names = " and ".join(sorted(connectors.get(each, "a removed connector") for each in sent_by))
    return f" It was sent over {names}, in place of {connectors.get(own, 'a removed connector')}." if names else ""


def _untold(callback: CallbackView | None) -> str:
    """Returns why the customer did not get the callback with the final state, or ""."""
    if callback is None or callback.end is CallbackEnd.DELIVERED:
        return ""
    tries = counted(callback.attempts, "try", "tries")
    why = f": {callback.problem}" if callback.problem else ""
    if callback.end is CallbackEnd.GONE:
        return " The customer's receiver refused the callback for good: it responded with 410."
    if callback.end is CallbackEnd.FAILED:
        return f" The customer did not get the callback: it failed after {tries}{why}."
    if callback.attempts:
        return f" The customer has not got the callback yet: {tries} failed{why}. It is retried automatically."
    return ""


def _open(
    trace: MessageRecord,
    connectors: Mapping[int, str],
    status_name: Callable[[int], str],
    obstacle: Callable[[int], str],
) -> str:
    message = trace.message
    taken = sum(each.status == 0 for each in trace.submissions)
    if taken == message.segments:
        if message.wants_receipt:
            return (
                "It was submitted: the operator accepted it, and its receipt has not come yet. If the receipt is late, "
                "look for it under another id among the unmatched receipts. Otherwise ask the operator, with the "
                "operator's id of the message."
            )
        return "It was submitted: the operator accepted it. No receipt was requested, so this is its last known state."
    connector = message.connector if trace.queued is None else trace.queued[0]
    name = connectors.get(connector, "a removed connector")
    in_the_way = obstacle(connector)
    if in_the_way and not trace.attempts:
        left = f"{taken} of its {message.segments} parts are submitted; the rest" if taken else "It"
        return f"{left} waits for the connector {name}, {in_the_way}"
    if not trace.attempts:
        return f"It waits for the connector {name}; the connector's page has the reason."
    last = max(trace.attempts, key=lambda attempt: attempt.at)
    times = "once" if len(trace.attempts) == 1 else counted(len(trace.attempts), "time")
    if last.connector != connector:
        before = connectors.get(last.connector, "a removed connector")
        answer = "could not take it" if last.status < 0 else f"refused it with {status_name(last.status)}"
        if last.status == 0:
            answer = "did not deliver it"
        return f"It goes to the connector {name} now, since the operator behind {before} {answer}."
    answer = "did not answer" if last.status < 0 else f"answered {status_name(last.status)}, {last.status:#x}: not now"
    sentence = f"It was tried {times} over {name}, and is retried automatically. The last time the operator {answer}."
    return f"{sentence} It waits for the connector {name}, {in_the_way}" if in_the_way else sentence


class BlockedReasons:
    """Judges connectors by their configuration and by the last words of the nodes that have them."""

    def __init__(self, tables: Tables, reports: Sequence[ConnectorReport], now: int) -> None:
        self._set = {connector.id: connector.state for connector in tables.connectors}
        self._fresh = [each for each in reports if now - each.at < FRESH_MS]
        self._now = now

    def blocked_reason(self, connector: int) -> str:
        """Returns the rest of a sentence that begins with the connector, such as `which is paused.`; empty where a
        message can leave by it."""
        state = self._set.get(connector, ON)
        if state == OFF:
            return "which is paused: resume it."
        if state == DRAIN:
            return "which is draining: nothing new is sent over it until it is resumed."
        states = [each.state for each in self._fresh if each.connector == connector]
        if not states:
            return "which no running gateway has."
        if any(state.bound and state.down_since is None for state in states):
            return ""
        known = [state.down_since for state in states if state.down_since is not None]
        since = max(known, default=None)
        summary = next((state.summary for state in states), "")
        if since is None:
            return f"which is down. {summary}"
        return f"which has been down since {format_utc(since)[:19]}Z, for {duration(self._now - since)}. {summary}"
