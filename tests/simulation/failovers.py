"""Properties of failover that must hold under all faults, and the operators' troubles that cause it."""

import random
from collections.abc import Callable, Collection, Iterator
from itertools import groupby

from heliograph.app.configuration import Route
from heliograph.app.facts import Message
from heliograph.app.ports import Deferred, Outcome, Refused, Report, Unknown
from heliograph.app.sending.directory import Directory
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.state import State
from heliograph.runtime.engine import Engine
from tests.simulation.faults import Operator
from tests.support.memory_rows import Rows

AFTER_S = 6.0
"""`failover_after_s` of the connectors: shorter than most of their outages here."""

LEAVE_S, LEAVE_WITH_SHORT_MEMORY_S = 2.0, 30.0
"""Seconds after `AFTER_S` within which waiting messages leave a dead operator; with a short memory they leave six by
six."""

LOOK_S = 0.1
"""Seconds between two looks at waiting messages."""

TROUBLES = ("", "", "", "dead", "dead", "refusing", "refusing", "flawed", "slow", "lying")
"""Troubles of an operator: its link is down, it refuses every message or a third of them, answers late, or too late."""

OF_RECEIPTS = (*TROUBLES, "undelivering", "undelivering", "undelivering")
"""Troubles where receipts cause a failover, too: the operator takes messages and delivers few."""

RECEIPTS = "UNDELIV 011, REJECTD"
"""`failover_receipts` of the connectors there."""


def gives_up(report: Report) -> bool:
    """Returns whether a receipt is among `RECEIPTS`."""
    return report.state is Delivery.REJECTD or (report.state, report.err) == (Delivery.UNDELIV, "011")


PROBES, PROBE_S = 40, 1.5
"""Messages to each prefix once all operators work again, and the seconds between them. The last ones must go to their
first candidate."""

ROUTES = (("1", 1, 9, 1), ("1", 2, 5, 1), ("1", 3, 5, 2), ("2", 2, 5, 1), ("2", 3, 5, 1), ("2", 1, 1, 1))
"""Prefix, connector, priority and share."""


def routes() -> list[Route]:
    """Each of the two prefixes has three candidates; `1` prefers op1, and `2` shares its numbers among two."""
    return [Route(0, prefix, connector, priority, share=share) for prefix, connector, priority, share in ROUTES]


