"""Parts on their way: windows, outcomes, order; each part has exactly one outcome, whatever the link does."""

import asyncio
import random
import time
from dataclasses import replace
from typing import Any

import pytest

from heliograph.app.facts import NOT_SENT
from heliograph.app.ports import Accepted, Deferred, Part, Refused, Unknown
from heliograph.domain.message.receipt import Delivery
from heliograph.smpp import codec, tlv
from heliograph.smpp import pdu as p
from heliograph.smpp.constants import CommandStatus as Status
from tests.support.carrier_rig import QUICK, Rig, connector, parts_of, singles
from tests.support.slowness import EARLY_S
from tests.support.smsc import Smsc, SmscLink, wait_until


async def test_many_parts_leave_in_one_write_and_are_answered() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port, window=50)) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        before = smsc.link.writes
        parts = singles(50)
        rig.carrier.submit(parts)
        await wait_until(lambda: len(rig.events.outcomes) == 50)
        assert smsc.link.writes == before + 1
        assert [submit.destination_addr for submit in smsc.submits] == [part.message.destination for part in parts]
        assert rig.events.order == parts
        assert [rig.events.outcomes[part] for part in parts] == [Accepted(f"id{n}") for n in range(1, 51)]
        counters = rig.carrier.state().counters
        assert (counters.submitted, counters.accepted) == (50, 50)
        assert rig.binds[0].answer_ms > 0


async def test_answers_find_their_parts_in_any_order() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port, window=20)) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        smsc.reply = lambda _: None
        parts = singles(20)
        rig.carrier.submit(parts)
        await wait_until(lambda: len(smsc.link.open) == 20)
        requests = list(smsc.link.open.values())
        random.shuffle(requests)
        for request in requests:
            smsc.link.respond(request, message_id=f"of {request.destination_addr}")
        smsc.link.flush()
        await wait_until(lambda: len(rig.events.outcomes) == 20)
        for part in parts:
            assert rig.events.outcomes[part] == Accepted(f"of {part.message.destination}")


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (Status.ESME_RTHROTTLED, Deferred(0x58, 0.0, throttled=True)),
        (Status.ESME_RMSGQFUL, Deferred(0x14, 0.0, throttled=True)),
        (Status.ESME_RINVDSTADR, Refused(0x0B, Delivery.REJECTD, "11")),
        (0x4FF, Refused(0x4FF, Delivery.REJECTD, "1279")),
    ],
)
async def test_what_the_operator_answers_is_what_is_told(status: int, outcome: Deferred | Refused) -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port)) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        smsc.reply = lambda _: status
        (part,) = parts_of()
        rig.carrier.submit([part])
        await wait_until(lambda: part in rig.events.outcomes)
        assert rig.events.outcomes[part] == outcome
        counters = rig.carrier.state().counters
        kind = "deferred" if isinstance(outcome, Deferred) else "refused"
        assert counters.named()[kind] == 1
        assert counters.throttled == (1 if kind == "deferred" else 0)
        assert rig.carrier.capacity == 10


async def test_that_an_operator_refuses_is_a_line_in_the_log_and_that_it_takes_parts_is_none() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port)) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        before = len(rig.journal.lines)
        rig.carrier.submit(singles(5))
        await wait_until(lambda: rig.events.accepted == 5)
        assert len(rig.journal.lines) == before
        smsc.reply = lambda _: Status.ESME_RTHROTTLED
        rig.carrier.submit(singles(5))
        await wait_until(lambda: len(rig.events.outcomes) == 10)
        began = {"connector": "op1", "status": "ESME_RTHROTTLED", "phase": "began", "count": 1}
        assert rig.journal.said("smpp.throttled") == [began]
        await rig.drain(0.0)
        over = {"connector": "op1", "status": "ESME_RTHROTTLED", "phase": "over", "total": 5}
        first, last = rig.journal.said("smpp.throttled")
        assert (first, last) == (began, over | {"for_s": last["for_s"]})


async def test_answers_without_a_body_and_nacks_are_answers() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port)) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        smsc.reply = lambda _: None
        parts = singles(4)
        rig.carrier.submit(parts)
        await wait_until(lambda: len(smsc.link.open) == 4)
        accepted, refused, nacked, bare = smsc.link.open.values()
        header = codec.HEADER.pack
        smsc.link.send(header(16, 0x80000004, 0, accepted.sequence))
        smsc.link.send(header(16, 0x80000004, 0x45, refused.sequence))
        smsc.link.send(header(16, 0x80000000, 0x03, nacked.sequence))
        smsc.link.send(header(16, 0x80000000, 0, bare.sequence))
        await wait_until(lambda: len(rig.events.outcomes) == 4)
        assert [rig.events.outcomes[part] for part in parts] == [
            Accepted(""),
            Refused(0x45, Delivery.REJECTD, "69"),
            Refused(0x03, Delivery.REJECTD, "3"),
            Refused(0xFF, Delivery.REJECTD, "255"),
        ]


