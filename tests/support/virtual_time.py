"""An event loop with virtual time, which passes only while no callback is ready. An hour takes as long as its events.

Code must not wait for the real world: for a thread or a socket.

Several processes may live on a loop. Each callback and task belongs to the process in whose context it was made, or to
the world outside. A process can be stopped for a while, as by SIGSTOP, or killed:

    the world                            a process
    ---------                            ---------
    process.enter(callback)  ------->    runs at once; or waits in `_inbox` while the process is stopped
    OUTSIDE                  <-------    call_later(..., context=OUTSIDE): goes on though the process is stopped
    stop()                               its timers and tasks that become ready wait in `_held`
    go_on()                              first tasks, then `_inbox`, then the timers that ended meanwhile: a process
                                         that continues reads its sockets before its timers run
    kill()                               its tasks are cancelled; its timers and `_inbox` never run
"""

import asyncio
import selectors
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from enum import Enum, auto
from typing import Any, TypeVar, cast

from tests.support.store import START

T = TypeVar("T")

OUTSIDE = Context()
"""The context of callbacks that belong to no process."""


def later(seconds: float, callback: Callable[..., object], *args: Any) -> asyncio.TimerHandle:
    """Calls back outside all processes."""
    return asyncio.get_running_loop().call_later(seconds, callback, *args, context=OUTSIDE)


class _Selector(selectors.SelectSelector):
    """Instead of waiting it lets time pass."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("nothing will ever happen any more")
        if timeout > 0:
            self.now += timeout
        return []


class ProcessState(Enum):
    RUNS = auto()
    STOPPED = auto()
    ENDS = auto()
    """Its tasks are being cancelled."""
    DEAD = auto()


class Process:
    """The callbacks and tasks of a process on the running loop."""

    def __init__(self) -> None:
        self.state = ProcessState.RUNS
        self._loop = asyncio.get_running_loop()
        self._context = copy_context()
        self._context.run(_process.set, self)
        self._held: list[asyncio.Handle] = []
        self._inbox: list[tuple[Callable[..., object], tuple[Any, ...]]] = []
        self.tasks: list[asyncio.Task[Any]] = []
        if isinstance(self._loop, VirtualLoop):
            self._loop.processes.append(self)

    @property
    def runs(self) -> bool:
        return self.state is ProcessState.RUNS

    def enter(self, callback: Callable[..., object], *args: Any) -> None:
        """Calls back in the process: at once, or once it goes on. A dead process is not called."""
        if self.state is ProcessState.STOPPED:
            self._inbox.append((callback, args))
        elif self.state is not ProcessState.RUNS:
            pass
        elif _process.get() is self:
            callback(*args)
        else:
            self._context.copy().run(callback, *args)

    def create_task(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        return self._loop.create_task(work, context=self._context.copy())

    def stop(self) -> None:
        """Stops the process wherever it waits. Must be called from outside."""
        assert self.runs
        self.state = ProcessState.STOPPED
        ready: deque[asyncio.Handle] = self._loop._ready  # type: ignore[attr-defined]
        for number, handle in enumerate(ready):
            if handle._context.get(_process) is self and not handle.cancelled():  # type: ignore[attr-defined]
                self._held.append(handle)
                ready[number] = nothing = asyncio.Handle(int, (), self._loop, OUTSIDE)
                nothing.cancel()

    def go_on(self) -> None:
        """Lets a stopped process go on."""
        assert self.state is ProcessState.STOPPED
        self.state = ProcessState.RUNS
        held, self._held, inbox, self._inbox = self._held, [], self._inbox, []
        self._make_ready([handle for handle in held if not isinstance(handle, asyncio.TimerHandle)])
        for callback, args in inbox:
            self._loop.call_soon(callback, *args, context=self._context.copy())
        self._make_ready([handle for handle in held if isinstance(handle, asyncio.TimerHandle)])

    def _make_ready(self, handles: list[asyncio.Handle]) -> None:
        for handle in handles:
            self._loop._ready.append(handle)  # type: ignore[attr-defined]

    async def kill(self) -> None:
        """Ends the process wherever it is: its tasks are cancelled, and nothing else of it runs any more."""
        held, self._held, self._inbox = self._held, [], []
        self.state = ProcessState.ENDS
        self._make_ready([handle for handle in held if not isinstance(handle, asyncio.TimerHandle)])
        current = asyncio.current_task()
        tasks = [task for task in self.tasks if not task.done() and task is not current]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.state = ProcessState.DEAD
        self.tasks.clear()


_process: ContextVar[Process | None] = ContextVar("_process", default=None)


class _Ready(deque[asyncio.Handle]):
    """The ready callbacks of a loop, without those of processes that do not run."""

    def append(self, handle: asyncio.Handle) -> None:
        process = handle._context.get(_process)  # type: ignore[attr-defined]
        if process is None or process.state is ProcessState.RUNS:
            super().append(handle)
        elif process.state is ProcessState.STOPPED:
            process._held.append(handle)
        elif process.state is ProcessState.ENDS and not isinstance(handle, asyncio.TimerHandle):
            super().append(handle)


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._virtual = _Selector()
        super().__init__(self._virtual)
        self._ready = _Ready()
        self.processes: list[Process] = []

    def time(self) -> float:
        return self._virtual.now

    def create_task(self, coro: Any, **named: Any) -> asyncio.Task[Any]:
        task = super().create_task(coro, **named)
        context = named.get("context")
        process = _process.get() if context is None else context.get(_process)
        if process is not None:
            if len(process.tasks) > 100:
                process.tasks = [each for each in process.tasks if not each.done()]
            process.tasks.append(task)
        return task


class VirtualClock:
    """`app.ports.Clock` of the running loop. `ahead` is by how many ms the wall clock is wrong."""

    def __init__(self, start: int = START, ahead: int = 0) -> None:
        self._start = start
        self.ahead = ahead

    def now(self) -> int:
        return self._start + self.ahead + int(self.monotonic() * 1000)

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()


def run(work: Coroutine[Any, Any, T]) -> T:
    """Runs it in a world of its own time."""

    async def to_its_end() -> T:
        try:
            return await work
        finally:
            for process in loop.processes:
                if process.state is ProcessState.STOPPED:  # its tasks could not be cancelled
                    process.go_on()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        loop = cast("VirtualLoop", runner.get_loop())
        return runner.run(to_its_end())
