"""Findings of `heliograph doctor` about work that waits too long or has failed, with advice."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from heliograph.app.configuration import OFF, ON
from heliograph.app.ports.carrier_state import FRESH_MS
from heliograph.domain.display import counted, duration

if TYPE_CHECKING:
    from heliograph.app.admin.diagnose import Leftovers
    from heliograph.app.configuration import Connector
    from heliograph.app.ports import ConnectorReport
    from heliograph.domain.limits.gate import Holder

OLD_MS = 60_000
"""Milliseconds. A message that is due for longer than this is reported."""

UNKNOWN_DAYS = 7
"""Days. Messages of this period that ended as UNKNOWN are reported."""

UNKNOWN_MS = UNKNOWN_DAYS * 86_400_000


@dataclass(slots=True)
class Finding:
    """A finding of `heliograph doctor`."""

    check: str
    result: Literal["ok", "note", "fail"]
    """`note`: worth a look, but the gateway works."""
    detail: str
    """The finding, such as "the oldest message has waited for 2 min"."""
    advice: str = ""
    """The next step, such as a command."""


def leftovers(connectors: "Iterable[Connector]", left: "Leftovers", now: int) -> list[Finding]:
    """Returns a finding for each kind of leftover, or a single one if there is none."""
    names = {connector.id: connector for connector in connectors}
    found = [
        *_late(names, left.due, left.links, now),
        *_deferred(names, left.backlog.deferred),
        *_held(left.backlog.held),
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
            advice = "Start the gateway: it routes the message again, or fails and refunds it"
        elif connector.state == ON:
            name, advice = connector.name, f"heliograph connector show {connector.name} shows the reason"
        else:
            word = "paused" if connector.state == OFF else "draining"
            name, advice = connector.name, f"It is {word}: heliograph connector set {connector.name} state=on"
        yield Finding(f"queue of {name}", "note", f"the oldest message has waited for {duration(now - due)}", advice)


def _unlisted(number: int) -> str:
    """Returns a name for a connector that the store does not have."""
    from heliograph.composition.dev import NAMES

    return NAMES.get(number, f"a removed connector ({number})")


def _deferred(connectors: "dict[int, Connector]", deferred: dict[int, int]) -> Iterator[Finding]:
    for number, count in sorted(deferred.items()):
        name = connectors[number].name if number in connectors else _unlisted(number)
        yield Finding(
            f"deferred by {name}",
            "note",
            f"{counted(count, 'message waits', 'messages wait')} for another try: refused for now, or no response",
            "They are retried automatically. The reason is in the log (smpp.put_off), and in "
            f"heliograph connector show {name}",
        )


def _held(held: "dict[Holder, int]") -> Iterator[Finding]:
    advice = {
        "administrator": "heliograph queue list shows them; heliograph queue release sends them",
        "guard": "heliograph guard list shows the reason; heliograph guard release or refund decides",
        "suspended": "heliograph account resume NAME sends them",
    }
    by = {
        "administrator": "an administrator holds",
        "guard": "the pumping guard holds",
        "suspended": "the suspension of accounts holds",
    }
    for reason, count in held.items():
        yield Finding("held", "note", f"{by[reason]} {counted(count, 'message')}", advice[reason])


def _unknown(count: int) -> Iterator[Finding]:
    if count:
        yield Finding(
            "unknown outcome",
            "note",
            f"{counted(count, 'message')} of the last {UNKNOWN_DAYS} days may or may not have arrived",
            "The answer or the receipt is missing: ask the operator. "
            "heliograph message find --status undelivered lists these messages",
        )


def _orphans(count: int) -> Iterator[Finding]:
    if count:
        yield Finding(
            "receipts",
            "note",
            f"{counted(count, 'receipt')} of the last {UNKNOWN_DAYS} days matched no message",
            "Compare their ids in heliograph receipts unmatched with the ids in heliograph tail",
        )


def _callbacks(owed: int, ended: int) -> Iterator[Finding]:
    if owed:
        yield Finding(
            "callbacks pending",
            "note",
            f"{counted(owed, 'callback waits', 'callbacks wait')} for another try",
            "heliograph callbacks status lists the failing receivers with their errors",
        )
    if ended:
        yield Finding(
            "callbacks failed",
            "note",
            f"{counted(ended, 'callback')} failed, or refused for good by the receiver",
            "When the receiver works again: heliograph callbacks replay --account NAME, or --all",
        )


def _national(connectors: "dict[int, Connector]", reports: "list[ConnectorReport]", now: int) -> Iterator[Finding]:
    """Reports connectors with messages from national numbers that have no setting `inbound_country`."""
    for report in sorted(reports, key=lambda each: each.connector):
        count = report.state.counters.national_numbers
        connector = connectors.get(report.connector)
        if count and connector is not None and now - report.at < FRESH_MS:
            yield Finding(
                f"phones of {connector.name}",
                "fail",
                f"{counted(count, 'message')} came from national numbers, so that STOP and heliograph erase miss them",
                f"heliograph connector set {connector.name} inbound_country=49, with the country code of these numbers",
            )
