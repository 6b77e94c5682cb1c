"""Properties of the gateway that must hold under all faults."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import Any, TypeVar
from urllib.parse import parse_qs

from heliograph.app.commit.pieces import NAMED, OWNED
from heliograph.app.facts import NO_ANSWER, Accept, CallbackEnd, Facts, Message, Verdict
from heliograph.app.marks import AWAITING, CALLBACK, DISPATCH, attempted
from heliograph.app.ports import Part
from heliograph.domain.message.receipt import NO_CODE, Delivery, worst
from heliograph.domain.message.state import State
from heliograph.domain.pace.pace import LONGEST_QUIET_S
from heliograph.domain.pace.throttle import SHARE_OF_BURST
from heliograph.runtime.engine import Engine
from tests.simulation.faults import NUL, Operator
from tests.support.memory_rows import Rows

K = TypeVar("K")

SOON_MS = int(1000 * LONGEST_QUIET_S) + 40_000
"""Milliseconds. Once there are no more faults, every message is sent within this time, deferred messages included. A
low pace that was learnt from earlier throttle answers stands for up to `LONGEST_QUIET_S`, over restarts too."""


class Marks:
    """Checks after each commit that the slow tables are complete below each mark.

    There are hundreds of rows and thousands of commits, so only rows with pending work are checked. Finished rows stay
    right, unless retention drops rows, a resend takes answers back (`goes_back`), or a request in doubt is undone.
    """

    def __init__(self, rows: Rows, *, goes_back: bool = False) -> None:
        self._rows = rows
        self._looks_anew = goes_back or rows.archive is not None
        self._begin()

    def _begin(self) -> None:
        self._unsent: set[int] = set()
        """Messages that are not known to be answered or over."""
        self._unreported: set[tuple[int, int]] = set()
        """Parts that are not known to be reported, or to want no receipt."""
        self._untold: set[int] = set()
        """Ends without a known callback, also of inbound messages."""
        self._undone = self._rows.undone
        self._seen = {"messages": 0, "sent": 0, "finals": 0, "inbound": 0}

    def look(self) -> list[str]:
        rows = self._rows
        if self._looks_anew or rows.undone != self._undone:
            self._begin()
        self._unsent.update(self._added("messages", rows.messages))
        self._unreported.update(self._added("sent", rows.sent))
        self._untold.update(self._added("finals", rows.finals), self._added("inbound", rows.inbound))
        return [*self._sending(), *self._reporting(), *self._telling()]

    def _added(self, name: str, table: dict[K, Any]) -> list[K]:
        """Returns the keys of rows since the last call; they are the last of their table."""
        added = list(islice(reversed(table), len(table) - self._seen[name]))
        self._seen[name] = len(table)
        return added

    def _sending(self) -> Iterator[str]:
        rows = self._rows
        for key in self._unsent - rows.queue.keys():
            message = rows.messages[key]
            unanswered = [n for n in range(message.segments) if (key, n) not in rows.sent]
            if not unanswered or key in rows.finals:
                self._unsent.discard(key)
            elif message.state == State.SENT and key <= rows.mark(key, DISPATCH):
                yield f"nothing will send the parts {unanswered} of {key}"

    def _reporting(self) -> Iterator[str]:
        rows = self._rows
        for part in self._unreported - {(key, segment) for _, _, key, segment in rows.awaiting}:
            key, n = part
            subject = None if key in rows.finals or part in rows.parts else rows.messages.get(key)
            if subject is None or not subject.wants_receipt or rows.sent[part].status != 0:
                self._unreported.discard(part)
            elif key <= rows.mark(key, AWAITING):
                yield f"the receipt of part {n} of {key} would not be recognised"

    def _telling(self) -> Iterator[str]:
        rows = self._rows
        retries = rows.retries
        for key in [key for key in self._untold if key not in retries or retries[key].due is None]:
            inbound = rows.inbound.get(key)
            is_owed = rows.finals[key].owed if inbound is None else bool(inbound.way)
            if not is_owed or key in rows.callbacks or (inbound is None and key not in rows.messages):
                self._untold.discard(key)
            elif key <= rows.mark(key, CALLBACK):
                yield (
                    f"nothing will make the callback of {key}"
                    if inbound is None
                    else f"nothing will make the callback of the inbound message {key}"
                )


def attempt(shards: list[Rows], connector: int, message: Message) -> list[str]:
    """A part that is written counts as perhaps sent, by the store and its rows. Holds whenever a part is written."""
    for rows in shards:
        if message.key in rows.messages:
            row = rows.queue.get(message.key)
            if message.key > rows.mark(message.key, attempted(connector)) and (row is None or not row.attempted):
                return [f"{message.key} is sent, and by its mark it certainly was not"]
    return []


def accounts(shards: list[Rows], facts: Facts) -> list[str]:
    """Each fact about a message names the message's account. Holds for every commit."""
    named = [(name, kind) for kind in NAMED for name in getattr(facts, kind)]
    named += [((fact.account, fact.key), kind) for kind in OWNED if kind != "accepts" for fact in getattr(facts, kind)]
    wrong = []
    for (account, key), kind in named:
        owners = [rows.messages[key].account for rows in shards if key in rows.messages]
        owners += [rows.inbound[key].account for rows in shards if key in rows.inbound]
        if owners != [account]:
            wrong.append(f"one of {kind} names the account {account} for {key}, which belongs to {owners}")
    return wrong


