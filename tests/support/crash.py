"""Kills the installed program repeatedly under load, and compares the answers and messages of all sides."""

import json
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from functools import partial
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import Any, Self

from heliograph.smpp.constants import CommandStatus
from tests.support.background_sink import BackgroundSink
from tests.support.load import Load
from tests.support.ports import free_port
from tests.support.process import Admin, GatewayProcess, SimulatorProcess, eventually
from tests.support.sink import Answer
from tests.support.smpp_load import REFERENCE_TAG, SmppLoad
from tests.support.switchable_relay import SwitchableRelay
from tests.support.timeouts import COMMAND_S, PATIENCE_S

WINDOW = 10
CREDIT = 1_000_000
NUMBER = "3388"
"""The number that phones write to meanwhile."""

PHONES: dict[str, Any] = {"inbound_rate": 300, "inbound_to": NUMBER, "inbound_text": "Number {n}"}
SENT_AGAIN: frozenset[int] = frozenset(
    {CommandStatus.ESME_RMSGQFUL, CommandStatus.ESME_RTHROTTLED, CommandStatus.ESME_RSYSERR}
)
"""Statuses after which SMPP clients submit again. A gateway that starts or stops may give them."""

SETTLED_S = 150.0
"""Seconds without another callback after which missing receipts count as lost. If phones write more than a slow machine
can post, a callback is put off for a minute, and up to another minute by jitter."""


@dataclass
class Toll:
    """Results of a run with many kills. Messages are named by their destinations: each was sent to another number."""

    kills: int
    nodes: int = 1
    answered: int = 0
    """Messages with a 200 for their request."""
    unanswered: int = 0
    """Requests that had no answer: the gateway may have accepted them or not."""
    statuses: set[int] = field(default_factory=set)
    """Statuses of answers other than 200."""
    taken: int = 0
    """Messages that the operator has."""
    lost: set[str] = field(default_factory=set)
    """Messages answered 200 that the operator never got."""
    invented: set[str] = field(default_factory=set)
    """Messages that the operator got without a request."""
    repeats: list[int] = field(default_factory=list)
    """Messages that the operator got a second time, counted between two kills."""
    receipts: int = 0
    """Messages with a 200 and a receipt at the customer."""
    lost_receipts: set[str] = field(default_factory=set)
    receipts_again: int = 0
    """Receipts that were posted once more than needed."""
    submitted_again: int = 0
    """Submissions over SMPP that were made again, since they had no answer or were put off."""
    two_ids: set[str] = field(default_factory=set)
    """Messages that were submitted again over SMPP, and answered with another id."""
    from_phones: int = 0
    """Messages from phones that were acknowledged before the last customer stopped."""
    lost_from_phones: set[str] = field(default_factory=set)
    """Inbound messages that never reached the customer, by their texts."""
    doubled_from_phones: set[str] = field(default_factory=set)
    """Inbound messages that reached the customer under two ids."""
    wrong_charges: Decimal = Decimal(0)
    """Difference in credits between the balance and the price of the operator's messages; each costs 1."""
    problems: list[str] = field(default_factory=list)
    """Findings of `heliograph audit`."""
    binds: set[str] = field(default_factory=set)
    """Operator's answers to binds."""
    given_up: int = 0
    """Nodes that others gave up though they lived."""
    cuts: int = 0
    """Times that the first operator was gone, where there are two."""
    diverted: int = 0
    """Messages that the second operator has."""
    with_both: set[str] = field(default_factory=set)
    """Messages that both operators have."""
    pause: float = 0.0
    """Seconds: the longest that nothing was sent, of the time when customers did."""
    wait: float = 0.0
    """Seconds: the longest from the 200 for a message to when the operator first had it."""

    def faults(self) -> list[str]:
        """Lists the promises that were broken; none if all were kept."""
        # parts in flight at a kill may be sent again only until the next kill
        many = any(
            so_far > WINDOW * (kills + self.given_up + self.cuts)
            for kills, so_far in enumerate(accumulate(self.repeats), 1)
        )
        # with several nodes, an uncommitted part of a dead node may come twice: docs/reliability.md
        doubled = len(self.doubled_from_phones) > (self.kills if self.nodes > 1 else 0)
        return [
            *([f"lost: {_some(self.lost)}"] if self.lost else []),
            *([f"with both operators: {_some(self.with_both)}"] if self.with_both else []),
            *([f"sent though nobody asked: {_some(self.invented)}"] if self.invented else []),
            *([f"answered with two ids: {_some(self.two_ids)}"] if self.two_ids else []),
            *([f"receipts lost: {_some(self.lost_receipts)}"] if self.lost_receipts else []),
            *([f"from phones and lost: {_some(self.lost_from_phones)}"] if self.lost_from_phones else []),
            *([f"from phones and doubled: {_some(self.doubled_from_phones)}"] if doubled else []),
            *([f"charges wrong by {self.wrong_charges}"] if self.wrong_charges else []),
            *([f"{self.repeats} repeats after each kill, with a window of {WINDOW}"] if many else []),
            *([f"the operator's limit of binds was tried: {self.binds}"] if self.binds != {"ESME_ROK"} else []),
            # 503 while it starts is honest; anything else is not
            *([f"answers {self.statuses}"] if not self.statuses <= {503} else []),
            *self.problems,
        ]


