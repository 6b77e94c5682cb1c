"""The reception of messages from phones: each message is durable before the operator has its answer, and kept once.

1. `receive`: the header is read. A message beyond `MOST_WAITING`, or while the store is away, is refused at once; the
   operator repeats it.
2. A repeat is answered without a second copy; a message that may be a repeat waits for a look-up (`Repeats`).
3. A whole message becomes a fact (`_take`), with its owner by the number rules. It waits in `_next`, and in
   `_committing` while its commit is written.
4. A part becomes a separate fact (`_keep_part`), over any bind or node. After each commit with parts (`_sets`),
   complete sets are claimed and joined (`look_up`). Sets that stay incomplete are joined by `keep_house`.
5. `prepare`, right before the commit: the message gets its price, and its notice is owed.
6. `committed`: the operator gets its answer, and a STOP withdraws waiting messages. A *contested* message was not
   written, since another node wrote an equal message first: `Repeats` gets it back.

What can go wrong: the commit fails (`refused`). The operator gets an error, and the message stays among the facts; the
operator's next copy is then a repeat.
"""

from collections.abc import Callable, Sequence
from typing import Final

from heliograph.app.facts import InboundMessage, InboundPart, PartSet
from heliograph.app.inbound.opt_outs import OptOuts
from heliograph.app.inbound.reading import Reader
from heliograph.app.inbound.repeats import Arrival, Repeats
from heliograph.app.notice import Notice
from heliograph.app.ports import Clock, Gathering, Inbound, Incoming, Unavailable
from heliograph.app.ports.inbound import ANSWERED_KEPT_MS, REPEAT_MS
from heliograph.domain.message.opt_out import Wish

MOST_WAITING: Final = 10_000
"""Messages from phones that wait for a commit or a look-up. The operator is asked to repeat further messages. Ten
thousand are some seconds of traffic, and about 10 MB."""

READY: Final = 200
"""Most long messages that a round of housekeeping joins, because it is a single transaction."""

FORGOTTEN: Final = 2_000
"""Most rows that a round of housekeeping deletes, because it is a single transaction."""


