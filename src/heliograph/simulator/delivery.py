"""How receipts find their way to a bind of the system_id whose message they are about."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from heliograph.simulator.counters import Counters
from heliograph.simulator.link import Link
from heliograph.simulator.message import Submission
from heliograph.simulator.plan import Report
from heliograph.smpp import constants as c
from heliograph.smpp.constants import CommandStatus

WAITING_LIMIT: Final = 100_000
"""Receipts of one system_id that wait for a bind or for room in its window; beyond that the oldest is dropped."""

AGAIN_AFTER_S: Final = 1.0
"""A receipt that the peer could not take for the moment is sent again after this time."""

OVERTAKEN_WITHIN_S: Final = 1.0
"""How long a receipt waits to be overtaken."""

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
class Delivery:
    """One receipt on its way."""

    submission: Submission
    report: Report
    body: bytes
    """Of the deliver_sm."""
    home: Link
    """The link that the message came on."""


@dataclass(slots=True)
class Account:
    """The binds of one system_id, and what waits for them."""

    links: list[Link] = field(default_factory=list)
    waiting: deque[Delivery] = field(default_factory=deque)
    overtaken: list[Delivery] = field(default_factory=list)
    """These go after the next one."""


class Deliveries:
    """Gives receipts to binds as their windows have room, in the order in which they fall due."""

    def __init__(
        self,
        counters: Counters,
        later: Callable[[float, partial[None]], None],
        sent: Callable[[Link, Delivery, int], None],
    ) -> None:
        """`later(seconds, task)` runs a task then; `sent(link, delivery, sequence)` hears of each deliver_sm."""
        self._counters = counters
        self._later = later
        self._sent = sent
        self._accounts: dict[str, Account] = {}

    def bound(self, link: Link) -> None:
        account = self._account(link.system_id)
        account.links.append(link)
        self._pump(account)

    def lost(self, link: Link) -> bool:
        """The bind is over; False where it was none. What was under way on it comes by `again`."""
        links = self._account(link.system_id).links
        if link not in links:
            return False
        links.remove(link)
        return True

    def deliver(self, delivery: Delivery) -> None:
        """It is due."""
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

    def answered(self, link: Link, delivery: Delivery, status: int) -> None:
        """The peer answered it. A place in the window is free."""
        if status in _TEMPORARY:
            self._later(AGAIN_AFTER_S, partial(self.again, [delivery]))
        elif status:
            self._counters.receipts_refused += 1
        else:
            self._counters.receipts_answered += 1
        self._pump(self._account(link.system_id))

    def again(self, deliveries: list[Delivery]) -> None:
        """They were sent, and nobody knows whether they arrived: before all others, in their order."""
        if not deliveries:
            return
        account = self._account(deliveries[0].submission.system_id)
        self._counters.receipts_repeated += len(deliveries)
        self._counters.receipts_waiting += len(deliveries)
        account.waiting.extendleft(reversed(deliveries))
        self._pump(account)

    def _account(self, system_id: str) -> Account:
        account = self._accounts.get(system_id)
        if account is None:
            account = self._accounts[system_id] = Account()
        return account

    def _release(self, account: Account, delivery: Delivery) -> None:
        """Nothing has overtaken it: it goes all the same."""
        if delivery in account.overtaken:
            account.overtaken.remove(delivery)
            self.deliver(delivery)

    def _queue(self, account: Account, delivery: Delivery) -> None:
        account.waiting.append(delivery)
        self._counters.receipts_waiting += 1
        if len(account.waiting) > WAITING_LIMIT:
            account.waiting.popleft()
            self._counters.receipts_waiting -= 1
            self._counters.receipts_dropped += 1

    def _pump(self, account: Account) -> None:
        """Sends what waits while there is room."""
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


def _choose(links: list[Link], delivery: Delivery) -> Link | None:
    """The bind for a receipt: the one its message came on, unless it is to come on another or cannot take it."""
    home = delivery.home
    if not delivery.report.other_bind:
        if home.room:
            return home
        others = links
    else:
        others = [link for link in links if link is not home and link.receives] or links
    freest = max(others, key=lambda link: link.room, default=None)
    return freest if freest is not None and freest.room else None
