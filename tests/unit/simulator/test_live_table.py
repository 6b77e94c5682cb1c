"""What people see."""

import asyncio
import io
import json

from rich.console import Console

from heliograph.simulator.live_table import picture
from heliograph.simulator.log import SimulatorLog
from heliograph.simulator.message import TakenSubmit
from heliograph.simulator.smsc import Simulator
from heliograph.smpp.constants import MessageState


async def test_a_message_takes_one_line_and_as_many_are_shown_as_fit() -> None:
    simulator = Simulator()
    await simulator.start()
    for number in range(9):
        content = b"Your code is %d. " % number * 5
        simulator._messages.add(
            TakenSubmit(
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


async def test_what_was_sent_cannot_command_the_terminal() -> None:
    simulator = Simulator()
    await simulator.start()
    simulator._messages.add(
        TakenSubmit(
            1, "acme", 0.0, 5, 0, "A\x9b2J", 1, 1, "49\u202e1", 0, 1, 8, "x\x9bK\u202ey".encode("utf-16-be"), (),
            MessageState.DELIVERED, 0, 0.0, 0.0,
        )
    )  # fmt: skip
    stream = io.StringIO()
    Console(file=stream, width=120).print(picture(simulator, "somewhere", {}))
    await simulator.stop()
    shown = stream.getvalue()
    for written_out in ("A\\u009b2J", "49\\u202e1", "x\\u009bK\\u202ey"):
        assert written_out in shown
    assert not set(shown) & set("\x9b\u202e")


async def test_the_log_that_is_written_to_a_terminal_cannot_command_it_either() -> None:
    stream = io.BytesIO()
    journal = SimulatorLog(asyncio.get_running_loop(), stream)
    journal.note("bound", system_id="a\x9b2J\u202eb")
    journal.flush()
    line = stream.getvalue().decode()
    assert not set(line) & set("\x9b\u202e")
    assert json.loads(line)["system_id"] == "a\x9b2J\u202eb"
