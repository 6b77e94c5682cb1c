"""Receipts: told once, answered when they are kept, and only then."""

import asyncio

import pytest

from heliograph.app.ports import Report
from heliograph.domain.message.receipt import Delivery
from heliograph.smpp import constants as c
from heliograph.smpp import pdu as p
from heliograph.smpp import tlv
from heliograph.smpp.constants import CommandStatus as Status
from tests.support.carrier_rig import Rig, connector
from tests.support.smsc import Smsc, receipt, wait_until


async def test_a_receipt_is_answered_once_it_is_kept() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port)) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        smsc.link.deliver(receipt("id1", "UNDELIV", "027"), "one")
        await wait_until(lambda: rig.events.reports)
        report, acknowledge = rig.events.reports[0]
        assert report == Report("id1", "447700900123", Delivery.UNDELIV, True, "027", other_number="Helio")
        # The answer to an enquiry overtakes that to the receipt, which nobody has kept yet.
        smsc.link.session.enquire_link(0.0)
        smsc.link.flush()
        writes = smsc.link.writes
        await wait_until(lambda: smsc.link.writes > writes)
        assert smsc.link.receipts_answered == []
        acknowledge(True)
        await wait_until(lambda: smsc.link.receipts_answered)
        assert smsc.link.receipts_answered == [("one", Status.ESME_ROK)]


async def test_a_receipt_that_cannot_be_kept_shall_come_again() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port)) as rig:
        rig.events.keeps = False
        await wait_until(lambda: rig.carrier.capacity)
        smsc.link.deliver(receipt("id1"), "one")
        await wait_until(lambda: smsc.link.receipts_answered)
        assert smsc.link.receipts_answered == [("one", Status.ESME_RX_T_APPN)]
        assert rig.carrier.state().counters.receipts_put_off == 1


async def test_many_receipts_are_answered_in_one_write() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port)) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        for n in range(100):
            smsc.link.deliver(receipt(f"id{n}"), n)
        await wait_until(lambda: len(rig.events.reports) == 100)
        writes = smsc.link.writes
        for _, acknowledge in rig.events.reports:
            acknowledge(True)
        await wait_until(lambda: len(smsc.link.receipts_answered) == 100)
        assert smsc.link.writes == writes + 1
        assert smsc.link.receipts_answered == [(n, Status.ESME_ROK) for n in range(100)]


async def test_an_answer_to_a_link_that_is_gone_is_dropped() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port)) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        smsc.link.deliver(receipt("id1"))
        await wait_until(lambda: rig.events.reports)
        smsc.link.cut()
        await wait_until(lambda: not rig.carrier.capacity)
        rig.events.reports[0][1](True)
        await wait_until(lambda: rig.carrier.capacity)
        # It comes again, on the new link.
        smsc.link.deliver(receipt("id1"), "again")
        await wait_until(lambda: len(rig.events.reports) == 2)
        rig.events.reports[1][1](True)
        await wait_until(lambda: smsc.link.receipts_answered == [("again", Status.ESME_ROK)])


async def test_an_operator_that_unbinds_gets_the_answers_it_waits_for_first() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port)) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        link = smsc.link
        link.deliver(receipt("id1"), "one")
        await wait_until(lambda: rig.events.reports)
        link.unbind()
        await wait_until(lambda: not rig.carrier.capacity)
        assert not link.unbound
        rig.events.reports[0][1](True)
        await wait_until(lambda: link.unbound)
        assert link.receipts_answered == [("one", Status.ESME_ROK)]


async def test_a_receipt_in_data_sm_is_answered_as_such() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port)) as rig:
        rig.events.keeps = True
        await wait_until(lambda: rig.carrier.capacity)
        pdu = p.DataSm(source_addr="447700900123", esm_class=c.ESM_RECEIPT)
        pdu.tlvs = (tlv.make(tlv.RECEIPTED_MESSAGE_ID, "xyz"), tlv.make(tlv.MESSAGE_STATE, 2))
        smsc.link.deliver(pdu, "data")
        await wait_until(lambda: smsc.link.receipts_answered == [("data", Status.ESME_ROK)])
        assert rig.events.reports[0][0].operator_id == "xyz"


async def test_receipts_come_on_the_receiver_of_a_pair() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port, bind="transmitter+receiver")) as rig:
        rig.events.keeps = True
        await wait_until(lambda: len(smsc.up) == 2)
        (receiver,) = [link for link in smsc.up if isinstance(link.bind, p.BindReceiver)]
        receiver.deliver(receipt("id1"), "one")
        await wait_until(lambda: receiver.receipts_answered == [("one", Status.ESME_ROK)])


@pytest.mark.parametrize(
    ("options", "status"),
    [({"mobile_originated": "reject"}, Status.ESME_RX_R_APPN), ({"mobile_originated": "accept"}, Status.ESME_ROK)],
)
async def test_messages_from_phones_that_nobody_wants_are_no_receipts(options: dict[str, str], status: Status) -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port, options=options)) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        lookalike = receipt("id1")
        lookalike.esm_class = 0
        smsc.link.deliver(lookalike, "one")
        await wait_until(lambda: rig.events.unmarked)
        ((report, _, otherwise),) = rig.events.unmarked
        assert (report.operator_id, report.marked) == ("id1", False)
        otherwise()
        smsc.link.deliver(p.DeliverSm(source_addr="447700900123", short_message=b"STOP"), "two")
        await wait_until(lambda: smsc.link.receipts_answered == [("one", status), ("two", status)])
        assert not rig.events.reports
        assert rig.carrier.state().counters.mobile_originated == 2
        assert len(rig.journal.said("smpp.mobile_originated")) == 1


