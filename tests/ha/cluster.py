"""The cluster of the recipe on loopback, from the files of ops/ha: etcd, Patroni with PostgreSQL, a balancer.

The files are used as they are, with other addresses and folders. Each cluster has a network of loopback to itself, such
as 127.60.17.0/24, so that all ports are the recipe's.
"""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from string import Template
from types import TracebackType
from typing import Any, Self

from tests.support.peers import foreign_file, foreign_program, missing
from tests.support.ports import free_port
from tests.support.process import eventually
from tests.support.processes import processes
from tests.support.timeouts import COMMAND_S

FILES = Path(__file__).parents[2] / "ops/ha"
DATABASES = ("db1", "db2", "db3")
_NOBODY = 65534
"""User id of the servers when tests are run as root, as PostgreSQL refuses to run as root."""

_WATCHMAN = """
read -r never
for round in 1 2; do
  for link in $(find /proc/[0-9]* -maxdepth 1 -name cwd -lname "$0*" 2>/dev/null); do
    process=${link%/cwd}; kill -9 "${process#/proc/}" 2>/dev/null
  done
done
rm -rf "$0" 2>/dev/null || { sleep 1; rm -rf "$0"; }
"""
"""A shell that ends all processes with a working directory in the cluster's folder, and removes the folder, once its
pipe closes because the owner is gone. PostgreSQL has a session of its own, so a process group would miss it."""


