"""Templates that registries of operators have."""

from collections.abc import Sequence
from typing import Protocol

from heliograph.app.configuration import MessageTemplate


class Templates(Protocol):
    """Changes templates. Each change adds one to the revision of `Network`, whose tables include them."""

    async def add(self, template: MessageTemplate) -> MessageTemplate:
        """Adds the template and gives it an id. Raises Exists if another template has the name, Missing for an unknown
        account.
        """

    async def update(self, template: MessageTemplate) -> None:
        """Changes the template. Raises Missing for an unknown template or account, and Exists if another template has
        the name.
        """

    async def put(self, templates: Sequence[MessageTemplate]) -> int:
        """Adds these templates, or replaces templates of the same names, all or none. Returns how many are new. Raises
        Missing for an unknown account.
        """

    async def remove(self, name: str) -> None:
        """Raises Missing."""
