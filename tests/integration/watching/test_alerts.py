"""Alerts by Apprise to a receiver on loopback."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest

from heliograph.adapters.alerts import AppriseSender, UnusableUrl, apprise_sender
from tests.support.ports import free_port
from tests.support.sink import Answer, Sink
from tests.support.timeouts import COMMAND_S

# Plugins of Apprise import modules that later Pythons lack.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

SECRET = "aVerySecretToken"


@pytest.fixture
async def sink() -> AsyncIterator[Sink]:
    async with Sink() as sink:
        yield sink


def url(sink: Sink, path: str = "/alert") -> str:
    return f"json://ops:{SECRET}@127.0.0.1:{sink.port}{path}"


async def test_an_alert_arrives_with_its_kind(sink: Sink) -> None:
    sender = AppriseSender([url(sink)], quiet=True)
    assert [each.problem for each in await sender.send("sms needs attention", "op1 is down.")] == [""]
    assert [each.problem for each in await sender.send("sms is better", "Over.", is_over=True)] == [""]
    first, second = (json.loads(each.body) for each in await sink.wait_for(2))
    assert (first["title"], first["message"], first["type"]) == ("sms needs attention", "op1 is down.", "warning")
    assert second["type"] == "success"


async def test_a_destination_that_fails_keeps_none_from_the_others(
    sink: Sink, caplog: pytest.LogCaptureFixture
) -> None:
    sink.script(Answer(500), path="/broken")
    nobody = f"json://ops:{SECRET}@127.0.0.1:{free_port()}"
    sender = AppriseSender([url(sink, "/broken"), nobody, url(sink)], quiet=True)
    attempts = await sender.send("title", "text")
    assert [(each.destination, each.problem) for each in attempts] == [
        ("1, json", "it was not taken"), ("2, json", "it was not taken"), ("3, json", ""),
    ]  # fmt: skip
    assert SECRET not in caplog.text


async def test_a_destination_that_hangs_holds_up_nothing(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apprise_sender, "TIMEOUT_S", 0.2)
    sink.script(Answer(hang=True))
    sender = AppriseSender([f"{url(sink)}?rto=2"], quiet=True)
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0.005)

    counting = asyncio.create_task(count())
    assert (await sender.send("title", "text"))[0].problem == "no result within 0.2 s"
    assert (await sender.send("title", "text"))[0].problem == "the call before it still hangs"
    counting.cancel()
    assert turns > 5, "the event loop went on"


@pytest.mark.parametrize("wrong", [f"nosuch://{SECRET}@h", f"slack://{SECRET}"])
def test_an_unknown_url_is_refused_without_its_secrets(wrong: str) -> None:
    with pytest.raises(UnusableUrl, match=r"Apprise does not know URL 1, (nosuch|slack),") as refused:
        AppriseSender([wrong], quiet=True)
    assert SECRET not in str(refused.value)


WITHOUT = """
import sys
from heliograph.composition.alerts import open_alert_sender
from heliograph.composition.watching import Unusable
from heliograph.config import Settings, changed

sys.modules["apprise"] = None
print(open_alert_sender(Settings(), quiet=True))
try:
    open_alert_sender(changed(Settings(), "alerts.urls", ["json://127.0.0.1"], "here"), quiet=True)
except Unusable as problem:
    print(problem)
"""


def test_without_the_extra_the_setting_is_refused() -> None:
    command = [sys.executable, "-c", WITHOUT]
    result = subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_S, check=True)
    nothing, problem = result.stdout.splitlines()
    assert nothing == "None"
    assert problem == "alerts.urls is set, and apprise is not installed: pip install 'heliograph[alerts]'"
