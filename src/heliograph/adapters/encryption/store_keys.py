"""The data keys of a store: read from it, made, rotated, and used to seal and open values."""

import json
from binascii import a2b_base64, b2a_base64
from hashlib import blake2b
from typing import Any, Final

from heliograph.app.ports.encryption import (
    HEAD_OCTETS,
    MAGIC,
    MOST_NOTED,
    NONCE_OCTETS,
    SWITCH_MS,
    CannotOpen,
    DataKey,
    EncryptionState,
    KeyRefused,
    KeyRow,
    KeyVault,
    SealedRows,
    UnreadableValues,
)

NO_KEY: Final = (
    "the store is encrypted, and the settings give no key: set encryption.key_file, encryption.key_command or the "
    "environment variable HELIOGRAPH_ENCRYPTION_KEY"
)

TEXTS: Final = ("message.content", "inbound.content")
"""The columns with texts, in which a damaged beginning of an envelope shows: it is no UTF-8."""

PARTS: Final = "inbound_part.octets"
"""The column in which SQL looks for repeated values."""

SETTINGS: Final = "connector.settings"
"""The column that is sealed as JSON: an object with the envelope, in base64, as its value ''."""


def shown_row(column: str, row: str) -> str:
    """Returns the name of a row for the log. That of a part has no numbers of phones, for example `part 1 of 2,
    connector 3, reference 7`."""
    if column != PARTS:
        return row
    connector, (reference, total, number) = row.split(" ", 1)[0], row.rsplit(" ", 3)[1:]
    return f"part {number} of {total}, connector {connector}, reference {reference}"


