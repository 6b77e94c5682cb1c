"""Attention: things that need somebody, such as a connector that is down.

The console's overview, the admin API, commands and alerts draw on `find`. A *worry* is a single such thing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from heliograph.app.configuration import DRAIN, OFF, ON, Connector
from heliograph.app.ports import CarrierState
from heliograph.app.ports.carrier_state import FRESH_MS
from heliograph.app.records import BacklogCounts, Scope
from heliograph.app.resources import guard
from heliograph.app.resources.connectors import all_connectors
from heliograph.app.resources.description import Answer, Operation, Resource, Scopes
from heliograph.app.resources.desk import Desk
from heliograph.app.resources.fields import Choice, Field, Text
from heliograph.app.routing.health import FAILING, reported_obstacles
from heliograph.domain.display import counted, duration

_TROUBLES: Final = {"down": "is down", "silent": "answers nothing"}
"""Conditions of a connector that need attention, in words."""

OLD_MS: Final = 60_000
"""Messages that have waited for so long are worth a look. Milliseconds."""

FAILED_OFTEN: Final = 3
MANY_FAILED: Final = 100
"""The receivers of an account are worth a look if a callback failed so often, or if so many failed and wait."""

NAMED: Final = 3
"""The most ranges and accounts that a page names."""


class Topic(StrEnum):
    """The kind of a worry. Its subject is in parentheses."""

    STORE = "store"
    CONNECTOR = "connector"
    """A connector is down or silent, or fails most messages (connector)."""
    BACKLOG = "backlog"
    """The messages of a connector wait too long (connector)."""
    NATIONAL = "national-numbers"
    """A connector brings numbers without a country (connector)."""
    NO_CONNECTOR = "no-connector"
    QUEUE = "queue"
    CALLBACKS = "callbacks"
    """Callbacks have failed for good."""
    RECEIVER = "receiver"
    """Receivers of an account's callbacks fail (account)."""
    GUARD = "guard"
    """The pumping guard holds or suspects messages (account and first digits)."""
    CREDIT = "credit"
    """An account has no credit (account)."""


_COMMANDS: Final = {
    Topic.STORE: "doctor",
    Topic.CONNECTOR: "connector show {}",
    Topic.BACKLOG: "connector show {}",
    Topic.NATIONAL: "connector show {}",
    Topic.NO_CONNECTOR: "connector add --help",
    Topic.QUEUE: "queue list",
    Topic.CALLBACKS: "callbacks list --state failed",
    Topic.RECEIVER: "callbacks status",
    Topic.GUARD: "guard list",
    Topic.CREDIT: "account ledger {}",
}
"""The command that shows more about a worry of the topic. {} is its subject."""


@dataclass(frozen=True, slots=True)
class Worry:
    topic: Topic
    problem: str
    """A clause, for example `op1 is down`."""
    advice: str = ""
    """The reason, or advice to a person, for example `see why, and test it`."""
    subject: str = ""
    """The thing in trouble, for example `op1`; empty if the topic has a single worry."""
    page: str = ""
    """Path of the console's page about it, for example `/connectors/op1` or `/callbacks?tab=failed`."""

    @property
    def sentence(self) -> str:
        return f"{self.problem}: {self.advice}." if self.advice else f"{self.problem}."

    @property
    def command(self) -> str:
        """The command that shows more, for example `heliograph connector show op1`."""
        if self.topic is Topic.CREDIT and not self.subject:
            return "heliograph account list"
        return f"heliograph {_COMMANDS[self.topic].format(self.subject)}"


STORE_FAILS: Final = Worry(
    Topic.STORE, "The store does not take what is written", "requests are refused. Look at the disk"
)


@dataclass(slots=True)
class ConnectorLine:
    """A connector with its condition and its waiting messages."""

    name: str
    condition: str
    """`up`, `silent` (on some bind the operator answers nothing), `connecting` (no bind has failed yet) or `down`."""
    state: str
    """The state that the connector is set to, such as `on`."""
    summary: str
    reason: str
    """Why the latest bind failed, such as `host:2775 refuses connections`; empty while the connector is bound."""
    obstacle: str
    """Why messages take another connector where they can, such as `failing most messages`; empty if it can send."""
    in_flight: int
    capacity: int
    waiting: int
    oldest: int | None
    """Due time of the oldest of them."""
    deferred: int
    national: int
    """Messages from national numbers without a known country."""

    @property
    def badge(self) -> str:
        return {OFF: "paused", DRAIN: "draining"}.get(self.state, self.condition)

    @property
    def diverted(self) -> str:
        """A sentence about the obstacle; empty if there is none."""
        return f"Messages take another connector where they can: it is {self.obstacle}." if self.obstacle else ""

    @property
    def is_troubled(self) -> bool:
        return self.state != OFF and (self.condition in _TROUBLES or self.obstacle == FAILING)


