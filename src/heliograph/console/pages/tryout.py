"""Simulator: what the pretend operator of a development run received, and how it behaves."""

from typing import Any

from heliograph.app.admin.oversight import Scope
from heliograph.console.visit import Page, Problem, Reply, Simulated, Visit
from heliograph.domain.error import NOT_FOUND, Fault

MESSAGES = 50

KNOBS = (
    "latency_ms", "throttle_per_s", "queue_full_share", "refuse_share", "withhold_share", "undelivered_share",
    "receipt_delay_ms", "receipt_missing_share", "receipt_double_share",
)  # fmt: skip
"""Those that the page has; the command `heliograph simulator` has all."""

COUNTERS = ("bound", "submits", "accepted", "throttled", "refused", "receipts_sent", "receipts_answered", "cut")


def _simulated(visit: Visit) -> Simulated:
    if visit.services.simulated is None:
        raise Fault(NOT_FOUND, "There is a simulated operator in a development run only: heliograph serve --dev.")
    return visit.services.simulated


async def show(visit: Visit, problem: Problem | None = None) -> Reply:
    simulated = _simulated(visit)
    knobs = [knob for knob in simulated.knobs() if knob.name in KNOBS]
    return visit.page(
        "simulator.html", status=200 if problem is None else 400, knobs=knobs, form=visit.form, problem=problem,
        **_state(simulated),
    )  # fmt: skip


def _state(simulated: Simulated) -> dict[str, Any]:
    counters = simulated.counters()
    shown = [(name.replace("_", " "), counters[name]) for name in COUNTERS if name in counters]
    return {"received": simulated.recent(MESSAGES), "counters": shown}


async def show_page(visit: Visit) -> Reply:
    return await show(visit)


async def live(visit: Visit) -> Reply:
    return visit.page("simulator_live.html", **_state(_simulated(visit)))


async def turn(visit: Visit) -> Reply:
    simulated = _simulated(visit)
    texts = {name: visit.form[name].strip() for name in KNOBS if name in visit.form}
    try:
        simulated.turn(texts)
    except ValueError as mistake:
        return await show(visit, Problem(f"{str(mistake)[:1].upper()}{str(mistake)[1:]}."))
    await visit.oversight.note(visit.actor, "simulator.set", "simulator", texts)
    return visit.go("/simulator", "The simulated operator behaves so from now on.")


async def cut(visit: Visit) -> Reply:
    _simulated(visit).cut_links()
    await visit.oversight.note(visit.actor, "simulator.cut", "simulator")
    return visit.go("/simulator", "Every link was cut; the gateway binds again by itself.")


PAGES = (
    Page("GET", "/simulator", Scope.READ_MESSAGES, show_page),
    Page("GET", "/simulator/live", Scope.READ_MESSAGES, live),
    Page("POST", "/simulator/knobs", Scope.WRITE_CONNECTORS, turn),
    Page("POST", "/simulator/cut", Scope.OPERATE_CONNECTORS, cut),
)
