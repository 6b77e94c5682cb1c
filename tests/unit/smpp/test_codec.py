"""One row drives encoder and decoder, whole and cut short at every length."""

import pytest

from heliograph.smpp import codec, wire
from heliograph.smpp import constants as c
from heliograph.smpp import pdu as p
from heliograph.smpp.constants import CommandStatus
from heliograph.smpp.error import FieldError, PduError
from tests.support.cases import for_each

ROWS: list[tuple[p.Pdu, str]] = [
    (
        p.BindTransmitter(1, system_id="a", password="b", system_type="c", addr_ton=1, addr_npi=2, address_range="d"),
        "00000002 00000000 00000001 6100 6200 6300 34 01 02 6400",
    ),
    (p.BindReceiver(2, system_id="a"), "00000001 00000000 00000002 6100 00 00 34 00 00 00"),
    (p.BindTransceiver(3, interface_version=0x50), "00000009 00000000 00000003 00 00 00 50 00 00 00"),
    (
        p.BindTransmitterResp(1, 0, ((0x0210, b"\x34"),), "mc"),
        "80000002 00000000 00000001 6d6300 0210 0001 34",
    ),
    (p.BindReceiverResp(1, 0x0D), "80000001 0000000d 00000001"),
    (p.BindTransceiverResp(0x7FFFFFFF), "80000009 00000000 7fffffff 00"),
    (p.Outbind(1, system_id="mc", password="pw"), "0000000b 00000000 00000001 6d6300 707700"),
    (p.Unbind(4), "00000006 00000000 00000004"),
    (p.UnbindResp(4), "80000006 00000000 00000004"),
    (p.EnquireLink(5), "00000015 00000000 00000005"),
    (p.EnquireLinkResp(5), "80000015 00000000 00000005"),
    (p.GenericNack(0, 2), "80000000 00000002 00000000"),
    (
        p.SubmitSm(
            6,
            0,
            ((0x0204, b"\0\1"), (0x0204, b"\0\2"), (0x1400, b"")),
            service_type="CMT",
            source_addr_ton=5,
            source_addr="Me",
            dest_addr_ton=1,
            dest_addr_npi=1,
            destination_addr="44",
            esm_class=0x40,
            protocol_id=1,
            priority_flag=2,
            schedule_delivery_time="s",
            validity_period="v",
            registered_delivery=0x11,
            replace_if_present_flag=1,
            data_coding=8,
            sm_default_msg_id=9,
            short_message=b"\0\xff",
        ),
        (
            "00000004 00000000 00000006 434d5400 0500 4d6500 0101 343400 400102 7300 7600 11010809 02 00ff"
            "0204 0002 0001 0204 0002 0002 1400 0000"
        ),
    ),
    (p.SubmitSmResp(6, message_id="1f"), "80000004 00000000 00000006 316600"),
    (p.SubmitSmResp(6, 0x58), "80000004 00000058 00000006"),
    (
        p.SubmitSmResp(6, 0x58, ((0x0428, b"\x63"),)),
        "80000004 00000058 00000006 00 0428 0001 63",
    ),
    (
        p.DeliverSm(7, source_addr="\xe9", esm_class=4, short_message=b"id:1"),
        "00000005 00000000 00000007 00 00 00 e900 00 00 00 04 00 00 00 00 00 00 00 00 04 69643a31",
    ),
    (p.DeliverSmResp(7), "80000005 00000000 00000007 00"),
    (p.DeliverSmResp(7, 0x58), "80000005 00000058 00000007 00"),
    (
        p.DataSm(8, 0, ((0x0424, b"hi"),), "", 1, 1, "1" * 64, 1, 1, "2", 0, 1, 8),
        "00000103 00000000 00000008 00 01 01" + "31" * 64 + "00 01 01 3200 00 01 08 0424 0002 6869",
    ),
    (p.DataSmResp(8, 0xFE, message_id="x"), "80000103 000000fe 00000008 7800"),
    (
        p.SubmitMulti(
            9,
            destinations=(p.Address(1, 2, "44"), p.DistributionList("all")),
            short_message=b"x",
        ),
        "00000021 00000000 00000009 00 00 00 00 02 01 01 02 343400 02 616c6c00 00 00 00 00 00 00 00 00 00 01 78",
    ),
    (
        p.SubmitMultiResp(9, message_id="m", unsuccess_sme=(p.FailedDestination(1, 1, "44", 0x0B),)),
        "80000021 00000000 00000009 6d00 01 01 01 343400 0000000b",
    ),
    (p.QuerySm(10, message_id="m", source_addr="1"), "00000003 00000000 0000000a 6d00 00 00 3100"),
    (
        p.QuerySmResp(10, message_id="m", final_date="d", message_state=2, error_code=3),
        "80000003 00000000 0000000a 6d00 6400 02 03",
    ),
    (
        p.CancelSm(11, message_id="m", source_addr="1", destination_addr="2"),
        "00000008 00000000 0000000b 00 6d00 00 00 3100 00 00 3200",
    ),
    (p.CancelSmResp(11, 0x11), "80000008 00000011 0000000b"),
    (
        p.ReplaceSm(12, message_id="m", source_addr="1", registered_delivery=1, short_message=b"n"),
        "00000007 00000000 0000000c 6d00 00 00 3100 00 00 01 00 01 6e",
    ),
    (p.ReplaceSmResp(12), "80000007 00000000 0000000c"),
    (
        p.AlertNotification(13, 0, ((0x0422, b"\0"),), 1, 1, "44", 0, 1, "12"),
        "00000102 00000000 0000000d 01 01 343400 00 01 313200 0422 0001 00",
    ),
]


