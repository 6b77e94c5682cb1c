"""Every knob does what it says, as a client sees it."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from heliograph.simulator.behaviour import Alphabet, Notation, ReceiptPlace, ReceiptWording, Refusal
from heliograph.simulator.magic_numbers import SCENARIOS
from heliograph.smpp import codec, tlv
from heliograph.smpp import constants as c
from heliograph.smpp import event as e
from heliograph.smpp import pdu as p
from heliograph.smpp.constants import CommandStatus, MessageState
from tests.integration.simulator.esme import Smsc, submit_sm
from tests.support.timeouts import PATIENCE_S

Start = Callable[..., Awaitable[Smsc]]

THROTTLED = CommandStatus.ESME_RTHROTTLED

PATIENT_MS = (100.0, 1_000.0, 10_000.0)
"""Times to do two things in, one after the other: where it took longer, that says something of the machine."""


# Answers.


async def test_latency(start: Start) -> None:
    smsc = await start(latency_ms=60.0, latency_jitter_ms=20.0)
    esme = await smsc.bind()
    began = esme.loop.time()
    await esme.submit()
    assert esme.loop.time() - began >= 0.055


async def test_latency_takes_none_of_the_window(start: Start) -> None:
    """Many wait at once: their answers come together, not one latency after another."""
    smsc = await start(latency_ms=200.0)
    esme = await smsc.bind()
    began = esme.loop.time()
    await asyncio.gather(*(esme.send(submit_sm()) for _ in range(200)))
    assert 0.19 <= esme.loop.time() - began < 0.5 * 200 * 0.2


async def test_withheld_answers(start: Start) -> None:
    smsc = await start(withhold_share=1.0)
    esme = await smsc.bind()
    future = esme.send(submit_sm())
    await esme.wait(lambda: esme.receipts)
    assert not future.done()
    assert smsc.simulator.counters.withheld == 1
    # and the end of the session does not wait for them
    esme.session.unbind(esme.loop.time())
    esme.flush()
    await esme.wait(lambda: esme.closed)


async def test_answers_without_a_body(start: Start) -> None:
    esme = await (await start(bodyless_share=1.0)).bind()
    answered = await esme.submit()
    assert (len(answered.frame), answered.status, answered.message_id) == (16, 0, "")
    await esme.wait(lambda: esme.receipts)


async def test_wrong_sequence_numbers(start: Start) -> None:
    esme = await (await start(wrong_sequence_share=1.0)).bind()
    future = esme.send(submit_sm())
    await esme.wait(lambda: esme.unmatched)
    assert isinstance(esme.unmatched[0], p.SubmitSmResp)
    assert not future.done()


async def test_congestion_is_reported(start: Start) -> None:
    esme = await (await start(report_congestion=True, throttle_per_s=0.001, throttle_burst=4)).bind()
    loads = [(await esme.submit()).congestion for _ in range(4)]
    assert loads == [25, 50, 75, 99]


@pytest.mark.parametrize(
    ("notation", "written"),
    [
        (Notation.DECIMAL, "3054"),
        (Notation.HEX, "bee"),
        (Notation.UPPER_HEX, "BEE"),
        (Notation.ZERO_DECIMAL, "00000000000000003054"),
        (Notation.ZERO_HEX, "0000000000000bee"),
    ],
)
async def test_ids_in_other_notations(start: Start, notation: Notation, written: str) -> None:
    smsc = await start(first_message_id=3054, receipt_id=notation, receipt_tlv_id=Notation.HEX, answer_id=notation)
    esme = await smsc.bind()
    assert (await esme.submit()).message_id == written
    await esme.wait(lambda: esme.receipts)
    assert esme.receipts[0].message_id == "bee"
    assert esme.receipts[0].other_id == (None if written == "bee" else written)
    response = (await esme.ask(p.QuerySm(message_id=written, source_addr="Acme"))).response
    assert isinstance(response, p.QuerySmResp)
    assert response.message_state == MessageState.DELIVERED


# Refusals.


async def test_throttle(start: Start) -> None:
    smsc = await start(throttle_per_s=0.001, throttle_burst=3)
    esme = await smsc.bind()
    assert [(await esme.submit()).status for _ in range(5)] == [0, 0, 0, THROTTLED, THROTTLED]
    # it is the account's, whichever bind is used, and nobody else's
    assert (await (await smsc.bind()).submit()).status == THROTTLED
    assert (await (await smsc.bind(system_id="other")).submit()).status == 0
    assert smsc.simulator.counters.throttled == 3


async def test_queue_full_by_chance(start: Start) -> None:
    esme = await (await start(queue_full_share=1.0)).bind()
    assert (await esme.submit()).status == CommandStatus.ESME_RMSGQFUL


async def test_queue_full_until_messages_are_final(start: Start) -> None:
    esme = await (await start(queue_limit=2, receipt_delay_ms=100.0)).bind()
    answers = await asyncio.gather(*(esme.submit() for _ in range(3)))  # at once: before the first can be final
    assert [answered.status for answered in answers] == [0, 0, CommandStatus.ESME_RMSGQFUL]
    await esme.wait(lambda: len(esme.receipts) == 2)
    assert (await esme.submit()).status == 0


async def test_refusal_by_number(start: Start) -> None:
    esme = await (await start(refuse=(Refusal("4479", CommandStatus.ESME_RINVDSTADR), Refusal("44", 0x401)))).bind()
    assert (await esme.submit("447900900100")).status == CommandStatus.ESME_RINVDSTADR
    assert (await esme.submit("447700900100")).status == 0x401
    assert (await esme.submit("33700900100")).status == 0


async def test_refusal_by_chance(start: Start) -> None:
    smsc = await start(refuse_share=0.5, refuse_status=int(CommandStatus.ESME_RSYSERR))
    esme = await smsc.bind()
    answers = await asyncio.gather(*(esme.send(submit_sm()) for _ in range(400)))
    refused = [a for a in answers if isinstance(a, e.Answered) and a.status == CommandStatus.ESME_RSYSERR]
    assert 100 < len(refused) < 300
    assert smsc.simulator.counters.refused == len(refused)


@pytest.mark.parametrize("system_id", ["", "acme"])
async def test_credentials(start: Start, system_id: str) -> None:
    smsc = await start(system_id=system_id, password="secret")
    assert (await smsc.bind(system_id="acme", password="secret")).refusal is None
    assert (await smsc.bind(system_id="acme", password="guess")).refusal == CommandStatus.ESME_RINVPASWD
    stranger = (await smsc.bind(system_id="other", password="secret")).refusal
    assert stranger == (CommandStatus.ESME_RINVSYSID if system_id else None)


async def test_max_binds(start: Start) -> None:
    smsc = await start(max_binds=1)
    first = await smsc.bind()
    assert (await smsc.bind()).refusal == CommandStatus.ESME_RALYBND
    await first.close()
    await smsc.until(lambda: smsc.simulator.counters.bound == 0)
    assert (await smsc.bind()).refusal is None


async def test_all_binds_refused(start: Start) -> None:
    smsc = await start(bind_status=int(CommandStatus.ESME_RBINDFAIL))
    assert (await smsc.bind()).refusal == CommandStatus.ESME_RBINDFAIL
    assert smsc.simulator.counters.binds_refused == 1


# Receipts.


async def test_undelivered(start: Start) -> None:
    esme = await (await start(undelivered_share=1.0)).bind()
    await esme.submit()
    await esme.wait(lambda: esme.receipts)
    assert (esme.receipts[0].state, esme.receipts[0].err) == ("UNDELIV", "001")


async def test_receipt_delay(start: Start) -> None:
    esme = await (await start(receipt_delay_ms=60.0, receipt_jitter_ms=20.0)).bind()
    began = esme.loop.time()
    await esme.submit()
    await esme.wait(lambda: esme.receipts)
    assert esme.loop.time() - began >= 0.05


@pytest.mark.parametrize("early_ms", [0.0, 20.0])
async def test_early_receipts(start: Start, early_ms: float) -> None:
    esme = await (await start(receipt_early_share=1.0, receipt_early_ms=early_ms)).bind()
    message_id = (await esme.submit()).message_id
    assert esme.order == [f"receipt {message_id}", f"answer {message_id}"]


async def test_a_receipt_without_delay_follows_its_answer(start: Start) -> None:
    esme = await (await start(receipt_delay_ms=0.0)).bind()
    message_id = (await esme.submit()).message_id
    await esme.wait(lambda: esme.receipts)
    assert esme.order == [f"answer {message_id}", f"receipt {message_id}"]


async def test_late_receipts(start: Start) -> None:
    esme = await (await start(receipt_late_share=1.0, receipt_late_ms=80.0)).bind()
    began = esme.loop.time()
    await esme.submit()
    await esme.wait(lambda: esme.receipts)
    assert esme.loop.time() - began >= 0.075


async def test_missing_receipts(start: Start) -> None:
    smsc = await start(receipt_missing_share=1.0)
    esme = await smsc.bind()
    await esme.submit()
    assert smsc.simulator.counters.receipts.planned == 0


async def test_doubled_receipts(start: Start) -> None:
    esme = await (await start(receipt_double_share=1.0)).bind()
    message_id = (await esme.submit()).message_id
    await esme.wait(lambda: len(esme.receipts) == 2)
    assert [receipt.message_id for receipt in esme.receipts] == [message_id] * 2


@pytest.mark.slow
async def test_receipts_out_of_order(start: Start) -> None:
    esme = await (await start(receipt_reorder_share=0.5)).bind()
    answers = await asyncio.gather(*(esme.send(submit_sm()) for _ in range(100)))
    ids = [answer.message_id for answer in answers if isinstance(answer, e.Answered)]
    await esme.wait(lambda: len(esme.receipts) == 100)
    came = [receipt.message_id for receipt in esme.receipts]
    assert sorted(came) == sorted(ids)
    assert came != ids


@pytest.mark.slow
async def test_a_receipt_that_nothing_overtakes_goes_all_the_same(start: Start) -> None:
    esme = await (await start(receipt_reorder_share=1.0)).bind()
    await esme.submit()
    await esme.wait(lambda: esme.receipts)


async def test_receipts_on_another_bind(start: Start) -> None:
    smsc = await start(receipt_other_bind_share=1.0)
    first = await smsc.bind()
    await first.submit()
    await first.wait(lambda: first.receipts)  # there is no other
    second = await smsc.bind()
    message_id = (await first.submit()).message_id
    await second.wait(lambda: second.receipts)
    assert second.receipts[0].message_id == message_id
    assert len(first.receipts) == 1


@pytest.mark.parametrize("form", list(ReceiptPlace))
async def test_receipt_forms(start: Start, form: ReceiptPlace) -> None:
    esme = await (await start(receipt_form=form, undelivered_share=1.0)).bind()
    message_id = (await esme.submit()).message_id
    await esme.wait(lambda: esme.receipts)
    receipt, delivery = esme.receipts[0], esme.deliveries[0]
    assert (receipt.message_id, receipt.state, receipt.err) == (message_id, "UNDELIV", "001")
    assert bool(delivery.short_message) == (form is not ReceiptPlace.TLV)
    assert bool(delivery.tlvs) == (form is not ReceiptPlace.TEXT)


@pytest.mark.parametrize("dialect", list(ReceiptWording))
async def test_receipt_dialects(start: Start, dialect: ReceiptWording) -> None:
    notation = Notation.UPPER_HEX
    smsc = await start(
        receipt_form=ReceiptPlace.TEXT,
        receipt_text=dialect,
        undelivered_share=1.0,
        answer_id=notation,
        receipt_id=notation,
    )
    esme = await smsc.bind()
    ids = [(await esme.submit()).message_id for _ in range(20)]
    await esme.wait(lambda: len(esme.receipts) == 20)
    assert [receipt.message_id for receipt in esme.receipts] == ids
    assert {receipt.state for receipt in esme.receipts} == {"UNDELIV"}
    texts = {delivery.short_message.partition(b" ")[0][:4] for delivery in esme.deliveries}
    if dialect is ReceiptWording.MIXED:
        assert len(texts) > 1


# Links.


async def test_cut_at_the_nth_submit(start: Start) -> None:
    smsc = await start(cut_after=3)
    esme = await smsc.bind()
    futures = [esme.send(submit_sm()) for _ in range(3)]
    outcomes = await asyncio.gather(*futures)
    assert [type(outcome) for outcome in outcomes] == [e.Answered, e.Answered, e.Lost]
    assert (smsc.simulator.counters.cut, smsc.simulator.counters.accepted) == (1, 2)
    again = await smsc.bind()  # each link counts for itself
    assert (await again.submit()).status == 0


async def test_unbind_at_the_nth_submit(start: Start) -> None:
    smsc = await start(unbind_after=3, latency_ms=50.0, receipt_delay_ms=100.0)
    esme = await smsc.bind()
    outcomes = await asyncio.gather(*(esme.send(submit_sm()) for _ in range(3)))
    assert [type(outcome) for outcome in outcomes] == [e.Answered] * 3
    await smsc.until(lambda: smsc.simulator.counters.links == 0)
    again = await smsc.bind()  # each link counts for itself
    assert (await again.submit()).status == 0
    await again.wait(lambda: len(again.receipts) == 4)


async def test_who_asks_for_it_is_told_that_a_message_is_on_its_way(start: Start) -> None:
    smsc = await start(receipt_delay_ms=50.0)
    esme = await smsc.bind()
    await esme.send(submit_sm(registered_delivery=c.RECEIPT_FINAL | c.RECEIPT_INTERMEDIATE))
    await esme.wait(lambda: len(esme.receipts) == 2)
    assert [each.state for each in esme.receipts] == ["ENROUTE", "DELIVRD"]
    assert [each.esm_class for each in esme.deliveries] == [c.ESM_INTERMEDIATE, c.ESM_RECEIPT]


async def test_cut_by_chance(start: Start) -> None:
    esme = await (await start(cut_share=1.0)).bind()
    assert isinstance(await esme.send(submit_sm()), e.Lost)


async def test_half_open(start: Start) -> None:
    smsc = await start(half_open_after=2)
    esme = await smsc.bind(enquire_timeout=0.05)
    before, future = esme.send(submit_sm()), esme.send(submit_sm())
    await smsc.until(lambda: smsc.simulator.counters.silenced == 1)
    assert isinstance(await asyncio.wait_for(before, PATIENCE_S), e.Answered)
    assert not esme.closed
    assert smsc.simulator.counters.links == 1
    # nothing answers enquire_link any more
    esme.session.enquire_link(esme.loop.time())
    esme.flush()
    assert isinstance(await asyncio.wait_for(future, PATIENCE_S), e.Lost)


async def test_receipts_of_a_silent_link_come_on_the_next(start: Start) -> None:
    smsc = await start(half_open_after=2, receipt_delay_ms=50.0)
    esme = await smsc.bind()
    first, _ = esme.send(submit_sm()), esme.send(submit_sm())  # at once: the receipt has no time to come before
    await smsc.until(lambda: smsc.simulator.counters.silenced == 1)
    answered = await asyncio.wait_for(first, PATIENCE_S)
    assert isinstance(answered, e.Answered)
    await smsc.until(lambda: smsc.simulator.counters.receipts.waiting == 1)
    second = await smsc.bind()
    await second.wait(lambda: second.receipts)
    assert second.receipts[0].message_id == answered.message_id
    assert esme.receipts == []


async def test_a_slow_link(start: Start) -> None:
    """Both ways: the submits (41 octets and more each) and their answers have to pass."""
    smsc = await start(bytes_per_s=4_000)
    esme = await smsc.bind()
    began = esme.loop.time()
    requests = [submit_sm(registered_delivery=0) for _ in range(10)]
    await asyncio.gather(*(esme.send(request) for request in requests))
    octets = sum(len(read) for read in esme.reads)
    assert esme.loop.time() - began >= 0.9 * (octets - 100) / 4_000
    assert max(len(read) for read in esme.reads) <= 4_000
    assert esme.loop.time() - began >= 0.1


async def test_split_writes(start: Start) -> None:
    esme = await (await start(split_octets=1)).bind()
    message_id = (await esme.submit()).message_id
    await esme.wait(lambda: esme.receipts)
    assert esme.receipts[0].message_id == message_id
    # the kernel may join what was written apart, but hardly all of it
    assert len(esme.reads) > 3


async def test_merged_writes(start: Start) -> None:
    reads: list[bytes] = []
    for merge_ms in PATIENT_MS:
        smsc = await start(merge_ms=merge_ms, receipt_delay_ms=0.0)
        esme = await smsc.bind()
        reads = esme.reads
        reads.clear()
        first = esme.send(submit_sm())
        await smsc.until(lambda smsc=smsc: smsc.simulator.counters.submits == 1)  # type: ignore[misc]
        second = esme.send(submit_sm())
        await asyncio.gather(first, second)
        await esme.wait(lambda esme=esme: len(esme.receipts) == 2)  # type: ignore[misc]
        if len(reads) == 1:
            break
    assert len(reads) == 1


async def test_merged_and_split_writes(start: Start) -> None:
    esme = await (await start(merge_ms=5.0, split_octets=7)).bind()
    answers = await asyncio.gather(*(esme.send(submit_sm()) for _ in range(20)))
    assert all(isinstance(answer, e.Answered) for answer in answers)
    await esme.wait(lambda: len(esme.receipts) == 20)


async def test_submits_in_pieces_are_understood(start: Start) -> None:
    esme = await (await start()).bind()
    future = esme.loop.create_future()
    esme.session.request(submit_sm(), future, esme.loop.time())
    for octet in esme.session.data_to_send():
        esme.transport.write(bytes((octet,)))
        await asyncio.sleep(0)
    assert isinstance(await asyncio.wait_for(future, PATIENCE_S), e.Answered)


async def test_enquire_link(start: Start) -> None:
    smsc = await start(enquire_interval_ms=20.0)
    esme = await smsc.bind()
    await esme.wait(lambda: any(b"\0\0\0\x10\0\0\0\x15" in read for read in esme.reads))
    assert not esme.closed


async def test_enquire_link_without_an_answer_ends_the_link(start: Start) -> None:
    smsc = await start(enquire_interval_ms=20.0)
    await smsc.bind()
    reader, writer = await asyncio.open_connection("127.0.0.1", smsc.port)
    bind = p.BindTransceiver(1, system_id="mute", password="x")
    writer.write(codec.encode(bind))
    async with asyncio.timeout(PATIENCE_S):
        while await reader.read(1000):
            pass
    writer.close()


# The rest.


@pytest.mark.parametrize(
    ("alphabet", "text"), [(Alphabet.GSM, "@ä"), (Alphabet.LATIN_1, "\0{"), (Alphabet.ASCII, "\0{")]
)
async def test_the_alphabet_of_data_coding_0(start: Start, alphabet: Alphabet, text: str) -> None:
    smsc = await start(alphabet=alphabet)
    esme = await smsc.bind()
    await esme.submit(short_message=b"\0\x7b")
    assert smsc.simulator.recent()[0].text == text


async def test_what_is_remembered_is_bounded(start: Start) -> None:
    smsc = await start(remember=3)
    esme = await smsc.bind()
    ids = [(await esme.submit(f"44770090010{n}")).message_id for n in range(5)]
    assert [message.destination_addr[-1] for message in smsc.simulator.recent()] == ["4", "3", "2"]
    for message_id, status in zip(ids, [CommandStatus.ESME_RQUERYFAIL] * 2 + [0] * 3, strict=True):
        assert (await esme.ask(p.QuerySm(message_id=message_id, source_addr="Acme"))).status == status


async def test_a_seed_repeats_chance(start: Start) -> None:
    outcomes = []
    for _ in range(2):
        esme = await (await start(refuse_share=0.5, seed=42)).bind()
        outcomes.append([(await esme.submit()).status for _ in range(30)])
    assert outcomes[0] == outcomes[1]
    assert len(set(outcomes[0])) == 2


async def test_behaviour_changes_while_it_runs(start: Start) -> None:
    smsc = await start(queue_full_share=1.0)
    esme = await smsc.bind()
    assert (await esme.submit()).status == CommandStatus.ESME_RMSGQFUL
    smsc.simulator.behaviour = type(smsc.simulator.behaviour)()
    assert (await esme.submit()).status == 0


async def test_links_are_cut_by_hand(start: Start) -> None:
    smsc = await start()
    esme = await smsc.bind()
    smsc.simulator.cut_links()
    await esme.wait(lambda: esme.closed)


# Magic numbers.


@pytest.mark.parametrize(
    ("digits", "state", "err"),
    [
        ("9001", "UNDELIV", "001"),
        ("9002", "EXPIRED", "002"),
        ("9003", "REJECTD", "003"),
        ("9004", "DELETED", "004"),
        ("9005", "UNKNOWN", "005"),
        ("9010", "DELIVRD", "000"),
        ("9018", "DELIVRD", "000"),
    ],
)
async def test_magic_numbers_choose_their_receipt(start: Start, digits: str, state: str, err: str) -> None:
    esme = await (await start()).bind()
    message_id = (await esme.submit("44770090" + digits)).message_id
    await esme.wait(lambda: esme.receipts)
    assert (esme.receipts[0].state, esme.receipts[0].err) == (state, err)
    assert esme.order.index(f"receipt {message_id}") == (0 if digits == "9010" else 1)


@pytest.mark.parametrize("digits", ["9006", "9007", "9009", "9011", "9012", "9016", "9017"])
async def test_magic_numbers_choose_their_trouble(start: Start, digits: str) -> None:
    smsc = await start()
    esme = await smsc.bind()
    future = esme.send(submit_sm("44770090" + digits))
    await esme.submit("447700900100")
    await esme.wait(lambda: any(receipt.source_addr == "447700900100" for receipt in esme.receipts))
    answer = future.result() if future.done() else None
    assert answer is None or isinstance(answer, e.Answered)
    states = [receipt.state for receipt in esme.receipts if receipt.source_addr.endswith(digits)]
    expected = {"9006": [], "9007": [], "9011": ["DELIVRD"] * 2, "9012": ["ACCEPTD", "DELIVRD"]}
    assert states == expected.get(digits, ["DELIVRD"])
    if digits == "9009":
        assert answer is None
    else:
        assert answer is not None
        assert answer.status == (CommandStatus.ESME_RINVDSTADR if digits == "9007" else 0)
        assert len(answer.frame) == 16 or digits not in ("9007", "9016")
    if digits == "9017":
        assert answer is not None
        assert int(esme.receipts[0].message_id, 16) == int(answer.message_id)


@pytest.mark.parametrize(("digits", "status"), [("9008", THROTTLED), ("9014", CommandStatus.ESME_RMSGQFUL)])
async def test_magic_numbers_that_are_refused_once(start: Start, digits: str, status: int) -> None:
    esme = await (await start()).bind()
    assert [(await esme.submit("44770090" + digits)).status for _ in range(4)] == [status, 0, status, 0]


async def test_a_magic_number_that_cuts_the_link_once(start: Start) -> None:
    smsc = await start()
    assert isinstance(await (await smsc.bind()).send(submit_sm("447700909015")), e.Lost)
    assert (await (await smsc.bind()).submit("447700909015")).status == 0


@pytest.mark.slow
async def test_a_magic_number_that_waits_five_seconds(start: Start) -> None:
    esme = await (await start()).bind()
    began = esme.loop.time()
    await esme.submit("447700909013")
    await esme.wait(lambda: esme.receipts)
    assert 4.9 <= esme.loop.time() - began < PATIENCE_S


async def test_magic_can_be_turned_off(start: Start) -> None:
    esme = await (await start(magic=False)).bind()
    for digits in SCENARIOS:
        assert (await esme.submit("44770090" + digits)).status == 0
    await esme.wait(lambda: len(esme.receipts) == len(SCENARIOS))
    assert {receipt.state for receipt in esme.receipts} == {"DELIVRD"}
    assert all(tlv.find(delivery.tlvs, tlv.MESSAGE_STATE) == b"\x02" for delivery in esme.deliveries)