def _some(names: set[str]) -> str:
    return f"{len(names)}, among them {sorted(names)[:20]}"


def wait_for_all(load: Load, simulator: SimulatorProcess, sink: BackgroundSink) -> None:
    """Waits until the operator has each accepted message, and the customer the receipt of each."""
    ids = set(load.accepted.values())
    eventually(lambda: ids <= sink.ids(), f"receipts for {len(ids)} messages", SETTLED_S, pause=0.2)
    eventually(lambda: set(load.accepted) <= set(simulator.destinations()), "all with the operator", pause=0.2)
    simulator_has = set(simulator.destinations())
    # nothing without a request
    assert simulator_has <= set(load.accepted) | set(load.unanswered)


class Gateways:
    """Runs gateways on fixed ports, each with its own data directory, on the same store."""

    def __init__(self, folder: Path, settings: Mapping[str, str], nodes: int, *, smpp: bool = False) -> None:
        self._folder, self._settings = folder, settings
        self._ports = [free_port() for _ in range(nodes)]
        self.smpp_ports = [free_port() for _ in range(nodes)] if smpp else []
        self._running: list[GatewayProcess] = []
        self._killed: set[int] = set()
        """Nodes that were killed and not yet started again."""
        self.given_up = 0
        """Number of nodes that were not killed, but lost their leases."""

    @property
    def urls(self) -> list[str]:
        return [f"http://127.0.0.1:{port}" for port in self._ports]

    def __enter__(self) -> Self:
        self._running = [self._start(number) for number in range(len(self._ports))]
        return self

    def __exit__(self, *_: object) -> None:
        for gateway in self._running:
            gateway.__exit__(None, None, None)

    def _start(self, number: int) -> GatewayProcess:
        name = f"node{number}"
        listen = f"127.0.0.1:{self.smpp_ports[number]}" if self.smpp_ports else ""
        settings = {**self._settings, "HELIOGRAPH_SMPP_SERVER_LISTEN": listen}
        return GatewayProcess(self._folder / name, port=self._ports[number], settings=settings, name=name)

    def _tended(self, number: int) -> GatewayProcess:
        """Returns the node, or a new node if it was given up, as a supervisor would restart it. That happens on a
        machine so busy that a process gets no time for seconds."""
        gateway = self._running[number]
        if not gateway.running:
            assert gateway.wait() == 1, gateway.err
            assert "given to others" in gateway.err, gateway.err
            self.given_up += 1
            gateway.__exit__(None, None, None)
            self._running[number] = gateway = self._start(number)
        return gateway

    def until(self, look: Callable[[], object], what: str, seconds: float = PATIENCE_S) -> None:
        """Like `eventually`; meanwhile restarts nodes that were given up, except killed nodes."""

        def look_tended() -> object:
            for number in set(range(len(self._running))) - self._killed:
                self._tended(number)
            return look()

        eventually(look_tended, what, seconds)

    def kill(self, number: int) -> None:
        gateway = self._tended(number)
        gateway.kill()
        eventually(lambda: gateway.family() == [], "no process of it is left over")
        gateway.__exit__(None, None, None)
        self._killed.add(number)

    def revive(self, number: int, *, wait: bool) -> None:
        """Starts it again. `wait`: until it has a bind, which its predecessor's lease must free first."""
        self._running[number] = self._start(number)
        self._killed.discard(number)
        eventually(lambda: not wait or self._tended(number).bound("operator"), "it is bound", COMMAND_S)

    def stop(self) -> None:
        assert [self._tended(number).stop() for number in range(len(self._running))] == [0] * len(self._running)


