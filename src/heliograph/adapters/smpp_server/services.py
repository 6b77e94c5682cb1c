"""The parts of the application behind the SMPP server, and its settings."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Final

from heliograph.adapters.smpp_server.overload import SHARE_OF_ONE, Delay
from heliograph.adapters.smpp_server.resubmissions import Resubmissions
from heliograph.app.observing.refusals import Asked, Refusals
from heliograph.app.ports import Clock, CustomerBinds, Customers, Journal, Unavailable
from heliograph.app.sending.authenticate import Authenticator, ClientCredentials
from heliograph.app.sending.directory import AccountView, Directory
from heliograph.app.sending.principal import Door, Secret
from heliograph.app.sending.reschedule import Rescheduling
from heliograph.app.sending.send import Sending
from heliograph.domain.error import FORBIDDEN, UNAVAILABLE, Fault, Reason
from heliograph.domain.message.way import Way
from heliograph.net.proxies import Proxies, unmapped
from heliograph.smpp.constants import CommandStatus
from heliograph.smpp.pdu import BindRequest

DOOR: Final = Door("SMPP", Secret.SMPP_PASSWORD, way=Way.BIND)


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
    searches: defaultdict[int, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))
    """By account, its search for scheduled messages: a second waits, since each reads all of them."""
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

    def rest_of(self, account: int, begun: float, work_s: float, share: float = SHARE_OF_ONE) -> float:
        """Returns for how many seconds the account is not to be read, after work for it that began at a time of the
        monotonic clock: its requests get this share of the time at most, over all of its binds. Other customers get the
        rest.
        """
        until = self.busy_until[account] = max(begun, self.busy_until.get(account, begun)) + work_s / share
        return until - begun - work_s

    async def proven(self, request: BindRequest, host: str, bind: int) -> tuple[int, AccountView | None]:
        """Returns the status of a bind, and the account if its credentials and its address are right."""
        sent = b"%b\0%b" % (request.system_id.encode("latin-1"), request.password.encode("latin-1"))
        credentials = ClientCredentials(request.system_id, request.password, sent)
        try:
            who = await self.authenticator.check(DOOR, credentials, host, self.clock.monotonic())
        except Unavailable:
            return CommandStatus.ESME_RSYSERR, None
        except Fault as fault:
            self.note_refusal(None, fault, "bind", host, bind)
            # While too many passwords wait for their check, a right password is not to look wrong.
            is_unchecked = fault.entry is UNAVAILABLE
            return CommandStatus.ESME_RSYSERR if is_unchecked else CommandStatus.ESME_RINVPASWD, None
        policy = who.view.policy
        if policy is not None and policy.networks is not None and not policy.networks.has(host):
            problem = "The account may not bind from this address; ask the operator of the gateway."
            self.note_refusal(who.view, Fault(FORBIDDEN, problem, reason=Reason.ADDRESS), "bind", host, bind)
            return CommandStatus.ESME_RBINDFAIL, None
        return 0, who.view

    def host_of(self, host: str) -> str:
        """Returns the host of a client, IPv4 addresses without the prefix of IPv6."""
        return unmapped(host)

    def note_refusal(
        self, view: AccountView | None, fault: Fault, what: str, host: str, bind: int, number: int = 1
    ) -> None:
        """Notes `number` refused requests for figures and lists. `what`: their PDU, for example `submit_sm`."""
        account = None if view is None else view.account
        self.refusals.note(account, fault, Asked("SMPP", what, host, f"bind-{bind}"), self.clock.now(), number)
