"""What is awaited in memory: the messages whose receipts are to come, and how their parts enter and leave it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile

from heliograph.app.facts import Awaiting, Facts, Message, Outstanding
from heliograph.app.marks import AWAITING
from heliograph.app.ports import Clock, Gathering
from heliograph.domain.ids import first_key_at, time_of, worker_of
from heliograph.domain.receipt import Delivery

KEEP_MS = 30_000
"""How long a part's receipt is awaited in memory; later it is found through its row. Milliseconds."""

KEEP_PARTS = 20_000
"""How many parts' receipts are awaited in memory at most, over all connectors."""


@dataclass(slots=True, eq=False)
class Track:
    """A message that awaits receipts.

    `states` holds its parts that are in a final state, by number; by its `entries` memory finds the others. `rowed`:
    all of these have rows in `awaiting`; `mixed`: some may have. `unanswered` counts the parts that the operator has
    not answered yet, `held` says that they are in a lane here. `dirty` is the latest generation of facts with one
    about it.
    """

    message: Message
    states: dict[int, tuple[Delivery, str]]
    since: int
    entries: "list[Entry]"
    rowed: bool = False
    mixed: bool = False
    unanswered: int = 0
    held: bool = False
    dirty: int = 0
    leaving: bool = False
    taken: int = 0
    """When the operator last took a part of it, or, where the rows do not say, when it was due; 0 if its receipts are
    not waited for any more."""


@dataclass(slots=True, eq=False)
class Entry:
    """What a connector's operator calls parts of a message: several of one id were taken as one, or the operator makes
    no difference between them, and a receipt is for all of them."""

    track: Track
    connector: int
    operator_id: str
    segments: tuple[int, ...]