def credit(rows: Rows) -> list[str]:
    """No account spends more than its credit. Holds after every commit."""
    least = {account.id: -account.credit_limit for account in rows.accounts.values()}
    return [
        f"the account {account} went down to {balance}"
        for account, balance in rows.balances.items()
        if balance < least[account]
    ]


def refused(shards: list[Rows], accept: Accept) -> list[str]:
    """Nothing of a request is stored if it was refused, as unavailable or for another reason."""
    if accept.verdict in (Verdict.IN_DOUBT, Verdict.REPLAYED):
        return []
    stored = [message.key for message in accept.messages if any(message.key in rows.messages for rows in shards)]
    return [f"the request {accept.key} was refused and is stored"] if stored else []


def refusal(accept: Accept) -> list[str]:
    """While the store is available, a request is refused as unavailable only if the store rejects its values."""
    if accept.verdict is not Verdict.UNAVAILABLE or any(message.sender == NUL for message in accept.messages):
        return []
    return [f"the request {accept.key} was refused for what others sent"]


def possible(states: Sequence[Delivery], doubtful: Sequence[bool]) -> set[Delivery]:
    """Returns the possible states of a message with these states of parts; states of doubtful parts may be unknown."""
    choices = [(state, Delivery.UNKNOWN) if doubt else (state,) for state, doubt in zip(states, doubtful, strict=True)]
    return {worst(list(choice)) for choice in product(*choices)}


def messages(
    rows: Rows, told: set[int], operators: list[Operator], lifetime: int, *, ids_again: bool = False
) -> list[str]:
    """Every accepted message has left, or was refunded. Nothing was sent too often.

    `lifetime` is after how many ms a receipt that has not come is waited for no longer. With `ids_again` operators
    give their ids twice: of two early receipts with one id the later one stays, and the state of such a part may remain
    unknown; and where two parts of one message have the same, what comes once more for one is taken for the other's.
    """
    wrong = [f"the message {key} was accepted and is not there" for key in told if key not in rows.messages]
    promised = {
        (operator.connector.id, name): kept for operator in operators for name, kept in operator.promised.items()
    }
    doubted = {each.key for each in rows.attempts if each.status == NO_ANSWER}
    given = Counter((answer.connector, answer.operator_id) for answer in rows.sent.values() if answer.status == 0)
    for key, message in rows.messages.items():
        final = rows.finals.get(key)
        answers = [rows.sent.get((key, n)) for n in range(message.segments)]
        if message.state == State.FAILED:
            if any(answer is not None and answer.status == 0 for answer in answers):
                wrong.append(f"{key} was refunded although the operator took it")
            assert final is not None
            given_up = final.err == NO_CODE
            # where it refused the second copy of a part, its refusal counts
            unanswered = [n for n, answer in enumerate(answers) if answer is None or answer.status == NO_ANSWER]
            if given_up and any(operator.has[key, n] for operator in operators for n in unanswered):
                wrong.append(f"{key} was refunded for not being sent, and the operator has it")
            continue
        if message.state != State.SENT:
            if message.state == State.SCHEDULED:
                wrong.append(f"{key} is still scheduled")
            continue
        if None in answers:
            left = key in doubted or any(operator.undelivered[key, 0] for operator in operators)
            if final is not None and left:
                continue  # an operator did not deliver it, or may have it; the next refused it, or its time was over
            wrong.append(f"{key} was never sent: {answers}")
            continue
        if message.wants_receipt:
            if final is None:
                wrong.append(f"{key} has no final state: {answers}")
                continue
            kept = [
                promised.get((answer.connector, ((key, answer.segment), answer.operator_id)))
                for answer in answers
                if answer is not None and answer.status == 0
            ]
            holders = {answer.connector for answer in answers if answer is not None}
            once = all(
                sum(
                    operator.has[key, n] - (operator.undelivered[key, n] if operator.connector.id not in holders else 0)
                    for operator in operators
                )
                == 1
                for n in range(message.segments)
            )
            if once and len(kept) == message.segments and all(kept):
                states = [state for state, _ in filter(None, kept)]
                latest = max(at for _, at in filter(None, kept))
                names = {(answer.connector, answer.operator_id) for answer in answers if answer is not None}
                excused = ids_again and len(names) < len(answers)
                twice = [
                    ids_again and given[each.connector, each.operator_id] > 1 for each in answers if each is not None
                ]
                if final.state not in possible(states, twice) and latest < message.time + lifetime and not excused:
                    wrong.append(f"{key} is {final.state!r}, its parts are {states}")
    return wrong


