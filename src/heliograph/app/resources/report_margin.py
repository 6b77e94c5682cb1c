"""The margin report: the charges of messages less the costs of their operators, exactly over changes of both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from heliograph.app.configuration import Cost, MobileNetwork
from heliograph.app.ports.large_tables import PART_ROWS, CostQuery
from heliograph.app.records import Earning, Scope
from heliograph.app.resources.costs import UNTIL
from heliograph.app.resources.description import Operation
from heliograph.app.resources.desk import Desk, Invalid
from heliograph.app.resources.fields import Credits, Field, Item, Moment, Rows, Text, Whole
from heliograph.app.resources.report_periods import MOST_DAYS
from heliograph.domain.csv_lines import csv_line
from heliograph.domain.message.ids import first_key_at, time_of
from heliograph.domain.money.costs import CostHistory
from heliograph.domain.numbers.country import country_of
from heliograph.domain.numbers.phone import PrefixTable

MARGIN_BY: Final = ("connector", "country", "network", "plan")
"""Kinds of groups that the report may have."""

HOUR_MS: Final = 3_600_000
DAY_MS: Final = 24 * HOUR_MS

HOURLY_MS: Final = 3 * DAY_MS
"""Up to this length a report has a point an hour, otherwise a day (UTC)."""

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

    def add(self, other: "MarginSum") -> None:
        """Adds other sums."""
        self.messages += other.messages
        self.segments += other.segments
        self.delivered += other.delivered
        self.revenue += other.revenue
        self.cost += other.cost
        self.unknown += other.unknown


class MarginSheet:
    """Sums by group, and by steps of time. A group has a value for each kind of `by`, for example `("op1", "DE")`."""

    def __init__(
        self,
        by: Sequence[str],
        step: int,
        connectors: Mapping[int, str],
        plans: Mapping[int, str],
    ) -> None:
        """`connectors`: names by id. `plans`: the plans of accounts by id."""
        self.sums: dict[tuple[str, ...], MarginSum] = {}
        self.points: dict[int, MarginSum] = {}
        """By the start (ms) of the step in which messages were accepted."""
        self._step = step
        self._by = by
        self._costs = CostHistory(())
        self._networks: PrefixTable[str] = PrefixTable()
        self._connectors = connectors
        self._plans = plans

    def know_costs(self, costs: Sequence[Cost]) -> None:
        """Adds all costs of connectors, which must come before their messages."""
        self._costs.add(costs)

    def know_networks(self, networks: Sequence[MobileNetwork]) -> None:
        """Adds networks by prefix, for messages that keep none."""
        prefixes, codes = [each.prefix for each in networks], [each.mccmnc for each in networks]
        self._networks.put_all(prefixes, codes)

    def add(self, earning: Earning) -> None:
        """Adds a message; one that waits does not count. It and its charge belong to the connector of its last segment,
        and each segment with its cost to its own connector: after receipts of `failover_receipts` there are several.
        """
        if not earning.segments:
            return
        number = earning.destination
        network = earning.network or self._networks.find(number) or ""
        at = time_of(earning.key)
        point = self.points.setdefault(at - at % self._step, MarginSum())
        values = {
            "country": country_of(number),
            "network": network,
            "plan": self._plans.get(earning.account, ""),
        }
        for connector, found in self._by_connector(earning, network).items():
            values["connector"] = self._connectors.get(connector, f"#{connector}")
            group = tuple(values[kind] for kind in self._by)
            self.sums.setdefault(group, MarginSum()).add(found)
            point.add(found)

    def _by_connector(self, earning: Earning, network: str) -> dict[int, MarginSum]:
        sums = {earning.segments[-1].connector: MarginSum(messages=1, revenue=earning.amount)}
        for segment in earning.segments:
            found = sums.setdefault(segment.connector, MarginSum())
            found.segments += 1
            found.delivered += segment.is_delivered
            cost = self._costs.cost(segment.connector, earning.destination, network, segment.at)
            if cost is None:
                found.unknown += 1
            else:
                found.cost += cost[0] + (cost[1] if segment.is_delivered else 0)
        return sums

    @property
    def total(self) -> MarginSum:
        """The sums of all groups."""
        total = MarginSum()
        for each in self.sums.values():
            total.add(each)
        return total

    def rows(self) -> list[dict[str, Any]]:
        """Returns the rows of the report, the largest revenue first."""
        ranked = sorted(self.sums.items(), key=lambda each: (-each[1].revenue, each[0]))
        absent = dict.fromkeys(MARGIN_BY)
        return [{**absent, **dict(zip(self._by, group, strict=True)), **_sums(of)} for group, of in ranked]


def _sums(of: MarginSum) -> dict[str, Any]:
    return {each.name: getattr(of, each.name) for each in MARGIN_SUMS}


async def _costs(desk: Desk, connector: int) -> list[Cost]:
    """Returns all costs of a connector, past ones included."""
    costs: list[Cost] = []
    if not connector:  # the simulated operator has none, and a query with 0 finds the costs of all connectors
        return costs
    query = CostQuery(desk.now, connector, past=True)
    while found := await desk.store.routing_lists.costs(query):
        costs += found
        last = found[-1]
        query = replace(query, after=(connector, last.network, last.prefix, last.since))
    return costs


async def margin(desk: Desk, by: str, **period: int) -> dict[str, Any]:
    """Returns the report of messages that were accepted from `period["from"]` until before `period["to"]` (ms; 0 is
    now). Without a start it has the 24 hours before the end."""
    start, end = _period(desk.now, period)
    kinds = by.split(",")
    plans = {account.id: account.plan for account, _ in await desk.store.accounts.all()}
    step = HOUR_MS if end - start <= HOURLY_MS else DAY_MS
    sheet = MarginSheet(kinds, step, await desk.known_connectors(), plans)
    known: set[int] = set()
    knows_networks = False
    after, last = first_key_at(start) - 1, first_key_at(end)
    while page := await desk.store.messages.earnings(after, last, PAGE):
        used = {segment.connector for earning in page for segment in earning.segments}
        for connector in used - known:
            sheet.know_costs(await _costs(desk, connector))
        known |= used
        if not knows_networks and not all(earning.network for earning in page):
            prefix = ""
            while networks := await desk.store.routing_lists.networks(prefix, PART_ROWS):
                sheet.know_networks(networks)
                prefix = networks[-1].prefix
            knows_networks = True
        for earning in page:
            sheet.add(earning)
        after = page[-1].key
    points = [
        {"time": at, "revenue": of.revenue, "cost": of.cost, "margin": of.margin}
        for at in range(start - start % step, end, step)
        for of in (sheet.points.get(at, MarginSum()),)
    ]
    return {
        "from": start, "to": end, "step_s": step // 1_000, "rows": sheet.rows(), "total": _sums(sheet.total),
        "points": points,
    }  # fmt: skip


def check_margin(now: int, asked: Mapping[str, str]) -> None:
    """Raises Invalid for values (texts) that the report refuses, without adding up anything."""
    _period(now, {each.name: each.read(asked[each.name]) for each in MARGIN.reads})


def _period(now: int, given: Mapping[str, Any]) -> tuple[int, int]:
    end = given["to"] or now + 1
    start = given["from"] or end - DAY_MS
    if start >= end:
        raise Invalid("from", "it must be before the end")
    if end - start > MOST_DAYS * DAY_MS:
        raise Invalid("to", f"it is more than {MOST_DAYS:,} days after the start")
    return start, end


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
            UNTIL,
            name="from",
            meaning="Start: a day or ISO 8601, in UTC without an offset; empty: 24 hours.",
        ),
        replace(UNTIL, name="to", meaning=f"End, excluded, up to {MOST_DAYS:,} days after the start; empty: now."),
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
                        Field(kind, Text(), f"{meaning}; null: not asked for.", example=example, nullable=True)
                        for kind, meaning, example in zip(
                            MARGIN_BY,
                            (
                                "The connector of the last segment",
                                "Country of the number by ISO 3166-1, empty if it is not known",
                                "MCCMNC of the number, empty if it is not known",
                                "The account's plan",
                            ),
                            ("op1", "DE", "26201", "default"),
                            strict=True,
                        )
                    ),
                    *MARGIN_SUMS,
                ),
                "MarginRow",
            ),
            "The groups, the largest revenue first.",
        ),
        Field("step_s", Whole(), "Seconds between two points: an hour, or a day of UTC."),
        Field(
            "points",
            Rows(
                (
                    Field("time", Moment(), "Start of the step."),
                    *(each for each in MARGIN_SUMS if each.name in ("revenue", "cost", "margin")),
                ),
                "MarginPoint",
            ),
            "Sums by the time of acceptance.",
        ),
    ),
    scope=Scope.READ_PRICES,
    is_long=True,
    id="get_margin",
    answer_name="MarginReport",
    more="Messages count by the time of their acceptance, once an operator took them. Costs hold as of the moment at "
    "which the operator took a segment; a cost for delivered segments counts as soon as the receipt is there.",
    examples=(
        "report margin",
        "report margin --by connector,country --from 2027-01-01 --to 2027-02-01",
        "report margin --by plan --csv",
    ),
)
