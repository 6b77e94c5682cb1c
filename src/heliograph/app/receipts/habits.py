"""Habits of operators: how their receipts depart from the specification, learnt from matched receipts."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from heliograph.app.facts import Message
from heliograph.app.ports import Report
from heliograph.app.receipts.readings import agrees
from heliograph.domain.message.operator_id import spelling

USUAL = "usual"
ID_IN_TEXT = "id_in_text"
OTHER_NUMBER = "number_in_destination_addr"
FOREIGN_NUMBER = "foreign_number"
UNMARKED = "unmarked"

WORDS: Mapping[str, str] = {
    USUAL: "as the specification says",
    "id_quotes": "the id in quotes, or without the quotes of the answer",
    "id_case": "the id in capitals where the answer has small letters, or the other way round",
    "id_dashes": "the id with dashes where the answer has none, or the other way round",
    "id_zeros": "the id with leading zeros where the answer has none, or the other way round",
    "id_0x": "the id with 0x where the answer has none, or the other way round",
    "id_decimal": "the id in decimal, where the answer has hexadecimal",
    "id_hexadecimal": "the id in hexadecimal, where the answer has decimal",
    "id_other": "the id in another form than the answer's",
    ID_IN_TEXT: "the right id in the text, another id in receipted_message_id",
    OTHER_NUMBER: "the recipient in destination_addr: addresses not swapped",
    FOREIGN_NUMBER: "addresses without the recipient's number",
    UNMARKED: "esm_class does not say that it is a receipt",
}
"""The habits, by the names under which states show them, in words for people."""


@dataclass(slots=True)
class OperatorHabits:
    """The habits of an operator."""

    counts: dict[str, int] = field(default_factory=dict)
    """Matched receipts by the habit that they showed, for example `{"id_zeros": 12}`."""
    usual: int = 0
    """Matched receipts that follow the specification."""
    named: int = 0
    """Receipts that had the recipient's number in an address."""
    tlv_ids: int = 0
    """Receipts with two ids where the id in receipted_message_id was right."""

    @property
    def text_counts(self) -> bool:
        """Whether the id in the text is right, if a receipt has two ids."""
        return self.tlv_ids == 0 and self.counts.get(ID_IN_TEXT, 0) > 0

    @property
    def parameter_counts(self) -> bool:
        """Whether the id in receipted_message_id is right, if a receipt has two ids."""
        return self.tlv_ids > 0 and ID_IN_TEXT not in self.counts

    @property
    def names_no_number(self) -> bool:
        """Whether all receipts so far lacked the recipient's number."""
        return self.named == 0 and self.counts.get(FOREIGN_NUMBER, 0) > 0

    def shown(self) -> dict[str, int]:
        """Returns the number of receipts by habit, the specification's first."""
        return ({USUAL: self.usual} if self.usual else {}) | self.counts


class ReceiptHabits:
    """Learns from each matched receipt. A restart forgets the habits, and the next receipts show them again."""

    def __init__(self) -> None:
        self.of: defaultdict[int, OperatorHabits] = defaultdict(OperatorHabits)
        """The habits of operators by connector."""

    def learn(self, connector: int, report: Report, operator_id: str, message: Message) -> None:
        """Learns from a receipt for the message that the operator answered with `operator_id`."""
        habits = self.of[connector]
        destination = message.destination
        if (
            report.operator_id == operator_id
            and report.destination == destination
            and report.marked
            and not report.other_id
        ):
            habits.named += 1
            habits.usual += 1
            return
        shown: list[str] = []
        differs = spelling(operator_id, report.operator_id)
        if differs == "other" and report.other_id:
            differs = spelling(operator_id, report.other_id)
            shown.append(ID_IN_TEXT)
        elif report.other_id and spelling(operator_id, report.other_id) == "other":
            habits.tlv_ids += 1
        if differs:
            shown.append(f"id_{differs}")
        if report.destination and agrees(report.destination, destination):
            habits.named += 1
        elif report.other_number and agrees(report.other_number, destination):
            habits.named += 1
            shown.append(OTHER_NUMBER)
        else:
            shown.append(FOREIGN_NUMBER)
        if not report.marked:
            shown.append(UNMARKED)
        if not shown:
            habits.usual += 1
        for habit in shown:
            habits.counts[habit] = habits.counts.get(habit, 0) + 1
