"""What the fuzzer is given to try works on inputs that are known, so that a finding is one."""

from heliograph.smpp import codec
from heliograph.smpp import pdu as p
from tests.fuzz.targets import TARGETS
from tests.support.cases import for_each

RECEIPT = b"id:1a2b sub:001 dlvrd:001 submit date:2611200658 done date:2611200658 stat:DELIVRD err:000 text:x"
INPUTS = {
    "nothing": b"",
    "a PDU": codec.encode(p.SubmitSmResp(1, 0, message_id="17")),
    "several": codec.encode(p.EnquireLink(5)) + codec.encode(p.Unbind(6)) + b"\0\0\0\x10\0",
    "a receipt": bytes([4, 0, len(RECEIPT)]) + RECEIPT,
    "a late bind": b"\x02\x05\x05" + codec.encode(p.BindTransmitter(9, system_id="x")),
    "answers": b"\x01\x07\x01" + b"".join(codec.encode(p.SubmitSmResp(n, 0, message_id="1")) for n in (2, 3, 3, 9)),
    "no PDU": b"\xff" * 64,
}


@for_each("octets", INPUTS.values())
@for_each("target", TARGETS)
def test_known_inputs_are_no_findings(target: str, octets: bytes) -> None:
    TARGETS[target](octets)
