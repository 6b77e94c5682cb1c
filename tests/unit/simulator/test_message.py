"""What is remembered of messages."""

from dataclasses import replace

from heliograph.simulator.behaviour import Alphabet
from heliograph.simulator.message import UNFINISHED_LIMIT, MessageMemory, TakenSubmit
from heliograph.smpp.constants import MessageState

ONE = TakenSubmit(
    1,
    "acme",
    1000.0,
    5,
    0,
    "Acme",
    1,
    1,
    "447700900100",
    0,
    1,
    0,
    b"hello",
    (),
    MessageState.DELIVERED,
    0,
    50.0,
    1050.0,
)


def part(number: int, nth: int, total: int, text: bytes, reference: int = 9, **changes: object) -> TakenSubmit:
    content = bytes((5, 0, 3, reference % 256, total, nth)) + text
    return replace(ONE, number=number, esm_class=0x40, content=content, **changes)  # type: ignore[arg-type]


def test_a_message_is_under_way_until_it_is_final() -> None:
    messages = MessageMemory(10, Alphabet.GSM)
    messages.add(ONE)
    [before], [after] = messages.recent(5, 49.9), messages.recent(5, 50.0)
    assert (before.state, before.err) == (MessageState.ENROUTE, 0)
    assert (after.state, after.text, after.numbers) == (MessageState.DELIVERED, "hello", (1,))


def test_parts_are_joined_in_any_order_and_apart_by_sender_recipient_and_reference() -> None:
    messages = MessageMemory(10, Alphabet.GSM)
    for each in (
        part(1, 3, 3, b"!"),
        part(2, 1, 2, b"other ", reference=10),
        part(3, 1, 3, b"good "),
        part(4, 1, 3, b"bad ", destination_addr="33100"),
        part(5, 2, 3, b"news"),
        part(6, 2, 2, b"one", reference=10),
    ):
        messages.add(each)
    found = {(message.text, message.parts, message.total) for message in messages.recent(10, 60.0)}
    assert found == {("good news!", 3, 3), ("other one", 2, 2), ("bad ", 1, 3)}


def test_a_reference_may_be_used_again_once_its_message_is_whole() -> None:
    messages = MessageMemory(10, Alphabet.GSM)
    for number, text in enumerate((b"a", b"b", b"c", b"d")):
        messages.add(part(number, number % 2 + 1, 2, text))
    assert [message.text for message in messages.recent(10, 60.0)] == ["cd", "ab"]


def test_a_message_is_as_bad_as_its_worst_part() -> None:
    messages = MessageMemory(10, Alphabet.GSM)
    messages.add(part(1, 1, 2, b"a"))
    assert messages.recent(1, 60.0)[0].state is MessageState.ENROUTE
    messages.add(part(2, 2, 2, b"b", final_state=MessageState.UNDELIVERABLE, final_err=1))
    [message] = messages.recent(1, 60.0)
    assert (message.state, message.err) == (MessageState.UNDELIVERABLE, 1)


def test_memory_is_bounded() -> None:
    messages = MessageMemory(5, Alphabet.GSM)
    for number in range(UNFINISHED_LIMIT + 100):
        messages.add(part(number, 1, 2, b"a", source_addr=f"{number}"))
    assert len(messages.recent(100, 0.0)) == 5
    assert len(messages._unfinished) == UNFINISHED_LIMIT
    assert len(messages._by_number) == 5


def test_messages_are_found_by_their_own_only() -> None:
    messages = MessageMemory(5, Alphabet.GSM)
    messages.add(ONE)
    assert messages.find(1, "acme", "Acme") is ONE
    assert messages.find(1, "other", "Acme") is None
    assert messages.find(1, "acme", "Other") is None
    assert messages.under_way("acme", "Acme", "447700900100", 49.0) == [ONE]
    assert messages.under_way("acme", "Acme", "447700900100", 50.0) == []
    assert messages.under_way("other", "Acme", "447700900100", 49.0) == []
