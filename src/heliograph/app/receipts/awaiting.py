"""Awaited receipts in memory: messages that wait for receipts, and how their parts enter and leave memory.

 1. A part enters when the operator took it (`take`), or after a start (`restored`).
 2. It gets a row in `awaiting` in the same commit if another node may need it, else after KEEP_MS (`spill`).
 3. It leaves with its receipt (`settle`), or right after the commit of its row (`committed`).
 4. Its receipt is then found through the row (`found`), and the message is tracked again until it ends.

What can go wrong: a read of the rows lacks facts that are committed meanwhile. Tracks therefore stay in memory, and
ended messages in `ended`, until every read that began before is over (`reading`).
"""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from heliograph.app.facts import Awaiting, Facts, Message, Outstanding
from heliograph.app.marks import AWAITING
from heliograph.app.ports import Clock, Gathering
from heliograph.domain.message.ids import first_key_at, time_of, worker_of
from heliograph.domain.message.receipt import Delivery

NONE_TRIED: Final[frozenset[int]] = frozenset()

KEEP_MS = 30_000
"""Milliseconds for which memory awaits a part's receipt. Later the part is found through its row. Most receipts come
within ten seconds."""

KEEP_PARTS = 20_000
"""Parts in memory that await receipts, over all connectors: about 10 MB. Further parts only have rows."""


@dataclass(slots=True, eq=False)
class TrackedMessage:
    """A message that awaits receipts."""

    message: Message
    states: dict[int, tuple[Delivery, str]]
    """State and error code of each part in a final state, by number from 0."""
    since: int
    """The time (ms) when memory began to track the message."""
    entries: "list[AwaitedId]"
    """The parts in memory that await receipts."""
    rowed: bool = False
    """Whether all parts of `entries` have rows in `awaiting`."""
    mixed: bool = False
    """Whether some parts of `entries` may have rows, as after a start."""
    held: int = 0
    """Number of parts that a lane of this node holds: no answer to them has come."""
    over: bool = False
    """Whether the message has ended. A receipt of a part that another node sent may end it while a lane holds the part
    here."""
    dirty: int = 0
    """The latest generation of facts with a fact about the message."""
    leaving: bool = False
    """Whether the track is in `AwaitedReceipts.leaving`."""
    taken: int = 0
    """Time (ms) when the operator last took a part; the message's due time if its rows lack that. 0 once its receipts
    are given up."""
    connector: int = 0
    """The connector of the operator that has the parts; 0 while none was taken and no receipt came."""
    accepted: int = 0
    """Number of parts that the operator took, and of which it has a single copy for certain."""
    tried: frozenset[int] = NONE_TRIED
    """Other connectors that tried the message before."""


@dataclass(slots=True, eq=False)
class AwaitedId:
    """An operator's id and the parts of a message that have it. An operator that joins parts, or gives all of them the
    same id, sends a receipt for all of them."""

    track: TrackedMessage
    connector: int
    operator_id: str
    segments: tuple[int, ...]
    """Numbers of the parts, from 0."""

    @property
    def message(self) -> Message:
        """The message of the parts."""
        return self.track.message


