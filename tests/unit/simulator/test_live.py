"""What people see."""

import io

from rich.console import Console

from heliograph.simulator.live import picture
from heliograph.simulator.message import Submission
from heliograph.simulator.smsc import Simulator
from heliograph.smpp.constants import MessageState


async def test_a_message_takes_one_line_and_as_many_are_shown_as_fit() -> None:
    simulator = Simulator()
    await simulator.start()
    for number in range(9):
        content = b"Your code is %d. " % number * 5
        simulator._messages.add(
            Submission(
                number, "acme", 0.0, 5, 0, "Acme", 1, 1, "4917012345678", 0, 1, 0, content, (),
                MessageState.DELIVERED, 0, 0.0, 0.0,
            )
        )  # fmt: skip
    stream = io.StringIO()
    Console(file=stream, width=80).print(picture(simulator, "somewhere", {}, lines=24))
    await simulator.stop()
    shown = stream.getvalue().splitlines()
    assert len(shown) <= 24
    codes = [line for line in shown if "code is" in line]
    assert len(codes) == 24 - 9 - 6
    assert "Acme   4917012345678   DELIVRD   1/1     Your code is 8" in codes[0]
    assert codes[0].rstrip().endswith("…")


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
