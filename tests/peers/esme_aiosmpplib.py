"""aiosmpplib as a customer: does as esme.js. It binds again by itself."""

import asyncio
import json
import sys
from typing import Any

import aiosmpplib as smpp
from aiosmpplib.broker import SimpleBroker

PORT, SYSTEM_ID, PASSWORD = int(sys.argv[1]), sys.argv[2], sys.argv[3]
MESSAGES = json.loads(sys.argv[4])
UDHI = 0x40
"""Bit of esm_class by which aiosmpplib splits a long text with user data headers."""

unanswered = set(range(len(MESSAGES)))


def show(**event: object) -> None:
    print(json.dumps(event), flush=True)


class Pause(smpp.AbstractRateLimiter):  # type: ignore[misc] # Any
    async def limit(self) -> None:
        await asyncio.sleep(0.02)


class Hook(smpp.AbstractHook):  # type: ignore[misc] # Any
    def __init__(self, broker: Any) -> None:
        self._broker = broker

    async def sending(self, smpp_message: Any, pdu: bytes, client_id: str) -> None: ...

    async def send_error(self, smpp_message: Any, error: Exception, client_id: str) -> None: ...

    async def received(self, smpp_message: Any, pdu: bytes, client_id: str) -> None:
        match smpp_message:
            case smpp.BindTransceiverResp():
                await self._submit_all()
            case smpp.SubmitSmResp() if smpp_message.log_id:
                number = int(smpp_message.log_id)
                unanswered.discard(number)
                status = int(smpp_message.command_status)
                show(event="answer", number=number, status=status, id=smpp_message.message_id)
            case smpp.DeliverSm() if smpp_message.is_receipt():
                show(event="receipt", id=smpp_message.parse_receipt()["id"], text=smpp_message.short_message)
            case smpp.DeliverSm():
                show(event="phone", **{"from": smpp_message.source.number}, text=smpp_message.short_message)

    async def _submit_all(self) -> None:
        while not self._broker.queue.empty():
            self._broker.queue.get_nowait()
        for number in sorted(unanswered):
            message = MESSAGES[number]
            long = len(message["text"]) > 160
            await self._broker.enqueue(
                smpp.SubmitSm(
                    short_message=message["text"],
                    source=smpp.PhoneNumber(message["from"]),
                    destination=smpp.PhoneNumber(message["to"]),
                    esm_class=UDHI if long else 0,
                    auto_message_payload=not long,
                    log_id=str(number),
                )
            )


async def main() -> None:
    broker = SimpleBroker()
    esme = smpp.ESME("127.0.0.1", PORT, SYSTEM_ID, PASSWORD, hook=Hook(broker), broker=broker, rate_limiter=Pause(),
                     log_level="CRITICAL")  # fmt: skip
    await esme.start()


asyncio.run(main())
