"""The pages of the console, a module for each part."""

from heliograph.console.pages import (
    accounts,
    callbacks,
    connectors,
    messages,
    overview,
    routing,
    sending,
    simulator,
    users,
)

PAGES = (
    *overview.PAGES,
    *messages.PAGES,
    *sending.PAGES,
    *accounts.PAGES,
    *connectors.PAGES,
    *routing.PAGES,
    *callbacks.PAGES,
    *users.PAGES,
    *simulator.PAGES,
)