class AwaitedReceipts:
    """Tracks the messages that await receipts, and finds them by the operator's ids.

    Memory and rows never disagree about a message of several parts. Its track stays in memory for as long as any of
    these holds: facts about it wait for their commit, rows without these facts are being read, or a lane holds parts of
    it.
    """

    def __init__(self, gathering: Gathering, clock: Clock, mark: int = 0, *, worker: int | None = None) -> None:
        """`worker` is the number of this node if several share a store; the others find the parts that they need by
        rows. None: this is the only node."""
        self.mark = mark
        self.entries: dict[int, dict[str, AwaitedId]] = {}
        """Awaited ids by connector and operator's id."""
        self.tracks: dict[int, TrackedMessage] = {}
        """Tracks of messages of several parts, by key."""
        self.leaving: list[TrackedMessage] = []
        """Tracks that leave memory once the facts about them are durable."""
        self.ended: dict[int, int] = {}
        """Ended messages that rows may still show as open, with the generation of facts that ended them."""
        self.generation = 1
        """The generation of the facts being gathered."""
        self.committing = 0
        """The generation of the commit under way, or of the last commit."""
        self.durable = 0
        """The last generation that is durable."""
        self.reads: list[int] = []
        """For each read of the rows under way, the generation that was durable when it began."""
        self._gathering = gathering
        self._clock = clock
        self._worker = worker
        self._own: set[int] = set()
        """Connectors with receipts that come to this node only."""

    def __len__(self) -> int:
        """Counts the operator's ids under which memory awaits receipts."""
        return sum(map(len, self.entries.values()))

    def holders(self, connector: int, operator_id: str) -> Sequence[AwaitedId]:
        """Returns the parts in memory with this id: an empty list, or parts of a single message."""
        entries = self.entries.get(connector)
        entry = entries.get(operator_id) if entries else None
        return () if entry is None else (entry,)

    # --- around a commit

    def prepare(self) -> None:
        """Must be called right before a commit."""
        self.committing = self.generation
        self.generation += 1

    def spill(self, facts: Facts, now: int, last_key: int) -> None:
        """Gives rows to the parts that memory has awaited for KEEP_MS, and moves the mark on.

        Must be called right before a commit, once a second.

        If memory holds too many parts, the latest leave. Receipts come roughly in the order of the answers: if the
        oldest left and receipts lagged, each receipt would miss its part by a moment.

        The mark, 2 * KEEP_MS back, stays below all parts without a row. Such a part was taken less than KEEP_MS ago,
        and at most KEEP_MS after its key was given (`take`). The mark never passes `last_key`, the highest key given:
        the clock may have been set back.
        """
        cutoff = now - KEEP_MS
        mark = max(self.mark, min(first_key_at(cutoff - KEEP_MS), last_key))
        most = KEEP_PARTS // max(1, len(self.entries))
        for entries in self.entries.values():
            for index, entry in enumerate(entries.values()):
                track = entry.track
                if track.since > cutoff and index < most:
                    continue
                if not track.rowed:
                    self._give_rows(facts, track, self.committing)
                self._let_leave(track)
        if mark > self.mark:
            self.mark = facts.marks[AWAITING] = mark

    def committed(self) -> None:
        """Must be called right after a commit. Messages leave memory if all of their parts have rows."""
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
                    if not track.held and self.tracks.get(track.message.key) is track:
                        del self.tracks[track.message.key]
        shown = []
        for key, generation in self.ended.items():
            if generation > seen:
                break
            shown.append(key)
        for key in shown:
            del self.ended[key]

    @property
    def _seen(self) -> int:
        """The generation up to which every read of the rows shows all facts, reads under way included."""
        return min(self.durable, *self.reads) if self.reads else self.durable

    @contextmanager
    def reading(self) -> Iterator[int]:
        """Marks that rows are being read: they may lack the facts that are committed meanwhile. Yields the generation
        that they show for certain, for `is_over`."""
        start = self.durable
        self.reads.append(start)
        try:
            yield start
        finally:
            self.reads.remove(start)

    def is_over(self, key: int, shown: int) -> bool:
        """Whether rows that show the generation `shown` may still show a message as open that has ended, or that its
        operator did not deliver."""
        return self.ended.get(key, 0) > shown

    def forget_earlier(self, key: int, connectors: Collection[int]) -> None:
        """Forgets a message's track at one of these connectors, which the message has left. Another node may have given
        it to the next connector."""
        track = self.tracks.get(key)
        if track is not None and track.connector in connectors:
            del self.tracks[key]
            self.drop_entries(track)

    # --- in

    def track(self, message: Message, now: int) -> TrackedMessage:
        """Returns the track of the message; makes it at the first answer, at `now` (ms)."""
        several = message.segments > 1
        track = self.tracks.get(message.key) if several else None
        if track is None:
            track = TrackedMessage(message, {}, now, [], held=message.segments if several else 0)
            if several:
                self.tracks[message.key] = track
        return track

    def found(self, outstanding: Outstanding) -> TrackedMessage:
        """Returns the track of a message read from its rows, merged with newer facts from memory."""
        message = outstanding.message
        if outstanding.undelivered_by:  # `tried` has the present connector too until its first part is taken
            self.forget_earlier(message.key, outstanding.undelivered_by)
        track = self.tracks.get(message.key)
        if track is None:
            track = TrackedMessage(
                message, {}, self._clock.now(), [], rowed=True, taken=message.time, tried=outstanding.tried
            )
            if message.segments > 1:
                self.tracks[message.key] = track
                self._let_leave(track)
        for segment, state in outstanding.states.items():
            track.states.setdefault(segment, state)
        track.accepted = max(track.accepted, outstanding.taken)
        for connector, _ in outstanding.operator_ids:
            track.connector = connector
        return track

    def restored(self, outstanding: Outstanding) -> None:
        """Awaits a message above the mark in memory again, after a start."""
        track = self.found(outstanding)
        track.since = min(track.since, time_of(track.message.key))
        track.rowed, track.mixed = False, True
        for (connector, operator_id), segments in outstanding.operator_ids.items():
            self._enter(track, segments, connector, operator_id)

    def take(
        self, track: TrackedMessage, segments: tuple[int, ...], connector: int, operator_id: str, now: int
    ) -> None:
        """See `ReceiptMatcher.taken`."""
        key = track.message.key
        track.taken, track.connector = now, connector
        self._enter(track, segments, connector, operator_id)
        if track.rowed:
            for segment in segments:
                row = Awaiting(connector, operator_id, track.message.account, key, segment)
                self._gathering.facts.awaiting.append(row)
            track.dirty = self.generation
        elif self._needs_row(key, connector) or key <= self.mark or now - time_of(key) > KEEP_MS:
            self._give_rows(self._gathering.facts, track, self.generation)
        self.answered(track, len(segments))

    def answered(self, track: TrackedMessage, parts: int = 1) -> None:
        """Notes that so many more parts of the message have their answers."""
        if track.held:
            track.held = max(0, track.held - parts)
            if not track.held:
                self.let_go(track)

    # --- with several nodes

    def keep(self, connector: int) -> None:
        """Notes that this node has all binds of the connector: its receipts come to no other node."""
        self._own.add(connector)

    def is_own(self, connector: int) -> bool:
        """Whether the receipts of the connector come to this node only."""
        return self._worker is None or connector in self._own

    def share(self, connector: int) -> None:
        """Gives rows to all awaited parts of a connector, since its receipts may now come to other nodes. A node that
        already has such a receipt searches the rows every `RETRY_EARLY_MS`."""
        if connector not in self._own:
            return
        self._own.remove(connector)
        for entry in self.entries.get(connector, {}).values():
            if not entry.track.rowed:
                self._give_rows(self._gathering.facts, entry.track, self.generation)
        self._gathering.wake()

    def _needs_row(self, key: int, connector: int) -> bool:
        """Whether another node may have to find the part. Its receipt may come there. Or this node may die with a
        message of another node, which no mark of this node covers."""
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
        """Forgets a message that the facts being gathered end. `track` is left out if no lane has parts of it any more;
        else it stays for as long as one has: an answer to a part without a track would count as the first.
        """
        known = self.tracks.get(key) if self.tracks else None
        if known is not None and (track is None or not track.held):
            del self.tracks[key]
        track = track or known
        if track is not None:
            track.over = True
            if track.entries:
                self.drop_entries(track)
        self.ended[key] = self.generation

    def let_go(self, track: TrackedMessage) -> None:
        """Forgets a message that no lane holds: now if no receipt is awaited, else with its last receipt."""
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
