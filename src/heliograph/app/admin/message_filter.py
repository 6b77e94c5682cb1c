"""Judges messages one by one: those found by an id, here or by the admin API of a gateway elsewhere."""

from typing import NamedTuple

from heliograph.app.records import Hit, Search
from heliograph.domain.message.receipt import Delivery, ending_of
from heliograph.domain.numbers.country import country_of


class Narrowing(NamedTuple):
    """The connector, by its id or by its name, the sender, the country and the error that messages are to have. None
    and '' match all."""

    connector: int | str | None
    sender: str
    country: str
    error: str


class FilteredMessage(NamedTuple):
    """A message as far as it is judged: `connector` as in `Narrowing`, `delivery` and `err` once it has ended."""

    connector: int | str
    sender: str
    destination: str
    delivery: Delivery | None
    err: str


def has(message: FilteredMessage, asked: Narrowing) -> bool:
    """Whether the message has all that is asked for."""
    if asked.connector not in (None, "", message.connector):
        return False
    if asked.sender and message.sender.lower() != asked.sender.lower():
        return False
    if asked.country and country_of(message.destination) != asked.country.upper():
        return False
    return not asked.error or _has_error(message, asked.error)


def fits(search: Search, hit: Hit) -> bool:
    """Whether the message is of the connector, error, sender and country that the search asks for."""
    message = hit.message
    return has(
        FilteredMessage(message.connector, message.sender, message.destination, hit.delivery, hit.err),
        Narrowing(search.connector, search.sender, search.country, search.error),
    )


def _has_error(message: FilteredMessage, error: str) -> bool:
    ending = ending_of(error)
    if ending is None or message.delivery in (None, Delivery.DELIVRD):
        return False
    state, code = ending
    return state in (None, message.delivery) and code in ("", message.err)
