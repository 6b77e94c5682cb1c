"""`heliograph top`: the figures of a running gateway, refreshed every two seconds."""

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from heliograph.cli.command import Command, Failure, Invocation, echo_json, examples
from heliograph.domain.display import harmless

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

_TIMEOUT_S = 10.0
"""Seconds. Timeout for the metrics of a gateway on another machine."""

_MIB = 2**20

_SILENT_S = 10.0
"""Seconds. An operator that leaves parts without an answer for this long is reported."""

_REFUSED_SHOWN = 8
"""The most rows of refused requests by account and reason."""

_LANES = (
    "CONNECTOR", "BINDS", "WINDOW", "PARTS/S", "LIMIT/S", "REFUSED/S", "THROTTLED/S", "QUEUE", "DEFERRED", "PAUSED",
)  # fmt: skip


@click.command(
    cls=Command,
    epilog=examples(
        "heliograph top",
        "heliograph top --once --json",
        "heliograph top --url http://gateway.example.net:8080 --interval 5",
    ),
)
@click.option("--url", metavar="URL", help="A gateway on another machine. Its /metrics must allow this machine.")
@click.option(
    "--interval",
    type=click.FloatRange(0.2, 3600),
    default=2.0,
    show_default=True,
    metavar="SECONDS",
    help="Time between refreshes.",
)
@click.option("--once", is_flag=True, help="Show the figures once and end.")
@click.pass_obj
def top(invocation: Invocation, url: str | None, interval: float, once: bool) -> None:
    """Shows the figures of the running gateway.

    They are rates, latencies, binds, windows, queues, callbacks, and refused requests by account and reason. Rates and
    latencies cover the time since the last refresh. Figures from the store are read every 15 seconds. With --json each
    refresh is an object on its own line. With --url, refused requests are not by account, because metrics do not have
    accounts.
    """
    from heliograph.cli.live.gateway_figures import MetricsSample, figures_between

    fetch = _fetcher(invocation, url)
    ask_refused = _refused_asker(invocation, url)

    def sample() -> MetricsSample:
        return MetricsSample.read(fetch(), time.monotonic())

    before = sample()

    def next_figures() -> dict[str, Any]:
        nonlocal before
        time.sleep(interval)
        after = sample()
        found, before = figures_between(before, after), after
        return found | {"refused": ask_refused()}

    try:
        if invocation.as_json:
            echo_json(next_figures())
            while not once:
                echo_json(next_figures())
        elif once:
            _print(next_figures())
        else:
            _watch(next_figures)
    except KeyboardInterrupt:
        return


def _fetcher(invocation: Invocation, url: str | None) -> Callable[[], str]:
    if url is None:
        from heliograph.cli.live.control import ask_once

        return lambda: str(ask_once(invocation, {"ask": "metrics"})["metrics"])
    from urllib.error import URLError
    from urllib.request import urlopen

    where = url.rstrip("/").removesuffix("/metrics") + "/metrics"
    if not where.startswith(("http://", "https://")):
        raise Failure(f"{url} is not the URL of a gateway", command="heliograph top --url http://127.0.0.1:8080")

    def fetch() -> str:
        try:
            with urlopen(where, timeout=_TIMEOUT_S) as answer:  # noqa: S310 - http or https, as checked above
                text: bytes = answer.read()
        except (URLError, OSError) as error:
            advice = "Check that it runs, and that its setting metrics.allowed_networks has this machine."
            raise Failure(f"{where} cannot be read: {error}", advice) from error
        return text.decode()

    return fetch


def _refused_asker(invocation: Invocation, url: str | None) -> Callable[[], dict[str, Any]]:
    """Returns a function that fetches refused requests: `since` (ISO 8601) and `totals`, None if they are unknown."""
    if url is not None:
        return lambda: {"since": None, "totals": None}
    from heliograph.cli.live.control import ask_once

    return lambda: ask_once(invocation, {"ask": "refused"})


def _print(found: dict[str, Any]) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=120)
    console.print(view(found))


def _watch(next_figures: Callable[[], dict[str, Any]]) -> None:
    from rich.live import Live

    with Live(screen=True, auto_refresh=False) as live:
        while True:
            live.update(view(next_figures()), refresh=True)


def view(found: dict[str, Any]) -> "RenderableType":
    """Returns the figures for a terminal. Names from another gateway are untrusted, so they are made harmless."""
    from rich.console import Group
    from rich.text import Text

    now = found["now"]
    store = Text("store up", style="green") if now["store_up"] else Text("STORE UNAVAILABLE", style="bold red")
    memory = (now["memory_bytes"] or 0) / _MIB
    head = Text.assemble(
        (f"Heliograph {harmless(found['version'])}", "bold"), "   ", store,
        f"   cpu {found['cpu'] * 100:.0f} %   memory {memory:.0f} MiB   balance {_plain(now['balance'])}",
    )  # fmt: skip
    advice = [Text(harmless(each), style="bold red") for each in _advice(found)]
    return Group(
        head, "", _rates(found), "", _connectors(found["connectors"]), *advice, "", _waiting(now), *_refused(found),
    )  # fmt: skip


