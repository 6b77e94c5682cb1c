"""`app.ports.Inbound` and `Pulls`: repeats of inbound messages, waiting parts, searches by people, and pulls by
customers."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from heliograph.adapters.store.shared.accounts import lock_account
from heliograph.adapters.store.shared.network import tables_changed
from heliograph.adapters.store.shared.rows import ANY_KEY, account_of, inbound_of, part_of, set_values
from heliograph.adapters.store.shared.steps import Operations, Q, Steps, browse, claiming, first, lookup, write
from heliograph.adapters.store.shared.trace import callback_of
from heliograph.app.configuration import Exists, Missing, inbound_way
from heliograph.app.facts import InboundMessage, InboundPart, PartSet
from heliograph.app.ports.inbound import PAGE_OCTETS, REPEAT_MS, SLOW_ANSWER_MS, FoundCopies
from heliograph.app.records import CallbackView, InboundQuery, InboundRecord
from heliograph.domain.message.ids import first_key_at
from heliograph.domain.message.way import Way
from heliograph.domain.money.pricing import DEFAULT_PLAN
from heliograph.domain.numbers.number_rules import InboundNumber, normalise_number
from heliograph.domain.numbers.phone import prefixes
from heliograph.domain.text.inbound import reply_reference

ANSWERED: Final = 20_000
"""Most notes of answered messages that are deleted at once. Each node deletes so many every few seconds, so thousands
of messages a second do not pile up."""


class StoredPulls(Operations):
    """`app.ports.InboundPulls`."""

    @lookup
    def page(self, account: int, after: int, limit: int) -> Steps[list[InboundMessage]]:
        rows = yield Q.inbound_after(account=account, after=after, limit=limit, octets=PAGE_OCTETS)
        return [inbound_of(row) for row in rows]

    @lookup
    def find(self, account: int, key: int, tail: int) -> Steps[InboundMessage | None]:
        row = yield from first(Q.inbound_of_account(account=account, key=key, tail=tail))
        return None if row is None else inbound_of(row)

    @lookup
    def newest(self, accounts: Sequence[int]) -> Steps[dict[int, int]]:
        return dict((yield Q.newest_positions(accounts=list(accounts))))


class StoredInbound(Operations):
    @lookup
    def repeated(self, connector: int, digests: Sequence[int], now: int, node: int) -> Steps[FoundCopies]:
        rows = yield Q.repeated(
            connector=connector, digests=list(digests), since=now - REPEAT_MS, slow=now - SLOW_ANSWER_MS, node=node
        )
        copies = [(digest, key, bool(certain)) for digest, key, certain, _ in rows if key is not None]
        return FoundCopies(copies, rows[0][3] if rows else 0)

    @claiming
    def gather(self, sets: Sequence[PartSet], node: int) -> Steps[list[list[InboundPart]]]:
        return (yield from _claim(sets, 0, node))

    @claiming
    def ready(self, before: int, limit: int, node: int) -> Steps[list[list[InboundPart]]]:
        rows = yield Q.ready_sets(before=before, limit=limit)
        return (yield from _claim([PartSet(*row) for row in rows], before, node))

    @write
    def forget(self, before: int, answered: int, limit: int) -> Steps[int]:
        parts = yield Q.forget_joined(before=before, limit=limit)
        notes = yield Q.forget_unanswered(before=first_key_at(before), limit=limit)
        settled = yield Q.forget_answered(before=first_key_at(answered), limit=ANSWERED)
        return len(parts) + len(notes) + len(settled)

    @browse
    def find(self, query: InboundQuery) -> Steps[list[InboundRecord]]:
        before = ANY_KEY if query.before is None else query.before
        account, number, limit = query.account, query.number, query.limit
        if number and account is None:
            rows = yield Q.inbound_numbered(number=number, before=before, limit=limit)
        elif number:
            rows = yield Q.inbound_numbered_of(account=account, number=number, before=before, limit=limit)
        elif account is None:
            rows = yield Q.inbound_newest(before=before, limit=limit)
        else:
            rows = yield Q.inbound_of(account=account, before=before, limit=limit)
        records: list[InboundRecord] = []
        for row in rows:
            record = yield from _record(inbound_of(row))
            records += [record]
        return records

    @browse
    def show(self, key: int, tail: int) -> Steps[InboundRecord | None]:
        row = yield from first(Q.inbound_by_id(key=key, tail=tail))
        return None if row is None else (yield from _record(inbound_of(row)))

    @write
    def route(self, key: int, tail: int, account: int, now: int) -> Steps[InboundRecord]:
        yield Q.lock_inbound_cursors(account=account)  # first: a pass of retention must not hold up the account
        yield from lock_account(account)
        owner = yield from first(Q.account_by_id(account=account))
        if owner is None:
            raise Missing("no such account")
        found = account_of(owner)
        way, plan = inbound_way(found.inbound_way, found.inbound_url), found.plan
        sender = yield from first(Q.inbound_sender(key=key, tail=tail))
        price = 0 if sender is None else (yield from _price(plan, sender[0], now))
        ((_, last),) = yield Q.newest_positions(accounts=[account])
        position = max(key, first_key_at(now), last + 1)
        if not (yield Q.route_inbound(key=key, tail=tail, account=account, way=way, position=position, price=price)):
            raise Missing("no such inbound message, or it has an owner")
        yield Q.keep_routed(account=account, key=key)
        if price:
            yield Q.enter_inbound(account=account, position=position, price=price, key=key, at=now)
            yield Q.change_balance(account=account, amount=-price)
        if way is not Way.NONE:
            yield Q.owe_again(keys=[key], now=now)
        ((*row,),) = yield Q.inbound_by_id(key=key, tail=tail)
        return (yield from _record(inbound_of(row)))

    @write
    def add_number(self, number: InboundNumber) -> Steps[InboundNumber]:
        if not (yield Q.account_by_id(account=number.account)):
            raise Missing("no such account")
        if number.connector and not (yield Q.connector_exists(connector=number.connector)):
            raise Missing("no such connector")
        added = yield Q.add_number(
            number=number.number, keyword=number.keyword, connector=number.connector, account=number.account
        )
        if not added:
            raise Exists("there is such a number already")
        yield tables_changed()
        return replace(number, id=added[0][0])

    @write
    def remove_number(self, number: int) -> Steps[None]:
        if not (yield Q.remove_number(number=number)):
            raise Missing("no such number")
        yield tables_changed()


def _price(plan: str, sender: str, at: int) -> Steps[int]:
    """The price of a message from a phone at a moment, as `Directory.inbound_price` finds it."""
    known = prefixes(normalise_number(sender))
    row = yield from first(Q.inbound_price(plans=[plan, DEFAULT_PLAN], prefixes=known, plan=plan, at=at))
    return 0 if row is None else int(row[0])


def _claim(sets: Sequence[PartSet], before: int, node: int) -> Steps[list[list[InboundPart]]]:
    """Claims the parts of the sets that are complete, or whose first part came before a time. They are locked in a
    fixed order, so that two nodes do not deadlock."""
    yield Q.check_claimant(node=node)  # parts of a node that was given up before would stay claimed for ever
    claimed = []
    for each in sorted(sets, key=_order):
        rows = yield Q.waiting_parts(**set_values(each))
        parts = [part_of(row) for row in rows]
        if len(parts) >= each.total or any(part.at < before for part in parts):
            yield Q.claim_parts(**set_values(each), node=node)
            claimed.append(parts)
    return claimed


def _order(of: PartSet) -> tuple[int, str, str, int, int]:
    return of.connector, of.sender, of.recipient, of.reference, of.total


def _record(message: InboundMessage) -> Steps[InboundRecord]:
    view = CallbackView(message.key, message.tail, message.account, "", 0, "", 0)
    if message.account and message.way is Way.WEBHOOK:
        owner = yield from first(Q.account_by_id(account=message.account))
        view.url = "" if owner is None else account_of(owner).inbound_url
    record = InboundRecord(message, (yield from callback_of(view)))
    if message.account:
        ((key, tail, refused),) = yield Q.reply_of(
            key=message.key, reference=reply_reference(message.key, message.tail)
        )
        record.reply = None if key is None else (key, tail)
        record.refused = refused
    return record
