import pytest

from heliograph.smpp import codec, tlv
from heliograph.smpp.error import FieldError
from heliograph.smpp.pdu import SubmitSm
from heliograph.smpp.submit import BodyTemplate


def test_a_body_is_what_the_codec_writes() -> None:
    template = BodyTemplate(
        source_addr="Me",
        source_addr_ton=5,
        source_addr_npi=0,
        dest_addr_ton=1,
        dest_addr_npi=1,
        service_type="CMT",
        esm_class=0x43,
        protocol_id=1,
        priority_flag=2,
        schedule_delivery_time="000000000100000R",
        validity_period="000002000000000R",
        registered_delivery=0x11,
        replace_if_present_flag=1,
        data_coding=8,
        sm_default_msg_id=9,
    )
    tlvs = (tlv.make(tlv.USER_MESSAGE_REFERENCE, 7),)
    message = SubmitSm(
        0, 0, tlvs, "CMT", 5, 0, "Me", 1, 1, "447700900123", 0x43, 1, 2, "000000000100000R", "000002000000000R"
    )
    message.registered_delivery = 0x11
    message.replace_if_present_flag = 1
    message.data_coding = 8
    message.sm_default_msg_id = 9
    message.short_message = b"\x05\0\3\1\2\1hello"

    assert template.body("447700900123", b"\x05\0\3\1\2\1hello", tlvs) == codec.encode_body(message)


def test_a_long_text_travels_as_payload() -> None:
    body = BodyTemplate().payload_body("44", bytes(1000))

    pdu = codec.decode((16 + len(body)).to_bytes(4, "big") + bytes.fromhex("000000040000000000000001") + body)

    assert isinstance(pdu, SubmitSm)
    assert pdu.short_message == b""
    assert pdu.content == bytes(1000)


@pytest.mark.parametrize(("destination", "content"), [("1" * 21, b""), ("4\x004", b""), ("Ж", b""), ("44", bytes(255))])
def test_what_does_not_fit_is_refused(destination: str, content: bytes) -> None:
    with pytest.raises(FieldError):
        BodyTemplate().body(destination, content)


def test_a_template_is_checked_at_once() -> None:
    with pytest.raises(FieldError):
        BodyTemplate(source_addr="twenty-one characters")
    with pytest.raises(FieldError):
        BodyTemplate(data_coding=256)
    with pytest.raises(FieldError):
        BodyTemplate(validity_period="soon" * 5)