async def test_an_id_that_is_too_long_to_be_kept_is_cut_as_in_its_receipt() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port)) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        smsc.reply = lambda _: None
        (part,) = singles(1)
        rig.carrier.submit([part])
        await wait_until(lambda: smsc.link.open)
        (asked,) = smsc.link.open.values()
        smsc.link.send(codec.HEADER.pack(5_017, 0x80000004, 0, asked.sequence) + b"x" * 5_000 + b"\0")
        await wait_until(lambda: rig.events.outcomes)
        assert rig.events.outcomes[part] == Accepted("x" * 255)


async def test_a_connector_overrules_the_table() -> None:
    options = {"outcome_rinvdstadr": "defer 7", "outcome_0": "refuse UNDELIV 123"}
    async with Smsc() as smsc, Rig(connector(smsc.port, options=options)) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        (first, second) = singles(2)
        rig.carrier.submit([first])
        await wait_until(lambda: first in rig.events.outcomes)
        smsc.reply = lambda _: Status.ESME_RINVDSTADR
        rig.carrier.submit([second])
        await wait_until(lambda: second in rig.events.outcomes)
        assert rig.events.outcomes == {
            first: Refused(0, Delivery.UNDELIV, "123"),
            second: Deferred(0x0B, 7.0),
        }


@pytest.mark.parametrize(("bind", "binds"), [("transceiver", 1), ("transceiver", 3), ("transmitter+receiver", 2)])
async def test_no_window_is_ever_exceeded_and_none_is_idle(bind: str, binds: int) -> None:
    window = 4
    async with Smsc() as smsc, Rig(connector(smsc.port, bind=bind, binds=binds, window=window)) as rig:
        await wait_until(lambda: rig.carrier.capacity == binds * window)
        smsc.reply = lambda _: None
        todo = singles(120)
        total = len(todo)
        in_flight = 0
        chance = random.Random(7)
        while len(rig.events.outcomes) < total:
            done = len(rig.events.outcomes)
            free = rig.carrier.capacity - (in_flight - done)
            batch, todo = todo[:free], todo[free:]
            rig.carrier.submit(batch)
            in_flight += len(batch)
            wanted = in_flight - done
            await wait_until(lambda wanted=wanted: sum(len(link.open) for link in smsc.links) == wanted)  # type: ignore[misc]
            if todo:
                loads = [len(link.open) for link in smsc.links if not isinstance(link.bind, p.BindReceiver)]
                assert loads == [window] * binds, "every place is taken while there is something to send"
            for link in smsc.links:
                for request in list(link.open.values()):
                    if chance.random() < 0.5:
                        link.respond(request)
                link.flush()
            answered = in_flight - sum(len(link.open) for link in smsc.links)
            await wait_until(lambda answered=answered: len(rig.events.outcomes) == answered)  # type: ignore[misc]
        assert max(link.most_open for link in smsc.links) == window
        assert rig.events.accepted == total


async def test_more_than_there_is_room_for_comes_back() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port, window=5)) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        smsc.reply = lambda _: None
        parts = singles(8)
        rig.carrier.submit(parts)
        await wait_until(lambda: len(rig.events.outcomes) == 3)
        assert [rig.events.outcomes[part] for part in parts[5:]] == [Deferred(NOT_SENT, 0.0)] * 3
        smsc.link.respond_all()
        await wait_until(lambda: len(rig.events.outcomes) == 8)
        assert rig.events.accepted == 5


async def test_without_a_link_everything_comes_back() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port, binds=2)) as rig:
        await wait_until(lambda: rig.carrier.capacity == 20)
        await smsc.close()
        for link in smsc.links:
            link.cut()
        await wait_until(lambda: rig.carrier.capacity == 0)
        parts = singles(3)
        rig.carrier.submit(parts)
        assert not rig.events.outcomes, "outcomes do not come within the call"
        await wait_until(lambda: len(rig.events.of(Deferred)) == 3)


# --- several binds


async def answer_all(smsc: Smsc, rig: Rig, count: int) -> None:
    """Accepts what comes until so many parts have their outcome."""

    def answered() -> bool:
        for link in smsc.links:
            link.respond_all()
        return len(rig.events.outcomes) == count

    await wait_until(answered)


