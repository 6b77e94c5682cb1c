"""Binds that come, go and come back."""

import asyncio
import ssl
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from heliograph.app.facts import NOT_SENT
from heliograph.app.ports import Accepted, Deferred, Unknown
from heliograph.smpp import pdu as p
from heliograph.smpp.constants import CommandStatus as Status
from tests.support.carrier_rig import QUICK, Rig, connector, parts_of, singles
from tests.support.ports import free_port
from tests.support.slowness import EARLY_S, Slowness
from tests.support.smsc import Smsc, SmscLink, receipt, speaking, wait_until
from tests.support.timeouts import PATIENCE_S

CERTIFICATES = Path(__file__).parent / "certificates"


async def test_it_binds_as_the_connector_says() -> None:
    options = {"system_type": "VMA", "interface_version": 5.0, "address_range": "^77", "addr_ton": 1, "addr_npi": 8}
    async with Smsc() as smsc, Rig(connector(smsc.port, window=7, options=options)) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        bind = smsc.link.bind
        assert isinstance(bind, p.BindTransceiver)
        assert (bind.system_id, bind.password, bind.system_type) == ("helio", "hunter2", "VMA")
        assert (bind.interface_version, bind.addr_ton, bind.addr_npi, bind.address_range) == (0x50, 1, 8, "^77")
        assert rig.carrier.capacity == 7
        assert rig.events.capacities == [7]
        assert rig.carrier.state().summary == "It is bound."
        (state,) = rig.binds
        assert (state.state, state.host, state.window) == ("bound", f"127.0.0.1:{smsc.port}", 7)
        assert rig.journal.said("smpp.bound")


async def test_a_transmitter_and_a_receiver_make_a_pair() -> None:
    async with (
        Smsc() as smsc,
        Rig(connector(smsc.port, bind="transmitter+receiver", binds=2, window=5)) as rig,
    ):
        await wait_until(lambda: len(smsc.up) == 4)
        await wait_until(lambda: rig.carrier.capacity == 10)
        kinds = [type(link.bind) for link in smsc.up]
        assert kinds.count(p.BindTransmitter) == kinds.count(p.BindReceiver) == 2
        parts = singles(10)
        rig.carrier.submit(parts)
        await wait_until(lambda: rig.events.accepted == 10)
        receivers = [link for link in smsc.up if isinstance(link.bind, p.BindReceiver)]
        assert all(not link.submits for link in receivers)


@pytest.mark.slow
async def test_a_lost_link_is_bound_again_within_a_second() -> None:
    timings = replace(QUICK, reconnect_first_s=1.0, reconnect_most_s=30.0)
    async with Smsc() as smsc, Rig(connector(smsc.port), timings) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        with Slowness() as slowness:
            smsc.link.cut()
            cut = time.monotonic()
            await wait_until(lambda: not rig.carrier.capacity)
            await wait_until(lambda: rig.carrier.capacity)
        # Half a second at least, a second at most, and what connecting takes.
        assert 0.5 - EARLY_S <= smsc.connected_at[-1] - cut < slowness.within(1.5)
        assert rig.events.capacities == [10, 0, 10]


async def test_the_time_since_nothing_can_be_submitted_is_that_of_the_last_bind_that_was_lost() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port), QUICK) as rig:
        began = rig.carrier.state().down_since
        assert began is not None
        await wait_until(lambda: rig.carrier.capacity)
        assert rig.carrier.state().down_since is None
        smsc.hang_up = True
        smsc.link.cut()
        await wait_until(lambda: not rig.carrier.capacity)
        lost = rig.carrier.state().down_since
        assert lost is not None
        assert lost >= began
        tried = len(smsc.connected_at)
        await wait_until(lambda: len(smsc.connected_at) > tried + 1)
        assert rig.carrier.state().down_since == lost, "tries to bind do not begin it anew"


