"""The sender in a process of its own: the same service, and what happens when that process dies."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from heliograph.adapters.webhook import process
from heliograph.adapters.webhook.local import WebhookLimits, WebhookSettings
from heliograph.adapters.webhook.process import ProcessSender
from tests.support.sink import Answer, Sink
from tests.support.timeouts import PATIENCE_S
from tests.support.webhook_jobs import SECRET, Results, make_job, until

Start = Callable[..., Awaitable[ProcessSender]]


def limited(**changes: float) -> WebhookSettings:
    return WebhookSettings(
        ("127.0.0.1/32",), limits=msgspec.structs.replace(WebhookLimits(drain_seconds=0.2), **changes)
    )


def running(pid: int) -> bool:
    """Whether the process is there and no zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


@pytest.fixture
async def sink() -> AsyncIterator[Sink]:
    async with Sink() as sink:
        yield sink


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    """Starts senders with these limits, and closes them at the end: the loop of one that is left behind never ends."""
    senders: list[ProcessSender] = []

    async def started(**changes: float) -> ProcessSender:
        senders.append(ProcessSender(limited(**changes)))
        await senders[-1].start()
        return senders[-1]

    yield started
    for sender in senders:
        await sender.close()


@pytest.fixture
async def sender(start: Start) -> ProcessSender:
    return await start()


async def test_delivered_and_signed(sink: Sink, sender: ProcessSender) -> None:
    results = Results(sender)
    sender.post([make_job(key, sink.url(f"/{key}"), secrets=(SECRET, b"n" * 32)) for key in range(500)])
    assert {sent.code for sent in await results.of(*range(500))} == {200}
    assert len(sink.requests) == 500
    assert all(sink.signed_by(one, SECRET) and sink.signed_by(one, b"n" * 32) for one in sink.requests)


async def test_replies_come_through(sink: Sink, sender: ProcessSender) -> None:
    sink.default = Answer(200, {"Content-Type": "text/plain"}, "Grüße 🦊".encode())
    results = Results(sender)
    job = make_job(1, sink.url())
    job.wants_reply = True
    sender.post([job, make_job(2, sink.url())])
    assert [sent.reply for sent in await results.of(1, 2)] == ["Grüße 🦊", ""]


async def test_failures_come_through(sink: Sink, sender: ProcessSender) -> None:
    sink.script(Answer(410))
    results = Results(sender)
    sender.post([make_job(1, sink.url()), make_job(2, sink.url(host="127.0.0.2")), make_job(3, "nonsense")])
    assert await results.code(1) == 410
    assert await results.problem(2) == "its address is refused: loopback"
    assert "http" in await results.problem(3)


async def test_too_much_comes_back_at_once(sink: Sink, start: Start) -> None:
    gate = asyncio.Event()
    sink.default = Answer(gate=gate)
    sender = await start(outstanding=10)
    results = Results(sender)
    sender.post([make_job(key, sink.url()) for key in range(15)])
    assert all(sent.busy for sent in await results.of(*range(10, 15)))
    assert len(results.by_key) == 5
    gate.set()
    assert {sent.code for sent in await results.of(*range(10))} == {200}
    sender.post([make_job(20, sink.url())])
    assert await results.code(20) == 200


async def test_before_the_start_all_is_busy() -> None:
    sender = ProcessSender(limited())
    results = Results(sender)
    sender.post([make_job(1, "http://127.0.0.1/")])
    assert (await results.of(1))[0].busy
    await sender.close()


async def test_killed_its_jobs_are_lost_and_it_comes_back(sink: Sink, sender: ProcessSender) -> None:
    results = Results(sender)
    sender.post([make_job(1, sink.url())])
    assert await results.code(1) == 200
    for losses in (1, 2):
        sink.script(Answer(hang=True))
        sender.post([make_job(10 + losses, sink.url())])
        await sink.wait_for(2 * losses)
        pid = sender.pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        await results.until(lambda wanted=losses: results.losses == wanted)  # type: ignore[misc]
        assert sender.pid != pid
        assert 10 + losses not in results.by_key
        sender.post([make_job(20 + losses, sink.url())])
        assert await results.code(20 + losses) == 200
    assert results.losses == 2


async def test_killed_with_nothing_to_lose(sink: Sink, sender: ProcessSender) -> None:
    results = Results(sender)
    pid = sender.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    await until(lambda: sender.pid not in (None, pid))
    await until(lambda: sender._channel is not None)
    sender.post([make_job(1, sink.url())])
    assert await results.code(1) == 200
    assert results.losses == 0


