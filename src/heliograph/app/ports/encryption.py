"""The encryption of rows: data keys, the master key, and the port of a store with sealed rows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

MAGIC: Final = b"\xffHG\x01"
"""First octets of an envelope. The first octet never begins UTF-8, so that no text is taken for an envelope. The fourth
octet is the number of the format. Four octets with the number of the key follow."""

SWITCH_MS: Final = 15_000
"""Milliseconds from the creation of a key until rows are sealed with it. Every process reads the keys more often than
that."""

HEAD_OCTETS: Final = len(MAGIC) + 4
NONCE_OCTETS: Final = 12


class CannotOpen(Exception):
    """A sealed value cannot be opened: it was changed, moved to another row, or sealed with a key that the store does
    not have."""


class KeyRefused(Exception):
    """The keys of an encrypted store cannot be used: the master key is missing or wrong. The text is for people."""


class DataKey(Protocol):
    """A key that rows are sealed with. Safe to use from several threads."""

    number: int
    """The key's number. It is at the beginning of its envelopes."""

    def seal(self, plain: bytes, associated_data: bytes, nonce: bytes | None = None) -> bytes:
        """Returns an envelope of `plain` that opens only with the same `associated_data`, for example `message.content`
        and a key. A given `nonce` must be a keyed digest of both."""

    def open(self, sealed: bytes, associated_data: bytes) -> bytes:
        """Returns the plain value. Raises CannotOpen."""


class KeyVault(Protocol):
    """The master key. It wraps the secrets of the data keys, which are kept in the store, and seals nothing else."""

    def new_secret(self) -> bytes:
        """Returns a new secret for a data key."""

    def wrap(self, number: int, secret: bytes) -> bytes:
        """Returns an envelope of the secret of a data key, to be kept in the store."""

    def unwrap(self, number: int, wrapped: bytes) -> bytes:
        """Returns the secret of a data key. Raises KeyRefused if another master key wrapped it."""

    def data_key(self, number: int, secret: bytes) -> DataKey:
        """Returns the data key of a secret that `new_secret` made."""


@dataclass(frozen=True, slots=True)
class KeyRow:
    """A data key as the store keeps it."""

    number: int
    """From 1 on, in the order of creation."""
    wrapped: bytes
    """The envelope of the key's secret; empty if rows are plain from `since` on."""
    since: int
    """Time in ms from which on rows are sealed with the key."""


@dataclass(frozen=True, slots=True)
class Rewriting:
    """Progress of the rewrite of all rows."""

    table: str
    """The table that is being rewritten, for example `message`."""
    rows: int
    """Rows that were read so far."""


RowChange = Callable[[str, str, bytes], bytes]
"""Maps a value to its replacement. The arguments are its column (`message.content`), the key of its row, and its
octets."""

RowTest = Callable[[str, str, bytes], bool]
"""Tells whether a value is damaged, given the same arguments."""


class SealedRows(Protocol):
    """The keys of a store, and the columns with envelopes. For the store, all of them are octets."""

    async def keys(self) -> tuple[list[KeyRow], Rewriting | None]:
        """Returns the data keys, oldest first, and the progress of the rewrite; None for the progress if no rewrite
        runs."""

    async def add_key(self, make: Callable[[list[KeyRow]], KeyRow]) -> int | None:
        """Adds the key that `make` makes from the present keys, and starts a rewrite of all rows. Returns its number;
        None if another process added a key of this number at the same time."""

    async def rewrap(self, change: Callable[[int, bytes], bytes]) -> int:
        """Replaces the wrapped secret of each key, given its number and the envelope; returns how many there are."""

    async def rewrite(self, change: RowChange, newest: int, now: int, limit: int) -> bool:
        """Changes the next `limit` rows, once the key `newest` has been in use for SETTLE_MS. Returns whether more may
        be left. Changes nothing if the store has a newer key."""

    async def find(self, is_damaged: RowTest, most: int) -> list[tuple[str, str]]:
        """Reads all columns with envelopes. Returns column and row of up to `most` damaged values, for example
        `("message.content", "019e2b1c5f3a70008c1de1f5a0b7c3d2")`. A row of a message is named by the message's id."""

    async def count(self) -> int:
        """Returns the number of rows of the largest tables. Takes seconds on a large store."""


SETTLE_MS: Final = 15_000
"""Milliseconds from the first use of a key until older rows are rewritten. By then every process seals with the new
key."""


@dataclass(frozen=True, slots=True)
class EncryptionState:
    """The keys of a store, and how far its rows are sealed with the newest key."""

    encrypted: bool
    """Whether new rows are sealed, or will be from `since` on."""
    keys: int
    newest: int
    """Number of the newest key, 0 for none."""
    since: int
    """Time in ms from which on rows are sealed with it."""
    table: str | None
    """The table that is being rewritten; None when all rows are sealed with the newest key."""
    sealed: int | None
    """Rows that were rewritten so far."""
    rows: int
    """Rows of the largest tables."""


MOST_NOTED: Final = 1_000
"""Most values that UnreadableValues notes, so that a store of which nothing opens does not fill the memory."""


class UnreadableValues:
    """The values that this process could not read, each once: sealed values that do not open, and JSON that is none.
    They were changed, or moved to another row. Safe to use from several threads."""

    def __init__(self) -> None:
        self._noted: set[tuple[str, str]] = set()
        self._fresh: list[tuple[str, str]] = []

    def __len__(self) -> int:
        return len(self._noted)

    def note(self, column: str, row: str, shown: str = "") -> None:
        """Notes a value by its column, for example `message.content`, and the name of its row in envelopes. `shown`:
        the name of the row for people, such as the id of a message."""
        if (column, row) not in self._noted and len(self._noted) < MOST_NOTED:
            self._noted.add((column, row))
            self._fresh.append((column, shown or row))

    def take_fresh(self) -> list[tuple[str, str]]:
        """Returns column and shown row of the values that were noted since the last call."""
        fresh = self._fresh[:]
        del self._fresh[: len(fresh)]
        return fresh


class Encryption(Protocol):
    """The encryption of a store that was opened with its master key, or without one."""

    unreadable: UnreadableValues
    """The values that could not be read. Their messages are handed out without text (`Message.is_unreadable`)."""

    async def refresh(self, now: int) -> bool:
        """Reads the keys of the store; returns whether rows are sealed now. Raises KeyRefused, Unavailable."""

    async def begin(self, now: int, *, plain: bool = False, delay: int = SWITCH_MS) -> int:
        """Makes a new key and starts a rewrite of all rows. New rows are sealed with the key `delay` ms later, or
        written `plain`. Returns the key's number. Raises KeyRefused."""

    async def rewrap(self, vault: KeyVault) -> int:
        """Wraps the keys by another master key; returns how many there are. Raises KeyRefused."""

    async def advance(self, now: int, limit: int) -> bool:
        """Rewrites up to `limit` rows; returns whether more may be left."""

    async def damage(self) -> list[str]:
        """Reads all sealed values. Returns a sentence for each value that cannot be opened, at most MOST_NOTED."""

    async def state(self) -> EncryptionState:
        """Returns the keys and the progress of the rewrite. Counts rows, which takes seconds on a large store."""
