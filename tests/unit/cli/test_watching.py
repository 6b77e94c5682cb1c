"""What `top`, `tail` and `completion` show, without a gateway."""

import json
import re
import shutil
import subprocess
from io import StringIO
from typing import Any

import click
import pytest
from click.testing import CliRunner
from rich.console import Console

from heliograph.adapters.metrics.exposition import Sample, render
from heliograph.app.observing.catalogue import MS_SHORT, US_COMMIT
from heliograph.app.observing.counters import Histogram
from heliograph.cli.commands.tail import format_event
from heliograph.cli.commands.top import view
from heliograph.cli.live.gateway_figures import MetricsSample, figures_between
from heliograph.cli.main import heliograph

HARD = 'op "x\\y\nz'


def histogram(bounds: tuple[int, ...], *values: int) -> Histogram:
    found = Histogram(bounds)
    for value in values:
        found.observe(value)
    return found


def text(scale: int, *, up: int = 2, name: str = HARD) -> str:
    return render(
        [
            Sample("heliograph_build_info", ("0.1.0", "3.11"), 1),
            Sample("heliograph_store_up", (), 1),
            Sample("heliograph_messages_accepted_total", ("immediate",), 100 * scale),
            Sample("heliograph_messages_accepted_total", ("scheduled",), 10 * scale),
            Sample("heliograph_messages_final_total", ("DELIVRD",), 80 * scale),
            Sample("heliograph_messages_final_total", ("UNDELIV",), 20 * scale),
            Sample("heliograph_parts_total", (name, "accepted"), 50 * scale),
            Sample("heliograph_throttled_total", (name,), 4 * scale),
            Sample("heliograph_connector_binds", (name,), 2),
            Sample("heliograph_connector_binds_up", (name,), up),
            Sample("heliograph_connector_rate", (name,), float("inf")),
            Sample("heliograph_connector_window", (name,), 20),
            Sample("heliograph_connector_in_flight", (name,), 7),
            Sample("heliograph_deferred_messages", (name,), 3),
            Sample("heliograph_accept_seconds", (), histogram(MS_SHORT, *([2] * 90 * scale), *([400] * 10 * scale))),
            Sample("heliograph_store_commit_seconds", (), histogram(US_COMMIT, *([99_000_000] * scale))),
            Sample("heliograph_balance_credits", (), "12.5"),
        ]
    ).decode()


def test_rates_are_of_the_time_between_two_looks() -> None:
    found = figures_between(MetricsSample.read(text(1), 10.0), MetricsSample.read(text(3), 12.0))
    assert found["version"] == "0.1.0"
    assert found["rates"]["accepted"] == 110.0
    assert found["rates"]["delivered"] == 80.0
    assert found["rates"]["final"] == 100.0
    assert found["rates"]["commits"] == 1.0
    assert found["now"]["balance"] == 12.5
    assert found["now"]["scheduled"] is None
    (connector,) = found["connectors"]
    assert connector["name"] == HARD
    assert (connector["submitted"], connector["throttled"]) == (50.0, 4.0)
    assert (connector["binds_up"], connector["binds"], connector["in_flight"], connector["window"]) == (2, 2, 7, 20)
    assert (connector["rate_now"], connector["put_off"]) == (None, 3)


def test_a_gateway_elsewhere_cannot_command_the_terminal() -> None:
    evil = text(1, name="op\x9b2J\u202e", up=0)
    stream = StringIO()
    Console(file=stream, width=160).print(
        view(figures_between(MetricsSample.read(evil, 1.0), MetricsSample.read(evil, 2.0)))
    )
    assert "op\\u009b2J\\u202e is not bound" in stream.getvalue()
    assert not set(stream.getvalue()) & set("\x9b\u202e")


def test_latencies_are_of_the_time_between_two_looks() -> None:
    found = figures_between(MetricsSample.read(text(1), 10.0), MetricsSample.read(text(2), 11.0))
    assert found["latency"]["accept"] == {"p50": 0.002, "p95": 0.5, "p99": 0.5}
    assert found["latency"]["commit"] == {"p50": None, "p95": None, "p99": None}, "beyond the last class"
    nothing = figures_between(MetricsSample.read(text(1), 10.0), MetricsSample.read(text(1), 11.0))
    assert nothing["latency"]["accept"] == {"p50": None, "p95": None, "p99": None}
    assert nothing["rates"]["accepted"] == 0


