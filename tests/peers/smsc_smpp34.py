"""A message centre on smpp34: does as smsc.pl, and tells states by receipts only. `python smsc_smpp34.py PORT`"""

import asyncio
import json
import sys
from itertools import count
from typing import Any

import smpp34

DELIVRD, UNDELIV = 2, 5
"""Values of message_state (SMPP v3.4, 5.2.28)."""

ids = (f"smpp34-{number}" for number in count(1))
tasks: set[asyncio.Task[None]] = set()


def show(event: str, **more: object) -> None:
    print(json.dumps({"event": event, **more}), flush=True)


def do(what: Any) -> None:
    task = asyncio.create_task(what)
    tasks.add(task)
    task.add_done_callback(tasks.discard)


async def deliver(esme: Any, to: str, text: str, **fields: object) -> None:
    answer = await esme.deliver_sm(to, text.encode(), **fields)
    show("answered", status=answer.command_status)


async def report(receiver: "asyncio.Future[Any]", message: Any, number: str) -> None:
    is_lost = message.destination_addr.endswith("1")
    state, err, value = ("UNDELIV", "042", UNDELIV) if is_lost else ("DELIVRD", "000", DELIVRD)
    text = f"id:{number} sub:001 dlvrd:001 submit date:2501020304 done date:2501020305 stat:{state} err:{err} text:"
    tlvs = [
        smpp34.Tlv(smpp34.TLV_MESSAGE_STATE, bytes([value])),
        smpp34.Tlv(smpp34.TLV_RECEIPTED_MESSAGE_ID, f"{number}\0".encode()),
    ]
    await deliver(
        await receiver, message.source_addr, text, source_addr=message.destination_addr, esm_class=4, tlvs=tlvs
    )


async def main() -> None:
    server = smpp34.Server("127.0.0.1", int(sys.argv[1]), system_id="smpp34")
    await server.start()
    receiver = asyncio.get_running_loop().create_future()
    show("listening", port=int(sys.argv[1]))
    while True:
        match await server.next():
            case smpp34.Esme() as esme:
                if esme.can_receive:
                    receiver.set_result(esme)
                    do(deliver(esme, "3388", "From a phone", source_addr="447700900099"))
            case smpp34.SubmitSmEvent() as message:
                number = next(ids)
                show("submit_sm", id=number, destination_addr=message.destination_addr,
                     text=message.short_message.hex())  # fmt: skip
                message.accept(number)
                if message.registered_delivery & 1:
                    do(report(receiver, message, number))
            case smpp34.Unbound():
                show("unbind")


asyncio.run(main())
