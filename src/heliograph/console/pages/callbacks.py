"""Callbacks: failing receivers, pending callbacks and failed callbacks."""

from typing import Any

from heliograph.admin_api.request import cursor, parse_cursor
from heliograph.app.records import COUNTED, Scope
from heliograph.app.resources.callbacks import CALLBACKS
from heliograph.console.request import PageRequest, PageResponse, PageRoute
from heliograph.domain.display import counted

PAGE = 50
TABS = ("hosts", "pending", "failed")


async def show(request: PageRequest) -> PageResponse:
    tab = request.query.get("tab", "hosts")
    tab = tab if tab in TABS else TABS[0]
    found: dict[str, Any] = {"callbacks": [], "cursor": None}
    if tab != "hosts":
        wanted = {"state": tab, "limit": PAGE, "cursor": cursor(parse_cursor(request.query.get("more", "")))}
        found = await request.ask(CALLBACKS, "list", wanted)
    account = request.query.get("account") or None
    return request.page(
        "callbacks.html",
        tab=tab,
        account=account,
        counts=await request.ask(CALLBACKS, "status", {"account": account}),
        counted=COUNTED,
        callbacks=found["callbacks"],
        accounts=await request.account_names(),
        more=found["cursor"],
    )


async def replay(request: PageRequest) -> PageResponse:
    given = {"account": request.form.get("account") or None}
    count = (await request.ask(CALLBACKS, "replay", given))["count"]
    return request.go("/callbacks", f"{counted(count, 'callback is', 'callbacks are')} retried.", tab="pending")


async def drop(request: PageRequest) -> PageResponse:
    """Stops retrying the callbacks to a failing receiver."""
    name, account = request.form.get("host", ""), request.form.get("account") or None
    count = (await request.ask(CALLBACKS, "drop", {"host": name, "account": account}))["count"]
    return request.go("/callbacks", f"{counted(count, 'callback')} to {name} failed, and can be retried below.")


PAGES = (
    PageRoute("GET", "/callbacks", Scope.READ_CALLBACKS, show),
    PageRoute("POST", "/callbacks/replay", Scope.WRITE_CALLBACKS, replay),
    PageRoute("POST", "/callbacks/drop", Scope.WRITE_CALLBACKS, drop),
)