class Awaited:
    """The tracks of messages, and by which of the operator's ids they are found.

    There are never two truths about a message of several parts: its track stays in memory while facts about it wait
    for their commit, while rows are being read that do not show them, and while a lane holds parts of it.
    """

    def __init__(self, gathering: Gathering, clock: Clock, mark: int = 0, *, worker: int | None = None) -> None:
        """`worker`: the number of this one of several nodes, the others of which must find what they need by rows.
        None: there are no others."""
        self.mark = mark
        self.entries: dict[int, dict[str, Entry]] = {}
        """By connector and operator's id."""
        self.tracks: dict[int, Track] = {}
        """Those of several parts, by key."""
        self.leaving: list[Track] = []
        self.ended: dict[int, int] = {}
        """Messages that are over and that rows may still show as open: in which generation of facts they ended."""
        self.generation = 1
        """That of the facts being gathered."""
        self.committing = 0
        self.durable = 0
        self.reads: list[int] = []
        self._gathering = gathering
        self._clock = clock
        self._worker = worker
        self._own: set[int] = set()
        """Connectors whose receipts come to no other node."""

    def __len__(self) -> int:
        """How many parts' receipts are awaited in memory."""
        return sum(map(len, self.entries.values()))

    # --- around a commit

    def prepare(self) -> None:
        """Right before a commit."""
        self.committing = self.generation
        self.generation += 1

    def spill(self, facts: Facts, now: int, last_key: int) -> None:
        """Once a second, right before a commit: what was awaited in memory for long gets its row; the mark moves on.

        Of more than memory may hold the latest leave: receipts come in the order of the answers, more or less, and
        where they lag behind by more than that, each would find that its part had just left.

        What stays without a row was taken less than KEEP_MS ago, and not more than that after its key was given
        (`take`): the mark, twice as far back, does not reach it. It never passes `last_key`, the highest key that
        was given: the clock may have been ahead of itself.
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
        """What was gathered is durable: what has its row leaves memory."""
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
        """The generation of facts up to which all that is read of the rows, or being read, shows everything."""
        return min(self.durable, *self.reads) if self.reads else self.durable

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Rows are being read: facts that are committed meanwhile may not be among them."""
        start = self.durable
        self.reads.append(start)
        try:
            yield
        finally:
            self.reads.remove(start)

    # --- in

    def track(self, message: Message) -> Track:
        """The message's track; made at its first answer."""
        several = message.segments > 1
        track = self.tracks.get(message.key) if several else None
        if track is None:
            track = Track(message, {}, self._clock.now(), [], unanswered=message.segments, held=several)
            if several:
                self.tracks[message.key] = track
        return track

    def found(self, outstanding: Outstanding) -> Track:
        """The track of a message as its rows know it; what memory knows beyond that stays."""
        message = outstanding.message
        track = self.tracks.get(message.key)
        if track is None:
            unanswered = message.segments - len(outstanding.states) - sum(map(len, outstanding.operator_ids.values()))
            track = Track(message, {}, self._clock.now(), [], rowed=True, unanswered=unanswered, taken=message.time)
            if message.segments > 1:
                self.tracks[message.key] = track
                self._let_leave(track)
        for segment, state in outstanding.states.items():
            track.states.setdefault(segment, state)
        return track

    def restored(self, outstanding: Outstanding) -> None:
        """After a start: what is above the mark is awaited in memory again."""
        track = self.found(outstanding)
        track.since = min(track.since, time_of(track.message.key))
        track.rowed, track.mixed = False, True
        for (connector, operator_id), segments in outstanding.operator_ids.items():
            self._enter(track, segments, connector, operator_id)

    def take(self, track: Track, segments: tuple[int, ...], connector: int, operator_id: str) -> None:
        """The operator took a part, or, as one, several."""
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

    def answered(self, track: Track, parts: int = 1) -> None:
        """So many of its parts more have their answers."""
        track.unanswered -= parts
        if track.unanswered <= 0 and track.held:
            track.held = False
            self.let_go(track)

    # --- where there are other nodes

    def keep(self, connector: int) -> None:
        """From now on receipts of the connector come to this node alone, which has all its binds."""
        self._own.add(connector)

    def share(self, connector: int) -> None:
        """Receipts of the connector may come to other nodes, from now on or since a moment ago: what is awaited in
        memory gets its rows. One that has come to another node already is looked for there again and again."""
        if connector not in self._own:
            return
        self._own.remove(connector)
        for entry in self.entries.get(connector, {}).values():
            if not entry.track.rowed:
                self._give_rows(self._gathering.facts, entry.track, self.generation)
        self._gathering.wake()

    def _needs_row(self, key: int, connector: int) -> bool:
        """Whether another node may have to find the part: when its receipt comes, or when this node has died, whose
        marks tell of what it accepted itself."""
        return self._worker is not None and (connector not in self._own or worker_of(key) != self._worker)

    # --- out

    def settle(self, track: Track, connector: int, operator_id: str) -> None:
        """No receipt is awaited under this id any more."""
        for entry in track.entries:
            if entry.operator_id == operator_id and entry.connector == connector:
                track.entries.remove(entry)
                del self.entries[connector][operator_id]
                return

    def end(self, key: int, track: Track | None = None) -> None:
        """The message is over, by the facts being gathered."""
        known = self.tracks.pop(key, None)
        track = track or known
        if track is not None:
            self.drop_entries(track)
        self.ended[key] = self.generation

    def let_go(self, track: Track) -> None:
        """No lane holds it any more: it leaves with its last entry, or now if it has none."""
        if not track.entries:
            self._let_leave(track)

    def drop_entries(self, track: Track) -> None:
        """It is found by no id any more."""
        for entry in track.entries:
            del self.entries[entry.connector][entry.operator_id]
        track.entries.clear()

    # --- inside

    def _let_leave(self, track: Track) -> None:
        if not track.leaving:
            track.leaving = True
            self.leaving.append(track)

    def _enter(self, track: Track, segments: tuple[int, ...], connector: int, operator_id: str) -> None:
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
        entry = entries[operator_id] = Entry(track, connector, operator_id, segments)
        track.entries.append(entry)

    def _give_rows(self, facts: Facts, track: Track, generation: int) -> None:
        """In `facts`, which are of that generation."""
        track.rowed = True
        track.dirty = generation
        account, key = track.message.account, track.message.key
        for entry in track.entries:
            facts.awaiting.extend(
                Awaiting(entry.connector, entry.operator_id, account, key, each) for each in entry.segments
            )