def submits(rows: Rows, operators: list[Operator], doubts: dict[tuple[int, int], int], *, in_time: bool) -> list[str]:
    """No part is sent again without a reason: an answer that decided nothing, or a crash before its answer; and none,
    where the clock was right, before its time."""
    wrong = []
    for name in {name for operator in operators for name in operator.submits}:
        times = sum(operator.submits[name] for operator in operators)
        reasons = sum(operator.repeatable[name] for operator in operators) + doubts.get(name, 0)
        if times > 1 + reasons:
            wrong.append(f"the part {name} was sent {times} times with {reasons} reasons to repeat it")
        first = min(operator.first_submit[name] for operator in operators if name in operator.first_submit)
        message = rows.messages.get(name[0])
        if message is None:
            wrong.append(f"the part {name} was sent and is not in the store")
        elif message.state in (State.CANCELLED, State.SCHEDULED) and any(operator.has[name] for operator in operators):
            wrong.append(f"the operator has the part {name}, although it is {message.state!r}")
        elif in_time and first < message.time:
            wrong.append(f"the part {name} was sent {message.time - first} ms early")
    return wrong


def liveness(rows: Rows, calm: int) -> list[str]:
    """Without faults since `calm`, messages that had `SOON_MS` of their validity left then were sent."""
    wrong = []
    for key, message in rows.messages.items():
        final = rows.finals.get(key)
        expired = message.state == State.FAILED and final is not None and final.state is Delivery.EXPIRED
        if expired and message.expires > calm + SOON_MS:
            wrong.append(f"{key} was left to expire, though nothing was in its way")
    return wrong


def rates(operators: list[Operator]) -> list[str]:
    """No run of the gateway writes more parts to an operator than its rate allows, over any span of time: the burst
    after a pause, and then the rate."""
    wrong = []
    for operator in operators:
        rate = operator.connector.rate
        burst = max(1.0, rate * SHARE_OF_BURST)
        for times in operator.written if rate else ():
            level, last = 0.0, 0.0
            for at in times:
                level = max(0.0, level - (at - last) * rate) + 1
                last = at
                if level > burst + 1e-6:
                    wrong.append(f"{level:.2f} parts at once were written at a rate of {rate} a second")
                    break
    return wrong


def order(operators: list[Operator], planned: set[int], *, tried_again: bool = False) -> list[str]:
    """To each recipient an account's messages are first sent in the order of their acceptance, except scheduled
    messages (`planned`). `tried_again`: requests may be accepted in another order than they came in. Then a message may
    pass those that came later."""
    wrong = []
    for operator in operators:
        passed: dict[tuple[int, str], list[Message]] = {}
        seen: set[int] = set()
        for message in operator.sequence:
            key, recipient = message.key, (message.account, message.destination)
            if key in seen or key in planned:
                continue
            seen.add(key)
            before = passed.setdefault(recipient, [])
            wrong += [
                f"{key} was overtaken by {each.key}"
                for each in before
                if each.key > key and not (tried_again and each.time < message.time)
            ]
            before.append(message)
    return wrong


