"""Explains the state of a message in a sentence or two, for whoever looks for it at night."""

from collections.abc import Callable, Mapping, Sequence
from typing import assert_never

from heliograph.app.configuration import Tables
from heliograph.app.facts import NOT_SENT, CallbackEnd
from heliograph.app.ports import ConnectorReport
from heliograph.app.ports.carrier_state import FRESH_MS
from heliograph.app.records import CallbackView, MessageRecord
from heliograph.domain.calendar import format_utc
from heliograph.domain.display import counted, duration
from heliograph.domain.message.receipt import Delivery, err_of
from heliograph.domain.message.state import State

_SAYS = {
    Delivery.DELIVRD: "The operator says that it was delivered.",
    Delivery.EXPIRED: "The operator took it and stopped trying: the phone was not reached while the message was valid.",
    Delivery.DELETED: "The operator took it, and somebody there deleted it.",
    Delivery.UNDELIV: "The operator took it and says that it cannot be delivered.",
    Delivery.UNKNOWN: "The operator took it, and nobody knows what became of it: no receipt came in time, or one that "
    "says nothing.",
    Delivery.REJECTD: "The operator took it and rejected it afterwards.",
}

_REFUNDED = " It was refunded."
_SUSPENDED = (
    " Its account is suspended: it is not sent before that is over (`heliograph account resume`), and is refunded "
    "where its validity ends first."
)


def explain(
    trace: MessageRecord,
    connectors: Mapping[int, str],
    status_name: Callable[[int], str],
    obstacle: Callable[[int], str] = lambda _: "",
    *,
    suspended: bool = False,
) -> str:
    """`connectors` are names by id; `status_name` names a command status; `obstacle` says what keeps everything from
    leaving by a connector, empty where nothing does. `suspended`: its account is."""
    message = trace.message
    match state := State(message.state):
        case State.SCHEDULED:
            return "It waits for its time." + (_SUSPENDED if suspended else "")
        case State.CANCELLED:
            return "It was cancelled before its time." + _REFUNDED
        case State.FAILED:
            return _failed(trace, connectors, status_name) + _REFUNDED + _untold(trace.callback)
        case State.SENT:
            if trace.final is not None and trace.final[0] is not None:
                return _ended(trace.final[0], trace.final[1]) + _untold(trace.callback)
            waits = suspended and trace.queued is not None
            return _open(trace, connectors, status_name, obstacle) + (_SUSPENDED if waits else "")
        case _:
            assert_never(state)


def _failed(trace: MessageRecord, connectors: Mapping[int, str], status_name: Callable[[int], str]) -> str:
    refused = next((each for each in trace.submissions if each.status > 0), None)
    if refused is not None:
        name = connectors.get(refused.connector, "a connector that is gone")
        return f"The operator behind {name} refused it: {status_name(refused.status)}, {refused.status:#x}."
    if trace.final is not None and trace.final[0] is Delivery.EXPIRED:
        return "It never left: its validity ended while it waited for its operator."
    unfit = next((each for each in trace.submissions if each.status == NOT_SENT), None)
    if unfit is not None:
        name = connectors.get(unfit.connector, "a connector that is gone")
        return (
            f"It never left: it cannot be written for the operator behind {name}, whose settings have changed since it "
            "was accepted; the log says why (smpp.cannot_be_sent)."
        )
    return "It never left: there was no route for it any more."


def _ended(state: Delivery, code: str) -> str:
    if state is Delivery.DELIVRD:
        return _SAYS[state]
    shown = err_of(code, state)
    if not code:
        return f"{_SAYS[state]} It gave no code of its own ({shown} stands for none)."
    says = f"{_SAYS[state]} Its own code for why is {code}: ask the operator what that means."
    return (
        says if code.zfill(3) == shown else f"{says} The customer was told {shown}, since that has to be three digits."
    )


def _untold(callback: CallbackView | None) -> str:
    """Says why the customer has not been told of the final state; empty if there is nothing to say."""
    if callback is None or callback.end is CallbackEnd.DELIVERED:
        return ""
    tries = counted(callback.attempts, "try", "tries")
    why = f": {callback.problem}" if callback.problem else ""
    if callback.end is CallbackEnd.GONE:
        return " The customer's receiver did not want to be told: it responded with 410."
    if callback.end is CallbackEnd.FAILED:
        return f" The customer was not told: the callback failed after {tries}{why}."
    if callback.attempts:
        return f" The customer has not been told: {tries} in vain{why}. The callback is tried again by itself."
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
                "It was submitted: the operator took it, and its receipt has not come yet. If it is late, see whether "
                "the receipts that match nothing have it under another id; if not, ask the operator for it by the id "
                "that it gave."
            )
        return (
            "It was submitted: the operator took it. Nobody asked for its receipt, so no more will be known, and it "
            "stays submitted."
        )
    if trace.held:
        return (
            "It is held: the pumping guard found its account's messages to such numbers suspicious, and waits for "
            "somebody to release or refund them (`heliograph guard list`)."
        )
    connector = message.connector if trace.queued is None else trace.queued[0]
    name = connectors.get(connector, "a connector that is gone")
    in_the_way = obstacle(connector)
    if in_the_way and not trace.attempts:
        left = f"{taken} of its {message.segments} parts are submitted; the rest" if taken else "It"
        return f"{left} waits for the connector {name}, {in_the_way}"
    if not trace.attempts:
        return f"It waits to be sent through {name}: look there for why it is not sent yet."
    last = max(trace.attempts, key=lambda attempt: attempt.at)
    times = "once" if len(trace.attempts) == 1 else counted(len(trace.attempts), "time")
    answer = "nothing" if last.status < 0 else f"{status_name(last.status)}, {last.status:#x}: not now"
    tries = (
        f"It was tried {times} through {name}, and is tried again by itself. The last time the operator said {answer}."
    )
    return f"{tries} It waits for the connector {name}, {in_the_way}" if in_the_way else tries


class BlockedReasons:
    """Judges connectors by their configuration and by the last words of the nodes that have them."""

    def __init__(self, tables: Tables, reports: Sequence[ConnectorReport], now: int) -> None:
        self._enabled = {connector.id: connector.enabled for connector in tables.connectors}
        self._fresh = [each for each in reports if now - each.at < FRESH_MS]
        self._now = now

    def blocked_reason(self, connector: int) -> str:
        """Returns the rest of a sentence that begins with the connector, such as `which is paused.`; empty where a
        message can leave by it."""
        if not self._enabled.get(connector, True):
            return "which is paused: resume it."
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