@pytest.mark.slow
async def test_pauses_grow_while_nothing_binds_and_start_anew_after_a_bind() -> None:
    timings = replace(QUICK, reconnect_first_s=0.1, reconnect_most_s=0.4)
    async with Smsc() as smsc, Rig(connector(smsc.port), timings) as rig:
        smsc.hang_up = True
        await wait_until(lambda: len(smsc.connected_at) >= 6)
        gaps = [later - sooner for sooner, later in zip(smsc.connected_at, smsc.connected_at[1:], strict=False)]
        ceilings = [0.1, 0.2, 0.4, 0.4, 0.4]
        assert all(gap >= ceiling / 2 - EARLY_S for gap, ceiling in zip(gaps, ceilings, strict=False)), gaps
        assert "connection" in rig.binds[0].last_error
        smsc.hang_up = False
        await wait_until(lambda: rig.carrier.capacity)
        await asyncio.sleep(timings.reconnect_most_s + EARLY_S)  # so that it stands for longer than the pause before it
        smsc.link.cut()
        await wait_until(lambda: not rig.carrier.capacity)
        wait = rig.binds[0].reconnect_in
        assert wait is None or wait <= 0.1


@pytest.mark.parametrize("carries", ["answers", "receipts"])
async def test_a_link_that_worked_is_bound_anew_soon_however_often_it_falls(carries: str) -> None:
    timings = replace(QUICK, reconnect_first_s=0.1, reconnect_most_s=60.0)
    async with Smsc() as smsc, Rig(connector(smsc.port), timings) as rig:
        rig.events.keeps = True
        for count in range(1, 9):
            await wait_until(lambda: rig.carrier.capacity)
            if carries == "answers":
                rig.carrier.submit(singles(3))
                await wait_until(lambda count=count: rig.events.accepted == 3 * count)  # type: ignore[misc]
            else:
                smsc.link.deliver(receipt("7"))
                await wait_until(lambda count=count: len(rig.events.reports) == count)  # type: ignore[misc]
            smsc.link.cut()
            await wait_until(lambda: not rig.carrier.capacity)
            await wait_until(lambda: rig.binds[0].state != "unbinding")
            wait = rig.binds[0].reconnect_in
            assert wait is None or wait <= 0.1


async def test_while_it_waits_it_says_for_how_long_and_why() -> None:
    timings = replace(QUICK, reconnect_first_s=300.0, reconnect_most_s=300.0)
    began = time.monotonic()
    async with Rig(connector(free_port()), timings) as rig:
        await wait_until(lambda: rig.binds[0].state == "waiting")
        (state,) = rig.binds
        assert 150 - (time.monotonic() - began) - 0.1 <= state.reconnect_in <= 300, "but for being rounded"
        assert "refuses connections" in state.last_error
        assert rig.carrier.capacity == 0
        summary = rig.carrier.state().summary
        assert summary.startswith("It is not bound: ")
        assert "The next attempt is in" in summary


async def test_other_hosts_are_tried_in_turn() -> None:
    timings = replace(QUICK, reconnect_first_s=30.0, reconnect_most_s=30.0)
    async with Smsc() as smsc:
        options = {"hosts": f"127.0.0.1:{free_port()}, localhost:{smsc.port}"}
        async with Rig(connector(free_port(), options=options), timings) as rig:
            await wait_until(lambda: rig.carrier.capacity)
            assert rig.binds[0].host == f"localhost:{smsc.port}"


@pytest.mark.parametrize("status", [Status.ESME_RINVPASWD, Status.ESME_RINVSYSID])
async def test_wrong_credentials_do_not_hammer_and_are_named(status: Status) -> None:
    async with Smsc() as smsc:
        smsc.bind_status = status
        async with Rig(connector(smsc.port, binds=2)) as rig:
            await wait_until(lambda: all(bind.state == "waiting" for bind in rig.binds))
            for bind in rig.binds:
                assert 50 <= bind.reconnect_in <= 72 * 1.25
                assert status.name in bind.last_error
            assert "password" in rig.carrier.state().summary
            assert len(smsc.links) == 2