def framed(octets: str) -> bytes:
    rest = bytes.fromhex(octets)
    return (len(rest) + 4).to_bytes(4, "big") + rest


def outcome(frame: bytes) -> p.Pdu | PduError:
    try:
        return codec.decode(frame)
    except PduError as error:
        return error


def test_every_pdu_has_a_row_and_a_layout() -> None:
    assert {type(pdu) for pdu, _ in ROWS} == set(p.PDU_TYPES.values()) == set(codec.LAYOUTS)


@for_each(("pdu", "octets"), ROWS)
def test_encoder_and_decoder(pdu: p.Pdu, octets: str) -> None:
    assert codec.encode(pdu).hex() == framed(octets).hex()
    assert codec.decode(framed(octets)) == pdu


@for_each(("pdu", "octets"), ROWS)
def test_hand_written_functions_do_what_the_layouts_say(pdu: p.Pdu, octets: str) -> None:
    frame = framed(octets)
    layout = codec.LAYOUTS[type(pdu)]

    values, _ = wire.read_leniently(layout, frame)

    assert type(pdu)(pdu.sequence, pdu.status, pdu.tlvs, **values) == pdu
    if len(frame) > 16:
        assert codec.encode(pdu)[16:].startswith(wire.write(layout, pdu))


@for_each(("pdu", "octets"), ROWS)
def test_cut_short_at_every_length(pdu: p.Pdu, octets: str) -> None:
    frame = framed(octets)
    for length in range(16, len(frame)):
        cut = length.to_bytes(4, "big") + frame[4:length]
        found = outcome(cut)
        assert (found.command_id, found.sequence) == (pdu.command_id, pdu.sequence)
        if isinstance(found, PduError):
            assert not pdu.command_id & c.RESPONSE_BIT
            assert found.status in {
                CommandStatus.ESME_RINVCMDLEN,
                CommandStatus.ESME_RINVMSGLEN,
                CommandStatus.ESME_RINVOPTPARSTREAM,
            }
        elif not pdu.command_id & c.RESPONSE_BIT:
            assert codec.encode(found) == cut


@pytest.mark.parametrize(
    ("octets", "status", "recoverable"),
    [
        pytest.param("", CommandStatus.ESME_RINVCMDLEN, False, id="nothing"),
        pytest.param("00000010 00000015 00000000", CommandStatus.ESME_RINVCMDLEN, False, id="no header"),
        pytest.param(
            "00000011 00000015 00000000 00000001", CommandStatus.ESME_RINVCMDLEN, False, id="wrong command_length"
        ),
        pytest.param("00000010 00000999 00000000 00000001", CommandStatus.ESME_RINVCMDID, True, id="unknown command"),
        pytest.param(
            "00000013 00000015 00000000 00000001 000000",
            CommandStatus.ESME_RINVOPTPARSTREAM,
            True,
            id="octets after enquire_link",
        ),
        pytest.param(
            "00000017 00000015 00000000 00000001 1400 0004 000000",
            CommandStatus.ESME_RINVOPTPARSTREAM,
            True,
            id="TLV longer than the PDU",
        ),
        pytest.param(
            "00000022 00000004 00000000 00000001 00 0000 00 0000 00 000000 00 00 00000000 0501",
            CommandStatus.ESME_RINVMSGLEN,
            True,
            id="sm_length longer than the PDU",
        ),
        pytest.param(
            "0000001b 00000021 00000000 00000001 00 00 00 00 01 03 01 01 343400",
            CommandStatus.ESME_RINVDESTFLAG,
            True,
            id="unknown dest_flag",
        ),
    ],
)
def test_what_the_sender_is_told(octets: str, status: int, recoverable: bool) -> None:
    found = outcome(bytes.fromhex(octets))

    assert isinstance(found, PduError)
    assert (found.status, found.recoverable) == (status, recoverable)


