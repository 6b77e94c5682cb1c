"""Awaited receipts in memory: the messages whose receipts are to come, and how their parts enter and leave it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile

from heliograph.app.facts import Awaiting, Facts, Message, Outstanding
from heliograph.app.marks import AWAITING
from heliograph.app.ports import Clock, Gathering
from heliograph.domain.message.ids import first_key_at, time_of, worker_of
from heliograph.domain.message.receipt import Delivery

KEEP_MS = 30_000
"""The time for which memory awaits a part's receipt; later the part is found through its row. Milliseconds."""

KEEP_PARTS = 20_000
"""The most parts whose receipts memory awaits, over all connectors."""


@dataclass(slots=True, eq=False)
class TrackedMessage:
    """A message that awaits receipts.

    `states` holds the parts that are in a final state, by number; memory finds the others by `entries`. `rowed`: all
    of these have rows in `awaiting`; `mixed`: some may have. `unanswered` counts the parts that the operator has not
    answered yet; `held` says that they are in a lane of this node. `dirty` is the latest generation of facts with a
    fact about the message.
    """

    message: Message
    states: dict[int, tuple[Delivery, str]]
    since: int
    entries: "list[AwaitedId]"
    rowed: bool = False
    mixed: bool = False
    unanswered: int = 0
    held: bool = False
    dirty: int = 0
    leaving: bool = False
    taken: int = 0
    """The time (ms) when the operator last took a part of the message, or, where the rows do not say, when the message
    was due; 0 once its receipts are not waited for any more."""
    connector: int = 0
    """The connector that a part of it was last reported by; 0 before."""


@dataclass(slots=True, eq=False)
class AwaitedId:
    """An operator's id and the parts of a message that it stands for. Several parts have one id where the operator took
    them as one, or does not tell them apart: a receipt then is for all of them."""

    track: TrackedMessage
    connector: int
    operator_id: str
    segments: tuple[int, ...]

    @property
    def message(self) -> Message:
        """The message of the parts."""
        return self.track.message