@pytest.mark.slow
async def test_all_binds_of_an_account_wait_for_the_one_that_tries_wrong_credentials_again() -> None:
    tried = 0
    # The others wait for a twentieth longer: where the answer took that long, that says something of the machine.
    for pause_s in (0.3, 1.2, 4.8):
        timings = replace(QUICK, credentials_first_s=pause_s, credentials_most_s=4 * pause_s)
        async with Smsc() as smsc:
            smsc.bind_status = Status.ESME_RINVPASWD
            async with Rig(connector(smsc.port, binds=8), timings) as rig:
                await wait_until(lambda smsc=smsc: len(smsc.links) >= 10)  # type: ignore[misc]
                # Eight at once, since nobody knew; then one or a few at a time, ever more rarely.
                first = smsc.connected_at[0]
                assert smsc.connected_at[8] - first >= pause_s - EARLY_S
                tried = sum(at - first < 2.5 * pause_s for at in smsc.connected_at)
                smsc.bind_status = Status.ESME_ROK
                await wait_until(lambda rig=rig: rig.carrier.capacity == 80)  # type: ignore[misc]
        if tried < 8 + 8:
            break
    assert tried < 8 + 8


async def test_a_refusal_that_may_pass_is_tried_again_soon() -> None:
    async with Smsc() as smsc:
        smsc.bind_status = Status.ESME_RALYBND
        async with Rig(connector(smsc.port)) as rig:
            await wait_until(lambda: len(smsc.links) >= 3)
            assert "ESME_RALYBND" in rig.binds[0].last_error
            smsc.bind_status = Status.ESME_ROK
            await wait_until(lambda: rig.carrier.capacity)


async def test_a_bind_that_is_not_answered_ends() -> None:
    async with Smsc() as smsc:
        smsc.bind_status = None
        async with Rig(connector(smsc.port), replace(QUICK, connect_timeout_s=0.2)) as rig:
            # where it took that long to connect, that is said of the machine, and it tries again
            await wait_until(lambda: "did not answer the bind" in (rig.binds[0].last_error or ""))
            await wait_until(lambda: len(smsc.links) >= 2)
            await wait_until(lambda: smsc.links[0].gone)


async def test_a_host_that_speaks_something_else_is_left() -> None:
    async with speaking(b"220 mail.example.test ESMTP\r\n") as port, Rig(connector(port)) as rig:
        await wait_until(lambda: "does not speak SMPP" in (rig.binds[0].last_error or ""))


async def test_a_half_open_link_is_found_within_two_intervals() -> None:
    timings = replace(QUICK, enquire_interval_s=0.4, enquire_timeout_s=0.4)
    async with Smsc() as smsc, Rig(connector(smsc.port), timings) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        smsc.reply = lambda _: None
        (part,) = parts_of()
        submitted = time.monotonic()
        rig.carrier.submit([part])
        await wait_until(lambda: smsc.submits)
        smsc.link.mute = True
        with Slowness() as slowness:
            silent = time.monotonic()
            await wait_until(lambda: part in rig.events.outcomes)
        ended = time.monotonic()
        # An enquiry of before the part was answered together with it: the one that was not is of later.
        assert ended - submitted >= 0.4 - EARLY_S
        assert ended - silent < slowness.within(0.8 + 0.7)
        outcome = rig.events.outcomes[part]
        assert isinstance(outcome, Unknown)
        assert "the link was dead" in outcome.reason
        await wait_until(lambda: rig.carrier.capacity)


async def test_an_operator_that_reads_nothing_is_left_and_what_it_asks_does_not_pile_up() -> None:
    timings = replace(QUICK, response_timeout_s=0.5, reconnect_first_s=30.0)
    async with Smsc() as smsc, Rig(connector(smsc.port), timings) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        link = smsc.link
        link.read(False)
        pours = asyncio.create_task(pour_enquiries(link))
        await wait_until(lambda: not rig.carrier.capacity)
        asked = await pours
        assert "reads neither" in rig.binds[0].last_error
        # what both sides' sockets hold, and a mebioctet of answers; no more was read than that
        assert asked < MOST_ENQUIRIES


MOST_ENQUIRIES = 2_000_000
"""Of sixteen octets: twice what two sockets and two programs hold of enquiries and answers on loopback."""


