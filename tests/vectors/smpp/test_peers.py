"""What foreign peers send is understood, cut anywhere, and (where they follow the rules) written back the
same.
"""

import json
from pathlib import Path
from typing import Any

from heliograph.smpp import codec, tlv
from heliograph.smpp.constants import RESPONSE_BIT, Role, command_name
from heliograph.smpp.error import PduError
from heliograph.smpp.framer import Framer
from heliograph.smpp.pdu import Address, DistributionList, FailedDestination, Pdu
from heliograph.smpp.session import Session
from tests.support.cases import for_each

FOLDER = Path(__file__).parent
ROWS = [row for path in sorted(FOLDER.glob("*.json")) for row in json.loads(path.read_text("utf-8"))]

BODY_WITH_AN_ERROR = {
    "00000011800000090000000e0000000400",
    "0000001180000004000000580000000600",
}
"""smpplib's error responses have a body, which ours leave out."""


def meant(value: Any) -> Any:
    """A value of the file as our PDUs hold it."""
    if isinstance(value, dict):
        return bytes.fromhex(value["hex"])
    if isinstance(value, list):
        return tuple(_party(item) for item in value)
    return value


def _party(item: dict[str, Any]) -> object:
    if "list" in item:
        return DistributionList(item["list"])
    if "status" in item:
        return FailedDestination(item["ton"], item["npi"], item["number"], item["status"])
    return Address(item["ton"], item["npi"], item["number"])


def outcome(frame: bytes) -> Pdu | PduError:
    try:
        return codec.decode(frame)
    except PduError as error:
        return error


@for_each("row", ROWS)
def test_decoder_finds_what_was_meant(row: dict[str, Any]) -> None:
    pdu = codec.decode(bytes.fromhex(row["hex"]))

    assert command_name(pdu.command_id) == row["command"]
    assert pdu.sequence == row["sequence"]
    assert pdu.status == row.get("status", 0)
    assert {name: getattr(pdu, name) for name in row["fields"]} == {
        name: meant(value) for name, value in row["fields"].items()
    }
    assert tlv.described(pdu.tlvs) == {name: meant(value) for name, value in row.get("tlvs", {}).items()}


@for_each("row", ROWS)
def test_encoder_writes_the_same_octets(row: dict[str, Any]) -> None:
    frame = bytes.fromhex(row["hex"])

    again = codec.encode(codec.decode(frame))

    assert (again == frame) is (row["hex"] not in BODY_WITH_AN_ERROR)


@for_each("row", ROWS)
def test_framer_finds_it_in_single_octets_and_in_a_run(row: dict[str, Any]) -> None:
    frame = bytes.fromhex(row["hex"])
    framer = Framer()

    found = [whole for octet in frame for whole in framer.feed(bytes([octet]))]

    assert found == [frame]
    assert framer.feed(frame * 3 + frame[:7]) == [frame] * 3
    assert framer.feed(frame[7:]) == [frame]


@for_each("row", ROWS)
def test_cut_short_at_every_length(row: dict[str, Any]) -> None:
    """With a command_length that says so: a request is an error or another PDU, a response is always read."""
    frame = bytes.fromhex(row["hex"])
    whole = codec.decode(frame)
    for length in range(16, len(frame)):
        cut = length.to_bytes(4, "big") + frame[4:length]
        found = outcome(cut)
        assert (found.command_id, found.sequence) == (whole.command_id, whole.sequence)
        if isinstance(found, PduError):
            assert not whole.command_id & RESPONSE_BIT
            assert found.recoverable
        elif not whole.command_id & RESPONSE_BIT:
            # Only optional parts may be missing from a request.
            assert codec.encode(found) == cut


@for_each("row", ROWS)
@for_each("role", list(Role))
def test_no_session_stumbles_over_it(row: dict[str, Any], role: Role) -> None:
    frame = bytes.fromhex(row["hex"])
    session = Session(role, 0.0)

    session.receive(frame, 1.0)

    assert not session.closing
    answers = Framer().feed(session.data_to_send())
    assert all(codec.decode(answer).command_id & RESPONSE_BIT for answer in answers)
