"""Bisection of a commit that the store rejected, so that a single bad fact does not cost the other facts.

    facts of the commit, in pieces: each message, each receipt without a message, each request  (`commit.pieces`)
                    |
                    v  _write: one half, then the other, down to a single piece
    accepted: recorded          rejected, several pieces: both halves again
                                rejected, a single piece (`_settle`):
                                    recorded without values from outside, fewest first  -> REDUCED
                                    a request                                           -> REFUSED, answered 503
                                    else                                                -> DROPPED, and logged

What can go wrong: the store goes away in between. Pieces recorded so far stay recorded; the others are tried again.
For example, an operator's id of 300 invalid octets costs that id, and not the 79 other parts of the commit.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from itertools import chain, combinations, islice
from typing import Any

from heliograph.app.commit.pieces import joined, pieces
from heliograph.app.facts import Facts
from heliograph.app.ports import Commits, StoreRejected, Unavailable
from heliograph.domain.message.ids import to_hex
from heliograph.domain.message.receipt import NO_CODE

_STAND_INS: dict[str, Any] = {
    "operator_id": "", "destination": "", "err": NO_CODE, "code": 0, "problem": "", "body": b"",
    "sender": "", "recipient": "", "content": "", "octets": b"", "keyword": "",
}  # fmt: skip
"""Fields with values from operators and receivers, and the values that replace unwritable values."""

TRIES = 64
"""Combinations of outside values that are left out of a piece before all of them are: each costs a commit."""

HALF_AN_ID = 16
"""Hexadecimal digits of a message's id that are derived from its key."""

OutsideValue = tuple[str, Any]
"""A field with a value from outside, and the value. For example `("err", "0x8F")`."""


class PieceFate(StrEnum):
    """The fate of a piece that the store refused."""

    REFUSED = "refused"
    """The piece was a request: its customer is answered 503, and nothing is charged."""
    REDUCED = "reduced"
    """The piece was recorded without some value from outside."""
    DROPPED = "dropped"


@dataclass(slots=True)
class RejectedPiece:
    """A piece that the store rejected, and the reason."""

    facts: Facts
    problem: str
    fate: PieceFate

    def shown(self) -> dict[str, Any]:
        """Returns fields for the log: the subject of the piece, without its values. `message` is half an id."""
        held = dict(_kinds(self.facts))
        shown = {"facts": " ".join(held), "fate": str(self.fate), "problem": self.problem}
        first = next(iter(held.values()))[0]
        if "early" in held:
            return shown | {"connector": first.connector}
        if "early_matched" in held:
            return shown | {"connector": first[0]}
        if "inbound_parts" in held:
            return shown | {"connector": first.parts_of.connector}
        if isinstance(first, int):
            return shown | {"message": to_hex(first, 0)[:HALF_AN_ID]}
        account, key = first if isinstance(first, tuple) else (first.account, first.key)
        return shown | {"account": account, "message": to_hex(key, 0)[:HALF_AN_ID]}


class Bisection:
    """Records the facts of a commit by halves, down to the pieces that the store rejects."""

    def __init__(self, commits: Commits, facts: Facts, noted: Callable[[RejectedPiece], None]) -> None:
        """`noted` is called with each rejected piece."""
        self._commits = commits
        self._facts = facts
        self._noted = noted
        self._left: list[Facts] = []
        self._written: list[Facts] = []

    async def record(self) -> None:
        """Records the facts, and reduces `facts` to the recorded facts and all requests, with their verdicts.

        Raises Unavailable; `facts` then are the facts still to be recorded, and no request was recorded. If the store
        goes away when only requests are left, these stay UNAVAILABLE.
        """
        facts = self._facts
        everything = pieces(facts)
        first = len(everything) - len(facts.accepts)
        self._left, requests = everything[:first], everything[first:]
        try:
            await self._write(self._left)
            if facts.marks:
                # Marks describe the rows, so they are written after them.
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
        except StoreRejected as problem:
            if len(some) == 1:
                await self._settle(some[0], problem)
                return
            middle = len(some) // 2
            await self._write(some[:middle])
            await self._write(some[middle:])
        else:
            self._done(some, some)

    async def _settle(self, piece: Facts, problem: StoreRejected) -> None:
        """Records as much of a rejected piece as the store takes."""
        for reduced in _reduced(piece):
            with suppress(StoreRejected):
                await self._commits.record(reduced)
                self._done([piece], [reduced])
                self._noted(RejectedPiece(piece, str(problem), PieceFate.REDUCED))
                return
        self._done([piece], [])
        self._noted(RejectedPiece(piece, str(problem), PieceFate.REFUSED if piece.accepts else PieceFate.DROPPED))

    def _done(self, some: list[Facts], as_written: list[Facts]) -> None:
        """Moves the first pieces from `_left` to `_written`."""
        self._left = self._left[len(some) :]
        self._written += as_written

    def _become(self, some: list[Facts]) -> None:
        """Replaces all facts but requests and marks by the facts of the pieces."""
        whole = joined(some)
        for each in fields(Facts):
            if each.name not in ("accepts", "marks"):
                setattr(self._facts, each.name, getattr(whole, each.name))


def _reduced(piece: Facts) -> Iterator[Facts]:
    """Yields the piece without a single value from outside, then without two, and so on; last without all."""
    values = list(dict.fromkeys(_from_outside(piece)))
    fewer = chain.from_iterable(combinations(values, size) for size in range(1, len(values)))
    for some in (*islice(fewer, TRIES), tuple(values)) if values else ():
        reduced = Facts()
        for kind, facts in _kinds(piece):
            getattr(reduced, kind).extend(_without(fact, some) for fact in facts)
        yield reduced


def _from_outside(piece: Facts) -> Iterator[OutsideValue]:
    for _, facts in _kinds(piece):
        for fact in facts:
            for name, stand_in in _STAND_INS.items():
                value = getattr(fact, name, stand_in)
                if value != stand_in:
                    yield name, value


def _without(fact: Any, values: tuple[OutsideValue, ...]) -> Any:
    changes = {name: _STAND_INS[name] for name, value in values if getattr(fact, name, None) == value}
    return replace(fact, **changes) if changes else fact


def _kinds(piece: Facts) -> Iterator[tuple[str, list[Any]]]:
    """Yields the kinds of facts in the piece, each with its facts."""
    for each in fields(Facts):
        if each.name != "marks" and (facts := getattr(piece, each.name)):
            yield each.name, facts