async def pour_enquiries(link: SmscLink) -> int:
    """Asks for life as fast as the other side reads, until the link has gone. How many went out."""
    asked = 0
    while not link.gone and asked < MOST_ENQUIRIES:
        if link.backlog < 1 << 18:
            link.send(ENQUIRIES)
            asked += len(ENQUIRIES) // 16
        await asyncio.sleep(0)
    return asked


ENQUIRIES = b"".join(b"\0\0\0\x10\0\0\0\x15\0\0\0\0" + n.to_bytes(4, "big") for n in range(1, 2_001))


async def test_parts_wait_for_an_operator_that_does_not_read_and_were_not_sent_when_the_link_ends() -> None:
    timings = replace(QUICK, response_timeout_s=1.0, reconnect_first_s=30.0)
    async with Smsc() as smsc, Rig(connector(smsc.port), timings) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        link = smsc.link
        link.read(False)
        pours = asyncio.create_task(pour_enquiries(link))
        await wait_until(lambda: "does not read" in rig.carrier.state().summary)
        parts = singles(5)
        rig.carrier.submit(parts)
        await wait_until(lambda: len(rig.events.outcomes) == 5)
        await pours
        assert [rig.events.outcomes[part] for part in parts] == [Deferred(NOT_SENT, 0.0)] * 5


async def test_an_operator_that_reads_again_gets_what_waited() -> None:
    patient = replace(QUICK, response_timeout_s=2 * PATIENCE_S)
    async with Smsc() as smsc, Rig(connector(smsc.port), patient) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        link = smsc.link
        link.read(False)

        def is_full() -> bool:
            if link.backlog < 1 << 18:
                link.send(ENQUIRIES)
            return "does not read" in rig.carrier.state().summary

        await wait_until(is_full)
        rig.carrier.submit(singles(5))
        link.read(True)
        await wait_until(lambda: rig.events.accepted == 5)
        assert rig.carrier.state().summary == "It is bound."
        assert rig.events.capacities == [10]


async def test_an_idle_link_is_tested_and_stays() -> None:
    timings = replace(QUICK, enquire_interval_s=0.05, enquire_timeout_s=5.0)
    async with Smsc() as smsc, Rig(connector(smsc.port), timings) as rig:
        await wait_until(lambda: smsc.links and smsc.link.enquiries >= 3)
        assert rig.events.capacities == [10]
        assert len(smsc.links) == 1


async def test_an_enquiry_of_the_operator_is_answered() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port)) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        smsc.link.session.enquire_link(time.monotonic())
        assert smsc.link.session.next_deadline() is not None
        smsc.link.flush()
        await wait_until(lambda: smsc.link.session.next_deadline() is None)


async def test_an_operator_that_unbinds_is_answered_and_bound_anew() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port)) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        smsc.link.unbind()
        await wait_until(lambda: smsc.links[0].unbound)
        await wait_until(lambda: len(smsc.up) == 1 and rig.carrier.capacity)
        assert rig.binds[0].last_error == "the operator unbound the link"


async def test_an_operator_that_unbinds_is_waited_for_with_what_is_in_flight() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port), replace(QUICK, unbind_timeout_s=20.0)) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        smsc.reply = lambda _: None
        rig.carrier.submit(singles(10))
        await wait_until(lambda: len(smsc.link.open) == 10)
        link = smsc.link
        link.unbind()
        await wait_until(lambda: not rig.carrier.capacity)
        (late,) = singles(1)
        rig.carrier.submit([late])
        await wait_until(lambda: late in rig.events.outcomes)
        assert rig.events.outcomes[late] == Deferred(NOT_SENT, 0.0)
        assert not link.unbound
        link.respond_all()
        await wait_until(lambda: len(rig.events.outcomes) == 11)
        assert rig.events.accepted == 10
        await wait_until(lambda: link.unbound)
        await wait_until(lambda: len(smsc.up) == 1 and rig.carrier.capacity)
        assert len(link.submits) == 10
        assert rig.binds[0].last_error == "the operator unbound the link"


