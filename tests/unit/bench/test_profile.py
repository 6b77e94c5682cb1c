"""Samples are put to the right stage, and add up."""

from bench.loop.profile import LOOP, read_stacks, stage_of, summary

RUNNER = "Runner.run (11/asyncio/runners.py)"
STORE = "FileConnection.transact (heliograph/adapters/store/sqlite/worker.py)"
REPORT = "ReceiptMatcher.apply (heliograph/app/receipts/matcher.py)"
RULE = "variants (heliograph/domain/message/operator_id.py)"


def test_stacks_begin_below_the_event_loop() -> None:
    text = f"main (x.py);{RUNNER};{REPORT};{RULE} 3\nmain (x.py);{RUNNER} 2\n"
    assert list(read_stacks(text)) == [((REPORT, RULE), 3), ((LOOP,), 2)]


def test_a_rule_of_the_domain_counts_for_whoever_applies_it() -> None:
    assert stage_of((REPORT, RULE)) == "receipts: match, apply"


def test_a_library_counts_for_whoever_calls_it() -> None:
    assert stage_of((REPORT, STORE, "dumps (11/json/__init__.py)")) == "store"


def test_what_is_nobodys_is_the_loops() -> None:
    assert stage_of((LOOP,)) == LOOP


def test_shares_become_microseconds() -> None:
    text = summary([((REPORT, RULE), 3), ((LOOP,), 1)], 40.0)
    assert "  30.00 us  receipts: match, apply" in text
    assert "  10.00 us  event loop and system calls" in text
    assert "  30.00 us    variants" in text, "the tree is indented by depth"
