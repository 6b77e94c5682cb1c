"""Microseconds a PDU costs in the SMPP core: `python bench/smpp_codec.py`."""

import gc
import timeit
from collections.abc import Callable

from heliograph.smpp import codec, pdu, tlv
from heliograph.smpp import constants as c
from heliograph.smpp.constants import Role
from heliograph.smpp.event import Delivered
from heliograph.smpp.framer import Framer
from heliograph.smpp.receipt import parse_receipt
from heliograph.smpp.session import Session, SessionOptions
from heliograph.smpp.submit import BodyTemplate

TEXT = b"Your code is 123456. It expires in five."
RECEIPT = b"id:0123456789 sub:001 dlvrd:001 submit date:2501021530 done date:2501021531 stat:DELIVRD err:000 text:Your"
BATCH = 1000


def best(operation: Callable[[], object], count: int = 20_000, each: int = 1) -> float:
    """The fastest of five runs, in microseconds an operation."""
    gc.collect()
    return min(timeit.repeat(operation, number=count, repeat=5)) / count / each * 1e6


def bound_pair() -> tuple[Session, Session]:
    """An ESME and a message centre that are bound as transceivers."""
    options = SessionOptions(window=BATCH)
    esme, centre = Session(Role.ESME, 0.0, options), Session(Role.MC, 0.0, options)
    request = pdu.BindTransceiver(system_id="bench")
    esme.bind(request, 0.0)
    centre.receive(esme.data_to_send(), 0.0)
    centre.answer(pdu.BindTransceiver(sequence=1))
    esme.receive(centre.data_to_send(), 0.0)
    return esme, centre


def session_costs(body: bytes) -> tuple[float, float]:
    """The whole cost of an ESME for a submission (send and answer), and for a delivery (receive and answer)."""
    esme, _ = bound_pair()
    first = esme.send_request(c.SUBMIT_SM, body, None, 0.0)
    esme.receive(codec.encode(pdu.SubmitSmResp(sequence=first, message_id="x")), 0.0)
    head, resp = codec.HEADER, b"0123456789\0"

    def submissions() -> None:
        sequences = [esme.send_request(c.SUBMIT_SM, body, None, 0.0) for _ in range(BATCH)]
        esme.data_to_send()
        answers = [head.pack(16 + len(resp), c.SUBMIT_SM_RESP, 0, number) + resp for number in sequences]
        esme.receive(b"".join(answers), 0.0)

    def answers_only() -> None:
        b"".join([head.pack(16 + len(resp), c.SUBMIT_SM_RESP, 0, number) + resp for number in range(BATCH)])

    receipts = b"".join(codec.encode(pdu.DeliverSm(n, esm_class=4, short_message=RECEIPT)) for n in range(BATCH))

    def deliveries() -> None:
        for event in esme.receive(receipts, 0.0):
            if isinstance(event, Delivered):
                esme.answer(event.request)
        esme.data_to_send()

    submitting = best(submissions, 50, BATCH) - best(answers_only, 50, BATCH)
    return submitting, best(deliveries, 50, BATCH)


def main() -> None:
    """Prints a line for each operation."""
    template = BodyTemplate(source_addr="Heliograph", source_addr_ton=5, registered_delivery=1)
    submit = pdu.SubmitSm(1, source_addr="Heliograph", destination_addr="447700900123", short_message=TEXT)
    submit_frame = codec.encode(submit)
    resp = pdu.SubmitSmResp(1, message_id="0123456789")
    resp_frame = codec.encode(resp)
    deliver = pdu.DeliverSm(1, source_addr="447700900123", destination_addr="12345", esm_class=4)
    deliver.short_message = RECEIPT
    deliver_frame = codec.encode(deliver)
    with_tlvs = pdu.DeliverSm(1, source_addr="447700900123", destination_addr="12345", esm_class=4)
    with_tlvs.tlvs = (tlv.make(tlv.RECEIPTED_MESSAGE_ID, "0123456789"), tlv.make(tlv.MESSAGE_STATE, 2))
    with_tlvs.short_message = RECEIPT
    tlv_frame = codec.encode(with_tlvs)
    stream = resp_frame * BATCH
    framer = Framer()
    costs = {
        "body of submit_sm from a template": best(lambda: template.body("447700900123", TEXT)),
        "encode submit_sm": best(lambda: codec.encode(submit)),
        "decode submit_sm": best(lambda: codec.decode(submit_frame)),
        "encode submit_sm_resp": best(lambda: codec.encode(resp)),
        "decode submit_sm_resp": best(lambda: codec.decode(resp_frame)),
        "decode deliver_sm": best(lambda: codec.decode(deliver_frame)),
        "decode deliver_sm with two TLVs": best(lambda: codec.decode(tlv_frame)),
        "encode deliver_sm_resp": best(lambda: codec.encode(pdu.DeliverSmResp(1))),
        "frame (1,000 from one piece)": best(lambda: framer.feed(stream), 50, BATCH),
        "parse a receipt, text": best(lambda: parse_receipt(deliver)),
        "parse a receipt, TLVs and text": best(lambda: parse_receipt(with_tlvs)),
    }
    submitting, delivering = session_costs(template.body("447700900123", TEXT))
    costs["session: submit_sm sent and answered"] = submitting
    costs["session: deliver_sm received and answered"] = delivering
    for name, cost in costs.items():
        print(f"{name:45} {cost:6.2f} us")


if __name__ == "__main__":
    main()
