"""Brings each receipt to a bind of the system_id that sent the message."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from heliograph.simulator.counters import SimulatorCounters
from heliograph.simulator.link import SimulatorLink
from heliograph.simulator.message import TakenSubmit
from heliograph.simulator.reactions import PlannedReceipt
from heliograph.smpp import constants as c
from heliograph.smpp.constants import CommandStatus

WAITING_LIMIT: Final = 100_000
"""Receipts of one system_id that wait for a bind or for room in its window; beyond that the oldest is dropped."""

AGAIN_AFTER_S: Final = 1.0
"""A receipt that the peer could not take for the moment is sent again after this time."""

OVERTAKEN_WITHIN_S: Final = 1.0
"""Longest time that a receipt waits for the next one to overtake it."""

_TEMPORARY: Final = frozenset(
    {
        CommandStatus.ESME_RSYSERR,
        CommandStatus.ESME_RMSGQFUL,
        CommandStatus.ESME_RTHROTTLED,
        CommandStatus.ESME_RX_T_APPN,
    }
)
"""Answers that ask for the receipt to be sent again later."""


@dataclass(slots=True, eq=False)
class ReceiptDelivery:
    """One receipt on its way."""

    submission: TakenSubmit
    report: PlannedReceipt
    body: bytes
    """Body of the deliver_sm."""
    home: SimulatorLink
    """Link on which the message came."""


@dataclass(slots=True)
class BoundPeer:
    """The binds of one system_id, and the receipts that wait for them."""

    links: list[SimulatorLink] = field(default_factory=list)
    waiting: deque[ReceiptDelivery] = field(default_factory=deque)
    overtaken: list[ReceiptDelivery] = field(default_factory=list)
    """Receipts that go after the next one."""


class ReceiptDeliveries:
    """Gives receipts to binds as their windows have room, in the order in which they fall due."""

    def __init__(
        self,
        counters: SimulatorCounters,
        later: Callable[[float, partial[None]], None],
        sent: Callable[[SimulatorLink, ReceiptDelivery, int], None],
    ) -> None:
        """`later(seconds, task)` runs a task then; `sent(link, delivery, sequence)` hears of each deliver_sm."""
        self._counters = counters
        self._later = later
        self._sent = sent
        self._accounts: dict[str, BoundPeer] = {}

    def bound(self, link: SimulatorLink) -> None:
        account = self._account(link.system_id)
        account.links.append(link)
        self._pump(account)

    def lost(self, link: SimulatorLink) -> bool:
        """Forgets a bind that ended; returns False if the link was not bound. Unanswered receipts come by `again`."""
        links = self._account(link.system_id).links
        if link not in links:
            return False
        links.remove(link)
        return True

    def deliver(self, delivery: ReceiptDelivery) -> None:
        """Sends a receipt that has fallen due, or queues it."""
        account = self._account(delivery.submission.system_id)
        if delivery.report.overtaken:
            delivery.report.overtaken = False
            account.overtaken.append(delivery)
            self._later(OVERTAKEN_WITHIN_S, partial(self._release, account, delivery))
            return
        self._queue(account, delivery)
        if account.overtaken:
            for overtaken in account.overtaken:
                self._queue(account, overtaken)
            account.overtaken.clear()
        self._pump(account)

    def answered(self, link: SimulatorLink, delivery: ReceiptDelivery, status: int) -> None:
        """Counts the peer's answer, repeats the receipt later after a temporary error, and fills the free place."""
        if status in _TEMPORARY:
            self._later(AGAIN_AFTER_S, partial(self.again, [delivery]))
        elif status:
            self._counters.receipts_refused += 1
        else:
            self._counters.receipts_answered += 1
        self._pump(self._account(link.system_id))

    def again(self, deliveries: list[ReceiptDelivery]) -> None:
        """Queues receipts that may not have arrived ahead of all others, in their order."""
        if not deliveries:
            return
        account = self._account(deliveries[0].submission.system_id)
        self._counters.receipts_repeated += len(deliveries)
        self._counters.receipts_waiting += len(deliveries)
        account.waiting.extendleft(reversed(deliveries))
        self._pump(account)

    def _account(self, system_id: str) -> BoundPeer:
        account = self._accounts.get(system_id)
        if account is None:
            account = self._accounts[system_id] = BoundPeer()
        return account

    def _release(self, account: BoundPeer, delivery: ReceiptDelivery) -> None:
        """Sends a receipt that nothing has overtaken in time."""
        if delivery in account.overtaken:
            account.overtaken.remove(delivery)
            self.deliver(delivery)

    def _queue(self, account: BoundPeer, delivery: ReceiptDelivery) -> None:
        account.waiting.append(delivery)
        self._counters.receipts_waiting += 1
        if len(account.waiting) > WAITING_LIMIT:
            account.waiting.popleft()
            self._counters.receipts_waiting -= 1
            self._counters.receipts_dropped += 1

    def _pump(self, account: BoundPeer) -> None:
        """Sends waiting receipts while a window has room."""
        waiting = account.waiting
        counters = self._counters
        now = None
        while waiting:
            delivery = waiting[0]
            link = _choose(account.links, delivery)
            if link is None:
                return
            waiting.popleft()
            counters.receipts_waiting -= 1
            counters.receipts_sent += 1
            now = link.now() if now is None else now
            sequence = link.session.send_request(c.DELIVER_SM, delivery.body, delivery, now)
            self._sent(link, delivery, sequence)


def _choose(links: list[SimulatorLink], delivery: ReceiptDelivery) -> SimulatorLink | None:
    """Chooses the bind for a receipt: that of its message, unless another is asked for or that one has no room."""
    home = delivery.home
    if not delivery.report.other_bind:
        if home.room:
            return home
        others = links
    else:
        others = [link for link in links if link is not home and link.receives] or links
    freest = max(others, key=lambda link: link.room, default=None)
    return freest if freest is not None and freest.room else None
