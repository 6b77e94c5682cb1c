"""Idempotent replays: looks up the first result of the request that used a reference."""

import sqlite3
from dataclasses import replace
from functools import partial

from heliograph.adapters.store.shared.replay import replayed
from heliograph.adapters.store.sqlite.driver import drive
from heliograph.app.facts import Accept, Verdict


def earlier(db: sqlite3.Connection, accept: Accept, here: Accept | None) -> tuple[Verdict, Accept | None] | None:
    """Returns verdict and first result of the request that used the accept's reference before, in this transaction
    (`here`) or in the rows; None if none did."""
    assert accept.reference is not None
    if here is not None:
        if here.fingerprint != accept.fingerprint:
            return Verdict.REFERENCE_CONFLICT, None
        return Verdict.REPLAYED, replace(here, messages=[replace(message) for message in here.messages])
    found = drive(db, partial(replayed, accept.account, accept.reference))
    if found is None:
        return None
    fingerprint, first = found
    if fingerprint != accept.fingerprint:
        return Verdict.REFERENCE_CONFLICT, None
    return Verdict.REPLAYED, first
