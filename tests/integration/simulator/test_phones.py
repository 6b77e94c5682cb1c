"""Messages from phones: on demand, at a rate, and in answer to a message."""

import asyncio
import io
import json
from collections.abc import Awaitable, Callable

import pytest

from heliograph.simulator.behaviour import Alphabet, Behaviour
from heliograph.simulator.magic_numbers import SCENARIOS
from heliograph.simulator.phone import PARTS_WAITING, PhoneProblem
from heliograph.simulator.text import decode, split_header
from heliograph.smpp import constants as c
from heliograph.smpp import pdu as p
from heliograph.smpp.constants import CommandStatus
from tests.integration.simulator.esme import Esme, Smsc

Start = Callable[..., Awaitable[Smsc]]

PHONE = "447700900123"


def text_of(parts: list[p.DeliverSm]) -> str:
    """The text of one message, whose parts may have come in any order."""
    found = {}
    for part in parts:
        place, octets = split_header(part.short_message, part.esm_class, part.tlvs)
        found[place.number if place else 1] = octets
    return decode(b"".join(found[number] for number in sorted(found)), parts[0].data_coding, Alphabet.GSM)


async def written(esme: Esme, count: int) -> list[p.DeliverSm]:
    await esme.wait(lambda: len(esme.from_phones) >= count)
    return esme.from_phones


async def test_on_demand(start: Start) -> None:
    log = io.BytesIO()
    smsc = await start(log)
    esme = await smsc.bind()
    assert smsc.simulator.send_from_phone(f"+{PHONE}", "3388", "Grüße, 5 €") == 1
    [message] = await written(esme, 1)
    assert (message.source_addr, message.source_addr_ton, message.source_addr_npi) == (PHONE, 1, 1)
    assert (message.destination_addr, message.esm_class, message.data_coding) == ("3388", 0, 0)
    assert text_of([message]) == "Grüße, 5 €"
    await smsc.until(lambda: smsc.simulator.counters.from_phones.answered == 1)
    await smsc.stop()
    [line] = [line for line in map(json.loads, log.getvalue().splitlines()) if line["event"] == "from_phone"]
    assert (line["source_addr"], line["destination_addr"], line["parts"]) == (PHONE, "3388", 1)
    assert line["text"] == "Grüße, 5 €"


async def test_a_long_one_comes_in_parts(start: Start) -> None:
    smsc = await start()
    esme = await smsc.bind()
    text = "Ж" * 100 + "\N{GRINNING FACE}" * 40
    assert smsc.simulator.send_from_phone(PHONE, "3388", text) == 3
    parts = await written(esme, 3)
    assert {part.esm_class for part in parts} == {c.ESM_UDHI}
    assert text_of(parts) == text


@pytest.mark.parametrize(
    ("phone", "number", "text", "why"),
    [
        ("Acme", "3388", "Hi", "phone's number has 3 to 15 digits"),
        ("", "3388", "Hi", "phone's number has 3 to 15 digits"),
        (PHONE, "33 88", "Hi", "number it writes to"),
        (PHONE, "3388", "", "1 to 1600 characters, not 0"),
        (PHONE, "3388", "x" * 1_601, "not 1601"),
    ],
)
async def test_what_cannot_be_sent(start: Start, phone: str, number: str, text: str, why: str) -> None:
    smsc = await start()
    await smsc.bind()
    with pytest.raises(PhoneProblem, match=why):
        smsc.simulator.send_from_phone(phone, number, text)
    assert smsc.simulator.counters.from_phones.planned == 0


async def test_nobody_is_bound_who_receives(start: Start) -> None:
    smsc = await start()
    await smsc.bind(p.BindTransmitter)
    with pytest.raises(PhoneProblem, match="no receiver or transceiver is bound"):
        smsc.simulator.send_from_phone(PHONE, "3388", "Hi")


