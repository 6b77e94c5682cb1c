"""The data keys of a store, and the rows that were written before the newest one.

A key is added with the time from which on it counts: by then every process has read it. SETTLE_MS after that nobody
writes by the key before any more, and the tables are gone through, some rows a transaction, each with the place that
was reached: what a crash interrupts goes on where it was. Keys are never deleted, so that no row is ever lost by it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from heliograph.adapters.store.shared.sealing import (
    SECRET_OCTETS,
    Sealer,
    early_place,
    factor_place,
    secret_place,
    settings_place,
)
from heliograph.adapters.store.shared.steps import Q, Row, Rows, RunMode, Runner, Steps, first
from heliograph.app.ports.encryption import SWITCH_MS, EncryptionState, KeyRefused, KeyVault

SETTLE_MS: Final = 15_000
"""Milliseconds from then until the rows before are sealed anew."""

_LEAST: Final = -(1 << 63)
_HMAC_OCTETS: Final = 64

NO_KEY: Final = (
    "the store is encrypted, and the settings give no key: set encryption.key_file, encryption.key_command or the "
    "environment variable HELIOGRAPH_ENCRYPTION_KEY"
)

Sealed = Steps[tuple[int, str]]
"""Returns the count of the rows that were looked at, and the key of the last one."""


class StoredEncryption:
    """The encryption of one store: reads its keys, makes new ones, and seals old rows anew."""

    def __init__(self, runner: Runner, sealer: Sealer | None) -> None:
        """`runner` is the engine's own, to which rows are what they are."""
        self._runner = runner
        self._sealer = sealer

    async def refresh(self, now: int) -> bool:
        """Reads the keys, and uses the newest one that counts; returns whether rows are sealed with one. Raises
        KeyRefused, Unavailable."""
        keys, resealing = await self._runner.run(RunMode.READ, _state)
        sealer = self._sealer
        if sealer is None:
            if keys and (keys[-1][1] or resealing is not None):
                raise KeyRefused(NO_KEY)
            return False
        for number, wrapped, _ in keys:
            if wrapped and not sealer.knows(number):
                sealer.learn(number, sealer.vault.unwrap(number, bytes(wrapped)))
        counting = [(number, wrapped) for number, wrapped, since in keys if since <= now]
        sealer.use(counting[-1][0] if counting and counting[-1][1] else None)
        return sealer.current is not None

    async def begin(self, now: int, *, plain: bool = False, delay: int = SWITCH_MS) -> int:
        """Adds a key that rows are sealed with from `delay` on, or none for `plain`; returns its number. Raises
        KeyRefused."""
        sealer = self._sealer
        if sealer is None:
            raise KeyRefused(NO_KEY.replace("the store is encrypted, and ", ""))
        return await self._runner.run(RunMode.WRITE, partial(_begin, sealer.vault, now + delay, plain))

    async def rewrap(self, vault: KeyVault) -> int:
        """Wraps all keys by another master key; returns how many. Raises KeyRefused."""
        sealer = self._sealer
        if sealer is None:
            raise KeyRefused(NO_KEY)
        return await self._runner.run(RunMode.WRITE, partial(_rewrap, sealer.vault, vault))

    async def advance(self, now: int, limit: int) -> bool:
        """Seals up to `limit` old rows anew; returns whether there may be more to do."""
        sealer = self._sealer
        if sealer is None:
            return False
        await self.refresh(now)
        return await self._runner.run(RunMode.WRITE, partial(_advance, sealer, now, limit))

    async def state(self) -> EncryptionState:
        """Returns what is known of keys and of progress."""
        keys, resealing = await self._runner.run(RunMode.READ, _state)
        rows = await self._runner.run(RunMode.SCAN, partial(first, Q.count_to_seal()))
        assert rows is not None
        return EncryptionState(
            encrypted=bool(keys and keys[-1][1]),
            keys=sum(1 for _, wrapped, _ in keys if wrapped),
            newest=keys[-1][0] if keys else 0,
            since=keys[-1][2] if keys else 0,
            table=None if resealing is None else STAGES[resealing[0]].table,
            sealed=None if resealing is None else resealing[2],
            rows=sum(rows),
        )


