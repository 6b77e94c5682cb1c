from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, cast

import pytest

from heliograph.app.facts import Awaiting, EarlyReceipt, Facts, Message, MessageEnd, Outstanding, PartReceipt
from heliograph.app.marks import AWAITING, GATHERED
from heliograph.app.ports import EndedPart, Leases, Report, Unavailable
from heliograph.app.receipts import awaiting, early, lookup
from heliograph.app.receipts.awaiting import KEEP_MS
from heliograph.app.receipts.lookup import UNMARKED_MS, FoundRows, ReceiptLookup
from heliograph.app.receipts.matcher import ReceiptMatcher
from heliograph.app.receipts.readings import STALE_MS
from heliograph.domain.message.ids import first_key_at
from heliograph.domain.message.receipt import Delivery
from tests.support.memory_store import MemoryStore
from tests.support.store import START
from tests.support.use_case_fakes import LONG, Messages, NotedGathering, SetClock

FAR = first_key_at(START + 1_000_000_000)


class ScriptedStore(MemoryStore):
    """Answers what a test wants, and lets it act while it reads."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Outstanding] = []
        self.failing: set[int] = set()
        self.asked: list[list[str]] = []
        self.beyond: list[int] = []
        self.meanwhile: Callable[[], object] = lambda: None
        self.ended_parts: list[EndedPart] = []
        self.left_waits: list[int] = []
        """Keys of messages that have an end, and still await a receipt."""
        self.searches: list[tuple[int, int, int]] = []
        """Searches for ended parts: the connector, and the times."""

    async def receipts_find(self, connector: int, operator_ids: Sequence[str]) -> list[Outstanding]:
        self.asked.append(list(operator_ids))
        if connector in self.failing:
            raise Unavailable("no")
        found = self.found
        self.meanwhile()
        return found

    async def receipts_ended(
        self, connector: int, operator_ids: Sequence[str], since: int, before: int
    ) -> list[EndedPart]:
        self.searches.append((connector, since, before))
        return self.ended_parts

    async def receipts_overdue(
        self, expired: int, beyond: int, limit: int
    ) -> tuple[list[Outstanding], list[int], int | None]:
        self.beyond.append(beyond)
        rest = [each for each in self.found if each.message.key > beyond]
        return rest[:limit], list(self.left_waits), rest[limit - 1].message.key if len(rest) >= limit else None

    async def receipts_forget_awaited(self, keys: Sequence[int]) -> None:
        self.left_waits = [key for key in self.left_waits if key not in keys]

    async def receipts_outstanding(self, key: int) -> Outstanding | None:
        return next((each for each in self.found if each.message.key == key), None)


class Desk:
    """A matcher, and those it works with."""

    def __init__(self) -> None:
        self.clock = SetClock()
        self.gathering = NotedGathering()
        self.finished: list[tuple[int, Delivery]] = []
        self.store = ScriptedStore()
        self.matcher = ReceiptMatcher(self.gathering, self.clock, self.store.receipts, self._finish)
        self.lookup = ReceiptLookup(self.matcher, self.gathering, self.clock)
        self.message = Messages(self.clock)
        self.acks: list[tuple[str, bool]] = []
        self.phones: list[str] = []
        """Ids in what was taken as phones'."""

    def _finish(self, message: Message, final: MessageEnd) -> None:
        self.finished.append((message.key, final.state))

    def taken(self, message: Message, *operator_ids: str, connector: int = 1, first: int = 0) -> None:
        for segment, operator_id in enumerate(operator_ids, first):
            self.matcher.taken(message, (segment,), connector, operator_id, self.clock.now())

    def report(
        self, operator_id: str, state: Delivery = Delivery.DELIVRD, to: str = "", connector: int = 1, name: str = ""
    ) -> None:
        final = state not in (Delivery.ENROUTE, Delivery.ACCEPTD)
        given = Report(operator_id, to, state, final, "000")
        self.matcher.on_report(connector, given, lambda kept: self.acks.append((name or operator_id, kept)))

    def give(self, report: Report, connector: int = 1) -> None:
        """Hands over a receipt, marked as one or not."""
        name = report.operator_id
        if report.marked:
            self.matcher.on_report(connector, report, lambda kept: self.acks.append((name, kept)))
        else:
            self.matcher.on_unmarked(
                connector, report, lambda kept: self.acks.append((name, kept)), lambda: self.phones.append(name)
            )

    def habits(self, connector: int = 1) -> dict[str, int]:
        return self.matcher.habits.of[connector].shown()

    def begin(self, *, spill: bool = False, last_key: int = FAR) -> Facts:
        self.matcher.prepare()
        if spill:
            self.matcher.spill(self.gathering.facts, self.clock.now(), last_key)
        return self.gathering.take()

    def commit(self, *, spill: bool = False, last_key: int = FAR) -> Facts:
        facts = self.begin(spill=spill, last_key=last_key)
        self.matcher.committed()
        return facts


@pytest.fixture
def desk() -> Desk:
    return Desk()


def known(message: Message, *names: str, states: dict[int, tuple[Delivery, str]] | None = None) -> Outstanding:
    """What the rows say: every part that is not in a final state was taken, under these names."""
    states = states or {}
    open_parts = [segment for segment in range(message.segments) if segment not in states]
    return Outstanding(message, {(1, name): (part,) for name, part in zip(names, open_parts, strict=False)}, states)


# --- one part


def test_a_receipt_ends_its_message_and_is_acknowledged_after_the_commit_that_says_so(desk: Desk) -> None:
    one = desk.message()
    desk.taken(one, "a")
    desk.report("a", Delivery.UNDELIV)
    assert desk.acks == []
    facts = desk.begin()
    assert [(final.key, final.state, final.owed) for final in facts.finals] == [(one.key, Delivery.UNDELIV, True)]
    assert facts.awaiting_matched == []
    assert desk.acks == []
    desk.matcher.committed()
    assert desk.acks == [("a", True)]
    assert desk.finished == [(one.key, Delivery.UNDELIV)]


def test_a_receipt_that_comes_while_a_commit_is_written_waits_for_the_next_one(desk: Desk) -> None:
    desk.taken(desk.message(), "a")
    desk.begin()
    desk.report("a")
    desk.matcher.committed()
    assert desk.acks == []
    desk.commit()
    assert desk.acks == [("a", True)]


def test_a_commit_that_fails_acknowledges_nothing_and_the_next_one_all_of_it_once(desk: Desk) -> None:
    for name in "ab":
        desk.taken(desk.message(), name)
    desk.report("a")
    desk.begin()
    desk.report("b")
    desk.begin()
    assert desk.acks == []
    desk.matcher.committed()
    desk.commit()
    assert desk.acks == [("a", True), ("b", True)]


