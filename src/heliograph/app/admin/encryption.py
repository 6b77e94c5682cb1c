"""The keys of an encrypted store, for those who run the gateway."""

from heliograph.app.ports import AuditLog, Clock
from heliograph.app.ports.encryption import Encryption, EncryptionState, KeyVault
from heliograph.app.records import AuditEntry


class ManageEncryption:
    """Changes keys, and says so in the audit log."""

    def __init__(self, encryption: Encryption, audit_log: AuditLog, clock: Clock, actor: str) -> None:
        self._encryption = encryption
        self._audit_log = audit_log
        self._clock = clock
        self._actor = actor

    async def state(self) -> EncryptionState:
        """Returns what is known of keys and rows."""
        return await self._encryption.state()

    async def begin(self, *, plain: bool) -> int:
        """Makes a key, or `plain` none, that counts from a while later on; returns its number. Raises KeyRefused."""
        number = await self._encryption.begin(self._clock.now(), plain=plain)
        await self._note("encryption.off" if plain else "encryption.key", str(number))
        return number

    async def rewrap(self, vault: KeyVault) -> int:
        """Changes the master key; returns how many data keys it wraps. Raises KeyRefused."""
        count = await self._encryption.rewrap(vault)
        await self._note("encryption.master", str(count))
        return count

    async def _note(self, action: str, target: str) -> None:
        await self._audit_log.append(AuditEntry(self._clock.now(), self._actor, action, target, {}, ""))
