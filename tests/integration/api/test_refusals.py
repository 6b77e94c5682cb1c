"""Each reason for which a request may be refused is counted as itself, and noted with the account where that is known;
by the short cut as by ASGI."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from heliograph.adapters.metrics import Collector
from heliograph.api import answer
from heliograph.api.serve import serve
from heliograph.app.configuration import Plan, RegisteredSender
from heliograph.app.facts import Accept, Verdict
from heliograph.app.observing.counters import MessageCounters
from heliograph.domain.error import CATALOGUE, Fault, Reason
from heliograph.domain.limits.gate import SenderState
from heliograph.domain.numbers.sender_rules import SenderRule
from tests.support.gateway import API_KEY, START, Gateway, Reply, basic, open_gateway

GOOD = {"to": "447700900123", "from": "Helio", "content": "Hello"}
PATH = "/api/v1/messages"
UNKNOWN = "0" * 32
LATER = str(START // 1000 + 7200)

Trial = Callable[[Gateway], Awaitable[Reply]]


def sending(*, changes: Mapping[str, Any] | None = None, **fields: Any) -> Trial:
    """A send with other fields, after changes of the account."""

    async def trial(gateway: Gateway) -> Reply:
        if changes:
            await gateway.change_account(**changes)
        return await gateway.send({**GOOD, **fields})

    return trial


async def _suppressed(gateway: Gateway) -> Reply:
    await gateway.store.suppressions.suppress(1, [GOOD["to"]], "message", gateway.clock.now())
    return await gateway.send(GOOD)


def sender_in(state: SenderState) -> Trial:
    """A send from a registered sender in a state."""

    async def trial(gateway: Gateway) -> Reply:
        await gateway.store.senders.put([RegisteredSender(1, "Helio", state, 0)])
        await gateway.directory.refresh()
        return await gateway.send(GOOD)

    return trial


async def _conflict(gateway: Gateway) -> Reply:
    await gateway.send({**GOOD, "reference": "r"})
    return await gateway.send({**GOOD, "content": "another", "reference": "r"})


async def _over_the_rate(gateway: Gateway) -> Reply:
    await gateway.change_account(rate=1.0)
    replies = [await gateway.send(GOOD) for _ in range(3)]
    return replies[-1]


def repeated(**changes: Any) -> Trial:
    """The second of two sends, after changes of the account."""

    async def trial(gateway: Gateway) -> Reply:
        await gateway.change_account(**changes)
        await gateway.send({**GOOD, "time": LATER})
        return await gateway.send({**GOOD, "time": LATER})

    return trial


async def _too_early(gateway: Gateway) -> Reply:
    day = "start=2027-01-14%2000:00:00&end=2027-01-15%2000:00:00"
    await gateway.call("GET", PATH, query=day)
    return await gateway.call("GET", PATH, query=day)


async def _store_away(gateway: Gateway) -> Reply:
    await gateway.send(GOOD)  # whose credentials are remembered
    gateway.store.broken = True
    return await gateway.send(GOOD)


async def _in_doubt(gateway: Gateway) -> Reply:
    gateway.intake.loses_answers = True
    return await gateway.send(GOOD)


async def _too_large(gateway: Gateway) -> Reply:
    return await gateway.call("POST", PATH, b"x" * ((1 << 20) + 1))


async def _without_credit(gateway: Gateway) -> Reply:
    gateway.app = (await open_gateway(credit="0")).app
    return await gateway.send(GOOD)


async def _without_route(gateway: Gateway) -> Reply:
    gateway.app = (await open_gateway(routes=("49",))).app
    return await gateway.send(GOOD)


async def _below_the_margin(gateway: Gateway) -> Reply:
    await gateway.store.plans.put(Plan("default", unknown_cost="refuse"))
    await gateway.directory.refresh()
    return await gateway.send(GOOD)


async def _refused_sender(gateway: Gateway) -> Reply:
    await gateway.store.sender_rules.add(SenderRule(0, "GB", "alpha", "refuse"))
    await gateway.directory.refresh()
    return await gateway.send(GOOD)


async def _failing(gateway: Gateway) -> Reply:
    async def broken(*_: object) -> None:
        raise KeyError("text of a customer")

    gateway.app.services.browse.balance = broken  # type: ignore[method-assign, assignment]
    return await gateway.call("POST", "/api/v1/account/balance")


TRIALS: dict[Reason, tuple[Trial, bool]] = {
    Reason.MALFORMED: (lambda gateway: gateway.call("POST", PATH, b"{"), True),
    Reason.MISSING: (sending(to=None), True),
    Reason.INVALID: (sending(to="x"), True),
    Reason.NO_ROUTE: (_without_route, True),
    Reason.MARGIN: (_below_the_margin, True),
    Reason.CREDENTIALS: (lambda gateway: gateway.call("POST", PATH, auth=None), False),
    Reason.CREDIT: (_without_credit, True),
    Reason.SUSPENDED: (sending(changes={"suspended": True}), True),
    Reason.ADDRESS: (sending(changes={"networks": ("198.51.100.0/24",)}), True),
    Reason.SENDER: (sending(changes={"senders": ("Other",)}), True),
    Reason.SENDER_PENDING: (sender_in(SenderState.PENDING), True),
    Reason.SENDER_REFUSED: (sender_in(SenderState.REFUSED), True),
    Reason.SENDER_COUNTRY: (_refused_sender, True),
    Reason.SUPPRESSED: (_suppressed, True),
    Reason.PREFIX: (sending(changes={"prefixes": ("49", "43")}), True),
    Reason.REQUESTS: (repeated(request_rate=1.0), True),
    Reason.DAILY_MESSAGES: (repeated(daily_messages=1), True),
    Reason.DAILY_SPEND: (repeated(daily_spend=1_500_000), True),
    Reason.WAITING: (repeated(max_waiting=1), True),
    Reason.NOT_FOUND: (lambda gateway: gateway.call("GET", f"{PATH}/{UNKNOWN}"), True),
    Reason.METHOD: (lambda gateway: gateway.call("PATCH", PATH), False),
    Reason.CONFLICT: (_conflict, True),
    Reason.TOO_LARGE: (_too_large, True),
    Reason.MEDIA_TYPE: (lambda gateway: gateway.call("POST", PATH, b"x", headers={"Content-Type": "a/b"}), True),
    Reason.RATE: (_over_the_rate, True),
    Reason.TOO_EARLY: (_too_early, True),
    Reason.UNAVAILABLE: (_store_away, True),
    Reason.IN_DOUBT: (_in_doubt, True),
    Reason.INTERNAL: (_failing, True),
}


def metrics(gateway: Gateway, tmp_path: Path) -> dict[str, float]:
    engine: Any = SimpleNamespace(carrier_states=list, connector_names=dict)
    collector = Collector(
        MessageCounters(), engine, gateway.store, gateway.clock, {}, tmp_path, gateway.app.services.refusals, {}
    )
    found = {}
    for sample in collector.samples():
        if sample.name == "heliograph_requests_refused_total":
            found[sample.labels[0]] = float(str(sample.value))
        if sample.labels == ("replayed",):
            break
    return found


@pytest.mark.parametrize("reason", [each for each in Reason if each is not Reason.FORBIDDEN])
async def test_each_reason_is_counted_as_itself(gateway: Gateway, reason: Reason, tmp_path: Path) -> None:
    trial, known = TRIALS[reason]
    reply = await trial(gateway)
    assert reply.status >= 400
    counts = {name: count for name, count in metrics(gateway, tmp_path).items() if count}
    assert counts.pop(reason.value) >= 1
    assert not counts
    batch = gateway.app.services.refusals.take()
    assert set(batch.latest) == ({(1, reason)} if known else set())
    for (found,) in ([list(samples)[-1]] for samples in batch.latest.values()):
        assert found.request_id == reply.headers["x-request-id"]
        assert (found.status, found.address) == (reply.status, "192.0.2.7")
        assert found.path in (PATH, f"{PATH}/{UNKNOWN}", "/api/v1/account/balance")


async def test_a_repeated_request_is_counted_as_replayed(gateway: Gateway, tmp_path: Path) -> None:
    later = {**GOOD, "reference": "r", "time": "2027-01-15 08:00:10"}
    await gateway.send(later)
    gateway.clock.forward(60)
    reply = await gateway.send(later)
    assert (reply.status, reply.headers["idempotency-replayed"]) == (200, "true")
    assert {name: count for name, count in metrics(gateway, tmp_path).items() if count} == {"replayed": 1}


def test_every_error_of_the_catalogue_has_a_reason_of_its_own() -> None:
    assert len({entry.reason for entry in CATALOGUE}) == len(CATALOGUE)


async def test_sends_on_the_short_cut_are_noted_too(gateway: Gateway) -> None:
    server = await serve(gateway.app, "127.0.0.1", 0)
    head = b"POST /api/v1/messages HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nX-Request-Id: mine\r\n"
    head += b"Authorization: " + basic("acme", API_KEY) + b"\r\nContent-Length: %d\r\n\r\n%b"
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)

    async def ask(body: bytes) -> int:
        writer.write(head % (len(body), body))
        lines = (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")
        length = next(line for line in lines if line.lower().startswith(b"content-length"))
        await reader.readexactly(int(length.partition(b":")[2]))
        return int(lines[0].split()[1])

    refusals = gateway.app.services.refusals
    assert await ask(b'{"to":"447700900123","from":"Helio","content":"Hello"}') == 200
    assert not refusals.take().counts
    assert await ask(b'{"to":"447700900123","from":"Helio"}') == 400
    await gateway.store.suppressions.suppress(1, [GOOD["to"]], "message", gateway.clock.now())
    assert await ask(b'{"to":"447700900123","from":"Helio","content":"Hello"}') == 403
    writer.close()
    await server.stop(1.0)
    batch = refusals.take()
    assert set(batch.latest) == {(1, Reason.MISSING), (1, Reason.SUPPRESSED)}
    for samples in batch.latest.values():
        assert [(each.request_id, each.address, each.path) for each in samples] == [("mine", "127.0.0.1", PATH)]


def test_a_verdict_that_refuses_is_a_fault() -> None:
    with pytest.raises(Fault, match="suspended"):
        answer.of_accept(Accept(1, [], 0, 0, False, False, None, verdict=Verdict.SUSPENDED))
