"""The capacity that all accounts share, and its fair distribution: connections, queued jobs, origins and addresses.

No account can take all of anything. An account gets at most a fixed part of the free capacity, so some is always left
for the next. Connections to origins that have not answered recently are at most half of all, so origins that answer
always find some. If all is in use, accounts get the next free slots in turn.
"""

import asyncio
from typing import Final, Protocol

from heliograph.http_client.dial import Dialer
from heliograph.http_client.requester import Requester
from heliograph.http_client.settings import ClientLimits
from heliograph.net.address_guard import IPAddress

PART: Final = 4
"""Divisor: an account may have a quarter of the free connections and origins."""

PROBATION: Final = 4
"""The most connections to an origin that has not answered recently."""


class WaitingOrigin(Protocol):
    """An origin that would open a connection if there were room."""

    @property
    def wants_connection(self) -> bool:
        """Whether the origin still needs a connection."""

    def pump(self) -> None:
        """Opens connections, up to the free capacity."""


class AccountLoad:
    """The part of the capacity that an account uses."""

    __slots__ = ("account", "connections", "unproven", "waiting", "waiting_origins")

    def __init__(self, account: int) -> None:
        self.account = account
        self.connections = 0
        """Connections that are open or being opened."""
        self.unproven = 0
        """Connections to origins that have not answered recently."""
        self.waiting = 0
        """Queued jobs."""
        self.waiting_origins: dict[WaitingOrigin, None] = {}
        """Origins that would open a connection if there were room, in the order they asked."""


class AddressLoad:
    """The connections to an address: all of them, and those of each account."""

    __slots__ = ("by_account", "connections")

    def __init__(self) -> None:
        self.connections = 0
        self.by_account: dict[int, int] = {}


