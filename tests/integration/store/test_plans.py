"""That what is asked often is read in the order of an index: no sorting, no reading of whole tables."""

import json
import re
import sqlite3
from collections.abc import Iterator

import pytest

from heliograph.adapters.store.shared import search
from heliograph.adapters.store.sqlite import record
from heliograph.adapters.store.sqlite.connection import connect, create_file
from heliograph.adapters.store.sqlite.driver import STATEMENTS
from heliograph.adapters.store.sqlite.schema import migrate, shipped
from heliograph.adapters.store.sqlite.statements import Insert
from heliograph.app.records import Search
from heliograph.domain.message.status import MessageStatus


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    path = tmp_path_factory.mktemp("plans") / "store.db"
    create_file(path)
    db = connect(path, 100, read_only=False)
    migrate(db, shipped(), 100)
    yield db
    db.close()


@pytest.fixture
def db(shared: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """A new store for each test; what a test writes is undone."""
    shared.execute("BEGIN")
    yield shared
    shared.set_progress_handler(None, 0)
    shared.rollback()


def plan_of(db: sqlite3.Connection, name: str) -> str:
    """The plan of a named statement."""
    statement = STATEMENTS[name]
    values = dict.fromkeys(statement.parameters, "[]")
    return "\n".join(row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {statement.text}", values))


def plan(db: sqlite3.Connection, query: str, *parameters: object) -> str:
    return "\n".join(row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {query}", parameters))


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("pending", [False, True])
def test_pages_of_lists_are_read_in_the_order_of_their_indexes(
    db: sqlite3.Connection, pending: bool, descending: bool
) -> None:
    text = plan_of(db, f"{'pending' if pending else 'listed'}_page_{'down' if descending else 'up'}")
    assert "INDEX message_listed (account=? AND time>? AND time<?)" in text
    assert ("INDEX message_scheduled (account=? AND time>? AND time<?)" in text) == pending
    assert "TEMP B-TREE" not in text
    assert "SCAN" not in text


def test_due_rows_are_read_in_their_order(db: sqlite3.Connection) -> None:
    for text, index in (
        (plan_of(db, "claim_due"), "queue_due (connector=? AND due<?)"),
        (plan_of(db, "claim_of"), "queue_account (connector=? AND account=? AND due<?)"),
        (plan_of(db, "claim_expired"), "queue_expires (expires<?)"),
    ):
        assert index in text
        # what was found of several accounts is few rows, and sorted
        assert ("TEMP B-TREE" in text) == (index.startswith("queue_account"))


def test_the_next_due_is_found_by_jumps(db: sqlite3.Connection) -> None:
    text = plan_of(db, "next_due")
    assert text.count("SEARCH queue USING INDEX queue_due") + text.count("SEARCH queue USING INDEX queue_account") == 3
    assert "SCAN queue" not in text


def test_the_accounts_in_the_queue_are_found_by_jumps(db: sqlite3.Connection) -> None:
    text = plan_of(db, "queued_accounts")
    assert len(re.findall("SEARCH queue (?:EXISTS )?USING INDEX queue_account", text)) == 3
    assert "SCAN queue" not in text


def test_waiting_messages_are_counted_from_the_queue_and_not_from_all_messages(db: sqlite3.Connection) -> None:
    for name in ("backlog_groups", "backlog_rows"):
        text = plan_of(db, name)
        assert "SEARCH q USING INTEGER PRIMARY KEY (rowid>?" in text
        assert "SEARCH m USING INTEGER PRIMARY KEY (rowid=?)" in text


@pytest.mark.parametrize("name", ["resumed_messages", "held_messages", "held_number", "let_go"])
def test_held_rows_are_read_from_their_own_index(db: sqlite3.Connection, name: str) -> None:
    text = plan_of(db, name)
    assert "USING INDEX queue_held" in text or "USING COVERING INDEX queue_held" in text
    assert "queue_due" not in text


def test_the_next_callback_is_the_first_of_its_index(db: sqlite3.Connection) -> None:
    text = plan_of(db, "next_notice_due")
    assert "SEARCH callback_retry USING INDEX callback_retry_due" in text
    text = plan_of(db, "claim_notices")
    assert "SEARCH r USING INDEX callback_retry_due (due>? AND due<?)" in text
    assert "TEMP B-TREE" not in text


def test_accounts_whose_receivers_fail_are_found_by_jumps(db: sqlite3.Connection) -> None:
    read = [line for line in plan_of(db, "failing_receivers").splitlines() if "callback_retry" in line]
    assert len(read) >= 4
    assert all(line.startswith("SEARCH callback_retry USING INDEX callback_retry_failed") for line in read)


def test_receipts_are_found_by_the_operators_id(db: sqlite3.Connection) -> None:
    text = plan_of(db, "awaited")
    assert "SEARCH a USING PRIMARY KEY (connector=? AND operator_id=?)" in text
    assert "SCAN a" not in text
    for query in ("overdue", "unreported"):
        text = plan_of(db, query)
        assert "SEARCH awaiting USING COVERING INDEX awaiting_key (key>? AND key<?)" in text
        assert "TEMP B-TREE" not in text
    assert "SCAN a" not in text
    text = plan_of(db, "ended_parts")
    assert "SEARCH s USING PRIMARY KEY (key>? AND key<?)" in text
    assert "TEMP B-TREE" not in text


@pytest.mark.parametrize("query", ["unsent", "unanswered", "untold"])
def test_recovery_reads_only_above_the_mark(db: sqlite3.Connection, query: str) -> None:
    text = plan_of(db, query)
    assert "USING INTEGER PRIMARY KEY (rowid>?)" in text.splitlines()[0]
    assert "SCAN" not in text
    assert "TEMP B-TREE" not in text


@pytest.mark.parametrize("query", [record._ATTEMPTED, record._DEQUEUE, record._END_RETRY])
def test_rows_of_the_slow_tables_are_changed_by_their_keys(db: sqlite3.Connection, query: str) -> None:
    assert "USING INTEGER PRIMARY KEY (rowid=?)" in plan(db, query, "[]").splitlines()[0]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 31, 32, 33, 1_000])
def test_any_number_of_rows_is_inserted_in_order(db: sqlite3.Connection, count: int) -> None:
    rows = [(f"mark {number}", number) for number in range(count)]
    Insert("INSERT INTO mark (name, value)", 2, "ON CONFLICT DO NOTHING")(db, rows)
    assert sorted(db.execute("SELECT name, value FROM mark"), key=lambda row: row[1]) == rows


def test_deferred_messages_are_counted_without_a_look_at_scheduled_ones(db: sqlite3.Connection) -> None:
    text = plan_of(db, "deferred")
    assert "SEARCH queue USING INDEX queue_put_off (due>?)" in text
    assert "SCAN queue" not in text


@pytest.mark.parametrize("status", [None, *MessageStatus])
def test_searches_are_read_in_the_order_of_an_index(db: sqlite3.Connection, status: MessageStatus | None) -> None:
    for account in (None, 1):
        ((rows, *_),) = search._rows(Search(account=account, status=status), 0)
        text = plan_of(db, f"reached_{rows}")
        assert "TEMP B-TREE" not in text
        assert "SCAN" not in text.replace("SCAN found", "")  # the rows themselves
        if status is MessageStatus.UNDELIVERED:
            assert "INDEX final_undelivered (key>? AND key<?)" in text
        elif status is MessageStatus.HELD:
            assert "queue" in text, "only rows of the queue, of which few are held"
        elif status is MessageStatus.FAILED:
            assert "INDEX message_state (state=? AND rowid>? AND rowid<?)" in text
        elif account is not None:
            assert "(account=? AND time>? AND time<?)" in text
        elif status in (MessageStatus.SCHEDULED, MessageStatus.CANCELLED):
            assert "INDEX message_state (state=? AND rowid>? AND rowid<?)" in text
        else:
            assert "INTEGER PRIMARY KEY (rowid>? AND rowid<?)" in text


def test_a_search_by_number_looks_into_each_block_once(db: sqlite3.Connection) -> None:
    (tail, *_), (blocks, *_) = search._rows(Search(number="4917012345678"), 7)
    assert (tail, blocks) == ("by_key", "by_number")
    text = plan_of(db, "reached_by_number")
    assert "SEARCH n USING PRIMARY KEY (block=? AND number>? AND number<?)" in text
    # sorted block by block: a page of the newest ones needs no others
    assert re.search("TEMP B-TREE FOR (LAST TERM|RIGHT PART) OF ORDER BY", text)
    assert "SCAN b" in text  # every block, of which there are few; newest first, by its key


def test_messages_of_a_request_are_read_alone(db: sqlite3.Connection) -> None:
    text = plan_of(db, "reached_of_id")
    assert "SEARCH message USING INTEGER PRIMARY KEY (rowid=?)" in text
    assert "SEARCH m USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)" in text
    assert "TEMP B-TREE" not in text
    text = plan_of(db, "reached_of_reference")
    assert "SEARCH r USING PRIMARY KEY (account=? AND reference=?)" in text
    assert "SEARCH m USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)" in text
    for name in ("page_of_id", "page_of_reference"):
        assert not re.search("SCAN (message|m|r|b)\\b", plan_of(db, name))


def test_pulled_messages_are_read_in_the_order_of_their_index(db: sqlite3.Connection) -> None:
    text = plan_of(db, "inbound_after")
    assert "SEARCH inbound USING INDEX inbound_position (account=? AND position>?)" in text
    assert "SEARCH i USING INTEGER PRIMARY KEY" in text
    assert "SCAN inbound" not in text
    text = plan_of(db, "newest_positions")
    assert "SEARCH i USING COVERING INDEX inbound_position (account=?)" in text


@pytest.mark.parametrize("name", ["inbound_numbered", "inbound_numbered_of"])
def test_inbound_messages_are_found_by_number_on_both_sides(db: sqlite3.Connection, name: str) -> None:
    text = plan_of(db, name)
    assert re.search(r"SEARCH inbound USING (COVERING )?INDEX inbound_sender \(sender=\? AND <expr><\?\)", text)
    assert re.search(r"SEARCH inbound USING (COVERING )?INDEX inbound_recipient \(recipient=\? AND <expr><\?\)", text)
    assert "SCAN inbound" not in text


@pytest.mark.parametrize("name", ["next_dates", "due", "changed_costs"])
def test_dates_of_costs_that_have_passed_are_not_read(db: sqlite3.Connection, name: str) -> None:
    db.execute(
        "INSERT INTO cost (connector, network, prefix, since, until, submitted, delivered) "
        "SELECT 1, '', value, 5, 6, 1, 1 FROM json_each(?)",
        (json.dumps(list(range(20_000))),),
    )
    statement, ticks = STATEMENTS[name], []
    values = {"since": 0, "was": 10, "now": 20, "limit": 99}
    db.set_progress_handler(lambda: ticks.append(1), 100)
    db.execute(statement.text, {each: values[each] for each in statement.parameters}).fetchall()
    assert len(ticks) < 20, "in hundreds of instructions of SQLite"


def test_suppressed_numbers_are_found_by_their_digests(db: sqlite3.Connection) -> None:
    """The number of suppressions of an account does not matter."""
    lines = plan_of(db, "suppressed_numbers").splitlines()
    assert lines[0] == "SEARCH a USING INTEGER PRIMARY KEY (rowid=?)", "no number is read if it has no suppression"
    assert "SEARCH s USING PRIMARY KEY (account=? AND digest=?)" in lines
    assert "SCAN suppression_key" in lines[-1], "once"
    assert not any(line == "SCAN s" or line.startswith("SCAN s ") for line in lines)


@pytest.mark.parametrize("name", ["suppressed_among", "waiting_for"])
def test_answers_to_phones_are_found_by_their_index(db: sqlite3.Connection, name: str) -> None:
    """The index is partial, so a statement must exclude 0 to use it. Without it each waiting message read all inbound
    messages."""
    text = plan_of(db, name)
    assert "SEARCH i USING COVERING INDEX inbound_replied (replied=?)" in text
    assert "SCAN i" not in text