async def test_what_is_not_taken_comes_again(start: Start) -> None:
    smsc = await start()
    first = await smsc.bind(receipt_status=None)
    smsc.simulator.send_from_phone(PHONE, "3388", "Hi")
    await written(first, 1)
    await first.close()
    second = await smsc.bind()
    assert text_of(await written(second, 1)) == "Hi"
    assert smsc.simulator.counters.from_phones.repeated == 1


async def test_one_that_is_refused_for_good_does_not(start: Start) -> None:
    smsc = await start()
    esme = await smsc.bind(receipt_status=CommandStatus.ESME_RX_R_APPN)
    smsc.simulator.send_from_phone(PHONE, "3388", "Hi")
    await smsc.until(lambda: smsc.simulator.counters.from_phones.refused == 1)
    assert len(esme.from_phones) == 1


@pytest.mark.parametrize(("digits", "text"), [(digits, each.reply) for digits, each in SCENARIOS.items() if each.reply])
async def test_a_phone_writes_back(start: Start, digits: str, text: str) -> None:
    smsc = await start()
    esme = await smsc.bind()
    await esme.submit(f"44770090{digits}", source_addr="3388")
    parts = await written(esme, 3 if digits == "9025" else 1)
    assert text_of(parts) == text
    assert {(part.source_addr, part.destination_addr) for part in parts} == {(f"44770090{digits}", "3388")}
    assert esme.order[0].startswith("answer")
    assert [receipt.state for receipt in esme.receipts] == ["DELIVRD"]


async def test_it_writes_back_once_to_the_parts_of_one_message(start: Start) -> None:
    smsc = await start()
    esme = await smsc.bind()
    for number in (1, 2, 3):
        header = bytes((5, 0, 3, 9, 3, number))
        await esme.submit("447700909021", source_addr="3388", esm_class=c.ESM_UDHI, short_message=header + b"part")
    await written(esme, 1)
    await smsc.until(lambda: smsc.simulator.counters.from_phones.answered == 1)
    assert smsc.simulator.counters.from_phones.planned == 1


async def test_it_cannot_write_back_to_a_name(start: Start) -> None:
    smsc = await start(inbound_to="3388,3389")
    esme = await smsc.bind()
    await esme.submit("447700909021", source_addr="Acme", source_addr_ton=5)
    [message] = await written(esme, 1)
    assert message.destination_addr == "3388"
    smsc.simulator.behaviour = Behaviour(receipt_delay_ms=0)
    await esme.submit("447700909021", source_addr="Acme", source_addr_ton=5)
    await esme.submit("447700909024", source_addr="3390")
    assert [each.destination_addr for each in await written(esme, 2)] == ["3388", "3390"]


async def test_at_a_rate(start: Start) -> None:
    loop = asyncio.get_running_loop()
    begun = loop.time()
    smsc = await start(inbound_rate=200.0, inbound_to="3388,ACME", inbound_text="Yes {n}")
    esme = await smsc.bind()
    messages = await written(esme, 60)
    assert loop.time() - begun >= 60 / 200 - 0.1
    assert {message.destination_addr for message in messages} == {"3388", "ACME"}
    assert [text_of([message]) for message in messages[:60]] == [f"Yes {number}" for number in range(1, 61)]
    assert len({message.source_addr for message in messages}) > 10
    smsc.simulator.behaviour = Behaviour()
    planned = smsc.simulator.counters.from_phones.planned
    await smsc.until(lambda: smsc.simulator.counters.from_phones.answered == planned)
    await asyncio.sleep(0.05)  # ten of them would have come in this time
    assert smsc.simulator.counters.from_phones.planned == planned


async def test_a_rate_that_is_not_taken_leaves_receipts_their_room(start: Start) -> None:
    smsc = await start(inbound_rate=10_000.0, inbound_to="3388")
    esme = await smsc.bind(receipt_status=None)
    counters = smsc.simulator.counters.from_phones
    await smsc.until(lambda: counters.dropped > 100)
    assert counters.waiting == PARTS_WAITING
    assert counters.planned == counters.sent + counters.waiting + counters.dropped
    await esme.close()
