"""An origin (scheme, host, port) of an account: its connections, its queue of jobs, and its health.

Everything runs on the loop, without a task, a future or a timer for each job. A job is written to an idle connection at
once, or waits in the queue until a connection is free. Only opening a connection is a task.
"""

import asyncio
from collections import deque

from heliograph.http_client.capacity import AccountLoad, SharedCapacity, Slot
from heliograph.http_client.connection import ClientConnection
from heliograph.http_client.dial import AddressFull, AddressRefused, NameUnknown, explain, is_own_fault
from heliograph.http_client.request import OriginAddress, standing_lines
from heliograph.http_client.requester import AnswerBody, Job
from heliograph.net.address_guard import IPAddress

UNWELL = frozenset((429, 502, 503, 504))
"""Statuses about the whole origin, not about a single URL."""

RETRY_CONNECT_SECONDS = 1.0
"""Seconds. Pause after a failed connection while others are open: the origin has as many as it wants."""

FEED = 1.05
"""Factor by which jobs are offered faster than an origin with a full queue has answered recently. The queue must not
run empty, and the origin may have become faster.
"""

LONGEST_ROOM_SECONDS = 300.0
"""Seconds. The longest time for which a job is put off, however many jobs are before it."""


class Origin:
    """An origin for a single account. Another account has its own connections, queue and health for the same origin, so
    neither can affect the other's.
    """

    __slots__ = (
        "_connecting",
        "_failures",
        "_full_address",
        "_held_until",
        "_idle",
        "_load",
        "_open",
        "_pause",
        "_probe",
        "_proven",
        "_rate",
        "_retries",
        "_room_at",
        "_served",
        "_shared",
        "_shut_until",
        "_slots",
        "_standing",
        "_swept_at",
        "_waiting",
        "address",
        "used",
    )

    def __init__(self, address: OriginAddress, shared: SharedCapacity, load: AccountLoad) -> None:
        """`load` is that of the account."""
        self.address = address
        self._shared = shared
        self._load = load
        self._standing = standing_lines(address)
        self._idle: list[ClientConnection] = []
        self._open: set[ClientConnection] = set()
        self._connecting = 0
        self._slots = 0
        """Connections that are counted: open, or being opened."""
        self._full_address: IPAddress | None = None
        """The address without room for another connection."""
        self._proven = False
        """Whether the origin has answered, and not failed since."""
        self._waiting: deque[tuple[Job, str, float]] = deque()
        self._retries: deque[tuple[Job, str, float]] = deque()
        self._failures = 0
        self._shut_until = 0.0
        self._pause = shared.limits.breaker_seconds
        self._probe: Job | None = None
        self._held_until = 0.0
        self._served: int | None = None
        """The number of answers since the last sweep, if jobs were queued then."""
        self._swept_at = 0.0
        self._rate = 0.0
        """Recent answers a second while jobs were queued; 0 if unknown."""
        self._room_at = 0.0
        """The time up to which the queue is reserved for jobs that were put off."""
        self.used = 0.0

    @property
    def unused(self) -> bool:
        """Whether the origin has no connections and no jobs; forgetting it then loses only its health."""
        return not (self._open or self._connecting or self._waiting or self._retries)

    @property
    def wants_connection(self) -> bool:
        """See `capacity.WaitingOrigin`."""
        return len(self._waiting) + len(self._retries) > self._connecting

    # --- jobs in

    def offer(self, job: Job, path: str, now: float) -> None:
        """Sends the job, queues it, or gives it back as busy."""
        self.used = now
        if self._shut_until and not self._may_probe(job, now):
            self._shared.requester.put_off(job, "it failed too often and is left alone for a while", 0.0)
        elif self._idle:
            connection = self._idle.pop()
            connection.send(job, path, self._shared.requester.octets(job, path, self._standing), now)
        elif len(self._waiting) >= self._shared.line_share(self._load):
            self._give_back(job, "too many wait for it already", self._room(now))
        else:
            self._waiting.append((job, path, now))
            self._shared.waiting += 1
            self._load.waiting += 1
            self.pump()

    def _room(self, now: float) -> float:
        """Returns the seconds until the queue has a slot, behind the jobs that were put off before; 0 if unknown. The
        first of these return when half of the queue is done."""
        if not self._rate:
            return 0.0
        gap = 1.0 / (self._rate * FEED)
        self._room_at = max(self._room_at, now + gap * len(self._waiting) / 2) + gap
        return min(self._room_at - now, LONGEST_ROOM_SECONDS)

    def pump(self) -> None:
        """Opens as many connections as there are queued jobs, within the capacity.

        At first only a single connection: a dead origin then uses no more than that.
        """
        shared = self._shared
        while self.wants_connection and self._slots < shared.limits.connections_per_origin:
            if self._connecting and not self._open:
                return
            if self._open and self._held_until and self._held_until > asyncio.get_running_loop().time():
                return
            if self._full_address is not None and shared.address_room(self._load, self._full_address):
                self._full_address = None
            if self._full_address is not None or self._slots >= shared.origin_share(self._load, proven=self._proven):
                if shared.connections >= shared.limits.connections or not self._slots:
                    shared.note_waiting(self._load, self)
                return
            self._connecting += 1
            self._slots += 1
            shared.hold(self._load, 1, proven=self._proven)
            task = asyncio.get_running_loop().create_task(self._connect())
            shared.tasks.add(task)
            task.add_done_callback(shared.tasks.discard)

    async def _connect(self) -> None:
        started = asyncio.get_running_loop().time()
        shared = self._shared
        slot = Slot(shared, self._load)
        problem: Exception | None = None
        made: list[ClientConnection] = []

        def make() -> ClientConnection:
            made.append(ClientConnection(self, shared.limits, started, slot))
            return made[-1]

        try:
            await shared.dialer.dial(self.address, make, slot)
        except (OSError, AddressRefused, NameUnknown) as error:
            problem = error
        except asyncio.CancelledError:
            if slot.is_open:
                made[-1].cut_off()
            raise
        finally:
            self._connecting -= 1
            if not slot.is_open:
                self._leave(slot)
        if problem is not None and slot.is_open:
            # The time for the dial ended in the turn of the loop in which the connection was made.
            made[-1].cut_off()
            return
        if problem is not None:
            self._not_connected(problem, started)
        self.pump()
        shared.open_for_waiting()

    def _leave(self, slot: Slot) -> None:
        """Gives the slot of a connection back."""
        slot.leave_address()
        self._slots -= 1
        self._shared.hold(self._load, -1, proven=self._proven)

    def _not_connected(self, error: Exception, started: float) -> None:
        if isinstance(error, AddressFull):
            self._full_address = error.address
        elif is_own_fault(error):
            self._give_back_line("the gateway has no connection left")
        elif self._open:
            # It accepts no more connections; these are enough.
            self._held_until = asyncio.get_running_loop().time() + RETRY_CONNECT_SECONDS
        else:
            # Jobs queued before would have failed too.
            line: list[Job] = []
            while self._retries or (self._waiting and self._waiting[0][2] <= started):
                line.append(self._next_in_line()[0])
            problem = explain(error)
            for job in line:
                self.failed(job, problem)

    def _next_in_line(self) -> tuple[Job, str, float]:
        if self._retries:
            return self._retries.popleft()
        return self._next_waiting()

    def _next_waiting(self) -> tuple[Job, str, float]:
        self._shared.waiting -= 1
        self._load.waiting -= 1
        return self._waiting.popleft()

    # --- from the connections

    def opened(self, connection: ClientConnection) -> None:
        """Gives a new connection the first queued job. Opening the connection has used some of that job's time."""
        self._open.add(connection)
        connection.slot.is_open = True
        if self._retries or self._waiting:
            second = bool(self._retries)
            job, path, since = self._next_in_line()
            started = since if second else max(since, connection.started)
            connection.send(job, path, self._shared.requester.octets(job, path, self._standing), started)
        else:
            connection.rest(asyncio.get_running_loop().time() + self._shared.limits.idle_seconds)
            self._idle.append(connection)

    def wants_body(self, job: Job, code: int, answer: AnswerBody) -> bool:
        return self._shared.requester.wants_body(job, code, answer)

    def answered(self, job: Job, code: int, answer: AnswerBody | None) -> None:
        if self._served is not None:
            self._served += 1
        if code in UNWELL:
            self._unwell(job)
        elif not self._proven:
            self._well()
        self._shared.requester.answered(job, code, answer)

    def failed(self, job: Job, problem: str) -> None:
        self._unwell(job)
        self._shared.requester.failed(job, problem)

    def again(self, job: Job, path: str, started: float) -> None:
        self._retries.append((job, path, started))

    def released(self, connection: ClientConnection) -> None:
        if not self._waiting:
            if self._shared.wants_slot(self._load):
                # Another account needs its slot, now or soon.
                connection.close("")
            else:
                self._idle.append(connection)
        elif self._shared.nearly_full and len(self._open) > 1 and self._shared.connection_room(self._load) < 0:
            # The account has more connections than a newcomer would get, and another connection here: it makes room.
            connection.close("")
        else:
            job, path, _ = self._next_waiting()
            now = asyncio.get_running_loop().time()
            connection.send(job, path, self._shared.requester.octets(job, path, self._standing), now)

    def lost(self, connection: ClientConnection) -> None:
        self._open.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)
        self._leave(connection.slot)
        self.pump()
        self._shared.open_for_waiting()

    # --- health

    def _may_probe(self, job: Job, now: float) -> bool:
        if now < self._shut_until or self._probe is not None:
            return False
        self._probe = job
        return True

    def _well(self) -> None:
        self._proven = True
        self._shared.judge(self._load, -self._slots)
        self._failures = 0
        self._shut_until = 0.0
        self._probe = None
        self._pause = self._shared.limits.breaker_seconds
        if self._waiting:
            self.pump()

    def _unwell(self, job: Job) -> None:
        if self._proven:
            self._proven = False
            self._shared.judge(self._load, self._slots)
        self._failures += 1
        self._room_at = self._rate = 0.0
        limits = self._shared.limits
        if self._shut_until:
            if self._probe is not job:
                return
        elif self._failures < limits.breaker_failures:
            return
        self._probe = None
        self._shut_until = asyncio.get_running_loop().time() + self._pause
        self._pause = min(2 * self._pause, limits.breaker_longest_seconds)
        self._give_back_line("it failed too often and is left alone for a while")

    def _give_back_line(self, problem: str) -> None:
        """Gives back all queued jobs as busy: they were not tried, or at least not read."""
        while self._retries or self._waiting:
            self._give_back(self._next_in_line()[0], problem)

    def _give_back(self, job: Job, problem: str, room: float = 0.0) -> None:
        if self._probe is job:
            self._probe = None
        self._shared.requester.put_off(job, problem, room)

    # --- time

    def sweep(self, now: float) -> None:
        """Cuts connections and jobs beyond their deadline; called a few times a second while there are any."""
        self._measure(now)
        limits = self._shared.limits
        early = 0.0
        if self._shared.wants_slot(self._load):
            early = limits.idle_seconds
        elif self._shared.nearly_full:
            early = limits.idle_seconds - limits.full_idle_seconds
        for connection in [one for one in self._open if one.deadline <= now]:
            connection.expire()
        if early:
            for connection in [one for one in self._idle if one.deadline - early <= now]:
                connection.close("")
        while self._waiting and self._waiting[0][2] + limits.wait_seconds <= now:
            self._give_back(self._next_waiting()[0], "it takes too long for those before", self._room(now))
        while self._retries and self._retries[0][2] + limits.try_seconds <= now:
            self.failed(self._retries.popleft()[0], f"no answer within {limits.try_seconds:g} s")
        self.pump()

    def _measure(self, now: float) -> None:
        """Measures how fast the origin answers while jobs are queued."""
        if not self._waiting:
            self._served = None
            return
        if self._served is not None and now > self._swept_at:
            rate = self._served / (now - self._swept_at)
            self._rate = (self._rate + rate) / 2 if self._rate and rate else rate
        self._served, self._swept_at = 0, now

    def stop(self) -> None:
        """Gives back all jobs and closes all connections."""
        self._give_back_line("the gateway is stopping")
        for connection in list(self._open):
            connection.close("the gateway is stopping")