async def test_a_child_that_hangs_is_killed(sink: Sink, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "WATCH_SECONDS", 0.05)
    sender = await start()
    results = Results(sender)
    sender.post([make_job(1, sink.url())])
    assert await results.code(1) == 200
    pid = sender.pid
    assert pid is not None
    # of so long a wait and a try it would be told otherwise
    limits = WebhookLimits()
    allowed = limits.wait_seconds + limits.try_seconds
    monkeypatch.setattr(process, "SILENCE_SECONDS", 0.2 - allowed)
    os.kill(pid, signal.SIGSTOP)
    sender.post([make_job(2, sink.url())])
    await results.until(lambda: results.losses == 1)
    assert not running(pid)


async def test_close_lets_jobs_finish(sink: Sink, start: Start) -> None:
    gate = asyncio.Event()
    sink.default = Answer(gate=gate)
    sender = await start(drain_seconds=PATIENCE_S)
    results = Results(sender)
    sender.post([make_job(key, sink.url()) for key in range(200)])
    await sink.wait_for(1)
    pid = sender.pid
    assert pid is not None
    closing = asyncio.ensure_future(sender.close())
    await asyncio.sleep(0)
    gate.set()
    await closing
    assert {sent.code for sent in results.by_key.values()} == {200}
    assert len(results.by_key) == 200
    assert results.losses == 0
    assert not running(pid)


async def test_close_ends_what_hangs(sink: Sink, sender: ProcessSender, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "EXIT_SECONDS", PATIENCE_S)  # what the child may need to tell of it
    sink.default = Answer(hang=True)
    results = Results(sender)
    sender.post([make_job(1, sink.url())])
    await sink.wait_for(1)
    await sender.close()
    assert results.by_key[1].problem == "the gateway is stopping"


async def test_close_ends_a_child_that_reads_nothing(sink: Sink, start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "EXIT_SECONDS", 0.0)
    sender = await start(drain_seconds=0.0)
    results, pid = Results(sender), sender.pid
    sender.post([make_job(100, sink.url())])
    assert await results.code(100) == 200
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    sender.post([make_job(key, sink.url(), b"x" * 65_536) for key in range(100)])  # more than the sockets hold
    async with asyncio.timeout(PATIENCE_S):
        await sender.close()
    assert results.losses == 1
    assert not running(pid)


async def test_signals_of_the_terminal_and_the_service_manager_do_not_end_it(sink: Sink, sender: ProcessSender) -> None:
    results = Results(sender)
    sender.post([make_job(1, sink.url())])
    assert await results.code(1) == 200
    pid = sender.pid
    assert pid is not None
    os.kill(pid, signal.SIGINT)
    os.kill(pid, signal.SIGTERM)
    sender.post([make_job(2, sink.url())])
    assert await results.code(2) == 200
    assert sender.pid == pid


async def test_the_child_inherits_neither_files_nor_settings(
    sink: Sink, start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HELIOGRAPH_DATABASE_URL", "postgresql://gateway:hush@db/heliograph")
    with (tmp_path / "secret").open("wb") as secret, socket.socket() as other:
        os.set_inheritable(secret.fileno(), True)
        os.set_inheritable(other.fileno(), True)
        sender = await start()
        results = Results(sender)
        sender.post([make_job(1, sink.url())])
        assert await results.code(1) == 200
        child = Path(f"/proc/{sender.pid}")
        opened = {str(link.readlink()) for link in (child / "fd").iterdir()}
        assert str(tmp_path / "secret") not in opened
        assert f"socket:[{os.fstat(other.fileno()).st_ino}]" not in opened
        assert b"hush" not in (child / "environ").read_bytes()


PARENT = """
import asyncio
from heliograph.adapters.webhook.process import ProcessSender
from heliograph.adapters.webhook.local import WebhookSettings

async def main() -> None:
    sender = ProcessSender(WebhookSettings())
    await sender.start()
    print(sender.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


async def test_the_child_ends_with_its_parent() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE) as parent:  # noqa: ASYNC220
        assert parent.stdout is not None
        child = int(await asyncio.to_thread(parent.stdout.readline))
        assert running(child)
        parent.kill()
    await until(lambda: not running(child))


def test_the_process_imports_nothing_of_the_engine() -> None:
    # the rest of the rings, the ports and all that these name would be in its memory for as long as it lives
    tells = "import sys, heliograph.adapters.webhook.process; print(*sys.modules)"
    said = subprocess.run([sys.executable, "-P", "-c", tells], check=True, capture_output=True, text=True).stdout
    ours = {name for name in said.split() if name.startswith(("heliograph.app.", "heliograph.domain."))}
    assert ours == {
        "heliograph.app.webhook_job",
        "heliograph.domain.limits",
        "heliograph.domain.limits.defaults",
        "heliograph.domain.security",
        "heliograph.domain.security.host",
        "heliograph.domain.security.signature",
    }
    assert not {"heliograph.runtime", "heliograph.smpp", "sqlite3", "email", "json"} & set(said.split())
