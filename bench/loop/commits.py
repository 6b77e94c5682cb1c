"""The full loop of two or more commits, in turns: whether a change of many commits made a message dearer.

Each commit's tree is unpacked into a folder of its own, with an environment of its own, and is driven from outside by
the load generator and the operator of this tree. So old trees need nothing but `requirements/` and the command line.
"""

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from bench.loop.figures import Refused, Run
from bench.loop.gateways import Heliograph

READY = ".ready"
"""Made in a tree when it is built: a run that was interrupted builds it again."""

HEADS = ("commit", "callbacks/s", "CPU us/msg", "CPU us by process", "rate, ratio of rounds", "CPU, ratio of rounds")

_COMMIT = re.compile(r"[0-9A-Za-z][0-9A-Za-z._/~^-]*").fullmatch


def read_commits(text: str) -> list[str]:
    """Reads names such as `c0c75b60 HEAD~2`. Raises Refused unless they are two or more, each once."""
    commits = text.split()
    if len(commits) < 2 or len(set(commits)) < len(commits) or not all(map(_COMMIT, commits)):
        raise Refused('name two commits or more, each once, such as COMMITS="c0c75b60 HEAD"')
    return commits


class Tree:
    """The tree of a commit."""

    def __init__(self, commit: str, folder: Path, *, compiled: bool) -> None:
        """`folder` has the trees of all commits. Raises Refused if there is no such commit."""
        found = subprocess.run(
            ["git", "rev-parse", "--verify", "--quiet", "--short=8", f"{commit}^{{commit}}"],
            check=False, capture_output=True, text=True,
        )  # fmt: skip
        if found.returncode:
            raise Refused(f"there is no commit {commit}")
        self.commit = commit
        self._name = found.stdout.strip()
        self._compiled = compiled
        self.path = folder.absolute() / (self._name + ("-compiled" if compiled else ""))

    @property
    def program(self) -> Path:
        """The installed program."""
        return self.path / (".native" if self._compiled else ".venv") / "bin/heliograph"

    def build(self) -> None:
        """Unpacks and installs the tree, unless an earlier run did: half a minute, compiled a few minutes."""
        if (self.path / READY).exists():
            return
        print(f"building {self._name} in {self.path}", flush=True)
        self.path.mkdir(parents=True, exist_ok=True)
        archive = subprocess.run(["git", "archive", self._name], check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", str(self.path)], check=True, input=archive)
        if self._compiled:
            self._run("make", "native", f"PYTHON={sys.executable}")
        else:
            pip = (".venv/bin/pip", "install", "--quiet")
            self._run(sys.executable, "-m", "venv", ".venv")
            self._run(*pip, "--require-hashes", "-r", "requirements/run.txt", "-r", "requirements/build.txt")
            self._run(*pip, "--no-deps", "--no-build-isolation", ".")
        (self.path / READY).touch()

    def knows(self, setting: str) -> bool:
        """Whether its settings have this name, such as `guard_young_days`."""
        return any(setting in path.read_text() for path in (self.path / "src").rglob("settings.py"))

    def _run(self, *command: str) -> None:
        done = subprocess.run(command, check=False, cwd=self.path, capture_output=True, text=True)
        if done.returncode:
            raise Refused(f"{self._name} cannot be built: {' '.join(command)}: {(done.stdout + done.stderr)[-2000:]}")


class HeliographAt(Heliograph):
    """Ours at a commit, perhaps without the newer options."""

    def at(self, tree: Tree) -> "HeliographAt":
        """Must be called before `prepare`."""
        self.name = tree.commit
        self.program = tree.program
        if not tree.knows("guard_young_days"):
            del self._environment["HELIOGRAPH_MESSAGES_GUARD_YOUNG_DAYS"]
        self._interval = "--list-interval" in self._help("account", "create")
        return self

    def command(self, *arguments: str) -> Any:
        if "--list-interval" in arguments and not self._interval:
            at = arguments.index("--list-interval")
            arguments = arguments[:at] + arguments[at + 2 :]
        return super().command(*arguments)

    def _help(self, *command: str) -> str:
        return subprocess.run(
            [str(self.program), *command, "--help"], check=True, capture_output=True, text=True
        ).stdout


def in_turns(commits: Sequence[str], rounds: int) -> list[list[str]]:
    """Returns the order of each round: every second round is reversed, so that neither end is always warm."""
    return [list(commits) if number % 2 == 0 else list(commits)[::-1] for number in range(rounds)]


def rows_of(found: dict[str, list[Run]]) -> list[Sequence[str]]:
    """A row for each commit: medians, and the ratios of each round to the first commit's run of that round."""
    rows: list[Sequence[str]] = []
    base = next(iter(found.values()))
    for commit, runs in found.items():
        parts = [f"{median(run.cpu_us[name] for run in runs):.0f} {name}" for name in runs[0].cpu_us]
        rates = sorted(run.called_back / first.called_back for run, first in zip(runs, base, strict=True))
        costs = sorted(run.cpu / first.cpu for run, first in zip(runs, base, strict=True))
        rows.append(
            (commit, f"{median(run.called_back for run in runs):.0f}", f"{median(run.cpu for run in runs):.1f}",
             " + ".join(parts), *(f"{median(each):.3f} ({each[0]:.3f} to {each[-1]:.3f})" for each in (rates, costs)))
        )  # fmt: skip
    return rows
