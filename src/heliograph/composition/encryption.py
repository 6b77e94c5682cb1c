"""The master key of the settings, and the vault made from it."""

import shlex
import subprocess
from pathlib import Path
from typing import NamedTuple, Protocol

from heliograph import files
from heliograph.app.ports import Store
from heliograph.app.ports.encryption import Encryption, KeyRefused, KeyVault, SealedRows, UnreadableValues
from heliograph.config import Settings

LEAST_CHARACTERS = 32

COMMAND_S = 60
"""Seconds. Timeout of the command."""


class SealableStore(Store, Protocol):
    """A store that can keep envelopes."""

    sealed_rows: SealedRows
    unreadable: UnreadableValues


class OpenedStore(NamedTuple):
    """A store that was opened with the master key of the settings, if any."""

    store: Store
    encryption: Encryption


async def sealed(store: SealableStore, vault: KeyVault | None, now: int) -> OpenedStore:
    """Reads the keys of a store; with a master key, seals texts and secrets from then on. Raises KeyRefused,
    Unavailable."""
    from heliograph.adapters.encryption.store_keys import StoreKeys

    keys = StoreKeys(store.sealed_rows, vault, store.unreadable)
    await keys.refresh(now)
    if vault is None:
        return OpenedStore(store, keys)
    from heliograph.adapters.encryption.sealed_store import sealed_store

    return OpenedStore(sealed_store(store, keys), keys)


def vault_of(settings: Settings) -> KeyVault | None:
    """Returns the vault of the master key in the settings, or None without a master key. Raises KeyRefused."""
    given = settings.encryption
    named = [name for name in ("key", "key_file", "key_command") if getattr(given, name)]
    if not named:
        return None
    if len(named) > 1:
        raise KeyRefused(f"encryption.{named[0]} and encryption.{named[1]} both give the master key; keep one")
    if given.key:
        return make_vault(given.key, "encryption.key")
    if given.key_file:
        return vault_of_file(Path(given.key_file), "encryption.key_file")
    return make_vault(_answer_of(given.key_command), "encryption.key_command")


def vault_of_file(path: Path, name: str) -> KeyVault:
    """Returns the vault of the master key in a file. `name` is the setting that names the file. Raises KeyRefused."""
    try:
        return make_vault(files.read(path).decode(), name)
    except (OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "it is no text"
        raise KeyRefused(f"{name}: the file cannot be read: {reason}") from None


def make_vault(text: str, name: str) -> KeyVault:
    """Returns the vault of a master key. `name` is its source. Raises KeyRefused."""
    try:
        from heliograph.adapters.encryption.aes_gcm import AesGcmVault
    except ModuleNotFoundError as problem:
        if (problem.name or "").partition(".")[0] != "cryptography":
            raise
        raise KeyRefused("encryption needs an extra: pip install 'heliograph[encryption]'") from None
    key = text.strip()
    if len(key) < LEAST_CHARACTERS:
        raise KeyRefused(
            f"{name}: the master key has {len(key)} characters; {LEAST_CHARACTERS} random ones are the least"
        )
    return AesGcmVault(key)


def _answer_of(command: str) -> str:
    """Returns the standard output of the command. It runs without a shell."""
    try:
        done = subprocess.run(  # noqa: S603 - the author of the settings may run commands anyway
            shlex.split(command), stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=COMMAND_S, check=True
        )
    except (OSError, ValueError, subprocess.SubprocessError) as problem:
        reason = getattr(problem, "strerror", None) or (
            f"it ended with {problem.returncode}"
            if isinstance(problem, subprocess.CalledProcessError)
            else f"it took more than {COMMAND_S} s"
            if isinstance(problem, subprocess.TimeoutExpired)
            else "it cannot be split into words"
        )
        raise KeyRefused(f"encryption.key_command failed: {reason}") from None
    return done.stdout.decode("utf-8", errors="replace")
