"""The first steps of a new gateway, until all of them are done. A step is done if the gateway has its result."""

from dataclasses import dataclass

from heliograph.app.records import Scope, Search
from heliograph.app.resources import prices, routes
from heliograph.console.request import PageRequest


@dataclass(frozen=True, slots=True)
class FirstStep:
    """A step: the task, its reason, and the page for it."""

    title: str
    why: str
    action: str
    path: str
    scope: Scope
    done: bool


async def first_steps(request: PageRequest) -> list[FirstStep]:
    """Returns the steps in their order; none where all are done, in a development run, which has all it needs, and for
    users who could take none of them."""
    if request.services.simulated is not None or not request.may(Scope.WRITE_CONNECTORS):
        return []
    desk = request.desk
    sent = await desk.store.messages.search(Search(limit=1))
    steps = [
        FirstStep(
            "Connect an operator",
            "A connector says where and how to bind to the operator’s SMSC.",
            "Add a connector", "/connectors-new", Scope.WRITE_CONNECTORS, bool(await desk.connector_names()),
        ),
        FirstStep(
            "Route numbers to it",
            "A route leads all numbers, or those with a prefix, to a connector.",
            "Add a route", "/routing", Scope.WRITE_ROUTES, bool(await routes.find(desk, limit=1)),
        ),
        FirstStep(
            "Set a price",
            "Until then a segment costs the built-in price of 1 credit.",
            "Set a price", "/prices", Scope.WRITE_PRICES, bool((await prices.find(desk, past=True, limit=1))["prices"]),
        ),
        FirstStep(
            "Open an account",
            "An account is a customer, with credit and secrets of its own.",
            "Open an account", "/accounts-new", Scope.WRITE_ACCOUNTS, bool(await desk.account_names()),
        ),
        FirstStep(
            "Send a test message",
            "To a phone of your own: its page shows each step of its way.",
            "Send a message", "/send", Scope.SEND, bool(sent.hits),
        ),
    ]  # fmt: skip
    return [] if all(step.done for step in steps) else steps
