"""A disk that loses power: its possible contents then, by the calls of programs up to that moment.

Synced data is there. Of later writes any part may be there: writes reach the disk in any order, a sector at a time, and
a file's length is the length after any of them. Parts of a file that were never written are zeros, or old data of the
disk.

Names follow either of two rules, and programs must survive both. `Rule.POSIX`: a created, removed or changed name is
certain once its directory was synced. Later changes may be on the disk in any combination. `Rule.JOURNAL`, as in ext4
and XFS: changes reach the disk in their order, and each sync of any file includes all earlier changes.
"""

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TypeAlias, assert_never

from tests.support.power.recorder import Entry, Kind

SECTOR = 512
"""Octets that are written whole or not at all."""


class Rule(Enum):
    POSIX = "posix"
    JOURNAL = "journal"


class Fate(Enum):
    """The fate of writes that were not synced."""

    LOST = "lost"
    KEPT = "kept"
    PREFIX = "prefix"
    """The first few writes, the last of them in part."""
    SOME = "some"
    """Each write as a whole, or not."""
    TORN = "torn"
    """Each sector as it was at any time since the sync."""


@dataclass(frozen=True, slots=True)
class _Write:
    number: int
    """Of the log's entry."""
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class _Truncate:
    number: int
    size: int


_Change: TypeAlias = _Write | _Truncate


