"""Notices over binds: which bind takes them, and what clients' answers make of them."""

from typing import Any
from zoneinfo import ZoneInfo

import pytest

from heliograph.adapters.smpp_server.addresses import Spelling
from heliograph.adapters.smpp_server.deliverer import PACE_S, POLL_S, PUT_OFF, SUSPECT_S, BindDeliverer
from heliograph.adapters.smpp_server.deliveries import inbound_bodies, receipt_body
from heliograph.adapters.smpp_server.expected import Expected, ReceiptWish
from heliograph.adapters.smpp_server.registry import Binds
from heliograph.app.configuration import Account
from heliograph.app.facts import CallbackEnd, InboundMessage, Message
from heliograph.app.notice import Notice, ReachedState, TriedNotice
from heliograph.app.observing.counters import BindCounters
from heliograph.app.records import BindState
from heliograph.domain.message.extras import Extras
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.state import Kind
from heliograph.domain.message.way import Way
from heliograph.domain.text import inbound
from heliograph.smpp import codec, tlv
from heliograph.smpp import pdu as p
from heliograph.smpp.constants import CommandStatus
from heliograph.smpp.receipt import parse_receipt
from tests.support.esme import receipt_fields
from tests.support.use_case_fakes import SetClock

ACCOUNT = Account(7, "acme", "", bytes(32))
UTC = ZoneInfo("UTC")
AT = 1_800_000_000_000


class FakeBind:
    """A bind with some free slots, which takes notes."""

    def __init__(self, number: int, room: int, account: int = 7, version: int = 0x34) -> None:
        self.id, self.account, self.room, self.version = number, account, room, version
        self.state = BindState("receiver", "", False, 0, room)
        self.taken: list[tuple[int, bytes]] = []

    def deliver(self, notice: Notice, bodies: list[bytes]) -> None:
        self.room -= 1
        self.taken += [(notice.key, body) for body in bodies]

    def unbind(self) -> None:
        """It stays."""


class Accounts:
    def known(self, account: int) -> tuple[Account, ZoneInfo] | None:
        return (ACCOUNT, UTC) if account == 7 else None

    async def learn(self, account: int) -> None:
        """There is no other."""


class Rig:
    def __init__(self) -> None:
        self.clock = SetClock()
        self.binds = Binds(BindCounters())
        self.deliverer = BindDeliverer(self.binds, Accounts(), self.clock, 72, self._wake)
        self.told: list[TriedNotice] = []
        self.woken = 0
        self.deliverer.on_tried(self.told.extend)

    def _wake(self) -> None:
        self.woken += 1

    def bind(self, number: int, room: int, version: int = 0x34) -> FakeBind:
        bind = FakeBind(number, room, version=version)
        self.binds.enter(bind)
        return bind


@pytest.fixture
def rig() -> Rig:
    return Rig()


def message(key: int = 1, wish: ReceiptWish = ReceiptWish.ALL, **fields: Any) -> Message:
    expected = Expected(Spelling(0, 0, 0, "+"), Spelling(5, 0, 0, ""), "decimal", wish)
    given: dict[str, Any] = {"content": "Hello, world, this is a test", "kind": Kind.TEXT, **fields}
    return Message(
        account=7, destination="491701234567", sender="Helio", segments=1, price=0, time=AT, expires=AT, state=1,
        connector=1, key=key, tail=5, extras=Extras(esme=expected.text()).text(), way=Way.BIND, **given,
    )  # fmt: skip


def notice(key: int = 1, state: Delivery = Delivery.DELIVRD, account: int = 7, **fields: Any) -> Notice:
    reached = ReachedState(message(key, **fields), state, "", AT + 60_000)
    return Notice(account, key, reached, AT, way=Way.BIND)


def test_the_bind_with_most_free_slots_takes_a_notice(rig: Rig) -> None:
    small, large = rig.bind(1, 2), rig.bind(2, 3)
    assert rig.deliverer.capacity(7) == 5
    assert rig.deliverer.deliver([notice(key) for key in range(1, 6)]) == []
    assert (len(small.taken), len(large.taken)) == (2, 3)
    assert rig.deliverer.capacity(7) == 0


