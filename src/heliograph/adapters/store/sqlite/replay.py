"""Idempotent replays: looks up the first result of the request that used a reference."""

import sqlite3
from dataclasses import replace
from functools import partial

from heliograph.adapters.store.shared.replay import replayed
from heliograph.adapters.store.sqlite.driver import drive
from heliograph.app.facts import Accept


def earlier(db: sqlite3.Connection, accept: Accept, here: Accept | None) -> Accept | None:
    """Returns the first result of the request that used the same reference, in this transaction (`here`) or in the
    rows; None if none did."""
    assert accept.reference is not None
    if here is not None:
        return replace(here, messages=[replace(message) for message in here.messages])
    found = drive(db, partial(replayed, accept.account, accept.reference))
    return None if found is None else found[1]