async def test_a_receipt_on_the_way_is_history_and_ends_nothing(desk: Desk) -> None:
    one = desk.message()
    desk.taken(one, "a")
    desk.report("a", Delivery.ENROUTE)
    facts = desk.commit()
    assert [(each.key, each.state) for each in facts.progress] == [(one.key, Delivery.ENROUTE)]
    assert facts.finals == []
    desk.report("a")
    assert len(desk.commit().finals) == 1


@pytest.mark.parametrize("again", [Delivery.DELIVRD, Delivery.UNDELIV, Delivery.ENROUTE])
async def test_a_receipt_that_comes_again_changes_nothing_and_is_not_kept(desk: Desk, again: Delivery) -> None:
    desk.taken(desk.message(), "a")
    desk.report("a")
    desk.commit()
    desk.report("a", again)
    assert not desk.matcher.missed
    facts = desk.commit()
    assert desk.acks == [("a", True), ("a", True)]
    assert not facts
    assert len(desk.finished) == 1


@pytest.mark.parametrize(
    ("given", "reported"), [("1A2B", "6699"), ("6699", "1a2b"), ("0010", "0010"), ("ab12", "AB12")]
)
def test_another_form_of_the_id_counts_where_the_destination_agrees(desk: Desk, given: str, reported: str) -> None:
    one = desk.message()
    desk.taken(one, given)
    desk.report(reported, to="+" + one.destination)
    assert desk.finished == [(one.key, Delivery.DELIVRD)]
    desk.report(reported, to=one.destination)
    assert not desk.matcher.missed, "it is known to be a repeat, in the operator's form too"


@pytest.mark.parametrize(("reported", "to"), [("6699", ""), ("6699", "4915112345678"), ("1A2B", "4915112345678")])
def test_a_guess_without_the_destination_or_against_it_is_none(desk: Desk, reported: str, to: str) -> None:
    desk.taken(desk.message(), "1A2B")
    desk.report(reported, to=to)
    assert desk.finished == []
    assert desk.matcher.missed


def said(operator_id: str, source: str, destination: str = "Helio", other_id: str = "", marked: bool = True) -> Report:
    """A receipt with both addresses of its deliver_sm."""
    return Report(
        operator_id, source, Delivery.DELIVRD, True, "000", other_id=other_id, other_number=destination, marked=marked
    )


@pytest.mark.parametrize("reported", ["6699", "1A2B", "0x1a2b", "0000000000001a2b"])
def test_the_number_may_stand_where_the_sender_belongs(desk: Desk, reported: str) -> None:
    one = desk.message()
    desk.taken(one, "1A2B")
    desk.give(said(reported, "Helio", f"+{one.destination}"))
    assert desk.finished == [(one.key, Delivery.DELIVRD)]
    assert desk.habits()["number_in_destination_addr"] == 1
    desk.give(said(reported, "Helio", one.destination))
    assert not desk.matcher.missed, "it is known to be a repeat, in the operator's form too"


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize(
    ("given", "source", "destination"),
    [
        ("77", "", ""),
        ("77", "49170****", "Helio"),
        ("77", "Helio", "Helio"),
        ("77", "1234", ""),
        ("1795157938305303", "4915199999999", "Helio"),
        ("550e8400-e29b", "4915199999999", "4915188888888"),
    ],
)
async def test_an_exact_id_needs_no_number(desk: Desk, given: str, source: str, destination: str, rows: bool) -> None:
    one = desk.message()
    if rows:
        desk.store.found = [known(one, given)]
    else:
        desk.taken(one, given)
    desk.give(said(given, source, destination))
    await desk.lookup.look_up()
    assert desk.finished == [(one.key, Delivery.DELIVRD)]
    assert desk.habits() == {"foreign_number": 1}
    desk.store.found = []
    desk.give(said(given, source, destination))
    await desk.lookup.look_up()
    assert not desk.commit().early, "it is known to be a repeat"


@pytest.mark.parametrize("rows", [False, True])
async def test_an_answer_to_a_question_ends_the_message_and_teaches_no_habit(desk: Desk, rows: bool) -> None:
    masked, lost, later = (desk.message() for _ in range(3))
    for message, name in ((masked, "a"), (lost, "b"), (later, "c")):
        desk.taken(message, name)
    desk.give(said("a", "49170****", "Helio"))
    await desk.lookup.look_up()
    if rows:
        lost = desk.message()
        desk.store.found = [known(lost, "d")]
    desk.give(Report("d" if rows else "b", lost.destination, Delivery.UNDELIV, True, "027", asked=True))
    await desk.lookup.look_up()
    assert desk.finished[1:] == [(lost.key, Delivery.UNDELIV)]
    # This operator's receipts name no number, as before.
    assert desk.habits() == {"foreign_number": 1}
    desk.store.found = []
    desk.give(said("c", "49170****", "Helio"))
    await desk.lookup.look_up()
    assert desk.finished[2:] == [(later.key, Delivery.DELIVRD)]


async def test_an_answer_about_a_message_that_has_ended_is_not_kept(desk: Desk) -> None:
    desk.give(Report("gone", "4917012345678", Delivery.DELIVRD, True, "", asked=True))
    await desk.lookup.look_up()
    assert desk.acks == []
    assert desk.commit().early == []
    assert desk.acks == [("gone", True)]


@pytest.mark.parametrize(
    ("source", "destination"), [("4915199999999", "Helio"), ("Helio", "4915199999999"), ("4915199999999", "")]
)
async def test_a_short_id_with_the_number_of_another_phone_is_no_match(
    desk: Desk, source: str, destination: str
) -> None:
    """A counter gives short ids again, and ten in hexadecimal is another one's sixteen in decimal."""
    desk.taken(desk.message(), "10")
    desk.give(said("10", source, destination))
    await desk.lookup.look_up()
    assert desk.finished == []
    assert len(desk.commit().early) == 1


async def test_of_two_messages_with_one_id_none_is_matched_without_the_number(desk: Desk) -> None:
    one, other = desk.message(destination="4917011111111"), desk.message(destination="4917022222222")
    desk.store.found = [known(one, "1795157938"), known(other, "1795157938")]
    desk.give(said("1795157938", "4917033333333"))
    await desk.lookup.look_up()
    assert desk.finished == []


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("source", ["", "49170****"])
async def test_a_short_id_without_a_number_that_is_anothers_in_another_notation_is_no_match(
    desk: Desk, source: str, rows: bool
) -> None:
    one, other, third = desk.message(), desk.message(), desk.message()
    if rows:
        desk.store.found = [known(one, "120"), known(other, "288"), known(third, "77")]
    else:
        for message, name in ((one, "120"), (other, "288"), (third, "77")):
            desk.taken(message, name)
    desk.give(said("120", source))
    desk.give(said("77", source))
    await desk.lookup.look_up()
    assert desk.finished == [(third.key, Delivery.DELIVRD)]


