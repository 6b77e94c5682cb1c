"""smpp34 as a customer: does as esme.js, with long texts by message_payload."""

import asyncio
import json
import sys
from typing import Any

import smpp34

PORT, SYSTEM_ID, PASSWORD = int(sys.argv[1]), sys.argv[2], sys.argv[3]
MESSAGES = json.loads(sys.argv[4])
RECEIPT = 4
"""Bit of esm_class."""

unanswered = set(range(len(MESSAGES)))


def show(**event: object) -> None:
    print(json.dumps(event), flush=True)


async def submit(centre: Any, number: int) -> None:
    message = MESSAGES[number]
    text = message["text"].encode()
    content: dict[str, Any] = {"short_message": text}
    if len(text) > 160:
        content = {"tlvs": [smpp34.Tlv(smpp34.TLV_MESSAGE_PAYLOAD, text)]}
    answer = await centre.submit_sm(
        message["to"], source_addr=message["from"], source_addr_ton=5, dest_addr_ton=1, dest_addr_npi=1,
        registered_delivery=1, **content,
    )  # fmt: skip
    unanswered.discard(number)
    show(event="answer", number=number, status=answer.command_status, id=answer.message_id)


async def submit_all(centre: Any) -> None:
    async with asyncio.TaskGroup() as group:
        for number in sorted(unanswered):
            group.create_task(submit(centre, number))
            await asyncio.sleep(0.02)


async def session() -> None:
    client = smpp34.Client("127.0.0.1", PORT, SYSTEM_ID, PASSWORD, bind_type="TRX")
    centre = await client.connect()
    submitting = asyncio.create_task(submit_all(centre))
    while not isinstance(event := await centre.next(), smpp34.Disconnected):
        text = event.short_message.decode()
        if event.esm_class & RECEIPT:
            (receipted,) = (tlv for tlv in event.tlvs if tlv.tag == smpp34.TLV_RECEIPTED_MESSAGE_ID)
            show(event="receipt", id=receipted.as_string(), text=text)
        else:
            show(event="phone", **{"from": event.source_addr}, text=text)
    submitting.cancel()
    await asyncio.gather(submitting, return_exceptions=True)
    await client.stop()


async def main() -> None:
    while True:
        try:
            await session()
        except smpp34.SmppError as problem:
            print(problem, file=sys.stderr, flush=True)
        await asyncio.sleep(0.2)


asyncio.run(main())
