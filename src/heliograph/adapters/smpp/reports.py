"""From receipts on the wire to reports."""

from typing import Final

from heliograph.app.ports import Report
from heliograph.domain.operator_id import kept
from heliograph.domain.receipt import Delivery, is_final, normalise_err, parse_state
from heliograph.smpp.pdu import DataSm, DeliverSm
from heliograph.smpp.receipt import parse_receipt

MAX_ADDRESS_CHARS: Final = 64
"""Characters of a receipt's source_addr that are kept. SMPP v3.4 has room for 20 (4.6.1)."""


def report_of(pdu: DeliverSm | DataSm) -> Report | None:
    """The report in a deliver_sm or data_sm whose esm_class says that it is a receipt, else None.

    `operator_id` is empty where the receipt names no message. An intermediate notification is not final whatever
    it says, save that a delivered message stays delivered.
    """
    receipt = parse_receipt(pdu)
    if receipt is None:
        return None
    state = parse_state(receipt.state)
    final = is_final(state) and (not receipt.intermediate or state is Delivery.DELIVRD)
    destination = receipt.source_addr[:MAX_ADDRESS_CHARS]
    return Report(kept(receipt.message_id), destination, state, final, normalise_err(receipt.err, state))
