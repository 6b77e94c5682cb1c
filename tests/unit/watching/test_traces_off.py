"""Traces are an extra: without them nothing of OpenTelemetry is imported, and asking for them without it is told so."""

import os
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


NOT_INSTALLED = "sys.modules['opentelemetry'] = None"
ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318"}


@pytest.mark.parametrize(
    ("change", "variables", "said"),
    [
        ("", {}, "5 True False"),
        ("", ENDPOINT, "6 False True"),
        ("", {**ENDPOINT, "OTEL_SDK_DISABLED": "true"}, "5 True False"),
        ("", {**ENDPOINT, "OTEL_TRACES_EXPORTER": "none"}, "5 True False"),
        (ASKED_FOR, {}, "traces.endpoint is set, and opentelemetry is not installed: pip install 'heliograph[otel]'"),
        (
            NOT_INSTALLED,
            ENDPOINT,
            "OTEL_EXPORTER_OTLP_ENDPOINT is set, and opentelemetry is not installed: pip install 'heliograph[otel]'",
        ),
    ],
)
def test_traces_cost_nothing_while_they_are_off(change: str, variables: dict[str, str], said: str) -> None:
    command = [sys.executable, "-c", OFF.format(change=change)]
    environment = os.environ | variables
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=COMMAND_S, check=True)
    assert result.stdout.strip() == said
