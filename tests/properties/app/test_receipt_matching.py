"""No text of a phone becomes a receipt, and no receipt is matched with another message, whatever operators write."""

import asyncio
from collections.abc import Coroutine

from hypothesis import given
from hypothesis import strategies as st

from heliograph.adapters.smpp.receipts import report_of, unmarked_report_of
from heliograph.app.facts import Message, MessageEnd
from heliograph.app.receipts.lookup import UNMARKED_MS, ReceiptLookup
from heliograph.app.receipts.matcher import ReceiptMatcher
from heliograph.domain.message.operator_id import kept, variants
from heliograph.smpp import constants as c
from heliograph.smpp import tlv
from heliograph.smpp.pdu import DeliverSm
from tests.support.memory_store import MemoryStore
from tests.support.use_case_fakes import Messages, NotedGathering, SetClock

NOTATIONS = (
    "{}", "{:x}", "{:X}", "{:010d}", "{:020d}", "{:016x}", "0x{:x}", "{:<20d}", "{:>20d}",
    "{0:08x}-0000-4000-8000-000000000000", "{0:08x}000040008000000000000000",
)  # fmt: skip
UUIDS = NOTATIONS[-2:]


class Matching:
    """A matcher with messages that an operator took."""

    def __init__(self) -> None:
        self.clock = SetClock()
        gathering = NotedGathering()
        self.finished: list[int] = []
        self.matcher = ReceiptMatcher(gathering, self.clock, MemoryStore().receipts, self._finish)
        self.lookup = ReceiptLookup(self.matcher, gathering, self.clock)
        self.message = Messages(self.clock)
        self.phones = 0

    def _finish(self, message: Message, final: MessageEnd) -> None:
        self.finished.append(message.key)

    def take(self, operator_id: str, destination: str) -> int:
        message = self.message(destination=destination)
        self.matcher.taken(message, (0,), 1, kept(operator_id), self.clock.now())
        return message.key

    async def deliver(self, pdu: DeliverSm) -> None:
        """Brings a deliver_sm, and waits until its fate is known."""
        report = report_of(pdu)
        if report is not None and report.operator_id:
            self.matcher.on_report(1, report, lambda kept: None)
        elif (unmarked := unmarked_report_of(pdu)) is not None:
            self.matcher.on_unmarked(1, unmarked, lambda kept: None, self._from_phone)
        else:
            self._from_phone()
        await self.lookup.look_up()
        self.clock.pass_ms(UNMARKED_MS)
        await self.lookup.look_up()

    def _from_phone(self) -> None:
        self.phones += 1


def run(work: Coroutine[None, None, None]) -> None:
    asyncio.run(work)


numbers = st.integers(0, 9_999).map("49170123{:04d}".format)
words = st.sampled_from(
    [
        "id:",
        "ID=",
        " stat:",
        "DELIVRD",
        " err:",
        "000",
        " sub:001",
        " done date:",
        "2701150801",
        " ",
        "1000",
        "3e8",
        "Hi",
    ]
)
texts = st.one_of(
    st.text(max_size=60),
    st.lists(words, max_size=12).map("".join),
    st.from_regex(r"id:[0-9a-f]{3,12} sub:001 dlvrd:001 done date:2701150801 stat:(DELIVRD|UNDELIV) err:0[0-9]{2}"),
)


@given(texts, st.sampled_from([0, 3, 8, 16]), st.booleans(), st.sets(st.integers(900, 1_100), max_size=8))
def test_no_text_of_a_phone_is_a_receipt(text: str, esm_class: int, unicode: bool, ids: set[int]) -> None:
    """Its number is none that we sent to, so that even one of our ids is no receipt."""

    async def work() -> None:
        matching = Matching()
        for number in ids:
            matching.take(str(number), f"4917012300{number:04d}")
        octets = text.encode("utf-16-be" if unicode else "latin-1", "replace")[:254]
        await matching.deliver(
            DeliverSm(
                source_addr="4915299999999",
                destination_addr="3388",
                esm_class=esm_class,
                data_coding=8 if unicode else 0,
                short_message=octets,
            )
        )
        assert (matching.finished, matching.phones) == ([], 1)

    run(work())


