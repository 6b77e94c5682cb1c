"""A well-behaved operator: binds, answers, receipts, and what may be asked of messages."""

import asyncio
import io
import json
from collections.abc import Awaitable, Callable

import pytest

from heliograph.simulator.behaviour import Notation
from heliograph.simulator.smsc import SYSTEM_ID
from heliograph.smpp import constants as c
from heliograph.smpp import event as e
from heliograph.smpp import pdu as p
from heliograph.smpp import tlv
from heliograph.smpp.constants import CommandStatus, MessageState
from tests.integration.simulator.esme import Esme, Smsc, submit_sm
from tests.support.timeouts import PATIENCE_S

Start = Callable[..., Awaitable[Smsc]]

FORETOLD = "3054"


async def test_submit_and_receipt(start: Start) -> None:
    smsc = await start()
    esme = await smsc.bind()
    answered = await esme.submit("447700900100", source_addr="Acme", source_addr_ton=5)
    assert answered.status == 0
    await esme.wait(lambda: esme.receipts)
    receipt, delivery = esme.receipts[0], esme.deliveries[0]
    assert (receipt.message_id, receipt.state, receipt.err) == (answered.message_id, "DELIVRD", "000")
    assert receipt.other_id is None
    assert (receipt.source_addr, receipt.destination_addr) == ("447700900100", "Acme")
    assert (delivery.source_addr_ton, delivery.source_addr_npi) == (1, 1)
    assert (delivery.dest_addr_ton, delivery.dest_addr_npi) == (5, 0)
    assert tlv.find(delivery.tlvs, tlv.RECEIPTED_MESSAGE_ID) == f"{answered.message_id}\0".encode()
    assert tlv.find_integer(delivery.tlvs, tlv.MESSAGE_STATE) == MessageState.DELIVERED
    await smsc.until(lambda: smsc.simulator.counters.receipts.answered == 1)


@pytest.mark.parametrize("kind", [p.BindTransmitter, p.BindReceiver, p.BindTransceiver])
async def test_every_kind_of_bind(start: Start, kind: type[p.BindRequest]) -> None:
    smsc = await start()
    await smsc.bind(kind)
    assert smsc.simulator.counters.bound == 1


async def test_the_bind_is_answered_with_a_name(start: Start) -> None:
    smsc = await start()
    esme = await smsc.bind()
    assert SYSTEM_ID.encode() + b"\0" in esme.reads[0]


async def test_receipts_come_on_the_receiver_of_a_pair(start: Start) -> None:
    smsc = await start()
    transmitter = await smsc.bind(p.BindTransmitter)
    receiver = await smsc.bind(p.BindReceiver)
    stranger = await smsc.bind(p.BindReceiver, "other")
    answered = await transmitter.submit()
    await receiver.wait(lambda: receiver.receipts)
    assert receiver.receipts[0].message_id == answered.message_id
    assert stranger.receipts == transmitter.receipts == []


async def test_receipts_wait_for_a_bind(start: Start) -> None:
    smsc = await start()
    transmitter = await smsc.bind(p.BindTransmitter)
    answers = [await transmitter.submit() for _ in range(3)]
    await smsc.until(lambda: smsc.simulator.counters.receipts.waiting == 3)
    receiver = await smsc.bind(p.BindReceiver)
    await receiver.wait(lambda: len(receiver.receipts) == 3)
    assert [receipt.message_id for receipt in receiver.receipts] == [answer.message_id for answer in answers]
    assert smsc.simulator.counters.receipts.waiting == 0


async def test_receipts_without_an_answer_come_again_on_the_next_bind(start: Start) -> None:
    smsc = await start()
    first = await smsc.bind(receipt_status=None)
    answered = await first.submit()
    await first.wait(lambda: first.receipts)
    await first.close()
    second = await smsc.bind()
    await second.wait(lambda: second.receipts)
    assert second.receipts[0].message_id == answered.message_id
    assert smsc.simulator.counters.receipts.repeated == 1


async def test_receipts_that_come_again_come_first_and_in_their_order(start: Start) -> None:
    smsc = await start(deliver_window=2)
    first = await smsc.bind(receipt_status=None)
    ids = [(await first.submit()).message_id for _ in range(4)]
    await smsc.until(lambda: smsc.simulator.counters.receipts.waiting == 2)
    await first.wait(lambda: len(first.receipts) == 2)
    await first.close()
    second = await smsc.bind()
    await second.wait(lambda: len(second.receipts) == 4)
    assert [receipt.message_id for receipt in second.receipts] == ids


