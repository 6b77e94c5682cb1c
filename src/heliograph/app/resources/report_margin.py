"""The margin report: the charges of messages less the costs of their operators, exactly over changes of both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from heliograph.app.configuration import MobileNetwork, Tables
from heliograph.app.records import Earning, Scope
from heliograph.app.resources.description import Operation
from heliograph.app.resources.desk import Desk, Invalid
from heliograph.app.resources.fields import Credits, Field, Item, Moment, Rows, Text, Whole
from heliograph.app.resources.prices import SINCE
from heliograph.domain.csv_lines import csv_line
from heliograph.domain.message.ids import first_key_at
from heliograph.domain.money.costs import CostHistory
from heliograph.domain.numbers.country import country_of
from heliograph.domain.numbers.phone import PrefixTable

MARGIN_BY: Final = ("connector", "country", "network", "plan")
"""Kinds of groups that the report may have."""

DAY_MS: Final = 86_400_000

PAGE: Final = 500
"""Messages that are read and added at once: some 5 ms, after which the gateway's other work has its turn."""


@dataclass(slots=True)
class MarginSum:
    """Sums over messages that an operator took, or may have taken. Amounts are micro-credits."""

    messages: int = 0
    segments: int = 0
    delivered: int = 0
    """Segments."""
    revenue: int = 0
    """Charges less refunds."""
    cost: int = 0
    unknown: int = 0
    """Segments without a known cost. `cost` lacks them."""

    @property
    def margin(self) -> int:
        return self.revenue - self.cost

    def add(self, earning: Earning, costs: CostHistory, network: str) -> None:
        """Adds a message with taken segments."""
        self.messages += 1
        self.revenue += earning.amount
        for segment in earning.segments:
            self.segments += 1
            self.delivered += segment.is_delivered
            found = costs.cost(segment.connector, earning.destination, network, segment.at)
            if found is None:
                self.unknown += 1
            else:
                submitted, delivered = found
                self.cost += submitted + (delivered if segment.is_delivered else 0)


class MarginSheet:
    """Sums by group. A group has a value for each kind of `by`, for example `("op1", "DE")`."""

    def __init__(
        self,
        by: Sequence[str],
        tables: Tables,
        connectors: Mapping[int, str],
        plans: Mapping[int, str],
    ) -> None:
        """`connectors`: names by id. `plans`: the plans of accounts by id."""
        self.sums: dict[tuple[str, ...], MarginSum] = {}
        self._by = by
        self._costs = CostHistory(tables.costs)
        self._networks = _networks(tables.networks)
        self._connectors = connectors
        self._plans = plans

    def add(self, earning: Earning) -> None:
        """Adds a message. It belongs to the connector of its last segment; a message that waits does not count."""
        if not earning.segments:
            return
        number = earning.destination
        network = self._networks.find(number) or ""
        connector = earning.segments[-1].connector
        values = {
            "connector": self._connectors.get(connector, f"#{connector}"),
            "country": country_of(number),
            "network": network,
            "plan": self._plans.get(earning.account, ""),
        }
        group = tuple(values[kind] for kind in self._by)
        sums = self.sums.get(group)
        if sums is None:
            sums = self.sums[group] = MarginSum()
        sums.add(earning, self._costs, network)

    @property
    def total(self) -> MarginSum:
        """The sums of all groups."""
        total = MarginSum()
        for each in self.sums.values():
            total.messages += each.messages
            total.segments += each.segments
            total.delivered += each.delivered
            total.revenue += each.revenue
            total.cost += each.cost
            total.unknown += each.unknown
        return total

    def rows(self) -> list[dict[str, Any]]:
        """Returns the rows of the report, the largest revenue first."""
        ranked = sorted(self.sums.items(), key=lambda each: (-each[1].revenue, each[0]))
        absent = dict.fromkeys(MARGIN_BY)
        return [{**absent, **dict(zip(self._by, group, strict=True)), **_sums(of)} for group, of in ranked]


def _networks(networks: Sequence[MobileNetwork]) -> PrefixTable[str]:
    return PrefixTable({each.prefix: each.mccmnc for each in networks})


def _sums(of: MarginSum) -> dict[str, Any]:
    return {each.name: getattr(of, each.name) for each in MARGIN_SUMS}


