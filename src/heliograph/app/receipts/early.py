"""Early receipts: receipts that came before the operator's answer, or that match no message."""

from heliograph.app.facts import EarlyReceipt, Message
from heliograph.app.ports import Clock, Gathering, Report
from heliograph.app.receipts.readings import STALE_MS, agrees, is_for, notations

KEEP_EARLY = 20_000
"""Early receipts kept in memory, the latest. Older receipts only have their rows. About 10 MB."""


class EarlyReceiptCache:
    """Keeps early receipts until their message is known. Each has a row as well."""

    def __init__(self, gathering: Gathering, clock: Clock) -> None:
        self._gathering = gathering
        self._clock = clock
        self.kept: dict[tuple[int, str], EarlyReceipt] = {}
        self._second: dict[tuple[int, str], EarlyReceipt] = {}
        """Receipts with two ids, by their other id."""

    def all(self) -> list[EarlyReceipt]:
        """Returns the early receipts in memory, oldest first."""
        return list(self.kept.values())

    def keep(self, connector: int, report: Report) -> None:
        """Keeps a receipt without a message, in memory and as a row."""
        known = self.kept.get((connector, report.operator_id))
        now = self._clock.now()
        if known is not None and known.destination == report.destination and now - known.at < STALE_MS:
            return  # The operator repeats it; the first receipt stays.
        early = EarlyReceipt(
            connector, report.operator_id, report.destination, report.state, report.err, now,
            other_id=report.other_id, other_number=report.other_number,
        )  # fmt: skip
        self._gathering.facts.early.append(early)
        if report.final:
            self.remember(early)

    def remember(self, early: EarlyReceipt) -> None:
        """Takes an early receipt that has its row into memory."""
        name = (early.connector, early.operator_id)
        self._forget(name)
        self.kept[name] = early
        if early.other_id:
            self._second[early.connector, early.other_id] = early
        if len(self.kept) > KEEP_EARLY:
            self._forget(next(iter(self.kept)))

    def matched(self, connector: int, operator_id: str) -> None:
        """Removes the receipt, which has found its message, from memory and the rows."""
        self._forget((connector, operator_id))
        self._gathering.facts.early_matched.append((connector, operator_id))

    def of(self, message: Message, connector: int, operator_id: str) -> EarlyReceipt | None:
        """Returns the early receipt for a part that the operator has just taken as `operator_id`, else None."""
        now = self._clock.now()
        for form in notations(operator_id):
            name = connector, form
            for early in (self.kept.get(name), self._second.get(name)):
                if early is not None and is_for(report_of(early, now), operator_id, message, last_resort=True):
                    return early
        return None

    def named(self, connector: int, operator_id: str, destination: str) -> EarlyReceipt | None:
        """Returns the early receipt for `operator_id` if it was sent to `destination`, else None."""
        for form in notations(operator_id):
            early = self.kept.get((connector, form))
            if early is None or (form != operator_id and not early.destination):
                continue
            if agrees(early.destination, destination):
                return early
        return None

    def discard(self, early: EarlyReceipt) -> bool:
        """Removes a receipt that adds nothing; returns False if it is gone already."""
        name = (early.connector, early.operator_id)
        if self._forget(name) is None:
            return False
        self._gathering.facts.early_matched.append(name)
        return True

    def drop(self, before: int) -> None:
        """Forgets receipts from before then (ms); their rows stay."""
        for name in [name for name, early in self.kept.items() if early.at < before]:
            self._forget(name)

    def _forget(self, name: tuple[int, str]) -> EarlyReceipt | None:
        early = self.kept.pop(name, None)
        if early is not None and early.other_id:
            self._second.pop((early.connector, early.other_id), None)
        return early


def report_of(early: EarlyReceipt, now: int) -> Report:
    """Converts a kept receipt back into a `Report`. Requires a final state."""
    came = early.at if early.at < now - STALE_MS else 0
    return Report(
        early.operator_id, early.destination, early.state, True, early.err, came,
        other_id=early.other_id, other_number=early.other_number,
    )  # fmt: skip