def test_a_notice_without_a_free_slot_waits_for_one(rig: Rig) -> None:
    rig.bind(1, 0)
    rig.deliverer.deliver([notice()])
    assert [(each.key, each.end, each.away) for each in rig.told] == [(1, None, True)]


def test_a_client_that_answers_has_the_notices_of_a_second_waiting_for_its_slots(rig: Rig) -> None:
    bind = rig.bind(1, 8)
    sent = [notice(key) for key in range(8)]
    rig.deliverer.deliver(sent)
    assert rig.deliverer.capacity(7) == 0
    rig.deliverer.answered([(each, 0) for each in sent])
    more = [notice(key) for key in range(8, 16)]
    for each in more:
        each.rowed = True
    assert rig.deliverer.capacity(7) == 8, "as many as it answered in this second"
    rig.deliverer.deliver(more)
    assert (len(bind.taken), rig.told[8:]) == (8, [])
    assert rig.deliverer.reachable() == []
    bind.room += 4
    rig.deliverer.answered([(sent[0], CommandStatus.ESME_RX_T_APPN)])
    assert [key for key, _ in bind.taken[8:]] == [8, 9, 10, 11], "oldest first"
    assert rig.woken == 1, "half of them are sent: the next are claimed meanwhile"
    assert rig.deliverer.reachable() == [7]
    rig.clock.seconds += 2 * PACE_S
    rig.deliverer.reachable()
    assert [(each.key, each.away, each.busy) for each in rig.told[9:]] == [
        (key, True, True) for key in (15, 14, 13, 12)
    ], "it answers no more: another node may send them"


def test_notices_that_wait_move_to_a_new_bind_and_are_parked_after_the_last(rig: Rig) -> None:
    first = rig.bind(1, 0)
    rig.deliverer.answered([(notice(key), 0) for key in range(9)])
    rig.deliverer.deliver([notice(key) for key in range(10, 16)])
    second = rig.bind(2, 2)
    rig.deliverer.has_room(7)
    assert [key for key, _ in second.taken] == [10, 11]
    rig.binds.leave(first)
    rig.deliverer.unbound(7)
    assert len(rig.told) == 9
    rig.binds.leave(second)
    rig.deliverer.unbound(7)
    assert [(each.key, each.away, each.busy) for each in rig.told[9:]] == [(key, True, True) for key in range(12, 16)]
    assert rig.deliverer.capacity(7) == 0


def test_an_account_that_is_not_in_memory_is_left(rig: Rig) -> None:
    other = notice(account=8)
    assert rig.deliverer.deliver([other]) == [other]


def test_a_success_that_nobody_asked_for_is_done(rig: Rig) -> None:
    bind = rig.bind(1, 5)
    rig.deliverer.deliver([notice(1, wish=ReceiptWish.FAILURE), notice(2, Delivery.UNDELIV, wish=ReceiptWish.FAILURE)])
    assert [(each.key, each.end) for each in rig.told] == [(1, CallbackEnd.DELIVERED)]
    assert [key for key, _ in bind.taken] == [2]


@pytest.mark.parametrize("status", CommandStatus)
def test_an_answer_ends_a_notice_or_puts_it_off(rig: Rig, status: CommandStatus) -> None:
    rig.deliverer.answered([(notice(), status)])
    away = status == CommandStatus.ESME_RINVBNDSTS  # the client had unbound
    end = CallbackEnd.DELIVERED if status == 0 else None if away or status in PUT_OFF else CallbackEnd.FAILED
    assert [(each.end, each.code, each.away) for each in rig.told] == [(end, status, away)]
    assert rig.binds.counts.deliveries == {status: 1}


def test_no_answer_puts_a_notice_off_and_a_lost_bind_parks_it(rig: Rig) -> None:
    rig.deliverer.unanswered(notice(1), 30)
    rig.deliverer.lost([notice(2), notice(3)])
    assert [(each.key, each.end, each.away) for each in rig.told] == [
        (1, None, False),
        (2, None, True),
        (3, None, True),
    ]


