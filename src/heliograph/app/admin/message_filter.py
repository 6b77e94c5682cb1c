"""Judges messages one by one: those of an encrypted store, by what it cannot be asked for, and those found by an id."""

from heliograph.app.records import Hit, Search
from heliograph.app.search_terms import ending_of
from heliograph.domain.country import country_of
from heliograph.domain.receipt import Delivery


def fits(search: Search, hit: Hit) -> bool:
    """Whether the message is of the connector, error, sender and country that the search asks for."""
    message = hit.message
    if search.connector not in (None, message.connector):
        return False
    if search.sender and message.sender.lower() != search.sender.lower():
        return False
    if search.country and country_of(message.destination) != search.country.upper():
        return False
    return not search.error or _has_error(search, hit)


def _has_error(search: Search, hit: Hit) -> bool:
    ending = ending_of(search.error)
    if ending is None or hit.delivery in (None, Delivery.DELIVRD):
        return False
    state, code = ending
    return state in (None, hit.delivery) and code in ("", hit.err)
