"""The keys of an encrypted store, for administrators of the gateway."""

from heliograph.app.ports.encryption import KeyVault
from heliograph.app.resources.desk import Desk, needed


async def begin(desk: Desk, *, plain: bool) -> int:
    """Makes a key, or `plain` none, that counts from a while later on; returns its number. Raises KeyRefused."""
    number = await needed(desk.encryption).begin(desk.now, plain=plain)
    await desk.note("encryption.off" if plain else "encryption.key", str(number))
    return number


async def rewrap(desk: Desk, vault: KeyVault) -> int:
    """Changes the master key; returns how many data keys it wraps. Raises KeyRefused."""
    count = await needed(desk.encryption).rewrap(vault)
    await desk.note("encryption.master", str(count))
    return count