async def test_receipts_not_answered_in_time_come_again(start: Start) -> None:
    smsc = await start(deliver_timeout_ms=50.0)
    esme = await smsc.bind(receipt_status=None)
    await esme.submit()
    await esme.wait(lambda: len(esme.receipts) == 2)
    assert esme.receipts[0].message_id == esme.receipts[1].message_id


@pytest.mark.slow
async def test_receipts_refused_for_the_moment_come_again(start: Start) -> None:
    smsc = await start()
    esme = await smsc.bind(receipt_status=CommandStatus.ESME_RX_T_APPN)
    await esme.submit()
    await esme.wait(lambda: esme.receipts)
    esme.receipt_status = 0
    await esme.wait(lambda: len(esme.receipts) == 2)
    assert smsc.simulator.counters.receipts.refused == 0


async def test_receipts_refused_for_good_do_not(start: Start) -> None:
    smsc = await start()
    esme = await smsc.bind(receipt_status=CommandStatus.ESME_RX_P_APPN)
    await esme.submit()
    await smsc.until(lambda: smsc.simulator.counters.receipts.refused == 1)
    assert smsc.simulator.counters.receipts.waiting == 0


async def test_unanswered_receipts_keep_to_the_window(start: Start) -> None:
    smsc = await start(deliver_window=3)
    esme = await smsc.bind(receipt_status=None)
    for _ in range(5):
        await esme.submit()
    await smsc.until(lambda: smsc.simulator.counters.receipts.waiting == 2)
    await esme.wait(lambda: len(esme.receipts) == 3)
    esme.session.answer(esme.deliveries[0])
    esme.flush()
    await esme.wait(lambda: len(esme.receipts) == 4)


@pytest.mark.parametrize(("asked", "failed", "comes"), [(0, True, False), (2, False, False), (2, True, True)])
async def test_a_receipt_comes_only_where_it_was_asked_for(start: Start, asked: int, failed: bool, comes: bool) -> None:
    smsc = await start()
    esme = await smsc.bind()
    await esme.submit("447700909001" if failed else "447700900100", registered_delivery=asked)
    await esme.submit("447700900101")  # its receipt shows that the other had its time
    await esme.wait(lambda: "447700900101" in [receipt.source_addr for receipt in esme.receipts])
    assert len(esme.receipts) == 1 + comes


async def test_ids_differ_over_restarts(start: Start) -> None:
    ids = []
    for _ in range(2):
        smsc = await start()
        esme = await smsc.bind()
        ids += [(await esme.submit()).message_id for _ in range(3)]
    assert len(set(ids)) == 6


async def test_ids_can_be_foretold(start: Start) -> None:
    smsc = await start(first_message_id=255, answer_id=Notation.HEX)
    esme = await smsc.bind()
    assert [(await esme.submit()).message_id for _ in range(2)] == ["ff", "100"]


async def test_an_empty_destination_is_refused(start: Start) -> None:
    esme = await (await start()).bind()
    assert (await esme.submit("")).status == CommandStatus.ESME_RINVDSTADR


async def test_data_sm(start: Start) -> None:
    smsc = await start()
    esme = await smsc.bind()
    request = p.DataSm(
        source_addr="Acme",
        destination_addr="447700900100",
        registered_delivery=1,
        tlvs=((tlv.MESSAGE_PAYLOAD, b"by data sm"),),
    )
    answered = await esme.ask(request)
    assert isinstance(answered.response, p.DataSmResp)
    await esme.wait(lambda: esme.receipts)
    assert esme.receipts[0].message_id == answered.message_id
    assert smsc.simulator.recent()[0].text == "by data sm"


async def test_submit_multi(start: Start) -> None:
    smsc = await start()
    esme = await smsc.bind()
    request = p.SubmitMulti(
        source_addr="Acme",
        destinations=(
            p.Address(1, 1, "447700900100"),
            p.Address(1, 1, "447700909007"),
            p.DistributionList("friends"),
            p.Address(1, 1, "447700909001"),
        ),
        registered_delivery=1,
        short_message=b"all of you",
    )
    answered = await esme.ask(request)
    response = answered.response
    assert isinstance(response, p.SubmitMultiResp)
    assert response.status == 0
    assert [(failed.number, failed.status) for failed in response.unsuccess_sme] == [
        ("447700909007", CommandStatus.ESME_RINVDSTADR),
        ("friends", CommandStatus.ESME_RINVDLNAME),
    ]
    await esme.wait(lambda: len(esme.receipts) == 2)
    assert {(r.source_addr, r.state, r.message_id) for r in esme.receipts} == {
        ("447700900100", "DELIVRD", response.message_id),
        ("447700909001", "UNDELIV", response.message_id),
    }