async def test_an_operator_that_unbinds_and_answers_no_more_is_let_go() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port), replace(QUICK, unbind_timeout_s=0.2)) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        smsc.reply = lambda _: None
        rig.carrier.submit(singles(2))
        await wait_until(lambda: len(smsc.link.open) == 2)
        link = smsc.link
        link.unbind()
        await wait_until(lambda: link.unbound)
        await wait_until(lambda: len(rig.events.of(Unknown)) == 2)
        assert {outcome.reason for outcome in rig.events.of(Unknown)} == {"the operator unbound the link"}


async def test_an_operator_that_forgot_the_bind_is_bound_anew_when_the_others_are_answered() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port)) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        smsc.reply = lambda _: None
        parts = singles(3)
        rig.carrier.submit(parts)
        await wait_until(lambda: len(smsc.link.open) == 3)
        first, second, third = smsc.link.open.values()
        smsc.link.respond(first, Status.ESME_RINVBNDSTS)
        smsc.link.respond(second)
        smsc.link.respond(third)
        smsc.link.flush()
        await wait_until(lambda: len(rig.events.outcomes) == 3)
        assert rig.events.accepted == 2
        await wait_until(lambda: len(smsc.links) >= 2 and rig.carrier.capacity)
        assert smsc.links[0].unbound


async def test_wrong_options_keep_it_from_binding() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port, options={"concatination": "sar"})) as rig:
        assert "option concatination: there is no such option" in rig.carrier.state().summary
        assert rig.journal.said("smpp.bad_options")
        assert rig.binds[0].state == "stopped"
        assert not smsc.links


async def test_the_same_trouble_is_said_aloud_once() -> None:
    async with Smsc() as smsc:
        smsc.hang_up = True
        async with Rig(connector(smsc.port)) as rig:
            await wait_until(lambda: len(rig.journal.said("smpp.not_bound")) >= 4)
            levels = [level for level, event, _ in rig.journal.lines if event == "smpp.not_bound"]
            assert levels.count("warning") < len(levels)
            assert "hunter2" not in str(rig.journal.lines) + str(rig.carrier.state())


# --- an operator that answers nothing


async def test_an_operator_that_answers_no_submit_sm_is_called_silent_until_it_does() -> None:
    """Though it answers enquire_link, and each part comes to an end; a late answer counts too."""
    hasty = replace(QUICK, response_timeout_s=0.3, enquire_interval_s=0.1, enquire_timeout_s=PATIENCE_S)
    async with Smsc() as smsc, Rig(connector(smsc.port), hasty) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        smsc.reply = lambda _: None
        assert (rig.carrier.state().silent, rig.carrier.state().silent_s) == (0, 0.0)

        def is_silent_under_load() -> bool:
            """Keeps a part in flight: without one, silence ends."""
            if rig.carrier.capacity:
                rig.carrier.submit(singles(1))
            return rig.carrier.state().silent_s >= 2 * hasty.response_timeout_s and bool(smsc.link.enquiries)

        await wait_until(is_silent_under_load)
        assert rig.events.of(Unknown)
        state = rig.carrier.state()
        assert (state.bound, state.silent) == (1, 1)
        assert "the operator has not responded for" in state.summary
        assert rig.binds[0].silent
        smsc.link.respond_all()
        await wait_until(lambda: rig.carrier.state().silent == 0)
        assert rig.carrier.state().summary == "It is bound."


async def test_an_idle_link_is_not_silent_after_an_answer_that_never_came() -> None:
    hasty = replace(QUICK, response_timeout_s=0.3)
    async with Smsc() as smsc, Rig(connector(smsc.port), hasty) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        smsc.reply = lambda _: None
        rig.carrier.submit(singles(1))
        await wait_until(lambda: rig.events.of(Unknown))
        assert (rig.carrier.state().silent, rig.carrier.state().silent_s) == (0, 0.0)
        rig.carrier.submit(singles(1))
        assert rig.carrier.state().silent_s < hasty.response_timeout_s, "the time without parts does not count"


async def test_one_that_answers_some_is_slow_and_not_silent() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port)) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        smsc.reply = lambda _: None
        rig.carrier.submit(singles(2))
        await wait_until(lambda: len(smsc.link.open) == 2)
        before = time.monotonic()
        smsc.link.respond(next(iter(smsc.link.open.values())))
        smsc.link.flush()
        await wait_until(lambda: rig.events.accepted == 1)
        assert smsc.link.open
        assert rig.carrier.state().silent_s <= time.monotonic() - before + 0.05, "but for being rounded"


