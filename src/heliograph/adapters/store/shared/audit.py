"""Proof of the books, from the rows alone: what must not be, as queries, and the sentences that say so."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from heliograph.adapters.store.shared.sql import SqlDialect, fill
from heliograph.app.marks import AWAITING, CALLBACK, DISPATCH
from heliograph.domain.ids import to_hex
from heliograph.domain.money import format_credits

MOST = 1_000
"""Findings of one kind that are told; there may be more."""


def checks(mark: Callable[[str, str], str]) -> list[tuple[str, str]]:
    """Sentences, each with the query that fills its places.

    `mark(name, key)` is an expression for the mark of that name which the message with this key (an expression too)
    is under; 0 where there is none. Columns `..._credits` are money; `key` and `tail` make an `id`.
    """
    places = {
        "dispatch": mark(DISPATCH, "m.key"),
        "awaiting": mark(AWAITING, "m.key"),
        "callback": mark(CALLBACK, "f.key"),
    }
    return [(sentence, fill(query, SqlDialect(words=places))) for sentence, query in _CHECKS]


def findings(sentence: str, names: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    """The sentence, its places filled, for each row of its query."""
    return [sentence.format_map(_places(names, row)) for row in rows]


def _places(names: Sequence[str], row: Sequence[Any]) -> dict[str, str]:
    values = dict(zip(names, row, strict=True))
    places = {
        name: format_credits(int(value)) if name.endswith("_credits") else str(value) for name, value in values.items()
    }
    if "key" in values:
        tail = values.get("tail")
        places["id"] = f"with the key {values['key']}" if tail is None else to_hex(values["key"], tail)
    return places


_CHECKS: tuple[tuple[str, str], ...] = (
    (
        "The balance of the account {name} is {balance_credits}, but its ledger adds up to {ledger_credits}.",
        """
        SELECT a.name, a.balance AS balance_credits, coalesce(sum(l.amount), 0) AS ledger_credits
        FROM account AS a LEFT JOIN ledger AS l ON l.account = a.id
        GROUP BY a.id HAVING a.balance <> coalesce(sum(l.amount), 0)
        """,
    ),
    (
        "The ledger has an entry of {amount_credits} for the account number {account}, which does not exist.",
        """
        SELECT l.account, l.amount AS amount_credits FROM ledger AS l
        WHERE NOT EXISTS (SELECT 1 FROM account AS a WHERE a.id = l.account)
        """,
    ),
    (
        "The message {id} costs {price_credits} and was charged {charged_credits}.",
        """
        SELECT m.key, m.tail, m.price AS price_credits, -coalesce(l.amount, 0) AS charged_credits
        FROM message AS m
        LEFT JOIN ledger AS l ON l.account = m.account AND l.key = m.key AND l.kind = {EntryKind.CHARGE}
        WHERE m.batch = 0 AND m.price <> -coalesce(l.amount, 0)
        """,
    ),
    (
        "The messages of the batch {id} cost {cost_credits} together and were charged {charged_credits}.",
        """
        SELECT b.key, b.tail, coalesce(sum(m.price), 0) AS cost_credits, -coalesce(l.amount, 0) AS charged_credits
        FROM batch AS b
        LEFT JOIN message AS m ON m.key > b.key AND m.key <= b.last_key AND m.batch = b.key AND m.account = b.account
        LEFT JOIN ledger AS l ON l.account = b.account AND l.key = b.key AND l.kind = {EntryKind.CHARGE}
        GROUP BY b.key, l.amount HAVING coalesce(sum(m.price), 0) <> -coalesce(l.amount, 0)
        """,
    ),
    (
        "The message {id} belongs to a batch that does not exist.",
        """
        SELECT m.key, m.tail FROM message AS m
        WHERE m.batch <> 0 AND NOT EXISTS (
            SELECT 1 FROM batch AS b WHERE b.key = m.batch AND b.account = m.account AND m.key <= b.last_key
        )
        """,
    ),
    (
        "The account number {account} was charged {amount_credits} for what does not exist: the message or batch {id}.",
        """
        SELECT l.account, -l.amount AS amount_credits, l.key FROM ledger AS l
        WHERE l.kind = {EntryKind.CHARGE}
          AND NOT EXISTS (SELECT 1 FROM message AS m WHERE m.key = l.key AND m.account = l.account AND m.batch = 0)
          AND NOT EXISTS (SELECT 1 FROM batch AS b WHERE b.key = l.key AND b.account = l.account)
        """,
    ),
    (
        "A refund of {amount_credits} of the account number {account} is not backed by a lost message: {id}.",
        """
        SELECT l.account, l.amount AS amount_credits, l.message AS key FROM ledger AS l
        WHERE l.kind = {EntryKind.REFUND} AND NOT EXISTS (
            SELECT 1 FROM message AS m
            WHERE m.key = l.message AND m.account = l.account AND m.state IN {ENDED} AND m.price = l.amount
        )
        """,
    ),
    (
        "The message {id} was refunded {times} times.",
        """
        SELECT message AS key, count(*) AS times FROM ledger
        WHERE kind = {EntryKind.REFUND} GROUP BY message HAVING count(*) > 1
        """,
    ),
    (
        "The message {id} was cancelled or failed, and its price of {price_credits} was not refunded.",
        """
        SELECT m.key, m.tail, m.price AS price_credits FROM message AS m
        WHERE m.state IN {ENDED} AND m.price <> 0
          AND NOT EXISTS (SELECT 1 FROM ledger AS l WHERE l.kind = {EntryKind.REFUND} AND l.message = m.key)
        """,
    ),
    (
        "The message {id} has the state {state}, which does not exist.",
        "SELECT key, tail, state FROM message WHERE state NOT IN {STATES}",
    ),
    (
        "The message {id} is cancelled or failed, and nothing says when.",
        """
        SELECT m.key, m.tail FROM message AS m
        WHERE m.state IN {ENDED} AND NOT EXISTS (
            SELECT 1 FROM final AS f WHERE f.key = m.key AND (f.state IS NULL) = (m.state = {State.CANCELLED})
        )
        """,
    ),
    (
        "The message {id} came to an end, which its state does not say.",
        """
        SELECT m.key, m.tail FROM message AS m JOIN final AS f ON f.key = m.key
        WHERE m.state IN {WAITING} OR (f.state IS NULL AND m.state <> {State.CANCELLED})
        """,
    ),
    (
        "The scheduled message {id} is not in the queue.",
        """
        SELECT m.key, m.tail FROM message AS m
        WHERE m.state IN {WAITING} AND NOT EXISTS (SELECT 1 FROM queue AS q WHERE q.key = m.key)
        """,
    ),
    (
        "The message {id} is in the queue, although it has ended, is answered, or does not exist.",
        """
        SELECT q.key, m.tail FROM queue AS q
        LEFT JOIN message AS m ON m.key = q.key
        WHERE m.key IS NULL OR m.state NOT IN {OPEN} OR EXISTS (SELECT 1 FROM final AS f WHERE f.key = q.key)
           OR (SELECT count(*) FROM sent AS s WHERE s.key = q.key) >= m.segments
        """,
    ),
    (
        "The message {id} is to be sent, and nothing will send it.",
        """
        SELECT m.key, m.tail FROM message AS m
        WHERE m.state = {State.SENT} AND m.key <= {dispatch}
          AND (SELECT count(*) FROM sent AS s WHERE s.key = m.key) < m.segments
          AND NOT EXISTS (SELECT 1 FROM queue AS q WHERE q.key = m.key)
          AND NOT EXISTS (SELECT 1 FROM final AS f WHERE f.key = m.key)
        """,
    ),
    (
        "The receipt of part {part} of the message {id} is awaited, and would not be recognised.",
        """
        SELECT m.key, m.tail, s.segment + 1 AS part
        FROM sent AS s JOIN message AS m ON m.key = s.key
        WHERE s.status = 0 AND m.wants_receipt
          AND m.key <= {awaiting}
          AND NOT EXISTS (SELECT 1 FROM final AS f WHERE f.key = m.key)
          AND NOT EXISTS (SELECT 1 FROM part_receipt AS p WHERE p.key = s.key AND p.segment = s.segment)
          AND NOT EXISTS (SELECT 1 FROM awaiting AS a WHERE a.key = s.key AND a.segment = s.segment)
        """,
    ),
    (
        "A callback is owed for the message {id}, and nothing will make it.",
        """
        SELECT f.key, m.tail
        FROM final AS f LEFT JOIN message AS m ON m.key = f.key
        WHERE f.owed AND f.key <= {callback}
          AND NOT EXISTS (SELECT 1 FROM callback AS c WHERE c.key = f.key)
          AND NOT EXISTS (SELECT 1 FROM callback_retry AS r WHERE r.key = f.key AND r.due IS NOT NULL)
        """,
    ),
    (
        "A callback for the message {id} is to be made, although the message has not ended.",
        """
        SELECT r.key FROM callback_retry AS r
        WHERE NOT EXISTS (SELECT 1 FROM final AS f WHERE f.key = r.key AND f.state IS NOT NULL)
        """,
    ),
)