def test_a_gateway_that_was_started_again_has_no_negative_rates() -> None:
    found = figures_between(MetricsSample.read(text(3), 10.0), MetricsSample.read(text(1), 11.0))
    assert min(found["rates"].values()) == 0


def test_a_picture_is_json() -> None:
    json.dumps(figures_between(MetricsSample.read(text(1), 1.0), MetricsSample.read(text(2), 2.0)), allow_nan=False)


@pytest.mark.parametrize("up", [0, 1, 2])
def test_people_see_what_there_is(up: int) -> None:
    console = Console(file=StringIO(), width=120, color_system=None)
    console.print(view(figures_between(MetricsSample.read(text(1), 1.0), MetricsSample.read(text(2, up=up), 2.0))))
    assert isinstance(console.file, StringIO)
    printed = console.file.getvalue()
    assert f"{up}/2" in printed
    assert "7/20" in printed
    assert "110.0" in printed
    assert "<2 ms" in printed
    assert "balance 12.5" in printed
    assert ("is not bound; its messages take another connector, or wait: heliograph connector show" in printed) == (
        up == 0
    )
    assert "accepts no messages" not in printed


def test_the_total_that_waits_is_that_of_the_connectors_and_of_the_store() -> None:
    def page(in_store: int) -> str:
        samples = [
            Sample("heliograph_connector_binds", ("op1",), 1),
            Sample("heliograph_connector_binds", ("op2",), 1),
            Sample("heliograph_connector_queue", ("op1",), 1_890),
            Sample("heliograph_connector_queue", ("op2",), 7),
            Sample("heliograph_queue_messages", (), in_store),
            Sample("heliograph_queue_oldest_seconds", (), 1_063),
        ]
        return render(samples).decode()

    def looked(in_store: int) -> dict[str, Any]:
        return figures_between(MetricsSample.read(page(in_store), 1.0), MetricsSample.read(page(in_store), 2.0))

    found = looked(0)
    assert found["now"]["waiting"] == sum(each["queue"] for each in found["connectors"]) == 1_897
    assert looked(40)["now"]["waiting"] == 1_937
    stream = StringIO()
    Console(file=stream, width=200).print(view(looked(40)))
    assert "queue 1,937 in total (1,897 in memory, 40 in the store; oldest 1,063 s)" in stream.getvalue()


def refusing(credit: int, replayed: int) -> MetricsSample:
    samples = [
        Sample("heliograph_store_up", (), 1),
        Sample("heliograph_requests_refused_total", ("credit",), credit),
        Sample("heliograph_requests_refused_total", ("suspended",), 5),
        Sample("heliograph_requests_refused_total", ("replayed",), replayed),
    ]
    return MetricsSample.read(render(samples).decode(), float(credit))


def test_the_reasons_of_refused_requests_are_told_and_what_was_replayed_is_none() -> None:
    found = figures_between(refusing(1, 0), refusing(4, 90))
    assert (found["refused_by_reason"], found["rates"]["refused"]) == ({"credit": 1.0}, 1.0)
    console = Console(file=StringIO(), width=120, color_system=None)
    console.print(view(found))
    assert isinstance(console.file, StringIO)
    assert "requests refused a second: credit 1.0" in console.file.getvalue()


def test_people_see_whose_requests_are_refused_for_what() -> None:
    at = "2026-11-25T09:31:57.000Z"
    totals = [{"account": f"acme{n}\x1b", "reason": "credit", "requests": 681 - n, "latest": at} for n in range(10)]
    found = figures_between(refusing(1, 0), refusing(4, 0))
    found["refused"] = {"since": "2026-11-25T08:00:00.000Z", "totals": totals}
    console = Console(file=StringIO(), width=120, color_system=None)
    console.print(view(found))
    assert isinstance(console.file, StringIO)
    printed = console.file.getvalue()
    assert "requests refused since 08:00 UTC: 6,765" in printed
    assert re.search(r"acme0\S+ +credit +681 +09:31:57 +1\.0", printed)
    assert "acme8" not in printed
    assert "and 2 more: heliograph refusals" in printed
    assert "\x1b" not in printed


