"""Prices and price plans: the price of a segment by the network or the first digits of the number, singly and in long
lists."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from heliograph.app.configuration import Missing, Price
from heliograph.app.ports.large_tables import COMPARED, PART_ROWS, PriceQuery
from heliograph.app.ports.large_tables import Key as Place
from heliograph.app.records import Scope
from heliograph.app.resources.description import Answer, Operation, Resource, Scopes
from heliograph.app.resources.desk import Desk, Invalid, NoSuch, audited_target, check_destination, check_name
from heliograph.app.resources.fields import KEEP, Credits, Field, Flag, Moment, Rows, Text
from heliograph.app.resources.large_lists import Row, all_rows, change_counts, page_of
from heliograph.app.resources.plans import ACCOUNTS, UNUSED, unused_note
from heliograph.app.resources.routes import NETWORK
from heliograph.app.resources.routes import PREFIX as ANY_PREFIX
from heliograph.domain.calendar import format_utc, parse_time, zone
from heliograph.domain.display import counted, numbers_of
from heliograph.domain.money.amounts import format_credits
from heliograph.domain.money.pricing import BUILT_IN_PRICE, DEFAULT_PLAN

MOST_AT_ONCE: Final = 200_000
"""The most prices of a list."""

ORDER: Final = ("plan", "prefix", "network", "since")
"""The fields by which prices are listed."""

PRICES_KEPT: Final = 100
"""Prices of a destination of which the audit log looks for the price that is removed."""

IMPORT_OCTETS: Final = 32 << 20
"""Octets. The largest body of an import: 200,000 prices of 160 octets."""

Key = tuple[str, str, str, int]
"""The plan, prefix, network and start date (ms) of a price, for example `("default", "49", "", 1800000000000)`."""


@dataclass(slots=True)
class PriceListing:
    """A page of the prices that a query finds, by plan, prefix, network and date."""

    prices: list[Price]
    found: int
    """The number of prices on all pages."""
    page: int
    """The number of this page, counted from 1."""
    plans: list[str]
    built_in: int | None
    """The price of numbers that the plan `default` leaves out, or None if it has a price for all numbers."""
    holding: set[Key]
    """The keys of the prices on this page that hold now."""

    def holds(self, price: Price) -> bool:
        return _key(price) in self.holding


async def find(
    desk: Desk,
    plan: str | None = None,
    past: bool = False,
    prefix: str = "",
    after: Place | None = None,
    limit: int = PART_ROWS,
) -> dict[str, Any]:
    """Returns present and future prices by plan, prefix, network and date; with `past` also replaced prices. `prefix`
    finds prices with longer and with shorter prefixes, and those of all networks. `after` is ORDER of the last price
    before them."""
    place = None if after is None else (*after[:3], after[3] or 0)
    query = PriceQuery(desk.now, plan or "", prefix, past, place, limit=limit)
    found = await desk.store.routing_lists.prices(query)
    return {"prices": [row_of(each) for each, _ in found], "built_in": await _built_in(desk)}


async def every(desk: Desk, plan: str, past: bool, prefix: str) -> list[Row]:
    """Returns all prices that `find` finds."""

    async def part(after: Place | None) -> list[Row]:
        found: list[Row] = (await find(desk, plan, past, prefix, after))["prices"]
        return found

    return await all_rows(part, ORDER)


async def listing(desk: Desk, query: PriceQuery, page: int) -> PriceListing:
    """Returns a page of `query.limit` prices. A page behind the last is the last."""
    lists = desk.store.routing_lists
    total = await lists.count_prices(query)
    query, page = page_of(query, page, total)
    found = await lists.prices(query)
    now = {_key(each) for each, holds in found if holds}
    shown = [each for each, _ in found]
    return PriceListing(shown, total, page, await plans(desk), await _built_in(desk), now)


async def plans(desk: Desk) -> list[str]:
    """Returns the names of all plans with prices or routes, and `default`."""
    return sorted({*(await desk.store.routing_lists.plan_names()), DEFAULT_PLAN})


async def set_price(
    desk: Desk,
    price: int,
    prefix: str = "",
    plan: str = DEFAULT_PLAN,
    inbound: int | None = None,
    since: int = 0,
    network: str = "",
) -> dict[str, Any]:
    """Sets or replaces a price that holds from `since` (ms) on. Returns it with the number of the plan's accounts.

    If there are none, `note` says so. Without `inbound`, the price of messages from phones stays as it is; a new price
    begins with 0. Raises Invalid.
    """
    wanted = _made(plan, prefix, network, price, inbound, since)
    details = {"plan": plan, "price": format_credits(price)}
    if inbound is not None:
        details["inbound"] = format_credits(inbound)
    if since:
        details["since"] = format_since(since)
    note = await unused_note(desk, [plan])
    row = row_of(await desk.audited("price.set", audited_target(prefix, network), details).network.set_price(wanted))
    return {**row, "accounts": (await desk.store.account_names.by_plan()).get(plan, 0), "note": note}


async def remove(
    desk: Desk, prefix: str = "", plan: str = DEFAULT_PLAN, since: int | None = None, network: str = ""
) -> None:
    """Removes the price that holds from `since` (ms) on; without a date, all prices of the prefix or network."""
    check_destination("price", prefix, network)
    details = {"plan": plan}
    of_plan = PriceQuery(desk.now, plan, past=True, after=(plan, prefix, network, -1), limit=PRICES_KEPT)
    for was, _ in await desk.store.routing_lists.prices(of_plan):
        if (was.prefix, was.network) == (prefix, network) and since in (None, was.since):
            details |= {"price": format_credits(was.price), "inbound": format_credits(was.inbound or 0)}
            details |= {"since": format_since(was.since)} if was.since else {}
    try:
        audited = desk.audited("price.remove", audited_target(prefix, network), details)
        await audited.network.remove_price(plan, network, prefix, since)
    except Missing:
        date = f" since {format_since(since)}" if since else ""
        raise NoSuch("price", f"for {numbers_of(prefix, network)} in the plan {plan}{date}") from None


async def put(
    desk: Desk, prices: Sequence[Mapping[str, Any]], replace: bool = False, dry_run: bool = False
) -> dict[str, Any]:
    """Sets all these prices or none. `replace` removes all other prices of their plans.

    Returns the counts of changes, for example `{"added": 2, "changed": 1, "same": 40, "removed": 0, "note": ""}`, with
    a note about plans that no account has. `dry_run` only counts.
    """
    if not prices:
        raise Invalid("prices", "the list is empty")
    by_key: dict[Key, Price] = await desk.in_thread(lambda: _by_key(prices))
    wanted = list(by_key.values())
    if len(wanted) < len(prices):
        raise Invalid("prices", "two of them have the same plan, destination and date")
    named = sorted({each.plan for each in wanted})
    replaced = named if replace else ()
    changes = await _compared(desk, by_key)
    note = await unused_note(desk, named)
    if replace:
        there = [await desk.store.routing_lists.count_prices(PriceQuery(desk.now, plan, past=True)) for plan in named]
        changes["removed"] = sum(there) - changes["changed"] - changes["same"]
    if not dry_run:
        counts = {"prices": len(wanted), "added": changes["added"], "changed": changes["changed"]}
        counts |= {"removed": changes["removed"]} if replace else {}
        details = {name: str(number) for name, number in counts.items()}
        audited = desk.audited("price.import", ", ".join(named)[:200], details)
        await audited.network.set_prices(wanted, replaced)
    return {**changes, "note": note}


def _by_key(rows: Sequence[Mapping[str, Any]]) -> dict[Key, Price]:
    """Returns the prices of a list. Raises Invalid."""
    made = (
        _made(each["plan"], each["prefix"], each.get("network", ""), each["price"], each.get("inbound"), each["since"])
        for each in rows
    )
    return {_key(each): each for each in made}


def row_of(price: Price) -> dict[str, Any]:
    """Returns the values of a price by the names of its fields. `since` is None if it holds from the beginning."""
    return {
        "plan": price.plan, "prefix": price.prefix, "network": price.network, "price": price.price,
        "inbound": price.inbound or 0, "since": price.since or None,
    }  # fmt: skip


def format_since(since: int) -> str:
    """Returns a date as the field `SINCE` reads it: `2027-01-15` for midnight in UTC, or "" for the beginning."""
    return _day(format_utc(since)) if since else ""


async def _compared(desk: Desk, wanted: Mapping[Key, Price]) -> dict[str, int]:
    """Returns the counts of changes without a replacement. It reads the prices of the list's destinations only."""
    changes = {"added": len(wanted), "changed": 0, "same": 0, "removed": 0}
    # grouped once: a list may name as many plans as it has prices
    of_plans: dict[str, list[tuple[str, str]]] = await desk.in_thread(lambda: _destinations(wanted.values()))
    for plan, targets in of_plans.items():
        for start in range(0, len(targets), COMPARED):
            part = targets[start : start + COMPARED]
            networks = [network for network, _ in part if network]
            prefixes = [prefix for network, prefix in part if not network]
            for price in await desk.store.large_tables.prices_of(plan, networks, prefixes):
                new = wanted.get(_key(price))
                if new is not None:
                    is_same = new.price == price.price and new.inbound in (None, price.inbound)
                    changes["added"] -= 1
                    changes["same" if is_same else "changed"] += 1
    return changes


