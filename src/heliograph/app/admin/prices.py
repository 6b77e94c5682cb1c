"""Administration of prices: single ones, and lists of thousands."""

from collections.abc import Sequence
from dataclasses import dataclass

from heliograph.app.configuration import Missing, Price
from heliograph.app.resources.desk import Desk, Invalid, NoSuch, check_name
from heliograph.app.resources.routes import PREFIX
from heliograph.domain.calendar import TimeProblem, format_utc, parse_time, zone
from heliograph.domain.money import amounts
from heliograph.domain.money.pricing import BUILT_IN_PRICE, DEFAULT_PLAN, in_force

MOST_AT_ONCE = 200_000
"""Prices that are imported at once."""

BuiltIn = int | None


@dataclass(slots=True)
class PriceChanges:
    """The numbers of prices that a list adds, changes, leaves as they are, and removes."""

    added: int = 0
    changed: int = 0
    same: int = 0
    removed: int = 0


@dataclass(slots=True)
class PriceQuery:
    """Prices of a plan, or of all ('' matches all), that are for a prefix or for numbers within it or around it; with
    `past` also those that others have taken the place of. `first` of them are left out."""

    plan: str = ""
    prefix: str = ""
    past: bool = False
    first: int = 0
    limit: int = 50


@dataclass(slots=True)
class PriceListing:
    """A part of the prices that a query finds, by plan, prefix and date, and what is true of all of them."""

    prices: list[Price]
    found: int
    plans: list[str]
    built_in: BuiltIn
    holding: set[tuple[str, str, int]]
    """Of `prices` those that hold now, by plan, prefix and date."""

    def holds(self, price: Price) -> bool:
        return _place(price) in self.holding


class ManagePrices(Desk):
    """Methods raise Invalid or NoSuch for mistakes of the user, and the store's Unavailable."""

    async def set(
        self, prefix: str, price: int, plan: str = DEFAULT_PLAN, inbound: int | None = None, since: int = 0
    ) -> Price:
        """Sets or replaces a price, in micro-credits a segment, that holds from `since` (ms) on; and that of a message
        from such a number, unless it is None."""
        wanted = Price(plan, prefix, price, inbound, since)
        check(wanted)
        told = {"plan": plan, "price": amounts.format_credits(price)}
        if inbound is not None:
            told["inbound"] = amounts.format_credits(inbound)
        if since:
            told["since"] = format_since(since)
        return await self.audited("price.set", prefix, told).network.set_price(wanted)

    async def prices(self, plan: str | None = None, *, past: bool = False) -> list[Price]:
        """Returns the prices that hold now or will hold, by plan, prefix and date; with `past` also those that others
        have taken the place of."""
        prices = (await self.store.network.tables()).prices
        holding = {(price.plan, price.prefix): price.since for price in in_force(prices, self.now)}
        chosen = [
            price
            for price in prices
            if plan in (None, price.plan) and (past or price.since >= holding.get((price.plan, price.prefix), 0))
        ]
        return sorted(chosen, key=_place)

    async def listing(self, query: PriceQuery) -> PriceListing:
        """Returns one page of prices, from one reading of the store."""
        prices = (await self.store.network.tables()).prices
        holding = in_force(prices, self.now)
        since = {(price.plan, price.prefix): price.since for price in holding}
        chosen = [
            price
            for price in prices
            if query.plan in ("", price.plan)
            and (price.prefix.startswith(query.prefix) or query.prefix.startswith(price.prefix))
            and (query.past or price.since >= since.get((price.plan, price.prefix), 0))
        ]
        chosen.sort(key=_place)
        shown = chosen[query.first : query.first + query.limit]
        now = {_place(price) for price in shown if since.get((price.plan, price.prefix)) == price.since}
        plans = sorted({price.plan for price in prices} | {DEFAULT_PLAN})
        named = any(price.plan == DEFAULT_PLAN and not price.prefix for price in holding)
        return PriceListing(shown, len(chosen), plans, None if named else BUILT_IN_PRICE, now)

    async def plans(self) -> list[str]:
        """Returns the names of all plans that have prices, and `default`."""
        return sorted({price.plan for price in (await self.store.network.tables()).prices} | {DEFAULT_PLAN})

    async def built_in(self) -> BuiltIn:
        """Returns what a number costs that the plan `default` leaves out; None where it leaves out none."""
        holding = in_force((await self.store.network.tables()).prices, self.now)
        named = any(price.plan == DEFAULT_PLAN and not price.prefix for price in holding)
        return None if named else BUILT_IN_PRICE

    async def remove(self, prefix: str, plan: str = DEFAULT_PLAN, since: int | None = None) -> None:
        """Removes the price that holds from a date on, or all of the prefix."""
        told = {"plan": plan}
        for was in await self.prices(plan, past=True):
            if was.prefix == prefix and since in (None, was.since):
                told["price"] = amounts.format_credits(was.price)
                told["inbound"] = amounts.format_credits(was.inbound or 0)
                told |= {"since": format_since(was.since)} if was.since else {}
        try:
            await self.audited("price.remove", prefix, told).network.remove_price(plan, prefix, since)
        except Missing:
            what = f"for the prefix {prefix}" if prefix else "for all numbers"
            date = f" since {format_since(since)}" if since else ""
            raise NoSuch("price", f"{what} in the plan {plan}{date}") from None

    async def put(self, wanted: Sequence[Price], *, replace: bool = False, dry_run: bool = False) -> PriceChanges:
        """Sets all of these prices, or none; with `replace` their plans have no others afterwards. A dry run only says
        what would change."""
        if not wanted:
            raise Invalid("prices", "there is none")
        if len(wanted) > MOST_AT_ONCE:
            raise Invalid("prices", f"there are {len(wanted)}, {MOST_AT_ONCE} at most go at once")
        for number, price in enumerate(wanted):
            try:
                check(price)
            except Invalid as problem:
                raise Invalid(f"prices[{number}].{problem.field}", problem.problem) from None
        by_place = {_place(price): price for price in wanted}
        if len(by_place) < len(wanted):
            raise Invalid("prices", "two of them are for the same plan, prefix and date")
        plans = sorted({price.plan for price in wanted})
        changes = _compare(by_place, (await self.store.network.tables()).prices, plans if replace else ())
        if not dry_run:
            told = {"prices": str(len(wanted)), "added": str(changes.added), "changed": str(changes.changed)}
            told |= {"removed": str(changes.removed)} if replace else {}
            store = self.audited("price.import", ", ".join(plans)[:200], told)
            await store.network.set_prices(wanted, plans if replace else ())
        return changes