@pytest.mark.parametrize(
    ("octets", "pdu"),
    [
        pytest.param("80000004 00000000 00000001 6162", p.SubmitSmResp(1, message_id="ab"), id="no closing zero"),
        pytest.param("80000004 00000000 00000001", p.SubmitSmResp(1), id="no body"),
        pytest.param(
            "80000004 00000000 00000001 6100 0428", p.SubmitSmResp(1, message_id="a"), id="rubbish at the end"
        ),
        pytest.param("80000009 00000000 00000001", p.BindTransceiverResp(1), id="bind_resp without system_id"),
        pytest.param("80000009 00000000 00000001 61", p.BindTransceiverResp(1, system_id="a"), id="cut system_id"),
        pytest.param("80000003 00000000 00000001 6d00", p.QuerySmResp(1, message_id="m"), id="half a query_sm_resp"),
        pytest.param("80000015 00000000 00000001 ffff", p.EnquireLinkResp(1), id="octets after enquire_link_resp"),
        pytest.param("80000021 00000000 00000001 6d00 02 01", p.SubmitMultiResp(1, message_id="m"), id="half a list"),
    ],
)
def test_responses_are_read_whatever_they_lack(octets: str, pdu: p.Pdu) -> None:
    assert codec.decode(framed(octets)) == pdu


@pytest.mark.parametrize(
    ("pdu", "field"),
    [
        (p.SubmitSm(destination_addr="1" * 21), "destination_addr"),
        (p.SubmitSm(source_addr="a\0b"), "source_addr"),
        (p.SubmitSm(source_addr="Ж"), "source_addr"),
        (p.SubmitSm(service_type="sixsix"), "service_type"),
        (p.SubmitSm(validity_period="1" * 17), "validity_period"),
        (p.SubmitSm(schedule_delivery_time="1" * 17), "schedule_delivery_time"),
        (p.DeliverSm(short_message=bytes(255)), "short_message"),
        (p.DeliverSm(short_message=bytes(256)), "short_message"),
        (p.DeliverSm(data_coding=256), "data_coding"),
        (p.DeliverSm(esm_class=-1), "esm_class"),
        (p.SubmitSmResp(message_id="1" * 256), "message_id"),
        (p.Unbind(sequence=-1), "header"),
        (p.Unbind(tlvs=((1 << 16, b""),)), "tlvs"),
        (p.Unbind(tlvs=((1, bytes(1 << 16)),)), "tlvs"),
        (p.SubmitMulti(destinations=(p.DistributionList("a"),) * 255), "destinations"),
        (p.SubmitMulti(destinations=(p.Address(300, 0, "1"),)), "destinations"),
        (p.SubmitMultiResp(unsuccess_sme=(p.FailedDestination(0, 0, "1", 1 << 32),)), "unsuccess_sme"),
        (p.SubmitMultiResp(unsuccess_sme=(p.FailedDestination(0, 0, "1", 1),) * 255), "unsuccess_sme"),
    ],
)
def test_what_does_not_fit_is_named_and_not_shown(pdu: p.Pdu, field: str) -> None:
    with pytest.raises(FieldError) as caught:
        codec.encode(pdu)

    assert caught.value.field == field
    assert "1111" not in str(caught.value)


def test_pdus_print_neither_secrets_nor_numbers_nor_text() -> None:
    bind = p.BindTransceiver(3, system_id="who", password="secret")
    message = p.SubmitSm(4, 0x58, destination_addr="447700900123", short_message=b"secret")

    assert repr(bind) == "<bind_transceiver 3 ESME_ROK>"
    assert repr(message) == "<submit_sm 4 ESME_RTHROTTLED>"


def test_content_is_found_wherever_it_travels() -> None:
    payload = ((0x0424, b"long"),)

    assert p.SubmitSm(short_message=b"short").content == b"short"
    assert p.SubmitSm(tlvs=payload).content == b"long"
    assert p.DataSm(tlvs=payload).content == b"long"
    assert p.SubmitMulti(tlvs=payload).content == b"long"
    assert p.DataSm().content == b""
