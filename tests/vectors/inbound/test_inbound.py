"""Texts that foreign peers deliver, in parts and with headers, are read as they were written."""

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from heliograph.domain.text import inbound
from heliograph.domain.text.inbound import UserData
from heliograph.smpp import codec, tlv
from heliograph.smpp import constants as c
from heliograph.smpp.pdu import DeliverSm

ROWS = [
    pytest.param(row, id=f"{path.stem}-{row['name']}")
    for path in sorted(Path(__file__).parent.glob("*.json"))
    for row in json.loads(path.read_text("utf-8"))
]


def user_data(frame: str) -> UserData:
    pdu = codec.decode(bytes.fromhex(frame))
    assert isinstance(pdu, DeliverSm)
    reference = tlv.find_integer(pdu.tlvs, tlv.SAR_MSG_REF_NUM)
    total = tlv.find_integer(pdu.tlvs, tlv.SAR_TOTAL_SEGMENTS)
    number = tlv.find_integer(pdu.tlvs, tlv.SAR_SEGMENT_SEQNUM)
    sar = None if reference is None or total is None or number is None else (reference, total, number)
    return inbound.read(pdu.content, pdu.data_coding, has_header=bool(pdu.esm_class & c.ESM_UDHI), sar=sar)


@pytest.mark.parametrize("row", ROWS)
def test_a_text_is_read_in_any_order_of_its_parts(row: dict[str, Any]) -> None:
    parts = [user_data(frame) for frame in row["pdus"]]
    if len(parts) == 1:
        assert parts[0].position is None
        assert inbound.text_of(parts[0], "gsm") == row["text"]
        return
    for order in permutations(parts):
        joined = inbound.join(order, "gsm")
        assert (joined.text, joined.parts, joined.complete) == (row["text"], len(parts), True)