async def test_parts_of_one_message_travel_together_and_in_order() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port, binds=3, window=6)) as rig:
        await wait_until(lambda: rig.carrier.capacity == 18)
        messages = [parts_of("x" * 600, destination=f"44770090{n:04d}") for n in range(4)]
        assert {len(parts) for parts in messages} == {4}
        smsc.reply = lambda _: None
        rig.carrier.submit([part for parts in messages for part in parts])
        # Three messages fill four of six places of a link each; of the fourth, two parts wait.
        await wait_until(lambda: len(smsc.submits) == 14)
        await answer_all(smsc, rig, 16)
        for parts in messages:
            number = parts[0].message.destination
            carried = [[s for s in link.submits if s.destination_addr == number] for link in smsc.links]
            carried = [submits for submits in carried if submits]
            assert len(carried) == 1
            assert [submit.short_message[5] for submit in carried[0]] == [1, 2, 3, 4]
        assert all(link.submits for link in smsc.links)
        assert max(link.most_open for link in smsc.links) <= 6


async def fill_a_link(smsc: Smsc, rig: Rig, *, messages: int, window: int) -> tuple[list[Part], SmscLink]:
    """Submits messages to one phone, more than the window holds, and answers none. Returns their parts and the link."""
    smsc.reply = lambda _: None
    same = [part for n in range(messages) for part in parts_of(f"{n}", destination="447700900001")]
    rig.carrier.submit(same)
    await wait_until(lambda: len(smsc.submits) == window)
    (busy,) = [link for link in smsc.links if link.submits]
    return same, busy


async def test_one_recipients_messages_keep_their_order() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port, binds=2, window=3)) as rig:
        await wait_until(lambda: rig.carrier.capacity == 6)
        _, busy = await fill_a_link(smsc, rig, messages=5, window=3)
        assert rig.binds[smsc.links.index(busy)].in_flight in (5, 0)
        assert sum(bind.in_flight for bind in rig.binds) == 5
        # A sixth has a place by the carrier's count, on the other link.
        other = parts_of("else", destination="447700900002")
        rig.carrier.submit(other)
        await wait_until(lambda: len(smsc.submits) == 4)
        assert busy.most_open == 3
        await answer_all(smsc, rig, 6)
        assert [submit.short_message for submit in busy.submits] == [b"0", b"1", b"2", b"3", b"4"]
        assert rig.events.accepted == 6


async def test_what_waits_for_a_place_is_put_back_when_the_link_goes() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port, binds=2, window=2)) as rig:
        await wait_until(lambda: rig.carrier.capacity == 4)
        same, busy = await fill_a_link(smsc, rig, messages=4, window=2)
        busy.cut()
        await wait_until(lambda: len(rig.events.outcomes) == 4)
        outcomes = [rig.events.outcomes[part] for part in same]
        assert all(isinstance(outcome, Unknown) for outcome in outcomes[:2])
        assert outcomes[2:] == [Deferred(NOT_SENT, 0.0)] * 2


async def test_after_the_end_of_the_lease_nothing_more_is_written() -> None:
    """A node that was stopped reads answers of a minute ago before any timer runs. They free the places of parts that
    another node has sent meanwhile."""
    async with Smsc() as smsc, Rig(connector(smsc.port, binds=2, window=2)) as rig:
        await wait_until(lambda: rig.carrier.capacity == 4)
        same, busy = await fill_a_link(smsc, rig, messages=4, window=2)
        rig.lease_end.at = time.monotonic()
        busy.respond_all()
        await wait_until(lambda: rig.events.accepted == 2)
        rig.carrier.submit(parts_of("else", destination="447700900002"))
        await rig.drain(0.5)
        assert [submit.short_message for submit in smsc.submits] == [b"0", b"1"]
        assert [rig.events.outcomes[part] for part in same[2:]] == [Deferred(NOT_SENT, 0.0)] * 2


# --- no answer


async def test_a_link_cut_under_way_leaves_each_part_unknown_once() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port, window=30)) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        smsc.reply = lambda submit: Status.ESME_ROK if submit.sequence % 3 == 0 else None
        parts = singles(30)
        rig.carrier.submit(parts)
        await wait_until(lambda: rig.events.accepted == 10)
        smsc.link.cut()
        await wait_until(lambda: len(rig.events.outcomes) == 30)
        unknown = rig.events.of(Unknown)
        assert len(unknown) == 20
        assert all("connection" in outcome.reason for outcome in unknown)
        # Bound anew, everything begins afresh.
        smsc.reply = lambda _: Status.ESME_ROK
        await wait_until(lambda: rig.carrier.capacity == 30)
        again = singles(30)
        rig.carrier.submit(again)
        await wait_until(lambda: rig.events.accepted == 40)
        assert rig.carrier.state().counters.unknown == 20


