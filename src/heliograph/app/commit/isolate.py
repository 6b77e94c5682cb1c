"""A commit one fact of which the store will not have: all others are recorded, and of that one what the store takes."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from itertools import chain, combinations, islice
from typing import Any

from heliograph.app.commit.divide import joined, pieces
from heliograph.app.facts import Facts
from heliograph.app.ports import Commits, Unavailable, Unfit
from heliograph.app.receipts.matcher import NO_CODE
from heliograph.domain.ids import to_hex

_STAND_INS: dict[str, Any] = {
    "operator_id": "", "destination": "", "err": NO_CODE, "code": 0, "problem": "", "body": b"",
}  # fmt: skip
"""What facts have from operators and receivers, by field, and what stands for it where it cannot be written."""

TRIES = 64
"""Choices of what to leave out of a piece that are tried before all that came from outside is."""

HALF_AN_ID = 16
"""Hexadecimal digits of a message's id that its key tells."""

Said = tuple[str, Any]
"""A field that holds what was said outside, and what that was."""


class Fate(StrEnum):
    """What became of a piece that the store would not have as it was."""

    REFUSED = "refused"
    """A request: its customer is answered 503, and nothing is charged."""
    REDUCED = "reduced"
    """Recorded, without what somebody outside said."""
    DROPPED = "dropped"


@dataclass(slots=True)
class Misfit:
    """A piece that the store would not have as it was, and why."""

    facts: Facts
    problem: str
    fate: Fate

    def shown(self) -> dict[str, Any]:
        """For the log: what it is about, and none of its values. `message` is the first half of the id."""
        held = dict(_kinds(self.facts))
        shown = {"facts": " ".join(held), "fate": str(self.fate), "problem": self.problem}
        first = next(iter(held.values()))[0]
        if "early" in held:
            return shown | {"connector": first.connector}
        if "early_matched" in held:
            return shown | {"connector": first[0]}
        account, key = first if isinstance(first, tuple) else (first.account, first.key)
        return shown | {"account": account, "message": to_hex(key, 0)[:HALF_AN_ID]}


class Apart:
    """Records the facts of one commit, by halves down to the pieces that the store will not have."""

    def __init__(self, commits: Commits, facts: Facts, noted: Callable[[Misfit], None]) -> None:
        """`noted` is told of each misfit."""
        self._commits = commits
        self._facts = facts
        self._noted = noted
        self._left: list[Facts] = []
        self._written: list[Facts] = []

    async def record(self) -> None:
        """Afterwards the facts are those that were recorded, and all requests, with their verdicts.

        Raises Unavailable: then they are those that are still to be recorded, and no request was. The store may also
        go away when all but requests is done; those that are left then stay UNAVAILABLE.
        """
        facts = self._facts
        everything = pieces(facts)
        first = len(everything) - len(facts.accepts)
        self._left, requests = everything[:first], everything[first:]
        try:
            await self._write(self._left)
            if facts.marks:
                # They say what is true of the rows, hence after these.
                await self._commits.record(Facts(marks=facts.marks))
        except Unavailable:
            self._become(self._left)
            raise
        self._become(self._written)
        with suppress(Unavailable):
            await self._write(requests)

    async def _write(self, some: list[Facts]) -> None:
        if not some:
            return
        try:
            await self._commits.record(joined(some))
        except Unfit as problem:
            if len(some) == 1:
                await self._settle(some[0], problem)
                return
            middle = len(some) // 2
            await self._write(some[:middle])
            await self._write(some[middle:])
        else:
            self._done(some, some)

    async def _settle(self, piece: Facts, problem: Unfit) -> None:
        """The one that is at fault."""
        for reduced in _reduced(piece):
            with suppress(Unfit):
                await self._commits.record(reduced)
                self._done([piece], [reduced])
                self._noted(Misfit(piece, str(problem), Fate.REDUCED))
                return
        self._done([piece], [])
        self._noted(Misfit(piece, str(problem), Fate.REFUSED if piece.accepts else Fate.DROPPED))

    def _done(self, some: list[Facts], as_written: list[Facts]) -> None:
        """They are written in their order."""
        self._left = self._left[len(some) :]
        self._written += as_written

    def _become(self, some: list[Facts]) -> None:
        """All but requests and marks."""
        whole = joined(some)
        for each in fields(Facts):
            if each.name not in ("accepts", "marks"):
                setattr(self._facts, each.name, getattr(whole, each.name))


def _reduced(piece: Facts) -> Iterator[Facts]:
    """The piece without one value that came from outside, for each of them; without two; and so on, and without any."""
    values = list(dict.fromkeys(_from_outside(piece)))
    fewer = chain.from_iterable(combinations(values, size) for size in range(1, len(values)))
    for some in (*islice(fewer, TRIES), tuple(values)) if values else ():
        reduced = Facts()
        for kind, facts in _kinds(piece):
            getattr(reduced, kind).extend(_without(fact, some) for fact in facts)
        yield reduced


def _from_outside(piece: Facts) -> Iterator[Said]:
    for _, facts in _kinds(piece):
        for fact in facts:
            for name, stand_in in _STAND_INS.items():
                value = getattr(fact, name, stand_in)
                if value != stand_in:
                    yield name, value


def _without(fact: Any, values: tuple[Said, ...]) -> Any:
    changes = {name: _STAND_INS[name] for name, value in values if getattr(fact, name, None) == value}
    return replace(fact, **changes) if changes else fact


def _kinds(piece: Facts) -> Iterator[tuple[str, list[Any]]]:
    """The facts by kind; of each that there is any of."""
    for each in fields(Facts):
        if each.name != "marks" and (facts := getattr(piece, each.name)):
            yield each.name, facts
