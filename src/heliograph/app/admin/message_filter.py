"""Narrows a search for messages by what the store has no index of."""

from dataclasses import dataclass

from heliograph.app.records import Hit
from heliograph.domain.country import country_of


@dataclass(frozen=True, slots=True)
class MessageFilter:
    """Conditions that a message must meet; None and '' match all. An encrypted store can be asked for none of it, so
    that rows are read and judged one by one."""

    connector: int | None = None
    """Id of the connector that the message went to, or is to go to."""
    error: str = ""
    """State and code of a final state that is no delivery, or one of them: `UNDELIV`, `011`, `UNDELIV 011`."""
    sender: str = ""
    """The sender, whole; case does not matter."""
    country: str = ""
    """Country of the destination, as in ISO 3166-1 with two letters; case does not matter."""

    @property
    def narrows(self) -> bool:
        return self != EVERY_MESSAGE

    def fits(self, hit: Hit) -> bool:
        message = hit.message
        if self.connector not in (None, message.connector):
            return False
        if self.sender and message.sender.casefold() != self.sender.casefold():
            return False
        if self.country and country_of(message.destination) != self.country.upper():
            return False
        return not self.error or self._has_error(hit)

    def _has_error(self, hit: Hit) -> bool:
        if hit.delivery is None:
            return False
        told = {hit.delivery.name.casefold(), hit.err.casefold()}
        return all(word in told for word in self.error.casefold().split())


EVERY_MESSAGE = MessageFilter()
