"""The pages of the console, a module for each part."""

from heliograph.console.pages import (
    accounts,
    callbacks,
    connectors,
    messages,
    overview,
    people,
    routing,
    sending,
    tryout,
)

PAGES = (
    *overview.PAGES,
    *messages.PAGES,
    *sending.PAGES,
    *accounts.PAGES,
    *connectors.PAGES,
    *routing.PAGES,
    *callbacks.PAGES,
    *people.PAGES,
    *tryout.PAGES,
)