async def test_an_operator_that_never_names_the_number_is_believed_at_once_from_the_second_receipt_on(
    desk: Desk,
) -> None:
    one, other = desk.message(), desk.message()
    desk.taken(one, "77")
    desk.taken(other, "78")
    desk.give(said("77", "49170****"))
    await desk.lookup.look_up()
    desk.give(said("78", "49170****"))
    assert [key for key, _ in desk.finished] == [one.key, other.key]


@pytest.mark.parametrize("wrong", ["no id of ours", "99"])
@pytest.mark.parametrize("early", [False, True])
async def test_the_id_in_the_text_counts_where_the_other_is_wrong(desk: Desk, wrong: str, early: bool) -> None:
    one, other = desk.message(destination="4917011111111"), desk.message(destination="4917022222222")
    desk.taken(other, "99")
    report = said(wrong, one.destination, other_id="77")
    if early:
        desk.give(report)
        await desk.lookup.look_up()
        desk.commit()
        desk.taken(one, "77")
        assert desk.commit().early_matched == [(1, wrong)]
    else:
        desk.taken(one, "77")
        desk.give(report)
    assert desk.finished == [(one.key, Delivery.DELIVRD)]
    assert desk.habits() == {"id_in_text": 1}


def test_of_two_ids_of_messages_to_one_number_neither_counts_until_the_operator_has_shown_which(desk: Desk) -> None:
    one, other, third = desk.message(), desk.message(), desk.message(destination="4917022222222")
    desk.taken(one, "77")
    desk.taken(other, "99")
    desk.taken(third, "55")
    desk.give(said("99", one.destination, other_id="77"))
    assert desk.finished == []
    desk.give(said("no id of ours", third.destination, other_id="55"))
    desk.give(said("99", one.destination, other_id="77"))
    assert [key for key, _ in desk.finished] == [third.key, one.key]


def test_two_notations_of_one_id_are_no_two_ids(desk: Desk) -> None:
    one = desk.message()
    desk.taken(one, "1A2B")
    desk.give(said("1A2B", one.destination, other_id="6699"))
    assert desk.finished == [(one.key, Delivery.DELIVRD)]
    assert desk.habits() == {"usual": 1}


def test_what_an_operator_does_is_learnt(desk: Desk) -> None:
    for given, reported in (("77", "77"), ("78", "78"), ("1A2B", "6699"), ("1A2C", "0x1A2C")):
        one = desk.message()
        desk.taken(one, given)
        desk.give(said(reported, one.destination))
    assert desk.habits() == {"usual": 2, "id_decimal": 1, "id_0x": 1}
    assert desk.habits(connector=2) == {}


# --- what is not marked as a receipt


@pytest.mark.parametrize("rows", [False, True])
@pytest.mark.parametrize("swapped", [False, True])
async def test_what_reads_like_a_receipt_is_one_if_its_id_is_ours(desk: Desk, rows: bool, swapped: bool) -> None:
    one = desk.message()
    if rows:
        desk.store.found = [known(one, "77")]
    else:
        desk.taken(one, "77")
    addresses = (one.destination, "Helio") if swapped else ("Helio", one.destination)
    desk.give(said("77", *addresses, marked=False))
    await desk.lookup.look_up()
    assert desk.finished == [(one.key, Delivery.DELIVRD)]
    desk.commit()
    assert (desk.acks, desk.phones) == ([("77", True)], [])
    assert desk.habits()["unmarked"] == 1
    desk.give(said("77", *addresses, marked=False))
    desk.commit()
    assert desk.acks == [("77", True)] * 2, "it comes again"


@pytest.mark.parametrize(
    ("operator_id", "source"), [("78", "4917012345678"), ("77", "4915199999999"), ("4d", "4915199999999")]
)
async def test_everything_else_is_a_phones_after_a_while(desk: Desk, operator_id: str, source: str) -> None:
    desk.taken(desk.message(destination="4917012345678"), "77")
    desk.give(said(operator_id, source, "3388", marked=False))
    await desk.lookup.look_up()
    assert (desk.phones, desk.acks) == ([], []), "its message may be on its way back with the answer"
    desk.clock.pass_ms(UNMARKED_MS)
    await desk.lookup.look_again()
    await desk.lookup.look_up()
    assert desk.phones == [operator_id]
    assert (desk.acks, desk.finished, desk.commit().early) == ([], [], [])


async def test_what_reads_like_a_receipt_and_comes_before_its_answer_waits_for_it(desk: Desk) -> None:
    one = desk.message()
    desk.give(said("77", one.destination, marked=False))
    await desk.lookup.look_up()
    desk.clock.pass_ms(UNMARKED_MS - 1)
    desk.taken(one, "77")
    await desk.lookup.look_up()
    desk.commit()
    assert (desk.finished, desk.acks, desk.phones) == ([(one.key, Delivery.DELIVRD)], [("77", True)], [])


async def test_what_cannot_be_told_apart_now_comes_again(desk: Desk) -> None:
    desk.store.failing = {1}
    desk.give(said("77", "4917012345678", marked=False))
    await desk.lookup.look_up()
    assert desk.acks == [("77", False)]
    desk.store.failing = set()
    desk.give(said("78", "4917012345678", marked=False))
    desk.matcher.turn_away()
    assert desk.acks == [("77", False), ("78", False)]
    assert not desk.phones


def test_the_same_id_of_another_operator_is_another_message(desk: Desk) -> None:
    one, other = desk.message(), desk.message()
    desk.taken(one, "1", connector=1)
    desk.taken(other, "1", connector=2)
    desk.report("1", connector=2)
    assert desk.finished == [(other.key, Delivery.DELIVRD)]


def test_an_operator_whose_counter_starts_again_loses_no_message(desk: Desk) -> None:
    old, new = desk.message(destination="491701"), desk.message(destination="491702")
    desk.taken(old, "1")
    desk.taken(new, "1")
    assert desk.commit().awaiting == [Awaiting(1, "1", old.account, old.key, 0)]
    desk.report("1", to=new.destination)
    assert desk.finished == [(new.key, Delivery.DELIVRD)]


async def test_of_two_messages_with_one_id_in_the_rows_the_destination_finds_its_own(desk: Desk) -> None:
    one, other = desk.message(destination="4917011111111"), desk.message(destination="4917022222222")
    desk.store.found = [known(one, "1"), known(other, "1")]
    desk.report("1", to=other.destination)
    await desk.lookup.look_up()
    assert desk.finished == [(other.key, Delivery.DELIVRD)]
    assert desk.commit().awaiting_matched == [Awaiting(1, "1", other.account, other.key, 0)]


