"""`app.ports.Senders`: sender IDs of accounts that have a registry."""

from collections.abc import Sequence

from heliograph.adapters.store.shared.network import tables_changed
from heliograph.adapters.store.shared.steps import Operations, Q, Steps, write
from heliograph.app.configuration import Missing, RegisteredSender


class StoredSenders(Operations):
    @write
    def put(self, senders: Sequence[RegisteredSender]) -> Steps[int]:
        # another change of a registry waits for the revision
        yield tables_changed()
        new = 0
        for each in senders:
            if not (yield Q.account_by_id(account=each.account)):
                raise Missing("no such account")
            known = yield Q.sender_known(account=each.account, sender=each.sender)
            new += not known
            yield Q.put_sender(
                account=each.account, sender=each.sender, state=each.state.value, since=each.since, note=each.note
            )
        return new

    @write
    def remove(self, account: int, sender: str) -> Steps[None]:
        yield tables_changed()
        if not (yield Q.remove_sender(account=account, sender=sender)):
            raise Missing("no such sender")