def _destinations(prices: Iterable[Price]) -> dict[str, list[tuple[str, str]]]:
    """Returns the networks and prefixes of prices by plan, each once."""
    found: dict[str, dict[tuple[str, str], None]] = {}
    for each in prices:
        found.setdefault(each.plan, {})[each.network, each.prefix] = None
    return {plan: list(targets) for plan, targets in found.items()}


async def _built_in(desk: Desk) -> int | None:
    """Returns the built-in price if the plan `default` has no price for all numbers, else None."""
    first = await desk.store.routing_lists.prices(PriceQuery(desk.now, DEFAULT_PLAN, limit=1))
    is_named = any(holds and not (each.prefix or each.network) for each, holds in first)
    return None if is_named else BUILT_IN_PRICE


def _made(plan: str, prefix: str, network: str, price: int, inbound: int | None, since: int) -> Price:
    """Raises Invalid."""
    check_destination("price", prefix, network)
    if network and inbound:
        raise Invalid("inbound", "messages from phones are priced by prefix; set it without a network")
    return Price(plan, prefix, price, inbound, since, network)


def _key(price: Price) -> Key:
    return price.plan, price.prefix, price.network, price.since


def _format_removed(given: Mapping[str, Any], _: Mapping[str, Any]) -> str:
    numbers = numbers_of(given.get("prefix", ""), given.get("network", ""))
    return f"The price of {numbers} in the plan {given.get('plan', DEFAULT_PLAN)} is removed."


