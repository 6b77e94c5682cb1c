"""The reception of messages from phones: each is kept before the operator has its answer, once, for its owner.

A message is taken into the next commit; its owner is found, and its notice owed, right before that. A part is kept by
itself, and the last one has all of them claimed and joined: whichever bind or node they came over. The operator is
answered after the commit.

**Repeats.** An operator sends again what it has no answer to. A message is noted (`inbound_unanswered`) until its
answer has been written for `SETTLED_MS` on a link that stands: a link that goes takes octets with it that were written.
What equals a message in octets whose link went before that, and comes within `REPEAT_MS`, is that message again. Memory
knows those of this process; the store is asked where the link may have been another process's: an earlier run's for a
while after the start, and other nodes' always. What may be a repeat, as another node has not settled its answer yet, is
held until that node has, or has been silent for `SLOW_ANSWER_MS`.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from heliograph.app.facts import InboundMessage, InboundPart, PartSet
from heliograph.app.inbound.opt_outs import OptOuts
from heliograph.app.inbound.reading import Reader
from heliograph.app.notice import Notice
from heliograph.app.ports import Clock, Gathering, Inbound, Incoming, Unavailable
from heliograph.app.ports.inbound import REPEAT_MS
from heliograph.domain.message.opt_out import Wish
from heliograph.domain.text.inbound import UserData

SETTLED_MS = 2_000
"""The time (ms) for which a link must stand after an answer for the operator to have it, as far as anybody can tell."""

SETTLED_AT_ONCE = 256
"""The most answers that one commit notes as settled: their notes are deleted, which takes a while."""

MOST_WAITING = 10_000
"""The most messages from phones that wait for a commit, or for a look into the store; more are put off."""

LOOK = 500
"""The most messages that are looked up in the store at once."""

READY = 200
"""The most long messages that one round of housekeeping joins."""

FORGOTTEN = 2_000
"""The most rows that one round of housekeeping deletes."""


@dataclass(slots=True, eq=False)
class Arrival:
    """A message, or a part (`message` is None), on its way into a commit. `incoming` is None once it is answered, or
    where nobody waits for an answer. `data` is what a whole message says, its header taken apart."""

    connector: int
    incoming: Incoming | None
    data: UserData | None = None
    message: InboundMessage | None = None


@dataclass(slots=True, eq=False)
class GivenAnswer:
    """A message that was answered at `at` (ms), and may be sent again if the link of `incoming` goes soon. `over`: it
    was taken out of its turn."""

    key: int
    digest: "Digest"
    incoming: Incoming
    at: int
    over: bool = False


Digest = tuple[int, int]
"""A connector, and the digest of what came over it."""


class Reception:
    """Takes what phones send, and answers operators. The engine calls `prepare`, `committed` and `refused` around each
    commit."""

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
        """`owe` takes up a notice. `withdraw` is told, after the commit, that a phone opted out of an account's
        messages: those in memory with lower keys must not go. `healthy` tells whether the store took the last commit.
        `shared`: other nodes may be on the store. `unanswered`: an earlier run left messages without an answer.
        `parts_ms` is how long parts wait for the others."""
        self._gathering = gathering
        self._clock = clock
        self._store = store
        self._reader = reader
        self._opt_outs = opt_outs
        self._owe = owe
        self._withdraw = withdraw
        self._node = node
        self._healthy = healthy
        self._shared = shared
        self._doubt_until = clock.now() + REPEAT_MS if unanswered else 0
        self._parts_ms = parts_ms
        self._closed = False
        self._next: list[Arrival] = []
        """Arrivals among the facts being gathered."""
        self._committing: list[Arrival] = []
        """Arrivals among the facts being committed."""
        self._waiting: dict[Digest, Arrival] = {}
        """Messages without an answer, the last one of each digest."""
        self._lost: dict[Digest, list[tuple[int, int]]] = {}
        """Keys of messages of this process that nobody can answer any more, each with the time until which they are
        known again."""
        self._answered: dict[Digest, list[GivenAnswer]] = {}
        self._settling: deque[GivenAnswer] = deque()
        """The same ones, in the order of their answers."""
        self._known_again: set[int] = set()
        """Keys of messages that were repeated of late: their notes may still be there."""
        self._known_before: set[int] = set()
        """Keys that were so in the round of housekeeping before."""
        self._unsure: list[Arrival] = []
        """Arrivals that the store may know."""
        self._looked_up: list[Arrival] = []
        """The first ones of them, while the store is asked."""
        self._held: list[Arrival] = []
        """Arrivals that may be repeats of what another node has: they are looked up again."""
        self._sets: dict[PartSet, None] = {}
        """Long messages that have a part more since the last look."""
        self._fresh_sets: dict[PartSet, None] = {}
        """Long messages whose newest part is not yet durable."""

    # --- what comes

    def receive(self, connector: int, incoming: Incoming) -> None:
        """Takes a message from a phone, or a part of one. Answers later, or at once where it cannot be kept."""
        in_doubt = len(self._unsure) + len(self._looked_up) + len(self._held)
        waiting = len(self._next) + len(self._committing) + in_doubt
        if self._closed or not self._healthy() or waiting >= MOST_WAITING:
            incoming.answer(False)
            return
        data = self._reader.read(incoming)
        place = data.place
        if place is not None:
            of = PartSet(connector, incoming.sender, incoming.recipient, place[0], place[1])
            self._keep_part(of, place[2], incoming)
            return
        digest = connector, incoming.digest
        earlier = self._waiting.get(digest)
        if earlier is not None and (earlier.incoming is None or not earlier.incoming.stands()):
            earlier.incoming = incoming
            return
        key = self._lost_key(digest)
        if key:
            self._answer_again(key, digest, incoming)
            return
        arrival = Arrival(connector, incoming, data)
        if self._shared or self._clock.now() < self._doubt_until:
            self._waiting[digest] = arrival
            self._unsure.append(arrival)
            self._gathering.seek()
        else:
            self._take(arrival, incoming)

    def _take(self, arrival: Arrival, incoming: Incoming) -> None:
        """Has a whole message written by the next commit."""
        connector, data, now = arrival.connector, arrival.data, self._clock.now()
        assert data is not None
        text = self._reader.text_of(connector, data)
        arrival.message = message = InboundMessage(
            0, connector, incoming.sender, incoming.recipient, text, data.octets, incoming.coding, now,
            digest=incoming.digest,
        )  # fmt: skip
        self._give(message)
        self._waiting[connector, incoming.digest] = arrival
        self._gathering.facts.inbound.append(message)
        self._next.append(arrival)
        self._gathering.wake()

    def _give(self, message: InboundMessage) -> None:
        """Gives a message to its owner, if it has one, and reads what it asks for."""
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

    # --- repeats

    def _lost_key(self, digest: Digest) -> int:
        """Takes out the key of a message that was never answered and is known again; 0 if there is none."""
        for answered in self._answered.get(digest, ()):
            if not answered.incoming.stands():
                self._take_out(answered)
                return answered.key
        keys = self._lost.get(digest)
        if keys is None:
            return 0
        now = self._clock.now()
        key = next((key for key, until in keys if until > now), 0)
        left = [(other, until) for other, until in keys if other != key and until > now]
        if left:
            self._lost[digest] = left
        else:
            del self._lost[digest]
        return key

    def _answer_again(self, key: int, digest: Digest, incoming: Incoming) -> None:
        """Answers a message that is durable already."""
        self._known_again.add(key)
        if incoming.answer(True):
            self._settle_later(key, digest, incoming)
        else:
            self._lose(key, digest)

    def _settle_later(self, key: int, digest: Digest, incoming: Incoming) -> None:
        answered = GivenAnswer(key, digest, incoming, self._clock.now())
        self._answered.setdefault(digest, []).append(answered)
        self._settling.append(answered)

    def _take_out(self, answered: GivenAnswer) -> None:
        answered.over = True
        others = self._answered[answered.digest]
        if len(others) == 1:
            del self._answered[answered.digest]
        else:
            others.remove(answered)

    def _settle(self, before: int) -> None:
        """Forgets answers of before a time (ms) whose links stand."""
        settling, left = self._settling, SETTLED_AT_ONCE
        while settling and left and settling[0].at < before:
            answered = settling.popleft()
            if not answered.over:
                left -= 1
                self._take_out(answered)
                if answered.incoming.stands():
                    self._gathering.facts.inbound_answered.append(answered.key)
                else:
                    self._lose(answered.key, answered.digest)

    def _lose(self, key: int, digest: Digest) -> None:
        """Keeps the key of a message that nobody can answer any more, until it is known again."""
        self._gathering.facts.inbound_lost.append(key)
        self._gathering.wake_later()
        self._lost.setdefault(digest, []).append((key, self._clock.now() + REPEAT_MS))

    # --- around a commit

    def prepare(self) -> None:
        """Must be called right before a commit, when its messages have their keys: prices them, and owes their
        notices."""
        if self._settling:
            self._settle(self._clock.now() - SETTLED_MS)
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
        """Must be called right after a commit: answers what it made durable."""
        if self._committing:
            self._answer_all()
        if self._sets:
            self._gathering.seek()

    def _answer_all(self) -> None:
        committed, self._committing = self._committing, []
        for arrival in committed:
            incoming, message = arrival.incoming, arrival.message
            written = incoming is not None and incoming.answer(True)
            if message is not None and message.wish is Wish.STOP:
                self._withdraw(message.account, message.sender, message.key)
            if message is None or not message.digest:
                continue
            digest = arrival.connector, message.digest
            if self._waiting.get(digest) is arrival:
                del self._waiting[digest]
            if written:
                assert incoming is not None
                self._settle_later(message.key, digest, incoming)
            else:
                self._lose(message.key, digest)

    def refused(self) -> None:
        """Must be called when the store was away at a commit. All that waits is put off: the operator sends it again,
        when it is known again, as it stays among the facts."""
        for arrival in (*self._committing, *self._next):
            if arrival.incoming is not None:
                arrival.incoming.answer(False)
                arrival.incoming = None
            if arrival.message is not None:
                arrival.message.lost = True

    def tick(self) -> None:
        """Must be called about once a second: other nodes are told of links that went, and answers settle."""
        for answered in [each for each in self._settling if not each.over and not each.incoming.stands()]:
            self._take_out(answered)
            self._lose(answered.key, answered.digest)
        if self._settling:
            self._gathering.wake()
        if self._held:
            self._unsure, self._held = [*self._held, *self._unsure], []
            self._gathering.seek()

    def finish(self) -> None:
        """Must be called when all links have ended."""
        for answered in self._settling:
            if not answered.over:
                facts = self._gathering.facts
                arrived = answered.incoming.stands()
                (facts.inbound_answered if arrived else facts.inbound_lost).append(answered.key)
        self._settling.clear()
        self._answered.clear()
        self._gathering.wake()

    def close(self) -> None:
        """Puts off what comes from now on."""
        self._closed = True
        self._put_off_unsure()

    # --- with the store

    async def look_up(self) -> None:
        """Finds out what is a repeat, and joins the messages whose last part may have come."""
        try:
            while self._unsure:
                await self._look_up_some()
            if self._sets:
                sets, self._sets = list(self._sets), {}
                self._join(await self._store.gather(sets, self._node))
        except Unavailable:
            # Complete sets are found again by `keep_house`.
            self._put_off_unsure()

    async def _look_up_some(self) -> None:
        self._looked_up, self._unsure = self._unsure[:LOOK], self._unsure[LOOK:]
        known, open_elsewhere = await self._ask(self._looked_up)
        # Whatever was put off meanwhile has its answer, and is not among them any more.
        some, self._looked_up = self._looked_up, []
        for arrival in some:
            incoming = arrival.incoming
            assert incoming is not None
            digest = arrival.connector, incoming.digest
            keys = known.get(digest)
            if keys:
                if self._waiting.get(digest) is arrival:
                    del self._waiting[digest]
                self._answer_again(keys.pop(0), digest, incoming)
            elif digest in open_elsewhere and incoming.stands():
                self._held.append(arrival)
            elif self._healthy() and not self._closed and digest not in open_elsewhere:
                self._take(arrival, incoming)
            else:
                self._put_off(arrival)

    async def _ask(self, arrivals: Sequence[Arrival]) -> tuple[dict[Digest, list[int]], set[Digest]]:
        """Asks the store what the arrivals repeat: the keys of messages that for certain have no answer, and digests of
        those that another node may still answer."""
        by_connector: dict[int, list[int]] = {}
        for arrival in arrivals:
            if arrival.incoming is not None:
                by_connector.setdefault(arrival.connector, []).append(arrival.incoming.digest)
        known: dict[Digest, list[int]] = {}
        open_elsewhere: set[Digest] = set()
        for connector, digests in by_connector.items():
            found = await self._store.repeated(connector, digests, self._clock.now(), self._node)
            for each, key, certain in found:
                if key in self._known_again or key in self._known_before:
                    continue
                if certain:
                    known.setdefault((connector, each), []).append(key)
                else:
                    open_elsewhere.add((connector, each))
        return known, open_elsewhere

    def _put_off_unsure(self) -> None:
        unsure = [*self._held, *self._looked_up, *self._unsure]
        self._unsure, self._looked_up, self._held = [], [], []
        for arrival in unsure:
            self._put_off(arrival)

    def _put_off(self, arrival: Arrival) -> None:
        incoming = arrival.incoming
        assert incoming is not None
        digest = arrival.connector, incoming.digest
        if self._waiting.get(digest) is arrival:
            del self._waiting[digest]
        incoming.answer(False)

    async def keep_house(self) -> None:
        """Joins messages that are complete, or whose other parts never came; forgets what can no longer be repeated.
        Raises Unavailable."""
        now = self._clock.now()
        self._join(await self._store.ready(now - self._parts_ms, READY, self._node))
        await self._store.forget(now - self._parts_ms - REPEAT_MS, FORGOTTEN)
        self._known_before, self._known_again = self._known_again, set()
        self._lost = {
            digest: left
            for digest, keys in self._lost.items()
            if (left := [(key, until) for key, until in keys if until > now])
        }

    def _join(self, sets: Sequence[Sequence[InboundPart]]) -> None:
        """Has each message written by the next commit, of parts that this node has claimed."""
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
