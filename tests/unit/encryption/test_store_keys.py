"""The data key in force, whatever the clock does."""

from typing import cast

import pytest

from heliograph.adapters.encryption.aes_gcm import AesGcmVault
from heliograph.adapters.encryption.store_keys import StoreKeys
from heliograph.app.ports.encryption import KeyRow, Rewriting, SealedRows, UnreadableValues

VAULT = AesGcmVault("k" * 44)
SINCE = 1_000_000


class Rows:
    """Two keys, of which the second is valid from SINCE on. Implements as much of `SealedRows` as is read."""

    def __init__(self, *, ends: bool) -> None:
        """`ends`: the second key ends the encryption."""
        first, second = (VAULT.wrap(number, bytes(32)) for number in (1, 2))
        self._keys = [KeyRow(1, first, 0), KeyRow(2, b"" if ends else second, SINCE)]
        self.rewriting: Rewriting | None = Rewriting("message", 0)

    async def keys(self) -> tuple[list[KeyRow], Rewriting | None]:
        return self._keys, self.rewriting


async def number_in_force(keys: StoreKeys, now: int) -> int | None:
    await keys.refresh(now)
    assert keys.seals is not None
    return None if keys.seals.current is None else keys.seals.current.number


@pytest.mark.parametrize("ends", [False, True])
async def test_a_key_in_use_stays_in_use_when_the_clock_is_set_back(*, ends: bool) -> None:
    newest = None if ends else 2
    rows = Rows(ends=ends)
    keys = StoreKeys(cast("SealedRows", rows), VAULT, UnreadableValues())
    assert await number_in_force(keys, SINCE - 1) == 1
    assert await number_in_force(keys, SINCE) == newest
    assert await number_in_force(keys, SINCE - 1) == newest
    # also after a restart, once all rows have it
    rows.rewriting = None
    assert await number_in_force(StoreKeys(cast("SealedRows", rows), VAULT, UnreadableValues()), SINCE - 1) == newest
