"""What of a lane's messages is in the queue's rows, account by account, and how it comes back in its order.

An account that has more than the lane keeps in memory gets rows for what is beyond. From then on its order is kept by
this: first what stands in the fast lane, then its rows, then what is newer. Three stages, and then the account is as
any other:

- `ROWS`: new messages go to the rows.
- `CLOSING`: a look at the rows found none, while a commit was writing some. New messages stay in memory again, behind.
- `MEMORY`: no row is left behind. New messages stay in memory, right behind those that came back.

`OPEN` is for rows that are not in the way of new messages: scheduled ones, and those that an operator put off.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from enum import IntEnum
from typing import Generic, TypeVar

T = TypeVar("T")


class Stage(IntEnum):
    """Where an account's new messages go."""

    OPEN = 0
    ROWS = 1
    CLOSING = 2
    MEMORY = 3


class Backlog(Generic[T]):
    """One account's."""

    __slots__ = ("account", "items", "later", "since", "stage", "written")

    def __init__(self, account: int) -> None:
        self.account = account
        self.items: deque[T] = deque()
        """What may go, in its order: claimed rows, and what stands behind the last of them."""
        self.later: deque[T] = deque()
        """While closing: what goes when the last rows are here."""
        self.stage = Stage.OPEN
        self.since = 0
        """What stands in the fast lane up to this key goes first."""
        self.written = 0
        """The commit of the lane that wrote the last of its rows, or will."""


