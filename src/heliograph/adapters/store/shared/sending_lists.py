"""`app.ports.SendingLists`."""

from collections.abc import Mapping, Sequence

from heliograph.adapters.store.shared.steps import Operations, Q, Row, Steps, browse, glance, listing, write
from heliograph.app.configuration import Missing
from heliograph.app.ports.sending_lists import AlreadySent, ListState, SendingList, StatusCount, references_of
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.status import MessageStatus, status_of


class StoredSendingLists(Operations):
    @write
    def add(self, sending: SendingList, form: str = "") -> Steps[int]:
        added = yield Q.add_sending_list(
            form=form or None,
            account=sending.account,
            name=sending.name,
            actor=sending.actor,
            created=sending.created,
            rows=sending.rows,
            state=sending.state.value,
            heard=sending.heard.value,
            handed_in=sending.handed_in,
            refused=sending.refused,
            reported=sending.reported,
            ended=sending.ended,
            problem=sending.problem,
        )
        if not added:
            ((number,),) = yield Q.sending_list_of_form(form=form)
            raise AlreadySent(number)
        return int(added[0][0])

    @listing
    def page(self, before: int, account: int | None, limit: int) -> Steps[Sequence[SendingList]]:
        rows = yield Q.sending_lists(before=before, any=account is None, account=account or 0, limit=limit)
        return [_list_of(row) for row in rows]

    @glance
    def find(self, id: int) -> Steps[SendingList | None]:
        found = yield Q.sending_list(id=id)
        return _list_of(found[0]) if found else None

    @write
    def report(self, sending: SendingList) -> Steps[ListState | None]:
        found = yield Q.report_sending_list(
            id=sending.id,
            heard=sending.heard.value,
            handed_in=sending.handed_in,
            refused=sending.refused,
            reported=sending.reported,
            ended=sending.ended,
            problem=sending.problem,
        )
        return ListState(found[0][0]) if found else None

    @write
    def change(self, id: int, state: ListState) -> Steps[None]:
        if not (yield Q.change_sending_list(id=id, state=state.value, final=ListState.CANCELLED.value)):
            raise Missing("no such list, or it is cancelled")

    @browse
    def counts(self, account: int, id: int) -> Steps[Mapping[MessageStatus, StatusCount]]:
        first = references_of(id)
        # ":" follows "9" in ASCII
        rows = yield Q.count_sending_list(account=account, first=first, beyond=f"{first}:")
        found: dict[MessageStatus, StatusCount] = {}
        for state, final, taken, held, messages, price in rows:
            delivery = None if final is None else Delivery(final)
            status = status_of(state, delivery, submitted=bool(taken), held=bool(held))
            found[status] = found.get(status, StatusCount()).plus(messages, price)
        return found


def _list_of(row: Row) -> SendingList:
    found = SendingList(*row)
    found.state, found.heard = ListState(found.state), ListState(found.heard)
    return found
