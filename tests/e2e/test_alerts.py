"""Alerts of a running gateway."""

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.process import GatewayProcess, eventually
from tests.support.sink import Sink

pytestmark = [pytest.mark.slow, pytest.mark.extended]


def noted(data: Path) -> int:
    """Counts the worries that the gateway has noted as told."""
    with closing(sqlite3.connect(data / "heliograph.db")) as db:
        (count,) = db.execute("SELECT count(*) FROM told_worry").fetchone()
        return int(count)


async def test_a_gateway_tells_once_across_a_restart(data: Path) -> None:
    async with Sink() as sink:
        urls = f"json://127.0.0.1:{sink.port}"
        settings = {"HELIOGRAPH_ALERTS_URLS": urls, "HELIOGRAPH_CONSOLE_NAMES": "sms.example"}
        with GatewayProcess(data, settings=settings) as gateway:
            (told,) = await sink.wait_for(1)
            # a gateway that is stopped before it has noted an alert sends it again
            eventually(lambda: noted(data), "the alert is noted")
            assert gateway.stop() == 0
        alert = json.loads(told.body)
        assert alert["title"] == "sms.example needs attention"
        assert alert["message"] == "There is no connector yet: messages have nowhere to go."
        with GatewayProcess(data, settings=settings):
            await asyncio.sleep(40)
        assert len(sink.requests) == 1
