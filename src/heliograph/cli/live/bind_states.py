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
    """Yields lines for people. `user` is the name that the connector binds with, for example `system_id acme`."""
    if not reports:
        yield ""
        yield "No gateway has run with it yet."
    for each in reports:
        ago = max(0, now - each.at) / 1000
        state = each.state
        yield ""
        node = f" (node {each.node})" if len(reports) > 1 else ""
        yield f"The links{node}, as said {ago:.0f} s ago" + ("" if ago * 1000 < FRESH_MS else "; no gateway runs now")
        yield f"  state     {state.summary}"
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
    words = f"query_sm asked {counted(state.asked, 'time')}, told {counted(state.told, 'state')}"
    if not state.queries_off:
        return words
    return (
        f"{words}; off, since the operator responded with {state.queries_off}: until it is configured anew or a start"
    )


def _rate(state: "ConnectorState", said: int) -> str:
    words = "nothing is sent" if state.off else f"{state.rate:g} a second at most" if state.rate else "no limit is set"
    if state.rate_until is not None:
        words += f" until {format_moment(state.rate_until)}"
    if state.off:
        return words
    if state.pace_learnt is not None:
        words += (
            f"; {state.pace:g} a second now, which is what the operator takes, for {duration(said - state.pace_learnt)}"
        )
    elif state.pace is not None and state.pace != state.rate:
        words += f"; {state.pace:g} a second so far, to find out what the operator takes"
    if state.put_off:
        words += f"; {state.put_off:.0%} of the parts are throttled at any pace, and sent again"
    return words + (f"; throttled {counted(state.throttles, 'time')}" if state.throttles else "")


def _bind(bind: "BindState", said: int, now: int) -> Iterator[str]:
    """Lines about one bind, of which the gateway spoke at `said`. An error that is over is told as what was before."""
    words = f"{bind.state} since {format_moment(bind.since)}"
    if bind.reconnect_in is not None:
        words += f", tries again in {max(0.0, bind.reconnect_in - (now - said) / 1000):.0f} s"
    if bind.window:
        words += f", {bind.in_flight} of {bind.window} in flight"
    if bind.silent:
        words += f", the operator has not responded for {duration(int(bind.silent_s * 1000) + now - said)}"
    elif bind.answer_ms is not None:
        words += f", answers after {bind.answer_ms:g} ms"
    yield f"  bind {bind.bind}    {bind.role} at {bind.host}: {words}"
    if bind.last_error:
        when = "before that" if bind.state == "bound" else "last error"
        yield f"            {when}, {duration(now - (bind.last_error_at or now))} ago: {bind.last_error}"