def test_an_account_is_looked_up_once_a_second_and_for_a_while_after_its_bind(rig: Rig) -> None:
    rig.bind(1, 5)
    assert rig.deliverer.reachable() == [7]
    rig.clock.seconds += POLL_S / 2
    assert rig.deliverer.reachable() == []
    rig.deliverer.suspect(7)
    assert rig.deliverer.reachable() == [7]
    rig.clock.seconds += SUSPECT_S
    assert rig.deliverer.reachable() == [7]
    rig.clock.seconds += POLL_S / 2
    assert rig.deliverer.reachable() == []


def read(body: bytes) -> p.DeliverSm:
    decoded = codec.decode((len(body) + 16).to_bytes(4, "big") + b"\0\0\0\5" + bytes(7) + b"\1" + body)
    assert isinstance(decoded, p.DeliverSm)
    return decoded


def test_a_receipt_is_appendix_b_and_gives_the_addresses_back() -> None:
    pdu = read(
        receipt_body(ReachedState(message(77), Delivery.UNDELIV, "69", AT + 3_600_000), ZoneInfo("Europe/Berlin"))
    )
    assert receipt_fields(pdu) == {
        "id": "77", "sub": "001", "dlvrd": "000", "submit date": "2701150900", "done date": "2701151000",
        "stat": "UNDELIV", "err": "069", "text": "Hello, world, this i",
    }  # fmt: skip
    assert (pdu.source_addr_ton, pdu.source_addr, pdu.dest_addr_ton, pdu.destination_addr) == (
        0, "+491701234567", 5, "Helio",
    )  # fmt: skip
    assert pdu.tlvs == (
        (tlv.RECEIPTED_MESSAGE_ID, b"77\0"), (tlv.MESSAGE_STATE, b"\5"), (tlv.NETWORK_ERROR_CODE, b"\3\0\x45"),
    )  # fmt: skip
    read_back = parse_receipt(pdu)
    assert read_back is not None
    assert read_back.message_id == "77"


@pytest.mark.parametrize(("state", "esm_class"), [(Delivery.ENROUTE, 0x20), (Delivery.EXPIRED, 0x04)])
def test_a_state_on_the_way_is_an_intermediate_notification(state: Delivery, esm_class: int) -> None:
    assert read(receipt_body(ReachedState(message(), state, "", AT), UTC)).esm_class == esm_class


def test_receipts_of_a_batch_name_the_batch() -> None:
    assert (
        receipt_fields(read(receipt_body(ReachedState(message(9, batch=8), Delivery.DELIVRD, "", AT), UTC)))["id"]
        == "8"
    )


@pytest.mark.parametrize(
    ("text", "alphabet", "coding", "octets"),
    [
        ("Hi @ home", "gsm", 0, b"Hi \0 home"),
        ("été", "latin1", 0, b"\xe9t\xe9"),
        ("été", "ascii", 8, "été".encode("utf-16-be")),
        ("Ж", "gsm", 8, "Ж".encode("utf-16-be")),
    ],
)
def test_a_phones_text_comes_in_the_accounts_alphabet(text: str, alphabet: str, coding: int, octets: bytes) -> None:
    message = InboundMessage(7, 1, "491701234567", "3388", text, octets, 8, AT)
    (pdu,) = map(read, inbound_bodies(message, alphabet))
    assert (pdu.data_coding, pdu.short_message, pdu.source_addr, pdu.destination_addr) == (
        coding, octets, "491701234567", "3388",
    )  # fmt: skip


def test_a_long_text_and_octets_of_a_phone() -> None:
    (long,) = map(read, inbound_bodies(InboundMessage(7, 1, "49", "3388", "x" * 300, b"", 0, AT), "gsm"))
    assert (long.short_message, tlv.find(long.tlvs, tlv.MESSAGE_PAYLOAD)) == (b"", b"x" * 300)
    (octets,) = map(read, inbound_bodies(InboundMessage(7, 1, "49", "3388", "", b"\1\2", 4, AT), "gsm"))
    assert (octets.data_coding, octets.short_message) == (4, b"\1\2")