def kill_under_load(
    folder: Path,
    kills: int,
    settings: Mapping[str, str] | None = None,
    told: Callable[[int, int], None] = lambda kill, answered: None,
    nodes: int = 1,
    load: int = 150,
    after: Callable[[int], None] = lambda kill: None,
    *,
    smpp: bool = False,
    failover: bool = False,
) -> Toll:
    """Of several nodes a random node is killed at a time; the others go on. `told` is called with each kill, and the
    number of messages answered by then; `after` is called between a kill and the next start. Before each kill at least
    `load` messages are answered. If nodes have leases (`settings` name a database), customers pause between two
    requests. A new node takes 6 seconds to get a bind, and the queue would grow too large meanwhile.

    `smpp`: customers bind, submit again without an answer, and get receipts over their binds. `failover`: each number
    has a second operator. The first refuses a third of the messages, and is gone at some of the kills."""
    shared = dict(settings or {}) | ({"HELIOGRAPH_NODE_MOST_BINDS": "1"} if nodes > 1 else {})
    chance = random.Random(kills)
    admin = Admin(folder / "node0", settings)
    account = admin.account("acme", str(CREDIT))
    latency = 2 if nodes == 1 else 40
    toll = Toll(kills, nodes)
    second: SecondOperator | None = None
    refusing: dict[str, Any] = {"refuse_share": 0.3, "refuse_status": "ESME_RSYSERR"} if failover else {}
    with (
        ExitStack() as stack,
        # receipts are delayed, so that some are in flight at each kill
        BackgroundSink(Answer(delay=0.2)) as sink,
        BackgroundSink() as inbound_sink,
        SimulatorProcess(
            folder, magic=False, receipt_delay_ms=30, latency_ms=latency, max_binds=nodes, **PHONES, **refusing
        ) as simulator,
    ):
        admin("account", "set", "acme", f"inbound_url={inbound_sink.url()}")
        admin("number", "add", NUMBER, "--account", "acme")
        if failover:
            second = stack.enter_context(SecondOperator(folder, admin, simulator.port, latency, nodes))
        port = simulator.port if second is None else second.relay.port
        admin.operator(port, "operator", "", "--window", str(WINDOW), "--binds", str(nodes))
        if second is not None:
            admin("connector", "set", "operator", "failover_after_s=1")
        seen_at_kill = []
        if smpp:
            admin("account", "set", "acme", f"smpp_reference={REFERENCE_TAG:#x}", "smpp_binds=100")
            account |= admin("account", "smpp-password", "acme")
        with Gateways(folder, shared, nodes, smpp=smpp) as gateways:
            key, pause = account["api_key"], 0.02 if "HELIOGRAPH_DATABASE_URL" in shared else 0.0
            clients: Load | SmppLoad = (
                SmppLoad(gateways.smpp_ports, "acme", account["smpp_password"], pause=pause)
                if smpp
                else Load(gateways.urls, "acme", key, connections=8, dlr_url=sink.url(), pause=pause)
            )
            with clients as customers:
                for kill in range(kills):
                    victim = chance.randrange(nodes)
                    customers.wait_for(len(customers.accepted) + load + 37 * (kill % 7))
                    if second is not None and chance.random() < 0.5:
                        second.relay.cut()
                        toll.cuts += 1
                        customers.wait_for(len(customers.accepted) + chance.choice((0, load, 10 * load)))
                    gateways.kill(victim)
                    seen_at_kill.append(simulator.seen_path.stat().st_size)
                    told(kill + 1, len(customers.accepted))
                    after(kill)
                    if second is not None and chance.random() < 0.5:
                        second.relay.plug_in()
                    # most are killed while they send, some while they start
                    gateways.revive(victim, wait=chance.random() < 0.7 and not (second and second.relay.is_cut))
                    if second is not None:
                        second.relay.plug_in()
                customers.wait_for(len(customers.accepted) + 100)
                customers.stop()
                acknowledged = set(simulator.acknowledged())
                ids = partial(set, customers.receipts) if isinstance(customers, SmppLoad) else sink.ids
                posted = partial(_posted, sink, inbound_sink)
                _settle(set(customers.accepted.values()), ids, posted)
                _settle(acknowledged, lambda: set(inbound_sink.from_phones()), posted)
                gateways.stop()
                toll.given_up = gateways.given_up
        assert simulator.stop() == 0
        sent = _compare(toll, customers, simulator, sink, second)
        _compare_from_phones(toll, acknowledged, inbound_sink)
        toll.repeats = _repeats(simulator.seen_path, seen_at_kill)
    toll.problems = admin("audit")["problems"]
    # exactly the operator's messages were charged, also if their client got no answer
    toll.wrong_charges = Decimal(admin.balance()) - (CREDIT - len(sent))
    return toll


def _posted(*sinks: BackgroundSink) -> int:
    return sum(len(sink.sink.requests) for sink in sinks)


