"""The parts of the application behind the SMPP server, and its settings."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Final

from heliograph.adapters.smpp_server.resubmissions import Resubmissions
from heliograph.app.observing.refusals import Asked, Refusals
from heliograph.app.ports import Clock, CustomerBinds, Customers, Journal
from heliograph.app.sending.authenticate import Authenticator
from heliograph.app.sending.directory import AccountView, Directory
from heliograph.app.sending.principal import Door, Principal, Secret
from heliograph.app.sending.reschedule import Rescheduling
from heliograph.app.sending.send import Sending
from heliograph.domain.error import UNAVAILABLE, Fault
from heliograph.domain.message.way import Way
from heliograph.net.proxies import Proxies, unmapped

DOOR: Final = Door("SMPP", Secret.SMPP_PASSWORD, way=Way.BIND)

OVERLOAD_S: Final = 0.3
"""Seconds. While a submission has waited longer for its commit, new submissions are refused at once. Clients such as
go-smpp give up after a second, and would send an accepted message again."""

FEW: Final = 200
"""Submissions that may wait at any rate: two commits have so many. The rate after a pause is not known at first."""

LEAST_RUSH_S: Final = 0.25
"""Seconds of a rush before its rate counts."""

RATE_S: Final = 1.0
"""Seconds over which the rate is measured."""

FIRST_RATE: Final = 5_000.0
"""Commits a second that are assumed until the rate of a rush counts: a burst of 4,000 submissions is read within 0.1 s,
and takes a busy machine a second."""

SHARE_OF_ONE: Final = 2 / 3
"""Share of the time of the event loop that the requests of an account may take. A message takes about as much time
again until its receipt is delivered, so that a customer alone is not slowed down."""

LEAST_REST_S: Final = 0.005
"""Seconds. Shorter rests are added up: usual bursts are read without a pause."""

UNBOUND_WINDOW: Final = 1
"""Requests that a connection may have open before it is bound."""


def overloaded() -> Fault:
    """Returns the fault of a submission that would wait for its commit too long."""
    return Fault(UNAVAILABLE, "The gateway is overloaded; nothing was charged. Send it again later.")


class Delay:
    """How long submissions wait for their commit, over all binds. Commits take them in order.

    The wait of a new submission is foretold: the number that wait, divided by the rate of commits in the present rush.
    A rush begins when a submission comes and no other waits. The age of the oldest alone would tell too late: while it
    grows, clients submit more than can be committed within a second.
    """

    def __init__(self) -> None:
        self._under_way: dict[int, float] = {}
        self._last = 0
        self._turn_since: float | None = None
        self._rush_since = 0.0
        self._committed = 0.0
        """Submissions in this rush that have their verdict, older ones counted less."""
        self._rate = FIRST_RATE
        """Commits a second, as far as known."""

    def came(self, now: float) -> float:
        """Returns from when a submission that is read now counts as waiting: since this turn of the loop began to read
        submissions. Those of other clients were read meanwhile."""
        if self._turn_since is None:
            self._turn_since = now
            asyncio.get_running_loop().call_soon(self._end_turn)
        return self._turn_since

    def _end_turn(self) -> None:
        self._turn_since = None

    def begin(self, now: float) -> int:
        """Notes a submission; returns its number for `end`."""
        if not self._under_way:
            self._rush_since, self._committed = now, 0.0
            self._rate = max(FIRST_RATE, self._rate)
        self._last += 1
        self._under_way[self._last] = now
        return self._last

    def end(self, number: int, *, committed: bool = True) -> None:
        """Notes that the submission has its verdict, by a commit or at once."""
        if self._under_way.pop(number, None) is not None and committed:
            self._committed += 1

    def is_long(self, now: float, came: float) -> bool:
        """True if the oldest submission has waited for longer than OVERLOAD_S, or if a new one would have at its
        commit. `came`: as the method of this name returns it."""
        waiting = len(self._under_way)
        if not waiting:
            return False
        if now - next(iter(self._under_way.values())) > OVERLOAD_S:
            return True
        passed = now - self._rush_since
        if passed > RATE_S:  # forgets half
            self._rush_since += passed / 2
            self._committed /= 2
            passed /= 2
        if passed > LEAST_RUSH_S:
            self._rate = self._committed / passed
        return waiting > FEW and waiting > (OVERLOAD_S - (now - came)) * self._rate


@dataclass(slots=True)
class Services:
    """These parts."""

    authenticator: Authenticator
    sending: Sending
    rescheduling: Rescheduling
    customers: Customers
    directory: Directory
    clock: Clock
    journal: Journal
    refusals: Refusals
    wake: Callable[[], None]
    """Called to have parked notices looked up at once."""
    store: CustomerBinds
    node: int
    """The number of this run."""
    longest_validity_ms: int
    proxies: Proxies
    """Proxies that may give their clients' addresses by the PROXY protocol."""
    system_id: str = "heliograph"
    """Our system_id in the answers to binds."""
    delay: Delay = field(default_factory=Delay)
    busy_until: dict[int, float] = field(default_factory=dict)
    """By account, until when it is not read for the work that it has caused (`rest_of`)."""
    departed: set[int] = field(default_factory=set)
    """Ids of binds that have ended and may still have a row, since the store was not available. Reports keep rows of
    this node alive: without another try they would count against their account until the next start."""
    resubmissions: Resubmissions = field(init=False)
    tasks: set["asyncio.Task[None]"] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.resubmissions = Resubmissions(self.store, self.clock)

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Starts work that goes on when its connection has ended."""
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    def rest_of(self, account: int, begun: float, work_s: float) -> float:
        """Returns for how many seconds the account is not to be read, after work for it that began at a time of the
        loop: its requests get two thirds of the time at most, over all of its binds. Other customers get the rest.
        """
        until = self.busy_until[account] = max(begun, self.busy_until.get(account, begun)) + work_s / SHARE_OF_ONE
        return until - begun - work_s

    def host_of(self, host: str) -> str:
        """Returns the host of a client, IPv4 addresses without the prefix of IPv6."""
        return unmapped(host)

    def window_of(self, who: Principal | None) -> int:
        """Returns the number of unanswered requests at which a client is no longer read."""
        return UNBOUND_WINDOW if who is None else who.view.account.smpp.window

    def note_refusal(self, view: AccountView | None, fault: Fault, what: str, host: str, bind: int) -> None:
        """Notes a refused request for figures and lists. `what`: its PDU, for example `submit_sm`."""
        account = None if view is None else view.account
        self.refusals.note(account, fault, Asked("SMPP", what, host, f"bind-{bind}"), self.clock.now())