def _advice(found: dict[str, Any]) -> Iterator[str]:
    """Yields sentences about parts that do not work, each with the command that shows the reason."""
    if not found["now"]["store_up"]:
        yield "The store is unavailable, and customers get 503: heliograph doctor"
    for each in found["connectors"]:
        name = each["name"]
        if each["binds"] and not each["binds_up"]:
            yield f"{name} is not bound; its messages take another connector, or wait: heliograph connector show {name}"
        elif (each["silent_s"] or 0.0) >= _SILENT_S:
            silent = f"{each['silent_s']:.0f} s"
            yield f"The operator of {name} has not responded for {silent}: heliograph connector show {name}"
        elif each["deferred"] and not each["submitted"]:
            yield f"The operator of {name} accepts no messages at the moment: heliograph connector show {name}"


def _table(*columns: str) -> "Table":
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number == 0 else "right", no_wrap=True)
    return table


def _rates(found: dict[str, Any]) -> "Table":
    rates, latency = found["rates"], found["latency"]
    table = _table("", "a second", "p50", "p95", "p99")
    rows = (
        ("accepted", rates["accepted"], "accept"),
        ("refused", rates["refused"], None),
        ("submitted", rates["submitted"], "submit"),
        ("queue wait", None, "queue"),
        ("delivered", rates["delivered"], "receipt"),
        ("failed", rates["failed"], None),
        ("callbacks", rates["callbacks"], "callback"),
        ("commits", rates["commits"], "commit"),
    )
    for word, rate, stage in rows:
        marks = ["", "", ""] if stage is None else [_seconds(latency[stage][each]) for each in ("p50", "p95", "p99")]
        table.add_row(word, "" if rate is None else f"{rate:,.1f}", *marks)
    return table


def _connectors(connectors: list[dict[str, Any]]) -> "RenderableType":
    from rich.text import Text

    if not connectors:
        return Text("no connector", style="yellow")
    table = _table(*_LANES)
    for each in connectors:
        up, binds = each["binds_up"] or 0, each["binds"] or 0
        style = "green" if up == binds else "yellow" if up else "bold red"
        limit = each["rate_now"]
        table.add_row(
            Text(harmless(each["name"]), style=style),
            f"{up:.0f}/{binds:.0f}",
            f"{each['in_flight'] or 0:.0f}/{each['window'] or 0:.0f}",
            f"{each['submitted']:,.1f}",
            "-" if limit is None else f"{limit:,.1f}",
            f"{each['refused']:,.1f}",
            f"{each['throttled']:,.1f}",
            _plain(each["queue"]),
            _plain(each["put_off"]),
            "" if not each["paused_s"] else f"{each['paused_s']:.1f} s",
        )
    return table


def _refused(found: dict[str, Any]) -> "Iterator[RenderableType]":
    """Yields refused requests by account and reason, or only by reason if accounts are unknown, most frequent first."""
    refused = found["refused"]
    totals = refused["totals"]
    if totals is None:
        if found["refused_by_reason"]:
            reasons = sorted(found["refused_by_reason"].items(), key=lambda each: -each[1])
            yield "\nrequests refused a second: " + ", ".join(f"{harmless(name)} {rate:,.1f}" for name, rate in reasons)
        return
    if not totals:
        return
    yield f"\nrequests refused since {refused['since'][11:16]} UTC: {sum(each['requests'] for each in totals):,}\n"
    table = _table("ACCOUNT", "REASON", "REQUESTS", "LAST (UTC)", "A SECOND, ALL ACCOUNTS")
    for each in totals[:_REFUSED_SHOWN]:
        rate = found["refused_by_reason"].get(each["reason"], 0.0)
        table.add_row(
            harmless(each["account"]), each["reason"], f"{each['requests']:,}", each["latest"][11:19], f"{rate:,.1f}"
        )
    yield table
    if len(totals) > _REFUSED_SHOWN:
        yield f"and {len(totals) - _REFUSED_SHOWN} more: heliograph refusals"


def _waiting(now: dict[str, Any]) -> str:
    oldest = now["oldest_s"]
    return (
        f"queue {_plain(now['waiting'])} in total ({_plain(now['waiting_in_memory'])} in memory, "
        f"{_plain(now['waiting_in_store'])} in the store; oldest {f'{oldest:,.0f} s' if oldest else '-'})   "
        f"held {_plain(now['held'])}   scheduled {_plain(now['scheduled'])}   "
        f"receipts awaited {_plain(now['receipts_awaited'])}   unmatched receipts {_plain(now['unmatched_receipts'])}\n"
        f"callbacks in the air {_plain(now['callbacks_in_the_air'])}   pending {_plain(now['callbacks_pending'])}   "
        f"failed {_plain(now['callbacks_failed'])}"
    )


def _plain(value: float | None) -> str:
    return "-" if value is None else f"{value:,.6f}".rstrip("0").rstrip(".")


def _seconds(value: float | None) -> str:
    """Returns the upper bound of a histogram's bucket, such as `<50 ms`."""
    if value is None:
        return "-"
    return f"<{value * 1000:g} ms" if value < 1 else f"<{value:,.0f} s"
