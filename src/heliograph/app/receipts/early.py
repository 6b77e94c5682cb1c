"""Early receipts: those that came before the operator's answer, or that match no message."""

from dataclasses import replace

from heliograph.app.facts import EarlyReceipt, Message
from heliograph.app.ports import Clock, Gathering, Report
from heliograph.app.receipts.operator_ids import STALE_MS, agrees, forms, is_for

KEEP_EARLY = 20_000
"""How many early receipts are kept in memory, the latest; older ones only have their rows."""


class EarlyReceipts:
    """Those that wait for their message. Each has a row."""

    def __init__(self, gathering: Gathering, clock: Clock) -> None:
        self._gathering = gathering
        self._clock = clock
        self._kept: dict[tuple[int, str], EarlyReceipt] = {}

    def __bool__(self) -> bool:
        return bool(self._kept)

    def all(self) -> list[EarlyReceipt]:
        """Those in memory, oldest first."""
        return list(self._kept.values())

    def keep(self, connector: int, report: Report) -> None:
        """A receipt without a message."""
        known = self._kept.get((connector, report.operator_id))
        now = self._clock.now()
        if known is not None and known.destination == report.destination and now - known.at < STALE_MS:
            return  # the operator sends it again; the first one stays
        early = EarlyReceipt(connector, report.operator_id, report.destination, report.state, report.err, now)
        self._gathering.facts.early.append(early)
        if report.final:
            self.remember(early)

    def remember(self, early: EarlyReceipt) -> None:
        """One that has its row."""
        name = (early.connector, early.operator_id)
        self._kept.pop(name, None)
        self._kept[name] = early
        if len(self._kept) > KEEP_EARLY:
            del self._kept[next(iter(self._kept))]

    def matched(self, connector: int, operator_id: str) -> None:
        """The receipt of that name has found its message."""
        self._kept.pop((connector, operator_id), None)
        self._gathering.facts.early_matched.append((connector, operator_id))

    def of(self, message: Message, connector: int, operator_id: str) -> EarlyReceipt | None:
        """That of a part which the operator just took."""
        now = self._clock.now()
        for form in forms(operator_id):
            early = self._kept.get((connector, form))
            if early is not None:
                report = replace(report_of(early, now), operator_id=operator_id)
                if is_for(report, form, message):
                    return early
        return None

    def named(self, connector: int, operator_id: str, destination: str) -> EarlyReceipt | None:
        """That of a part to this number which the operator calls so."""
        for form in forms(operator_id):
            early = self._kept.get((connector, form))
            if early is None or (form != operator_id and not early.destination):
                continue
            if agrees(early.destination, destination):
                return early
        return None

    def discard(self, early: EarlyReceipt) -> bool:
        """What it tells is known. False if it is not there any more."""
        name = (early.connector, early.operator_id)
        if self._kept.pop(name, None) is None:
            return False
        self._gathering.facts.early_matched.append(name)
        return True

    def drop(self, before: int) -> None:
        """Those that came before then are only looked for among their rows."""
        for name in [name for name, early in self._kept.items() if early.at < before]:
            del self._kept[name]


def report_of(early: EarlyReceipt, now: int) -> Report:
    """What came then. It must have been final."""
    came = early.at if early.at < now - STALE_MS else 0
    return Report(early.operator_id, early.destination, early.state, True, early.err, came)
