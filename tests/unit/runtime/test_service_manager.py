"""The messages of the gateway to systemd."""

import asyncio
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from heliograph.runtime.service_manager import ServiceManager


@pytest.fixture
def heard(tmp_path: Path) -> Iterator[socket.socket]:
    """The socket that systemd listens at."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.setblocking(False)
        yield listening


async def test_it_hears_ready_signs_of_life_and_the_stop(heard: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    manager = ServiceManager({"NOTIFY_SOCKET": heard.getsockname(), "WATCHDOG_USEC": "20000"})
    manager.ready()
    assert [await loop.sock_recv(heard, 100) for _ in range(3)] == [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1"]
    manager.stopping()
    while (told := await loop.sock_recv(heard, 100)) == b"WATCHDOG=1":
        pass
    assert told == b"STOPPING=1"
    assert await loop.sock_recv(heard, 100) == b"WATCHDOG=1"  # a stop takes its time
    manager.stopped()


async def test_an_abstract_socket_is_found(tmp_path: Path) -> None:
    name = f"heliograph-test-{os.getpid()}-{tmp_path.name}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(f"\0{name}")
        ServiceManager({"NOTIFY_SOCKET": f"@{name}"}).ready()
        assert listening.recv(100) == b"READY=1"


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"NOTIFY_SOCKET": "/nowhere/notify", "WATCHDOG_USEC": "1000000"},
        {"WATCHDOG_USEC": "1000000"},
    ],
    ids=["no systemd", "nobody listens", "only the watchdog"],
)
async def test_a_gateway_without_systemd_runs_as_well(environ: dict[str, str]) -> None:
    manager = ServiceManager(environ)
    manager.ready()
    manager.stopping()
    manager.stopped()


async def test_the_watchdog_of_another_process_is_not_fed(heard: socket.socket) -> None:
    others = {"WATCHDOG_USEC": "1000", "WATCHDOG_PID": str(os.getpid() + 1)}
    manager = ServiceManager({"NOTIFY_SOCKET": heard.getsockname()} | others)
    manager.ready()
    assert heard.recv(100) == b"READY=1"
    await asyncio.sleep(0)
    with pytest.raises(BlockingIOError):
        heard.recv(100)
    manager.stopped()
