"""smpplib as a customer: does as esme.js, and numbers its messages by user_message_reference."""

import contextlib
import json
import logging
import sys
import time
from typing import Any

import smpplib.client
import smpplib.exceptions
import smpplib.gsm

PORT, SYSTEM_ID, PASSWORD = int(sys.argv[1]), sys.argv[2], sys.argv[3]
MESSAGES = json.loads(sys.argv[4])
PAUSE_S = 0.02

unanswered = set(range(len(MESSAGES)))
sent: dict[int, int] = {}
"""Numbers of messages by the sequence of their last part."""


def show(**event: object) -> None:
    print(json.dumps(event), flush=True)


def answered(pdu: Any) -> None:
    number = sent.pop(pdu.sequence, None)
    if number is not None:
        unanswered.discard(number)
        show(event="answer", number=number, status=pdu.status, id=pdu.message_id.decode())


def received(pdu: Any) -> None:
    text = pdu.short_message.decode()
    if pdu.esm_class & 4:
        show(event="receipt", id=pdu.receipted_message_id.decode(), text=text)
    else:
        show(event="phone", **{"from": pdu.source_addr.decode()}, text=text)


def submit(client: Any, number: int) -> None:
    message = MESSAGES[number]
    parts, coding, esm_class = smpplib.gsm.make_parts(message["text"])
    for count, part in enumerate(parts):
        pdu = client.send_message(
            source_addr_ton=5, source_addr=message["from"], dest_addr_ton=1, dest_addr_npi=1,
            destination_addr=message["to"], short_message=part, data_coding=coding, esm_class=esm_class,
            registered_delivery=True, user_message_reference=number * 10 + count,
        )  # fmt: skip
        if count == len(parts) - 1:
            sent[pdu.sequence] = number


def session() -> None:
    sent.clear()
    client = smpplib.client.Client("127.0.0.1", PORT, allow_unknown_opt_params=True)
    client.set_message_sent_handler(answered)
    client.set_message_received_handler(received)
    client.connect()
    client.bind_transceiver(system_id=SYSTEM_ID, password=PASSWORD)
    client._socket.settimeout(PAUSE_S)
    due = sorted(unanswered)
    while True:
        if due:
            submit(client, due.pop(0))
        with contextlib.suppress(TimeoutError):
            client.read_once(auto_send_enquire_link=False)


logging.disable()
while True:
    with contextlib.suppress(smpplib.exceptions.ConnectionError, OSError):
        session()
    time.sleep(0.2)
