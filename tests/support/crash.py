"""The installed program, killed under load again and again; then what everybody was told is compared."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from tests.support.background import BackgroundSink
from tests.support.load import Load
from tests.support.process import Admin, GatewayProcess, SimulatorProcess, eventually, free_port
from tests.support.sink import Answer

WINDOW = 10
CREDIT = 1_000_000
SETTLED_S = 60.0


@dataclass
class Toll:
    """What so many kills did. Messages are named by their destinations: each was sent to another number."""

    kills: int
    answered: int = 0
    """Messages whose request was answered 200."""
    unanswered: int = 0
    """Requests that had no answer: the gateway may have accepted them or not."""
    statuses: set[int] = field(default_factory=set)
    """Of other answers."""
    taken: int = 0
    """Messages that the operator has."""
    lost: set[str] = field(default_factory=set)
    """Those answered 200 that the operator never got."""
    invented: set[str] = field(default_factory=set)
    """Those that the operator got and nobody sent."""
    repeats: list[int] = field(default_factory=list)
    """After each kill, and before the next one: how many messages the operator got once more."""
    receipts: int = 0
    """Messages answered 200 whose receipt reached the customer."""
    lost_receipts: set[str] = field(default_factory=set)
    receipts_again: int = 0
    """Receipts that were posted once more than needed."""
    wrong_charges: Decimal = Decimal(0)
    """By how many credits the balance is not what the operator's messages cost; each costs one."""
    problems: list[str] = field(default_factory=list)
    """What `heliograph audit` found."""

    def faults(self) -> list[str]:
        """Which promises were broken; none if all were kept."""
        most = max(self.repeats, default=0)
        return [
            *([f"lost: {sorted(self.lost)}"] if self.lost else []),
            *([f"sent though nobody asked: {sorted(self.invented)}"] if self.invented else []),
            *([f"receipts lost: {sorted(self.lost_receipts)}"] if self.lost_receipts else []),
            *([f"charges wrong by {self.wrong_charges}"] if self.wrong_charges else []),
            *([f"{most} repeats after one kill, with a window of {WINDOW}"] if most > WINDOW else []),
            # 503 while it starts is honest; anything else is not
            *([f"answers {self.statuses}"] if not self.statuses <= {503} else []),
            *self.problems,
        ]


def wait_for_all(load: Load, simulator: SimulatorProcess, sink: BackgroundSink) -> None:
    """Until the operator has each message that was accepted, and the customer the receipt of each."""
    ids = set(load.accepted.values())
    eventually(lambda: ids <= sink.ids(), f"receipts for {len(ids)} messages", SETTLED_S, pause=0.2)
    simulator_has = set(simulator.destinations())
    assert set(load.accepted) <= simulator_has
    # nothing that nobody asked for
    assert simulator_has <= set(load.accepted) | set(load.unanswered)


def kill_under_load(
    folder: Path,
    kills: int,
    settings: Mapping[str, str] | None = None,
    told: Callable[[int, int], None] = lambda kill, answered: None,
) -> Toll:
    """`told` is told of each kill, and how many messages were answered by then."""
    data = folder / "data"
    admin = Admin(data, settings)
    account = admin.account("acme", str(CREDIT))
    port = free_port()
    toll = Toll(kills)
    with (
        # receipts are in the air for a while, so that each kill leaves some whose fate is unknown
        BackgroundSink(Answer(delay=0.2)) as sink,
        SimulatorProcess(folder, magic=False, receipt_delay_ms=30, latency_ms=2) as simulator,
    ):
        admin.operator(simulator.port, "operator", "", "--window", str(WINDOW))
        seen_at_kill = []
        with Load(f"http://127.0.0.1:{port}", "acme", account["api_key"], connections=8, dlr_url=sink.url()) as load:
            for kill in range(kills):
                with GatewayProcess(data, port=port, settings=settings) as gateway:
                    load.wait_for(len(load.accepted) + 150 + 37 * (kill % 7))
                    gateway.kill()
                    eventually(lambda gateway=gateway: gateway.family() == [], "no process of it is left over")  # type: ignore[misc]
                seen_at_kill.append(simulator.seen_path.stat().st_size)
                told(kill + 1, len(load.accepted))
            with GatewayProcess(data, port=port, settings=settings) as gateway:
                load.wait_for(len(load.accepted) + 100)
                load.stop()
                _settle(load, sink)
                assert gateway.stop() == 0
        assert simulator.stop() == 0
        sent = _compare(toll, load, simulator, sink)
        toll.repeats = _repeats(simulator.seen_path, seen_at_kill)
    toll.problems = admin("audit")["problems"]
    # each message was charged, also one whose sender never heard of it, and nothing else was
    toll.wrong_charges = Decimal(admin.balance()) - (CREDIT - len(sent))
    return toll


def _settle(load: Load, sink: BackgroundSink) -> None:
    """Waits for all receipts; for those that are lost not for ever."""
    ids = set(load.accepted.values())
    try:
        eventually(lambda: ids <= sink.ids(), "all receipts", SETTLED_S, pause=0.5)
    except AssertionError:
        return


def _compare(toll: Toll, load: Load, simulator: SimulatorProcess, sink: BackgroundSink) -> Counter[str]:
    sent = Counter(simulator.destinations())
    toll.answered, toll.unanswered = len(load.accepted), len(load.unanswered)
    toll.statuses = {status for status, _ in load.refused}
    toll.taken = len(sent)
    toll.lost = set(load.accepted) - set(sent)
    toll.invented = set(sent) - set(load.accepted) - set(load.unanswered)
    arrived = Counter(received.form["id"].replace("-", "") for received in sink.requests)
    toll.lost_receipts = set(load.accepted.values()) - set(arrived)
    toll.receipts = len(load.accepted) - len(toll.lost_receipts)
    toll.receipts_again = arrived.total() - len(arrived)
    return sent


def _repeats(seen: Path, seen_at_kill: list[int]) -> list[int]:
    """By kills, of the octets that the operator had written when each of them was over."""
    repeats = [0] * len(seen_at_kill)
    before: set[str] = set()
    at = 0
    for line in seen.read_bytes().splitlines(keepends=True):
        kill = sum(1 for size in seen_at_kill if size <= at) - 1
        at += len(line)
        event = json.loads(line)
        if event["event"] != "request" or event["pdu"]["command"] != "submit_sm":
            continue
        destination = event["pdu"]["destination_addr"]
        if destination in before:
            repeats[max(kill, 0)] += 1
        before.add(destination)
    return repeats
