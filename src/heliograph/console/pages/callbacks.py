"""Callbacks: what is owed to customers, which receivers fail, what was given up."""

from heliograph.app.admin.oversight import COUNTED, Scope
from heliograph.console.visit import Page, Reply, Visit
from heliograph.domain.display import counted
from heliograph.domain.error import NOT_FOUND, Fault

PAGE = 50
TABS = ("hosts", "owed", "ended")


async def show(visit: Visit) -> Reply:
    tab = visit.query.get("tab", "hosts")
    tab = tab if tab in TABS else TABS[0]
    store = visit.oversight.store
    due, _, key = visit.query.get("more", "").partition("-")
    place = (int(due), int(key)) if due.isdigit() and key.isdigit() and len(due) < 19 and len(key) < 19 else None
    more = None
    callbacks = []
    if tab == "owed":
        callbacks = await store.owed_callbacks(PAGE, place)
        if len(callbacks) == PAGE:
            more = f"{callbacks[-1].due}-{callbacks[-1].key}"
    elif tab == "ended":
        callbacks = await store.ended_callbacks(PAGE, None if place is None else place[1])
        if len(callbacks) == PAGE:
            more = f"0-{callbacks[-1].key}"
    return visit.page(
        "callbacks.html",
        tab=tab,
        backlog=await store.standing(visit.now),
        counted=COUNTED,
        callbacks=callbacks,
        hosts=await visit.oversight.failing_hosts() if tab == "hosts" else [],
        accounts={account.id: account.name for account, _ in await visit.administration.accounts()},
        more=more,
    )


async def replay(visit: Visit) -> Reply:
    account = visit.form.get("account", "")
    count = await visit.oversight.replay_account(visit.actor, account or None)
    return visit.go("/callbacks", f"{counted(count, 'callback is', 'callbacks are')} owed again.", tab="owed")


async def drop(visit: Visit) -> Reply:
    """Gives up what is owed to a failing receiver."""
    name = visit.form.get("host", "")
    host = next((each for each in await visit.oversight.failing_hosts() if each.host == name), None)
    if host is None:
        raise Fault(NOT_FOUND, f"No failing receiver is called {name} any more.")
    count = await visit.oversight.drop_callbacks(visit.actor, host.keys, host.host)
    return visit.go(
        "/callbacks", f"{counted(count, 'callback')} to {host.host} given up; what is given up can be replayed."
    )


PAGES = (
    Page("GET", "/callbacks", Scope.READ_CALLBACKS, show),
    Page("POST", "/callbacks/replay", Scope.WRITE_CALLBACKS, replay),
    Page("POST", "/callbacks/drop", Scope.WRITE_CALLBACKS, drop),
)