# --- drain


async def test_drain_waits_for_answers_and_unbinds() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port)) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        smsc.reply = lambda _: None
        rig.carrier.submit(singles(3))
        await wait_until(lambda: len(smsc.link.open) == 3)
        draining = asyncio.create_task(rig.drain(PATIENCE_S))
        await wait_until(lambda: rig.carrier.capacity == 0)
        assert not smsc.link.unbound
        smsc.link.respond_all()
        await draining
        assert rig.events.accepted == 3
        assert smsc.links == [link for link in smsc.links if link.unbound]
        assert rig.binds[0].state == "stopped"
        assert rig.carrier.state().summary == "It is taken down."


async def test_drain_waits_for_receipts_to_be_kept() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port)) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        smsc.link.deliver(receipt("id1"), "one")
        await wait_until(lambda: rig.events.reports)
        draining = asyncio.create_task(rig.drain(PATIENCE_S))
        await wait_until(lambda: rig.carrier.capacity == 0)
        rig.events.reports[0][1](True)
        await draining
        assert smsc.link.receipts_answered == [("one", Status.ESME_ROK)]
        assert smsc.link.unbound


async def test_after_the_end_of_the_lease_a_drain_leaves_receipts_without_an_answer() -> None:
    """The store is away. Some operators take any answer as the end, and send again only receipts without an answer."""
    async with Smsc() as smsc, Rig(connector(smsc.port)) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        smsc.link.deliver(receipt("id1"), "before")
        await wait_until(lambda: rig.events.reports)
        rig.lease_end.at = time.monotonic()
        draining = asyncio.create_task(rig.drain(0.5))
        await wait_until(lambda: rig.carrier.capacity == 0)
        smsc.link.deliver(receipt("id2"), "after")
        rig.events.reports[0][1](False)
        await draining
        assert smsc.link.receipts_answered == []
        assert smsc.link.unbound


async def test_receipts_without_end_do_not_hold_up_a_drain() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port)) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        smsc.reply = lambda _: None
        rig.carrier.submit(singles(1))
        await wait_until(lambda: smsc.link.open)
        draining = asyncio.create_task(rig.drain(PATIENCE_S))
        await wait_until(lambda: rig.carrier.capacity == 0)
        smsc.link.deliver(receipt("id1"), "before the answer")
        await wait_until(lambda: rig.events.reports)
        smsc.link.respond_all()
        await wait_until(lambda: rig.events.accepted == 1)
        for _ in range(100):
            smsc.link.deliver(receipt("id2"), "after it")
        await wait_until(lambda: len(smsc.link.receipts_answered) == 100)
        assert set(smsc.link.receipts_answered) == {("after it", Status.ESME_RX_T_APPN)}
        assert not draining.done(), "what was taken is waited for"
        rig.events.reports[0][1](True)
        await draining
        assert smsc.link.receipts_answered[-1] == ("before the answer", Status.ESME_ROK)
        assert smsc.link.unbound
        assert len(rig.events.reports) == 1


async def test_drain_ends_at_its_deadline_and_what_has_no_answer_is_unknown() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port, binds=2)) as rig:
        await wait_until(lambda: rig.carrier.capacity == 20)
        smsc.reply = lambda _: None
        rig.carrier.submit(singles(4))
        await wait_until(lambda: len(smsc.submits) == 4)
        for link in smsc.links:
            link.mute = True
        began = time.monotonic()
        await rig.drain(0.2)
        assert 0.2 - EARLY_S <= time.monotonic() - began < QUICK.response_timeout_s - 1.0
        assert len(rig.events.of(Unknown)) == 4


async def test_drain_of_what_never_bound_is_quick() -> None:
    async with Smsc() as smsc:
        smsc.bind_status = None
        rig = Rig(connector(smsc.port, binds=3))
        rig.carrier.start()
        await wait_until(lambda: len(smsc.links) >= 3)
        began = time.monotonic()
        await rig.drain(PATIENCE_S)
        assert time.monotonic() - began < PATIENCE_S / 2


