"""Shapes of requests and answers about prices."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from heliograph.admin_api.shapes import Accepts, Credits, Moment, Name, Prefix

Since = Annotated[
    str,
    Meta(
        description="When it begins to hold: a day, or ISO 8601, in UTC unless it has an offset; empty: at once.",
        examples=["2027-01-15"],
        extra_json_schema={
            "pattern": r"^([0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9:.]{5,15}(Z|[+-][0-9]{2}:?[0-9]{2})?)?)?$"
        },
    ),
]


class NewPrice(Accepts):
    """Credits a segment to numbers that begin with `prefix`, in a price plan; and, unless it stays as it is, `inbound`:
    credits a message from such a phone."""

    price: Credits
    prefix: Prefix = ""
    plan: Name = "default"
    inbound: Credits | UnsetType = UNSET
    since: Since = ""


class PriceShape(Struct):
    """A price, which holds until the next one of the same plan and prefix does."""

    plan: Name
    prefix: Prefix
    price: Credits
    inbound: Credits
    since: Annotated[Moment | None, Meta(description="From when on it holds; null: from the beginning.")]


class Prices(Struct):
    """Prices by plan, prefix and date. A prefix that an account's plan does not name costs what the plan `default`
    names."""

    prices: list[PriceShape]
    built_in: Annotated[
        Credits | None,
        Meta(
            description="What a segment costs where the plan `default` names nothing; null where it names all numbers."
        ),
    ]


class NewPrices(Accepts):
    """A list of prices, which is taken whole or not at all."""

    prices: Annotated[list[NewPrice], Meta(min_length=1)]
    replace: Annotated[bool, Meta(description="Whether the plans that it names have no other prices afterwards.")] = (
        False
    )
    dry_run: Annotated[bool, Meta(description="Whether nothing is changed, and the answer says what would be.")] = False


class PriceChangesShape(Struct):
    """The numbers of prices that the list adds, changes, leaves as they are, and removes."""

    added: int
    changed: int
    same: int
    removed: int
