"""Suppressions in the in-memory store."""

from collections.abc import Sequence

from heliograph.app.configuration import Missing
from heliograph.app.facts import NO_ANSWER, InboundMessage
from heliograph.domain.message.opt_out import Wish
from heliograph.domain.message.state import TABLE, State, Trigger
from heliograph.domain.message.suppression import Suppression
from heliograph.domain.money.amounts import EntryKind
from tests.support.memory_rows import End, MemoryPart, MemoryState
from tests.support.memory_series import owe_series


def withdraw(place: MemoryState, key: int, at: int, note: str = "opted out") -> None:
    rows = place.rows
    message = rows.messages.get(key)
    if message is None or key in rows.finals or (message.state, Trigger.OPT_OUT) not in TABLE:
        return
    message.state = TABLE[State(message.state), Trigger.OPT_OUT]
    rows.queue.pop(key, None)
    rows.finals[key] = End(None, "", at, owed=False)
    place.enter(message.account, EntryKind.REFUND, message.price, key, at, note)
    owe_series(place, key, at)


def withdraw_waiting(place: MemoryState, keys: Sequence[int], at: int, note: str = "opted out") -> None:
    """Withdraws messages."""
    for key in keys:
        withdraw(place, key, at, note)


def suppress(place: MemoryState, account: int, number: str, at: int, source: str) -> bool:
    rows = place.rows
    if (account, number) in rows.suppressions:
        return False
    rows.suppressions[account, number] = Suppression(number, at, source)
    waiting = [
        key
        for key, row in sorted(rows.queue.items())
        if (rows.messages[key].account, rows.messages[key].destination) == (account, number)
        and row.node is None
        and is_whole(place, key)
        and not any(each.key == key and each.status in (0, NO_ANSWER) for each in rows.attempts)
    ]
    withdraw_waiting(place, waiting, at)
    return True


def is_whole(place: MemoryState, key: int) -> bool:
    """Whether nothing of the message has left, and it is no reply of the gateway's own."""
    return not place.rows.queue[key].attempted and is_untouched(place, key)


def is_untouched(place: MemoryState, key: int) -> bool:
    """Whether no operator answered for the message, and it is no reply of the gateway's own."""
    rows = place.rows
    return not any(of == key for of, _ in rows.sent) and not any(each.replied == key for each in rows.inbound.values())


def obey(place: MemoryState, message: InboundMessage) -> bool:
    """Applies the wish of the text. Returns whether its reply is sent."""
    if message.changes_consent:
        if message.wish is Wish.STOP:
            return suppress(place, message.account, message.sender, message.at, "message")
        place.rows.suppressions.pop((message.account, message.sender), None)
    return True


class MemorySuppressions(MemoryPart):
    """`app.ports.Suppressions`."""

    async def suppress(self, account: int, numbers: Sequence[str], source: str, now: int) -> int:
        rows = self._open()
        if account not in rows.accounts:
            raise Missing("no such account")
        return sum(suppress(self._place, account, number, now, source) for number in numbers)

    async def lift(self, account: int, number: str) -> None:
        rows = self._open()
        rows.forgotten.discard((account, number))
        if rows.suppressions.pop((account, number), None) is None:
            raise Missing("not suppressed")

    async def find(self, account: int, number: str) -> Suppression | None:
        return self._open().suppressions.get((account, number))

    async def among(self, account: int, numbers: Sequence[str]) -> set[str]:
        rows = self._open()
        return {number for number in numbers if (account, number) in rows.suppressions}

    async def page(self, account: int, after: str, limit: int) -> list[Suppression]:
        rows = self._open()
        found = [
            each
            for (of, number), each in sorted(rows.suppressions.items())
            if of == account and (of, number) not in rows.forgotten
        ]
        return [each for each in found if each.number > after][:limit]

    async def made_since(self, since: int) -> list[tuple[int, str, int]]:
        rows = self._open()
        made = [(each.since, number, account) for (account, number), each in rows.suppressions.items()]
        known = [each for each in sorted(made) if each[2:] + each[1:2] not in rows.forgotten]
        return [(account, number, at) for at, number, account in known if at >= since]