async def test_what_comes_while_draining_is_put_back() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port)) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        draining = asyncio.create_task(rig.drain(1.0))
        await wait_until(lambda: rig.carrier.capacity == 0)
        (part,) = parts_of()
        rig.carrier.submit([part])
        await draining
        await wait_until(lambda: part in rig.events.outcomes)
        assert not isinstance(rig.events.outcomes[part], Accepted | Unknown)


# --- TLS


def server_context(client_authority: bool = False) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(CERTIFICATES / "smsc.pem")
    if client_authority:
        context.load_verify_locations(CERTIFICATES / "authority.pem")
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def tls_options(**more: Any) -> dict[str, Any]:
    return {"ca_file": str(CERTIFICATES / "authority.pem"), "tls_server_name": "smsc.example.test", **more}


async def test_tls_with_the_operators_own_authority() -> None:
    async with (
        Smsc(server_context()) as smsc,
        Rig(connector(smsc.port, tls=True, options=tls_options())) as rig,
    ):
        await wait_until(lambda: rig.carrier.capacity)
        rig.carrier.submit(singles(5))
        await wait_until(lambda: rig.events.accepted == 5)


@pytest.mark.parametrize("tls", [False, True])
async def test_what_the_operator_said_before_it_closed_is_heard(tls: bool) -> None:
    options = tls_options() if tls else {}
    async with (
        Smsc(server_context() if tls else None) as smsc,
        Rig(connector(smsc.port, tls=tls, options=options)) as rig,
    ):
        await wait_until(lambda: rig.carrier.capacity)
        smsc.reply = lambda _: None
        link = smsc.link
        rig.carrier.submit(singles(5))
        await wait_until(lambda: len(link.open) == 5)
        for request in list(link.open.values()):
            link.respond(request)
            link.flush()
            await asyncio.sleep(0.001)  # so that each is a read of its own
        link.close()
        await wait_until(lambda: len(rig.events.outcomes) == 5)
        assert rig.events.accepted == 5


async def test_tls_with_a_client_certificate() -> None:
    options = tls_options(cert_file=str(CERTIFICATES / "esme.pem"))
    async with (
        Smsc(server_context(client_authority=True)) as smsc,
        Rig(connector(smsc.port, tls=True, options=options)) as rig,
    ):
        await wait_until(lambda: rig.carrier.capacity)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "is not trusted"),
        (tls_options(tls_server_name="other.example.test"), "is not trusted"),
        (tls_options(ca_file="/nowhere/authority.pem"), "/nowhere/authority.pem cannot be read: No such file"),
    ],
)
async def test_tls_that_cannot_be_trusted_does_not_bind(options: dict[str, Any], words: str) -> None:
    async with Smsc(server_context()) as smsc, Rig(connector(smsc.port, tls=True, options=options)) as rig:
        await wait_until(lambda: words in (rig.binds[0].last_error or ""))
        assert not smsc.up


async def test_tls_without_verification_is_a_choice() -> None:
    async with (
        Smsc(server_context()) as smsc,
        Rig(connector(smsc.port, tls=True, options={"tls_verify": False})) as rig,
    ):
        await wait_until(lambda: rig.carrier.capacity)


async def test_a_port_without_tls_is_named() -> None:
    async with (
        speaking(b"this is no TLS at all, whatever was asked for\r\n") as port,
        Rig(connector(port, tls=True, options=tls_options())) as rig,
    ):
        await wait_until(lambda: "a port without TLS?" in (rig.binds[0].last_error or ""))


async def test_nothing_is_told_to_a_host_that_the_settings_do_not_allow() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port, host="localhost"), allowed=["192.0.2.0/24"]) as rig:
        await wait_until(lambda: "smpp.allowed_hosts does not allow localhost" in (rig.binds[0].last_error or ""))
        assert not smsc.links


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_host_that_the_settings_allow_is_bound(host: str) -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port, host=host), allowed=["127.0.0.0/8"]) as rig:
        await wait_until(lambda: rig.carrier.capacity)
