"""Sends alerts to the URLs of Apprise that the settings name."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from threading import Thread
from typing import Any, Final

from apprise import Apprise, AppriseAsset, NotifyType

from heliograph.app.ports.surroundings import Attempt

TIMEOUT_S: Final = 20.0
"""Seconds for which a destination is waited for. Apprise's own timeouts are 4 s for a connection and 4 s for an answer;
mail takes several answers."""


class UnusableUrl(ValueError):
    """Apprise does not know a URL. The text has its position and scheme, and no secrets."""


class _Destination:
    """A URL. Its calls block, so each runs in a thread; a thread that hangs does not keep the process from ending."""

    def __init__(self, label: str, plugin: Any) -> None:
        self.label = label
        self._plugin = plugin
        self._is_busy = False

    async def send(self, title: str, text: str, kind: Any) -> Attempt:
        return Attempt(self.label, await self._try(title, text, kind))

    async def _try(self, title: str, text: str, kind: Any) -> str:
        if self._is_busy:
            return "the call before it still hangs"
        loop = asyncio.get_running_loop()
        done: asyncio.Future[str] = loop.create_future()

        def settle(problem: str) -> None:
            if not done.done():
                done.set_result(problem)

        def work() -> None:
            try:
                problem = "" if self._plugin.notify(title=title, body=text, notify_type=kind) else "it was not taken"
            except Exception as fault:  # noqa: BLE001 - a plugin may raise anything; its text may have secrets
                problem = type(fault).__name__
            self._is_busy = False
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(settle, problem)

        self._is_busy = True
        Thread(target=work, name=f"alert {self.label}", daemon=True).start()
        try:
            async with asyncio.timeout(TIMEOUT_S):
                return await done
        except TimeoutError:
            return f"no result within {TIMEOUT_S:g} s"


class AppriseSender:
    """Implements `app.ports.AlertSender`."""

    def __init__(self, urls: Sequence[str], *, quiet: bool) -> None:
        """`quiet`: Apprise itself logs nothing, because its lines may have secrets. Raises UnusableUrl."""
        if quiet:
            logging.getLogger("apprise").disabled = True
        asset = AppriseAsset(app_id="Heliograph", app_desc="Heliograph", app_url="")
        self._destinations = []
        for number, url in enumerate(urls, 1):
            label = f"{number}, {url.partition(':')[0]}"
            plugin = Apprise.instantiate(url, asset=asset)
            if plugin is None:
                raise UnusableUrl(f"Apprise does not know URL {label}, or it lacks a part")
            self._destinations.append(_Destination(label, plugin))

    async def send(self, title: str, text: str, *, is_over: bool = False) -> list[Attempt]:
        kind = NotifyType.SUCCESS if is_over else NotifyType.WARNING
        return await asyncio.gather(*(each.send(title, text, kind) for each in self._destinations))
