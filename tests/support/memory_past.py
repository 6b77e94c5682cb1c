"""The marks of data directories in the in-memory store."""

from heliograph.domain.past import FoundPast, KnownPast, PastState, compare
from tests.support.memory_rows import MemoryPart


class MemoryPast(MemoryPart):
    """`app.ports.Past`."""

    async def move(self, known: KnownPast, now: int) -> FoundPast:
        rows = self._open()
        found = await self.find(known)
        if compare(known, found, now) is PastState.WHOLE:
            rows.past_marks[known.directory] = (found.moves + 1, now)
        return found

    async def find(self, known: KnownPast) -> FoundPast:
        rows = self._open()
        moves, at = rows.past_marks.get(known.directory, (0, 0))
        return FoundPast(moves, at, 0, tuple(rows.forks), rows.commits.get(known.writer))

    async def accept(self, fork: int, now: int) -> None:
        self._open().forks.append(fork)
