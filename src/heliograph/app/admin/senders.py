"""Administration of sender registries: in whose name accounts may send."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from heliograph.app.admin.manage import MAX_NOTE_CHARS
from heliograph.app.configuration import Missing, RegisteredSender
from heliograph.app.resources.desk import Desk, Invalid, NoSuch, account_id
from heliograph.domain.limits.sender_state import SenderState
from heliograph.domain.numbers import phone

MOST_AT_ONCE: Final = 1_000
"""Senders that are put at once."""


@dataclass(slots=True)
class SenderView:
    """A registered sender with the name of its account."""

    account: str
    sender: str
    state: SenderState
    since: int
    note: str


class ManageSenders(Desk):
    """Methods raise Invalid and NoSuch for mistakes of the user, and the store's Unavailable."""

    async def senders(self, account: str | None = None, state: str | None = None) -> list[SenderView]:
        """Returns registered senders by account and sender: all, or those of an account, or in a state."""
        wanted = None if state is None else _state(state)
        owner = None if account is None else await account_id(self.store, account)
        names = {found.id: found.name for found, _ in await self.store.accounts.all()}
        found = [
            SenderView(names[each.account], each.sender, each.state, each.since, each.note)
            for each in (await self.store.network.tables()).senders
            if owner in (None, each.account) and wanted in (None, each.state) and each.account in names
        ]
        return sorted(found, key=lambda view: (view.account, view.sender))

    async def put(self, account: str, senders: Sequence[str], state: str, note: str = "") -> int:
        """Registers senders in a state, or gives those that are registered another one, all or none. Returns how many
        are new. From the first one on the account may use approved senders only."""
        owner, wanted = await account_id(self.store, account), _state(state)
        if not 0 < len(senders) <= MOST_AT_ONCE:
            raise Invalid("sender", f"there are {len(senders)}; give 1 to {MOST_AT_ONCE} at once")
        for sender in senders:
            problem = phone.sender_problem(sender, msisdn_allowed=True)
            if problem is not None:
                raise Invalid("sender", f"{sender!r}: {problem}")
        if len(note) > MAX_NOTE_CHARS or not (note.isprintable() or not note):
            raise Invalid("note", f"it may have {MAX_NOTE_CHARS} printable characters")
        rows = [RegisteredSender(owner, sender, wanted, self.now, note) for sender in dict.fromkeys(senders)]
        details = {"senders": ", ".join(row.sender for row in rows), "state": wanted.value, "note": note}
        return await self.audited("sender.set", account, details).senders.put(rows)

    async def remove(self, account: str, sender: str) -> None:
        """Takes a sender out of the registry. An account whose registry is empty may use any sender again."""
        owner = await account_id(self.store, account)
        try:
            await self.audited("sender.remove", account, {"sender": sender}).senders.remove(owner, sender)
        except Missing:
            raise NoSuch("sender", f"{sender} of {account}") from None


def _state(text: str) -> SenderState:
    try:
        return SenderState(text)
    except ValueError:
        raise Invalid("state", f"{text!r} is none of {', '.join(SenderState)}") from None
