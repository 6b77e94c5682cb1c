"""What people see."""

import io

from rich.console import Console

from heliograph.simulator.live import picture
from heliograph.simulator.smsc import Simulator


async def test_the_table_shows_counts_rates_and_messages() -> None:
    simulator = Simulator()
    await simulator.start()
    simulator.counters.submits = 1234
    simulator.counters.throttled = 7
    stream = io.StringIO()
    Console(file=stream, width=120).print(picture(simulator, "somewhere", {"submits": 99.6}))
    await simulator.stop()
    shown = stream.getvalue()
    assert "somewhere" in shown
    assert "1,234" in shown
    assert "100" in shown
    assert "throttled" in shown
    assert "queue full" not in shown