@dataclass(eq=False)
class _File:
    synced: bytearray = field(default_factory=bytearray)
    pending: list[_Change] = field(default_factory=list)

    def sync(self, before: int) -> None:
        """Writes before that entry of the log are on disk."""
        done = 0
        for change in self.pending:
            if change.number >= before:
                break
            _apply(self.synced, change)
            done += 1
        del self.pending[:done]

    def image(self, fate: Fate, chance: random.Random) -> bytes:
        chosen: Sequence[_Change]
        match fate:
            case Fate.KEPT:
                chosen = self.pending
            case Fate.LOST:
                chosen = ()
            case Fate.PREFIX:
                chosen = self.pending[: chance.randint(0, len(self.pending))]
                if chosen and isinstance(last := chosen[-1], _Write):
                    kept = chance.randint(0, len(last.data)) // SECTOR * SECTOR
                    chosen = [*chosen[:-1], _Write(last.number, last.offset, last.data[:kept])]
            case Fate.SOME:
                share = chance.random()
                chosen = [change for change in self.pending if chance.random() < share]
            case Fate.TORN:
                return bytes(self._torn(chance))
            case _:
                assert_never(fate)
        content = bytearray(self.synced)
        filler = chance if chance.random() < 0.25 else None
        for change in chosen:
            _apply(content, change, filler)
        return bytes(content)

    def _torn(self, chance: random.Random) -> bytearray:
        sizes = [len(self.synced)]
        pieces: dict[int, list[tuple[int, bytes]]] = defaultdict(list)
        for change in self.pending:
            if isinstance(change, _Truncate):
                # the rest is zeros if the file grows again
                for at, end in _sectors(change.size, sizes[-1]):
                    pieces[at // SECTOR].append((at, bytes(end - at)))
                sizes.append(change.size)
            else:
                start, stop = change.offset, change.offset + len(change.data)
                for at, end in _sectors(start, stop):
                    pieces[at // SECTOR].append((at, change.data[at - start : end - start]))
                sizes.append(max(sizes[-1], stop))
        content = bytearray(self.synced)
        _grow(content, max(sizes), chance if chance.random() < 0.25 else None)
        share = chance.random()
        for writes in pieces.values():
            kept = len(writes) if chance.random() < share else chance.randint(0, len(writes))
            for at, data in writes[:kept]:
                content[at : at + len(data)] = data
        size = sizes[-1] if chance.random() < 0.5 else chance.choice(sizes)
        del content[size:]
        return content


def _sectors(start: int, stop: int) -> Iterator[tuple[int, int]]:
    """The parts of the sectors that lie between the two."""
    while start < stop:
        end = min(stop, start // SECTOR * SECTOR + SECTOR)
        yield start, end
        start = end


def _grow(content: bytearray, size: int, filler: random.Random | None) -> None:
    """With zeros, or with noise in whole sectors."""
    start = len(content)
    if size > start:
        content.extend(bytes(size - start))
        if filler is not None:
            whole = -(-start // SECTOR) * SECTOR
            content[whole:] = filler.randbytes(max(0, size - whole))


def _apply(content: bytearray, change: _Change, filler: random.Random | None = None) -> None:
    if isinstance(change, _Truncate):
        del content[change.size :]
        _grow(content, change.size, None)
        return
    _grow(content, change.offset, filler)
    content[change.offset : change.offset + len(change.data)] = change.data


@dataclass(frozen=True, slots=True)
class _Naming:
    """A change of names. A file, or None for a directory. `old`: its previous name if it is renamed. `new` None: the
    name is removed."""

    number: int
    old: str
    new: str
    what: _File | None

    @property
    def folder(self) -> str:
        return (self.new or self.old).rpartition("/")[0]


_Names: TypeAlias = dict[str, _File | None]
"""By path; None is a directory."""


def _rename(names: _Names, change: _Naming) -> None:
    if change.old and (not change.new or names.get(change.old) is change.what):
        names.pop(change.old, None)
    if change.new:
        names[change.new] = change.what


class Disk:
    """Reads a log. `before`: the files below `root` at the start, by relative path, all durable. None: there was no
    root."""

    def __init__(self, root: Path, entries: Sequence[Entry], before: Mapping[str, bytes] | None = None) -> None:
        self._root = str(root.parent.resolve() / root.name)
        self._entries = entries
        self._at = 0
        self._inodes: dict[int, _File] = {}
        self._syncs: dict[int, tuple[int, Entry]] = {}
        self._now: _Names = {}
        if before is not None:
            self._now[self._root] = None
            for name, content in before.items():
                above = [f"{self._root}/{each}" for each in Path(name).parents]
                self._now.update(dict.fromkeys(above[:-1]))
                self._now[f"{self._root}/{name}"] = _File(bytearray(content))
        self._names = {rule: dict(self._now) for rule in Rule}
        self._pending: dict[Rule, list[_Naming]] = {rule: [] for rule in Rule}

    def advance(self, cut: int) -> None:
        """On to where the first `cut` entries of the log have happened; never back."""
        assert cut >= self._at
        for number in range(self._at, cut):
            self._take(number, self._entries[number])
        self._at = cut

    def live(self) -> dict[str, bytes]:
        """The files that programs see now, by path from the root. Contents of a -shm are unknown."""
        files = ((path, file) for path, file in self._now.items() if file is not None)
        return {self._below(path): file.image(Fate.KEPT, random.Random(0)) for path, file in files}

    def write(self, target: Path, seed: int, *, fate: Fate | None = None, rule: Rule | None = None) -> None:
        """Writes the contents of the root after a power loss now to `target`, which must not exist. That may be
        nothing. All chance comes from the seed; `fate` and `rule` fix a choice."""
        chance = random.Random(seed)
        rule = chance.choice(list(Rule)) if rule is None else rule
        fate = chance.choice([*Fate, Fate.TORN]) if fate is None else fate
        names = self._surviving(rule, fate, chance)
        if self._root not in names:
            return
        target.mkdir(mode=0o700)
        for path in sorted(names):
            if path == self._root or not self._stands(path, names):
                continue
            file, place = names[path], target / self._below(path)
            if file is None:
                place.mkdir(mode=0o700)
                continue
            content = file.image(fate, chance)
            if path.endswith("-shm") and chance.random() < 0.5:
                content = chance.randbytes(len(content))
            place.write_bytes(content)

    # --- inside

    def _below(self, path: str) -> str:
        return path[len(self._root) + 1 :]

    def _stands(self, path: str, names: _Names) -> bool:
        """Whether all directories above it are there."""
        while path != self._root:
            path = path.rpartition("/")[0]
            if names.get(path, path) is not None:
                return False
        return True

    def _surviving(self, rule: Rule, fate: Fate, chance: random.Random) -> _Names:
        names, pending = dict(self._names[rule]), self._pending[rule]
        match fate:
            case Fate.LOST:
                chosen: Sequence[_Naming] = ()
            case Fate.KEPT:
                chosen = pending
            case _ if rule is Rule.JOURNAL or fate is Fate.PREFIX:
                chosen = pending[: chance.randint(0, len(pending))]
            case _:
                chosen = [change for change in pending if chance.random() < 0.5]
        for change in chosen:
            _rename(names, change)
        return names

    def _take(self, number: int, entry: Entry) -> None:
        match entry.kind:
            case Kind.OPEN:
                if entry.argument:
                    self._name(_Naming(number, "", entry.path, _File()))
                file = self._now.get(entry.path)
                if file is not None:
                    self._inodes[entry.inode] = file
            case Kind.WRITE:
                self._inodes[entry.inode].pending.append(_Write(number, entry.argument, entry.data))
            case Kind.TRUNCATE:
                self._inodes[entry.inode].pending.append(_Truncate(number, entry.argument))
            case Kind.SYNC:
                self._syncs[entry.argument] = (number, entry)
            case Kind.SYNCED:
                self._sync(*self._syncs.pop(entry.argument))
            case Kind.UNLINK:
                if entry.path in self._now:  # sockets are not ours to follow
                    self._name(_Naming(number, entry.path, "", self._now[entry.path]))
            case Kind.RENAME:
                old, _, new = entry.path.partition("\0")
                assert self._now[old] is not None, "directories are not renamed"
                self._name(_Naming(number, old, new, self._now[old]))
            case Kind.MKDIR:
                self._name(_Naming(number, "", entry.path, None))
            case Kind.UNKNOWN:
                raise AssertionError(f"the recorder cannot follow {entry.path}")

    def _name(self, change: _Naming) -> None:
        _rename(self._now, change)
        for pending in self._pending.values():
            pending.append(change)

    def _sync(self, number: int, entry: Entry) -> None:
        if entry.inode:
            self._inodes[entry.inode].sync(number)
        else:
            self._settle(Rule.POSIX, number, entry.path)
        self._settle(Rule.JOURNAL, number, None)

    def _settle(self, rule: Rule, before: int, folder: str | None) -> None:
        left = []
        for change in self._pending[rule]:
            if change.number < before and folder in (None, change.folder):
                _rename(self._names[rule], change)
            else:
                left.append(change)
        self._pending[rule] = left


def contents(folder: Path) -> dict[str, bytes]:
    """The files below a folder, by path from there."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