def check(price: Price) -> None:
    """Raises Invalid unless the price may be set."""
    PREFIX.read(price.prefix)
    check_name("plan", price.plan)
    for name, micro in (("price", price.price), ("inbound", price.inbound or 0), ("since", price.since)):
        if micro < 0:
            raise Invalid(name, "it must not be below zero")


def parse_since(text: str) -> int:
    """Reads the date from which a price holds, as ms: a day or a time, in UTC unless it has an offset; empty is from
    the beginning. Raises Invalid."""
    text = text.strip()
    if not text:
        return 0
    try:
        return max(0, parse_time(text if len(text) > len("2027-01-15") else f"{text} 00:00:00", zone("UTC")))
    except TimeProblem:
        raise Invalid(
            "since", f"{text[:40]!r} is no date; write 2027-01-15 (UTC) or 2027-01-15T08:00:00+01:00"
        ) from None


def format_since(since: int) -> str:
    """Returns the date as `parse_since` reads it: the day alone where it begins in UTC; empty for the beginning."""
    if not since:
        return ""
    text = format_utc(since).replace(".000Z", "Z")
    return text.removesuffix("T00:00:00Z")


def _place(price: Price) -> tuple[str, str, int]:
    return price.plan, price.prefix, price.since


def _compare(
    wanted: dict[tuple[str, str, int], Price], there: Sequence[Price], replaced: Sequence[str]
) -> PriceChanges:
    changes = PriceChanges(added=len(wanted))
    for price in there:
        new = wanted.get(_place(price))
        if new is None:
            changes.removed += price.plan in replaced
            continue
        changes.added -= 1
        same = new.price == price.price and new.inbound in (None, price.inbound)
        changes.same += same
        changes.changed += not same
    return changes