def callbacks(rows: Rows, arrived: dict[int, list[bytes]]) -> list[str]:
    """Each owed callback has a single end. A delivered callback has arrived, with the message's end."""
    wrong = []
    for key, final in rows.finals.items():
        done = rows.callbacks.get(key)
        if final.owed and done is None:
            wrong.append(f"the callback of {key} was never made")
        if done is not None and done.end is CallbackEnd.DELIVERED and not arrived.get(key):
            wrong.append(f"the callback of {key} is done and never arrived")
    for key, bodies in arrived.items():
        if key in rows.inbound:
            continue
        ended = rows.finals.get(key)
        if ended is None or not ended.owed:
            wrong.append(f"a callback came for {key}, which owes none")
            continue
        for body in bodies:
            told = parse_qs(body.decode())["message_status"][0]
            if Delivery[told] != ended.state:
                wrong.append(f"the customer was told {told} of {key}, which is {ended.state!r}")
    return wrong


_OF_LANE = ("front", "fast", "queues", "ahead", "incoming", "per_account", "cutter", "_behind", "_returned")
_OF_WINDOW = ("marked", "ready", "flying", "in_flight", "_gathered", "_committing")


def leftovers(rows: Rows) -> list[str]:
    """Rows have no work left at the end."""
    wrong = []
    if rows.queue:
        wrong.append(f"the queue holds {rows.queue}")
    if due := {key: row for key, row in rows.retries.items() if row.due is not None or row.node is not None}:
        wrong.append(f"callbacks are due: {due}")
    if rows.awaiting:
        wrong.append(f"receipts are awaited: {rows.awaiting}")
    return wrong


def nothing_left(engine: Engine) -> list[str]:
    """The memory of a node is empty at the end."""
    wrong = []
    matcher, notifier = engine.matcher, engine.notifier
    # A look-up may track a message without a fact about it. The track leaves with the next commit, whatever its facts.
    matcher.awaited.committed()
    kept = {what: getattr(matcher, what) for what in ("missed", "_acknowledge", "_acknowledge_next")}
    kept |= {what: getattr(matcher.awaited, what) for what in ("entries", "tracks", "leaving", "ended", "reads")}
    for what, held in kept.items():
        if any(held.values()) if what == "entries" else held:
            wrong.append(f"the matcher's {what} holds {held}")
    if notifier._flights or notifier._next or notifier._committing:
        wrong.append("the notifier still holds something")
    for lane in engine.dispatcher.lanes.values():
        kept = {what: getattr(lane, what) for what in _OF_LANE}
        kept |= {what: getattr(lane.window, what) for what in _OF_WINDOW}
        if not lane.closed:  # else the accounts with rows are read when it opens
            kept["accounts"] = lane.queues.by_account
        wrong += [f"the {what} of the lane {lane.connector}: {held}" for what, held in kept.items() if held]
    if engine.gatherer._waiting or engine.gatherer.facts:
        wrong.append("the gatherer still holds something")
    return wrong


def takeover(rows: Rows, node: int, part: Part) -> list[str]:
    """A node writes no part that another node has taken over. Holds whenever a part is written."""
    key, name = part.message.key, (part.message.key, part.segment)
    lease, row = rows.nodes.get(node), rows.queue.get(key)
    if lease is not None and lease.gone:
        return [f"the part {name} is written by the node {node}, which was given up"]
    if row is not None and row.node != node:
        return [f"the part {name} is written by the node {node}, and its row is claimed by {row.node}"]
    return []


def released(node: int, by: int, *, is_excused: bool) -> list[str]:
    """No node gives up another that runs and reaches the database. Holds whenever a node is given up."""
    return [] if is_excused else [f"the node {node} was given up by {by}, and was neither stopped nor cut off"]


def links(operator: Operator, count: int) -> list[str]:
    """All nodes together have no more binds of an operator than it allows."""
    most = operator.connector.binds
    return [f"the operator {operator.connector.name} has {count} links, and allows {most}"] if count > most else []


def repeats(rows: Rows, orders: list[tuple[Accept, bool]]) -> list[str]:
    """A request that was repeated with its reference, at any node, has its result, and is stored once.

    `orders`: each request, and whether its customer got an answer that decides.
    """
    wrong = []
    stored = Counter(message.destination for message in rows.messages.values())
    for accept, is_answered in orders:
        counts = {stored[message.destination] for message in accept.messages}
        if counts not in ({0}, {1}):
            wrong.append(f"the request {accept.reference} is stored {counts} times")
        if accept.reference is not None and not is_answered:
            wrong.append(f"the request {accept.reference} was repeated, and has no result")
    return wrong
