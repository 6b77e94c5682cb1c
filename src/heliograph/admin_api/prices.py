"""Prices, and lists of them."""

from msgspec import UNSET, Struct

from heliograph.admin_api import price_shapes, serialize, shapes
from heliograph.admin_api.request import AdminRequest, credits_of
from heliograph.app.admin.prices import parse_since
from heliograph.app.configuration import Price
from heliograph.app.resources.desk import Invalid
from heliograph.domain.error import invalid
from heliograph.domain.money.pricing import DEFAULT_PLAN


async def list_prices(request: AdminRequest) -> Struct:
    past = request.query.get("past", "false")
    if past not in ("true", "false"):
        raise invalid("past", "The parameter past is true or false.")
    prices = await request.prices.prices(request.query.get("plan") or None, past=past == "true")
    return serialize.prices(prices, await request.prices.built_in())


async def set_price(request: AdminRequest) -> Struct:
    wanted = _price(request.body)
    prices = request.prices
    return serialize.price(await prices.set(wanted.prefix, wanted.price, wanted.plan, wanted.inbound, wanted.since))


async def put_prices(request: AdminRequest) -> Struct:
    body: price_shapes.NewPrices = request.body
    wanted = []
    for number, each in enumerate(body.prices):
        try:
            wanted.append(_price(each))
        except Invalid as problem:
            raise Invalid(f"prices[{number}].{problem.field}", problem.problem) from None
    changes = await request.prices.put(wanted, replace=body.replace, dry_run=body.dry_run)
    return price_shapes.PriceChangesShape(changes.added, changes.changed, changes.same, changes.removed)


async def remove_price(request: AdminRequest) -> Struct:
    since = parse_since(request.query["since"]) if "since" in request.query else None
    plan = request.query.get("plan") or DEFAULT_PLAN
    await request.prices.remove(request.query.get("prefix", ""), plan, since)
    return shapes.DoneShape()


def _price(body: price_shapes.NewPrice) -> Price:
    """Returns the price that a body names. Raises Invalid."""
    inbound = None if body.inbound is UNSET else credits_of("inbound", body.inbound)
    return Price(body.plan, body.prefix, credits_of("price", body.price), inbound, parse_since(body.since))
