"""`app.ports.AuditLog`: what users of the gateway did."""

import json

from heliograph.adapters.store.shared.rows import ANY_KEY
from heliograph.adapters.store.shared.steps import Operations, Q, Query, Steps, listing, write
from heliograph.app.admin.oversight import AuditEntry, AuditQuery


class StoredAuditLog(Operations):
    @write
    def append(self, deed: AuditEntry) -> Steps[None]:
        yield append(deed)

    @listing
    def find(self, query: AuditQuery) -> Steps[list[AuditEntry]]:
        rows = yield Q.deeds(
            before=ANY_KEY if query.before is None else query.before,
            actor=query.actor,
            action=query.action,
            target=query.target,
            limit=query.limit,
        )
        return [
            AuditEntry(at, actor, action, target, json.loads(details), address, key)
            for at, actor, action, target, details, address, key in rows
        ]


def append(deed: AuditEntry) -> Query:
    details = json.dumps(deed.details, ensure_ascii=False)
    return Q.append_deed(
        at=deed.at, actor=deed.actor, action=deed.action, target=deed.target, details=details, address=deed.address
    )