class Failovers:
    """Causes the troubles, and observes which operator is written a message, and why."""

    def __init__(
        self,
        chance: random.Random,
        operators: dict[int, Operator],
        *,
        unknown: bool,
        receipts: bool,
        short_memory: bool,
    ) -> None:
        self._chance = chance
        self._operators = operators
        self._unknown = unknown
        self._leave_s = LEAVE_WITH_SHORT_MEMORY_S if short_memory else LEAVE_S
        self._troubles = OF_RECEIPTS if receipts else TROUBLES
        self._visits: dict[int, list[int]] = {}
        """Connectors of the written parts of a message, in order, without throttled parts: these were not tried."""
        self._open: dict[int, dict[int, int]] = {}
        """By message and connector: written parts that the operator has, or may have."""
        self._doubtful: dict[tuple[int, int], int] = {}
        """By message and connector: how many of them have no answer for certain, such as after a crash."""
        self._down: dict[int, float] = {}
        """Since when connectors have no link, in seconds of the loop."""
        self._stuck: dict[int, float] = {}
        """Since when messages wait for an operator that is down for `AFTER_S`, though another could send them."""
        self.probes: list[Message] = []
        """Messages that were accepted some time after all operators worked again."""

    # --- troubles

    def step(self) -> None:
        """Gives an operator another trouble, or none."""
        operator = self._chance.choice(list(self._operators.values()))
        operator.trouble = self._chance.choice(self._troubles)
        if operator.trouble == "dead" and operator.carrier is not None:
            operator.carrier.drop()

    def calm(self) -> None:
        for operator in self._operators.values():
            operator.trouble = ""

    # --- what is written

    def submit(self, connector: int, message: Message) -> list[str]:
        """Must be called as a part is written. No other operator has a part of the message, or may have one."""
        open_parts = self._open.setdefault(message.key, {})
        wrong = []
        for other, parts in open_parts.items():
            doubtful = self._doubtful.get((message.key, other), 0) if self._unknown else 0
            if other != connector and parts > doubtful:
                wrong.append(f"{message.key} is written to op{connector}, and op{other} has a part of it or may have")
        open_parts[connector] = open_parts.get(connector, 0) + 1
        visits = self._visits.setdefault(message.key, [])
        visits.append(connector)
        stays = [each for each, _ in groupby(visits)]
        if len(stays) > len(set(stays)):
            wrong.append(f"{message.key} is written to op{connector} again, after {stays}")
        return wrong

    def answered(self, connector: int, message: Message, outcome: Outcome) -> None:
        """Must be called as the gateway gets an answer, or learns that none comes."""
        if isinstance(outcome, Refused | Deferred):
            self._open[message.key][connector] -= 1
            if isinstance(outcome, Deferred) and outcome.throttled:
                self._visits[message.key].remove(connector)
        elif isinstance(outcome, Unknown):
            name = message.key, connector
            self._doubtful[name] = self._doubtful.get(name, 0) + 1

    def undelivered(self, connector: int, key: int) -> None:
        """Must be called as the gateway gets a receipt after which another operator may try the message."""
        self._open[key][connector] -= 1

    def restart(self) -> None:
        """Must be called when the gateway's process has ended: it does not know the answers that came last."""
        for key, parts in self._open.items():
            for connector, count in parts.items():
                self._doubtful[key, connector] = count
        self._down.clear()
        self._stuck.clear()

    # --- what waits

    def look(self, look: Callable[[], Rows], engine: Engine, directory: Directory, now: float) -> list[str]:
        """Must be called every `LOOK_S` while the store is sound; `look` is asked for the rows where an operator is
        dead. Waiting messages leave a dead operator in time."""
        for number, operator in self._operators.items():
            if operator.carrier is not None and operator.carrier.up:
                self._down.pop(number, None)
            else:
                self._down.setdefault(number, now)
        dead = {number for number, since in self._down.items() if now - since >= AFTER_S}
        stuck = {}
        for message, connector, tried in _waiting(look(), engine) if dead else ():
            if connector in dead and not any(self._open.get(message.key, {}).values()):
                another = directory.another(message, {*tried, connector})
                if another is not None and another not in self._down:
                    stuck[message.key] = self._stuck.get(message.key, now)
        self._stuck = stuck
        return [
            f"{key} waits for an operator that is down, {now - since + AFTER_S:.2f} s after its last link at least"
            for key, since in stuck.items()
            if now - since > self._leave_s
        ]

    def end(self, directory: Directory, rows: Rows) -> list[str]:
        """No message is with two operators; with `failover_unknown` only after an unknown outcome, as `submit` checks.
        A message that an operator took is not refunded if another refuses it. Once all operators work again, messages
        go to their first candidates."""
        having: dict[int, set[int]] = {}
        for number, operator in self._operators.items():
            for part, times in operator.has.items():
                key, _ = part
                if times > operator.undelivered[part]:
                    having.setdefault(key, set()).add(number)
        doubled = {} if self._unknown else {key: have for key, have in having.items() if len(have) > 1}
        wrong = [f"{key} is with the operators {sorted(have)}" for key, have in doubled.items()]
        wrong += [
            f"{each.key} was refunded, and op{each.connector} took it and did not deliver it"
            for each in rows.attempts
            if each.status == 0 and rows.messages[each.key].state == State.FAILED
        ]
        obstacles = {number: directory.obstacle(number) for number in self._operators}
        wrong += [f"op{number} works again, and is still {why}" for number, why in obstacles.items() if why]
        for probe in self.probes:
            wanted = directory.candidates(probe)[0].connector
            if wanted not in self._visits.get(probe.key, ()):
                wrong.append(f"op{wanted} works again, and {probe.key} did not go there")
        return wrong


def _waiting(rows: Rows, engine: Engine) -> Iterator[tuple[Message, int, Collection[int]]]:
    """Yields the messages that wait and of which no part may have left: with their connector, and who tried them."""
    tried: dict[int, set[int]] = {}
    for attempt in rows.attempts:
        tried.setdefault(attempt.key, set()).add(attempt.connector)
    seen = set()
    for lane in engine.dispatcher.lanes.values():
        for item in lane.items():
            key = item.message.key
            seen.add(key)
            is_whole = item.open == (1 if item.whole else item.message.segments)  # no part was refused for good
            if is_whole and not (item.doubtful or item.paused or item.taken or item.accept):
                yield item.message, lane.connector, tried.get(key, ())
    now = engine._environment.clock.now()
    for key, row in rows.queue.items():
        message = rows.messages[key]
        is_due = row.node is None and row.held is None and row.due <= now and message.state == State.SENT
        if is_due and key not in seen and not row.attempted and not any(of == key for of, _ in rows.sent):
            yield message, row.connector, tried.get(key, ())