class SharedCapacity:
    """The limits, their present use, and the requester that gets the results."""

    def __init__(self, limits: ClientLimits, dialer: Dialer, requester: Requester) -> None:
        self.limits = limits
        self.dialer = dialer
        self.requester = requester
        self.connections = 0
        """Connections that are open or being opened."""
        self.unproven = 0
        """Connections to origins that have not answered recently."""
        self.waiting = 0
        """Queued jobs."""
        self.tasks: set[asyncio.Task[None]] = set()
        """Connections being opened."""
        self._most_unproven = (limits.connections + 1) // 2
        self._waiting_accounts: dict[int, AccountLoad] = {}
        """Accounts with origins that wait for a connection, in the order of their turns."""
        self._addresses: dict[IPAddress, AddressLoad] = {}

    # --- connections

    def connection_room(self, load: AccountLoad) -> int:
        """Returns how many more connections the account may have, up to a quarter of the free connections in all. For
        example, an account with 20 connections may open 80 more if 400 are free."""
        return (self.limits.connections - self.connections + PART - 1) // PART - load.connections

    def unproven_room(self, load: AccountLoad) -> int:
        """Returns how many more connections the account may have to origins that have not answered recently."""
        return (self._most_unproven - self.unproven + PART - 1) // PART - load.unproven

    def origin_share(self, load: AccountLoad, *, proven: bool) -> int:
        """Returns how many connections an origin of the account may have; 0 if the account is at its limit."""
        room = self.connection_room(load)
        if room <= 0:
            return 0
        share = min(self.limits.connections_per_origin, (room + 1) // 2)
        if not proven:
            share = min(share, PROBATION, max(0, self.unproven_room(load) + PART - 1) // PART)
        return share

    def line_share(self, load: AccountLoad) -> int:
        """Returns how many jobs may wait for an origin of the account."""
        limits = self.limits
        room = (limits.waiting - self.waiting + 1) // 2 - load.waiting
        return min(limits.waiting_per_origin, (room + 1) // 2)

    def hold(self, load: AccountLoad, count: int, *, proven: bool) -> None:
        """Adds this many connections to the count; may be negative."""
        self.connections += count
        load.connections += count
        if not proven:
            self.judge(load, count)

    def judge(self, load: AccountLoad, count: int) -> None:
        """Adds this many connections to the count of unproven connections; may be negative."""
        self.unproven += count
        load.unproven += count

    @property
    def nearly_full(self) -> bool:
        """Whether more than three quarters of the connections are in use."""
        return self.connections * 4 > self.limits.connections * 3

    # --- addresses

    def address_room(self, load: AccountLoad, address: IPAddress) -> bool:
        """True if the account may have another connection to the address."""
        held = self._addresses.get(address)
        if held is None:
            return True
        free = self.limits.connections_per_address - held.connections
        return held.by_account.get(load.account, 0) < (free + 1) // 2

    def enter_address(self, load: AccountLoad, address: IPAddress) -> None:
        """Counts another connection of the account to the address."""
        held = self._addresses.get(address)
        if held is None:
            held = self._addresses[address] = AddressLoad()
        held.connections += 1
        held.by_account[load.account] = held.by_account.get(load.account, 0) + 1

    def leave_address(self, load: AccountLoad, address: IPAddress) -> None:
        """Removes a connection of the account to the address from the count."""
        held = self._addresses[address]
        held.connections -= 1
        left = held.by_account[load.account] - 1
        if left:
            held.by_account[load.account] = left
        else:
            del held.by_account[load.account]
        if not held.connections:
            del self._addresses[address]

    # --- origins that found no room

    def note_waiting(self, load: AccountLoad, origin: WaitingOrigin) -> None:
        """Notes that the origin needs a connection and found no room."""
        load.waiting_origins[origin] = None
        if self._waiting_accounts.get(load.account) is not load:
            self._waiting_accounts[load.account] = load

    def wants_slot(self, load: AccountLoad) -> bool:
        """True if a waiting origin could use the slot of an idle connection of this account."""
        if self.connections >= self.limits.connections:
            return bool(self._waiting_accounts)
        return bool(load.waiting_origins) and self.connection_room(load) <= 0

    def open_for_waiting(self) -> None:
        """Lets waiting origins open connections, one per account in turn, up to the free capacity."""
        turns = len(self._waiting_accounts)
        while turns > 0 and self.connections < self.limits.connections:
            account = next(iter(self._waiting_accounts))
            load = self._waiting_accounts.pop(account)
            before = self.connections
            if self.connection_room(load) > 0:
                while load.waiting_origins:
                    origin = next(iter(load.waiting_origins))
                    del load.waiting_origins[origin]
                    if origin.wants_connection:
                        origin.pump()
                        break
            if load.waiting_origins:
                self._waiting_accounts[account] = load
            turns = len(self._waiting_accounts) if self.connections > before else turns - 1

    @property
    def waiting_accounts(self) -> int:
        """Number of accounts with origins that wait for a connection."""
        return len(self._waiting_accounts)


class Slot:
    """The slot of a connection in the shared capacity, from before it is opened until it is closed."""

    __slots__ = ("_address", "_load", "_shared", "is_open")

    def __init__(self, shared: SharedCapacity, load: AccountLoad) -> None:
        self._shared = shared
        self._load = load
        self._address: IPAddress | None = None
        self.is_open = False
        """Whether the connection was opened: then its end gives the slot back."""

    @property
    def account(self) -> int:
        """The account of the connection."""
        return self._load.account

    def go_to(self, address: IPAddress) -> bool:
        """Counts the connection at this address only. Returns False if the address has no room, or if the connection is
        open: the time for the address before ended in the turn of the loop in which it was made."""
        if self.is_open:
            return False
        self.leave_address()
        if not self._shared.address_room(self._load, address):
            return False
        self._shared.enter_address(self._load, address)
        self._address = address
        return True

    def leave_address(self) -> None:
        """Counts the connection at no address."""
        address, self._address = self._address, None
        if address is not None:
            self._shared.leave_address(self._load, address)