class UnknownKey(Exception):
    """A value is sealed with a data key that this process has not read yet."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Seals:
    """Seals and opens values of a store. Until a key is current, values stay as they are.

    A value belongs to a column and to a row, for example `message.content` and `12`. An envelope opens nowhere else.
    """

    def __init__(self, vault: KeyVault, unreadable: UnreadableValues) -> None:
        self.vault = vault
        self.current: DataKey | None = None
        """The key for new envelopes; None if values are written plain."""
        self.unreadable = unreadable
        self._known: dict[int, DataKey] = {}
        self._missing: set[int] = set()
        """Numbers of keys that the store did not have when they were looked for: they come from damaged envelopes."""
        self._nonce_keys: dict[int, bytes] = {}

    def learn(self, number: int, secret: bytes) -> None:
        """Makes a data key known."""
        self._known[number] = self.vault.data_key(number, secret)
        self._missing.discard(number)
        self._nonce_keys[number] = blake2b(secret, digest_size=32, person=b"nonces").digest()

    def use(self, number: int | None) -> None:
        """Seals with the key of this number from now on; None writes values plain."""
        self.current = None if number is None else self._known[number]

    def knows(self, number: int) -> bool:
        return number in self._known

    def note_missing(self, number: int) -> None:
        """Has values with a key of this number count as damaged, unless the key is known by now."""
        if number not in self._known:
            self._missing.add(number)

    def seal(self, column: str, row: str, plain: bytes) -> bytes:
        """Returns an envelope; an empty value stays empty, so that SQL can tell."""
        return plain if self.current is None or not plain else self.current.seal(plain, _associated_data(column, row))

    def seal_alike(self, column: str, row: str, plain: bytes) -> bytes:
        """Returns the same envelope for the same value each time, for columns in which SQL looks for repeated
        values."""
        current, associated_data = self.current, _associated_data(column, row)
        if current is None or not plain:
            return plain
        key = self._nonce_keys[current.number]
        return current.seal(
            plain, associated_data, blake2b(associated_data + b"\0" + plain, digest_size=NONCE_OCTETS, key=key).digest()
        )

    def open(self, column: str, row: str, value: bytes) -> bytes:
        """Returns the plain value, also of a value that is not sealed. Raises CannotOpen, UnknownKey."""
        if value[: len(MAGIC)] != MAGIC:
            return value
        number = int.from_bytes(value[len(MAGIC) : HEAD_OCTETS], "big")
        key = self._known.get(number)
        if key is None:
            if number in self._missing:
                raise CannotOpen("the store has no key of its number")
            raise UnknownKey(number)
        return key.open(value, _associated_data(column, row))

    def seal_settings(self, connector: str, settings: dict[str, Any]) -> dict[str, Any]:
        if self.current is None:
            return settings
        sealed = self.seal(SETTINGS, connector, json.dumps(settings).encode())
        return {"": b2a_base64(sealed, newline=False).decode()}

    def open_settings(self, connector: str, settings: dict[str, Any]) -> dict[str, Any]:
        if list(settings) != [""]:
            return settings
        try:
            envelope = a2b_base64(settings[""])
        except ValueError:
            envelope = b""
        if envelope[: len(MAGIC)] != MAGIC:
            raise CannotOpen("no envelope")
        opened: dict[str, Any] = json.loads(self.open(SETTINGS, connector, envelope))
        return opened

    def renew(self, column: str, row: str, value: bytes) -> bytes:
        """Returns the value sealed with the current key; implements `app.ports.encryption.RowChange`. A value that
        cannot be opened stays as it is, and is noted."""
        try:
            if column == SETTINGS:
                return json.dumps(self.seal_settings(row, self.open_settings(row, _settings(value)))).encode()
            plain = self.open(column, row, value)
            if column in TEXTS:
                plain.decode()
        except (CannotOpen, UnknownKey, UnicodeDecodeError):  # all keys of the store were read right before
            self.unreadable.note(column, row, shown_row(column, row))
            return value
        seal = self.seal_alike if column == PARTS else self.seal
        return seal(column, row, plain)


class StoreKeys:
    """`app.ports.encryption.Encryption` of a store."""

    def __init__(self, rows: SealedRows, vault: KeyVault | None, unreadable: UnreadableValues) -> None:
        """`vault`: None if the settings have no master key. An encrypted store is then refused. `unreadable`: the
        store's."""
        self._rows = rows
        self.seals = None if vault is None else Seals(vault, unreadable)
        self.unreadable = unreadable
        self._in_use = 0
        """The highest number of a key that has been in use."""

    async def refresh(self, now: int) -> bool:
        """Reads the keys, and uses the newest valid key. Returns whether values are sealed. Raises KeyRefused,
        Unavailable."""
        keys, rewriting = await self._rows.keys()
        seals = self.seals
        if seals is None:
            if keys and (keys[-1].wrapped or rewriting is not None):
                raise KeyRefused(NO_KEY)
            return False
        for key in keys:
            if key.wrapped and not seals.knows(key.number):
                seals.learn(key.number, seals.vault.unwrap(key.number, key.wrapped))
        # A clock that was set back must bring no older key back: rows that are written with it would stay so. After a
        # rewrite all rows have the newest key, so that it has been in use, too.
        counting = [key for key in keys if rewriting is None or key.since <= now or key.number <= self._in_use]
        self._in_use = counting[-1].number if counting else 0
        seals.use(self._in_use if counting and counting[-1].wrapped else None)
        return seals.current is not None

    async def begin(self, now: int, *, plain: bool = False, delay: int = SWITCH_MS) -> int:
        """Adds a key for values that are sealed after `delay` ms; with `plain`, values are then written plain. Returns
        the key's number. Raises KeyRefused."""
        if self.seals is None:
            raise KeyRefused(NO_KEY.replace("the store is encrypted, and ", ""))
        vault = self.seals.vault

        def make(keys: list[KeyRow]) -> KeyRow:
            for key in keys:
                if key.wrapped:
                    vault.unwrap(key.number, key.wrapped)  # another master key must not wrap the new one
            if plain and (not keys or not keys[-1].wrapped):
                raise KeyRefused("the store is not encrypted")
            number = keys[-1].number + 1 if keys else 1
            return KeyRow(number, b"" if plain else vault.wrap(number, vault.new_secret()), now + delay)

        number = await self._rows.add_key(make)
        if number is None:
            raise KeyRefused("another process made a key at this moment; look with `heliograph encryption status`")
        return number

    async def rewrap(self, vault: KeyVault) -> int:
        """Wraps all keys by another master key; returns how many. Raises KeyRefused."""
        if self.seals is None:
            raise KeyRefused(NO_KEY)
        old = self.seals.vault
        return await self._rows.rewrap(lambda number, wrapped: vault.wrap(number, old.unwrap(number, wrapped)))

    async def advance(self, now: int, limit: int) -> bool:
        """Seals up to `limit` old rows anew; returns whether there may be more to do."""
        if self.seals is None:
            return False
        await self.refresh(now)
        keys, rewriting = await self._rows.keys()
        if rewriting is None:
            return False
        return await self._rows.rewrite(self.seals.renew, keys[-1].number, now, limit)

    async def damage(self) -> list[str]:
        """Reads all sealed values. Returns a sentence for each value that cannot be opened, at most MOST_NOTED."""
        found = await self._rows.find(self._is_damaged, MOST_NOTED)
        return [f"The value {column} of {row} cannot be opened: its row is damaged." for column, row in found]

    def _is_damaged(self, column: str, row: str, value: bytes) -> bool:
        """Returns whether a value is sealed and cannot be opened, or is no JSON where it must be."""
        seals = self.seals
        try:
            if column == SETTINGS:
                settings = _settings(value)
                return list(settings if seals is None else seals.open_settings(row, settings)) == [""]
            plain = value if seals is None else seals.open(column, row, value)
            if column in TEXTS:
                plain.decode()
        except (CannotOpen, UnknownKey, UnicodeDecodeError):
            return True
        return seals is None and plain[: len(MAGIC)] == MAGIC

    async def state(self) -> EncryptionState:
        keys, rewriting = await self._rows.keys()
        return EncryptionState(
            encrypted=bool(keys and keys[-1].wrapped),
            keys=sum(1 for key in keys if key.wrapped),
            newest=keys[-1].number if keys else 0,
            since=keys[-1].since if keys else 0,
            table=None if rewriting is None else rewriting.table,
            sealed=None if rewriting is None else rewriting.rows,
            rows=await self._rows.count(),
        )


def _settings(value: bytes) -> dict[str, Any]:
    """Raises CannotOpen if the settings of a connector are no JSON object."""
    try:
        settings = json.loads(value)
    except ValueError:
        raise CannotOpen("no JSON") from None
    if not isinstance(settings, dict):
        raise CannotOpen("no object")
    return settings


def _associated_data(column: str, row: str) -> bytes:
    return f"{column} {row}".encode()
