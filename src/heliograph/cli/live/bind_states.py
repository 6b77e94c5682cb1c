"""The state of a connector's binds on every node, for people."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from heliograph.app.ports.carrier_state import FRESH_MS
from heliograph.app.receipts.habits import WORDS
from heliograph.cli.command import format_moment
from heliograph.domain.display import counted, duration

if TYPE_CHECKING:
    from heliograph.app.ports import ConnectorReport, ConnectorState
    from heliograph.app.ports.carrier_state import BindState


def view(user: str, reports: "Sequence[ConnectorReport]", now: int) -> Iterator[str]:
    """Yields the lines of `heliograph connector show`. `user` is the connector's identity, such as `system_id acme`."""
    if not reports:
        yield ""
        yield "No gateway has used this connector yet."
    for each in reports:
        ago = max(0, now - each.at) / 1000
        state = each.state
        yield ""
        node = f" (node {each.node})" if len(reports) > 1 else ""
        stale = "" if ago * 1000 < FRESH_MS else "; no gateway is running now"
        yield f"The binds{node}, as reported {ago:.0f} s ago{stale}"
        yield f"  state     {state.summary}"
        if state.obstacle:
            yield f"  routes    messages take another connector where they can: this one is {state.obstacle}"
        yield f"  window    {state.window_used} of {state.capacity} in use"
        yield f"  rate      {_rate(state, each.at)}"
        since = "" if state.oldest is None else f", the oldest for {duration(each.at - state.oldest)}"
        yield f"  waiting   {counted(state.waiting, 'message')} in memory{since}"
        if state.credentials_refused:
            wait = state.credentials_retry_in
            again = f"tried again in {max(0.0, wait - ago):.0f} s" if wait is not None else "tried again now"
            yield f"  password  the operator refuses {user} or its password; {again}"
        counters = state.counters.named()
        named = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in counters.items() if count)
        yield f"  counted   {named or 'nothing yet'}"
        if state.asked or state.queries_off:
            yield f"  queries   {_queries(state)}"
        for habit, count in state.receipts.items():
            yield f"  receipts  {count}: {WORDS.get(habit, habit)}"
        for bind in state.binds:
            yield from _bind(bind, each.at, now)


def _queries(state: "ConnectorState") -> str:
    words = f"query_sm sent {counted(state.asked, 'time')}, {counted(state.told, 'state')} received"
    if not state.queries_off:
        return words
    return (
        f"{words}; off, because the operator responded with {state.queries_off}; on again after a change of the "
        "connector or a restart"
    )


def _rate(state: "ConnectorState", reported: int) -> str:
    words = "nothing is sent" if state.off else f"at most {state.rate:g} a second" if state.rate else "no limit is set"
    if state.rate_until is not None:
        words += f" until {format_moment(state.rate_until)}"
    if state.off:
        return words
    if state.pace_learnt is not None:
        words += f"; {state.pace:g} a second now, learnt from the operator {duration(reported - state.pace_learnt)} ago"
    elif state.pace is not None and state.pace != state.rate:
        words += f"; {state.pace:g} a second now, while the operator's limit is being learnt"
    if state.put_off:
        words += f"; {state.put_off:.0%} of the parts are throttled at any pace, and sent again"
    return words + (f"; throttled {counted(state.throttles, 'time')}" if state.throttles else "")


def _bind(bind: "BindState", reported: int, now: int) -> Iterator[str]:
    """Yields the lines of a bind, from a report of the time `reported` (ms). The last error of a bind that is up again
    is marked as past."""
    words = f"{bind.state} since {format_moment(bind.since)}"
    if bind.reconnect_in is not None:
        words += f", next try in {max(0.0, bind.reconnect_in - (now - reported) / 1000):.0f} s"
    if bind.window:
        words += f", {bind.in_flight} of {bind.window} in flight"
    if bind.silent:
        words += f", the operator has not responded for {duration(int(bind.silent_s * 1000) + now - reported)}"
    elif bind.answer_ms is not None:
        words += f", answers after {bind.answer_ms:g} ms"
    yield f"  bind {bind.bind}    {bind.role} at {bind.host}: {words}"
    if bind.last_error:
        when = "before that" if bind.state == "bound" else "last error"
        yield f"            {when}, {duration(now - (bind.last_error_at or now))} ago: {bind.last_error}"