class Reception:
    """Takes messages from phones, and answers operators. The engine calls `prepare`, `committed` and `refused` around
    each commit."""

    def __init__(
        self,
        gathering: Gathering,
        clock: Clock,
        store: Inbound,
        reader: Reader,
        opt_outs: OptOuts,
        owe: Callable[[Notice], None],
        withdraw: Callable[[int, str, int], None],
        node: int,
        *,
        healthy: Callable[[], bool],
        shared: bool = False,
        unanswered: bool = False,
        parts_ms: int,
    ) -> None:
        """`owe` takes up a notice. `withdraw` cancels an account's messages in memory to a phone that opted out, with
        keys below the third argument; it is called after the commit. `healthy` returns whether the store took the last
        commit. `shared` and `unanswered` are described at `Repeats`. `parts_ms` is how long parts wait for the others.
        """
        self._gathering = gathering
        self._clock = clock
        self._store = store
        self._reader = reader
        self._opt_outs = opt_outs
        self._owe = owe
        self._withdraw = withdraw
        self._node = node
        self._healthy = healthy
        self._parts_ms = parts_ms
        self._closed = False
        self.repeats = Repeats(gathering, clock, store, node, self._take, shared=shared, unanswered=unanswered)
        self._next: list[Arrival] = []
        """Arrivals among the facts being gathered."""
        self._committing: list[Arrival] = []
        """Arrivals among the facts being committed."""
        self._sets: dict[PartSet, None] = {}
        """Long messages with a new part since the last look-up."""
        self._fresh_sets: dict[PartSet, None] = {}
        """Long messages with a newest part that is not yet durable."""

    # --- arrivals

    def receive(self, connector: int, incoming: Incoming) -> None:
        """Takes a message from a phone, or a part of it. Answers after its commit, or at once if it is refused."""
        waiting = len(self._next) + len(self._committing) + self.repeats.in_doubt
        if waiting >= MOST_WAITING or not self._may_take():
            incoming.answer(False)
            return
        data = self._reader.read(incoming)
        if data.position is not None:
            reference, total, number = data.position
            self._keep_part(PartSet(connector, incoming.sender, incoming.recipient, reference, total), number, incoming)
            return
        digest = connector, incoming.digest
        if self.repeats.recognises(digest, incoming):
            return
        arrival = Arrival(connector, incoming, data)
        if not self.repeats.doubts(digest, arrival):
            self._take(arrival, incoming)

    def _may_take(self) -> bool:
        return self._healthy() and not self._closed

    def _take(self, arrival: Arrival, incoming: Incoming) -> None:
        """Has a whole message written by the next commit."""
        connector, data, now = arrival.connector, arrival.data, self._clock.now()
        assert data is not None
        text = self._reader.text_of(connector, data)
        arrival.message = message = InboundMessage(
            0, connector, incoming.sender, incoming.recipient, text, data.octets, incoming.coding, now,
            digest=incoming.digest, last_note=arrival.last_note,
        )  # fmt: skip
        self._give(message)
        self.repeats.waiting[connector, incoming.digest] = arrival
        self._gathering.facts.inbound.append(message)
        self._next.append(arrival)
        self._gathering.wake()

    def _give(self, message: InboundMessage) -> None:
        """Gives a message to its owner, if it has one, and judges a STOP, START or HELP."""
        owner, message.keyword = self._reader.owner(message.connector, message.recipient, message.content)
        if owner is not None:
            message.account, message.way = owner.account, owner.way
            self._opt_outs.judge(message, owner)

    def _keep_part(self, of: PartSet, number: int, incoming: Incoming) -> None:
        part = InboundPart(of, number, incoming.coding, incoming.has_header, incoming.octets, self._clock.now())
        self._gathering.facts.inbound_parts.append(part)
        self._next.append(Arrival(of.connector, incoming))
        self._fresh_sets[of] = None
        self._gathering.wake()

    # --- around a commit

    def prepare(self) -> None:
        """Prices the messages of a commit, and owes their notices. Must be called right before it, once they have their
        keys."""
        self.repeats.settle()
        if not self._next:
            return
        for arrival in self._next:
            message = arrival.message
            if message is not None and message.account:
                message.price = self._reader.price(message.account, message.sender)
            if message is not None and message.way:
                self._owe(Notice(message.account, message.key, message, message.at, way=message.way))
        self._committing += self._next
        self._next = []
        if self._fresh_sets:
            self._sets |= self._fresh_sets
            self._fresh_sets = {}

    def committed(self) -> None:
        """Answers the messages that a commit made durable. Must be called right after it."""
        if self._committing:
            self._answer_all()
        if self._sets:
            self._gathering.wake_lookups()

    def _answer_all(self) -> None:
        committed, self._committing = self._committing, []
        for arrival in committed:
            incoming, message = arrival.incoming, arrival.message
            if message is not None and message.contested:
                self.repeats.reconsider(arrival, message.digest, may_take=not self._closed)
                continue
            written = incoming is not None and incoming.answer(True)
            if message is not None and message.wish is Wish.STOP:
                self._withdraw(message.account, message.sender, message.key)
            if message is not None and message.digest:
                self.repeats.committed(arrival, message, written=written)

    def refused(self) -> None:
        """Refuses all waiting messages, since the store was away at a commit. They stay among the facts, so that the
        operator's copy is recognised as a repeat."""
        for arrival in (*self._committing, *self._next):
            if arrival.incoming is not None:
                arrival.incoming.answer(False)
                arrival.incoming = None
            if arrival.message is not None:
                arrival.message.lost = True

    def close(self) -> None:
        """Refuses messages from now on."""
        self._closed = True
        self.repeats.refuse_doubtful()

    # --- with the store

    async def look_up(self) -> None:
        """Looks up possible repeats, and joins long messages that may be complete."""
        try:
            await self.repeats.look_up(self._may_take)
            if self._sets:
                sets, self._sets = list(self._sets), {}
                self._join(await self._store.gather(sets, self._node))
        except Unavailable:
            # Complete sets are found again by `keep_house`.
            self.repeats.refuse_doubtful()

    async def keep_house(self) -> None:
        """Joins messages that are complete or have waited for their other parts for too long, and deletes old rows.
        Raises Unavailable."""
        now = self._clock.now()
        self._join(await self._store.ready(now - self._parts_ms, READY, self._node))
        await self._store.forget(now - self._parts_ms - REPEAT_MS, now - ANSWERED_KEPT_MS, FORGOTTEN)
        self.repeats.keep_house(now)

    def _join(self, sets: Sequence[Sequence[InboundPart]]) -> None:
        """Joins claimed parts, and has each message written by the next commit."""
        for parts in sets:
            of = parts[0].parts_of
            text = self._reader.joined(parts)
            message = InboundMessage(
                0, of.connector, of.sender, of.recipient, text.text, text.octets, text.coding,
                min(part.at for part in parts), parts=of.total, complete=text.complete, parts_of=of,
            )  # fmt: skip
            self._give(message)
            self._gathering.facts.inbound.append(message)
            self._next.append(Arrival(of.connector, None, message=message))
        if sets:
            self._gathering.wake()