# --- keys


def _state() -> Steps[tuple[Rows, Row | None]]:
    keys = yield Q.data_keys()
    return keys, (yield from first(Q.resealing()))


def _begin(vault: KeyVault, since: int, plain: bool) -> Steps[int]:
    keys = yield Q.data_keys()
    secrets = [vault.unwrap(number, bytes(wrapped)) for number, wrapped, _ in keys if wrapped]
    number = keys[-1][0] + 1 if keys else 1
    if plain:
        if not keys or not keys[-1][1]:
            raise KeyRefused("the store is not encrypted")
        yield _set_suppression_key(secrets[-1][SECRET_OCTETS * 2 :])
        wrapped = b""
    else:
        if secrets:
            rest = secrets[-1][SECRET_OCTETS:]
        else:
            ((kept,),) = yield Q.suppression_key()
            rest = vault.new_secret() + _suppression_key(bytes(kept))
        wrapped = vault.wrap(number, vault.new_secret() + rest)
    if not (yield Q.add_data_key(number=number, wrapped=wrapped, since=since)):
        raise KeyRefused("another process made a key at this moment; look with `heliograph encryption status`")
    yield Q.begin_resealing()
    return number


def _rewrap(old: KeyVault, new: KeyVault) -> Steps[int]:
    keys = yield Q.data_keys()
    for number, wrapped, _ in keys:
        if wrapped:
            yield Q.rewrap_data_key(number=number, wrapped=new.wrap(number, old.unwrap(number, bytes(wrapped))))
    return sum(1 for _, wrapped, _ in keys if wrapped)


def _suppression_key(kept: bytes) -> bytes:
    """Returns the key, also where the pad of HMAC is on it."""
    return bytes(octet ^ 0x36 for octet in kept[:SECRET_OCTETS]) if len(kept) == _HMAC_OCTETS else kept


def _set_suppression_key(key: bytes) -> Any:
    padded = key.ljust(_HMAC_OCTETS, b"\0") if key else b""
    inner, outer = (bytes(octet ^ pad for octet in padded) for pad in (0x36, 0x5C))
    return Q.set_suppression_key(key=key, inner_pad=inner, outer_pad=outer)


# --- rows


def _advance(sealer: Sealer, now: int, limit: int) -> Steps[bool]:
    at = yield from first(Q.lock_resealing())
    if at is None:
        return False
    keys = yield Q.data_keys()
    number, wrapped, since = keys[-1]
    if now < since + SETTLE_MS or (sealer.current.number if sealer.current else None) != (number if wrapped else None):
        return False
    yield Q.overwrite_freed()
    stage, after, count = at
    looked, after = yield from STAGES[stage].seal(sealer, after, limit)
    if looked >= limit:
        yield Q.note_resealing(stage=stage, after=after, sealed=count + looked)
    elif stage + 1 < len(STAGES):
        yield Q.note_resealing(stage=stage + 1, after="", sealed=count + looked)
    else:
        if wrapped:
            yield _set_suppression_key(b"")
        yield Q.end_resealing()
        return False
    return True


def _beyond(after: str) -> int:
    return int(after) if after else _LEAST


def _end(rows: Rows) -> tuple[int, str]:
    return len(rows), str(rows[-1][0]) if rows else ""


def _accounts(sealer: Sealer, after: str, limit: int) -> Sealed:
    rows = yield Q.accounts_to_seal(beyond=_beyond(after), limit=limit)
    for number, name, secret in rows:
        place = secret_place(name)
        yield Q.seal_account(id=number, secret=sealer.seal(sealer.open(bytes(secret), place), place))
    return _end(rows)


def _connectors(sealer: Sealer, after: str, limit: int) -> Sealed:
    rows = yield Q.connectors_to_seal(beyond=_beyond(after), limit=limit)
    for number, name, settings in rows:
        place = settings_place(name)
        yield Q.seal_connector(id=number, settings=sealer.seal_text(sealer.open_text(settings, place), place))
    return _end(rows)


