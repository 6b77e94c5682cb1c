"""`app.ports.Queue`: claims of scheduled, deferred and overflowing messages."""

from collections.abc import Mapping, Sequence

from heliograph.adapters.store.shared.rows import messages_of
from heliograph.adapters.store.shared.steps import Operations, Q, Rows, Steps, claiming, lookup, write
from heliograph.app.facts import NO_ANSWER, Queued, UntriedRow


class StoredQueue(Operations):
    @claiming
    def claim(
        self, connector: int, limit: int, now: int, node: int, accounts: Sequence[int] = ()
    ) -> Steps[list[Queued]]:
        if accounts:
            rows = yield Q.claim_of(connector=connector, accounts=list(accounts), limit=limit, now=now, node=node)
        else:
            rows = yield Q.claim_due(connector=connector, limit=limit, now=now, node=node)
        return (yield from _claimed(rows, node))

    @claiming
    def claim_expired(self, limit: int, now: int, node: int) -> Steps[list[Queued]]:
        rows = yield Q.claim_expired(limit=limit, now=now, node=node)
        return (yield from _claimed(rows, node))

    @lookup
    def accounts(self, connector: int, now: int) -> Steps[list[int]]:
        rows = yield Q.queued_accounts(connector=connector, now=now)
        return [account for (account,) in rows]

    @lookup
    def next_due(self) -> Steps[dict[int, int]]:
        rows = yield Q.next_due()
        # another node may have claimed the connector's last row between the two queries
        return {connector: due for connector, due in rows if due is not None}

    @lookup
    def untried(self, connector: int, limit: int, now: int) -> Steps[list[UntriedRow]]:
        rows = yield Q.untried_rows(connector=connector, limit=limit, now=now)
        return [UntriedRow(*row) for row in rows]

    @write
    def move(self, keys: Sequence[int], connector: int, instead: int) -> Steps[int]:
        yield Q.lock_queued(keys=list(keys))
        return len((yield Q.move_untried(keys=list(keys), connector=connector, instead=instead)))

    @write
    def resume(self, now: int, limit: int) -> Steps[int]:
        keys = [key for (key,) in (yield Q.resumed_messages(limit=limit))]
        if not keys:
            return 0
        yield Q.lock_queued(keys=keys)
        yield Q.end_message_holds(keys=keys, now=now)
        return len((yield Q.resume_messages(keys=keys, now=now)))

    @write
    def release(self, node: int) -> Steps[int]:
        messages = yield Q.release_messages(node=node)
        notices = yield Q.release_notices(node=node)
        parts = yield Q.release_parts(node=node)
        return len(messages) + len(notices) + len(parts)


def _claimed(rows: Rows, node: int) -> Steps[list[Queued]]:
    """Claims the rows and returns their messages, with the connector that they now wait for."""
    if not rows:
        return []
    keys = [key for key, _, _ in rows]
    yield Q.claim(keys=keys, node=node)
    yield Q.become_sent(keys=keys)
    claimed = yield from queued_of({key: bool(attempted) for key, _, attempted in rows}, queued=True)
    connectors = {key: connector for key, connector, _ in rows}
    suppressed = yield Q.suppressed_among(keys=keys)
    replies = yield Q.replies_among(keys=keys)
    tried, resent = yield from tried_among(connectors)
    released: dict[int, int] = dict((yield Q.released_among(keys=keys)))
    for queued in claimed:
        ended = released.get(queued.message.key, 0)
        if ended > queued.message.time:  # a scheduled message may be held and released long before
            queued.message.released = ended
        connector = connectors[queued.message.key]
        queued.untried = not (queued.attempted or queued.answered or queued.message.key in tried)
        queued.preliminary = queued.untried and queued.message.connector == connector
        queued.message.connector = connector
        if queued.message.key in tried:
            queued.tried = tried[queued.message.key] - {connector}
            queued.resent = queued.message.key in resent
        queued.suppressed = (queued.message.key,) in suppressed
        queued.is_reply = (queued.message.key,) in replies
    return claimed


def tried_among(connectors: Mapping[int, int]) -> Steps[tuple[dict[int, frozenset[int]], set[int]]]:
    """Returns the connectors that tried some messages without an end, by the message's key, and the keys of the
    messages that an operator took and did not deliver, or that the operator of another connector may have.
    `connectors`: the connectors that the messages wait for, by their keys.

    A connector that was removed may have taken parts of a message. Their receipts are awaited as before, so it does not
    count as tried."""
    tried: dict[int, frozenset[int]] = {}
    resent = set()
    for key, connector, taken, is_unanswered, has_parts in (yield Q.tried_among(keys=list(connectors))):
        tried[key] = tried.get(key, frozenset()) | (frozenset() if has_parts else {connector})
        if taken or (is_unanswered and connector != connectors[key]):
            resent.add(key)
    return tried, resent


def queued_of(attempted: Mapping[int, bool], *, queued: bool) -> Steps[list[Queued]]:
    """Returns the messages of these keys with the answers to their parts. `attempted` says of each key whether the
    message may have been sent."""
    if not attempted:
        return []
    answered: dict[int, set[int]] = {}
    taken: dict[int, set[int]] = {}
    answers = yield Q.answers(keys=list(attempted))
    for key, segment, status in answers:
        answered.setdefault(key, set()).add(segment)
        if status in {0, NO_ANSWER}:
            taken.setdefault(key, set()).add(segment)
    messages = yield from messages_of(attempted, queued=queued)
    return [
        Queued(
            message,
            attempted[message.key],
            frozenset(answered.get(message.key, ())),
            frozenset(taken.get(message.key, ())),
        )
        for message in messages
    ]