async def connector_lines(desk: Desk, backlog: BacklogCounts) -> list[ConnectorLine]:
    """Returns a line for each connector, first the connectors in trouble."""
    waiting = desk.waiting()
    here = {connector.id: (connector, state) for connector, state in desk.carrier_states()}
    reports = await desk.store.network.link_states()
    live: dict[int, CarrierState] = {each.connector: each.state for each in reports if desk.now - each.at <= FRESH_MS}
    live |= {number: state for number, (_, state) in here.items()}
    obstacles = reported_obstacles(reports, desk.now)
    known = {connector.id: connector for connector in await all_connectors(desk)}
    connectors = known | {number: connector for number, (connector, _) in here.items() if number not in known}
    lines = [
        _connector_line(
            connector,
            live.get(number),
            waiting.get(number, (0, None)),
            backlog.deferred.get(number, 0),
            obstacles.get(number, ""),
        )
        for number, connector in connectors.items()
    ]
    return sorted(lines, key=lambda line: (not line.is_troubled, line.name))


def _connector_line(
    connector: Connector,
    live: CarrierState | None,
    waiting: tuple[int, int | None],
    deferred: int,
    obstacle: str,
) -> ConnectorLine:
    state = CarrierState(summary="It is being started.") if live is None else live
    reason = ""
    if state.bound:
        condition = "silent" if state.silent else "up"
    else:
        reason = next((bind.last_error for bind in state.binds if bind.last_error), "").rstrip(".")
        condition = "down" if reason else "connecting"
    return ConnectorLine(
        connector.name,
        condition,
        connector.state,
        state.summary if connector.enabled else "It is paused.",
        reason,
        obstacle if connector.enabled else "",
        state.in_flight,
        state.capacity,
        *waiting,
        deferred,
        state.counters.national_numbers,
    )


async def find(desk: Desk, backlog: BacklogCounts, lines: Sequence[ConnectorLine], named: int = NAMED) -> list[Worry]:
    """Returns the worries that the actor may see. Of ranges and accounts, each names up to `named`."""
    found = [] if desk.healthy() else [STORE_FAILS]
    found += _connector_worries(desk.now, lines, is_simulated=bool(desk.simulated))
    if backlog.oldest is not None and desk.now - backlog.oldest > OLD_MS:
        problem = "Messages have been waiting in the queue for over a minute"
        found.append(Worry(Topic.QUEUE, problem, page="/connectors"))
    if backlog.ended:
        problem = f"{counted(backlog.ended, 'callback')} failed"
        found.append(Worry(Topic.CALLBACKS, problem, "see why, and retry", page="/callbacks?tab=failed"))
    if backlog.owed and desk.may(Scope.READ_CALLBACKS):
        failing = await desk.store.notices.failing(FAILED_OFTEN, MANY_FAILED, named + 1)
        found += _receiver_worries(failing, named)
    found += _guard_worries(await guard.find(desk), named)
    if desk.may(Scope.READ_ACCOUNTS):
        found += _credit_worries(await desk.store.accounts.without_credit(named + 1), named)
    return found


def _connector_worries(now: int, lines: Sequence[ConnectorLine], *, is_simulated: bool) -> list[Worry]:
    def worry(topic: Topic, line: ConnectorLine, problem: str, advice: str = "") -> Worry:
        return Worry(topic, problem, advice, line.name, f"/connectors/{line.name}")

    found = []
    for line in lines:
        if line.is_troubled:
            problem = f"{line.name} {_TROUBLES.get(line.condition, 'fails most messages')}"
            found.append(worry(Topic.CONNECTOR, line, problem, line.reason or "see why, and test it"))
    for line in lines:
        is_in_use = line.state == ON and line.condition == "up"
        if is_in_use and line.oldest is not None and now - line.oldest > OLD_MS:
            problem = f"{line.name}: its oldest message waits for {duration(now - line.oldest)} now"
            found.append(worry(Topic.BACKLOG, line, problem))
    for line in lines:
        if line.national:
            problem = f"{line.name} brings messages from national numbers, which STOP does not suppress"
            found.append(worry(Topic.NATIONAL, line, problem, "set inbound_country"))
    if not lines and not is_simulated:
        problem = "There is no connector yet"
        found.append(Worry(Topic.NO_CONNECTOR, problem, "messages have nowhere to go", page="/connectors-new"))
    return found


