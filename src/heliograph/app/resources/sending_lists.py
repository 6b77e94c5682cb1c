"""Sending lists: messages that the console sends together. They are paused, resumed, and cancelled.

state of the row -> the process that sends the list obeys, and says so -> the messages that wait already change
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from heliograph.app.configuration import Missing
from heliograph.app.ports.backlog import QueueAction, QueueFilter, QueueOrder
from heliograph.app.ports.sending_lists import ListState, SendingList, StatusCount, references_of
from heliograph.app.records import Scope
from heliograph.app.resources.description import Answer, Operation, Page, Resource, Scopes
from heliograph.app.resources.desk import Desk, Invalid, NoSuch, account_id
from heliograph.app.resources.fields import MOST_IN_ROW, Choice, Credits, Field, Moment, Reference, Text, Whole
from heliograph.app.resources.queue import ACTED, change_waiting, sentence
from heliograph.domain.message.ids import first_key_at
from heliograph.domain.message.status import MessageStatus

PAGE: Final = 100

LATEST: Final = MOST_IN_ROW
"""Later than each id and time."""

SILENT_MS: Final = 15_000
"""Milliseconds after which a process without a report counts as ended. It reports once a second."""

OBEYS_S: Final = 4.0
"""Seconds for which an order waits for the process that sends the list."""

LOOK_S: Final = 0.1

INTERRUPTED: Final = "interrupted"
DONE: Final = "done"
STATES: Final = (*(each.value for each in ListState), INTERRUPTED, DONE)

UNCHARGED: Final = (MessageStatus.FAILED, MessageStatus.CANCELLED)
"""Messages that were refunded."""


@dataclass(slots=True)
class ListView:
    """A list, maybe with the counts of its messages."""

    of: SendingList
    account: str
    state: str
    counts: Mapping[MessageStatus, StatusCount] = field(default_factory=dict)

    def messages(self, *statuses: MessageStatus) -> int:
        return sum(self.counts[each].messages for each in statuses if each in self.counts)

    @property
    def charged(self) -> int:
        return sum(each.price for status, each in self.counts.items() if status not in UNCHARGED)

    @property
    def failed(self) -> int:
        """Messages that ended without delivery."""
        return self.messages(MessageStatus.UNDELIVERED, *UNCHARGED)

    @property
    def handed_in(self) -> int:
        """Rows that were accepted or refused. The messages may be ahead of the last report."""
        return max(self.of.handed_in, self.messages(*self.counts) + self.of.refused)

    @property
    def left(self) -> int:
        """Rows that were not handed in."""
        return self.of.rows - self.handed_in

    @property
    def waiting(self) -> int:
        """Messages that can be held or cancelled, unless a part may have left."""
        return self.messages(MessageStatus.HELD, MessageStatus.SCHEDULED, MessageStatus.PENDING)

    @property
    def is_over(self) -> bool:
        """True if no action has an effect."""
        return not self.waiting and (self.of.ended is not None or self.state == INTERRUPTED)

    def row(self) -> dict[str, Any]:
        found = self.of
        return {
            "id": found.id,
            "name": found.name,
            "account": self.account,
            "state": self.state,
            "rows": found.rows,
            "handed_in": self.handed_in,
            "refused": found.refused,
            "created": found.created,
            "ended": found.ended,
            "actor": found.actor,
            "problem": found.problem,
        }


async def view(desk: Desk, id: int) -> ListView:
    """Returns a list. Raises NoSuch."""
    found = await desk.store.sending_lists.find(id)
    if found is None:
        raise NoSuch("sending list", str(id))
    counts = await desk.store.sending_lists.counts(found.account, id)
    return replace(_viewed(desk, found, await desk.account_names()), counts=counts)


async def views(desk: Desk, before: int = LATEST, account: str | None = None, limit: int = PAGE) -> list[ListView]:
    """Returns lists with ids below `before`, newest first, without counts: those of a long list take a second."""
    owner = await account_id(desk.store, account) if account else None
    names = await desk.account_names()
    return [_viewed(desk, each, names) for each in await desk.store.sending_lists.page(before, owner, limit)]


def _viewed(desk: Desk, found: SendingList, names: Mapping[int, str]) -> ListView:
    return ListView(found, names.get(found.account, str(found.account)), _state(found, desk.now))


def _state(found: SendingList, now: int) -> str:
    """Returns one of STATES."""
    if found.state is ListState.CANCELLED:
        return found.state
    if found.ended is None and is_silent(found, now):
        return INTERRUPTED
    if found.state is ListState.PAUSED:
        return found.state
    return DONE if found.ended is not None else ListState.SENDING


def is_silent(found: SendingList, now: int) -> bool:
    """Returns True if the process that sends the list has ended."""
    return now - found.reported > SILENT_MS


async def find(desk: Desk, account: str | None, after: str, limit: int) -> Page:
    found = await views(desk, int(after or LATEST), account, limit)
    cursor = str(found[-1].of.id) if len(found) == limit else None
    return Page([each.row() for each in found], cursor)


async def show(desk: Desk, id: int) -> dict[str, Any]:
    found = await view(desk, id)
    counts = {each.value: found.messages(each) for each in MessageStatus}
    return {**found.row(), **counts, "price": found.charged}


async def pause(desk: Desk, id: int) -> dict[str, Any]:
    """Hands in no further row, and holds the messages that wait."""
    found = await _order(desk, id, ListState.PAUSED)
    return await _change(desk, found, QueueAction.HOLD)


async def resume(desk: Desk, id: int) -> dict[str, Any]:
    """Releases the messages that wait, and hands in the other rows."""
    found = await _order(desk, id, ListState.SENDING)
    return await _change(desk, found, QueueAction.RELEASE)


async def cancel(desk: Desk, id: int) -> dict[str, Any]:
    """Hands in no further row, for good, and cancels the messages that wait."""
    found = await _order(desk, id, ListState.CANCELLED)
    return await _change(desk, found, QueueAction.CANCEL)


async def _order(desk: Desk, id: int, state: ListState) -> SendingList:
    """Sets the state, and waits until the process that sends the list obeys. Raises NoSuch and Invalid."""
    found = await desk.store.sending_lists.find(id)
    if found is None:
        raise NoSuch("sending list", str(id))
    if found.state is ListState.CANCELLED and state is not found.state:
        raise Invalid("id", f"list {id} is cancelled; send the rest as a new list")
    action = {ListState.PAUSED: "pause", ListState.SENDING: "resume", ListState.CANCELLED: "cancel"}[state]
    try:
        await desk.audited(f"sending-list.{action}", str(id), {"name": found.name}).sending_lists.change(id, state)
    except Missing:
        return await _order(desk, id, state)  # cancelled meanwhile: now it is found so, and refused
    for _ in range(int(OBEYS_S / LOOK_S)):
        if found.heard is state or found.ended is not None or is_silent(found, desk.now) or desk.pause is None:
            break
        await desk.pause(LOOK_S)
        found = await desk.store.sending_lists.find(id) or found
    return found


async def _change(desk: Desk, found: SendingList, action: QueueAction) -> dict[str, Any]:
    wanted = QueueFilter(
        until=LATEST, before=first_key_at(desk.now + 1), account=found.account, references=references_of(found.id)
    )
    tally = await change_waiting(desk, QueueOrder(action, wanted), first_key_at(found.created) - 1)
    details = {"list": str(found.id), **tally.details()}
    await desk.note(f"queue.{action}", found.name, details)
    return tally.row()


_ID = Field("id", Whole(), "Number of the list.", example="3")
_COUNTS = {
    MessageStatus.SCHEDULED: "Messages that are scheduled for later.",
    MessageStatus.PENDING: "Messages that wait for their operator.",
    MessageStatus.HELD: "Messages that are held: by a pause of the list, the pumping guard or a suspension.",
    MessageStatus.SUBMITTED: "Messages that an operator has, without a receipt so far.",
    MessageStatus.DELIVERED: "Messages that were delivered.",
    MessageStatus.UNDELIVERED: "Messages that the operator did not deliver.",
    MessageStatus.FAILED: "Messages that were never sent, and were refunded.",
    MessageStatus.CANCELLED: "Messages that were cancelled and refunded.",
}


def _action(name: str, run: Any, summary: str, done: str, more: str) -> Operation:
    return Operation(
        name,
        f"POST /sending-lists/{{id}}/{name}",
        run,
        summary,
        answers=ACTED,
        answer_name="QueueChange",
        id=f"{name}_sending_list",
        more=more,
        examples=(f"sending-list {name} 3",),
        done=sentence(done),
    )


_FIELDS = (
    _ID,
    Field("name", Text(), "The name that it was given.", example="Spring sale"),
    Field("account", Reference("account"), "The account that pays."),
    Field(
        "state",
        Choice(STATES),
        "`sending`, `paused`, `cancelled`, `done` once all rows were handed in, or `interrupted` if its process ended "
        "before.",
    ),
    Field("rows", Whole(), "Rows of the list."),
    Field("handed_in", Whole(), "Rows that were accepted or refused so far.", title="Handed in"),
    Field("refused", Whole(), "Rows that were refused."),
    Field("created", Moment(), "When it was started.", title="Started"),
    Field("ended", Moment(), "When its last row was handed in.", nullable=True),
    Field("actor", Text(), "Who sent it.", title="By", example="user:ada"),
    Field("problem", Text(), "Why its first refused row was refused.", empty="-", example="The credit is too low."),
)


SENDING_LISTS = Resource(
    name="sending-list",
    plural="sending_lists",
    summary="Lists of messages that the console sends",
    more="A list is sent by the process that it was started in, at the pace of its account. Its messages are counted "
    "by their status.",
    nothing="No list was sent. Send one from the page *Send*.",
    key=("id",),
    called="name",
    path="/lists",
    title="Sending lists",
    link="/lists/{id}",
    fields=_FIELDS,
    columns=("id", "name", "account", "state", "rows", "handed_in", "refused", "created"),
    scopes=Scopes(Scope.READ_MESSAGES, Scope.WRITE_MESSAGES),
    answer_name="SendingList",
    operations=(
        Operation(
            "list",
            "GET /sending-lists",
            find,
            "Sending lists, newest first",
            reads=(Field("account", Reference("account"), "Only lists of this account.", None),),
            answers=Answer.EACH,
            page=PAGE,
            rows=20,
            newest_first=True,
            answer_name="SendingLists",
            examples=("sending-list list", "sending-list list --account acme"),
        ),
        Operation(
            "show",
            "GET /sending-lists/{id}",
            show,
            "A list with the counts of its messages",
            answers=(
                *_FIELDS,
                *(Field(status.value, Whole(), meaning) for status, meaning in _COUNTS.items()),
                Field("price", Credits(), "Credits charged for it, without refunded messages.", title="Charged"),
            ),
            answer_name="SendingListInFull",
            id="get_sending_list",
            examples=("sending-list show 3",),
        ),
        _action(
            "pause",
            pause,
            "Pause a list",
            "Paused and held",
            "No further row becomes a message, and messages that wait are held. Messages that an operator already has "
            "cannot be recalled. A held message is refunded when its validity ends.",
        ),
        _action(
            "resume",
            resume,
            "Resume a paused list",
            "Resumed and released",
            "Held messages are released, and the other rows are sent. Messages that the pumping guard holds stay held.",
        ),
        _action(
            "cancel",
            cancel,
            "Cancel the rest of a list",
            "Cancelled and refunded",
            "No further row becomes a message, and messages that wait or are scheduled are cancelled and refunded. "
            "Messages that an operator has stay as they are.",
        ),
    ),
)
