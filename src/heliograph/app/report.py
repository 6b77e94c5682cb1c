"""Receipts: from the operator's id to the message, from its parts' states to its final one."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice, takewhile

from heliograph.app.facts import Awaiting, EarlyReceipt, Facts, Final, Message, Outstanding, PartReceipt
from heliograph.app.marks import AWAITING
from heliograph.app.ports import Clock, Gathering, Leases, Report, Store, Unavailable
from heliograph.domain.ids import first_key_at, time_of
from heliograph.domain.operator_id import variants
from heliograph.domain.receipt import Delivery, is_final, worst

KEEP_MS = 30_000
"""How long a part's receipt is awaited in memory; later it is found through its row. Milliseconds."""

KEEP_PARTS = 50_000
"""How many parts' receipts are awaited in memory at most, over all connectors."""

KEEP_EARLY = 20_000
"""How many early receipts are kept in memory, the latest; older ones only have their rows."""

REMEMBER_FINISHED = 10_000
"""How many finished operator ids a connector remembers, so that a repeated receipt is known for what it is."""

OTHER_NAMES = 10_000
"""How many further names of parts that were taken twice are remembered, the latest."""

RETRY_EARLY_MS = 250
"""Milliseconds between two looks for the messages of early receipts among the rows, where nodes share a store."""

OTHER_PARTS_MS = 1_000
"""How long the other parts of a message are waited for here before the rows are asked whether other nodes had them."""

OTHER_PARTS = 100
"""Messages that are looked for so at once."""

GATHERED = 20_000
"""Ends of parts that are looked at in one step, to find messages that nobody has ended."""

GATHERED_AFTER_MS = 5_000
"""Such a message is taken up so long after its last part ended: until then a node that lives is about to."""

FRESH_EARLY_MS = 10_000
"""How long a receipt is looked for that often; the message of one that came to another node has its row by then."""

NO_CODE = "001"
"""The error code of a final state that no operator gave."""

Acknowledge = Callable[[bool], None]


@dataclass(slots=True, eq=False)
class Track:
    """A message that awaits receipts.

    `states` holds its parts that are in a final state, by number; `entries` the operator's ids, with connector, by
    which memory finds the others, with their numbers: several of one id were taken as one, or the operator makes no
    difference between them, and a receipt is for all of them. `rowed`: all of these have rows in `awaiting`;
    `mixed`: some may have. `unanswered` counts the parts that the operator has not answered yet, `held` says that they
    are in a lane here. `dirty` is the latest generation of facts with one about it.
    """

    message: Message
    states: dict[int, tuple[Delivery, str]]
    since: int
    entries: dict[tuple[int, str], tuple[int, ...]]
    rowed: bool = False
    mixed: bool = False
    unanswered: int = 0
    held: bool = False
    dirty: int = 0
    leaving: bool = False
    taken: int = 0
    """When the operator last took a part of it, or, where the rows do not say, when it was due; 0 if its receipts are
    not waited for any more."""