async def test_no_answer_in_time_is_unknown_and_frees_the_place() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port, window=2), replace(QUICK, response_timeout_s=0.5)) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        smsc.reply = lambda _: None
        parts = singles(2)
        submitted = time.monotonic()
        rig.carrier.submit(parts)
        await wait_until(lambda: len(rig.events.outcomes) == 2)
        assert 0.5 - EARLY_S <= time.monotonic() - submitted < QUICK.response_timeout_s - 1.0
        assert rig.events.of(Unknown) == [Unknown("no answer in 0.5 s")] * 2
        assert [line["phase"] for line in rig.journal.said("smpp.unanswered")] == ["began"]
        # The late answers change nothing, and the link stays.
        smsc.link.respond_all()
        await wait_until(lambda: rig.carrier.state().counters.late_answers == 2)
        assert rig.events.of(Unknown) == [Unknown("no answer in 0.5 s")] * 2
        rig.carrier.submit(singles(2))
        await wait_until(lambda: len(smsc.submits) == 4)
        assert len(smsc.links) == 1


async def test_what_no_submit_sm_can_hold_is_refused() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port)) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        bad, good = parts_of(sender="x" * 30)[0], parts_of()[0]
        rig.carrier.submit([bad, good])
        await wait_until(lambda: len(rig.events.outcomes) == 2)
        outcome = rig.events.outcomes[bad]
        assert isinstance(outcome, Refused)
        assert (outcome.status, outcome.state, outcome.err) == (NOT_SENT, Delivery.REJECTD, "")
        assert isinstance(rig.events.outcomes[good], Accepted)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
async def test_whatever_happens_each_part_has_one_outcome(seed: int) -> None:
    """Cuts, silence, unbinds, refusals and half-open links, at random: `NotedEvents` fails on a second outcome."""
    chance = random.Random(seed)
    timings = replace(
        QUICK, response_timeout_s=0.15, enquire_interval_s=0.15, enquire_timeout_s=0.1, reconnect_first_s=0.02,
        reconnect_most_s=0.05, unbind_timeout_s=0.1,
    )  # fmt: skip
    statuses: list[Any] = [0, 0, 0, 0, None, Status.ESME_RTHROTTLED, Status.ESME_RINVDSTADR, Status.ESME_RINVBNDSTS]
    async with Smsc() as smsc, Rig(connector(smsc.port, binds=3, window=5), timings) as rig:
        smsc.reply = lambda _: chance.choice(statuses)
        given: list[Part] = []
        while len(given) < 300:
            await asyncio.sleep(0.001)
            await wait_until(lambda: rig.carrier.capacity)
            free = rig.carrier.capacity - (len(given) - len(rig.events.outcomes))
            batch = singles(chance.randint(1, 8), destination=chance.choice(["", "447700900001"]))
            if free >= len(batch):
                given.extend(batch)
                rig.carrier.submit(batch)
            await wait_until(lambda: len(given) - len(rig.events.outcomes) < 12)
            # Who has not been answered has a place in a window, or has had one for as long as may be.
            unanswered = sum(len(link.open) for link in smsc.links)
            assert unanswered <= 3 * 5 + len(rig.events.of(Unknown)), "no window is exceeded"
            for link in smsc.up:
                fate = chance.random()
                if fate < 0.03:
                    link.cut()
                elif fate < 0.05:
                    link.mute = True
                elif fate < 0.07:
                    link.unbind()
        await wait_until(lambda: len(rig.events.outcomes) == len(given))
        counters = rig.carrier.state().counters
        kinds = ("accepted", "deferred", "refused", "unknown")
        assert sum(counters.named()[kind] for kind in kinds) <= len(given)
        assert set(rig.events.outcomes) == set(given)


async def test_an_answer_that_comes_too_late_is_told_all_the_same() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port), replace(QUICK, response_timeout_s=0.2)) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        smsc.reply = lambda _: None
        first, second, third = singles(3)
        rig.carrier.submit([first, second, third])
        await wait_until(lambda: len(rig.events.of(Unknown)) == 3)
        one, other, _ = smsc.link.open.values()
        smsc.link.respond(one, message_id="77")
        smsc.link.respond(other, Status.ESME_RINVDSTADR)
        smsc.link.respond(one, message_id="78")
        smsc.link.flush()
        await wait_until(lambda: rig.carrier.state().counters.late_answers == 3)
        assert rig.events.late == [(first, Accepted("77")), (second, Refused(0x0B, Delivery.REJECTD, "11"))]


async def test_what_the_operator_says_of_its_load_is_told() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port)) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        smsc.reply = lambda _: None
        rig.carrier.submit(singles(2))
        await wait_until(lambda: len(smsc.link.open) == 2)
        for request, tlvs in zip(smsc.link.open.values(), ((tlv.make(tlv.CONGESTION_STATE, 93),), ()), strict=True):
            response = p.SubmitSmResp(request.sequence, 0, tlvs, message_id="1")
            smsc.link.session.respond(response)
        smsc.link.flush()
        await wait_until(lambda: rig.events.accepted == 2)
        assert rig.events.congestion == [93]