class AwaitedReceipts:
    """Tracks the messages that await receipts, and finds them by the operator's ids.

    There are never two truths about a message of several parts: its track stays in memory while facts about it wait
    for their commit, while rows are being read that do not show them, and while a lane holds parts of it.
    """

    def __init__(self, gathering: Gathering, clock: Clock, mark: int = 0, *, worker: int | None = None) -> None:
        """`worker` is the number of this node where several share a store: the others must find the parts that they
        need by rows. None: there are no others."""
        self.mark = mark
        self.entries: dict[int, dict[str, AwaitedId]] = {}
        """Awaited ids by connector and operator's id."""
        self.tracks: dict[int, TrackedMessage] = {}
        """Tracks of messages of several parts, by key."""
        self.leaving: list[TrackedMessage] = []
        self.ended: dict[int, int] = {}
        """Messages that are over but that rows may still show as open, with the generation of facts that ended them."""
        self.generation = 1
        """The generation of the facts being gathered."""
        self.committing = 0
        self.durable = 0
        self.reads: list[int] = []
        self._gathering = gathering
        self._clock = clock
        self._worker = worker
        self._own: set[int] = set()
        """Connectors whose receipts come to this node only."""

    def __len__(self) -> int:
        """Counts the operator's ids under which memory awaits receipts."""
        return sum(map(len, self.entries.values()))

    def holders(self, connector: int, operator_id: str) -> Sequence[AwaitedId]:
        """Returns the parts in memory with this id: none, or some of one message."""
        entries = self.entries.get(connector)
        entry = entries.get(operator_id) if entries else None
        return () if entry is None else (entry,)

    # --- around a commit

    def prepare(self) -> None:
        """Must be called right before a commit."""
        self.committing = self.generation
        self.generation += 1

    def spill(self, facts: Facts, now: int, last_key: int) -> None:
        """Gives rows to the parts that memory has awaited for long, and moves the mark on. Once a second, right before
        a commit.

        Where memory holds too many, the latest leave: receipts come roughly in the order of the answers, and where
        they lag behind by more than memory holds, each would find that its part had just left.

        A part without a row was taken less than KEEP_MS ago, and not more than that after its key was given (`take`):
        the mark, twice as far back, does not reach it. The mark never passes `last_key`, the highest key that was
        given: the clock may have been ahead of itself.
        """
        cutoff = now - KEEP_MS
        mark = max(self.mark, min(first_key_at(cutoff - KEEP_MS), last_key))
        most = KEEP_PARTS // max(1, len(self.entries))
        for entries in self.entries.values():
            for place, entry in enumerate(entries.values()):
                track = entry.track
                if track.since > cutoff and place < most:
                    continue
                if not track.rowed:
                    self._give_rows(facts, track, self.committing)
                self._let_leave(track)
        if mark > self.mark:
            self.mark = facts.marks[AWAITING] = mark

    def committed(self) -> None:
        """Must be called right after a commit: messages whose parts all have rows leave memory."""
        self.durable = self.committing
        seen = self._seen
        if self.leaving:
            leaving, self.leaving = self.leaving, []
            for track in leaving:
                if track.dirty > seen:
                    self.leaving.append(track)
                    continue
                track.leaving = False
                if track.rowed or not track.entries:
                    self.drop_entries(track)
                    if not track.held:
                        self.tracks.pop(track.message.key, None)
        for key in list(takewhile(lambda key: self.ended[key] <= seen, self.ended)):
            del self.ended[key]

    @property
    def _seen(self) -> int:
        """The generation of facts up to which every read of the rows, also one under way, shows all facts."""
        return min(self.durable, *self.reads) if self.reads else self.durable

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Marks that rows are being read: they may lack the facts that are committed meanwhile."""
        start = self.durable
        self.reads.append(start)
        try:
            yield
        finally:
            self.reads.remove(start)

    # --- in

    def track(self, message: Message) -> TrackedMessage:
        """Returns the track of the message; makes it at the first answer."""
        several = message.segments > 1
        track = self.tracks.get(message.key) if several else None
        if track is None:
            track = TrackedMessage(message, {}, self._clock.now(), [], unanswered=message.segments, held=several)
            if several:
                self.tracks[message.key] = track
        return track

    def found(self, outstanding: Outstanding) -> TrackedMessage:
        """Returns the track of a message that was read from its rows, merged with what memory knows beyond them."""
        message = outstanding.message
        track = self.tracks.get(message.key)
        if track is None:
            unanswered = message.segments - len(outstanding.states) - sum(map(len, outstanding.operator_ids.values()))
            track = TrackedMessage(
                message, {}, self._clock.now(), [], rowed=True, unanswered=unanswered, taken=message.time
            )
            if message.segments > 1:
                self.tracks[message.key] = track
                self._let_leave(track)
        for segment, state in outstanding.states.items():
            track.states.setdefault(segment, state)
        return track

    def restored(self, outstanding: Outstanding) -> None:
        """Awaits a message above the mark in memory again, after a start."""
        track = self.found(outstanding)
        track.since = min(track.since, time_of(track.message.key))
        track.rowed, track.mixed = False, True
        for (connector, operator_id), segments in outstanding.operator_ids.items():
            self._enter(track, segments, connector, operator_id)

    def take(self, track: TrackedMessage, segments: tuple[int, ...], connector: int, operator_id: str) -> None:
        """Awaits the receipt of a part that the operator took, or of several that it took as one."""
        account, key = track.message.account, track.message.key
        now = track.taken = self._clock.now()
        self._enter(track, segments, connector, operator_id)
        if track.rowed:
            awaiting = self._gathering.facts.awaiting
            awaiting.extend(Awaiting(connector, operator_id, account, key, segment) for segment in segments)
            track.dirty = self.generation
        elif self._needs_row(key, connector) or key <= self.mark or now - time_of(key) > KEEP_MS:
            self._give_rows(self._gathering.facts, track, self.generation)
        self.answered(track, len(segments))

    def answered(self, track: TrackedMessage, parts: int = 1) -> None:
        """Notes that so many more parts of the message have their answers."""
        track.unanswered -= parts
        if track.unanswered <= 0 and track.held:
            track.held = False
            self.let_go(track)

    # --- with several nodes

    def keep(self, connector: int) -> None:
        """Notes that this node has all binds of the connector: its receipts come to no other node."""
        self._own.add(connector)

    def share(self, connector: int) -> None:
        """Gives rows to all awaited parts of a connector whose receipts may come to other nodes, from now on or since a
        moment ago. A node that has such a receipt already looks for its rows again and again."""
        if connector not in self._own:
            return
        self._own.remove(connector)
        for entry in self.entries.get(connector, {}).values():
            if not entry.track.rowed:
                self._give_rows(self._gathering.facts, entry.track, self.generation)
        self._gathering.wake()

    def _needs_row(self, key: int, connector: int) -> bool:
        """Tells whether another node may have to find the part: when its receipt comes there, or when this node has
        died, whose marks only cover what it accepted itself."""
        return self._worker is not None and (connector not in self._own or worker_of(key) != self._worker)

    # --- out

    def settle(self, track: TrackedMessage, connector: int, operator_id: str) -> None:
        """Stops awaiting a receipt under this id."""
        for entry in track.entries:
            if entry.operator_id == operator_id and entry.connector == connector:
                track.entries.remove(entry)
                del self.entries[connector][operator_id]
                return

    def end(self, key: int, track: TrackedMessage | None = None) -> None:
        """Forgets a message that the facts being gathered end."""
        known = self.tracks.pop(key, None)
        track = track or known
        if track is not None:
            self.drop_entries(track)
        self.ended[key] = self.generation

    def let_go(self, track: TrackedMessage) -> None:
        """Forgets a message that no lane holds any more: now if no receipt is awaited, else with its last one."""
        if not track.entries:
            self._let_leave(track)

    def drop_entries(self, track: TrackedMessage) -> None:
        """Stops awaiting receipts under all ids of the message."""
        for entry in track.entries:
            del self.entries[entry.connector][entry.operator_id]
        track.entries.clear()

    # --- inside

    def _let_leave(self, track: TrackedMessage) -> None:
        if not track.leaving:
            track.leaving = True
            self.leaving.append(track)

    def _enter(self, track: TrackedMessage, segments: tuple[int, ...], connector: int, operator_id: str) -> None:
        entries = self.entries.setdefault(connector, {})
        other = entries.pop(operator_id, None)
        if other is not None and other.track is track:
            segments = tuple(dict.fromkeys(other.segments + segments))
            track.entries.remove(other)
        elif other is not None:
            # The operator gave the same id again: the message that had it first is found through its row.
            if not other.track.rowed:
                self._give_rows(self._gathering.facts, other.track, self.generation)
            other.track.entries.remove(other)
            self.let_go(other.track)
        entry = entries[operator_id] = AwaitedId(track, connector, operator_id, segments)
        track.entries.append(entry)

    def _give_rows(self, facts: Facts, track: TrackedMessage, generation: int) -> None:
        """Adds the rows to `facts`, which are of that generation."""
        track.rowed = True
        track.dirty = generation
        account, key = track.message.account, track.message.key
        for entry in track.entries:
            facts.awaiting.extend(
                Awaiting(entry.connector, entry.operator_id, account, key, each) for each in entry.segments
            )
