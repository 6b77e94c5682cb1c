"""Brings each deliver_sm, a receipt or a message from a phone, to a bind of its system_id."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from heliograph.simulator.counters import DeliveryCounters
from heliograph.simulator.link import SimulatorLink
from heliograph.smpp import constants as c
from heliograph.smpp.constants import CommandStatus

WAITING_LIMIT: Final = 100_000
"""Deliveries of a system_id that may wait for a bind or a free window slot. Beyond this limit the oldest is dropped."""

AGAIN_AFTER_S: Final = 1.0
"""A deliver_sm that the peer could not take for the moment is sent again after this time."""

OVERTAKEN_WITHIN_S: Final = 1.0
"""Seconds. Longest time that a receipt waits to be overtaken by the next receipt."""

_TEMPORARY: Final = frozenset(
    {
        CommandStatus.ESME_RSYSERR,
        CommandStatus.ESME_RMSGQFUL,
        CommandStatus.ESME_RTHROTTLED,
        CommandStatus.ESME_RX_T_APPN,
    }
)
"""Answers that ask for the deliver_sm to be sent again later."""


@dataclass(slots=True, eq=False)
class DeliverRequest(ABC):
    """A deliver_sm to be sent."""

    system_id: str
    body: bytes
    """Body of the deliver_sm."""
    counts: DeliveryCounters
    home: SimulatorLink | None
    """The preferred link, if its window has a free slot. None: any link of the system_id."""
    other_bind: bool = False
    """True to avoid the home link if the system_id has another."""
    overtaken: bool = False
    """True to let the next request go first."""

    @abstractmethod
    def describe(self) -> tuple[str, dict[str, object]]:
        """Returns its event and its details for the log."""


@dataclass(slots=True)
class BoundPeer:
    """The binds of a system_id, and the deliveries that wait for them."""

    links: list[SimulatorLink] = field(default_factory=list)
    waiting: deque[DeliverRequest] = field(default_factory=deque)
    overtaken: list[DeliverRequest] = field(default_factory=list)
    """Requests to be sent after the next request."""


class Deliveries:
    """Gives deliveries to binds as their windows have room, in the order in which they fall due."""

    def __init__(
        self,
        later: Callable[[float, partial[None]], None],
        sent: Callable[[SimulatorLink, DeliverRequest, int], None],
    ) -> None:
        """`later(seconds, task)`: runs a task after these seconds. `sent(link, delivery, sequence)`: called for each
        deliver_sm."""
        self._later = later
        self._sent = sent
        self._accounts: dict[str, BoundPeer] = {}

    def bound(self, link: SimulatorLink) -> None:
        account = self._account(link.system_id)
        account.links.append(link)
        self._pump(account)

    def lost(self, link: SimulatorLink) -> bool:
        """Forgets a bind that ended; returns False if the link was not bound. Unanswered deliveries come by `again`."""
        links = self._account(link.system_id).links
        if link not in links:
            return False
        links.remove(link)
        return True

    def receivers(self) -> list[str]:
        """Returns each system_id with a bind that receives."""
        return [system_id for system_id, peer in self._accounts.items() if any(link.receives for link in peer.links)]

    def deliver(self, delivery: DeliverRequest) -> None:
        """Sends a delivery that is due, or queues it."""
        account = self._account(delivery.system_id)
        if delivery.overtaken:
            delivery.overtaken = False
            account.overtaken.append(delivery)
            self._later(OVERTAKEN_WITHIN_S, partial(self._release, account, delivery))
            return
        self._queue(account, delivery)
        if account.overtaken:
            for overtaken in account.overtaken:
                self._queue(account, overtaken)
            account.overtaken.clear()
        self._pump(account)

    def answered(self, link: SimulatorLink, delivery: DeliverRequest, status: int) -> None:
        """Counts the peer's answer, repeats the delivery later after a temporary error, and fills the free slot."""
        if status in _TEMPORARY:
            self._later(AGAIN_AFTER_S, partial(self.again, [delivery]))
        elif status:
            delivery.counts.refused += 1
        else:
            delivery.counts.answered += 1
        self._pump(self._account(link.system_id))

    def again(self, deliveries: list[DeliverRequest]) -> None:
        """Puts deliveries that may not have arrived at the head of the queue, in their order."""
        if not deliveries:
            return
        account = self._account(deliveries[0].system_id)
        for delivery in deliveries:
            delivery.counts.repeated += 1
            delivery.counts.waiting += 1
        account.waiting.extendleft(reversed(deliveries))
        self._pump(account)

    def _account(self, system_id: str) -> BoundPeer:
        account = self._accounts.get(system_id)
        if account is None:
            account = self._accounts[system_id] = BoundPeer()
        return account

    def _release(self, account: BoundPeer, delivery: DeliverRequest) -> None:
        """Sends a delivery that no other has overtaken in time."""
        if delivery in account.overtaken:
            account.overtaken.remove(delivery)
            self.deliver(delivery)

    def _queue(self, account: BoundPeer, delivery: DeliverRequest) -> None:
        account.waiting.append(delivery)
        delivery.counts.waiting += 1
        if len(account.waiting) > WAITING_LIMIT:
            oldest = account.waiting.popleft()
            oldest.counts.waiting -= 1
            oldest.counts.dropped += 1

    def _pump(self, account: BoundPeer) -> None:
        """Sends queued deliveries while a window has a free slot."""
        waiting = account.waiting
        now = None
        while waiting:
            delivery = waiting[0]
            link = _choose(account.links, delivery)
            if link is None:
                return
            waiting.popleft()
            delivery.counts.waiting -= 1
            delivery.counts.sent += 1
            now = link.now() if now is None else now
            sequence = link.session.send_request(c.DELIVER_SM, delivery.body, delivery, now)
            self._sent(link, delivery, sequence)


def _choose(links: list[SimulatorLink], delivery: DeliverRequest) -> SimulatorLink | None:
    """Chooses the bind: the home link, unless another is wanted or the home link's window is full."""
    home = delivery.home
    if not delivery.other_bind:
        if home is not None and home.room:
            return home
        others = links
    else:
        others = [link for link in links if link is not home and link.receives] or links
    freest = max(others, key=lambda link: link.room, default=None)
    return freest if freest is not None and freest.room else None