class Reporter:
    """Matches receipts with messages and brings messages to their final state.

    A receipt is looked for in memory first, then (`look_up`) among the rows, then it is kept as early: its message
    may still be on its way back with the operator's answer. It is acknowledged after the commit that keeps it.

    There are never two truths about a message of several parts: its track stays in memory while facts about it wait
    for their commit, while rows are being read that do not show them, and while a lane holds parts of it.
    """

    def __init__(
        self,
        gathering: Gathering,
        clock: Clock,
        finish: Callable[[Message, Final], None],
        mark: int = 0,
        *,
        shared: bool = False,
    ) -> None:
        """`finish` is told of every final, in the facts that hold it. `shared`: receipts may come to other nodes, and
        theirs to this one, so that parts have their rows from the start and rows are looked at again."""
        self._gathering = gathering
        self._clock = clock
        self._finish = finish
        self._shared = shared
        self._partial: dict[int, tuple[int, int]] = {}
        """Messages of several parts some of which are over: in which generation of facts, and when, one last was."""
        self._looked = 0
        """How far `find_gathered` has come among the rows; 0 at their end."""
        self._retried_at = 0
        self.mark = mark
        self._entries: dict[int, dict[str, tuple[Track, tuple[int, ...]]]] = {}
        self._tracks: dict[int, Track] = {}
        self._leaving: list[Track] = []
        self._ended: dict[int, int] = {}
        self._early: dict[tuple[int, str], EarlyReceipt] = {}
        self._finished: dict[int, dict[str, str]] = {}
        self._also: dict[tuple[int, str], tuple[str, str]] = {}
        self._acknowledge: list[Acknowledge] = []
        self._acknowledge_next: list[Acknowledge] = []
        self._misses: list[tuple[int, Report, Acknowledge]] = []
        self._generation = 1
        self._committing = 0
        self._durable = 0
        self._reads: list[int] = []
        self.matched = 0
        """Receipts that found their message as they came, those of progress too."""
        self.repeated = 0
        """Receipts of parts that were in their final state already."""

    # --- what the operator answered

    def taken(self, message: Message, segments: tuple[int, ...], connector: int, operator_id: str) -> None:
        """The operator took a part whose receipt is wanted; or, as one, several."""
        key = message.key
        track = self._track(message)
        track.taken = self._clock.now()
        self._enter(track, segments, connector, operator_id)
        if track.rowed:
            awaiting = self._gathering.facts.awaiting
            awaiting.extend(Awaiting(connector, operator_id, key, segment) for segment in segments)
            track.dirty = self._generation
        elif self._shared or key <= self.mark or self._clock.now() - time_of(key) > KEEP_MS:
            self._give_rows(self._gathering.facts, track, self._generation)
        self._answered(track, len(segments))
        if self._early:
            self._match_early(track, connector, operator_id)

    def part_over(self, message: Message, segment: int, state: Delivery, err: str) -> None:
        """A part whose receipt was wanted came to its end without one: refused, too late, or never answered."""
        track = self._track(message)
        self._end(track, segment, state, err)
        self._answered(track)

    def forget(self, key: int) -> None:
        """The message failed as a whole."""
        track = self._tracks.pop(key, None)
        if track is not None:
            self._drop_entries(track)
        self._ended[key] = self._generation

    async def load(self, store: Store, message: Message) -> bool:
        """Must be called before a lane takes up a message of several parts some of which have their answers.

        False if the message is over, and nothing of it is to be sent. Raises Unavailable.
        """
        track = self._tracks.get(message.key)
        if track is None:
            with self._reading():
                outstanding = await store.outstanding(message.key)
            if outstanding is None or message.key in self._ended:
                return False
            track = self._found(outstanding)
        track.held = True
        return True

    def leave(self, key: int) -> None:
        """The lane gives up a message before all its parts are answered: it is the queue's again."""
        track = self._tracks.get(key)
        if track is not None:
            track.held = False
            self._let_go(track)

    # --- after a start

    def restore(self, outstanding: Outstanding) -> None:
        """Takes up again what is above the mark."""
        track = self._found(outstanding)
        track.since = min(track.since, time_of(track.message.key))
        track.rowed, track.mixed = False, True
        for (connector, operator_id), segments in outstanding.operator_ids.items():
            self._enter(track, segments, connector, operator_id)

    def restore_early(self, early: EarlyReceipt) -> None:
        """Takes up again a receipt that waits for its message."""
        if not is_final(early.state):
            return
        report = Report(early.operator_id, early.destination, early.state, True, early.err)
        if self._apply(early.connector, report):
            self._gathering.facts.early_matched.append((early.connector, early.operator_id))
        else:
            self._remember_early(early)

    # --- what came back

    def on_report(self, connector: int, report: Report, acknowledge: Acknowledge) -> None:
        """A receipt arrived."""
        found = self._apply(connector, report) or self._is_repeat(connector, report)
        if not found and self._also:
            report = self._by_first_name(connector, report)
            found = self._apply(connector, report) or self._is_repeat(connector, report)
        if found:
            self._acknowledge_next.append(acknowledge)
            self._gathering.wake()
        else:
            self._misses.append((connector, report, acknowledge))
            self._gathering.stir()

    def also(self, connector: int, operator_id: str, other: str, destination: str) -> None:
        """Another name of the part that the operator calls `other`: it was sent twice, and taken twice. A receipt by
        either name is that part's, and the first one counts. Forgotten by a restart."""
        if not other or operator_id == other:
            return
        self._also[connector, operator_id] = (other, destination)
        if len(self._also) > OTHER_NAMES:
            del self._also[next(iter(self._also))]
        for form in _forms(operator_id):
            early = self._early.get((connector, form))
            if early is not None and (form == operator_id or early.destination):
                if not _agrees(early.destination, destination):
                    continue
                self.discard(early)
                self.on_report(connector, Report(other, early.destination, early.state, True, early.err), _unheard)
                return

    def unmatched(self) -> list[EarlyReceipt]:
        """The receipts that wait for their message, oldest first."""
        return list(self._early.values())

    def discard(self, early: EarlyReceipt) -> None:
        """What the receipt tells is known."""
        name = (early.connector, early.operator_id)
        if self._early.pop(name, None) is not None:
            self.repeated += 1
            self._gathering.facts.early_matched.append(name)
            self._gathering.wake()

    @property
    def has_work(self) -> bool:
        """Whether `look_up` has something to do."""
        return bool(self._misses)

    async def look_up(self, store: Store) -> None:
        """Looks for the receipts that memory did not know among the rows; what is not there either is kept as early.

        Those that cannot be looked for, since the store is unavailable, are told so and come again.
        """
        misses, self._misses = self._misses, []
        by_connector: dict[int, list[tuple[Report, Acknowledge]]] = {}
        for connector, report, acknowledge in misses:
            by_connector.setdefault(connector, []).append((report, acknowledge))
        try:
            while by_connector:
                connector = next(iter(by_connector))
                ids = {form for report, _ in by_connector[connector] for form in _forms(report.operator_id)}
                with self._reading():
                    try:
                        found = await store.find_outstanding(connector, sorted(ids))
                    except Unavailable:
                        for _, acknowledge in by_connector.pop(connector):
                            acknowledge(False)
                    else:
                        self._sort_out(connector, by_connector.pop(connector), found)
        finally:
            self._misses += [(connector, *each) for connector, rest in by_connector.items() for each in rest]
            self._gathering.wake()

    async def look_again(self, store: Store) -> None:
        """What other nodes wrote meanwhile may be what was missing: the other parts of a message, or the message of a
        receipt that came too early. Raises Unavailable."""
        now = self._clock.now()
        ripe = (
            key
            for key, (generation, at) in self._partial.items()
            if generation <= self._durable and not 0 <= now - at < OTHER_PARTS_MS
        )
        for key in list(islice(ripe, OTHER_PARTS)):
            waiting = self._partial.pop(key, None)
            if waiting is None:
                continue
            try:
                with self._reading():
                    outstanding = await store.outstanding(key)
            except Unavailable:
                self._partial.setdefault(key, waiting)
                raise
            if outstanding is None or key in self._ended:
                continue
            track = self._found(outstanding)
            if len(track.states) == track.message.segments:
                self._complete(track)
                self._gathering.wake()
        if self._shared and self._early and not 0 <= now - self._retried_at < RETRY_EARLY_MS:
            self._retried_at = now
            await self.reconsider(store, [each for each in self._early.values() if now - each.at < FRESH_EARLY_MS])

    async def reconsider(self, store: Store, early: Iterable[EarlyReceipt]) -> None:
        """Looks among the rows for the messages of receipts that are kept as early. Raises Unavailable."""
        by_connector: dict[int, list[EarlyReceipt]] = {}
        for each in early:
            if is_final(each.state):
                by_connector.setdefault(each.connector, []).append(each)
        for connector, receipts in by_connector.items():
            ids = {form for each in receipts for form in _forms(each.operator_id)}
            with self._reading():
                found = await store.find_outstanding(connector, sorted(ids))
                by_id = _by_id(connector, found)
                for each in receipts:
                    report = Report(each.operator_id, each.destination, each.state, True, each.err)
                    if self._apply(connector, report) or self._apply_rows(connector, report, by_id):
                        self._early.pop((connector, each.operator_id), None)
                        self._gathering.facts.early_matched.append((connector, each.operator_id))
                        self._gathering.wake()

    async def find_gathered(self, leases: Leases, oldest: int) -> bool:
        """Takes up messages whose parts have all ended and that nobody has ended: the node that took the last receipt
        died right after. One stretch of the rows a call, from messages of the time `oldest` on; False at their end.
        Raises Unavailable."""
        after = max(self._looked, first_key_at(oldest))
        keys, self._looked = await leases.gathered(after, self._clock.now() - GATHERED_AFTER_MS, GATHERED)
        for key in keys:
            self._partial.setdefault(key, (self._durable, 0))
        return self._looked != 0

    def drop_early(self, before: int) -> None:
        """Early receipts that came before then are only looked for among their rows."""
        for name in [name for name, early in self._early.items() if early.at < before]:
            del self._early[name]

    def turn_away(self) -> None:
        """Tells the operator of receipts that nobody will look for any more to send them again."""
        misses, self._misses = self._misses, []
        for _, _, acknowledge in misses:
            acknowledge(False)

    async def give_up(self, store: Store, before: int, limit: int) -> int:
        """Ends messages accepted before `before` whose receipts never came: UNKNOWN. Returns how many were found."""
        with self._reading():
            overdue = await store.overdue(before, limit)
            for outstanding in overdue:
                if outstanding.message.key in self._ended:
                    continue
                track = self._found(outstanding)
                if track.held:
                    continue  # its last parts are about to expire
                track.taken = 0
                for (connector, operator_id), segments in outstanding.operator_ids.items():
                    self._settle(track, segments, connector, operator_id, Delivery.UNKNOWN, NO_CODE)
                # Parts whose answer nobody waits for any more.
                for segment in range(track.message.segments):
                    if segment not in track.states:
                        self._end(track, segment, Delivery.UNKNOWN, NO_CODE)
        if overdue:
            self._gathering.wake()
        return len(overdue)

    # --- around a commit

    def prepare(self) -> None:
        """Right before a commit."""
        self._committing = self._generation
        self._generation += 1
        self._acknowledge += self._acknowledge_next
        self._acknowledge_next = []

    def spill(self, facts: Facts, now: int, last_key: int) -> None:
        """Once a second, right before a commit: what was awaited in memory for long gets its row; the mark moves on.

        Of more than memory may hold the latest leave: receipts come in the order of the answers, more or less, and
        where they lag behind by more than that, each would find that its part had just left.

        What stays without a row was taken less than KEEP_MS ago, and not more than that after its key was given
        (`taken`): the mark, twice as far back, does not reach it. It never passes `last_key`, the highest key that
        was given: the clock may have been ahead of itself.
        """
        cutoff = now - KEEP_MS
        mark = max(self.mark, min(first_key_at(cutoff - KEEP_MS), last_key))
        most = KEEP_PARTS // max(1, len(self._entries))
        for entries in self._entries.values():
            for place, (track, _) in enumerate(entries.values()):
                if track.since > cutoff and place < most:
                    continue
                if not track.rowed:
                    self._give_rows(facts, track, self._committing)
                self._let_leave(track)
        if mark > self.mark:
            self.mark = facts.marks[AWAITING] = mark

    def committed(self) -> None:
        """What was gathered is durable: operators are told so, and what has its row leaves memory."""
        self._durable = self._committing
        acknowledge, self._acknowledge = self._acknowledge, []
        for each in acknowledge:
            each(True)
        seen = self._seen
        if self._leaving:
            leaving, self._leaving = self._leaving, []
            for track in leaving:
                if track.dirty > seen:
                    self._leaving.append(track)
                    continue
                track.leaving = False
                if track.rowed or not track.entries:
                    self._drop_entries(track)
                    if not track.held:
                        self._tracks.pop(track.message.key, None)
        for key in list(takewhile(lambda key: self._ended[key] <= seen, self._ended)):
            del self._ended[key]

    def awaited(self) -> int:
        """How many parts' receipts are awaited in memory."""
        return sum(map(len, self._entries.values()))

    # --- what is in memory

    @property
    def _seen(self) -> int:
        """The generation of facts up to which all that is read of the rows, or being read, shows everything."""
        return min(self._durable, *self._reads) if self._reads else self._durable

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Rows are being read: facts that are committed meanwhile may not be among them."""
        start = self._durable
        self._reads.append(start)
        try:
            yield
        finally:
            self._reads.remove(start)

    def _track(self, message: Message) -> Track:
        """The message's track; made at its first answer."""
        several = message.segments > 1
        track = self._tracks.get(message.key) if several else None
        if track is None:
            track = Track(message, {}, self._clock.now(), {}, unanswered=message.segments, held=several)
            if several:
                self._tracks[message.key] = track
        return track

    def _found(self, outstanding: Outstanding) -> Track:
        """The track of a message as its rows know it; what memory knows beyond that stays."""
        message = outstanding.message
        track = self._tracks.get(message.key)
        if track is None:
            unanswered = message.segments - len(outstanding.states) - sum(map(len, outstanding.operator_ids.values()))
            track = Track(message, {}, self._clock.now(), {}, rowed=True, unanswered=unanswered, taken=message.time)
            if message.segments > 1:
                self._tracks[message.key] = track
                self._let_leave(track)
        for segment, state in outstanding.states.items():
            track.states.setdefault(segment, state)
        return track

    def _answered(self, track: Track, parts: int = 1) -> None:
        track.unanswered -= parts
        if track.unanswered <= 0 and track.held:
            track.held = False
            self._let_go(track)

    def _let_go(self, track: Track) -> None:
        """No lane holds it any more: it leaves with its last entry, or now if it has none."""
        if not track.entries:
            self._let_leave(track)

    def _let_leave(self, track: Track) -> None:
        if not track.leaving:
            track.leaving = True
            self._leaving.append(track)

    def _enter(self, track: Track, segments: tuple[int, ...], connector: int, operator_id: str) -> None:
        entries = self._entries.setdefault(connector, {})
        other = entries.pop(operator_id, None)
        if other is not None and other[0] is track:
            segments = tuple(dict.fromkeys(other[1] + segments))
        elif other is not None:
            # The operator gave the same id again: the message that had it first is found through its row.
            if not other[0].rowed:
                self._give_rows(self._gathering.facts, other[0], self._generation)
            other[0].entries.pop((connector, operator_id), None)
            self._let_go(other[0])
        entries[operator_id] = (track, segments)
        track.entries[connector, operator_id] = segments
        finished = self._finished.get(connector)
        if finished:
            finished.pop(operator_id, None)

    def _give_rows(self, facts: Facts, track: Track, generation: int) -> None:
        """In `facts`, which are of that generation."""
        track.rowed = True
        track.dirty = generation
        for (connector, operator_id), segments in track.entries.items():
            facts.awaiting.extend(Awaiting(connector, operator_id, track.message.key, each) for each in segments)

    def _drop_entries(self, track: Track) -> None:
        for connector, operator_id in track.entries:
            entries = self._entries[connector]
            if entries[operator_id][0] is track:
                del entries[operator_id]
        track.entries.clear()

    # --- matching

    def _apply(self, connector: int, report: Report) -> bool:
        """Applies the receipt to the part in memory that it is for; False if there is none."""
        entries = self._entries.get(connector)
        if not entries:
            return False
        for form in _forms(report.operator_id):
            entry = entries.get(form)
            if entry is not None and _is_for(report, form, entry[0].message):
                self._note(entry[0], entry[1], connector, form, report)
                return True
        return False

    def _sort_out(
        self, connector: int, reports: Iterable[tuple[Report, Acknowledge]], found: Iterable[Outstanding]
    ) -> None:
        """Applies receipts to memory, as it is now, or to what was `found`; keeps the others."""
        by_id = _by_id(connector, found)
        for report, acknowledge in reports:
            if not (
                self._apply(connector, report)
                or self._apply_rows(connector, report, by_id)
                or self._is_repeat(connector, report)
            ):
                self._keep_early(connector, report)
            self._acknowledge_next.append(acknowledge)

    def _apply_rows(self, connector: int, report: Report, by_id: dict[str, list[Outstanding]]) -> bool:
        for form in _forms(report.operator_id):
            for outstanding in by_id.get(form, ()):
                message = outstanding.message
                if not _is_for(report, form, message):
                    continue
                if message.key not in self._ended:
                    track = self._found(outstanding)
                    segments = tuple(n for n in outstanding.operator_ids[connector, form] if n not in track.states)
                    if segments:
                        self._note(track, segments, connector, form, report)
                return True
        return False

    def _is_repeat(self, connector: int, report: Report) -> bool:
        finished = self._finished.get(connector)
        if not finished:
            return False
        for form in _forms(report.operator_id):
            destination = finished.get(form)
            if destination is not None and _agrees(report.destination, destination):
                repeats = form == report.operator_id or bool(report.destination)
                self.repeated += repeats
                return repeats
        return False

    def _by_first_name(self, connector: int, report: Report) -> Report:
        for form in _forms(report.operator_id):
            other = self._also.get((connector, form))
            if other is not None and (form == report.operator_id or report.destination):
                name, destination = other
                if _agrees(report.destination, destination):
                    return Report(name, report.destination, report.state, report.final, report.err)
        return report

    def _note(self, track: Track, segments: tuple[int, ...], connector: int, operator_id: str, report: Report) -> None:
        """A receipt for these parts."""
        self.matched += 1
        if report.final:
            self._settle(track, segments, connector, operator_id, report.state, report.err)
        else:
            now = self._clock.now()
            self._gathering.facts.progress.extend(
                PartReceipt(track.message.key, segment, report.state, report.err, now) for segment in segments
            )

    def _settle(
        self, track: Track, segments: tuple[int, ...], connector: int, operator_id: str, state: Delivery, err: str
    ) -> None:
        """The parts whose receipt was awaited under an id are in their final state."""
        if track.entries.pop((connector, operator_id), None) is not None:
            del self._entries[connector][operator_id]
        finished = self._finished.setdefault(connector, {})
        finished[operator_id] = track.message.destination
        if len(finished) > REMEMBER_FINISHED:
            for forgotten in list(finished)[: REMEMBER_FINISHED // 10]:
                del finished[forgotten]
        for segment in segments:
            if segment in track.states:
                continue
            if track.rowed or track.mixed:
                matched = Awaiting(connector, operator_id, track.message.key, segment)
                self._gathering.facts.awaiting_matched.append(matched)
            self._end(track, segment, state, err)

    def _end(self, track: Track, segment: int, state: Delivery, err: str) -> None:
        message = track.message
        now = self._clock.now()
        track.states[segment] = (state, err)
        track.dirty = self._generation
        if message.segments > 1:
            self._gathering.facts.parts.append(PartReceipt(message.key, segment, state, err, now))
        if len(track.states) == message.segments:
            self._complete(track)
            return
        if self._shared:
            self._partial[message.key] = self._generation, now
        if not track.held:
            self._let_go(track)

    def _complete(self, track: Track) -> None:
        """Every part is in its final state, and so is the message: in the worst of them."""
        message = track.message
        states = track.states
        if len(states) == 1:
            ((state, err),) = states.values()
        else:
            state = worst(state for state, _ in states.values())
            err = next(err for part_state, err in states.values() if part_state is state)
        self._tracks.pop(message.key, None)
        self._partial.pop(message.key, None)
        self._drop_entries(track)
        self._ended[message.key] = self._generation
        owed = message.wants_receipt and bool(message.callback_url)
        now = self._clock.now()
        final = Final(message.key, state, err, now, owed, waited=now - track.taken if track.taken else -1)
        self._gathering.facts.finals.append(final)
        self._finish(message, final)

    # --- what came too early

    def _keep_early(self, connector: int, report: Report) -> None:
        known = self._early.get((connector, report.operator_id))
        if known is not None and known.destination == report.destination:
            return  # the operator sends it again; the first one stays
        early = EarlyReceipt(
            connector, report.operator_id, report.destination, report.state, report.err, self._clock.now()
        )
        self._gathering.facts.early.append(early)
        if report.final:
            self._remember_early(early)

    def _remember_early(self, early: EarlyReceipt) -> None:
        name = (early.connector, early.operator_id)
        self._early.pop(name, None)
        self._early[name] = early
        if len(self._early) > KEEP_EARLY:
            del self._early[next(iter(self._early))]

    def _match_early(self, track: Track, connector: int, operator_id: str) -> None:
        for form in _forms(operator_id):
            early = self._early.get((connector, form))
            if early is None:
                continue
            report = Report(operator_id, early.destination, early.state, True, early.err)
            if _is_for(report, form, track.message):
                del self._early[connector, form]
                self._gathering.facts.early_matched.append((connector, form))
                segments = track.entries[connector, operator_id]
                self._settle(track, segments, connector, operator_id, early.state, early.err)
                return


def _by_id(connector: int, found: Iterable[Outstanding]) -> dict[str, list[Outstanding]]:
    """The messages by what the operator calls their parts."""
    by_id: dict[str, list[Outstanding]] = {}
    for outstanding in found:
        for of, operator_id in outstanding.operator_ids:
            if of == connector:
                by_id.setdefault(operator_id, []).append(outstanding)
    return by_id


def _unheard(kept: bool) -> None:
    """Nobody waits to be told."""


def _forms(operator_id: str) -> Iterator[str]:
    """The id as it is, and only if that leads nowhere the other ways to write it, which take ten times as long."""
    yield operator_id
    yield from variants(operator_id)


def _is_for(report: Report, form: str, message: Message) -> bool:
    """Whether a receipt is for the message that has the operator's id `form`; another form of the receipt's own is
    a guess, for which the destination must speak."""
    if form != report.operator_id and not report.destination:
        return False
    return _agrees(report.destination, message.destination)


def _agrees(reported: str, destination: str) -> bool:
    """Whether the number in a receipt is the message's: operators add or drop `+`, `00` and country codes."""
    if not reported or reported == destination:
        return True
    digits = reported.lstrip("+").lstrip("0")
    return len(digits) >= 7 and (destination.endswith(digits) or digits.endswith(destination))
