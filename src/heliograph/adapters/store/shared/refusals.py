"""`app.ports.RefusedRequests`: counts of refused requests, and the last of these requests."""

from collections.abc import Sequence

from heliograph.adapters.store.shared.rows import hours_values, query_values, refusal_values, refused_values
from heliograph.adapters.store.shared.steps import Operations, Q, Steps, listing, write
from heliograph.app.records import RefusalCount, RefusalQuery, RefusalTotal, RefusedRequest
from heliograph.domain.error import Reason


class StoredRefusedRequests(Operations):
    @write
    def add(self, counts: Sequence[RefusalCount], latest: Sequence[RefusedRequest], most: int) -> Steps[None]:
        # in a fixed order, so that two nodes do not deadlock
        for count in sorted(counts, key=lambda each: (each.account, each.reason, each.hour)):
            yield Q.add_refusals(**refusal_values(count))
        for request in latest:
            yield Q.keep_refused_request(**refused_values(request))
        for account, reason in sorted({(each.account, each.reason) for each in latest}):
            yield Q.drop_refused_requests(account=account, reason=reason.value, most=most)

    @listing
    def totals(self, query: RefusalQuery, limit: int) -> Steps[list[RefusalTotal]]:
        rows = yield Q.refusal_totals(**hours_values(query), limit=limit)
        return [RefusalTotal(account, Reason(reason), int(sum_), latest) for account, reason, sum_, latest in rows]

    @listing
    def hours(self, query: RefusalQuery) -> Steps[list[tuple[int, int]]]:
        rows = yield Q.refusal_hours(**hours_values(query))
        return [(hour, int(requests)) for hour, requests in rows]

    @listing
    def latest(self, query: RefusalQuery, limit: int) -> Steps[list[RefusedRequest]]:
        rows = yield Q.refused_requests(**query_values(query), limit=limit)
        return [RefusedRequest(account, Reason(reason), *rest) for account, reason, *rest in rows]

    @write
    def forget(self, before: int, limit: int) -> Steps[int]:
        counts = yield Q.forget_refusals(before=before, limit=limit)
        requests = yield Q.forget_refused_requests(before=before, limit=limit)
        return max(len(counts), len(requests))