def _settle(owed: set[str], told: Callable[[], set[str]], posted: Callable[[], int]) -> None:
    """Waits until the customer has all receipts, as long as anything is posted: receipts wait behind the messages from
    phones, of which a slow machine may have a hundred thousand."""
    seen, since = -1, time.monotonic()
    while (missing := len(owed - told())) and time.monotonic() - since < SETTLED_S:
        if (now := posted() - missing) > seen:
            seen, since = now, time.monotonic()
        time.sleep(0.5)


class SecondOperator:
    """The operator that takes a message when the first refuses it or is gone, and the relay to the first."""

    def __init__(self, folder: Path, admin: Admin, first: int, latency: int, nodes: int) -> None:
        self.relay = SwitchableRelay(first)
        self.simulator = SimulatorProcess(
            folder, name="second", magic=False, receipt_delay_ms=30, latency_ms=latency, max_binds=nodes
        )
        admin.operator(self.simulator.port, "second", "", "--window", str(WINDOW), "--binds", str(nodes))

    def __enter__(self) -> Self:
        self.relay.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.relay.__exit__(None, None, None)
        self.simulator.__exit__(None, None, None)


def _taken(simulator: SimulatorProcess) -> Counter[str]:
    """Counts the messages that the operator has, by their numbers: it answered ESME_ROK, or its answer was lost."""
    asked: dict[tuple[int, int], str] = {}
    refused = set()
    for line in simulator.seen():
        pdu = line.get("pdu", {})
        if line["event"] == "request" and pdu["command"] == "submit_sm":
            asked[line["link"], pdu["sequence"]] = pdu["destination_addr"]
        elif line["event"] == "answer" and pdu["command"] == "submit_sm_resp" and pdu["status"] != "ESME_ROK":
            refused.add((line["link"], pdu["sequence"]))
    return Counter(number for name, number in asked.items() if name not in refused)


def _compare(
    toll: Toll,
    load: Load | SmppLoad,
    simulator: SimulatorProcess,
    sink: BackgroundSink,
    second: SecondOperator | None,
) -> Counter[str]:
    sent = Counter(simulator.destinations()) if second is None else _taken(simulator)
    if second is not None:
        at_second = _taken(second.simulator)
        toll.with_both, toll.diverted = at_second.keys() & sent.keys(), len(at_second)
        sent += at_second
    toll.answered, toll.unanswered = len(load.accepted), len(load.unanswered)
    toll.statuses = {status for status, _ in load.refused}
    toll.taken = len(sent)
    toll.lost = set(load.accepted) - set(sent)
    toll.invented = set(sent) - set(load.accepted) - set(load.unanswered)
    if isinstance(load, SmppLoad):
        arrived = load.receipts
        toll.two_ids, toll.submitted_again = load.two_ids, load.submitted_again
        toll.statuses -= SENT_AGAIN
    else:
        arrived = Counter(received.form["id"].replace("-", "") for received in sink.requests)
    toll.lost_receipts = set(load.accepted.values()) - set(arrived)
    toll.receipts = len(load.accepted) - len(toll.lost_receipts)
    toll.receipts_again = arrived.total() - len(arrived)
    _time(toll, load, [simulator] if second is None else [simulator, second.simulator])
    return sent


def _compare_from_phones(toll: Toll, acknowledged: set[str], sink: BackgroundSink) -> None:
    told = sink.from_phones()
    toll.from_phones = len(acknowledged)
    toll.lost_from_phones = acknowledged - told.keys()
    toll.doubled_from_phones = {text for text, ids in told.items() if len(ids) > 1}


def _time(toll: Toll, load: Load | SmppLoad, simulators: list[SimulatorProcess]) -> None:
    first: dict[str, float] = {}
    for line in chain.from_iterable(simulator.seen() for simulator in simulators):
        pdu = line.get("pdu", {})
        if line["event"] == "answer" and pdu["command"].startswith("bind_"):
            toll.binds.add(pdu["status"])
        elif line["event"] == "request" and pdu["command"] == "submit_sm":
            number, at = pdu["destination_addr"], datetime.fromisoformat(line["at"]).timestamp()
            first[number] = min(at, first.get(number, at))
    asked = sorted(load.answered_at.values())
    times = [at for at in sorted(first.values()) if asked[0] <= at <= asked[-1]]
    toll.pause = max(later - earlier for earlier, later in pairwise(times))
    toll.wait = max(first[to] - at for to, at in load.answered_at.items() if to in first)


def _repeats(seen: Path, seen_at_kill: list[int]) -> list[int]:
    """Counts repeats by kill, from the octets that the operator had written when each was over."""
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
