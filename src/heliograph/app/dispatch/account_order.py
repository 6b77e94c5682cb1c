"""The order of an account's messages while some of them are in a lane's memory and others in the queue's rows.

An account with more messages than the lane keeps in memory spills the rest into rows. Its order is then: messages in
the fast lane, then its rows, then newer messages.

              a message is written to a row          the rows are read: none is left
      OPEN --------------------------------> SPILLING ------------------------------> DRAINED --> (forgotten when empty)
                                             ^      |                                    |
                                             |      | none is left, but the commit       | a message is written to a row
                                             |      v under way writes more rows         |
                                             |    DRAINING ---- none is left ----------->|
                                             '-------------------------------------------'

- `OPEN`: rows that new messages may pass: scheduled messages, messages put off by an operator, messages held by the
  gate.
- `SPILLING`: new messages go to the rows.
- `DRAINING`: new messages stay in memory (`later`), and wait until the last rows are claimed.
- `DRAINED`: new messages stay in memory, right behind the claimed rows (`items`).

What can go wrong: a commit that was to write rows fails. The rows are then expected from the next commit (`refused`).
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from enum import IntEnum
from typing import Generic, TypeVar

T = TypeVar("T")


class SpillStage(IntEnum):
    """Stage of an account's spill. It decides where new messages go."""

    OPEN = 0
    SPILLING = 1
    DRAINING = 2
    DRAINED = 3


class AccountQueue(Generic[T]):
    """Keeps the messages of an account that came back from its rows, and newer messages behind them."""

    __slots__ = ("account", "items", "later", "since", "stage", "written")

    def __init__(self, account: int) -> None:
        self.account = account
        self.items: deque[T] = deque()
        """Messages that may go, in their order: claimed rows, and newer messages behind the last row."""
        self.later: deque[T] = deque()
        """Newer messages that may go once the last rows are claimed, while the account is DRAINING."""
        self.stage = SpillStage.OPEN
        self.since = 0
        """Highest key of the account's messages in the fast lane that go before its rows."""
        self.written = 0
        """Number of the lane's commit that wrote the account's last row, or will write it."""


