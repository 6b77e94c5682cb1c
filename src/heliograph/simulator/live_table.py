"""The live table of the simulated operator's counters and messages, on a terminal."""

import asyncio
import time
from typing import TYPE_CHECKING, Final

from heliograph.domain.display import harmless
from heliograph.simulator.receipt import NAMES
from heliograph.simulator.smsc import Simulator

if TYPE_CHECKING:
    from rich.console import RenderableType

REFRESH_S: Final = 0.25
SHOWN_MESSAGES: Final = 12
LEAST_MESSAGES: Final = 3
_LINES_AROUND: Final = 9
"""Lines of the terminal for other things than counts and messages, such as headings."""
_SHOWN_CHARACTERS: Final = 160
_RATED: Final = ("submits", "accepted", "throttled", "receipts_sent", "receipts_answered")


async def show(simulator: Simulator, title: str) -> None:
    """Draws the table until it is cancelled."""
    from rich.live import Live

    before = simulator.counters.by_name()
    at = time.monotonic()
    with Live(picture(simulator, title, {}), refresh_per_second=1 / REFRESH_S, screen=False) as live:
        while True:
            await asyncio.sleep(REFRESH_S * 4)
            now = time.monotonic()
            counters = simulator.counters.by_name()
            rates = {name: (counters[name] - before[name]) / (now - at) for name in _RATED}
            before, at = counters, now
            live.update(picture(simulator, title, rates, live.console.size.height))


def picture(simulator: Simulator, title: str, rates: dict[str, float], lines: int = 40) -> "RenderableType":
    """Renders the counters, their rates a second, and as many of the latest messages as fit into `lines`."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    counts = Table(box=SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False)
    counts.add_column("count")
    counts.add_column("total", justify="right")
    counts.add_column("a second", justify="right")
    for name, value in simulator.counters.by_name().items():
        rate = f"{rates[name]:,.0f}" if name in rates else ""
        if value or name in ("bound", *_RATED):
            counts.add_row(name.replace("_", " "), f"{value:,}", rate)
    messages = Table(box=SIMPLE_HEAD, pad_edge=False, expand=True)
    for column in ("time", "from", "to", "state", "parts"):
        messages.add_column(column, no_wrap=True)
    messages.add_column("text", no_wrap=True, overflow="ellipsis", ratio=1)
    room = max(LEAST_MESSAGES, lines - counts.row_count - _LINES_AROUND)
    for message in simulator.recent(min(SHOWN_MESSAGES, room)):
        messages.add_row(
            time.strftime("%H:%M:%S", time.localtime(message.at_s)),
            Text(harmless(message.source_addr)),
            Text(harmless(message.destination_addr)),
            NAMES[message.state],
            f"{message.parts}/{message.total}",
            Text(harmless(message.text[:_SHOWN_CHARACTERS].replace("\n", " "))),
        )
    return Group(counts, messages)
