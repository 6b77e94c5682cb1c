"""The one use case: composed, judged, handed to the commit, or replayed."""

import asyncio
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from heliograph.api.messages import V1
from heliograph.app.facts import Accept, Verdict
from heliograph.app.sending.fields import Fields
from heliograph.app.sending.principal import Principal
from heliograph.domain.calendar import day_of
from heliograph.domain.error import FORBIDDEN, Fault, Reason
from heliograph.domain.limits.gate import PASS, Hold, Judged, Judgement, Policy, Refuse, Rule
from tests.support.gateway import START, Gateway, open_gateway, read


async def principal(gateway: Gateway, policy: Policy | None = None) -> Principal:
    view = await gateway.directory.account("acme")
    assert view is not None
    if policy is not None:
        view.policy = policy
    return Principal(view, V1)


def request(who: Principal, **changes: Any) -> Fields:
    return read(who, **({"to": "447700900123", "sender": "Helio", "content": "Hello"} | changes))


async def sent(gateway: Gateway, who: Principal, fields: Fields) -> Accept:
    """The request after its commit."""
    told: asyncio.Future[Accept] = asyncio.get_running_loop().create_future()
    gateway.sending.send(who, fields, told.set_result)
    assert not told.done()
    return await told


async def test_it_is_told_when_the_commit_is_over() -> None:
    gateway = await open_gateway()
    who = await principal(gateway)
    accept = await sent(gateway, who, request(who))
    assert (accept.verdict, accept.account, accept.total) == (Verdict.ACCEPTED, who.view.account.id, 1_000_000)


async def test_a_quote_sends_and_counts_nothing() -> None:
    gateway = await open_gateway()
    await gateway.change_account(rate=1.0)
    who = await principal(gateway)
    assert [(await gateway.sending.quote(who, request(who))).total for _ in range(3)] == [1_000_000] * 3
    await asyncio.sleep(0)
    assert gateway.intake.accepted == []


async def test_a_rate_is_kept_and_a_refused_request_is_not_counted() -> None:
    gateway = await open_gateway()
    await gateway.change_account(rate=1.0)
    who = await principal(gateway)
    await sent(gateway, who, request(who))
    for _ in range(3):
        with pytest.raises(Fault) as fault:
            await sent(gateway, who, request(who))
        assert (fault.value.entry.code, fault.value.retry_after) == ("12", 1)
    assert len(gateway.intake.accepted) == 1


async def test_limits_of_a_day_refuse_a_send_and_its_quote_alike() -> None:
    gateway = await open_gateway()
    await gateway.change_account(daily_messages=1, timezone="Europe/Berlin")
    who = await principal(gateway)
    assert (await gateway.sending.quote(who, request(who))).total == 1_000_000
    first = await sent(gateway, who, request(who))
    assert first.day_ends == day_of(START, ZoneInfo("Europe/Berlin"))[1]
    assert (await sent(gateway, who, request(who))).verdict is Verdict.DAILY_MESSAGES
    with pytest.raises(Fault) as fault:
        await gateway.sending.quote(who, request(who))
    assert (fault.value.entry.http, fault.value.reason) == (429, Reason.DAILY_MESSAGES)
    assert fault.value.retry_after == (first.day_ends - START) // 1000
    gateway.clock.forward((first.day_ends - START) / 1000)
    assert (await gateway.sending.quote(who, request(who))).total == 1_000_000
    assert (await sent(gateway, who, request(who))).verdict is Verdict.ACCEPTED


async def test_what_was_accepted_is_replayed_though_it_would_be_refused_now() -> None:
    gateway = await open_gateway()
    who = await principal(gateway)
    fields = request(who, reference="r")
    first = await sent(gateway, who, fields)
    refused = await principal(gateway, Policy(senders=frozenset({"Other"})))
    with pytest.raises(Fault) as fault:
        await sent(gateway, refused, fields)
    assert gateway.sending.may_be_replayed(fields, fault.value)
    accept = await gateway.sending.replay(refused, fields, fault.value)
    assert (accept.verdict, accept.key) == (Verdict.REPLAYED, first.key)
    with pytest.raises(Fault) as again:
        await gateway.sending.replay(refused, request(who, reference="r", content="Other"), fault.value)
    assert again.value is fault.value


async def test_a_busy_gateway_is_no_reason_to_look_for_the_first_result() -> None:
    gateway = await open_gateway()
    who = await principal(gateway)
    gateway.intake.full = True
    fields = request(who, reference="r")
    with pytest.raises(Fault) as fault:
        await sent(gateway, who, fields)
    assert fault.value.entry.code == "13"
    assert not gateway.sending.may_be_replayed(fields, fault.value)


def to(number: str, judgement: Judgement) -> Rule:
    return lambda message, _: judgement if message.destination == number else PASS


async def test_one_message_that_the_gate_refuses_is_enough() -> None:
    gateway = await open_gateway()
    rule = to("33612345678", Refuse(FORBIDDEN, "This number has opted out.", "to"))
    who = await principal(gateway, Policy(at_accept=(rule,)))
    with pytest.raises(Fault) as fault:
        await sent(gateway, who, request(who, to="447700900123,33612345678"))
    assert (fault.value.entry.code, fault.value.field) == ("06", "to")
    await sent(gateway, who, request(who))
    assert len(gateway.intake.accepted) == 1


async def test_a_message_that_the_gate_holds_goes_through_the_queue() -> None:
    gateway = await open_gateway()
    rule = to("33612345678", Hold("33612"))
    who = await principal(gateway, Policy(at_accept=(rule,)))
    accept = await sent(gateway, who, request(who, to="447700900123,33612345678"))
    assert [(message.destination, message.queued) for message in accept.messages] == [
        ("447700900123", False),
        ("33612345678", True),
    ]


async def test_the_gate_is_asked_for_the_moment_of_the_request() -> None:
    gateway = await open_gateway()
    asked: list[tuple[str, int]] = []

    def rule(message: Judged, now: int) -> Judgement:
        asked.append((message.destination, now))
        return PASS

    who = await principal(gateway, Policy(rate=5.0, at_accept=(rule,)))
    await sent(gateway, who, request(who))
    assert asked == [("447700900123", START)]
