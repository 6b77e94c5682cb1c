"""rusmppyc, a client of SMPP 5.0, as a customer: does as esme.js, with long texts by a header of 16 bits."""

import asyncio
import json
import sys
from typing import Any

import rusmppyc as smpp
from rusmppyc.exceptions import RusmppycException

PORT, SYSTEM_ID, PASSWORD = int(sys.argv[1]), sys.argv[2], sys.argv[3]
MESSAGES = json.loads(sys.argv[4])
WISH = smpp.RegisteredDelivery(
    smpp.MCDeliveryReceipt.McDeliveryReceiptRequestedWhereFinalDeliveryOutcomeIsSuccessOrFailure()
)

unanswered = set(range(len(MESSAGES)))


def show(**event: object) -> None:
    print(json.dumps(event), flush=True)


def told(octets: Any) -> str:
    return bytes(octets).rstrip(b"\0").decode()


async def submit(client: Any, number: int) -> None:
    message = MESSAGES[number]
    addresses = {
        "source_addr": message["from"], "source_addr_ton": smpp.Ton.Alphanumeric(),
        "destination_addr": message["to"], "dest_addr_ton": smpp.Ton.International(), "dest_addr_npi": smpp.Npi.Isdn(),
    }  # fmt: skip
    parts = client.submit_sm_multipart(message["text"], reference=number, registered_delivery=WISH, **addresses)
    answers = [await client.submit_sm(part) for part in parts]
    unanswered.discard(number)
    show(event="answer", number=number, status=0, id=told(answers[-1].message_id))


def received(message: Any) -> None:
    text = told(message.short_message)
    if isinstance(message.esm_class.message_type, smpp.MessageType.ShortMessageContainsMCDeliveryReceipt):
        (receipted,) = (tlv.value[0] for tlv in message.tlvs if isinstance(tlv.tag, smpp.TlvTag.ReceiptedMessageId))
        show(event="receipt", id=told(receipted), text=text)
    else:
        show(event="phone", **{"from": told(message.source_addr)}, text=text)


async def submit_all(client: Any) -> None:
    async with asyncio.TaskGroup() as group:
        for number in sorted(unanswered):
            group.create_task(submit(client, number))
            await asyncio.sleep(0.02)


async def session() -> None:
    client, events = await smpp.Client.connect(f"smpp://127.0.0.1:{PORT}")
    await client.bind_transceiver(SYSTEM_ID, PASSWORD)
    submitting = asyncio.create_task(submit_all(client))
    async for event in events:
        match event:
            case smpp.Event.Incoming(command) if isinstance(command.id, smpp.CommandId.DeliverSm):
                await client.deliver_sm_resp(command.sequence_number)
                received(command.pdu[0])
    submitting.cancel()
    await asyncio.gather(submitting, return_exceptions=True)


async def main() -> None:
    while True:
        try:
            await session()
        except RusmppycException as problem:
            print(repr(problem), file=sys.stderr, flush=True)
        await asyncio.sleep(0.2)


asyncio.run(main())
