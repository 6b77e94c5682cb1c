"""Where the CPU goes: samples of a run, summed by stage and by function, in microseconds a message."""

import os
import re
import signal
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from bench.loop.figures import Run
from bench.loop.processes import until

LEAST_SHARE = 0.004
"""Branches of the tree below this share of all samples are left out."""

TOP = 40

STAGES = (
    ("api/", "HTTP: parse, sign in, decode, check, answer"),
    ("app/sending/authenticate", "HTTP: parse, sign in, decode, check, answer"),
    ("app/sending/compose", "submit: check, price, route"),
    ("app/sending/directory", "submit: check, price, route"),
    ("app/dispatch/dispatcher", "dispatch: lane, window"),
    ("app/dispatch/lane_item", "dispatch: lane, window"),
    ("app/dispatch/lane", "dispatch: lane, window"),
    ("smpp/", "SMPP: PDUs in and out"),
    ("adapters/smpp/", "SMPP: PDUs in and out"),
    ("app/receipts/awaiting", "receipts: match, apply"),
    ("app/receipts/early", "receipts: match, apply"),
    ("app/receipts/lookup", "receipts: match, apply"),
    ("app/receipts/operator_ids", "receipts: match, apply"),
    ("app/receipts/readings", "receipts: match, apply"),
    ("app/receipts/matcher", "receipts: match, apply"),
    ("app/notices/notifier", "callbacks: owe, make, settle"),
    ("app/notices/account_cache", "callbacks: owe, make, settle"),
    ("app/notices/receipt_form", "callbacks: owe, make, settle"),
    ("app/notices/webhook", "callbacks: owe, make, settle"),
    ("adapters/webhook/", "callbacks: post"),
    ("http_client/", "callbacks: post"),
    ("adapters/store/", "store"),
    ("runtime/", "commit: gather, hooks"),
    ("adapters/system/", "journal, ids, clock"),
)
"""The stages by the modules they are in; the first prefix that fits counts."""

LOOP = "event loop and system calls"

Stack = tuple[str, ...]


def read_stacks(text: str) -> Iterator[tuple[Stack, int]]:
    """The samples that a process wrote, without the frames that all of a loop's begin with."""
    for line in text.splitlines():
        stack, _, number = line.rpartition(" ")
        yield trimmed(tuple(stack.split(";"))), int(number)


def trimmed(stack: Stack) -> Stack:
    """The function that the event loop called, or the loop itself."""
    for depth in range(len(stack), 0, -1):
        if stack[depth - 1].startswith("Runner.run ("):
            return stack[depth:] or (LOOP,)
    return stack


def stage_of(stack: Stack) -> str:
    """Returns the stage of our innermost frame. Rules of the domain count for their caller."""
    for frame in reversed(stack):
        place = re.search(r"\(heliograph/(.*)\)", frame)
        if place is None or place[1].startswith(("cli/", "composition/", "__main__", "domain/", "app/facts")):
            continue
        return next((stage for prefix, stage in STAGES if place[1].startswith(prefix)), f"other: {place[1]}")
    return LOOP


def summary(samples: Iterable[tuple[Stack, int]], us: float) -> str:
    """Text: stages, then functions by their own and by their whole time, then the tree. `us` is the sum's worth."""
    samples = list(samples)
    total = sum(number for _, number in samples) or 1
    stages, own, whole = Counter[str](), Counter[str](), Counter[str]()
    tree = Counter[Stack]()
    for stack, number in samples:
        stages[stage_of(stack)] += number
        own[stack[-1]] += number
        for frame in set(stack):
            whole[frame] += number
        for depth in range(1, len(stack) + 1):
            tree[stack[:depth]] += number
    lines = [f"{total} samples, {us:.1f} us a message"]
    for title, counter in (("Stages", stages), ("Functions, their own time", own), ("Functions, whole time", whole)):
        lines += ["", title]
        lines += [f"{number / total * us:7.2f} us  {name}" for name, number in counter.most_common(TOP)]
    lines += ["", "Tree"]
    for stack in sorted(
        tree, key=lambda branch: [(-tree[branch[:depth]], branch[depth - 1]) for depth in range(1, len(branch) + 1)]
    ):
        if tree[stack] >= LEAST_SHARE * total:
            lines.append(f"{tree[stack] / total * us:7.2f} us  {'  ' * (len(stack) - 1)}{stack[-1]}")
    return "\n".join(lines) + "\n"


class Profiler:
    """Has the gateway's processes sample themselves during the load; a summary a process goes to `folder`."""

    def __init__(self, folder: Path, work: Path) -> None:
        self._folder = folder
        self._samples = work / "samples"
        self._pids: list[int] = []
        self._written = 0
        before = os.environ.get("PYTHONPATH")
        sampler = str(Path(__file__).with_name("sampler"))
        self.environment = {
            "PYTHONPATH": f"{sampler}{os.pathsep}{before}" if before else sampler,
            "BENCH_SAMPLES": str(self._samples),
        }
        """For the gateway."""

    def begin(self, pids: Sequence[int]) -> None:
        self._pids = list(pids)
        for pid in pids:
            os.kill(pid, signal.SIGUSR1)

    def end(self) -> None:
        for pid in self._pids:
            os.kill(pid, signal.SIGUSR2)

    def write(self, run: Run) -> None:
        """After `end`, when the figures of the run are known. Threads other than the main one are not sampled."""
        for name, pid in zip(("loop", "callbacks"), self._pids, strict=False):
            found = self._samples.with_name(f"{self._samples.name}.{pid}")
            until(found.exists, "the samples are written")
            path = self._folder / f"profile-{self._written}-{name}.txt"
            path.write_text(summary(read_stacks(found.read_text()), run.cpu_us.get(name, 0.0)))
            print(f"profile: {path}", flush=True)
        self._written += 1
