"""What the scenario of a low load works out, and what it reads of processes and metrics."""

import os
import time

import pytest
from bench.loop.figures import Request, Run, answer_latencies, middle
from bench.loop.gateways import read_commits
from bench.loop.low import HEADS, Quiet, rows
from bench.loop.processes import wake_ups

METRICS = """# TYPE heliograph_store_commit_seconds histogram
heliograph_store_commit_seconds_bucket{le="0.001"} 4
heliograph_store_commit_seconds_sum 0.02
heliograph_store_commit_seconds_count 37
"""


def quiet(cpu_us: float, commits: float | None, idle: float) -> Quiet:
    run = Run("ours", called_back=50.0, cpu_us={"loop": cpu_us, "callbacks": 200.0}, to_answer=(0.5, 1.0))
    return Quiet(run, wake_ups=5.0, commits=commits, idle_cpu=idle, idle_wake_ups=30.0)


def test_a_line_has_the_medians_of_its_runs() -> None:
    (line,) = rows({"ours": [quiet(900, 2.1, 0.004), quiet(800, 2.0, 0.002), quiet(2_000, 3.0, 0.003)], "theirs": []})
    told = dict(zip(HEADS, line, strict=True))
    assert told["CPU ms/msg"] == "1.10"
    assert told["CPU us/msg by process"] == "900 loop + 200 callbacks"
    assert told["commits/msg"] == "2.10"
    assert told["idle: CPU % of a core"] == "0.30"
    assert told["to 200 ms p50/p99"] == "0.5 / 1.0"


def test_a_gateway_that_does_not_tell_its_commits_has_none() -> None:
    (line,) = rows({"theirs": [quiet(900, None, 0.0)]})
    assert dict(zip(HEADS, line, strict=True))["commits/msg"] == "-"


def test_the_commits_are_those_of_the_metrics() -> None:
    assert read_commits(METRICS) == 37
    with pytest.raises(ValueError, match="commits"):
        read_commits("")


def test_each_sleep_counts_as_a_wake_up() -> None:
    before = wake_ups(os.getpid())
    for _ in range(5):
        time.sleep(0.001)
    assert wake_ups(os.getpid()) - before >= 5


def test_answers_that_refused_have_no_latency() -> None:
    answered = [Request(0, 2_000_000, 200, expected=True), Request(0, 9_000_000, 503, expected=False)]
    assert answer_latencies(answered) == (2.0, 2.0)
    runs = [Run("ours", to_answer=(2.0, 2.0)), Run("ours", to_answer=(4.0, 8.0))]
    assert middle(runs).to_answer == (3.0, 5.0)
