"""What `app.ports.Messages` has in common on both engines: all but the search itself."""

from collections.abc import Sequence

from heliograph.adapters.store.shared.steps import Operations, Q, Steps, browse, first, listing
from heliograph.adapters.store.shared.trace import hit_of, record_of
from heliograph.app.admin.oversight import Hit, MessageRecord


class StoredMessages(Operations):
    @browse
    def identified(self, key: int, tail: int, limit: int) -> Steps[list[Hit]]:
        rows = yield Q.hit_of_id(key=key, tail=tail)
        if rows:
            return [hit_of(row) for row in rows]
        batch = yield from first(Q.batch_of_id(key=key, tail=tail))
        return [] if batch is None else (yield from _hits_of_batch(key, batch[0], limit))

    @browse
    def referenced(self, reference: str, account: int | None, limit: int) -> Steps[list[Hit]]:
        hits: list[Hit] = []
        uses = yield Q.uses_of_reference(reference=reference, account=account)
        for key, last_key, is_batch in uses:
            if len(hits) >= limit:
                break
            if is_batch:
                hits += yield from _hits_of_batch(key, last_key, limit - len(hits))
            else:
                rows = yield Q.hit(key=key)
                hits += [hit_of(row) for row in rows]
        return hits

    @listing
    def of_references(self, account: int, references: Sequence[str]) -> Steps[list[Hit]]:
        rows = yield Q.hits_of_references(account=account, references=list(references))
        return [hit_of(row) for row in rows]

    @browse
    def trace(self, key: int) -> Steps[MessageRecord | None]:
        found = yield from first(Q.hit(key=key))
        return None if found is None else (yield from record_of(hit_of(found).message))


def _hits_of_batch(key: int, last_key: int, limit: int) -> Steps[list[Hit]]:
    rows = yield Q.hits_of_batch(key=key, last_key=last_key, limit=limit)
    return [hit_of(row) for row in rows]