@pytest.mark.parametrize(
    ("text", "octets", "coding", "alphabet", "sizes"),
    [
        ("x" * 254, b"", 0, "gsm", [254]),
        ("x" * 152 + "€" + "x" * 150, b"", 0, "gsm", [152, 152]),
        ("é" * 269, b"", 0, "latin1", [134, 134, 1]),
        ("Ж" * 66 + "🚀" * 67, b"", 8, "gsm", [132, 132, 132, 4]),
        ("", b"\1" * 270, 4, "gsm", [134, 134, 2]),
        ("x" * 40_000, b"", 0, "gsm", [153] * 255),
    ],
)
def test_a_client_of_3_3_gets_a_long_message_in_numbered_parts(
    text: str, octets: bytes, coding: int, alphabet: str, sizes: list[int]
) -> None:
    message = InboundMessage(7, 1, "491701234567", "3388", text, octets, coding, AT, key=77 << 40)
    pdus = [read(body) for body in inbound_bodies(message, alphabet, reads_tlvs=False)]
    assert [pdu.tlvs for pdu in pdus] == [()] * len(sizes)
    if len(sizes) == 1:
        assert (pdus[0].esm_class, len(pdus[0].short_message)) == (0, sizes[0])
        return
    parts = [inbound.read(pdu.short_message, pdu.data_coding, has_header=pdu.esm_class == 0x40) for pdu in pdus]
    assert [len(part.octets) for part in parts] == sizes
    joined = inbound.join(parts, "gsm" if alphabet == "gsm" else "latin1")
    assert joined.complete
    assert (joined.text or joined.octets) == (text[: sum(sizes)] or octets)


def test_a_client_of_3_3_gets_no_tlvs_beside_one_of_3_4(rig: Rig) -> None:
    old, new = rig.bind(1, 2, version=0x33), rig.bind(2, 1)
    long = InboundMessage(7, 1, "49", "3388", "x" * 300, b"", 0, AT, key=2)
    rig.deliverer.deliver([notice(1), Notice(7, 2, long, AT, way=Way.BIND), notice(3)])
    assert [[key for key, _ in bind.taken] for bind in (old, new)] == [[1, 2, 2], [3]]
    tlvs = [[read(body).tlvs for _, body in bind.taken] for bind in (old, new)]
    assert (tlvs[0], len(tlvs[1][0])) == ([(), (), ()], 3)
    assert receipt_fields(read(old.taken[0][1]))["stat"] == "DELIVRD"


def test_a_message_from_a_phone_that_is_too_long_for_a_deliver_sm_is_cut(rig: Rig) -> None:
    """Operators send addresses of up to 64 characters (data_sm), and texts that grow in UCS-2."""
    bind = rig.bind(1, 10)
    message = InboundMessage(7, 1, "A" * 64, "B" * 64, "á" * 40_000, b"", 3, AT, key=1)
    assert rig.deliverer.deliver([Notice(7, 1, message, AT, way=Way.BIND)]) == []
    pdu = codec.decode(codec.HEADER.pack(len(bind.taken[0][1]) + 16, 5, 0, 1) + bind.taken[0][1])
    assert isinstance(pdu, p.DeliverSm)
    assert (pdu.source_addr, pdu.destination_addr) == ("A" * 20, "B" * 20)
    assert len(pdu.content) == 65_534


def test_a_notice_that_no_pdu_can_hold_fails_alone(rig: Rig) -> None:
    bind = rig.bind(1, 10)
    messages = [
        InboundMessage(7, 1, sender, "3388", "Hi", b"", 0, AT, key=key)
        for key, sender in enumerate(("\u20ac", "49"), 1)
    ]
    assert rig.deliverer.deliver([Notice(7, each.key, each, AT, way=Way.BIND) for each in messages]) == []
    assert [(each.key, each.end) for each in rig.told] == [(1, CallbackEnd.FAILED)]
    assert [key for key, _ in bind.taken] == [2]
