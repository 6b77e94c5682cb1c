import asyncio
from collections.abc import Callable

import pytest
import uvloop

from tests.support.gateway import Gateway, open_gateway


@pytest.hookimpl(optionalhook=True)
def pytest_asyncio_loop_factories(item: pytest.Item) -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """What takes sockets into its own hands is tested on the loop that the gateway runs on, too."""
    if item.path.name == "test_listener.py":
        return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
    return {"asyncio": asyncio.new_event_loop}


@pytest.fixture
async def gateway() -> Gateway:
    return await open_gateway()