async def test_submit_multi_to_nobody_is_refused_with_the_first_reason(start: Start) -> None:
    esme = await (await start()).bind()
    request = p.SubmitMulti(source_addr="Acme", destinations=(p.Address(1, 1, "447700909007"),), short_message=b"x")
    assert (await esme.ask(request)).status == CommandStatus.ESME_RINVDSTADR
    assert (await esme.ask(p.SubmitMulti(source_addr="Acme"))).status == CommandStatus.ESME_RINVNUMDESTS


async def submitted_and(esme: Esme, request: p.Pdu, destination: str = "447700900100") -> e.Answered:
    """Submits a message, and asks this of it in the same breath: it has no time to become final before. The message
    has the id FORETOLD."""
    submitted, asked = esme.send(submit_sm(destination)), esme.send(request)
    async with asyncio.timeout(PATIENCE_S):
        answered, answer = await submitted, await asked
    assert isinstance(answered, e.Answered)
    assert answered.message_id == FORETOLD
    assert isinstance(answer, e.Answered)
    return answer


async def test_query_sm_before_and_after(start: Start) -> None:
    smsc = await start(receipt_delay_ms=100.0, first_message_id=int(FORETOLD))
    esme = await smsc.bind()
    query = p.QuerySm(message_id=FORETOLD, source_addr="Acme")
    before = (await submitted_and(esme, query, "447700909003")).response
    assert isinstance(before, p.QuerySmResp)
    assert (before.message_id, before.message_state, before.final_date) == (FORETOLD, MessageState.ENROUTE, "")
    await esme.wait(lambda: esme.receipts)
    after = (await esme.ask(query)).response
    assert isinstance(after, p.QuerySmResp)
    assert (after.message_state, after.error_code) == (MessageState.REJECTED, 3)
    assert len(after.final_date) == 16
    assert after.final_date.endswith("00+")


@pytest.mark.parametrize(("message_id", "sender"), [("1", "Acme"), ("nonsense", "Acme"), ("", "Acme"), (None, "Other")])
async def test_query_sm_of_what_is_not_known(start: Start, message_id: str | None, sender: str) -> None:
    esme = await (await start()).bind()
    known = (await esme.submit()).message_id
    query = p.QuerySm(message_id=known if message_id is None else message_id, source_addr=sender)
    assert (await esme.ask(query)).status == CommandStatus.ESME_RQUERYFAIL


@pytest.mark.parametrize("by_id", [True, False])
async def test_cancel_sm(start: Start, by_id: bool) -> None:
    smsc = await start(receipt_delay_ms=100.0, first_message_id=int(FORETOLD))
    esme = await smsc.bind()
    cancel = p.CancelSm(
        message_id=FORETOLD if by_id else "", source_addr="Acme", destination_addr="" if by_id else "447700900100"
    )
    assert (await submitted_and(esme, cancel)).status == 0
    await esme.wait(lambda: esme.receipts)
    assert (esme.receipts[0].message_id, esme.receipts[0].state) == (FORETOLD, "DELETED")
    assert (await esme.ask(cancel)).status == CommandStatus.ESME_RCANCELFAIL
    await esme.submit("447700900101")  # due after the cancelled one was
    await esme.wait(lambda: len(esme.receipts) == 2)
    assert esme.receipts[1].source_addr == "447700900101"
    assert smsc.simulator.recent()[1].state is MessageState.DELETED


async def test_replace_sm(start: Start) -> None:
    smsc = await start(receipt_delay_ms=100.0, first_message_id=int(FORETOLD))
    esme = await smsc.bind()
    replace = p.ReplaceSm(message_id=FORETOLD, source_addr="Acme", short_message=b"better")
    assert (await submitted_and(esme, replace)).status == 0
    assert smsc.simulator.recent()[0].text == "better"
    await esme.wait(lambda: esme.receipts)
    assert (await esme.ask(replace)).status == CommandStatus.ESME_RREPLACEFAIL


