"""Coverage: for each destination of a price plan its connector, price, cost and margin, with what is wrong.

A plan may have a million destinations. They are read in parts, each with the rows that decide about its prefixes.
"""

from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import IO, Any, Final

from heliograph.app.ports.large_tables import PART_ROWS, DecidingKeys, DestinationQuery, Key
from heliograph.app.records import Scope
from heliograph.app.resources.description import Answer, Operation, Resource, Scopes
from heliograph.app.resources.desk import Desk, check_name
from heliograph.app.resources.fields import Credits, Field, Text, Words
from heliograph.app.resources.routes import permitted, present_obstacles, present_quality, read_prefix
from heliograph.app.routing.coverage import coverage
from heliograph.domain.csv_lines import write_rows
from heliograph.domain.money.pricing import DEFAULT_PLAN
from heliograph.domain.numbers.phone import prefixes

COVERED_AT_ONCE: Final = 500
"""Destinations that are read and covered at once: some ten milliseconds in a thread."""


async def find(
    desk: Desk, plan: str = DEFAULT_PLAN, prefix: str = "", after: Key | None = None, limit: int = PART_ROWS
) -> list[dict[str, Any]]:
    """Returns the destinations of a plan by prefix, with their connectors, prices and costs. `prefix` finds longer and
    shorter prefixes. `after` is ORDER of the last destination before them."""
    found: list[dict[str, Any]] = []
    async for part in parts(desk, plan, prefix, None if after is None else after[0], limit):
        found += part
    return found


async def parts(
    desk: Desk, plan: str, prefix: str = "", after: str | None = None, limit: int | None = None
) -> AsyncIterator[list[dict[str, Any]]]:
    """Yields the rows of `find` in parts."""
    small = await desk.store.network.tables(large=False)
    quality, obstacles = await present_quality(desk), await present_obstacles(desk)
    query = DestinationQuery(desk.now, (plan, DEFAULT_PLAN), prefix, are_routed=True, after=after)
    left = 1 << 62 if limit is None else limit
    while left:
        query = replace(query, limit=min(left, COVERED_AT_ONCE))
        found = await desk.store.large_tables.destinations(query)
        if not found:
            return
        rows = await desk.store.large_tables.deciding(
            DecidingKeys(beginnings(found), "", 0, plan, ("",), desk.now, are_several=True)
        )
        work = partial(coverage, found, rows.joined(small), plan, desk.simulated, desk.now, quality, obstacles)
        covered = await desk.in_thread(work)
        yield [permitted(desk, {each.name: getattr(row, each.name) for each in COVERED}) for row in covered]
        left -= len(found)
        query = replace(query, after=found[-1])


def beginnings(found: Iterable[str]) -> tuple[str, ...]:
    """Returns all beginnings of prefixes, the empty one included."""
    return tuple({each for prefix in found for each in prefixes(prefix)})


def write(rows: Iterable[Mapping[str, Any]], file: IO[str]) -> None:
    """Writes destinations of `find` as CSV with the columns of COVERED."""
    write_rows([[each.name for each in COVERED]], file)
    write_more(rows, file)


def write_more(rows: Iterable[Mapping[str, Any]], file: IO[str]) -> None:
    """Writes further destinations below those of `write`."""
    write_rows(([each.type.text(row[each.name]) for each in COVERED] for row in rows), file)


ORDER: Final = ("prefix",)

COVERED = (
    Field(
        "prefix",
        Text(),
        "First digits of the numbers, as far as no longer prefix has a row.",
        empty="(all)",
        example="49",
    ),
    Field("network", Text(), "MCCMNC of the prefix.", empty="", example="26201"),
    Field("connector", Text(), "The connector that takes a message now; null: none.", nullable=True, example="op1"),
    Field("others", Words(), "Connectors after it.", example="op2"),
    Field("price", Credits(), "Credits a segment; null: none.", nullable=True),
    Field("cost", Credits(), "Credits a delivered segment over the connector; null: not known.", nullable=True),
    Field("best_cost", Credits(), "The lowest known cost over any of them; null: not known.", nullable=True),
    Field("margin", Credits(), "Credits that a delivered segment earns; null: not known.", nullable=True),
    Field("problem", Text(), "`no route`, `no price`, `no margin`, `loss`, or empty.", example="no route"),
)
"""A destination of a plan."""

COVERAGE = Resource(
    name="destination",
    plural="destinations",
    summary="Connector, price and cost of each destination",
    more="Destinations of a price plan. A missing route, price or margin, and a loss, are marked.",
    nothing="There are no destinations.",
    key=ORDER,
    fields=COVERED,
    scopes=Scopes(Scope.READ_ROUTES, Scope.WRITE_ROUTES),
    operations=(
        Operation(
            "list",
            "GET /coverage",
            find,
            "Connector, price and cost of each destination",
            reads=(
                Field(
                    "plan",
                    Text(lambda text: check_name("plan", text)),
                    "The price plan.",
                    DEFAULT_PLAN,
                    example="default",
                ),
                Field(
                    "prefix", Text(read_prefix), "Only destinations of numbers with this prefix.", "", example="4917"
                ),
            ),
            answers=Answer.EACH,
            order=ORDER,
            more="The destinations are those of a price plan, with margins. Destinations without a route or price, and "
            "losses, are marked.",
            id="get_coverage",
            answer_name="Coverage",
        ),
    ),
    answer_name="Covered",
)