def _receiver_worries(failing: Sequence[tuple[str, int]], named: int) -> list[Worry]:
    def worry(problem: str, advice: str = "", account: str = "") -> Worry:
        page = f"/callbacks?account={account}" if account else "/callbacks"
        return Worry(Topic.RECEIVER, problem, advice, account, page)

    found = [
        worry(
            f"Receivers of {name} fail, and {counted(pending, 'callback')} or more wait for them",
            "see why, or stop them",
            name,
        )
        for name, pending in failing[:named]
    ]
    return [*found, worry("Receivers of more accounts fail")] if len(failing) > named else found


def _guard_worries(rows: Iterable[dict[str, Any]], named: int) -> list[Worry]:
    held, suspected = [], []
    for each in rows:
        if each["state"] == guard.HELD:
            held.append(
                (each, f"holds {counted(each['messages'], 'message')} of {each['account']} to {each['prefix']}")
            )
        else:
            fraud = f"suspects fraud in messages of {each['account']} to {each['prefix']}, and sends them"
            suspected.append((each, fraud))

    def worry(clause: str, subject: str = "") -> Worry:
        return Worry(Topic.GUARD, f"The pumping guard {clause}", "see why", subject, "/guard")

    found = [worry(clause, f"{each['account']} {each['prefix']}") for each, clause in held + suspected]
    left = len(found) - named
    return [*found[:named], worry(f"has {left} more")] if left > 0 else found


def _credit_worries(names: Sequence[str], named: int) -> list[Worry]:
    found = [
        Worry(
            Topic.CREDIT,
            f"{name} has no credit, so that its requests are refused",
            "top it up",
            name,
            f"/accounts/{name}",
        )
        for name in names[:named]
    ]
    if len(names) > named:
        found.append(Worry(Topic.CREDIT, "There are more accounts without credit", page="/accounts"))
    return found


MOST_NAMED: Final = 1_000
"""The most ranges and accounts that a list names."""


async def find_all(desk: Desk) -> list[Worry]:
    """Returns the worries that the actor may see, each with its subject."""
    backlog = await desk.backlog()
    return await find(desk, backlog, await connector_lines(desk, backlog), MOST_NAMED)


async def listed(desk: Desk) -> list[dict[str, str]]:
    return [
        {
            "topic": each.topic.value,
            "subject": each.subject,
            "sentence": each.sentence,
            "page": each.page,
            "command": each.command,
        }
        for each in await find_all(desk)
    ]


ATTENTION = Resource(
    name="attention",
    plural="attention",
    summary="Things that need somebody, such as a connector that is down",
    more="The console's overview shows them under Needs attention. The setting alerts.urls sends them to people.",
    nothing="Nothing needs attention.",
    key=("topic", "subject"),
    fields=(
        Field("topic", Choice(tuple(Topic)), "The kind of trouble."),
        Field("subject", Text(), "The thing in trouble, for example a connector; may be empty.", example="op1"),
        Field("sentence", Text(), "The trouble in words.", example="op1 is down: host:2775 refuses connections."),
        Field("page", Text(), "Path of the console's page about it, below /console.", example="/connectors/op1"),
        Field("command", Text(), "The command that shows more.", example="heliograph connector show op1"),
    ),
    columns=("topic", "sentence", "command"),
    answer_name="Attention",
    scopes=Scopes(Scope.READ_MESSAGES, Scope.READ_MESSAGES),
    operations=(
        Operation(
            "list",
            "GET /attention",
            listed,
            "Things that need somebody now",
            answers=Answer.EACH,
            more="Failing receivers of callbacks are listed only with the scope callbacks:read, and accounts without "
            "credit only with accounts:read.",
            answer_name="Worries",
            examples=("attention list --json",),
        ),
    ),
)