def _day(moment: str) -> str:
    return moment.replace(".000Z", "Z").removesuffix("T00:00:00Z")


def _format_price(_: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    prefix = answer["prefix"]
    numbers = f"Numbers with the prefix {prefix}" if prefix else "All numbers"
    numbers = f"Numbers of the network {answer['network']}" if answer["network"] else numbers
    sentence = f"{numbers} cost {counted(answer['price'], 'credit')} a segment in the plan {answer['plan']}"
    if answer["inbound"] != "0":
        sentence += f", messages from them {counted(answer['inbound'], 'credit')} each"
    sentence += f", from {_day(answer['since'])} on." if answer["since"] else "."
    return f"{sentence} {answer['note']}".rstrip()


class _Since(Text):
    """The day or time from which a price holds: ms inside, `2027-01-15` outside. 0 and "" are the beginning.

    A time without an offset is in UTC.
    """

    def read(self, value: str) -> int:
        text = value.strip()
        if not text:
            return 0
        try:
            since = max(0, parse_time(text if len(text) > len("2027-01-15") else f"{text} 00:00:00", zone("UTC")))
            format_since(since)  # a date beyond the year 9999 in UTC could never be shown again, nor could its list
        except ValueError:
            problem = f"{text[:40]!r} is not a date; write 2027-01-15 (UTC) or 2027-01-15T08:00:00+01:00"
            raise ValueError(problem) from None
        return since

    def show(self, value: int) -> str:
        return format_since(value)


class _Began(Moment):
    """The moment from which a price holds. Tables show only the day if it is midnight in UTC."""

    def text(self, value: Any) -> str:
        return "" if value is None else _day(value)


_AMOUNT = Credits("it must not be below zero")
DATE_PATTERN = r"([0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9:.]{5,15}(Z|[+-][0-9]{2}:?[0-9]{2})?)?)?"

PREFIX = replace(ANY_PREFIX, must_be_typed=True, or_else="network")
PLAN = Field(
    "plan",
    Text(lambda text: check_name("plan", text), "[A-Za-z0-9._-]{1,64}"),
    "The price plan.",
    DEFAULT_PLAN,
    example="resellers",
)
PRICE = Field("price", _AMOUNT, "Credits a segment, such as 1 or 0.065.", example="0.065")
INBOUND = Field("inbound", _AMOUNT, "Credits a message from a phone with the prefix; left out: unchanged.", KEEP)
SINCE = Field(
    "since",
    _Since(pattern=DATE_PATTERN),
    "When it begins to hold: a day, or ISO 8601, in UTC unless it has an offset; empty: at once.",
    0,
    example="2027-01-15",
)
_CHARGED = Field("inbound", _AMOUNT, "Credits a message from a phone with the prefix.")
HOLDS = Field("since", _Began(), "When it begins to hold; null: it holds from the beginning.", nullable=True)
_ROW = (replace(PLAN, default=""), ANY_PREFIX, NETWORK, PRICE, _CHARGED, HOLDS)
_ONLY_PLAN = replace(PLAN, meaning="Only prices of this plan.", default=None)
_ONLY_SINCE = replace(SINCE, meaning="Only the price with this start; empty: the price without a start.", default=KEEP)
_NEAR = replace(ANY_PREFIX, meaning="Only prices of numbers with this prefix.", default="", must_be_typed=False)
_PAST = Field("past", Flag(), "Include prices that later prices have replaced.", False)
NEW = (PRICE, PREFIX, NETWORK, PLAN, INBOUND, SINCE)
"""The fields of a new price."""

PRICES = Resource(
    name="price",
    plural="prices",
    summary="Prices of a segment, by the network or the first digits of the number",
    more="A plan is a named list of prices. Each account has a plan: `default`, unless you set another. The price of a "
    "number is that of its network in the account's plan, otherwise that of the longest matching prefix. If neither "
    "matches, the plan `default` is searched in the same way.\n\n"
    "Until you set a price, every number costs 1 credit. After that, an account with the plan `default` still pays 1 "
    "credit for a number that the plan leaves out. For an account with another plan, a number in neither plan is "
    "refused.\n\n"
    "Messages from phones cost nothing, unless the prefix has an `inbound` price. They are charged even if the balance "
    "is used up. They have the price of the prefix, never that of a network.\n\n"
    "A price may have a start date. It holds from then on, until a later price of the same prefix or network and plan "
    "starts.\n\n"
    "A running gateway applies a change within five seconds. Accepted messages keep their price, including scheduled "
    "messages.",
    nothing="The plan has no prices.",
    key=ORDER,
    called="prefix",
    examples=(
        'price set --prefix "" --price 0.05     # every number costs 0.05 credits a segment ...',
        "price set --prefix 49 --price 0.065    # ... except numbers that begin with 49",
        "price set --network 26202 --price 0.07    # ... of which those of the network 26202 cost 0.07",
        "price set --prefix 49 --price 0.06 --plan resellers    # and for accounts of the plan resellers 0.06",
        "account set acme plan=resellers",
        "price list",
    ),
    fields=_ROW,
    scopes=Scopes(Scope.READ_PRICES, Scope.WRITE_PRICES),
    operations=(
        Operation(
            "list",
            "GET /prices",
            find,
            "Present and future prices, of all plans or of a plan",
            reads=(_ONLY_PLAN, _PAST, _NEAR),
            answers=Answer.EACH,
            order=ORDER,
            beside=(
                Field(
                    "built_in",
                    Credits(),
                    "Credits a segment for numbers that the plan `default` leaves out; null: it has all numbers.",
                    nullable=True,
                    title="Built-in price of numbers that the plan default leaves out",
                ),
            ),
            examples=("price list", "price list --plan resellers"),
        ),
        Operation(
            "set",
            "PUT /prices",
            set_price,
            "Set or replace a price",
            reads=NEW,
            answers=(*_ROW, ACCOUNTS, UNUSED),
            answer_name="SetPrice",
            more="It replaces the plan's price with the same prefix, or network, and the same date. Shorter and longer "
            "prefixes keep their prices.",
            examples=(
                'price set --prefix "" --price 0.05    # all numbers without a price of a longer prefix',
                "price set --prefix 49 --price 0.06 --plan resellers",
                "price set --prefix 49 --price 0.065 --inbound 0.01",
                "price set --network 26202 --price 0.07    # wins over prefixes",
                "price set --prefix 49 --price 0.07 --since 2027-03-01    # midnight in UTC",
            ),
            done=_format_price,
        ),
        Operation(
            "import",
            "POST /prices/import",
            put,
            "Set a list of prices, all or none",
            reads=(
                Field("prices", Rows(NEW, "NewPrice", MOST_AT_ONCE), "The prices."),
                Field("replace", Flag(), "Remove all other prices of the plans in the list.", False),
                Field("dry_run", Flag(), "Only count the changes, without making them.", False),
            ),
            answers=(*change_counts("Prices"), UNUSED),
            read_name="NewPrices",
            answer_name="PriceChanges",
            id="put_prices",
            octets=IMPORT_OCTETS,
        ),
        Operation(
            "remove",
            "DELETE /prices",
            remove,
            "Remove the prices of a destination in a plan, all or of a date",
            reads=(PREFIX, NETWORK, PLAN, _ONLY_SINCE),
            is_found=True,
            examples=(
                "price remove --prefix 49 --plan resellers",
                "price remove --network 26202",
                "price remove --prefix 49 --since 2027-03-01    # only the price that starts in March",
            ),
            done=_format_removed,
        ),
    ),
)