async def test_recent_joins_parts_and_reads_alphabets(start: Start) -> None:
    smsc = await start()
    esme = await smsc.bind()
    text = "smile \N{GRINNING FACE} please"
    octets = text.encode("utf-16-be")
    cut = 14  # within the surrogate pair
    for number, part in ((2, octets[cut:]), (1, octets[:cut])):
        header = bytes((5, 0, 3, 7, 2, number))
        await esme.submit(esm_class=c.ESM_UDHI, data_coding=8, short_message=header + part)
    await esme.submit("447700900101", short_message=b"{\x1b\x65} \x00")
    latest, joined = smsc.simulator.recent(2)
    assert latest.text == "ä€ñ @"
    assert (joined.text, joined.parts, joined.total) == (text, 2, 2)
    assert len(joined.numbers) == 2


async def test_the_record_tells_everything_but_passwords(start: Start) -> None:
    stream = io.BytesIO()
    smsc = await start(stream)
    esme = await smsc.bind(password="hidden-pw")
    answered = await esme.submit(tlvs=((tlv.USER_MESSAGE_REFERENCE, b"\0\x07"),))
    await esme.wait(lambda: esme.receipts)
    await smsc.stop()
    assert b"hidden-pw" not in stream.getvalue()
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert lines[0]["event"] == "listening"
    assert lines[0]["port"] == smsc.port
    requests = [line["pdu"] for line in lines if line["event"] == "request"]
    assert [line["command"] for line in requests] == ["bind_transceiver", "submit_sm"]
    assert requests[1]["short_message"] == b"hello".hex()
    assert requests[1]["tlvs"] == {"user_message_reference": 7}
    answers = [line["pdu"] for line in lines if line["event"] == "answer"]
    assert [line["command"] for line in answers][:2] == ["bind_transceiver_resp", "submit_sm_resp"]
    assert answers[1]["message_id"] == answered.message_id
    [receipt] = [line for line in lines if line["event"] == "receipt"]
    assert (receipt["message_id"], receipt["state"], receipt["err"]) == (answered.message_id, "DELIVRD", "000")
    assert lines[-1]["event"] == "disconnected"


async def test_the_record_tells_at_once_of_a_link_that_may_have_more_to_tell(start: Start) -> None:
    stream = io.BytesIO()
    smsc = await start(stream)
    await smsc.bind()
    assert [json.loads(line)["event"] for line in stream.getvalue().splitlines()][:2] == ["listening", "connected"]


async def test_stop_unbinds(start: Start) -> None:
    smsc = await start()
    esme = await smsc.bind()
    await smsc.simulator.stop()
    await esme.wait(lambda: esme.closed)
    assert smsc.simulator.counters.links == smsc.simulator.counters.bound == 0
    with pytest.raises(ConnectionRefusedError):
        await smsc.connect()


async def test_stop_does_not_wait_for_the_silent(start: Start) -> None:
    smsc = await start()
    _, writer = await asyncio.open_connection("127.0.0.1", smsc.port)
    await smsc.until(lambda: smsc.simulator.counters.links == 1)
    await smsc.simulator.stop(grace_s=0.01)
    assert smsc.simulator.counters.links == 0
    writer.close()


async def test_nonsense_is_answered_and_counted(start: Start) -> None:
    smsc = await start()
    esme = await smsc.connect()
    esme.transport.write(b"\0\0\0\x01GET / HTTP/1.1\r\n")
    await esme.wait(lambda: esme.closed)
    assert smsc.simulator.counters.protocol_errors == 1


async def test_submits_before_the_bind_are_refused(start: Start) -> None:
    smsc = await start()
    esme = await smsc.connect()
    frame = b"\0\0\0\x10\0\0\0\x04\0\0\0\0\0\0\0\x09"
    esme.transport.write(frame)
    await esme.wait(lambda: esme.unmatched)
    assert (esme.unmatched[0].sequence, esme.unmatched[0].status) == (9, CommandStatus.ESME_RINVBNDSTS)


async def test_thousands_at_once(start: Start) -> None:
    smsc = await start(receipt_delay_ms=5.0, receipt_jitter_ms=5.0)
    esme = await smsc.bind(window=5000)
    futures = [esme.send(submit_sm()) for _ in range(3000)]
    answers = await asyncio.gather(*futures)
    ids = {answer.message_id for answer in answers if isinstance(answer, e.Answered)}
    assert len(ids) == 3000
    await esme.wait(lambda: len(esme.receipts) == 3000)
    assert {receipt.message_id for receipt in esme.receipts} == ids
