"""Alerts of a running gateway."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.support.process import GatewayProcess
from tests.support.sink import Sink

pytestmark = [pytest.mark.slow, pytest.mark.extended]


async def test_a_gateway_tells_once_across_a_restart(data: Path) -> None:
    async with Sink() as sink:
        urls = f"json://127.0.0.1:{sink.port}"
        settings = {"HELIOGRAPH_ALERTS_URLS": urls, "HELIOGRAPH_CONSOLE_NAMES": "sms.example"}
        with GatewayProcess(data, settings=settings) as gateway:
            (told,) = await sink.wait_for(1)
            assert gateway.stop() == 0
        alert = json.loads(told.body)
        assert alert["title"] == "sms.example needs attention"
        assert alert["message"] == "There is no connector yet: messages have nowhere to go."
        with GatewayProcess(data, settings=settings):
            await asyncio.sleep(40)
        assert len(sink.requests) == 1
