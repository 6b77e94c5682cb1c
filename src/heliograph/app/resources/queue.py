"""The queue: waiting messages by connector, account, country and network. An administrator moves, holds, releases or
cancels them.

    the action is noted -> order: each node changes the messages in its memory -> batches: the rows of the queue change
                             ^                                                       |
                             '---- rows that a node claimed meanwhile: again ---------'   at most ROUNDS times
    -> the action and its numbers are noted

A message of which a part may have left stays as it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from heliograph.app.ports.backlog import QueueAction, QueueFilter, QueueOrder, WaitingRow
from heliograph.app.ports.carrier_state import FRESH_MS
from heliograph.app.records import Scope
from heliograph.app.resources.description import Answer, Operation, Resource, Scopes
from heliograph.app.resources.desk import Desk, Invalid, NoSuch, account_id
from heliograph.app.resources.fields import Credits, Duration, Field, Flag, Moment, Reference, Rows, Text, Whole
from heliograph.app.resources.networks import read_any_mccmnc
from heliograph.domain.display import counted
from heliograph.domain.limits.gate import holder_of
from heliograph.domain.message.ids import first_key_at, to_hex
from heliograph.domain.numbers.country import COUNTRIES, country_of

STRETCH: Final = 5_000
"""Rows of the queue that a transaction reads: some 20 ms."""

GROUPED: Final = 50_000
"""Rows that a statement groups and counts. Other work of the store does not wait for it."""

BATCH: Final = 1_000
"""Messages that a transaction changes. A cancellation writes five rows for each, in some 50 ms."""

ROUNDS: Final = 3
"""Times that an action goes through the memory of nodes and the rows, because nodes claim rows meanwhile."""

ANSWER_S: Final = 5.0
"""Seconds for which an action waits for the nodes. A running node answers within two."""

LOOK_S: Final = 0.1
"""Seconds between two looks for answers."""

ACTION_MS: Final = 20_000
"""Milliseconds after which an action begins no further batch. Clients give up after 30 s."""

STRETCHES: Final = 20
"""Stretches that a page of messages reads in search of messages that fit."""


@dataclass(slots=True)
class Tally:
    """Numbers of an action."""

    messages: int = 0
    """Messages that it changed."""
    left: int = 0
    """Messages that fit and stay as they are: a part may have left, or they are in the memory of a silent node."""
    claimed: int = 0
    """Messages of `left` that a node claimed, and of which no part has left."""
    silent: set[int] = field(default_factory=set)
    """Nodes without an answer."""
    more: bool = False
    """Whether the time was over before the end of the queue."""

    def row(self) -> dict[str, Any]:
        """Returns the answer to the action: values of ACTED."""
        return {
            "messages": self.messages,
            "left": self.left,
            "silent_nodes": len(self.silent),
            "more": self.more,
        }

    def details(self) -> dict[str, str]:
        """Returns the numbers for the audit log."""
        return {name: str(number) for name, number in self.row().items() if name != "more"}


async def find(desk: Desk, **filters: Any) -> list[dict[str, Any]]:
    """Returns the numbers of waiting messages by connector, account, country and network."""
    wanted = await _filter(desk, **filters)
    found: dict[tuple[int, int, str, str], list[int]] = {}
    after: int | None = 0
    while after is not None:
        groups, after = await desk.store.backlog.groups(after, wanted.until, GROUPED)
        for each in groups:
            if not wanted.fits(each.connector, each.account, each.head, each.network, each.oldest, 0, ""):
                continue
            place = each.connector, each.account, country_of(each.head), each.network
            total = found.setdefault(place, [0, 0, 0, each.oldest, 0])
            total[0] += each.messages
            total[1] += each.held
            total[2] += each.on_hold
            total[3] = min(total[3], each.oldest)
            total[4] += each.price
    connectors, accounts = await desk.known_connectors(), await desk.account_names()
    rows = [
        {
            "connector": connectors.get(connector, str(connector)),
            "account": accounts.get(account, str(account)),
            "country": country,
            "network": network,
            "messages": messages,
            "held": held,
            "on_hold": on_hold,
            "oldest": oldest,
            "price": price,
        }
        for (connector, account, country, network), (messages, held, on_hold, oldest, price) in found.items()
    ]
    return sorted(rows, key=lambda row: (row["connector"], row["account"], row["country"], row["network"]))


async def messages(desk: Desk, after: str, limit: int, **filters: Any) -> dict[str, Any]:
    """Returns waiting messages, first accepted first."""
    wanted = await _filter(desk, **filters)
    key: int | None = int(after or 0)
    found: list[WaitingRow] = []
    for _ in range(STRETCHES):
        if key is None or len(found) >= limit:
            break
        rows = await desk.store.backlog.rows(key, STRETCH)
        key = rows[-1].key if len(rows) == STRETCH else None
        found += [each for each in rows if _fits(wanted, each)]
    if len(found) > limit:
        del found[limit:]
        key = found[-1].key
    connectors, accounts = await desk.known_connectors(), await desk.account_names()
    shown = [
        {
            "id": to_hex(each.key, each.tail),
            "account": accounts.get(each.account, str(each.account)),
            "connector": connectors.get(each.connector, str(each.connector)),
            "to": each.destination,
            "network": each.network,
            "time": each.time,
            "held": holder_of(each.held) or "",
            "in_memory": bool(each.is_claimed),  # SQLite has 0 and 1
            "price": each.price,
        }
        for each in found
    ]
    return {"messages": shown, "cursor": None if key is None else str(key)}


def _listed(_: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
    """Returns the sentence above the messages, for example `2 messages. There may be more: --after 17`."""
    if answer["cursor"]:
        return f"{counted(len(answer['messages']), 'message')}. There may be more: --after {answer['cursor']}"
    return counted(len(answer["messages"]), "message") + "." if answer["messages"] else "No messages wait."


async def move(desk: Desk, to: str, **filters: Any) -> dict[str, Any]:
    """Makes waiting messages wait for another connector."""
    target = await _connector(desk, to)
    return await _act(desk, QueueAction.MOVE, filters, target, {"to": to})


async def hold(desk: Desk, **filters: Any) -> dict[str, Any]:
    """Holds waiting messages until they are released."""
    return await _act(desk, QueueAction.HOLD, filters)


async def release(desk: Desk, **filters: Any) -> dict[str, Any]:
    """Ends the hold of waiting messages."""
    return await _act(desk, QueueAction.RELEASE, filters)


async def cancel(desk: Desk, **filters: Any) -> dict[str, Any]:
    """Cancels and refunds waiting messages."""
    return await _act(desk, QueueAction.CANCEL, filters)


async def _act(
    desk: Desk, action: QueueAction, filters: Mapping[str, Any], to: int = 0, named: Mapping[str, str] | None = None
) -> dict[str, Any]:
    if not any(filters.values()):
        raise Invalid("connector", "give at least one of connector, account, country, network and older_than")
    wanted = await _filter(desk, **filters)
    order = QueueOrder(action, wanted, to)
    details = {name: _FIELDS_BY_NAME[name].text(value) for name, value in filters.items() if value}
    details |= named or {}
    target = filters["connector"] or filters["account"] or filters["country"] or filters["network"] or "all"
    await desk.note("queue.begin", target, {"action": action.value, **details})
    tally = await change_waiting(desk, order)
    await desk.note(f"queue.{action}", target, details | tally.details())
    return tally.row()


async def change_waiting(desk: Desk, order: QueueOrder, after: int = 0) -> Tally:
    """Changes the waiting messages that the order means, in memory and in rows. None has a key up to `after`."""
    tally, deadline = Tally(), desk.now + ACTION_MS
    is_release = order.action is QueueAction.RELEASE
    if is_release:  # for nodes that have not carried out the hold yet; the held messages themselves have rows
        await desk.store.backlog.order(order, desk.now)
    for _ in range(ROUNDS):
        spared = 0 if is_release else await _order(desk, order, tally)
        tally.left = tally.claimed = 0
        await _change_rows(desk, order, tally, after, deadline)
        tally.left += spared
        if tally.claimed == 0 or tally.more:
            break
    return tally


async def _order(desk: Desk, order: QueueOrder, tally: Tally) -> int:
    """Has the nodes change the messages in their memory. Returns the number that they left alone."""
    backlog = desk.store.backlog
    reports = await desk.store.network.link_states()
    nodes = {each.node for each in reports if desk.now - each.at < FRESH_MS} - tally.silent
    number = await backlog.order(order, desk.now)
    answers = await backlog.answers(number)
    for _ in range(int(ANSWER_S / LOOK_S)):
        # a development run does not report its connector
        if desk.pause is None or (nodes <= answers.keys() and (answers or not desk.simulated)):
            break
        await desk.pause(LOOK_S)
        answers = await backlog.answers(number)
    tally.silent |= nodes - answers.keys()
    tally.messages += sum(each.messages for each in answers.values())
    return sum(each.spared for each in answers.values())


async def _change_rows(desk: Desk, order: QueueOrder, tally: Tally, after: int, deadline: int) -> None:
    """Changes the rows of the queue, batch after batch."""
    backlog = desk.store.backlog
    while True:
        rows = await backlog.rows(after, STRETCH)
        meant = [each for each in rows if _is_meant(order, each)]
        free = [each.key for each in meant if not each.is_claimed and not each.attempted]
        claimed = sum(each.is_claimed and not each.attempted for each in meant)
        changed = 0
        for start in range(0, len(free), BATCH):
            changed += await backlog.change(order.action, free[start : start + BATCH], desk.now, order.connector)
        tally.messages += changed
        tally.claimed += claimed
        tally.left += len(meant) - changed
        if len(rows) < STRETCH:
            return
        after = rows[-1].key
        if desk.now > deadline:
            tally.more = True
            return


def _is_meant(order: QueueOrder, row: WaitingRow) -> bool:
    """Returns whether a row fits, and is not yet as the action makes it."""
    if order.action is QueueAction.MOVE and row.connector == order.connector:
        return False
    if order.action in (QueueAction.HOLD, QueueAction.RELEASE) and row.on_hold is (order.action is QueueAction.HOLD):
        return False
    return _fits(order.wanted, row)


def _fits(wanted: QueueFilter, row: WaitingRow) -> bool:
    return wanted.fits(row.connector, row.account, row.destination, row.network, row.time, row.key, row.reference)


async def _filter(
    desk: Desk, connector: str | None, account: str | None, country: str, network: str, older_than: int | None
) -> QueueFilter:
    now = desk.now
    return QueueFilter(
        until=now - (older_than or 0),
        before=first_key_at(now + 1),
        connector=await _connector(desk, connector) if connector else None,
        account=await account_id(desk.store, account) if account else None,
        country=country,
        network=network,
    )


async def _connector(desk: Desk, name: str) -> int:
    """Returns the id of a connector, maybe of a development run. Raises NoSuch."""
    found = next((number for number, known in (await desk.known_connectors()).items() if known == name), None)
    if found is None:
        raise NoSuch("connector", name)
    return found


def sentence(done: str) -> Any:
    """Returns the function of the sentence after an action."""

    def say(given: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
        target = f" to {given['to']}" if "to" in given else ""
        texts = [f"{done}: {counted(answer['messages'], 'message')}{target}."]
        if answer["left"]:
            texts.append(f"Left alone, because a part may have left: {answer['left']:,}.")
        if answer["silent_nodes"]:
            texts.append(f"{counted(answer['silent_nodes'], 'node')} did not answer. Repeat this in a minute.")
        if answer["more"]:
            texts.append("More messages wait: repeat this.")
        return " ".join(texts)

    return say


def _country(text: str) -> str:
    if text and text.upper() not in COUNTRIES:
        raise ValueError(f"{text!r} is not a country; give two letters of ISO 3166-1, such as DE")
    return text.upper()


def _after(text: str) -> str:
    if text and not (len(text) <= 18 and text.isascii() and text.isdigit()):
        raise ValueError(f"{text!r} is no cursor; give the `cursor` of an earlier answer")
    return text


_FILTERS: Final = (
    Field("connector", Reference("connector"), "Only messages that wait for this connector.", None),
    Field("account", Reference("account"), "Only messages of this account.", None),
    Field("country", Text(_country, "[A-Za-z]{2}"), "Only messages to this country, such as DE.", ""),
    Field("network", Text(read_any_mccmnc, "[0-9]{5,6}"), "Only messages to this network (MCCMNC), such as 26201.", ""),
    Field("older_than", Duration(), "Only messages that have waited for longer than this, such as 10m.", None, "10m"),
)
_FIELDS_BY_NAME: Final = {each.name: each for each in _FILTERS}
ACTED: Final = (
    Field("messages", Whole(), "The number of messages that were changed."),
    Field("left", Whole(), "Messages that fit and were left alone, because a part may have left."),
    Field("silent_nodes", Whole(), "Nodes that did not answer in time. Messages in their memory are as before."),
    Field("more", Flag(), "Whether more messages fit: the action ends after 20 s. Repeat it."),
)
_MESSAGE: Final = (
    Field("id", Text(), "Id of the message.", example="019e2b1c5f3a70008c1de1f5a0b7c3d2"),
    Field("account", Text(), "The account that sent it.", example="acme"),
    Field("connector", Text(), "The connector that it waits for.", example="op1"),
    Field("to", Text(), "The destination.", example="491701234567"),
    Field("network", Text(), "MCCMNC of its network; empty if it was not known.", example="26201"),
    Field("time", Moment(), "The time since which it waits."),
    Field("held", Text(), "`administrator`, `guard`, `suspended`, or empty if nothing holds it.", example="guard"),
    Field("in_memory", Flag(), "Whether a node has it in memory, to send it next."),
    Field("price", Credits(), "Credits charged for it."),
)
_EACH_WAY: Final = (
    "The action changes only messages that were accepted before it, both in the queue and in the memory of nodes."
)


def _action(name: str, run: Any, summary: str, done: str, more: str, *fields: Field) -> Operation:
    option = "".join(f" --{each.name} backup" for each in fields)
    return Operation(
        name,
        f"POST /queue/{name}",
        run,
        summary,
        reads=(*fields, *_FILTERS),
        answers=ACTED,
        id=f"{name}_queue",
        read_name="QueueMove" if fields else "QueueFilter",
        answer_name="QueueChange",
        more=f"{more} {_EACH_WAY}",
        examples=(f"queue {name} --connector operator{option}", f"queue {name} --country DE --older-than 30m{option}"),
        done=sentence(done),
        is_found=True,
    )


QUEUE = Resource(
    name="queue",
    plural="queue",
    title="Queue",
    summary="Messages that wait, by connector, account and country",
    more="Waiting messages can be moved to another connector, held, released, and cancelled. Scheduled messages are "
    "listed once their time has come. The list lacks messages that a node has had in memory for less than a minute.",
    nothing="No messages wait.",
    key=("connector", "account", "country", "network"),
    fields=(
        replace(_FILTERS[0], meaning="The connector that the messages wait for."),
        replace(_FILTERS[1], meaning="The account that sent them."),
        Field("country", Text(), "The country of their destinations, such as DE; empty: none.", example="DE"),
        Field(
            "network",
            Text(),
            "The network of their destinations (MCCMNC), such as 26201; empty: not known.",
            example="26201",
        ),
        Field("messages", Whole(), "Messages that wait, with held messages."),
        Field("held", Whole(), "Messages that are held, by an administrator, the pumping guard or a suspension."),
        Field("on_hold", Whole(), "Messages that an administrator holds."),
        Field("oldest", Moment(), "The time since which the first of them waits."),
        Field("price", Credits(), "Credits charged for them.", title="Charged"),
    ),
    answer_name="WaitingMessages",
    scopes=Scopes(Scope.READ_MESSAGES, Scope.WRITE_MESSAGES),
    operations=(
        Operation(
            "list",
            "GET /queue",
            find,
            "Count waiting messages by connector, account, country",
            reads=_FILTERS,
            answers=Answer.EACH,
            examples=("queue list", "queue list --connector operator --older-than 10m"),
        ),
        Operation(
            "messages",
            "GET /queue/messages",
            messages,
            "Waiting messages, first accepted first",
            reads=(
                *_FILTERS,
                Field("after", Text(_after, "[0-9]{0,18}"), "The `cursor` of an earlier answer.", "", example="17"),
                Field("limit", Whole(1, 1_000), "The most messages.", 100),
            ),
            answers=(
                Field("messages", Rows(_MESSAGE, "WaitingMessage", is_table=True), "The messages."),
                Field("cursor", Text(), "Goes on with `after`; null: there are no more.", nullable=True, example="17"),
            ),
            id="list_queued_messages",
            answer_name="QueuedMessages",
            is_found=True,
            examples=("queue messages --account acme --limit 10",),
            done=_listed,
        ),
        _action(
            "move",
            move,
            "Make waiting messages wait for another connector",
            "Moved",
            "Held messages stay held.",
            Field("to", Reference("connector"), "The new connector.", example="op2"),
        ),
        _action(
            "hold",
            hold,
            "Hold waiting messages until they are released",
            "Held",
            "New messages are not held. A held message is refunded when its validity ends.",
        ),
        _action(
            "release",
            release,
            "Release held messages",
            "Released",
            "Messages that the pumping guard holds, or of a suspended account, stay held for that reason.",
        ),
        _action(
            "cancel",
            cancel,
            "Cancel and refund waiting messages",
            "Cancelled and refunded",
            "",
        ),
    ),
)
