"""What is in memory at rest: nothing that nobody has asked for.

A module stays for as long as the process that has imported it. Which ones those are can be told exactly, and on every
machine alike; what they take cannot.
"""

import os
import re
import signal
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.background_sink import BackgroundSink
from tests.support.customer import Customer
from tests.support.process import Admin, GatewayProcess, SimulatorProcess, eventually

pytestmark = pytest.mark.slow

TELLS = """
import os, signal, sys

def tell(*_):
    path = os.path.join(os.environ["TOLD"], str(os.getpid()))
    with open(path + ".new", "w") as told:
        told.write(" ".join(list(sys.modules)))
    os.replace(path + ".new", path)

signal.signal(signal.SIGUSR1, tell)
"""
"""Run by each process as it starts."""

UPON_REQUEST = {
    "asyncpg", "csv", "difflib", "heliograph.admin_api.app", "heliograph.admin_api.shapes", "heliograph.api.openapi",
    "heliograph.reference.page", "heliograph.cli.commands.groups", "heliograph.console.app",
    "heliograph.console.pages", "heliograph.console.render", "heliograph.simulator", "html", "http.cookies",
    "importlib.resources", "jinja2", "markupsafe", "opentelemetry", "rich", "statistics", "zipfile",
}  # fmt: skip
"""What the console, the admin API, the reference, other commands, another store and mistakes need."""

OF_THE_ENGINE = {
    "argon2", "click", "ctypes", "email", "http", "json", "multiprocessing", "pickle", "random", "sqlite3", "tempfile",
    "zoneinfo",
}  # fmt: skip
"""What the process that posts callbacks has no use for."""

OF_CALLBACKS = {
    "heliograph.app.webhook_job", "heliograph.domain.limits", "heliograph.domain.limits.defaults",
    "heliograph.domain.security", "heliograph.domain.security.host", "heliograph.domain.security.signature",
}  # fmt: skip
"""What it knows of the rings, beside its adapter."""


OF_CONNECTING = {"encodings.idna", "stringprep"}
"""What the interpreter itself imports when a socket is first connected; the engine has connected at rest."""


class Modules:
    """Tells what processes have imported."""

    def __init__(self, folder: Path) -> None:
        (folder / "sitecustomize.py").write_text(TELLS)
        self._folder = folder
        self.environment = {"PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")]).rstrip(":")}
        self.environment["TOLD"] = str(folder)

    def of(self, pid: int) -> set[str]:
        told = self._folder / str(pid)
        told.unlink(missing_ok=True)
        os.kill(pid, signal.SIGUSR1)
        eventually(told.exists, f"process {pid} tells its modules")
        return set(told.read_text().split())


def has_begun(pid: int) -> bool:
    """Tells whether the process that posts callbacks has all its modules: right after, it no longer hears SIGTERM."""
    ignored = re.search(r"^SigIgn:\s*([0-9a-f]+)$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    return ignored is not None and bool(int(ignored[1], 16) >> (signal.SIGTERM - 1) & 1)


def test_nothing_is_in_memory_that_nobody_has_asked_for(
    tmp_path: Path, admin: Admin, data: Path, sink: BackgroundSink
) -> None:
    account = admin.account()
    modules = Modules(tmp_path)
    with SimulatorProcess(tmp_path) as simulator, ExitStack() as stack:
        admin.operator(simulator.port)
        # by itself, a gateway with a single processor posts callbacks in its own process
        settings = modules.environment | {"HELIOGRAPH_CALLBACKS_PROCESS": "beside"}
        gateway = stack.enter_context(GatewayProcess(data, settings=settings))
        gateway.until(lambda: gateway.bound("operator"), "it is bound")
        [callbacks] = [pid for pid in gateway.family() if pid != gateway.pid]
        # the gateway does not wait for it, and asked before that it would die
        eventually(lambda: has_begun(callbacks), "the process that posts callbacks has begun")

        engine_at_rest = modules.of(gateway.pid)
        assert "heliograph.smpp.session" in engine_at_rest
        assert not UPON_REQUEST & engine_at_rest
        callbacks_at_rest = modules.of(callbacks)
        assert not (UPON_REQUEST | OF_THE_ENGINE) & callbacks_at_rest
        rings = {name for name in callbacks_at_rest if name.startswith(("heliograph.app.", "heliograph.domain."))}
        assert rings == OF_CALLBACKS

        # nor does the first message wait for an import
        with Customer(gateway.url, "acme", account["password"]) as customer:
            sent = customer.send(2, to="491701234567", content="Grüße", dlr="yes", dlr_url=sink.url())
        assert sink.receipt(sent["Id"]).form["message_status"] == "DELIVRD"
        assert modules.of(gateway.pid) == engine_at_rest
        assert modules.of(callbacks) - callbacks_at_rest <= OF_CONNECTING
        assert gateway.stop() == 0
