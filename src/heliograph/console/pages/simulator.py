"""Simulator: messages and behaviour of the simulated operator of a development run."""

from typing import Any

from heliograph.app.records import Scope
from heliograph.console.request import FormProblem, PageRequest, PageResponse, PageRoute, SimulatorControl
from heliograph.domain.display import counted
from heliograph.domain.error import NOT_FOUND, Fault

MESSAGES = 50

KNOBS = (
    "latency_ms", "throttle_per_s", "queue_full_share", "refuse_share", "withhold_share", "undelivered_share",
    "receipt_delay_ms", "receipt_missing_share", "receipt_double_share", "inbound_rate", "inbound_to", "inbound_text",
)  # fmt: skip
"""Knobs on the page; the command `heliograph simulator` has all."""

COUNTERS = (
    "bound", "submits", "accepted", "throttled", "refused", "receipts_sent", "receipts_answered", "from_phones_sent",
    "from_phones_answered", "cut",
)  # fmt: skip

PHONE = "447700900123"
"""A number without an owner."""


def _simulated(request: PageRequest) -> SimulatorControl:
    if request.services.simulated is None:
        raise Fault(NOT_FOUND, "There is a simulated operator in a development run only: heliograph serve --dev.")
    return request.services.simulated


async def show(request: PageRequest, problem: FormProblem | None = None) -> PageResponse:
    simulated = _simulated(request)
    knobs = [knob for knob in simulated.knobs() if knob.name in KNOBS]
    return request.page(
        "simulator.html", status=200 if problem is None else 400, knobs=knobs, form=request.form, problem=problem,
        phone=PHONE, **_state(simulated),
    )  # fmt: skip


def _state(simulated: SimulatorControl) -> dict[str, Any]:
    counters = simulated.counters()
    shown = [(name.replace("_", " "), counters[name]) for name in COUNTERS if name in counters]
    return {"received": simulated.recent(MESSAGES), "counters": shown}


async def live(request: PageRequest) -> PageResponse:
    return request.page("simulator_live.html", **_state(_simulated(request)))


async def turn(request: PageRequest) -> PageResponse:
    simulated = _simulated(request)
    texts = {name: request.form[name].strip() for name in KNOBS if name in request.form}
    try:
        simulated.turn(texts)
    except ValueError as mistake:
        return await show(request, FormProblem(f"{str(mistake)[:1].upper()}{str(mistake)[1:]}."))
    await request.desk.note("simulator.set", "simulator", texts)
    return request.go("/simulator", "The simulated operator behaves so from now on.")


async def send_from_phone(request: PageRequest) -> PageResponse:
    simulated = _simulated(request)
    phone, number, text = (request.form.get(name, "").strip() for name in ("phone", "number", "text"))
    try:
        parts = simulated.send_from_phone(phone, number, text)
    except ValueError as mistake:
        return await show(request, FormProblem(f"{str(mistake)[:1].upper()}{str(mistake)[1:]}."))
    await request.desk.note("simulator.phone", "simulator", {"number": number})
    return request.go("/simulator", f"The phone's message went to the gateway in {counted(parts, 'part')}.")


async def cut(request: PageRequest) -> PageResponse:
    _simulated(request).cut_links()
    await request.desk.note("simulator.cut", "simulator")
    return request.go("/simulator", "Every link was cut; the gateway binds again by itself.")


PAGES = (
    PageRoute("GET", "/simulator", Scope.READ_MESSAGES, show),
    PageRoute("GET", "/simulator/live", Scope.READ_MESSAGES, live),
    PageRoute("POST", "/simulator/knobs", Scope.WRITE_CONNECTORS, turn),
    PageRoute("POST", "/simulator/phone", Scope.OPERATE_CONNECTORS, send_from_phone),
    PageRoute("POST", "/simulator/cut", Scope.OPERATE_CONNECTORS, cut),
)
