"""What perf writes, and what is told of it. The text is what perf 6.1 wrote."""

import pytest
from bench.loop.figures import Refused
from bench.loop.instructions import read_count, told

WRITTEN = "\n491227345,,instructions:u,3004001930,100.00,,\n58733182,,instructions:k,3004001930,100.00,,\n"


def test_instructions_of_a_process_are_read() -> None:
    assert read_count(WRITTEN) == (491_227_345, 58_733_182)


@pytest.mark.parametrize(
    "text", ["", WRITTEN.replace("58733182", "<not counted>"), "<not supported>,,instructions:u,0,100.00,,\n"]
)
def test_what_was_not_counted_is_refused(text: str) -> None:
    with pytest.raises(Refused, match="perf counted no instructions"):
        read_count(text)


def test_a_message_has_its_share_of_each_process() -> None:
    line = told("heliograph", [("heliograph", (491_227_345, 58_733_182)), ("python", (0, 0))], 3_000)
    assert line.endswith(": heliograph 163.7 + 19.6; python 0.0 + 0.0")
