"""What holds for all tests; and collects what they show against foreign peers, to hold the documents' table to it."""

import gc
import os
from collections.abc import Callable, Generator
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import booleans

from tests.support import interop as table
from tests.support import peers
from tests.support.interop import Showing

# How long an example takes says something about the machine, and nothing about us. Examples are the same in each run,
# so that what is red is red for everybody; `make explore` tries new ones.
settings.register_profile(
    "heliograph", deadline=None, derandomize=os.environ.get("HELIOGRAPH_EXAMPLES") != "new",
    suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip
settings.load_profile("heliograph")

peers.refuse_unasked()

WRITES = os.environ.get("HELIOGRAPH_WRITE_DOCS") == "1"

Interop = Callable[..., None]

_shown: set[Showing] = set()
_said: list[str] = []
_missed: list[str] = []
"""Tests against peers that did not pass, or were left out."""
_passed_alone: list[str] = []
"""Tests against peers that passed though all peers are hidden."""


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collecting makes a million objects, none of them garbage: nobody looks for any among them, then or later."""
    gc.disable()
    _make_random_numbers()
    _load_a_share(session.config)
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def _load_a_share(config: pytest.Config) -> None:
    """Has each worker of a whole run begin with other modules. Otherwise all of them would rewrite the assertions of
    the same modules at the same time, where no earlier run left bytecode; so each takes it from the others."""
    worker = getattr(config, "workerinput", None)
    if worker is None or config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return
    folder = Path(__file__).parent
    modules = [path for path in sorted(folder.rglob("test_*.py")) if not _is_left_out(path, config)]
    for path in modules[int(worker["workerid"].removeprefix("gw")) :: worker["workercount"]]:
        with suppress(Exception, pytest.skip.Exception):  # collection tells of it
            import_module(".".join(path.relative_to(folder.parent).with_suffix("").parts))


@settings(max_examples=1, database=None)
@given(booleans())
def _make_random_numbers(_: bool) -> None:
    """A first example. With it Hypothesis makes its generator of random numbers, and warns if the garbage collector
    knows no object that refers to it. The collector forgets these objects once they are frozen."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leaves out the tests with schemathesis where its plugin is switched off: loading it takes each worker a second
    and more."""
    return _is_left_out(collection_path, config) or None


def _is_left_out(path: Path, config: pytest.Config) -> bool:
    return path.name.endswith("schemathesis.py") and config.pluginmanager.is_blocked("schemathesis")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes minutes begins first, or all others would be over and wait for it."""
    items.sort(key=lambda item: item.get_closest_marker("minutes") is None)


@pytest.fixture
def interop(request: pytest.FixtureRequest) -> Interop:
    """`interop("npm `smpp`", "SMSC", "gateway", "UCS-2", ...)`: these features of the peer were just seen to work."""

    def note(peer: str, role: str, ours: str, *features: str) -> None:
        test = table.test_of(request.node.nodeid)
        for feature in features:
            showing = Showing(peer, role, ours, test, feature)
            request.node.user_properties.append((table.PROPERTY, showing.recorded()))

    return note


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.passed and report.when == "call":
        _shown.update(Showing.read(str(text)) for name, text in report.user_properties if name == table.PROPERTY)
    elif not report.passed and "interop" in report.keywords:
        _missed.append(report.nodeid)
    if peers.HIDDEN and "peer" in report.keywords and report.passed and report.when == "call":
        _passed_alone.append(report.nodeid)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    config = session.config
    if _passed_alone:
        _said.append("These tests passed though all peers are hidden; what do they try against a peer?")
        _said.extend(f"  {test}" for test in _passed_alone)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    if hasattr(config, "workerinput") or not _shown:
        return
    page = table.PAGE.read_text(encoding="utf-8")
    all_were_run = not _missed and session.exitstatus == pytest.ExitCode.OK and _runs_all(config)
    if WRITES:
        if not all_were_run:
            _said.append("The table was not written: not all tests against peers were run and passed.")
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
            return
        table.PAGE.write_text(table.written(page, _shown), encoding="utf-8")
        _said.append(f"Wrote what was shown into {table.PAGE}.")
        return
    more = table.beyond(page, _shown)
    if more or (all_were_run and table.table(_shown) != table.read(page)):
        _said.append("docs/smpp.md says something else of foreign peers than was shown: run `make interop`.")
        _said.extend(f"  not there: {each.peer}, {each.role}: {each.feature}" for each in more)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _runs_all(config: pytest.Config) -> bool:
    """Whether nothing keeps a test against a peer from being run."""
    chosen = config.args_source is pytest.Config.ArgsSource.TESTPATHS and not config.option.keyword
    return chosen and config.option.markexpr in ("", "not ha", "interop")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in _said:
        terminalreporter.write_line(line, red="something else" in line or "not written" in line)
