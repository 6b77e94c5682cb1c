"""Findings of `heliograph doctor` about work that waits for too long, or has failed, with advice on each."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from heliograph.app.ports.carrier_state import FRESH_MS
from heliograph.domain.display import counted, duration

if TYPE_CHECKING:
    from heliograph.app.admin.diagnose import Leftovers
    from heliograph.app.configuration import Connector
    from heliograph.app.ports import ConnectorReport

OLD_MS = 60_000
"""Age of a due message from which on it is worth a look. Milliseconds."""

UNKNOWN_DAYS = 7
"""Messages of these last days are reported if they ended as UNKNOWN."""

UNKNOWN_MS = UNKNOWN_DAYS * 86_400_000


@dataclass(slots=True)
class Finding:
    """A finding of `heliograph doctor`."""

    check: str
    result: Literal["ok", "note", "fail"]
    """`note` does not keep a gateway from its work."""
    detail: str
    advice: str = ""


def leftovers(connectors: "Iterable[Connector]", left: "Leftovers", now: int) -> list[Finding]:
    """Returns a finding for each kind of leftover, or a single one if there is none."""
    names = {connector.id: connector for connector in connectors}
    found = [
        *_late(names, left.due, left.links, now),
        *_deferred(names, left.backlog.deferred),
        *_unknown(left.unknown),
        *_orphans(left.backlog.orphans),
        *_callbacks(left.backlog.owed, left.backlog.ended),
        *_national(names, left.links, now),
    ]
    return found or [Finding("backlog", "ok", "nothing waits for long, and nothing has failed")]


def _late(
    connectors: "dict[int, Connector]", dues: dict[int, int], reports: "list[ConnectorReport]", now: int
) -> Iterator[Finding]:
    """Reports the oldest message of each connector, in the rows or in a running gateway's memory."""
    oldest = dict(dues)
    for report in reports:
        due = report.state.oldest if now - report.at < FRESH_MS else None
        if due is not None:
            oldest[report.connector] = min(due, oldest.get(report.connector, due))
    for number, due in sorted(oldest.items()):
        if now - due < OLD_MS:
            continue
        connector = connectors.get(number)
        if connector is None:
            name = _unlisted(number)
            advice = "A running gateway routes it anew, or fails and refunds it: is one running?"
        elif connector.enabled:
            name, advice = connector.name, f"heliograph connector show {connector.name} says why"
        else:
            name, advice = connector.name, f"It is paused: heliograph connector set {connector.name} enabled=true"
        yield Finding(f"queue of {name}", "note", f"the oldest message has waited for {duration(now - due)}", advice)


def _unlisted(number: int) -> str:
    """Names a connector that the store does not have."""
    from heliograph.composition.dev import NAMES

    return NAMES.get(number, f"a connector that is gone ({number})")


def _deferred(connectors: "dict[int, Connector]", deferred: dict[int, int]) -> Iterator[Finding]:
    for number, count in sorted(deferred.items()):
        name = connectors[number].name if number in connectors else _unlisted(number)
        yield Finding(
            f"deferred by {name}",
            "note",
            f"{counted(count, 'message waits', 'messages wait')} for another try: refused for now, or no response",
            f"They go again by themselves. The log has why (smpp.put_off), and so has heliograph connector show {name}",
        )


def _unknown(count: int) -> Iterator[Finding]:
    if count:
        yield Finding(
            "unknown outcome",
            "note",
            f"of {counted(count, 'message')} of the last {UNKNOWN_DAYS} days nobody knows whether it arrived",
            "No answer or no receipt came: ask the operator. heliograph message find --status undelivered lists them",
        )


def _orphans(count: int) -> Iterator[Finding]:
    if count:
        yield Finding(
            "receipts",
            "note",
            f"{counted(count, 'receipt')} of the last {UNKNOWN_DAYS} days matched no message",
            "heliograph receipts unmatched: are their ids as in heliograph tail? Nobody may have asked for them",
        )


def _callbacks(owed: int, ended: int) -> Iterator[Finding]:
    if owed:
        yield Finding(
            "callbacks pending",
            "note",
            f"{counted(owed, 'callback waits', 'callbacks wait')} for another try",
            "heliograph callbacks status names the receivers that fail, and how",
        )
    if ended:
        yield Finding(
            "callbacks failed",
            "note",
            f"{counted(ended, 'callback')} failed, or refused for good by the receiver",
            "When the receiver works again: heliograph callbacks replay --account NAME, or --all",
        )


def _national(connectors: "dict[int, Connector]", reports: "list[ConnectorReport]", now: int) -> Iterator[Finding]:
    """Reports connectors that bring messages from national numbers which nobody can make international ones."""
    for report in sorted(reports, key=lambda each: each.connector):
        count = report.state.counters.national_numbers
        connector = connectors.get(report.connector)
        if count and connector is not None and now - report.at < FRESH_MS:
            yield Finding(
                f"phones of {connector.name}",
                "fail",
                f"{counted(count, 'message')} came from national numbers: STOP and heliograph erase do not know them",
                f"heliograph connector set {connector.name} inbound_country=49, with the country of these numbers",
            )