async def test_of_thousands_with_one_id_no_more_are_looked_at_than_have_such_a_number(desk: Desk) -> None:
    """Some operators call all parts alike; to go through all of them for each receipt took the loop many seconds."""
    many = [desk.message(destination=f"49170{n:07d}") for n in range(1_000)]
    desk.store.found = [known(one, "1") for one in many]
    for one in many:
        desk.report("1", to=f"+{one.destination}")
    await desk.lookup.look_up()
    assert sorted(desk.finished) == [(one.key, Delivery.DELIVRD) for one in many]
    rows = FoundRows(1, desk.store.found, 0)
    assert [rows.holders("1", f"+{one.destination}") for one in many] == [[each] for each in desk.store.found]
    assert rows.holders("1", "") == desk.store.found, "a receipt that names no number may be for any"


# --- several parts


def test_a_message_ends_with_its_last_part_in_the_worst_state(desk: Desk) -> None:
    long = desk.message(LONG)
    desk.taken(long, "a", "b", "c")
    desk.report("c")
    desk.report("a", Delivery.UNDELIV)
    assert desk.finished == []
    desk.report("b")
    facts = desk.commit()
    assert [(part.segment, part.state) for part in facts.parts] == [
        (2, Delivery.DELIVRD), (0, Delivery.UNDELIV), (1, Delivery.DELIVRD),
    ]  # fmt: skip
    assert desk.finished == [(long.key, Delivery.UNDELIV)]


def test_a_refused_part_and_one_never_answered_count(desk: Desk) -> None:
    long = desk.message(LONG)
    desk.taken(long, "a")
    desk.report("a")
    desk.matcher.part_over(long, 1, Delivery.REJECTD, "011")
    desk.matcher.part_over(long, 2, Delivery.UNKNOWN, "001")
    (final,) = desk.commit().finals
    assert (final.state, final.err) == (Delivery.REJECTD, "011")


@pytest.mark.parametrize("early", [False, True])
async def test_one_receipt_is_for_all_parts_that_were_taken_as_one(desk: Desk, early: bool) -> None:
    long = desk.message(LONG)
    if early:
        desk.report("a", to=long.destination)
        await desk.lookup.look_up()
    desk.matcher.taken(long, (0, 1, 2), 1, "a", desk.clock.now())
    if not early:
        desk.report("a", Delivery.ENROUTE)
        desk.report("a")
    desk.report("a", Delivery.UNDELIV)
    facts = desk.commit()
    assert [(part.segment, part.state) for part in facts.progress] == [
        (n, Delivery.ENROUTE) for n in range(3) if not early
    ]
    assert [(part.segment, part.state) for part in facts.parts] == [(n, Delivery.DELIVRD) for n in range(3)]
    assert [(final.key, final.state) for final in facts.finals] == [(long.key, Delivery.DELIVRD)]
    assert len(desk.matcher.awaited) == 0


def test_an_operator_may_give_all_parts_of_a_message_one_id(desk: Desk) -> None:
    long = desk.message(LONG)
    desk.taken(long, "a", "a")
    desk.report("a")
    assert desk.finished == [], "the third is not answered for"
    desk.taken(long, "a", first=2)
    desk.report("a", Delivery.UNDELIV)
    assert desk.finished == [(long.key, Delivery.UNDELIV)]


async def test_rows_know_that_one_id_stands_for_several_parts(desk: Desk) -> None:
    long = desk.message(LONG)
    desk.matcher.taken(long, (0, 1, 2), 1, "a", desk.clock.now())
    desk.commit()
    desk.clock.pass_ms(KEEP_MS + 1)
    assert [(each.operator_id, each.segment) for each in desk.commit(spill=True).awaiting] == [
        ("a", 0), ("a", 1), ("a", 2),
    ]  # fmt: skip
    desk.commit()
    assert len(desk.matcher.awaited) == 0
    desk.store.found = [Outstanding(long, {(1, "a"): (0, 1, 2)}, {})]
    desk.report("a")
    await desk.lookup.look_up()
    assert desk.finished == [(long.key, Delivery.DELIVRD)]
    assert [each.segment for each in desk.commit().awaiting_matched] == [0, 1, 2]


async def test_no_receipt_is_lost_between_memory_and_rows(desk: Desk) -> None:
    """The track leaves memory in the commit during which one of its receipts comes, and another is looked up."""
    long = desk.message("x" * 200)
    desk.taken(long, "a", "b")
    desk.commit()
    desk.clock.pass_ms(KEEP_MS + 1)
    facts = desk.begin(spill=True)
    assert [(each.operator_id, each.segment) for each in facts.awaiting] == [("a", 0), ("b", 1)]
    desk.report("a")
    desk.matcher.committed()
    # The rows that are read do not show yet that the first part is over.
    desk.store.found = [known(long, "a", "b")]
    desk.report("b")
    await desk.lookup.look_up()
    assert desk.finished == [(long.key, Delivery.DELIVRD)]


async def test_rows_that_were_read_before_the_end_was_written_do_not_bring_a_message_back(desk: Desk) -> None:
    one = desk.message()
    desk.matcher.awaited.mark = one.key
    desk.taken(one, "a", connector=1)
    desk.report("a")
    desk.store.found = [known(one, "a")]
    desk.store.meanwhile = desk.commit
    desk.report("b", to=one.destination)
    desk.store.found[0].operator_ids[1, "b"] = (0,)
    await desk.lookup.look_up()
    assert desk.finished == [(one.key, Delivery.DELIVRD)]
    desk.commit()
    desk.commit()
    assert desk.matcher.awaited.ended == {}


async def test_a_part_taken_after_a_minute_joins_what_the_rows_know(desk: Desk) -> None:
    long = desk.message("x" * 200)
    desk.taken(long, "a")
    desk.clock.pass_ms(2 * KEEP_MS + 2)
    desk.commit(spill=True)
    desk.clock.pass_ms(1_000)
    desk.commit()
    assert len(desk.matcher.awaited) == 0
    desk.taken(long, "b", first=1)
    assert desk.commit().awaiting == [Awaiting(1, "b", long.account, long.key, 1)]
    desk.store.found = [known(long, "a", "b")]
    desk.report("a")
    await desk.lookup.look_up()
    desk.report("b")
    await desk.lookup.look_up()
    assert desk.finished == [(long.key, Delivery.DELIVRD)]
    for _ in range(3):
        desk.commit(spill=True)
    assert (desk.matcher.awaited.tracks, desk.matcher.awaited.leaving, len(desk.matcher.awaited)) == ({}, [], 0)


async def test_a_lane_that_takes_up_a_message_again_has_its_parts_loaded(desk: Desk) -> None:
    long = desk.message("x" * 200)
    outstanding = known(long, states={0: (Delivery.UNDELIV, "034")})
    desk.store.found = [outstanding]
    assert await desk.matcher.load(long, 1)
    desk.commit()
    desk.taken(long, "b", first=1)
    desk.report("b")
    assert desk.finished == [(long.key, Delivery.UNDELIV)]