class Backlogs(Generic[T]):
    """Those of a lane. Accounts take turns, so that a million messages of one are not in the way of another's ten.

    `begun` and `done` count commits: a row that is asked for now is of the commit after `begun`, and can be read if
    it is of `done` or an earlier one.
    """

    __slots__ = ("_turns", "awaited", "begun", "by_account", "count", "done", "held")

    def __init__(self) -> None:
        self.by_account: dict[int, Backlog[T]] = {}
        self._turns: deque[Backlog[T]] = deque()
        """Those with something that may go, each once."""
        self.count = 0
        """Messages that may go, of all."""
        self.held = 0
        """Messages that may not, since older ones are still in the rows."""
        self.begun = 0
        self.done = 0
        self.awaited = 0
        """Until this commit is done rows are missing that are older than some that are there."""

    def __len__(self) -> int:
        return self.count + self.held

    @property
    def expectant(self) -> bool:
        """Whether it must be found out if rows of some account are left."""
        return any(backlog.stage in (Stage.ROWS, Stage.CLOSING) for backlog in self.by_account.values())

    def queues(self) -> Iterator[deque[T]]:
        """Those in memory, queue by queue, each in its order."""
        for backlog in self.by_account.values():
            yield backlog.items
            yield backlog.later

    def items(self) -> Iterator[T]:
        """All in memory."""
        for queue in self.queues():
            yield from queue

    # --- in

    def write(self, account: int, newest: int) -> list[T]:
        """The next commit writes a row of the account; up to the key `newest` the fast lane goes first. Returns what
        must go to the rows with it, since it is newer than some of them and older than this one."""
        backlog = self._of(account)
        backlog.written = self.begun + 1
        if backlog.stage == Stage.OPEN:
            backlog.since = newest
        backlog.stage = Stage.ROWS
        newer, backlog.later = list(backlog.later), deque()
        self.held -= len(newer)
        return newer

    @property
    def claimable(self) -> bool:
        """Whether the rows are complete enough to be claimed in their order."""
        return self.done >= self.awaited

    def suspect(self, accounts: Iterable[int]) -> None:
        """These have rows that were there before anything that comes now. What the next commit puts among them is to
        be waited for."""
        self.awaited = self.begun + 1
        for account in accounts:
            backlog = self._of(account)
            if backlog.stage != Stage.CLOSING:
                backlog.stage = Stage.ROWS

    def claimed(self, account: int, item: T) -> None:
        """A row's message is here."""
        self._append(self._of(account), item)

    def admit(self, backlog: Backlog[T], item: T) -> None:
        """A new message of an account that is in the stage CLOSING or MEMORY."""
        if backlog.stage == Stage.CLOSING:
            backlog.later.append(item)
            self.held += 1
        else:
            self._append(backlog, item)

    def put_back(self, account: int, item: T) -> None:
        """A new message that was taken and cannot go yet: before all others of its account."""
        backlog = self.by_account.get(account)
        if backlog is None:
            backlog = self._of(account)
            backlog.stage = Stage.MEMORY
        if not backlog.items:
            self._turns.append(backlog)
        backlog.items.appendleft(item)
        self.count += 1

    # --- out

    def take(self, fast: int | None) -> T | None:
        """The next account's next message; `fast` is the key of the fast lane's first, which some are behind."""
        turns = self._turns
        for _ in range(len(turns)):
            backlog = turns[0]
            turns.rotate(-1)
            if fast is not None and fast <= backlog.since:
                continue
            item = backlog.items.popleft()
            self.count -= 1
            if not backlog.items:
                turns.pop()
                self._tidy(backlog)
            return item
        return None

    def remove(self, account: int, item: T) -> bool:
        """False if it is not here."""
        backlog = self.by_account.get(account)
        return backlog is not None and bool(self._remove_from(backlog, lambda each: each is item))

    def take_out(self, wanted: Callable[[T], bool]) -> list[T]:
        """Removes those and returns them."""
        out: list[T] = []
        for backlog in list(self.by_account.values()):
            out += self._remove_from(backlog, wanted)
        return out

    # --- what becomes of the rows

    def found(self, left: Collection[int], done: int) -> None:
        """A look at the rows that began when the commit `done` was the last one over found unclaimed ones of these
        accounts. All that was claimed before is here."""
        for backlog in list(self.by_account.values()):
            if backlog.account in left or backlog.stage not in (Stage.ROWS, Stage.CLOSING):
                continue
            if backlog.written > done:
                backlog.stage = Stage.CLOSING
                continue
            backlog.stage = Stage.MEMORY
            later, backlog.later = backlog.later, deque()
            self.held -= len(later)
            for item in later:
                self._append(backlog, item)
            self._tidy(backlog)

    def committed(self) -> None:
        """The commit is over."""
        self.done = self.begun

    def refused(self) -> None:
        """It failed: its rows, if they are still to be written, are the next one's."""
        if self.awaited == self.begun:
            self.awaited += 1
        for backlog in self.by_account.values():
            if backlog.written == self.begun:
                backlog.written += 1

    # --- inside

    def _of(self, account: int) -> Backlog[T]:
        backlog = self.by_account.get(account)
        if backlog is None:
            backlog = self.by_account[account] = Backlog(account)
        return backlog

    def _append(self, backlog: Backlog[T], item: T) -> None:
        if not backlog.items:
            self._turns.append(backlog)
        backlog.items.append(item)
        self.count += 1

    def _remove_from(self, backlog: Backlog[T], wanted: Callable[[T], bool]) -> list[T]:
        out = [item for item in (*backlog.items, *backlog.later) if wanted(item)]
        if out:
            before = len(backlog.items), len(backlog.later)
            backlog.items = deque(item for item in backlog.items if not wanted(item))
            backlog.later = deque(item for item in backlog.later if not wanted(item))
            self.count -= before[0] - len(backlog.items)
            self.held -= before[1] - len(backlog.later)
            if before[0] and not backlog.items:
                self._turns.remove(backlog)
            self._tidy(backlog)
        return out

    def _tidy(self, backlog: Backlog[T]) -> None:
        """It is forgotten when it has no message, and no new one need wait for one."""
        if not backlog.items and not backlog.later and backlog.stage in (Stage.OPEN, Stage.MEMORY):
            del self.by_account[backlog.account]