@pytest.mark.parametrize(
    ("options", "senders", "unread"),
    [
        ({}, ["017012345678", "17012345678", "4917012345678", "4917012345678"], 2),
        ({"inbound_country": "49"}, ["4917012345678"] * 4, 0),
    ],
)
async def test_a_phone_that_is_written_nationally_is_known_by_its_international_number(
    options: dict[str, str], senders: list[str], unread: int
) -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port, options=options)) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        for address, ton in (("017012345678", 0), ("17012345678", 2), ("004917012345678", 0), ("+4917012345678", 1)):
            smsc.link.deliver(p.DeliverSm(source_addr=address, source_addr_ton=ton, short_message=b"STOP"))
        await wait_until(lambda: len(rig.events.inbound) == 4)
        assert [each.sender for each in rig.events.inbound] == senders
        assert rig.carrier.state().counters.national_numbers == unread
        assert len(rig.journal.said("smpp.national_number")) == min(unread, 1)


@pytest.mark.parametrize(("kept", "status"), [(True, Status.ESME_ROK), (False, Status.ESME_RX_T_APPN)])
async def test_a_message_from_a_phone_is_answered_once_its_fate_is_known(kept: bool, status: Status) -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port)) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        message = p.DeliverSm(
            source_addr="+447700900123", destination_addr="3388", esm_class=c.ESM_UDHI, data_coding=8,
            short_message=b"\x05\x00\x03\x01\x02\x01\x00A",
        )  # fmt: skip
        smsc.link.deliver(message, "one")
        await wait_until(lambda: rig.events.inbound)
        (incoming,) = rig.events.inbound
        assert not smsc.link.receipts_answered
        assert incoming.stands()
        assert incoming.waits()
        assert incoming.answer(kept)
        await wait_until(lambda: smsc.link.receipts_answered == [("one", status)])
        assert (incoming.sender, incoming.recipient, incoming.coding) == ("447700900123", "3388", 8)
        assert (incoming.octets, incoming.has_header, incoming.part) == (message.short_message, True, None)


async def test_messages_from_phones_are_told_apart_by_all_their_octets() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port)) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        sar = (tlv.make(tlv.SAR_MSG_REF_NUM, 515), tlv.make(tlv.SAR_TOTAL_SEGMENTS, 3))
        given: list[p.DeliverSm | p.DataSm] = [
            p.DeliverSm(source_addr="1", short_message=b"A"),
            p.DeliverSm(source_addr="2", short_message=b"A"),
            p.DeliverSm(source_addr="1", short_message=b"B"),
            p.DeliverSm(source_addr="1", short_message=b"A", tlvs=(*sar, tlv.make(tlv.SAR_SEGMENT_SEQNUM, 1))),
            p.DataSm(source_addr="1", tlvs=(tlv.make(tlv.MESSAGE_PAYLOAD, b"C"),)),
            p.DeliverSm(source_addr="1", short_message=b"A"),
        ]
        for number, message in enumerate(given):
            smsc.link.deliver(message, str(number))
        await wait_until(lambda: len(rig.events.inbound) == len(given))
        digests = [incoming.digest for incoming in rig.events.inbound]
        assert len(set(digests)) == len(given) - 1
        assert digests[0] == digests[-1]
        assert all(0 < digest < 1 << 63 for digest in digests)
        assert [incoming.part for incoming in rig.events.inbound] == [None] * 3 + [(515, 3, 1)] + [None] * 2
        assert [incoming.octets for incoming in rig.events.inbound] == [b"A", b"A", b"B", b"A", b"C", b"A"]


async def test_a_message_from_a_phone_is_not_answered_where_its_link_is_gone() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port)) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        smsc.link.deliver(p.DeliverSm(source_addr="1", short_message=b"A"), "one")
        await wait_until(lambda: rig.events.inbound)
        (incoming,) = rig.events.inbound
        smsc.link.cut()
        await wait_until(lambda: not incoming.stands())
        assert not incoming.answer(True)


async def test_a_receipt_without_an_id_is_taken_counted_and_said_once() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port)) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        for token in ("one", "two"):
            smsc.link.deliver(p.DeliverSm(esm_class=c.ESM_RECEIPT, short_message=b"delivered!"), token)
        await wait_until(lambda: len(smsc.link.receipts_answered) == 2)
        assert {status for _, status in smsc.link.receipts_answered} == {Status.ESME_ROK}
        assert rig.carrier.state().counters.receipts_unreadable == 2
        assert len(rig.journal.said("smpp.receipt_without_id")) == 1


async def test_more_receipts_than_can_wait_are_put_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heliograph.adapters.smpp.receipts.MAX_UNACKNOWLEDGED", 3)
    async with Smsc() as smsc, Rig(connector(smsc.port)) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        for n in range(5):
            smsc.link.deliver(receipt(f"id{n}"), n)
        await wait_until(lambda: len(smsc.link.receipts_answered) == 2)
        assert [status for _, status in smsc.link.receipts_answered] == [Status.ESME_RX_T_APPN] * 2
        assert rig.carrier.state().counters.receipts_put_off == 2
        assert len(rig.events.reports) == 3
        for _, acknowledge in rig.events.reports:
            acknowledge(True)
        smsc.link.deliver(receipt("id5"), 5)
        await wait_until(lambda: len(rig.events.reports) == 4)


async def test_what_breaks_the_rules_is_answered_and_counted() -> None:
    async with Smsc() as smsc, Rig(connector(smsc.port)) as rig:
        await wait_until(lambda: rig.carrier.capacity)
        smsc.link.send(b"\0\0\0\x10\0\0\x07\x77\0\0\0\0\0\0\0\x09")
        await wait_until(lambda: rig.carrier.state().counters.protocol_errors == 1)
        await asyncio.sleep(0)
        assert rig.carrier.capacity == 10