async def test_answers_that_another_node_got_count_when_a_lane_takes_up_its_message(desk: Desk) -> None:
    """Otherwise the last answer is not known as the last, and the message stays in memory for ever."""
    desk.matcher.shared = True
    long = desk.message("x" * 400)
    desk.store.found = [Outstanding(long, {(1, "b"): (1,)}, {})]
    desk.report("b")
    await desk.lookup.look_up()  # the message is tracked here with an answer to a single part
    desk.store.found = [Outstanding(long, {(1, "c"): (2,)}, {1: (Delivery.DELIVRD, "000")})]
    assert await desk.matcher.load(long, 1)
    desk.taken(long, "a")
    assert not desk.matcher.awaited.tracks[long.key].held
    desk.report("a")
    for _ in range(3):
        desk.commit()
    assert desk.matcher.awaited.tracks == {}


@pytest.mark.parametrize("sent", [True, False])
async def test_a_message_may_end_while_a_lane_holds_copies_of_its_parts(shared: Desk, sent: bool) -> None:
    """Another node got late answers to the first copies, and this node their receipts."""
    long = shared.message("x" * 400)
    shared.store.found = [Outstanding(long, {}, {2: (Delivery.DELIVRD, "000")})]
    assert await shared.matcher.load(long, 2)
    shared.store.found = [known(long, "a", "b", states={2: (Delivery.DELIVRD, "000")})]
    for name in "ab":
        shared.report(name)
    await shared.lookup.look_up()
    assert not await shared.matcher.load(long, 2)
    assert [each.state for each in shared.commit().finals] == [Delivery.DELIVRD]
    for segment, name in enumerate("cd"):
        if sent:
            shared.taken(long, name, first=segment)
        else:
            shared.matcher.part_over(long, segment, Delivery.EXPIRED, "")
        facts = shared.commit()
        assert (facts.finals, facts.parts, facts.awaiting) == ([], [], [])
    shared.commit()
    assert (shared.matcher.awaited.tracks, len(shared.matcher.awaited)) == ({}, 0)


async def test_a_message_that_is_over_is_not_taken_up(desk: Desk) -> None:
    long = desk.message("x" * 200)
    assert not await desk.matcher.load(long, 1)
    desk.store.found = [known(long, "a")]
    desk.matcher.forget(long.key)
    assert not await desk.matcher.load(long, 1)


# --- early


async def test_a_receipt_that_comes_before_its_answer_waits_for_it(desk: Desk) -> None:
    one = desk.message()
    desk.report("77", to=one.destination)
    await desk.lookup.look_up()
    facts = desk.commit()
    assert [early.operator_id for early in facts.early] == ["77"]
    assert desk.acks == [("77", True)]
    desk.taken(one, "4D")
    facts = desk.commit()
    assert facts.early_matched == [(1, "77")]
    assert desk.finished == [(one.key, Delivery.DELIVRD)]


async def test_an_answer_that_comes_while_its_receipt_is_looked_for_finds_it(desk: Desk) -> None:
    one = desk.message()
    desk.report("a")
    desk.store.meanwhile = lambda: desk.taken(one, "a")
    await desk.lookup.look_up()
    assert desk.finished == [(one.key, Delivery.DELIVRD)]
    assert desk.commit().early == []


async def test_an_id_is_looked_for_as_it_is_written_and_then_in_other_ways(desk: Desk) -> None:
    literal, other = desk.message(), desk.message()
    desk.store.found = [Outstanding(literal, {(1, "77"): (0,)}, {}), Outstanding(other, {(1, "4e"): (0,)}, {})]
    desk.report("77", to=literal.destination)
    desk.report("78", to=other.destination)
    await desk.lookup.look_up()
    first, second = desk.store.asked
    assert first == ["77", "78"]
    assert {"78", "4e", "4E"} <= set(second)
    assert not {"77", "4d"} & set(second), "it was found"
    assert desk.finished == [(literal.key, Delivery.DELIVRD), (other.key, Delivery.DELIVRD)]
    assert desk.commit().early == []
    assert desk.acks == [("77", True), ("78", True)]


async def test_an_early_receipt_on_the_way_never_ends_a_message(desk: Desk) -> None:
    one = desk.message()
    desk.matcher.restore_early(EarlyReceipt(1, "a", one.destination, Delivery.ENROUTE, "000", START))
    desk.report("a", Delivery.ENROUTE)
    await desk.lookup.look_up()
    desk.taken(one, "a")
    assert desk.finished == []


async def test_an_early_receipt_that_is_sent_again_is_kept_once(desk: Desk) -> None:
    for _ in range(3):
        desk.report("a", to="49170")
        await desk.lookup.look_up()
    assert len(desk.commit().early) == 1
    assert len(desk.acks) == 3


