"""How a connector's links stand, for people."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from heliograph.admin_api.bind_states import FRESH_MS, read
from heliograph.cli.command import format_moment
from heliograph.domain.display import counted, duration

if TYPE_CHECKING:
    from heliograph.app.configuration import Connector, LinkState


def view(connector: "Connector", states: "Sequence[LinkState]", now: int) -> Iterator[str]:
    """Lines for people."""
    if not states:
        yield ""
        yield "No gateway has run with it yet."
    for each in states:
        ago = max(0, now - each.at) / 1000
        state = read(each)
        yield ""
        node = f" (node {each.node})" if len(states) > 1 else ""
        yield f"The links{node}, as said {ago:.0f} s ago" + ("" if ago * 1000 < FRESH_MS else "; no gateway runs now")
        yield f"  state     {state.get('summary', 'unknown')}"
        yield f"  window    {state.get('window_used', state.get('in_flight', 0))} of {state.get('capacity', 0)} in use"
        yield f"  rate      {_rate(state)}"
        oldest = state.get("oldest")
        since = "" if oldest is None else f", the oldest for {duration(each.at - oldest)}"
        yield f"  waiting   {counted(state.get('waiting', 0), 'message')} in memory{since}"
        if state.get("credentials_refused"):
            wait = state.get("credentials_retry_in")
            again = f"tried again in {max(0.0, wait - ago):.0f} s" if wait is not None else "tried again now"
            yield f"  password  the operator refuses system_id {connector.system_id} or its password; {again}"
        counters = state.get("counters", {})
        named = ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in counters.items() if count)
        yield f"  counted   {named or 'nothing yet'}"
        for bind in state.get("binds", ()):
            yield from _bind(bind, each.at, now)


def _rate(state: dict[str, Any]) -> str:
    limit, pace, throttles = state.get("rate", 0.0), state.get("pace"), state.get("throttles", 0)
    words = f"{limit:g} a second at most" if limit else "no limit is set"
    if pace is not None and pace != limit:
        words += f"; {pace:g} a second now, which is what the operator takes"
    return words + (f"; throttled {counted(throttles, 'time')}" if throttles else "")


def _bind(bind: dict[str, Any], said: int, now: int) -> Iterator[str]:
    """`said` is when it was said to be so. An error that a bind has come over is told as what it is."""
    since = format_moment(bind.get("since"))
    words = f"{bind.get('state', '?')} since {since}"
    wait = bind.get("reconnect_in")
    if wait is not None:
        words += f", tries again in {max(0.0, wait - (now - said) / 1000):.0f} s"
    if bind.get("window"):
        words += f", {bind.get('in_flight', 0)} of {bind['window']} in flight"
    if bind.get("silent"):
        words += f", the operator has answered nothing for {duration(int(bind['silent_s'] * 1000) + now - said)}"
    elif bind.get("answer_ms") is not None:
        words += f", answers after {bind['answer_ms']:g} ms"
    yield f"  bind {bind.get('bind')}    {bind.get('role', '')} at {bind.get('host', '')}: {words}"
    if bind.get("last_error"):
        when = "before that" if bind.get("state") == "bound" else "last error"
        yield f"            {when}, {duration(now - bind.get('last_error_at', now))} ago: {bind['last_error']}"
