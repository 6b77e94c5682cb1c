"""The pages of the console. They are drawn from resources, or have a module with a template.

A new page has its name in the lists below.
"""

from importlib import import_module

from heliograph.app.resources.audit import AUDIT
from heliograph.app.resources.binds import BINDS
from heliograph.app.resources.costs import COSTS
from heliograph.app.resources.guard import GUARD
from heliograph.app.resources.networks import NETWORKS
from heliograph.app.resources.nodes import NODES
from heliograph.app.resources.numbers import NUMBERS
from heliograph.app.resources.plans import PLANS
from heliograph.app.resources.sender_rules import SENDER_RULES
from heliograph.app.resources.senders import SENDERS
from heliograph.app.resources.sending_lists import SENDING_LISTS
from heliograph.app.resources.templates import TEMPLATES
from heliograph.console.pages.drawn import pages_of
from heliograph.console.request import PageRoute

DRAWN = (AUDIT, COSTS, NETWORKS, NUMBERS, PLANS, SENDERS, SENDER_RULES, TEMPLATES, GUARD, BINDS, SENDING_LISTS, NODES)
"""Resources with a page that shows a list and forms."""

_MODULES = (
    "overview",
    "find",
    "messages",
    "inbound",
    "conversation",
    "sending",
    "accounts",
    "ledger",
    "connectors",
    "queue",
    "routing",
    "prices",
    "callbacks",
    "suppressions",
    "recipients",
    "refusals",
    "reports",
    "margin",
    "users",
    "security",
    "simulator",
)

PAGES: tuple[PageRoute, ...] = (
    *(page for name in _MODULES for page in import_module(f"{__name__}.{name}").PAGES),
    *(page for resource in DRAWN for page in pages_of(resource)),
)
