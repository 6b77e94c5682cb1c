"""The door in the data directory: who knocks, what is answered, and that nobody can hold it open."""

import asyncio
import contextlib
import json
import stat
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from heliograph.adapters.control.server import ControlServer, Handler, Send
from heliograph.runtime.data_directory import FILE_NAME, socket_path
from tests.support.timeouts import PATIENCE_S


async def echo(request: Mapping[str, Any], send: Send) -> None:
    await send({"heard": request.get("word")})


async def refuse(_: Mapping[str, Any], __: Send) -> None:
    raise ValueError("not like this")


@asynccontextmanager
async def opened(data: Path, **handlers: Handler) -> AsyncIterator[ControlServer]:
    door = ControlServer(data, {"echo": echo, "refuse": refuse, **handlers})
    await door.open()
    try:
        yield door
    finally:
        await door.close()


async def knock(data: Path) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    with socket_path(data) as path:
        return await asyncio.open_unix_connection(path)


async def ask(data: Path, line: bytes) -> list[dict[str, Any]]:
    reader, writer = await knock(data)
    writer.write(line)
    async with asyncio.timeout(PATIENCE_S):
        answer = await reader.read()
    writer.close()
    return [json.loads(each) for each in answer.splitlines()]


@pytest.fixture
def deep(tmp_path: Path) -> Path:
    """A data directory whose path is longer than a socket's may be."""
    data = tmp_path / ("d" * 60) / ("e" * 60)
    data.mkdir(parents=True)
    return data


async def test_it_answers_and_only_its_owner_may_knock(tmp_path: Path) -> None:
    async with opened(tmp_path):
        mode = (tmp_path / FILE_NAME).stat().st_mode
        assert stat.S_ISSOCK(mode)
        assert stat.S_IMODE(mode) == 0o600
        assert await ask(tmp_path, b'{"ask": "echo", "word": "\xc3\xa9"}\n') == [{"heard": "é"}]
    assert not (tmp_path / FILE_NAME).exists()


async def test_a_deep_directory_is_no_hindrance(deep: Path) -> None:
    async with opened(deep):
        assert await ask(deep, b'{"ask": "echo", "word": 1}\n') == [{"heard": 1}]
    assert not (deep / FILE_NAME).exists()


@pytest.mark.parametrize(
    "line", [b"\n", b"{}\n", b"[]\n", b"null\n", b'{"ask": "what"}\n', b'{"ask": ["echo"]}\n', b"\xff\n", b'{"ask"\n']
)
async def test_nonsense_is_told_so(tmp_path: Path, line: bytes) -> None:
    async with opened(tmp_path):
        (answer,) = await ask(tmp_path, line)
        assert set(answer) == {"problem"}
        assert await ask(tmp_path, b'{"ask": "echo"}\n') == [{"heard": None}]


async def test_what_a_handler_refuses_is_told(tmp_path: Path) -> None:
    async with opened(tmp_path):
        assert await ask(tmp_path, b'{"ask": "refuse"}\n') == [{"problem": "not like this"}]


async def test_who_leaves_is_not_spoken_to_any_more(tmp_path: Path) -> None:
    ended = asyncio.Event()

    async def forever(_: Mapping[str, Any], send: Send) -> None:
        try:
            await send({"event": "listening"})
            await asyncio.Event().wait()
        finally:
            ended.set()

    async with opened(tmp_path, forever=forever):
        reader, writer = await knock(tmp_path)
        writer.write(b'{"ask": "forever"}\n')
        assert json.loads(await reader.readline()) == {"event": "listening"}
        writer.close()
        async with asyncio.timeout(PATIENCE_S):
            await ended.wait()


async def test_the_gateways_end_ends_every_talk(tmp_path: Path) -> None:
    async def forever(_: Mapping[str, Any], send: Send) -> None:
        await send({"event": "listening"})
        await asyncio.Event().wait()

    async with opened(tmp_path, forever=forever):
        reader, writer = await knock(tmp_path)
        writer.write(b'{"ask": "forever"}\n')
        await reader.readline()
    async with asyncio.timeout(PATIENCE_S):
        assert await reader.read() == b""
    writer.close()


async def test_a_socket_that_a_killed_gateway_left_is_no_hindrance(tmp_path: Path) -> None:
    first = ControlServer(tmp_path, {"echo": echo})
    await first.open()
    async with opened(tmp_path):
        assert await ask(tmp_path, b'{"ask": "echo"}\n') == [{"heard": None}]
    await first.close()


async def test_a_line_without_an_end_is_not_waited_for_when_its_sender_leaves(tmp_path: Path) -> None:
    async with opened(tmp_path):
        reader, writer = await knock(tmp_path)
        writer.write(b'{"ask": ')
        writer.write_eof()
        async with asyncio.timeout(PATIENCE_S):
            answer = json.loads(await reader.read())
        assert "problem" in answer
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


async def test_closing_what_was_never_open_is_harmless(tmp_path: Path) -> None:
    await ControlServer(tmp_path, {}).close()