@given(texts, st.sets(st.integers(5_000, 9_000), max_size=8))
def test_no_text_of_a_phone_that_we_sent_to_is_a_receipt_unless_it_has_our_id(text: str, ids: set[int]) -> None:
    async def work() -> None:
        matching = Matching()
        for number in ids:
            matching.take(f"ours-{number}", "4915299999999")
        await matching.deliver(
            DeliverSm(
                source_addr="4915299999999",
                destination_addr="3388",
                short_message=text.encode("latin-1", "replace")[:254],
            )
        )
        assert (matching.finished, matching.phones) == ([], 1)

    run(work())


@st.composite
def dialects(draw: st.DrawFn) -> dict[str, object]:
    answered = draw(st.sampled_from(NOTATIONS))
    same = UUIDS if answered in UUIDS else NOTATIONS[: -len(UUIDS)]
    return {
        "answered": answered,
        "reported": draw(st.sampled_from([answered, *same])),
        "addresses": draw(st.sampled_from(["swapped", "unswapped", "masked", "empty", "foreign"])),
        "esm_class": draw(st.sampled_from([c.ESM_RECEIPT, 0, 3, 8, 16])),
        "parameter": draw(st.sampled_from(["none", "right", "wrong", "another"])),
    }


@given(dialects(), st.lists(st.tuples(st.integers(1, 400), numbers), min_size=1, max_size=8, unique_by=(
    lambda each: each[0], lambda each: each[1])), st.integers(0, 4_000_000), st.data())  # fmt: skip
def test_no_receipt_is_matched_with_another_message(
    dialect: dict[str, object], taken: list[tuple[int, str]], first: int, data: st.DataObject
) -> None:
    """Ids are one counter's, in any notation; a receipt finds its message or none, and with exactly its id and its
    number always its own."""

    async def work() -> None:
        matching = Matching()
        keys = {n: matching.take(str(dialect["answered"]).format(first + n), to) for n, to in taken}
        for n, to in data.draw(st.permutations(taken)):
            others = [other for other, _ in taken if other != n]
            before = len(matching.finished)
            await matching.deliver(receipt(dialect, first + n, to, [first + other for other in others]))
            new = matching.finished[before:]
            assert new in ([], [keys[n]]), dialect
            number = dialect["addresses"] in ("swapped", "unswapped")
            if number and dialect["parameter"] != "another":
                assert new == [keys[n]]

    run(work())


def receipt(dialect: dict[str, object], number: int, to: str, others: list[int]) -> DeliverSm:
    """The receipt of a message in a dialect; `others` are the ids of other messages."""
    name = str(dialect["reported"]).format(number)
    source, destination = {
        "swapped": (to, "Helio"),
        "unswapped": ("Helio", to),
        "masked": (to[:-4] + "****", "Helio"),
        "empty": ("", ""),
        "foreign": ("4915100000000", "Helio"),
    }[str(dialect["addresses"])]
    text = f"id:{name} sub:001 dlvrd:001 submit date:2701150800 done date:2701150801 stat:DELIVRD err:000 text:"
    parameter = {
        "none": "",
        "right": name,
        "wrong": f"wrong-{number}",
        "another": str(dialect["answered"]).format(others[0]) if others else "",
    }[str(dialect["parameter"])]
    return DeliverSm(
        source_addr=source,
        destination_addr=destination,
        esm_class=int(str(dialect["esm_class"])),
        short_message=text.encode(),
        tlvs=(tlv.make(tlv.RECEIPTED_MESSAGE_ID, parameter),) if parameter else (),
    )


def test_notations_are_forms_of_each_other() -> None:
    for group in (NOTATIONS[: -len(UUIDS)], UUIDS):
        for answered in group:
            for reported in group:
                one, other = kept(answered.format(77_777)), kept(reported.format(77_777))
                assert one == other or one in variants(other)