class AccountQueues(Generic[T]):
    """Takes the messages of a lane's accounts in turn, so that a campaign of a million does not delay another account's
    ten messages.

    `begun` and `done` count commits. A row that is requested now is written by the commit after `begun`, for example
    commit 8 if `begun` is 7. The row can be read once `done` has reached 8.
    """

    __slots__ = ("_turns", "awaited", "begun", "by_account", "count", "done", "held")

    def __init__(self) -> None:
        self.by_account: dict[int, AccountQueue[T]] = {}
        self._turns: deque[AccountQueue[T]] = deque()
        """Queues with a message that may go, each listed once."""
        self.count = 0
        """Messages that may go, of all accounts."""
        self.held = 0
        """Messages that may not go yet, since older messages are still in the rows."""
        self.begun = 0
        """Number of the last commit that began."""
        self.done = 0
        """Number of the last commit that succeeded."""
        self.awaited = 0
        """Number of the commit that claims must wait for: until then older rows may be missing beside newer rows."""

    def __len__(self) -> int:
        return self.count + self.held

    @property
    def must_read_rows(self) -> bool:
        """Whether the rows must be read to find out if an account still has any."""
        return any(queue.stage in (SpillStage.SPILLING, SpillStage.DRAINING) for queue in self.by_account.values())

    def waiting(self) -> Iterator[deque[T]]:
        """Yields the messages in memory, queue by queue, each in its order."""
        for queue in self.by_account.values():
            yield queue.items
            yield queue.later

    def items(self) -> Iterator[T]:
        """Yields all messages in memory."""
        for waiting in self.waiting():
            yield from waiting

    # --- in

    def write(self, account: int, newest: int) -> list[T]:
        """Notes that the next commit writes a row of the account. Messages up to the key `newest` in the fast lane go
        before it. Returns the messages that must be written too: newer than other rows, and older than this row."""
        queue = self._of(account)
        queue.written = self.begun + 1
        if queue.stage == SpillStage.OPEN:
            queue.since = newest
        queue.stage = SpillStage.SPILLING
        newer, queue.later = list(queue.later), deque()
        self.held -= len(newer)
        return newer

    @property
    def claimable(self) -> bool:
        """Whether the rows are complete enough to be claimed in their order."""
        return self.done >= self.awaited

    def suspect(self, accounts: Iterable[int]) -> None:
        """Notes accounts with rows older than all messages from now on. Claims wait for the next commit, which may add
        rows."""
        self.awaited = self.begun + 1
        for account in accounts:
            queue = self._of(account)
            if queue.stage != SpillStage.DRAINING:
                queue.stage = SpillStage.SPILLING

    def claimed(self, account: int, item: T) -> None:
        """Takes the message of a claimed row."""
        self._append(self._of(account), item)

    def admit(self, queue: AccountQueue[T], item: T) -> None:
        """Takes a new message of an account that is DRAINING or DRAINED."""
        if queue.stage == SpillStage.DRAINING:
            queue.later.append(item)
            self.held += 1
        else:
            self._append(queue, item)

    def put_back(self, account: int, item: T) -> None:
        """Puts a new message that cannot go yet back before all others of its account."""
        queue = self.by_account.get(account)
        if queue is None:
            queue = self._of(account)
            queue.stage = SpillStage.DRAINED
        if not queue.items:
            self._turns.append(queue)
        queue.items.appendleft(item)
        self.count += 1

    # --- out

    def take(self, fast: int | None) -> T | None:
        """Takes out the next message of the next account. `fast` is the key of the fast lane's first message: accounts
        with older messages there wait."""
        turns = self._turns
        for _ in range(len(turns)):
            queue = turns[0]
            turns.rotate(-1)
            if fast is not None and fast <= queue.since:
                continue
            item = queue.items.popleft()
            self.count -= 1
            if not queue.items:
                turns.pop()
                self._tidy(queue)
            return item
        return None

    def remove(self, account: int, item: T) -> bool:
        """Removes a message; False if it is not here."""
        queue = self.by_account.get(account)
        return queue is not None and bool(self._remove_from(queue, lambda each: each is item))

    def take_out(self, wanted: Callable[[T], bool]) -> list[T]:
        """Removes the wanted messages, and returns them."""
        out: list[T] = []
        for queue in list(self.by_account.values()):
            out += self._remove_from(queue, wanted)
        return out

    # --- readings of the rows

    def found(self, left: Collection[int], done: int) -> None:
        """Applies a reading of the rows that began after the commit `done`: the accounts `left` have unclaimed rows.
        Every row claimed before must have been passed to `claimed`."""
        for queue in list(self.by_account.values()):
            if queue.account in left or queue.stage not in (SpillStage.SPILLING, SpillStage.DRAINING):
                continue
            if queue.written > done:
                queue.stage = SpillStage.DRAINING
                continue
            queue.stage = SpillStage.DRAINED
            later, queue.later = queue.later, deque()
            self.held -= len(later)
            for item in later:
                self._append(queue, item)
            self._tidy(queue)

    def committed(self) -> None:
        """Notes that the commit is over."""
        self.done = self.begun

    def refused(self) -> None:
        """Notes that the commit failed. Its rows are expected from the next commit."""
        if self.awaited == self.begun:
            self.awaited += 1
        for queue in self.by_account.values():
            if queue.written == self.begun:
                queue.written += 1

    # --- inside

    def _of(self, account: int) -> AccountQueue[T]:
        queue = self.by_account.get(account)
        if queue is None:
            queue = self.by_account[account] = AccountQueue(account)
        return queue

    def _append(self, queue: AccountQueue[T], item: T) -> None:
        if not queue.items:
            self._turns.append(queue)
        queue.items.append(item)
        self.count += 1

    def _remove_from(self, queue: AccountQueue[T], wanted: Callable[[T], bool]) -> list[T]:
        out = [item for item in (*queue.items, *queue.later) if wanted(item)]
        if out:
            before = len(queue.items), len(queue.later)
            queue.items = deque(item for item in queue.items if not wanted(item))
            queue.later = deque(item for item in queue.later if not wanted(item))
            self.count -= before[0] - len(queue.items)
            self.held -= before[1] - len(queue.later)
            if before[0] and not queue.items:
                self._turns.remove(queue)
            self._tidy(queue)
        return out

    def _tidy(self, queue: AccountQueue[T]) -> None:
        """Forgets an empty queue that no new message must wait behind."""
        if not queue.items and not queue.later and queue.stage in (SpillStage.OPEN, SpillStage.DRAINED):
            del self.by_account[queue.account]
