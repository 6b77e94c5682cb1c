"""Second factors: sets up authenticator apps and passkeys, and makes recovery codes."""

import hashlib
from base64 import b32encode
from dataclasses import dataclass, field
from typing import Any

from heliograph.app.admin.second_step import PasskeyAnswer, challenge_of, digest_code, passkeys_of, plain
from heliograph.app.admin.signed_state import SignedState
from heliograph.app.configuration import Exists, Missing
from heliograph.app.ports import Clock, Passkeys, Secrets, Store
from heliograph.app.ports.factors import FactorKind, SecondFactor
from heliograph.app.records import FACTOR_RESET, AuditEntry, AuditQuery
from heliograph.app.resources.desk import Desk, Invalid, NoSuch, needed
from heliograph.domain.security import one_time_code

ISSUER = "Heliograph"

CODES = 10
"""Recovery codes in a set."""

CODE_OCTETS = 10
"""Octets of random bits in a recovery code. 80 bits cannot be guessed."""

MOST_FACTORS = 5
MAX_NAME_CHARS = 64

_ID_CHARS = 10
_ENROL = "enrol"
_PASSKEY = "passkey"


@dataclass(frozen=True, slots=True)
class Enrolment:
    """An app that is being set up."""

    secret: str = field(repr=False)
    """The secret as people type it, in base32."""
    link: str = field(repr=False)
    """The link in the QR code, which begins with `otpauth://totp/`."""
    ticket: str = field(repr=False)
    """Comes back with the first code of the app."""


class ManageFactors(Desk):
    """Use cases about second factors, in the name of the user or of an admin.

    They raise Invalid and NoSuch for mistakes of the user, and the store's Unavailable.
    """

    def __init__(
        self,
        store: Store,
        secrets: Secrets,
        clock: Clock,
        tickets: SignedState,
        passkeys: Passkeys,
        actor: str = "system",
        address: str = "",
    ) -> None:
        super().__init__(store, clock, actor, address, secrets=secrets)
        self._tickets = tickets
        self._passkeys = passkeys

    async def of(self, user: str) -> tuple[list[SecondFactor], int]:
        """Returns the factors of a user, oldest first, and the number of unused recovery codes."""
        return await self.store.factors.of(user), await self.store.factors.codes_left(user)

    def begin(self, user: str) -> Enrolment:
        """Makes the secret of a new app. The store gets it in `confirm`; until then only the ticket has it."""
        return self._enrolment(user, needed(self.secrets).octets(one_time_code.SECRET_OCTETS))

    def again(self, user: str, ticket: str) -> Enrolment | None:
        """Returns the enrolment of a ticket again, or None if the ticket has expired."""
        found = self._tickets.read(_ENROL, ticket)
        return None if found is None or found[0] != user else self._enrolment(user, bytes.fromhex(found[1]))

    def _enrolment(self, user: str, secret: bytes) -> Enrolment:
        ticket = self._tickets.make(_ENROL, user, secret.hex())
        text = one_time_code.secret_text(secret)
        return Enrolment(text, one_time_code.app_link(secret, user, ISSUER), ticket)

    async def confirm(self, user: str, ticket: str, code: str, name: str) -> list[str]:
        """Adds the app if the code is right. Returns recovery codes for the user's first factor, else an empty list."""
        found = self._tickets.read(_ENROL, ticket)
        if found is None or found[0] != user:
            raise Invalid("code", "that took too long; start again")
        secret = bytes.fromhex(found[1])
        step = one_time_code.step_of(secret, plain(code), self.now, 0)
        if step is None:
            raise Invalid("code", "it is not the code of the app now; check the clock of the device")
        return await self._add(user, FactorKind.APP, name.strip() or "Authenticator app", secret, step)

    async def begin_passkey(self, user: str, host: str) -> tuple[dict[str, Any], str]:
        """Returns the options with which a browser makes a passkey, and the ticket that comes back with the answer."""
        ticket = self._tickets.make(_PASSKEY, user, str(self.now))
        known = [each.secret for each in await passkeys_of(self.store.factors, user)]
        return self._passkeys.creation_options(host, user, known, challenge_of(ticket)), ticket

    async def confirm_passkey(self, user: str, ticket: str, given: PasskeyAnswer, name: str) -> list[str]:
        """Adds the passkey that a browser made. Returns recovery codes for the first factor, else an empty list."""
        found = self._tickets.read(_PASSKEY, ticket)
        if found is None or found[0] != user:
            raise Invalid("passkey", "that took too long; start again")
        try:
            made = self._passkeys.created(given.host, challenge_of(ticket), given.answer)
        except ValueError:
            raise Invalid("passkey", "the browser did not make a passkey for this page; start again") from None
        if any(each.secret == made for each in await passkeys_of(self.store.factors, user)):
            raise Invalid("passkey", "that passkey was added already")
        return await self._add(user, FactorKind.PASSKEY, name.strip() or "Passkey", made, int(found[1]))

    async def _add(self, user: str, kind: FactorKind, title: str, secret: bytes, counter: int) -> list[str]:
        if len(title) > MAX_NAME_CHARS or not title.isprintable():
            raise Invalid("title", f"it must be a line of up to {MAX_NAME_CHARS} printable characters")
        known = await self.store.factors.of(user)
        if len(known) >= MOST_FACTORS:
            raise Invalid("title", f"there are {MOST_FACTORS} factors already; remove a factor first")
        codes = [] if known else self._fresh_codes()
        # The id depends on the secret. So a form that is sent twice adds a factor once: two would accept a code twice.
        id = hashlib.sha256(secret).hexdigest()[:_ID_CHARS]
        factor = SecondFactor(user, id, kind, title, secret, counter, self.now)
        audited = self.audited("factor.add", user, {"factor": factor.id, "kind": kind.value, "name": title})
        try:
            await audited.factors.add(factor, [digest_code(each) for each in codes])
        except Exists:
            raise Invalid("title", "that factor was added already") from None
        return codes

    async def last_reset(self, user: str, *, unseen: bool = False) -> AuditEntry | None:
        """Returns the audit entry of the last reset of the user's factors by another person, or None.

        With `unseen`, only a reset since the user's previous session was opened counts.
        """
        found = await self.store.audit_log.find(AuditQuery(1, action=FACTOR_RESET, target=user))
        if not found or not unseen:
            return found[0] if found else None
        sessions = await self.store.audit_log.find(AuditQuery(2, action="session.open", target=user))
        before = sessions[1].key if len(sessions) == 2 else 0
        return found[0] if found[0].key > before else None

    async def remove(self, user: str, factor: str) -> None:
        """Removes a factor. The last factor takes the recovery codes with it."""
        name = next((each.name for each in await self.store.factors.of(user) if each.id == factor), "")
        try:
            await self.audited("factor.remove", user, {"factor": factor, "name": name}).factors.remove(user, factor)
        except Missing:
            raise NoSuch("second factor", factor) from None

    async def new_codes(self, user: str) -> list[str]:
        """Replaces the recovery codes, and returns the new codes."""
        if not await self.store.factors.of(user):
            raise Invalid("code", "there is no second factor yet; set it up first")
        codes = self._fresh_codes()
        audited = self.audited("recovery-codes.make", user)
        await audited.factors.replace_codes(user, [digest_code(each) for each in codes])
        return codes

    def _fresh_codes(self) -> list[str]:
        codes = []
        for _ in range(CODES):
            text = b32encode(needed(self.secrets).octets(CODE_OCTETS)).decode().lower()
            codes.append("-".join(text[at : at + 4] for at in range(0, len(text), 4)))
        return codes