def test_people_are_told_of_an_operator_that_takes_nothing() -> None:
    def page(deferred: int) -> str:
        samples = [
            Sample("heliograph_store_up", (), 1),
            Sample("heliograph_connector_binds", ("op1",), 1),
            Sample("heliograph_connector_binds_up", ("op1",), 1),
            Sample("heliograph_parts_total", ("op1", "accepted"), 7),
            Sample("heliograph_parts_total", ("op1", "deferred"), deferred),
        ]
        return render(samples).decode()

    console = Console(file=StringIO(), width=120, color_system=None)
    console.print(view(figures_between(MetricsSample.read(page(3), 1.0), MetricsSample.read(page(5), 2.0))))
    assert isinstance(console.file, StringIO)
    assert "The operator of op1 accepts no messages at the moment" in console.file.getvalue()


def test_a_gateway_that_has_said_nothing_yet_is_shown_all_the_same() -> None:
    console = Console(file=StringIO(), width=80, color_system=None)
    console.print(view(figures_between(MetricsSample.read("", 1.0), MetricsSample.read("garbage {\n\n", 2.0))))
    assert isinstance(console.file, StringIO)
    assert "STORE UNAVAILABLE" in console.file.getvalue()
    assert "no connector" in console.file.getvalue()


@pytest.mark.parametrize(
    ("happening", "line"),
    [
        (
            {
                "time": "2026-01-02T03:04:05.678Z",
                "event": "accepted",
                "id": "a" * 32,
                "account": "acme",
                "to": "491*12",
            },
            f"03:04:05.678 accepted       {'a' * 32} acme 491*12",
        ),
        (
            {"time": "2026-01-02T03:04:05.678Z", "event": "final", "id": "a" * 32, "state": "DELIVRD", "err": "000"},
            f"03:04:05.678 final          {'a' * 32} state=DELIVRD err=000",
        ),
        ({"event": "skipped", "count": 7}, " skipped count=7"),
    ],
)
def test_a_line_of_tail(happening: dict[str, Any], line: str) -> None:
    plain = re.sub(r"\x1b\[\d+m", "", format_event(happening))
    assert plain.split() == line.split()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_scripts(shell: str) -> None:
    result = CliRunner().invoke(heliograph, ["completion", shell])
    assert result.exit_code == 0
    assert "_HELIOGRAPH_COMPLETE" in result.output
    program = shutil.which(shell)
    if program is not None:
        checked = subprocess.run([program, "-n"], input=result.output, text=True, capture_output=True, check=False)
        assert (checked.returncode, checked.stderr) == (0, "")


def test_the_shell_is_told_commands_and_options() -> None:
    environment = {"_HELIOGRAPH_COMPLETE": "bash_complete", "COMP_WORDS": "heliograph log-level ", "COMP_CWORD": "2"}
    result = CliRunner().invoke(heliograph, [], env=environment, prog_name="heliograph")
    assert [line.partition(",")[2] for line in result.output.split()] == ["debug", "info", "warning", "error"]


@pytest.mark.parametrize("command", [["top", "--once"], ["tail"], ["log-level"]])
def test_without_a_gateway_one_is_told_to_start_it(command: list[str], tmp_path: Any) -> None:
    result = CliRunner().invoke(heliograph, [*command, "--data", str(tmp_path)])
    assert result.exit_code == 1
    assert f"no gateway runs on {tmp_path}" in result.output
    assert f"heliograph serve --data {tmp_path}" in result.output


def test_what_an_operator_or_customer_wrote_commands_no_terminal() -> None:
    line = format_event({"event": "submitted", "account": "acme\x1b[2J", "operator_id": "\x1b]0;mine\x07\u202e"})
    assert line.replace(click.style(f"{'submitted':14}", fg="blue"), "").isprintable()
