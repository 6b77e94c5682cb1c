"""Jasmin's SMPP client as a customer, without its broker: does as esme.js. It binds again by itself."""

import json
import logging
import sys
from typing import Any

from jasmin.protocols.smpp.configs import SMPPClientConfig
from jasmin.protocols.smpp.factory import SMPPClientFactory
from jasmin.protocols.smpp.operations import SMPPOperationFactory
from smpp.pdu.pdu_types import RegisteredDelivery, RegisteredDeliveryReceipt
from smpp.twisted.protocol import SMPPSessionStates
from twisted.internet import reactor
from twisted.internet.task import LoopingCall

PORT, SYSTEM_ID, PASSWORD = int(sys.argv[1]), sys.argv[2], sys.argv[3]
MESSAGES = json.loads(sys.argv[4])
RECEIPT = RegisteredDelivery(RegisteredDeliveryReceipt.SMSC_DELIVERY_RECEIPT_REQUESTED)

due = list(range(len(MESSAGES)))


def show(**event: object) -> None:
    print(json.dumps(event), flush=True)


class Customer:
    def __init__(self) -> None:
        config = SMPPClientConfig(
            id="heliograph", port=PORT, username=SYSTEM_ID, password=PASSWORD, log_level=logging.CRITICAL,
            log_file="jasmin.log", responseTimerSecs=3, reconnectOnConnectionLossDelay=0.2,
            reconnectOnConnectionFailureDelay=0.2,
        )  # fmt: skip
        self._operations = SMPPOperationFactory(config, long_content_split="sar")
        self._factory = SMPPClientFactory(config, msgHandler=self._received)
        self._factory.connectAndBind()
        LoopingCall(self._submit_next).start(0.02)

    def _submit_next(self) -> None:
        if not due or self._factory.getSessionState() is not SMPPSessionStates.BOUND_TRX:
            return
        number = due.pop(0)
        message = MESSAGES[number]
        pdu = self._operations.SubmitSM(
            source_addr=message["from"].encode(), destination_addr=message["to"].encode(),
            short_message=message["text"].encode(), registered_delivery=RECEIPT,
        )  # fmt: skip
        self._factory.smpp.sendDataRequest(pdu).addCallbacks(self._answered, self._lost, (number,), {}, (number,))

    def _answered(self, result: Any, number: int) -> None:
        response = result.response
        show(event="answer", number=number, status=response.status.value - 1,
             id=response.params.get("message_id", b"").decode())  # fmt: skip

    def _lost(self, _: object, number: int) -> None:
        due.append(number)

    def _received(self, _: object, pdu: Any) -> None:
        found = self._operations.isDeliveryReceipt(pdu)
        text = pdu.params["short_message"].decode()
        if found:
            show(event="receipt", id=found["id"].decode(), text=text)
        else:
            show(event="phone", **{"from": pdu.params["source_addr"].decode()}, text=text)


Customer()
reactor.run()
