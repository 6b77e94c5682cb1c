"""Callbacks: which are pending, which receivers fail, which have failed for good."""

from heliograph.admin_api.request import cursor, parse_cursor
from heliograph.app.records import COUNTED, Scope
from heliograph.console.request import PageRequest, PageResponse, PageRoute
from heliograph.domain.display import counted
from heliograph.domain.error import NOT_FOUND, Fault

PAGE = 50
TABS = ("hosts", "pending", "failed")


async def show(request: PageRequest) -> PageResponse:
    tab = request.query.get("tab", "hosts")
    tab = tab if tab in TABS else TABS[0]
    views = request.views
    place = parse_cursor(request.query.get("more", ""))
    callbacks, more = ([], None) if tab == "hosts" else await views.callbacks(PAGE, place, ended=tab == "failed")
    return request.page(
        "callbacks.html",
        tab=tab,
        backlog=await request.manage.backlog(),
        counted=COUNTED,
        callbacks=callbacks,
        hosts=await views.failing_hosts() if tab == "hosts" else [],
        accounts=await views.account_names(),
        more=cursor(more),
    )


async def replay(request: PageRequest) -> PageResponse:
    account = request.form.get("account", "")
    count = await request.views.replay_account(account or None)
    return request.go("/callbacks", f"{counted(count, 'callback is', 'callbacks are')} retried.", tab="pending")


async def drop(request: PageRequest) -> PageResponse:
    """Stops retrying the callbacks to a failing receiver."""
    name = request.form.get("host", "")
    count = await request.views.drop_host(name)
    if count is None:
        raise Fault(NOT_FOUND, f"No failing receiver is called {name} any more.")
    return request.go("/callbacks", f"{counted(count, 'callback')} to {name} failed: not tried again until you retry.")


PAGES = (
    PageRoute("GET", "/callbacks", Scope.READ_CALLBACKS, show),
    PageRoute("POST", "/callbacks/replay", Scope.WRITE_CALLBACKS, replay),
    PageRoute("POST", "/callbacks/drop", Scope.WRITE_CALLBACKS, drop),
)
