"""`make bench`: runs scenarios and prints their tables. docs/performance.md explains them."""

import argparse
import sys
import tempfile
from pathlib import Path

from bench.loop import machine
from bench.loop.figures import Refused
from bench.loop.gateways import INTERPRETED
from bench.loop.instructions import Instructions
from bench.loop.profile import Profiler
from bench.loop.run import Bench, Observer
from bench.loop.scenarios import FRESH_FROM_SPARE, SCENARIOS, Options, Stand

DEFAULT = ("loop", "accept", "newconn", "few", "crowd", "many", "latency", "idle", "kill")
"""The scenarios that take only minutes."""

LEAST_NUMBERS = 4_000_000


def main() -> int:
    """Exit code 1 if a run was refused."""
    options = _arguments()
    if "list" in options.scenario:
        print("\n".join(SCENARIOS))
        return 0
    choice = Options(
        runs=options.runs,
        seconds=options.seconds,
        gateways=options.gateways.split(),
        commits=options.commits,
        rates=[float(rate) for rate in options.rates.split()],
        size=int(float(options.size)),
        program=options.ours and options.ours.absolute(),
        settings=dict(setting.split("=", 1) for setting in options.settings.split()),
        stored=Path(options.stored) if options.stored else None,
    )
    described = machine.describe()
    print(described, flush=True)
    reports, refused = [], []
    with tempfile.TemporaryDirectory(prefix="bench-", dir=options.folder or None) as name:
        folder = Path(name)
        observer: Observer | None = None
        if options.instructions:
            observer = Instructions()
        elif options.profile:
            observer = profiler = Profiler(options.programs, folder)
            choice.settings.update(profiler.environment)
            choice.gateways = [INTERPRETED]  # compiled functions are not seen
        # numbers of a backlog, and of messages that are sent meanwhile
        numbers = max(LEAST_NUMBERS, choice.size + 2 * FRESH_FROM_SPARE)
        for scenario in options.scenario:
            stand = Stand(Bench(options.programs, folder, observer, numbers), choice)
            print(f"--- {scenario}", flush=True)
            try:
                report = SCENARIOS[scenario](stand)
            except Refused as refusal:
                print(f"REFUSED: {refusal}", flush=True)
                refused.append(scenario)
            else:
                if report is not None:
                    reports.append(report)
                    print(report.text(), flush=True)
    if len(reports) > 1:
        print("\n".join([described, "", *(report.text() for report in reports)]))
    return 1 if refused else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--programs", type=Path, required=True, help="where the compiled programs are")
    parser.add_argument("--ours", type=Path, default=None, help="our program; that of this environment by default")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=6.0, help="of load a run")
    parser.add_argument(
        "--gateways",
        default="",
        help="names, with spaces; docs/performance.md has them",
    )
    parser.add_argument("--commits", default="", help="two or more, with spaces, for the scenario commits")
    parser.add_argument("--rates", default="", help="messages a second, with spaces: instead of a search")
    parser.add_argument("--size", default="1e6", help="messages stored or queued, for growth and backlog")
    parser.add_argument("--settings", default="", help="variables of the gateway, NAME=VALUE, with spaces")
    parser.add_argument("--folder", default="", help="where stores are put while it runs, to choose the disk")
    parser.add_argument("--stored", default="", help="where filled stores are kept: fill makes them, growth takes them")
    parser.add_argument("--profile", action="store_true", help="sample our gateway")
    parser.add_argument("--instructions", action="store_true", help="count those of each message, with Linux' perf")
    parser.add_argument("scenario", nargs="*", default=list(DEFAULT), choices=[*SCENARIOS, "list", list(DEFAULT)])
    options = parser.parse_args()
    options.programs = options.programs.resolve()
    return options


if __name__ == "__main__":
    sys.exit(main())
