"""Callbacks: what is owed to customers, which receivers fail, what was given up."""

from heliograph.app.admin.oversight import COUNTED, Scope
from heliograph.console.request import PageRequest, PageResponse, PageRoute
from heliograph.domain.display import counted
from heliograph.domain.error import NOT_FOUND, Fault

PAGE = 50
TABS = ("hosts", "owed", "ended")


async def show(request: PageRequest) -> PageResponse:
    tab = request.query.get("tab", "hosts")
    tab = tab if tab in TABS else TABS[0]
    store = request.views.store
    due, _, key = request.query.get("more", "").partition("-")
    place = (int(due), int(key)) if due.isdigit() and key.isdigit() and len(due) < 19 and len(key) < 19 else None
    more = None
    callbacks = []
    if tab == "owed":
        callbacks = await store.notices.owed(PAGE, place)
        if len(callbacks) == PAGE:
            more = f"{callbacks[-1].due}-{callbacks[-1].key}"
    elif tab == "ended":
        callbacks = await store.notices.ended(PAGE, None if place is None else place[1])
        if len(callbacks) == PAGE:
            more = f"0-{callbacks[-1].key}"
    return request.page(
        "callbacks.html",
        tab=tab,
        backlog=await store.upkeep.counts(request.now),
        counted=COUNTED,
        callbacks=callbacks,
        hosts=await request.views.failing_hosts() if tab == "hosts" else [],
        accounts={account.id: account.name for account, _ in await request.manage.accounts()},
        more=more,
    )


async def replay(request: PageRequest) -> PageResponse:
    account = request.form.get("account", "")
    count = await request.views.replay_account(request.actor, account or None)
    return request.go("/callbacks", f"{counted(count, 'callback is', 'callbacks are')} owed again.", tab="owed")


async def drop(request: PageRequest) -> PageResponse:
    """Gives up what is owed to a failing receiver."""
    name = request.form.get("host", "")
    host = next((each for each in await request.views.failing_hosts() if each.host == name), None)
    if host is None:
        raise Fault(NOT_FOUND, f"No failing receiver is called {name} any more.")
    count = await request.views.drop_callbacks(request.actor, host.keys, host.host)
    return request.go(
        "/callbacks", f"{counted(count, 'callback')} to {host.host} given up; what is given up can be replayed."
    )


PAGES = (
    PageRoute("GET", "/callbacks", Scope.READ_CALLBACKS, show),
    PageRoute("POST", "/callbacks/replay", Scope.WRITE_CALLBACKS, replay),
    PageRoute("POST", "/callbacks/drop", Scope.WRITE_CALLBACKS, drop),
)
