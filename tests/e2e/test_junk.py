"""An operator that sends what nobody waits for, as fast as it is taken: the messages of others do not notice."""

import asyncio
import random
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import count, islice
from pathlib import Path

import pytest

from heliograph.domain.message.receipt import Delivery
from heliograph.smpp import constants as c
from heliograph.smpp import pdu as p
from heliograph.smpp import tlv
from heliograph.smpp.constants import CommandStatus, MessageState
from tests.support.background_sink import BackgroundSink
from tests.support.load import Load
from tests.support.process import Admin, GatewayProcess, SimulatorProcess, eventually
from tests.support.smsc import Smsc, SmscLink, receipt, wait_until

pytestmark = pytest.mark.slow

JUNK = 12_000
AT_ONCE = 1_500
"""Of it without an answer."""
MESSAGES = 150
MOST_KIB = 60 * 1024
"""How much more memory the gateway may need for all that."""


def junk() -> Iterator[p.DeliverSm | p.DataSm]:
    """Receipts of messages that were never sent, in all ways, messages, parts of some, and noise."""
    chance = random.Random(1)
    for n in count(10**9):
        number = f"4917{n:09}"
        yield receipt(str(n), number=number)
        yield receipt(f"{n:032x}", "ENROUTE", number=number)
        yield receipt("7", "ACCEPTD", number=number)
        yield receipt(str(n), "UNDELIV", number="")
        yield p.DeliverSm(source_addr=number, destination_addr="Helio", short_message=b"STOP")
        header = bytes([5, 0, 3, n % 256, 255, n % 9])
        yield p.DeliverSm(source_addr=number, esm_class=c.ESM_UDHI, short_message=header + b"of a hundred parts")
        yield p.DeliverSm(source_addr=number, esm_class=c.ESM_RECEIPT, short_message=chance.randbytes(80))
        tlvs = ((tlv.RECEIPTED_MESSAGE_ID, b"x" * 900 + b"\0"), (tlv.MESSAGE_STATE, bytes([MessageState.DELIVERED])))
        yield p.DataSm(source_addr=number, esm_class=c.ESM_RECEIPT, tlvs=tlvs)


async def pour(link: SmscLink) -> Counter[int]:
    """Sends the junk, and counts how it is answered."""
    things = junk()
    for sent in range(AT_ONCE, JUNK + 1, AT_ONCE):
        for thing in islice(things, AT_ONCE):
            link.deliver(thing)
        await wait_until(partial(has_answers, link, sent), "for the answers")
    return Counter(status for _, status in link.receipts_answered)


def has_answers(link: SmscLink, number: int) -> bool:
    return len(link.receipts_answered) == number


@pytest.mark.extended
async def test_others_do_not_notice(tmp_path: Path, admin: Admin, data: Path, sink: BackgroundSink) -> None:
    account = await asyncio.to_thread(admin.account, "acme", "1000")
    async with Smsc() as smsc:
        with SimulatorProcess(tmp_path, magic=False, receipt_delay_ms=20) as good:
            admin.operator(good.port, "good", "44")
            admin.operator(smsc.port, "noisy", "49")
            with GatewayProcess(data, anew=True) as gateway:
                await wait_until(lambda: smsc.up and gateway.bound("good"), "for the binds")
                before = gateway.resident_kib()
                key = account["api_key"]
                with (
                    Load(gateway.url, "acme", key, connections=2, most=MESSAGES, dlr_url=sink.url(), first=4477 * 10**8)
                    as quiet,
                    Load(gateway.url, "acme", key, connections=2, most=MESSAGES, dlr_url=sink.url()) as noisy,
                ):  # fmt: skip
                    kinds = await pour(smsc.link)
                    await asyncio.to_thread(quiet.join)
                    await asyncio.to_thread(noisy.join)
                await asyncio.to_thread(
                    eventually, lambda: set(quiet.accepted.values()) <= sink.ids(), "their receipts"
                )
                assert not set(noisy.accepted.values()) & sink.ids(), "junk was taken for a receipt"
                # now come the real ones
                await wait_until(lambda: len(smsc.submits) == MESSAGES, "for the messages")
                for n, submit in enumerate(smsc.submits, 1):
                    smsc.link.deliver(receipt(f"id{n}", "UNDELIV", "007", submit.destination_addr))
                await asyncio.to_thread(
                    eventually, lambda: set(noisy.accepted.values()) <= sink.ids(), "their receipts"
                )
                grown = gateway.resident_kib() - before
                assert await asyncio.to_thread(gateway.stop) == 0
    assert grown < MOST_KIB, f"{grown} KiB more than before"
    states = Counter(received.form["message_status"] for received in sink.requests)
    assert states == {Delivery.DELIVRD.name: MESSAGES, Delivery.UNDELIV.name: MESSAGES}
    assert kinds.keys() == {CommandStatus.ESME_ROK}, "junk is acknowledged, and texts from phones are kept"
    await asyncio.to_thread(admin.assert_books_right)
