"""Sending, as far as HTTP is no part of it."""

import contextlib
from typing import Any

import pytest

from heliograph.app.sending.compose import Fields, Submit, SubmitRules
from heliograph.app.sending.directory import AccountView
from heliograph.app.sending.number import Number
from heliograph.domain.error import Fault
from heliograph.domain.message import State
from tests.support.gateway import START, open_gateway


async def opened(**account: Any) -> tuple[Submit, AccountView]:
    gateway = await open_gateway()
    await gateway.change_account(**account)
    view = await gateway.directory.account("acme")
    assert view is not None
    return gateway.submit, view


def fields(**changes: Any) -> Fields:
    return Fields(**({"to": "447700900123", "sender": "Helio", "content": "Hello"} | changes))


async def test_a_request_complete_but_for_its_keys() -> None:
    submit, view = await opened()
    accept = submit.compose(view, fields(to=["447700900123", "33612345678"], time=START // 1000 + 9), 1, START)
    assert (accept.account, accept.total, accept.at, accept.scheduled, accept.batch) == (
        1,
        2_000_000,
        START,
        True,
        True,
    )
    assert (accept.reference, accept.fingerprint, accept.key) == (None, b"", 0)
    for message in accept.messages:
        assert (message.state, message.queued, message.time) == (State.SCHEDULED, True, START + 9000)
        assert message.expires == message.time + SubmitRules().validity_ms


async def test_the_reference_of_a_batch_is_the_batchs_alone() -> None:
    submit, view = await opened()
    accept = submit.compose(view, fields(to="447700900123,33612345678", reference="r"), 1, START)
    assert accept.reference == "r"
    assert [message.reference for message in accept.messages] == [None, None]
    assert len(accept.fingerprint) == 32


async def test_a_fingerprint_is_known_of_a_request_that_is_refused() -> None:
    submit, view = await opened()
    request = fields(reference="r", time=str(START // 1000 + 9))
    accept = submit.compose(view, request, 1, START)
    with pytest.raises(Fault):
        submit.compose(view, request, 1, START + 9000)
    assert submit.fingerprint(view, request, 1) == accept.fingerprint
    assert submit.fingerprint(view, fields(), 1) is None
    assert submit.fingerprint(view, fields(reference="\t"), 1) is None
    assert submit.fingerprint(view, fields(reference="r", kind="voice"), 1) is None
    assert submit.fingerprint(view, request, 2) is None


@pytest.mark.parametrize(
    "change",
    [
        {"to": "447700900124"},
        {"to": "447700900123,447700900124"},
        {"sender": "Helia"},
        {"sender": "HelioH", "content": "ello"},
        {"content": "Hello!"},
        {"kind": "unicode"},
        {"dlr": "no"},
        {"dlr_url": "https://example.com/b"},
        {"time": str(START // 1000 + 10)},
        {"time": None},
    ],
)
async def test_a_request_that_differs_in_anything_has_another_fingerprint(change: dict[str, Any]) -> None:
    submit, view = await opened()
    first = {"dlr": "yes", "dlr_url": "https://example.com/a", "time": str(START // 1000 + 9), "reference": "r"}
    one, other = (submit.compose(view, fields(**each), 1, START) for each in (first, first | change))
    assert one.fingerprint != other.fingerprint
    assert one.fingerprint == submit.compose(view, fields(**first), 1, START + 1).fingerprint


@pytest.mark.parametrize("time", [Number("1800000060.0"), Number("1.80000006E9"), 1_800_000_060, "1800000060"])
async def test_a_time_may_be_any_number(time: object) -> None:
    submit, view = await opened()
    assert submit.compose(view, fields(time=time), 1, START).messages[0].time == START + 60_000


async def test_a_rate_allows_a_second_at_once_and_then_keeps_to_itself() -> None:
    submit, view = await opened(rate=5.0)
    sent = 0
    for tenth in range(100):
        for _ in range(3):
            with contextlib.suppress(Fault):
                submit.pace(view, 1, tenth / 10)
                sent += 1
    assert 50 <= sent <= 55


async def test_a_large_request_goes_and_holds_up_the_next() -> None:
    submit, view = await opened(rate=10.0)
    submit.pace(view, 1000, 0.0)
    with pytest.raises(Fault) as early:
        submit.pace(view, 1, 98.0)
    assert early.value.retry_after == 1
    with pytest.raises(Fault) as early:
        submit.pace(view, 1, 9.0)
    assert early.value.retry_after == 90
    submit.pace(view, 1, 99.1)


async def test_a_rate_that_changes() -> None:
    submit, view = await opened(rate=1.0)
    submit.pace(view, 1, 0.0)
    view.account.rate = 0.0
    for _ in range(10):
        submit.pace(view, 1, 0.0)
    view.account.rate = 100.0
    submit.pace(view, 1, 1.0)


async def test_another_rate_holds_at_once_and_what_has_gone_counts() -> None:
    gateway = await open_gateway()
    went = []
    for rate, at in ((1.0, 0.0), (1.0, 0.02), (100.0, 0.03), (100.0, 0.05), (1.0, 0.06), (1.0, 0.07)):
        await gateway.change_account(rate=rate)
        view = await gateway.directory.account("acme")
        assert view is not None
        try:
            gateway.submit.pace(view, 1, at)
        except Fault:
            went.append((rate, False))
        else:
            went.append((rate, True))
    assert went == [(1.0, True), (1.0, False), (100.0, False), (100.0, True), (1.0, True), (1.0, False)]
