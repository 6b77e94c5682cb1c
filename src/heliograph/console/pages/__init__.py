"""The pages of the console, a module for each part. A new one is a module here, a template, and its name below."""

from importlib import import_module

from heliograph.console.request import PageRoute

_MODULES = (
    "overview",
    "find",
    "messages",
    "guard",
    "inbound",
    "conversation",
    "numbers",
    "registered_texts",
    "sending",
    "accounts",
    "ledger",
    "connectors",
    "routing",
    "prices",
    "callbacks",
    "senders",
    "suppressions",
    "recipients",
    "refusals",
    "reports",
    "users",
    "security",
    "simulator",
)

PAGES: tuple[PageRoute, ...] = tuple(page for name in _MODULES for page in import_module(f"{__name__}.{name}").PAGES)