def _factors(sealer: Sealer, _after: str, _limit: int) -> Sealed:
    """Seals the secrets of all factors at once, as they are few."""
    rows = yield Q.factors_to_seal()
    for user, number, secret in rows:
        place = factor_place(user, number)
        yield Q.seal_factor(name=user, id=number, secret=sealer.seal(sealer.open(bytes(secret), place), place))
    return 0, ""


def _suppressions(sealer: Sealer, after: str, limit: int) -> Sealed:
    account, _, digest = after.partition(":")
    rows = yield Q.suppressions_to_seal(account=_beyond(account), digest=bytes.fromhex(digest), limit=limit)
    for of, known_by, number in rows:
        sealed = sealer.suppressed(of, sealer.open_suppressed(number))
        yield Q.seal_suppression(account=of, digest=known_by, number=sealed)
    return len(rows), f"{rows[-1][0]}:{bytes(rows[-1][1]).hex()}" if rows else ""


def _messages(sealer: Sealer, after: str, limit: int) -> Sealed:
    rows = yield Q.messages_to_seal(beyond=_beyond(after), limit=limit)
    for key, account, destination, sender, content in rows:
        destination, sender, text = sealer.open_message(key, destination, sender, content)
        destination, sender, octets = sealer.message_columns(key, account, destination, sender, _octets(text))
        yield Q.seal_message(
            key=key, destination=destination, sender=sender, content=octets, plain=sealer.current is None
        )
    return _end(rows)


def _queue(sealer: Sealer, after: str, limit: int) -> Sealed:
    rows = yield Q.queued_to_seal(beyond=_beyond(after), limit=limit)
    if rows:
        messages = yield Q.numbers_of(keys=[key for key, _ in rows])
        for key, destination, sender in messages:
            yield Q.seal_queued(key=key, phone=sealer.token(sealer.open_numbers(key, destination, sender)[0]))
    return _end(rows)


def _numbers(_sealer: Sealer, _after: str, _limit: int) -> Sealed:
    """Has the blocks made again, since they have tokens or numbers of before."""
    yield Q.forget_blocks()
    yield Q.forget_numbers()
    yield Q.forget_contents()
    return 0, ""


def _inbound(sealer: Sealer, after: str, limit: int) -> Sealed:
    rows = yield Q.inbound_to_seal(beyond=_beyond(after), limit=limit)
    for key, *columns in rows:
        sender, recipient, text, octets = sealer.open_inbound(key, *columns)
        sender, recipient, content, octets = sealer.inbound_columns(key, sender, recipient, _octets(text), octets)
        yield Q.seal_inbound(
            key=key, sender=sender, recipient=recipient, content=content, octets=octets, plain=sealer.current is None
        )
    return _end(rows)


def _retries(sealer: Sealer, after: str, limit: int) -> Sealed:
    rows = yield Q.retries_to_seal(beyond=_beyond(after), limit=limit)
    for key, body in rows:
        yield Q.seal_retry(key=key, body=sealer.body(key, sealer.open_body(key, body)))
    return _end(rows)


def _early(sealer: Sealer, after: str, limit: int) -> Sealed:
    rows = yield Q.early_to_seal(beyond=_beyond(after), limit=limit)
    for number, connector, operator_id, destination in rows:
        place = early_place(connector, operator_id)
        yield Q.seal_early(id=number, destination=sealer.number(sealer.open_number(destination, place), place))
    return _end(rows)


def _octets(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


@dataclass(frozen=True)
class ResealingStage:
    """A table whose rows are sealed anew."""

    table: str
    seal: Callable[[Sealer, str, int], Sealed]


STAGES: Final = (
    ResealingStage("account", _accounts),
    ResealingStage("connector", _connectors),
    ResealingStage("admin_factor", _factors),
    ResealingStage("suppression", _suppressions),
    ResealingStage("message", _messages),
    ResealingStage("queue", _queue),
    ResealingStage("message_number", _numbers),
    ResealingStage("inbound", _inbound),
    ResealingStage("callback_retry", _retries),
    ResealingStage("early", _early),
)
"""In their order. Parts of inbound messages are not among them: they are gone within the hour."""