async def test_strangers_do_not_crowd_out_the_latest_early_receipts(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(early, "KEEP_EARLY", 2)
    for name in ("x", "y", "z"):
        desk.report(name)
    await desk.lookup.look_up()
    one = desk.message()
    desk.taken(one, "z")
    assert desk.finished == [(one.key, Delivery.DELIVRD)]


@pytest.mark.parametrize("again", [False, True], ids=["has no receipt of its own", "has one of its own"])
async def test_a_stale_receipt_is_not_that_of_a_message_to_which_the_operator_gives_the_id_again(
    desk: Desk, again: bool
) -> None:
    """Such as one that came twice, before and after a restart: the second matches nothing, and is kept for days."""
    to = "447700900123"
    desk.report("1", Delivery.UNDELIV, to=to)
    await desk.lookup.look_up()
    desk.clock.pass_ms(STALE_MS + 1)
    one = desk.message(destination=to)
    if again:
        desk.report("1", to=to)
        await desk.lookup.look_up()
    desk.taken(one, "1")
    assert desk.finished == [(one.key, Delivery.DELIVRD)] * again
    assert len(desk.commit().early) == 1 + again


async def test_a_receipt_is_not_stale_only_because_the_clock_was_set_back_behind_its_message(desk: Desk) -> None:
    one, other = desk.message(), desk.message()
    desk.clock.ms -= 2 * STALE_MS
    desk.report("1", Delivery.UNDELIV, to=one.destination)
    desk.report("2", to=other.destination)
    await desk.lookup.look_up()
    desk.taken(one, "1")
    early = desk.commit().early[1]
    desk.store.found = [known(other, "2")]
    await desk.lookup.reconsider([early])
    assert desk.finished == [(one.key, Delivery.UNDELIV), (other.key, Delivery.DELIVRD)]


async def test_a_stale_receipt_is_not_found_among_the_rows_either(desk: Desk) -> None:
    early = EarlyReceipt(1, "a", "", Delivery.UNDELIV, "034", START)
    desk.clock.pass_ms(STALE_MS + 1)
    in_memory, in_rows = desk.message(), desk.message()
    desk.matcher.restore(known(in_memory, "a"))
    desk.matcher.restore_early(early)
    desk.store.found = [known(in_rows, "b")]
    await desk.lookup.reconsider([early, replace(early, operator_id="b")])
    assert desk.finished == []
    assert desk.commit().early_matched == []


def test_after_a_restart_an_early_receipt_finds_a_message_that_is_there(desk: Desk) -> None:
    one = desk.message()
    desk.matcher.restore(known(one, "a"))
    desk.matcher.restore_early(EarlyReceipt(1, "a", one.destination, Delivery.UNDELIV, "034", START))
    assert desk.finished == [(one.key, Delivery.UNDELIV)]
    assert desk.commit().early_matched == [(1, "a")]


# --- looking up


async def test_what_the_store_cannot_tell_now_comes_again_and_each_is_told_once(desk: Desk) -> None:
    one = desk.message()
    desk.store.failing = {1}
    desk.report("a", connector=1, name="one/a")
    desk.report("b", connector=1, name="one/b")
    desk.report("a", connector=2, name="two/a")
    desk.store.found = [Outstanding(one, {(2, "a"): (0,)}, {})]
    await desk.lookup.look_up()
    desk.commit()
    assert sorted(desk.acks) == [("one/a", False), ("one/b", False), ("two/a", True)]
    assert desk.finished == [(one.key, Delivery.DELIVRD)]
    assert not desk.matcher.missed


async def test_where_nodes_share_a_store_a_receipt_waits_for_it_without_an_answer(desk: Desk) -> None:
    """Some operators take any answer as the end, and the bind is taken down if the store stays away."""
    desk.matcher.shared = True
    one = desk.message()
    desk.store.failing = {1}
    desk.report("a", connector=1)
    await desk.lookup.look_up()
    desk.commit()
    assert desk.acks == []
    desk.store.failing = set()
    desk.store.found = [Outstanding(one, {(1, "a"): (0,)}, {})]
    await desk.lookup.look_again()
    await desk.lookup.look_up()
    desk.commit()
    assert desk.acks == [("a", True)]
    assert desk.finished == [(one.key, Delivery.DELIVRD)]


async def test_a_look_up_that_is_broken_off_forgets_no_receipt(desk: Desk) -> None:
    class Stopped(BaseException):
        pass

    def stop() -> None:
        raise Stopped

    desk.report("a")
    desk.report("b", connector=2)
    desk.store.meanwhile = stop
    with pytest.raises(Stopped):
        await desk.lookup.look_up()
    assert desk.acks == []
    desk.matcher.turn_away()
    assert sorted(desk.acks) == [("a", False), ("b", False)]
    assert desk.matcher.awaited.reads == []


def test_at_the_end_what_memory_does_not_know_is_turned_away_and_what_it_knows_is_taken(desk: Desk) -> None:
    message = desk.message()
    desk.taken(message, "known")
    desk.matcher.turn_away()
    desk.report("unknown")
    assert desk.acks == [("unknown", False)]
    desk.report("known")
    desk.commit()
    assert desk.acks == [("unknown", False), ("known", True)]
    assert desk.finished == [(message.key, Delivery.DELIVRD)]
    assert not desk.matcher.missed


async def test_receipts_that_never_came_end_their_message_as_unknown(desk: Desk) -> None:
    long = desk.message(LONG)
    desk.store.found = [known(long, "a", "b", states={2: (Delivery.UNDELIV, "034")})]
    assert not await desk.lookup.give_up(START, 10)
    assert desk.finished == [(long.key, Delivery.UNDELIV)]
    assert not await desk.lookup.give_up(START, 10), "the rows show it until the commit"
    assert len(desk.finished) == 1
    facts = desk.commit()
    assert [each.operator_id for each in facts.awaiting_matched] == ["a", "b"]
    assert facts.parts[0] == PartReceipt(long.account, long.key, 0, Delivery.UNKNOWN, "", START)


async def test_the_search_for_receipts_that_never_came_goes_on_where_it_ended(desk: Desk) -> None:
    messages = [desk.message() for _ in range(3)]
    desk.store.found = [known(each, f"{each.key}") for each in messages]
    assert await desk.lookup.give_up(START, 2)
    assert not await desk.lookup.give_up(START, 2)
    assert [key for key, _ in desk.finished] == [each.key for each in messages]
    await desk.lookup.give_up(START, 2)
    assert desk.store.beyond == [0, messages[1].key, 0]


async def test_waits_that_are_left_behind_an_end_are_forgotten(desk: Desk) -> None:
    desk.store.left_waits = [desk.message().key]
    await desk.lookup.give_up(START, 10)
    assert (desk.store.left_waits, desk.finished) == ([], [])


async def test_nothing_is_given_up_while_a_lane_holds_parts_of_it(desk: Desk) -> None:
    long = desk.message(LONG)
    desk.taken(long, "a")
    desk.store.found = [known(long, "a")]
    await desk.lookup.give_up(START, 10)
    assert desk.finished == []


async def test_parts_that_were_given_one_id_do_not_keep_a_message_open_for_ever(desk: Desk) -> None:
    long = desk.message(LONG)
    desk.store.found = [Outstanding(long, {(1, "same"): (0, 1)}, {})]
    await desk.lookup.give_up(START, 10)
    assert desk.finished == [(long.key, Delivery.UNKNOWN)]


# --- marks and memory


def test_below_the_mark_every_awaited_part_has_its_row(desk: Desk) -> None:
    """Whatever order the parts were taken in, and however late."""
    rows: set[int] = set()
    keys = []
    late: list[Message] = []
    for second in range(120):
        message = desk.message()
        keys.append(message.key)
        if second % 3:
            desk.taken(message, f"now{second}")
        else:
            late.append(message)
        if len(late) > second % 17:
            old = late.pop(0)
            desk.taken(old, f"late{old.key}")
        facts = desk.commit(spill=True)
        rows.update(each.key for each in facts.awaiting)
        waiting = {message.key for message in late}
        assert all(key in rows for key in keys if key <= desk.matcher.awaited.mark and key not in waiting)
        desk.clock.pass_ms(1_000)
    assert desk.matcher.awaited.mark == first_key_at(START + 119_000 - 2 * KEEP_MS)


@pytest.mark.parametrize("how", ["late", "below the mark"])
def test_a_part_that_is_taken_late_has_a_row_at_once(desk: Desk, how: str) -> None:
    one = desk.message()
    if how == "late":
        desk.clock.pass_ms(KEEP_MS + 1)
    else:
        desk.matcher.awaited.mark = one.key
    desk.taken(one, "a")
    assert desk.commit().awaiting == [Awaiting(1, "a", one.account, one.key, 0)]


def test_the_mark_never_passes_the_last_key_however_far_the_clock_jumps(desk: Desk) -> None:
    one = desk.message()
    desk.clock.ms += 3_600_000
    facts = desk.commit(spill=True, last_key=one.key)
    assert facts.marks == {AWAITING: one.key}
    desk.clock.ms -= 3_600_000
    assert desk.commit(spill=True, last_key=one.key).marks == {}


def test_rows_leave_memory_only_when_they_are_durable_and_are_written_once(desk: Desk) -> None:
    one = desk.message()
    desk.taken(one, "a")
    desk.clock.pass_ms(KEEP_MS)
    assert len(desk.begin(spill=True).awaiting) == 1
    assert desk.begin(spill=True).awaiting == [], "the commit failed, and its facts are in the next one"
    assert len(desk.matcher.awaited) == 1
    desk.report("a")
    desk.matcher.committed()
    assert len(desk.matcher.awaited) == 0
    assert desk.commit().awaiting_matched == [Awaiting(1, "a", one.account, one.key, 0)]


def test_memory_is_bounded_and_keeps_those_whose_receipts_come_first(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(awaiting, "KEEP_PARTS", 3)
    messages = [desk.message() for _ in range(5)]
    for number, message in enumerate(messages):
        desk.taken(message, str(number))
    facts = desk.commit(spill=True)
    assert [each.operator_id for each in facts.awaiting] == ["3", "4"]
    assert len(desk.matcher.awaited) == 3


def test_a_message_that_failed_as_a_whole_is_forgotten(desk: Desk) -> None:
    long = desk.message(LONG)
    desk.matcher.part_over(long, 0, Delivery.REJECTD, "011")
    desk.matcher.forget(long.key)
    desk.commit()
    assert (desk.matcher.awaited.tracks, desk.matcher.awaited.ended, len(desk.matcher.awaited)) == ({}, {}, 0)


# --- several nodes on one store


@pytest.fixture
def shared(desk: Desk) -> Desk:
    desk.matcher = ReceiptMatcher(desk.gathering, desk.clock, desk.store.receipts, desk._finish, worker=0)
    desk.lookup = ReceiptLookup(desk.matcher, desk.gathering, desk.clock)
    return desk


def test_where_nodes_share_a_store_a_part_has_its_row_in_the_commit_that_says_it_was_taken(shared: Desk) -> None:
    one = shared.message(LONG)
    shared.taken(one, "a", "b", "c")
    assert [each.operator_id for each in shared.commit().awaiting] == ["a", "b", "c"]
    shared.report("a")
    assert [each.operator_id for each in shared.commit().awaiting_matched] == ["a"]


def test_a_node_that_has_all_binds_of_a_connector_awaits_in_memory(shared: Desk) -> None:
    shared.matcher.awaited.keep(1)
    one, long = shared.message(), shared.message(LONG)
    shared.taken(one, "a")
    shared.taken(long, "b", "c", "d")
    assert shared.commit().awaiting == []
    shared.report("a")
    facts = shared.commit()
    assert [each.key for each in facts.finals] == [one.key]
    assert facts.awaiting_matched == []


def test_when_others_get_binds_too_what_is_awaited_in_memory_gets_its_rows_once(shared: Desk) -> None:
    awaited = shared.matcher.awaited
    awaited.keep(1)
    shared.taken(shared.message(LONG), "a", "b", "c")
    shared.commit()
    awaited.share(1)
    assert sorted(each.operator_id for each in shared.commit().awaiting) == ["a", "b", "c"]
    awaited.share(1)
    assert shared.commit().awaiting == []
    shared.taken(shared.message(), "d")
    shared.report("a")
    facts = shared.commit()
    assert [each.operator_id for each in facts.awaiting] == ["d"]
    assert [each.operator_id for each in facts.awaiting_matched] == ["a"]


def test_what_another_node_accepted_has_its_row_at_once_since_no_mark_of_this_one_tells_of_it(shared: Desk) -> None:
    shared.matcher.awaited.keep(1)
    own = shared.message()
    theirs = replace(shared.message(), key=own.key | 1)
    shared.taken(own, "a")
    shared.taken(theirs, "b")
    assert [each.key for each in shared.commit().awaiting] == [theirs.key]


async def test_the_last_receipt_of_a_message_may_have_come_to_another_node(shared: Desk) -> None:
    one = shared.message(LONG)
    shared.taken(one, "a", "b", "c")
    shared.report("a")
    shared.report("b", Delivery.UNDELIV)
    # before the commit the rows cannot show it all
    await shared.lookup.look_again()
    assert shared.commit().finals == []
    shared.clock.pass_ms(1_000)
    theirs = {n: (state, "000") for n, state in enumerate([Delivery.DELIVRD, Delivery.UNDELIV, Delivery.DELIVRD])}
    shared.store.found = [known(one, states=theirs)]
    await shared.lookup.look_again()
    assert [(each.key, each.state) for each in shared.commit().finals] == [(one.key, Delivery.UNDELIV)]
    await shared.lookup.look_again()
    assert shared.commit().finals == []


async def test_parts_that_were_taken_during_a_read_of_the_rows_are_awaited(shared: Desk) -> None:
    """The rows show a lost answer and a refused part, and none of the parts that were taken since."""
    shared.matcher.awaited.keep(1)
    one = shared.message(LONG)
    refused = Delivery.REJECTD, "011"
    shared.matcher.part_over(one, 2, *refused)
    shared.commit()
    shared.clock.pass_ms(1_000)
    shared.taken(one, "a", "b")
    shared.store.found = [Outstanding(one, {}, {2: refused}, tried=frozenset({1}))]
    await shared.lookup.look_again()
    shared.commit()
    shared.report("a")
    shared.report("b")
    assert [(each.key, each.state) for each in shared.commit().finals] == [(one.key, Delivery.REJECTD)]


async def test_the_next_operators_receipts_count_alone_if_another_node_gave_it_the_message(shared: Desk) -> None:
    one = shared.message(LONG)
    shared.taken(one, "a", "b", "c")
    shared.report("a", Delivery.UNDELIV)
    shared.commit()
    earlier = frozenset({1})
    shared.store.found = [Outstanding(one, {(2, name): (n,) for n, name in enumerate("xyz")}, {}, 3, earlier, earlier)]
    for name in "xyz":
        shared.report(name, connector=2)
    await shared.lookup.look_up()
    assert [(each.key, each.state) for each in shared.commit().finals] == [(one.key, Delivery.DELIVRD)]


async def test_at_a_planned_end_the_other_parts_are_read_at_once_but_not_before_the_commit(shared: Desk) -> None:
    one = shared.message(LONG)
    shared.taken(one, "a", "b", "c")
    shared.report("a")
    shared.store.found = [known(one, states=dict.fromkeys(range(3), (Delivery.DELIVRD, "000")))]
    await shared.lookup.finish()
    assert shared.commit().finals == []
    await shared.lookup.finish()
    assert [each.key for each in shared.commit().finals] == [one.key]


async def test_a_receipt_that_came_before_the_answer_to_another_node_finds_its_row(shared: Desk) -> None:
    one = shared.message()
    shared.report("a")
    await shared.lookup.look_up()
    assert len(shared.commit().early) == 1
    shared.store.found = [known(one, "a")]
    shared.clock.pass_ms(300)
    await shared.lookup.look_again()
    facts = shared.commit()
    assert [each.key for each in facts.finals] == [one.key]
    assert facts.early_matched == [(1, "a")]
    assert shared.matcher.early.all() == []


class NotedEnds:
    """`Leases`, as far as it is asked for messages that nobody has ended."""

    def __init__(self) -> None:
        self.spans: list[tuple[int, int]] = []
        self.found: list[int] = []
        self.ends = lookup.ENDS - 1

    async def gathered(self, start: int, end: int) -> tuple[list[int], int]:
        self.spans.append((start, end))
        found, self.found = self.found, []
        return found, self.ends

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(name)


async def look_through(shared: Desk, leases: NotedEnds, oldest: int = 0) -> dict[str, int]:
    """The marks that a whole look leaves."""
    while await shared.lookup.find_gathered(cast("Leases", leases), oldest):
        await shared.lookup.look_again()
    return shared.commit().marks


async def test_what_a_dead_node_left_with_all_parts_ended_is_ended_before_the_mark_passes_it(shared: Desk) -> None:
    one, leases = shared.message(LONG), NotedEnds()
    shared.commit()
    now = shared.clock.now()
    oldest = now - 3_600_000
    leases.found = [one.key]
    shared.store.found = [known(one, states=dict.fromkeys(range(3), (Delivery.DELIVRD, "000")))]
    ask = partial(shared.lookup.find_gathered, cast("Leases", leases), oldest)
    for _ in range(3):
        assert await ask()
    assert len(leases.spans) == 1, "first it must be over"
    await shared.lookup.look_again()
    assert shared.finished == [(one.key, Delivery.DELIVRD)]
    marks = await look_through(shared, leases, oldest)
    assert marks == {GATHERED: now - lookup.ENDS_AFTER_MS - lookup.LATE_ENDS_MS}
    assert leases.spans[0][0] == oldest
    assert leases.spans[-1][1] == now - lookup.ENDS_AFTER_MS
    assert all(one[1] == next_one[0] for one, next_one in pairwise(leases.spans)), "no moment is left out"


async def test_the_next_look_begins_a_little_before_where_the_last_one_ended_also_after_a_start(shared: Desk) -> None:
    leases = NotedEnds()
    leases.ends = 0
    mark = (await look_through(shared, leases, shared.clock.now() - 3_600_000))[GATHERED]
    shared.clock.pass_ms(60_000)
    for desk_lookup in (shared.lookup, ReceiptLookup(shared.matcher, shared.gathering, shared.clock, mark)):
        leases.spans.clear()
        shared.lookup = desk_lookup
        assert await look_through(shared, leases) == {GATHERED: mark + 60_000}
        assert (leases.spans[0][0], leases.spans[-1][1]) == (mark, shared.clock.now() - lookup.ENDS_AFTER_MS)


async def test_the_fuller_the_rows_the_shorter_the_span_that_is_looked_at(shared: Desk) -> None:
    leases = NotedEnds()
    oldest = shared.clock.now() - 72 * 3_600_000
    leases.ends = 0
    await look_through(shared, leases, oldest)
    lengths = [end - start for start, end in leases.spans]
    assert lengths[:13] == [1_000 * 2**n for n in range(12)] + [3_600_000]
    assert len(lengths) < 100
    leases.ends = lookup.ENDS + 1
    shared.clock.pass_ms(7_200_000)
    leases.spans.clear()
    await look_through(shared, leases, oldest)
    lengths = [end - start for start, end in leases.spans]
    assert lengths[:3] == [3_600_000, 1_800_000, 900_000]
    assert min(lengths[:-1]) == 1_000


async def test_a_repeat_of_a_receipt_that_another_node_kept_is_no_unmatched_one(shared: Desk) -> None:
    """The answer to the first one was lost with the store, and the operator sent it again over another link."""
    searches = shared.store.searches
    for name in ("a", "b", "c", "d"):
        shared.report(name, to="4917012345678")
    await shared.lookup.look_up()
    early = shared.commit().early
    assert len(early) == 4
    shared.store.ended_parts = [
        EndedPart("a", "4917012345678", Delivery.DELIVRD),
        EndedPart("b", "4917012345678", Delivery.UNDELIV),  # in another state
        EndedPart("c", "4917099999999", Delivery.DELIVRD),  # to another phone
    ]
    await shared.lookup.drop_repeats(early)
    assert searches == [], "a message may still be on its way"
    shared.clock.pass_ms(lookup.FRESH_EARLY_MS)
    await shared.lookup.drop_repeats(early)
    assert shared.commit().early_matched == [(1, "a")]
    assert shared.matcher.ids.repeated == 1
    assert {each.operator_id for each in shared.matcher.early.all()} == {"b", "c", "d"}
    for _ in range(3):
        shared.clock.pass_ms(lookup.REPEATS_MS[1])
        await shared.lookup.drop_repeats(early[1:])
    assert len(searches) == 1, "each is searched for once"
    (found,) = searches
    at = early[0].at
    assert found == (1, at - lookup.REPEATED_MS, at + 1)


async def test_receipts_of_strangers_are_searched_for_ever_more_seldom(shared: Desk) -> None:
    for _ in range(60):
        shared.clock.pass_ms(lookup.REPEATS_MS[0])
        stranger = EarlyReceipt(1, "x", "", Delivery.DELIVRD, "000", shared.clock.now() - lookup.FRESH_EARLY_MS)
        await shared.lookup.drop_repeats([stranger])
    assert len(shared.store.searches) == 8


async def test_early_receipts_of_a_node_that_is_gone_are_found_too_and_old_ones_leave_memory(shared: Desk) -> None:
    one = shared.message()
    early = EarlyReceipt(1, "a", "", Delivery.DELIVRD, "000", shared.clock.now())
    await shared.lookup.reconsider([early])
    assert not shared.commit()
    shared.store.found = [known(one, "a")]
    await shared.lookup.reconsider([early])
    assert [each.key for each in shared.commit().finals] == [one.key]
    shared.matcher.restore_early(early)
    shared.matcher.early.drop(shared.clock.now() + 1)
    assert shared.matcher.early.all() == []
