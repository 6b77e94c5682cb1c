"""Doubts about receipts: signs that an operator reports deliveries that did not happen.

Some operators report messages as delivered that they dropped. Three signs are in the counts of the last day:

    instant    all receipts come within a second, faster than phones answer
    denied     customers say by their feedback that reported messages did not arrive
    nowhere    nearly all messages to numbers of no known network are reported as delivered
"""

from collections.abc import Iterable, Sequence
from typing import Final

from heliograph.app.ports.series import SeriesCell, SeriesQuery, recent_hours
from heliograph.domain.series import Cell, CellKey
from heliograph.domain.sketch import Sketch, merge, quantile

HOURS: Final = 24
"""Hours of receipts that count, the present hour included."""

INSTANT_MS: Final = 1_000
"""Milliseconds from the answer to the receipt. Most deliveries to a phone take two seconds or more."""

LEAST_INSTANT: Final = 200
"""Receipts from which their delays count."""

LEAST_DENIED: Final = 20
"""Denied messages from which they count. Some customers deny by mistake."""

DENIED_SHARE: Final = 0.05
"""Share of the reported messages that must be denied."""

LEAST_NOWHERE: Final = 100
"""Messages to numbers of no known network from which they count."""

NOWHERE_SHARE: Final = 0.9
"""Share of these that must be reported as delivered. An honest operator reports nearly none of them."""

Doubts = dict[int, dict[str, str]]
"""Sentences by connector and sign, such as `denied`. They begin small and have no full stop, as all warnings."""


def doubt_query(now: int) -> SeriesQuery:
    """Returns the query of the counts that `find_doubts` takes, with their totals and details."""
    return recent_hours(now, HOURS)


def find_doubts(totals: Sequence[tuple[CellKey, Cell]], details: Iterable[SeriesCell]) -> Doubts:
    """Returns the doubts about the connectors with these counts of all accounts and connectors."""
    delays: dict[int, Sketch] = {}
    for each in details:
        merge(delays.setdefault(each.key.connector, {}), each.cell.to_receipt)
    networked = {key.country for key, _ in totals if key.network}
    cells: dict[int, Cell] = {}
    nowhere: dict[tuple[int, str], Cell] = {}
    for key, cell in totals:
        cells.setdefault(key.connector, Cell()).add(cell)
        if key.country in networked and not key.network:
            nowhere.setdefault((key.connector, key.country), Cell()).add(cell)
    doubts: Doubts = {}
    for connector, delay in delays.items():
        slowest = quantile(delay, 1.0)
        if slowest is not None and slowest <= INSTANT_MS and sum(delay.values()) >= LEAST_INSTANT:
            doubts.setdefault(connector, {})["instant"] = (
                f"all {sum(delay.values()):,} receipts of the last day came within {max(1, round(slowest)):,} ms, "
                "faster than phones answer: the operator may report deliveries that did not happen"
            )
    for connector, cell in cells.items():
        if cell.denied >= LEAST_DENIED and cell.denied >= DENIED_SHARE * cell.delivered:
            doubts.setdefault(connector, {})["denied"] = (
                f"customers say that {cell.denied:,} of the {cell.delivered:,} messages did not arrive that the "
                "operator reported as delivered in the last day"
            )
    for (connector, country), cell in nowhere.items():
        if cell.ended >= LEAST_NOWHERE and cell.delivered >= NOWHERE_SHARE * cell.ended:
            doubts.setdefault(connector, {}).setdefault("nowhere", (
                f"the operator reported {cell.delivered:,} of {cell.ended:,} messages of the last day as delivered to "
                f"numbers in {country} that belong to no known network: such numbers do not exist, or the list of "
                "networks is incomplete"
            ))  # fmt: skip
    return doubts
