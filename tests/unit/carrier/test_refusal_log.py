"""What an operator says no to is told when it begins, once a minute, and when it is over."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from heliograph.adapters.smpp.refusal_log import MOST, RefusalLog
from heliograph.app.ports import Accepted, Deferred, Outcome, Refused, Unknown
from heliograph.domain.message.receipt import Delivery
from tests.support.carrier_rig import NotedJournal
from tests.support.virtual_time import VirtualClock, run

THROTTLED = (0x58, Deferred(0x58, 0.2, throttled=True))


def lines(work: Callable[[RefusalLog], Awaitable[None]]) -> list[str]:
    """What is said while the work is done, each line as it is shown."""
    journal = NotedJournal()

    async def world() -> None:
        await work(RefusalLog("op1", VirtualClock(), journal))

    run(world())
    return [
        " ".join([level, event, *(f"{name}={value}" for name, value in fields.items())])
        for level, event, fields in journal.lines
    ]


def test_a_minute_of_throttling_is_a_line_however_many_parts_it_holds_up() -> None:
    async def work(refusal_log: RefusalLog) -> None:
        for _ in range(1_500):  # two and a half minutes
            refusal_log.answered(*THROTTLED)
            await asyncio.sleep(0.1)
        await asyncio.sleep(120)

    throttled = "smpp.throttled connector=op1 status=ESME_RTHROTTLED"
    assert lines(work) == [
        f"warning {throttled} phase=began count=1",
        f"warning {throttled} phase=lasts count=599 for_s=60",
        f"warning {throttled} phase=lasts count=600 for_s=120",
        f"warning {throttled} phase=lasts count=300 for_s=180",
        f"info {throttled} phase=over total=1500 for_s=150",
    ]


def test_what_comes_once_begins_and_is_over() -> None:
    async def work(refusal_log: RefusalLog) -> None:
        refusal_log.answered(0x0B, Refused(0x0B, Delivery.REJECTD, "011"))
        await asyncio.sleep(3600)
        refusal_log.answered(0x0B, Refused(0x0B, Delivery.REJECTD, "011"))

    refused = "smpp.refused connector=op1 status=ESME_RINVDSTADR"
    assert lines(work) == [
        f"warning {refused} phase=began count=1",
        f"info {refused} phase=over total=1 for_s=0",
        f"warning {refused} phase=began count=1",
    ]


def test_what_is_tried_again_every_five_minutes_in_vain_is_not_over_in_between() -> None:
    async def work(refusal_log: RefusalLog) -> None:
        for _ in range(3):
            refusal_log.answered(0x08, Deferred(0x08, 1.0))
            await asyncio.sleep(300)
        await asyncio.sleep(300)

    put_off = "smpp.put_off connector=op1 status=ESME_RSYSERR"
    assert lines(work) == [
        f"warning {put_off} phase=began count=1",
        f"warning {put_off} phase=lasts count=1 for_s=360",
        f"warning {put_off} phase=lasts count=1 for_s=660",
        f"info {put_off} phase=over total=3 for_s=600",
    ]


@pytest.mark.parametrize(
    ("status", "outcome", "told"),
    [
        (*THROTTLED, ["smpp.throttled ESME_RTHROTTLED"]),
        (0x14, Deferred(0x14, 0.2, throttled=True), ["smpp.throttled ESME_RMSGQFUL"]),
        (0x08, Deferred(0x08, 1.0), ["smpp.put_off ESME_RSYSERR"]),
        (0x4FF, Refused(0x4FF, Delivery.REJECTD, "279"), ["smpp.refused 0x000004ff"]),
        (0x45, Unknown("the operator responded with ESME_RSUBMITFAIL"), ["smpp.unanswered ESME_RSUBMITFAIL"]),
        (0x45, Accepted("id"), []),
    ],
)
def test_each_status_is_told_by_its_name_and_by_what_it_means(status: int, outcome: Outcome, told: list[str]) -> None:
    async def work(refusal_log: RefusalLog) -> None:
        refusal_log.answered(status, outcome)

    assert [line.replace("connector=op1 status=", "") for line in lines(work)] == [
        f"warning {each} phase=began count=1" for each in told
    ]


def test_when_the_connector_goes_it_is_over() -> None:
    async def work(refusal_log: RefusalLog) -> None:
        refusal_log.unanswered()
        await asyncio.sleep(10)
        refusal_log.unanswered()
        refusal_log.close()
        await asyncio.sleep(3600)

    assert lines(work) == [
        "warning smpp.unanswered connector=op1 status=no answer phase=began count=1",
        "info smpp.unanswered connector=op1 status=no answer phase=over total=2 for_s=10",
    ]


def test_an_operator_that_makes_up_statuses_does_not_fill_the_log() -> None:
    async def work(refusal_log: RefusalLog) -> None:
        for status in range(0x400, 0x400 + 10 * MOST):
            refusal_log.answered(status, Refused(status, Delivery.REJECTD, "255"))

    said = lines(work)
    assert len(said) == MOST + 1
    assert "status=others" in said[-1]
