"""Which parts without a receipt are asked for, when, and at what pace."""

from collections.abc import Callable

import pytest

from heliograph.app.ports import Unreported
from heliograph.runtime import receipt_questions
from heliograph.runtime.carriers import Asking
from heliograph.runtime.receipt_questions import QUESTIONS_PER_S, WALK_MS, ReceiptQuestions, times_due
from tests.support.memory_delivery import MemoryReceipts
from tests.support.use_case_fakes import NotedCarrier

NOW = 1_800_000_000_000
AFTER = 60_000


class ListedReceipts(MemoryReceipts):
    """Receipts of which only those that are not reported are looked at."""

    def __init__(self, *parts: Unreported) -> None:
        self.parts = list(parts)
        self.reads = 0

    async def unreported(self, before: int, beyond: int, limit: int) -> tuple[list[Unreported], int | None]:
        self.reads += 1
        keys = sorted({each.key for each in self.parts if each.key > beyond})[:limit]
        return [each for each in self.parts if each.key in keys], keys[-1] if len(keys) == limit else None


class Inquiry:
    """Questions about some parts, a second a round."""

    def __init__(self, *parts: Unreported, share: float = 1.0, ours: Callable[[int], bool] = lambda _: True) -> None:
        self.receipts = ListedReceipts(*parts)
        self.carrier = NotedCarrier(10_000)
        self.now = NOW
        self.asking = [Asking(1, self.carrier, AFTER, share, ours)]
        self.questions = ReceiptQuestions(self.receipts, lambda: self.asking)

    async def seconds(self, count: int) -> list[str]:
        """The ids that were asked for meanwhile."""
        before = len(self.carrier.questions)
        for _ in range(count):
            await self.questions.ask(self.now)
            self.now += 1_000
        return [each.operator_id for each in self.carrier.questions[before:]]


def part(key: int, *, age: int = AFTER, connector: int = 1, name: str = "") -> Unreported:
    return Unreported(key, connector, name or f"id{key}", NOW - age, "Helio", "447700900123")


@pytest.mark.parametrize(
    ("age", "times"), [(-5, 0), (0, 0), (59, 0), (60, 1), (119, 1), (120, 2), (239, 2), (240, 3), (480, 4)]
)
def test_a_part_is_due_when_it_has_waited_and_whenever_that_has_doubled(age: int, times: int) -> None:
    assert times_due(age, 60) == times


async def test_a_part_is_asked_for_once_in_each_interval() -> None:
    inquiry = Inquiry(part(1, age=AFTER - 10_000))
    asked = [bool(await inquiry.seconds(1)) for _ in range(600)]
    at = [second for second, each in enumerate(asked) if each]
    # It is 50 s old at first: at 60, 120, 240 and 480 s, and up to a walk later.
    due = [10, 70, 190, 430]
    assert len(at) == len(due)
    assert all(expected <= second <= expected + WALK_MS // 1000 for second, expected in zip(at, due, strict=True))


async def test_a_start_asks_once_for_all_that_is_old_enough() -> None:
    inquiry = Inquiry(part(1, age=AFTER * 100), part(2, age=AFTER // 2), part(3, connector=2))
    assert await inquiry.seconds(20) == ["id1"]


async def test_no_more_are_asked_for_a_second_than_may_be_and_none_is_left_out() -> None:
    inquiry = Inquiry(*(part(key) for key in range(1, 41)))
    assert len(await inquiry.seconds(1)) == QUESTIONS_PER_S
    assert len(await inquiry.seconds(7)) == 7 * QUESTIONS_PER_S
    assert [each.operator_id for each in inquiry.carrier.questions] == [f"id{key}" for key in range(1, 41)]
    assert await inquiry.seconds(20) == []


async def test_a_node_with_some_of_the_binds_asks_for_its_parts_at_its_share_of_the_pace() -> None:
    inquiry = Inquiry(*(part(key) for key in range(1, 41)), share=0.1, ours=lambda key: key % 2 == 0)
    assert await inquiry.seconds(20) == [f"id{key}" for key in range(2, 21, 2)]


async def test_a_message_of_many_parts_is_asked_for_bit_by_bit() -> None:
    parts = [part(1, name=f"a{n}") for n in range(7)]
    inquiry = Inquiry(*parts, part(2))
    assert await inquiry.seconds(1) == ["a0", "a1", "a2", "a3", "a4"]
    # One of them was reported meanwhile.
    del inquiry.receipts.parts[5]
    assert await inquiry.seconds(1) == ["a6", "id2"]
    assert await inquiry.seconds(20) == []


async def test_a_clock_that_is_set_back_stops_no_questions() -> None:
    inquiry = Inquiry(part(1))
    assert await inquiry.seconds(1) == ["id1"]
    inquiry.now -= 3_600_000
    inquiry.receipts.parts.append(Unreported(2, 1, "id2", inquiry.now - AFTER + 2_000, "Helio", "447700900123"))
    assert await inquiry.seconds(2 + WALK_MS // 1000) == ["id2"]


async def test_nothing_is_read_or_asked_while_the_carrier_cannot_ask() -> None:
    inquiry = Inquiry(part(1))
    inquiry.carrier.capacity = 0
    assert await inquiry.seconds(10) == []
    assert inquiry.receipts.reads == 0
    inquiry.carrier.capacity = 1
    assert await inquiry.seconds(1) == ["id1"]


async def test_a_window_that_fills_up_is_waited_for() -> None:
    inquiry = Inquiry(part(1), part(2), part(3))
    inquiry.carrier.capacity = 2
    assert await inquiry.seconds(3) == ["id1", "id2"]
    inquiry.carrier.capacity = 3
    assert await inquiry.seconds(1) == ["id3"]


async def test_a_long_walk_goes_on_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(receipt_questions, "PAGE", 3)
    inquiry = Inquiry(*(part(key, connector=1 if key % 4 == 0 else 2) for key in range(1, 13)))
    assert await inquiry.seconds(5) == ["id4", "id8", "id12"]


async def test_a_connector_that_is_not_asked_any_more_is_forgotten() -> None:
    inquiry = Inquiry(part(1))
    assert await inquiry.seconds(1) == ["id1"]
    inquiry.asking, asking = [], inquiry.asking
    assert await inquiry.seconds(1) == []
    inquiry.asking = asking
    assert await inquiry.seconds(1) == ["id1"]