def read_variables(text: str) -> dict[str, str]:
    """Returns the variables of an environment file."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def _answer(url: str, timeout: float = 1.0) -> tuple[int, bytes]:
    """Returns status and body; 0 if there is no answer."""
    try:
        with urllib.request.urlopen(url, timeout=timeout) as reply:
            return reply.status, reply.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()
    except OSError:
        return 0, b""


def is_ready(url: str) -> bool:
    return _answer(f"{url}/health/ready")[0] == 200


class Cluster:
    """Servers by their machines in the recipe: `db1` to `db3`, and the balancer."""

    def __init__(self) -> None:
        """Skips the test where a program is missing."""
        self._programs = {name: foreign_program(name) for name in ("etcd", "patroni", "patronictl", "haproxy")}
        versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
        if not versions:
            missing("Debian's postgresql")
        self.bin = foreign_file(versions[-1] / "postgres", "Debian's postgresql").parent
        number = free_port()
        network = f"127.{number >> 8}.{number & 255}."
        self.folder = Path(tempfile.mkdtemp(prefix="ha-", dir="/tmp"))
        self._user = _NOBODY if os.geteuid() == 0 else None
        self._watchman = subprocess.Popen(
            ["/bin/sh", "-c", _WATCHMAN, str(self.folder)], stdin=subprocess.PIPE, start_new_session=True, cwd="/"
        )
        self._own(self.folder)
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        text = (FILES / "cluster.env").read_text(encoding="utf-8")
        self.variables = {
            name: "127.0.0.0/8" if name == "NETWORK" else value.replace("10.0.0.", network)
            for name, value in read_variables(text).items()
        }
        self.balancer = f"{self.variables['BALANCER']}:8000"

    def render(self, name: str, node: str = "") -> str:
        """Returns a file of ops/ha as `envsubst` writes it for a machine, such as `db1`, with our folders."""
        address = self.variables.get(node.upper(), "")
        text = Template((FILES / name).read_text(encoding="utf-8")).substitute(
            self.variables, NODE=node, ADDRESS=address
        )
        for path, other in {
            "/var/lib/postgresql": self.folder / node,
            "/var/run/postgresql": self.folder / node,
            "/var/lib/etcd": self.folder / node,
            "/usr/lib/postgresql/15/bin": self.bin,
            # a real watchdog would reset this machine
            "/dev/watchdog": self.folder / "no-watchdog",
            # a port that needs no privileges
            f"{self.variables['BALANCER']}:80\n": f"{self.balancer}\n",
        }.items():
            text = text.replace(path, str(other))
        return text

    # --- start and end

    def start(self) -> None:
        """Starts all servers, and returns when the cluster has a leader and two standbys."""
        for node in DATABASES:
            self.start_etcd(node)
        for node in DATABASES:
            self.start_patroni(node)
        self.until(self.is_whole, "a leader, a synchronous standby and a standby")
        self.sql(f"CREATE ROLE sms LOGIN PASSWORD '{self.variables['DATABASE_PASSWORD']}'")
        config = self.folder / "haproxy.cfg"
        config.write_text(self.render("haproxy.cfg"))
        self._spawn("balancer", [self._programs["haproxy"], "-db", "-f", str(config)])

    def start_etcd(self, node: str) -> None:
        self._own(self.folder / node)
        settings = read_variables(self.render("etcd", node))
        self._spawn(f"etcd of {node}", [self._programs["etcd"]], settings | {"ETCD_LOG_LEVEL": "warn"})

    def start_patroni(self, node: str) -> None:
        config = self._own(self.folder / node) / "patroni.yml"
        config.write_text(self.render("patroni.yml", node))
        self._spawn(f"patroni of {node}", [self._programs["patroni"], str(config)])

    def _own(self, folder: Path) -> Path:
        folder.mkdir(exist_ok=True)
        if self._user is not None:
            os.chown(folder, self._user, self._user)
        return folder

    def _spawn(self, name: str, command: list[str], environment: Mapping[str, str] | None = None) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            self._running[name] = subprocess.Popen(
                command,
                cwd=self.folder,
                env={"PATH": os.defpath, "LANG": "C.UTF-8", "HOME": str(self.folder)} | dict(environment or {}),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                user=self._user,
                start_new_session=True,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kept := os.environ.get("HA_LOGS"):
            for log in self.folder.glob("*.log"):
                shutil.copy(log, kept)
        assert self._watchman.stdin is not None
        self._watchman.stdin.close()
        self._watchman.wait(COMMAND_S)
        for process in self._running.values():
            process.wait(COMMAND_S)

    # --- its state

    def until(self, look: Callable[[], Any], what: str, seconds: float = COMMAND_S) -> Any:
        return eventually(look, what, seconds, pause=0.1)

    def leader(self) -> str:
        """The node that says of itself that it is the leader; empty if none does."""
        return self._answering("primary")

    def synchronous(self) -> str:
        """The synchronous standby; empty if there is none."""
        return self._answering("synchronous")

    def _answering(self, path: str) -> str:
        return next((node for node in DATABASES if _answer(self._rest(node, path))[0] == 200), "")

    def _rest(self, node: str, path: str) -> str:
        return f"http://{self.variables[node.upper()]}:8008/{path}"

    def has_all(self, node: str) -> bool:
        """Whether a standby has flushed all that the leader had written when this was asked."""
        statement = f"""
            SELECT flush_lsn >= (SELECT pg_current_wal_lsn()) FROM pg_stat_replication WHERE application_name = '{node}'
        """
        return self.sql(statement) == [["t"]]

    def is_whole(self) -> bool:
        """Whether there are a leader, a synchronous standby and another standby, all on one timeline."""
        for node in DATABASES:
            status, body = _answer(self._rest(node, "cluster"))
            if status == 200:
                members = json.loads(body)["members"]
                roles = sorted(member["role"] for member in members)
                works = {member["state"] for member in members} <= {"running", "streaming"}
                one_past = len({member.get("timeline") for member in members}) == 1
                return roles == ["leader", "replica", "sync_standby"] and works and one_past
        return False

    def heal(self) -> None:
        """Starts servers that have ended, and waits until the cluster is whole."""
        self.start_ended()
        self.until(self.is_whole, "the cluster is whole again")

    def start_ended(self) -> None:
        for name, process in list(self._running.items()):
            program, _, node = name.partition(" of ")
            if process.poll() is not None and program in ("etcd", "patroni"):
                (self.start_etcd if program == "etcd" else self.start_patroni)(node)

    def commits(self) -> bool:
        """Whether the leader commits now: a standby has it too."""
        statement = "SET statement_timeout = '500ms'; SELECT pg_logical_emit_message(true, 'trial', '')"
        done = self._psql(statement, "postgres")
        # a wait that is over ends in a warning: the commit is on the leader only
        return done.returncode == 0 and "canceling wait" not in done.stderr

    def sql(self, statement: str, database: str = "postgres") -> list[list[str]]:
        """Runs a statement on the leader, and returns its rows as texts."""
        done = self._psql(statement, database)
        assert done.returncode == 0, done.stderr
        return [line.split("|") for line in done.stdout.splitlines()]

    def dump(self, database: str, file: Path) -> None:
        self._client("pg_dump", "-Fc", "-d", self._where(database), "-f", str(file)).check_returncode()

    def restore(self, database: str, file: Path) -> None:
        """Replaces the database by its backup, as the runbook says."""
        self.sql(f"ALTER DATABASE {database} RENAME TO {database}_before")
        self.sql(f"CREATE DATABASE {database} OWNER sms ENCODING UTF8")
        self._client("pg_restore", "--exit-on-error", "-d", self._where(database), str(file)).check_returncode()

    def _psql(self, statement: str, database: str) -> subprocess.CompletedProcess[str]:
        return self._client("psql", self._where(database), "-XAtqF|", "-v", "ON_ERROR_STOP=1", "-c", statement)

    def _where(self, database: str) -> str:
        hosts = ",".join(self.variables[node.upper()] for node in DATABASES)
        return f"host={hosts} user=postgres dbname={database} target_session_attrs=read-write connect_timeout=3"

    def _client(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs a client of PostgreSQL."""
        environment = {"PGPASSWORD": self.variables["SUPERUSER_PASSWORD"], "PGOPTIONS": "-c search_path=heliograph"}
        return subprocess.run(
            [self.bin / program, *arguments],
            env=environment, capture_output=True, text=True, timeout=COMMAND_S, check=False,
        )  # fmt: skip

    def patronictl(self, *arguments: str) -> str:
        node = next(node for node in DATABASES if self._running[f"patroni of {node}"].poll() is None)
        command = [self._programs["patronictl"], "-c", str(self.folder / node / "patroni.yml"), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_S, check=False, cwd=self.folder)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def fail_over_by_force(self, candidate: str) -> None:
        """Promotes a standby, whether or not it has all confirmed commits."""

        def leads() -> bool:
            # Patroni answers that it failed while the standby starts, and while the lock of the old leader lasts
            return "Successfully" in self.patronictl("failover", "sms", "--candidate", candidate, "--force")

        eventually(leads, f"{candidate} leads", COMMAND_S, pause=1.0)

    def copy_anew(self, standby: str) -> None:
        """Replaces all data of a standby, which has commits that the leader lacks, by a copy of the leader's."""

        def begins() -> bool:
            return "Success" in self.patronictl("reinit", "sms", standby, "--force")

        eventually(begins, f"{standby} is copied from the leader", COMMAND_S, pause=1.0)

    # --- faults

    def _postmaster(self, node: str) -> int:
        return int((self.folder / node / "15/sms/postmaster.pid").read_text().split()[0])

    def servers(self, node: str) -> list[int]:
        """Patroni and PostgreSQL of a machine, with all of their processes."""
        return [*_tree(self._running[f"patroni of {node}"].pid), *_tree(self._postmaster(node))]

    def walreceivers(self, *nodes: str) -> list[int]:
        """The processes by which these standbys, or all, receive the log of the leader."""
        found = []
        for pid in [pid for node in nodes or DATABASES for pid in _tree(self._postmaster(node))]:
            with suppress(OSError):
                if b"walreceiver" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.append(pid)
        return found

    def kill_database(self, node: str) -> None:
        """Kills Patroni and PostgreSQL of a machine."""
        send(signal.SIGKILL, self.servers(node))
        self._running[f"patroni of {node}"].wait(COMMAND_S)

    def kill_etcd(self, node: str) -> None:
        process = self._running[f"etcd of {node}"]
        process.kill()
        process.wait(COMMAND_S)


def send(number: signal.Signals, pids: list[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def _tree(pid: int) -> list[int]:
    """A process and all that descend from it."""
    children: dict[int, list[int]] = {}
    for each in processes():
        children.setdefault(each.parent, []).append(each.pid)
    found = [pid]
    for known in found:
        found += children.get(known, [])
    return found
