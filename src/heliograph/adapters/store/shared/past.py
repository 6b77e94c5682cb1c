"""`app.ports.Past`: marks of data directories, and accepted losses."""

from heliograph.adapters.store.shared.steps import Operations, Q, Steps, first, write
from heliograph.app.ports import PastGuard
from heliograph.domain.past import KEPT_MS, FoundPast, KnownPast, PastState, compare


class StoredPast(Operations):
    """The part that all engines share. Each finds the past in its own way, even while the guard refuses the store."""

    @write
    def move(self, known: KnownPast, now: int) -> Steps[FoundPast]:
        found = yield from find_past(known)
        if compare(known, found, now) is PastState.WHOLE:
            yield Q.move_past_mark(directory=known.directory, at=now, timeline=found.timeline)
            if not found.moves:
                yield Q.forget_past_marks(before=now - KEPT_MS)
        return found

    @write
    def accept(self, fork: int, now: int) -> Steps[None]:
        yield Q.add_fork(id=fork, at=now)


def find_past(known: KnownPast) -> Steps[FoundPast]:
    moves, at = (yield from first(Q.past_mark(directory=known.directory))) or (0, 0)
    forks = yield Q.forks()
    (timeline,) = (yield from first(Q.timeline())) or (0,)
    (commits,) = (yield from first(Q.counted_commits(writer=known.writer))) or (None,)
    return FoundPast(moves, at, timeline, tuple(fork for (fork,) in forks), commits)


def nudge_mark(guard: PastGuard) -> Steps[None]:
    """Moves the mark on for a new connection that commits: an older copy of the database lacks the row by which its
    commits are counted. The first mark is made by `Past.move`."""
    moved = yield from first(Q.nudge_past_mark(directory=guard.known.directory))
    if moved is not None:
        guard.note_move(moved[0])
