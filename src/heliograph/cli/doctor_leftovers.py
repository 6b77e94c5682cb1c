"""What `heliograph doctor` finds that waits for too long, or was given up, and what to do about each."""

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

from heliograph.admin_api.bind_states import FRESH_MS
from heliograph.cli.doctor_finding import Finding
from heliograph.domain.display import counted, duration

if TYPE_CHECKING:
    from heliograph.app.admin.manage import Manage
    from heliograph.app.configuration import Connector
    from heliograph.app.ports import ConnectorReport

OLD_MS = 60_000
"""A message that has been due for so long is worth a look. Milliseconds."""

UNKNOWN_DAYS = 7
"""How long ago messages may have been accepted of which it is told that nobody knows their fate."""

DAY_MS = 86_400_000


async def remains(manage: "Manage") -> AsyncIterator[Finding]:
    """One finding for each thing that there is, and one that says so where there is none."""
    store, now = manage.store, manage.now
    backlog = await store.upkeep.counts(now)
    names = {connector.id: connector for connector in await manage.connectors()}
    quiet = True
    for finding in (
        *_late(names, await store.queue.next_due(), await store.network.link_states(), now),
        *_deferred(names, backlog.deferred),
        *_unknown(await store.upkeep.ended_unknown(now - UNKNOWN_DAYS * DAY_MS)),
        *_orphans(backlog.orphans),
        *_callbacks(backlog.owed, backlog.ended),
    ):
        quiet = False
        yield finding
    if quiet:
        yield Finding("backlog", "ok", "nothing waits for long, and nothing was given up")


def _late(
    connectors: "dict[int, Connector]", dues: dict[int, int], reports: "list[ConnectorReport]", now: int
) -> Iterator[Finding]:
    """The oldest message of each connector, in the rows or in a running gateway's memory."""
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
    """What a connector is called that the store does not have."""
    from heliograph.composition.commands import NAMES

    return NAMES.get(number, f"a connector that is gone ({number})")


def _deferred(connectors: "dict[int, Connector]", deferred: dict[int, int]) -> Iterator[Finding]:
    for number, count in sorted(deferred.items()):
        name = connectors[number].name if number in connectors else _unlisted(number)
        yield Finding(
            f"deferred by {name}",
            "note",
            f"{counted(count, 'message waits', 'messages wait')} for another try: not wanted yet, or not answered",
            f"They go again by themselves. The log has why (smpp.put_off), and so has heliograph connector show {name}",
        )


def _unknown(count: int) -> Iterator[Finding]:
    if count:
        yield Finding(
            "unknown outcome",
            "note",
            f"of {counted(count, 'message')} of the last {UNKNOWN_DAYS} days nobody knows whether it arrived",
            "No answer or no receipt came: ask the operator. heliograph message find --state undelivered lists them",
        )


def _orphans(count: int) -> Iterator[Finding]:
    if count:
        yield Finding(
            "receipts",
            "note",
            f"{counted(count, 'receipt')} of the last {UNKNOWN_DAYS} days matched no message",
            "heliograph receipts orphans: are their ids like those of heliograph tail? Nobody may have asked for them",
        )


def _callbacks(owed: int, ended: int) -> Iterator[Finding]:
    if owed:
        yield Finding(
            "callbacks owed",
            "note",
            f"{counted(owed, 'callback waits', 'callbacks wait')} for another try",
            "heliograph callbacks status names the receivers that fail, and how",
        )
    if ended:
        yield Finding(
            "callbacks given up",
            "note",
            f"{counted(ended, 'callback was', 'callbacks were')} given up, or refused for good by the receiver",
            "When the receiver works again: heliograph callbacks replay --account NAME, or --all",
        )
