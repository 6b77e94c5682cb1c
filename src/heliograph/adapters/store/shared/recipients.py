"""`app.ports.Recipients`: the kept data of a phone, and its erasure."""

from collections.abc import Sequence

from heliograph.adapters.store.shared.accounts import lock_account
from heliograph.adapters.store.shared.ledger import cancel_waiting
from heliograph.adapters.store.shared.retention import take_settled
from heliograph.adapters.store.shared.steps import Operations, Q, Steps, browse, write
from heliograph.adapters.store.shared.upkeep import reached
from heliograph.app.kept_data import ErasureStep, PhoneTraces
from heliograph.domain.message.retention import Stage
from heliograph.domain.message.state import Trigger

_ANY = -1


class StoredRecipients(Operations):
    @browse
    def traces(self, number: str, account: int | None) -> Steps[PhoneTraces]:
        of = _ANY if account is None else account
        messages = [*(yield Q.messages_to(number=number, account=of))]
        messages += yield Q.newest_to(number=number, account=of, reached=(yield from reached()))
        inbound = yield Q.inbound_from(number=number, account=of)
        suppressions = yield Q.suppressions_of(number=number, account=of)
        unmatched = (yield Q.unmatched_of(number=number)) if account is None else ()
        ((parts,),) = yield Q.waiting_parts_of(number=number)
        return PhoneTraces(
            [(owner, key) for owner, key in messages],
            [(owner, key, tail) for owner, key, tail in inbound],
            [(owner, since, source) for owner, since, source in suppressions],
            [(connector, id_, state, err, at) for connector, id_, state, err, at in unmatched],
            int(parts),
        )

    @browse
    def judge(self, account: int, keys: Sequence[int]) -> Steps[ErasureStep]:
        waiting = yield from _waiting(account, keys)
        settled = yield Q.settled_messages(keys=list(keys))
        inbound = yield Q.settled_inbound(keys=list(keys))
        erased = len(waiting) + len(settled) + len(inbound)
        return ErasureStep(len(waiting), erased, len(keys) - erased)

    @write
    def erase(self, account: int, keys: Sequence[int], now: int) -> Steps[ErasureStep]:
        wanted = list(keys)
        if account:
            yield from lock_account(account)
        yield Q.lock_queued(keys=wanted)
        waiting = yield from _waiting(account, wanted)
        yield from cancel_waiting(account, waiting, Trigger.OPT_OUT, now, "erased")
        done = yield from take_settled(account, Stage.ERASURE, wanted, inbound=False)
        done += yield from take_settled(account, Stage.ERASURE, wanted, inbound=True)
        left = sorted(set(wanted) - set(done))
        for key in left:
            yield Q.keep_for_later(account=account, stage=Stage.ERASURE, key=key)
        return ErasureStep(len(waiting), len(done), len(left))

    @write
    def forget(self, number: str, account: int | None) -> Steps[None]:
        of = _ANY if account is None else account
        yield Q.forget_suppressions_of(number=number, account=of)
        if account is None:
            yield Q.forget_unmatched_of(number=number)


def _waiting(account: int, keys: Sequence[int]) -> Steps[list[int]]:
    """Returns the messages among these that are cancelled and refunded."""
    rows = yield Q.unsent_among(keys=list(keys))
    return [key for key, owner in rows if owner == account]
