"""The simulator runs on uvloop, as in production."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, BinaryIO

import pytest
import uvloop

from heliograph.simulator.behaviour import Behaviour
from heliograph.simulator.smsc import Simulator
from tests.integration.simulator.esme import Smsc
from tests.support.ports import free_port

Start = Callable[..., Awaitable[Smsc]]


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"uvloop": uvloop.new_event_loop}


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    """Starts a simulator with the knobs given, and stops it after the test."""
    started: list[Smsc] = []

    async def begin(log: BinaryIO | None = None, **knobs: Any) -> Smsc:
        simulator = Simulator(Behaviour(**{"receipt_delay_ms": 1.0, "seed": 1, **knobs}), log)
        smsc = Smsc(simulator, await simulator.start(port=free_port()))
        started.append(smsc)
        return smsc

    yield begin
    for smsc in started:
        await smsc.stop()