async def margin(desk: Desk, by: str, **period: int) -> dict[str, Any]:
    """Returns the report of messages that were accepted from `period["from"]` until before `period["to"]` (ms; 0 is
    now). Without a start it has the 24 hours before the end."""
    end = period["to"] or desk.now + 1
    start = period["from"] or end - DAY_MS
    if start >= end:
        raise Invalid("from", "it must be before the end")
    kinds = by.split(",")
    plans = {account.id: account.plan for account, _ in await desk.store.accounts.all()}
    sheet = MarginSheet(kinds, await desk.store.network.tables(), await desk.known_connectors(), plans)
    after, last = first_key_at(start) - 1, first_key_at(end)
    while page := await desk.store.messages.earnings(after, last, PAGE):
        for earning in page:
            sheet.add(earning)
        after = page[-1].key
    return {"from": start, "to": end, "rows": sheet.rows(), "total": _sums(sheet.total)}


def margin_table(report: Mapping[str, Any]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Returns the columns and the rows of a report (JSON). Kinds of groups that were not asked for have no column."""
    rows = report["rows"]
    kinds = [kind for kind in MARGIN_BY if any(row[kind] is not None for row in rows)]
    columns = (*kinds, *(each.name for each in MARGIN_SUMS))
    return columns, [tuple(str(row[name]) for name in columns) for row in rows]


def margin_csv(report: Mapping[str, Any]) -> str:
    """Returns the table as CSV (RFC 4180), with a line of names."""
    columns, rows = margin_table(report)
    return b"".join(csv_line(*row) for row in [columns, *rows]).decode()


def _read_by(text: str) -> str:
    kinds = [word.strip() for word in text.split(",")]
    unknown = [kind for kind in kinds if kind not in MARGIN_BY]
    if unknown or len(set(kinds)) < len(kinds):
        raise ValueError(f"{text!r} is not a list out of {', '.join(MARGIN_BY)}, such as connector,country")
    return ",".join(kind for kind in MARGIN_BY if kind in kinds)


MARGIN_SUMS: Final = (
    Field("messages", Whole(), "Messages that an operator took."),
    Field("segments", Whole(), "Their segments that an operator took."),
    Field("delivered", Whole(), "Segments that were delivered."),
    Field("revenue", Credits(), "Credits charged for the messages, minus refunds."),
    Field("cost", Credits(), "Credits that the operators charge for the segments."),
    Field("margin", Credits(), "Revenue minus cost."),
    Field("unknown", Whole(), "Segments without a known cost; the cost lacks them."),
)
MARGIN: Final = Operation(
    "margin",
    "GET /reports/margin",
    margin,
    "Revenue, cost and margin of messages",
    reads=(
        Field(
            "by",
            Text(_read_by, "(connector|country|network|plan)(,(connector|country|network|plan)){0,3}"),
            "Groups of the rows: connector, country, network or plan, or several with commas.",
            "connector",
            example="connector,country",
        ),
        replace(
            SINCE,
            name="from",
            meaning="Start: a day or ISO 8601, in UTC without an offset; empty: 24 hours.",
        ),
        replace(SINCE, name="to", meaning="End, in the same form, excluded; empty: now."),
    ),
    answers=(
        Field("from", Moment(), "Start, included."),
        Field("to", Moment(), "End, excluded."),
        Field("total", Item(MARGIN_SUMS, "MarginSums"), "Sums over all rows."),
        Field(
            "rows",
            Rows(
                (
                    *(
                        Field(kind, Text(), f"{meaning}; null: not asked for.", nullable=True)
                        for kind, meaning in zip(
                            MARGIN_BY,
                            (
                                "The connector of the last segment",
                                "Country of the number by ISO 3166-1, empty if it is not known",
                                "MCCMNC of the number, empty if it is not known",
                                "The account's plan",
                            ),
                            strict=True,
                        )
                    ),
                    *MARGIN_SUMS,
                ),
                "MarginRow",
            ),
            "The groups, the largest revenue first.",
        ),
    ),
    scope=Scope.READ_PRICES,
    id="get_margin",
    answer_name="MarginReport",
    more="Messages count by the time of their acceptance, once an operator took them. Costs are those of the moment at "
    "which the operator took a segment; a cost for delivered segments counts as soon as the receipt is there.",
    examples=(
        "report margin",
        "report margin --by connector,country --from 2027-01-01 --to 2027-02-01",
        "report margin --by plan --csv",
    ),
)
