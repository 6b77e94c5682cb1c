"""Traces are an extra: without them nothing of OpenTelemetry is imported, and asking for them without it is told so."""

import subprocess
import sys

import pytest

from tests.support.timeouts import COMMAND_S

OFF = """
import sys
from dataclasses import replace
from heliograph.adapters.system.clock import SystemClock
from heliograph.adapters.system.journal import LogJournal
from heliograph.config import Settings, changed
from heliograph.composition.watching import Unusable, Watching

settings = Settings()
{change}
try:
    watching = Watching(settings, SystemClock(), LogJournal())
except Unusable as problem:
    print(problem)
else:
    given = object()
    same = watching.sender(given) is given and watching.intake(given) is given and watching.around is None
    print(len(watching.watchers), same, any(name.startswith("opentelemetry") for name in sys.modules))
"""

ASKED_FOR = """
sys.modules["opentelemetry"] = None
settings = changed(settings, "traces.endpoint", "http://127.0.0.1:4318/v1/traces", "here")
"""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("", "5 True False"),
        (ASKED_FOR, "traces.endpoint is set, and opentelemetry is not installed: pip install 'heliograph[otel]'"),
    ],
)
def test_traces_cost_nothing_while_they_are_off(change: str, said: str) -> None:
    command = [sys.executable, "-c", OFF.format(change=change)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_S, check=True)
    assert result.stdout.strip() == said
