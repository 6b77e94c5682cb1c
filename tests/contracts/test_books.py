"""The books after anything: random lives of a store, beside a model of a few dictionaries."""

import asyncio
import tempfile
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from heliograph.app.configuration import Price, TopUp
from heliograph.app.facts import Accept, Facts, InboundMessage, Message, MessageEnd, Submission, Verdict
from heliograph.app.ports import ListQuery, NotScheduled
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.state import State
from tests.support.store import HOUR, OPENERS, Given, Opener, delivery_of

T = TypeVar("T")

ACCOUNTS = 3
ENGINE, OTHER = 0, 2
NODES = (ENGINE, OTHER)


@dataclass
class Known:
    """What the model knows of a message."""

    message: Message
    state: State
    due: int
    expires: int
    queued: bool
    node: int | None = None
    ended: bool = False
    answered: bool = False


@dataclass
class Model:
    balances: dict[int, int] = field(default_factory=dict)
    suspended: set[int] = field(default_factory=set)
    messages: dict[int, Known] = field(default_factory=dict)
    requests: list[Accept] = field(default_factory=list)
    references: dict[tuple[int, str], Accept] = field(default_factory=dict)
    inbound: dict[int, list[int]] = field(default_factory=dict)
    """Keys of messages from phones by owner, in the order in which they became its own."""
    unrouted: list[InboundMessage] = field(default_factory=list)
    engine: int = 1
    """The node that is the engine's run."""


class Books(RuleBasedStateMachine):
    """`opener_in` is set by the implementation under test."""

    opener_in: Callable[[Path], Opener]

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory()
        self.opener: Opener = self.opener_in(Path(self.folder.name))
        self.store = self.run(self.opener())
        self.given = Given(self.store)
        self.model = Model()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    def teardown(self) -> None:
        self.run(self.store.close())
        self.runner.close()
        self.folder.cleanup()

    @initialize()
    def open_accounts(self) -> None:
        """And begins the first run of the engine: only a run's claims are free when the next one begins."""
        self.run(self.store.commits.recover(0, self.model.engine))
        for number in range(ACCOUNTS):
            account = self.run(self.given.account(f"account-{number}", credit=number * 5, credit_limit=number))
            self.model.balances[account.id] = number * 5

    @invariant()
    def the_books_are_in_order(self) -> None:
        assert self.run(self.store.upkeep.audit()) == []
        for account, balance in self.model.balances.items():
            assert self.run(self.store.customers.balance(account)) == balance

    @invariant()
    def every_message_is_listed_in_its_state(self) -> None:
        for account in self.model.balances:
            listed = self.run(self.store.customers.messages(account, ListQuery(pending=True)))
            known = [each for each in self.model.messages.values() if each.message.account == account]
            visible = sorted(
                (each.due, each.message.key, each.state) for each in known if each.state != State.CANCELLED
            )
            assert [(each.time, each.key, each.state) for each in listed] == visible[:100]

    # --- time, money, restarts

    @rule(ms=st.integers(1, 2 * HOUR))
    def time_goes_on(self, ms: int) -> None:
        self.given.now += ms

    @rule(account=st.integers(1, ACCOUNTS), amount=st.integers(-5, 20))
    def credit_changes(self, account: int, amount: int) -> None:
        self.model.balances[account] += amount
        balance = self.run(self.store.accounts.add_credit(account, amount, "note", self.given.now))
        assert balance == TopUp(self.model.balances[account])

    @rule(account=st.integers(1, ACCOUNTS), suspended=st.booleans())
    def account_is_suspended_or_resumed(self, account: int, suspended: bool) -> None:
        self.run(self.store.accounts.update(account, {"suspended": suspended}))
        (self.model.suspended.add if suspended else self.model.suspended.discard)(account)

    @rule()
    def restart(self) -> None:
        self.run(self.store.close())
        self.store = self.given.store = self.run(self.opener())

    @rule()
    def run_begins(self) -> None:
        """Of the engine. Its node is a new one; what the one before it had claimed is free."""
        before, self.model.engine = self.model.engine, 100 + len(self.model.messages) + self.model.engine
        recovery = self.run(self.store.commits.recover(0, self.model.engine))
        for known in self.model.messages.values():
            known.node = None if self.opener.embedded or known.node == before else known.node
        assert [each.message.key for each in recovery.unsent] == [
            key
            for key, known in sorted(self.model.messages.items())
            if known.state == State.SENT and not (known.queued or known.ended or known.answered)
        ]

    # --- requests

    @rule(data=st.data())
    def requests_come(self, data: st.DataObject) -> None:
        accepts = [self.draw_request(data) for _ in range(data.draw(st.integers(1, 4)))]
        expected = [self.expect(accept) for accept in accepts]
        originals = [(accept.key, accept.messages) for accept in accepts]
        self.run(self.store.commits.record(Facts(accepts=accepts)))
        assert [accept.verdict for accept in accepts] == [verdict for verdict, _ in expected]
        for accept, (_, first), (key, messages) in zip(accepts, expected, originals, strict=True):
            if first is None:
                assert (accept.key, accept.messages) == (key, messages)
            else:
                assert (accept.key, accept.tail, accept.total) == (first.key, first.tail, first.total)
                assert [message.key for message in accept.messages] == [message.key for message in first.messages]

    def draw_request(self, data: st.DataObject) -> Accept:
        account = data.draw(st.integers(1, ACCOUNTS + 1))
        after = data.draw(st.sampled_from([None, 1, HOUR, 2 * HOUR]))
        reference = data.draw(st.sampled_from([None, "a", "b"]))
        fields: dict[str, Any] = {"price": data.draw(st.integers(0, 6)), "reference": reference}
        if after is not None:
            time = self.given.now + after
            fields |= {"time": time, "expires": time + HOUR, "state": State.SCHEDULED}
        elif data.draw(st.booleans()):
            fields["queued"] = True
        if data.draw(st.booleans()):
            accept = self.given.batch(account, data.draw(st.integers(2, 4)), **fields)
        else:
            accept = self.given.accept(self.given.message(account, **fields))
        accept.fingerprint = data.draw(st.sampled_from([b"x", b"y"]))
        return accept

    def expect(self, accept: Accept) -> tuple[Verdict, Accept | None]:
        model, account = self.model, accept.account
        if account not in model.balances or account in model.suspended:
            return Verdict.SUSPENDED, None
        first = None if accept.reference is None else model.references.get((account, accept.reference))
        if first is not None:
            same = first.fingerprint == accept.fingerprint
            return (Verdict.REPLAYED, first) if same else (Verdict.REFERENCE_CONFLICT, None)
        limit = account - 1
        if model.balances[account] - accept.total < -limit:
            return Verdict.TOO_LITTLE_CREDIT, None
        model.balances[account] -= accept.total
        model.requests.append(accept)
        if accept.reference is not None:
            model.references[account, accept.reference] = accept
        for message in accept.messages:
            queued = message.queued or message.state == State.SCHEDULED
            model.messages[message.key] = Known(message, State(message.state), message.time, message.expires, queued)
        return Verdict.ACCEPTED, None

    # --- phones

    @rule(data=st.data())
    def phones_write(self, data: st.DataObject) -> None:
        """The same messages may be recorded twice. What they cost is charged whatever the balance."""
        owners = data.draw(st.lists(st.integers(0, ACCOUNTS), min_size=1, max_size=4))
        messages = [
            InboundMessage(
                owner, 1, "4917012345678", "3388", "Hello", b"Hello", 0, self.given.now,
                price=data.draw(st.integers(0, 6)) if owner else 0, key=self.given.key(), tail=9,
            )
            for owner in owners
        ]  # fmt: skip
        self.run(self.store.commits.record(Facts(inbound=messages)))
        self.run(self.store.commits.record(Facts(inbound=messages[:1])))
        for message in messages:
            if message.account:
                self.model.balances[message.account] -= message.price
                self.model.inbound.setdefault(message.account, []).append(message.key)
            else:
                self.model.unrouted.append(message)

    @precondition(lambda self: self.model.unrouted)
    @rule(data=st.data(), account=st.integers(1, ACCOUNTS), price=st.integers(0, 6))
    def messages_are_routed_later(self, data: st.DataObject, account: int, price: int) -> None:
        message = data.draw(st.sampled_from(self.model.unrouted))
        self.model.unrouted.remove(message)
        self.run(self.store.network.set_price(Price("default", "4917", 1, price)))
        self.run(self.store.inbound.route(message.key, message.tail, account, self.given.now))
        self.model.balances[account] -= price
        self.model.inbound.setdefault(account, []).append(message.key)

    @invariant()
    def owners_pull_their_messages_in_order(self) -> None:
        for account, keys in self.model.inbound.items():
            page = self.run(self.store.pulls.page(account, 0, 1_000))
            assert [each.key for each in page] == keys

    # --- customers change their minds

    def still_scheduled(self, accept: Accept) -> list[Known]:
        known = [self.model.messages[message.key] for message in accept.messages]
        return [each for each in known if each.state == State.SCHEDULED and each.due > self.given.now]

    @precondition(lambda self: self.model.requests)
    @rule(data=st.data())
    def customer_cancels(self, data: st.DataObject) -> None:
        accept = data.draw(st.sampled_from(self.model.requests))
        expected = self.still_scheduled(accept)
        work = self.store.customers.cancel(accept.account, accept.key, accept.tail, self.given.now)
        if not expected:
            with pytest.raises(NotScheduled):
                self.run(work)
            return
        assert [message.key for message in self.run(work)] == [known.message.key for known in expected]
        for known in expected:
            known.state, known.queued = State.CANCELLED, False
            self.model.balances[accept.account] += known.message.price

    @precondition(lambda self: self.model.requests)
    @rule(data=st.data(), after=st.integers(1, 3 * HOUR))
    def customer_reschedules(self, data: st.DataObject, after: int) -> None:
        accept = data.draw(st.sampled_from(self.model.requests))
        expected = self.still_scheduled(accept)
        now, time = self.given.now, self.given.now + after
        work = self.store.customers.reschedule(accept.account, accept.key, accept.tail, time, time + HOUR, now)
        if not expected:
            with pytest.raises(NotScheduled):
                self.run(work)
            return
        assert [message.time for message in self.run(work)] == [time] * len(expected)
        for known in expected:
            known.due, known.expires = time, time + HOUR

    # --- dispatch

    def number(self, node: int) -> int:
        return self.model.engine if node == ENGINE else node

    @rule(limit=st.integers(1, 4), node=st.sampled_from(NODES))
    def due_messages_are_claimed(self, limit: int, node: int) -> None:
        node = self.number(node)
        now = self.given.now
        due = sorted(
            (known.due, key)
            for key, known in self.model.messages.items()
            if known.queued and known.node is None and known.due <= now
        )
        claimed = self.run(self.store.queue.claim(1, limit, now, node))
        assert [each.message.key for each in claimed] == [key for _, key in due[:limit]]
        self.claim([each.message.key for each in claimed], node)

    @rule(node=st.sampled_from(NODES))
    def expired_messages_are_claimed(self, node: int) -> None:
        node = self.number(node)
        now = self.given.now
        claimed = self.run(self.store.queue.claim_expired(100, now, node))
        assert sorted(each.message.key for each in claimed) == sorted(
            key
            for key, known in self.model.messages.items()
            if known.queued and known.node is None and known.expires <= now
        )
        self.claim([each.message.key for each in claimed], node)

    def claim(self, keys: list[int], node: int) -> None:
        for key in keys:
            known = self.model.messages[key]
            known.state, known.node = State.SENT, node

    @rule(node=st.sampled_from(NODES))
    def claims_are_released(self, node: int) -> None:
        node = self.number(node)
        held = [known for known in self.model.messages.values() if known.node == node]
        assert self.run(self.store.queue.release(node)) == len(held)
        for known in held:
            known.node = None

    def in_dispatch(self) -> list[Known]:
        return [
            known
            for known in self.model.messages.values()
            if known.state == State.SENT and not known.ended and (known.node is not None or not known.queued)
        ]

    @precondition(lambda self: self.in_dispatch())
    @rule(data=st.data())
    def operator_takes_messages(self, data: st.DataObject) -> None:
        taken = data.draw(st.lists(st.sampled_from(self.in_dispatch()), min_size=1, max_size=3, unique_by=id))
        self.run(
            self.store.commits.record(
                Facts(
                    submissions=[
                        Submission(known.message.account, known.message.key, 0, 1, "id", 0, self.given.now)
                        for known in taken
                    ],
                    dequeued=[(known.message.account, known.message.key) for known in taken],
                )
            )
        )
        for known in taken:
            known.answered, known.queued, known.node = True, False, None

    @precondition(lambda self: self.in_dispatch())
    @rule(data=st.data())
    def messages_fail(self, data: st.DataObject) -> None:
        """The same final may come twice, within a transaction and over several."""
        known = data.draw(st.sampled_from(self.in_dispatch()))
        message = known.message
        final = MessageEnd(
            message.account,
            message.key,
            Delivery.REJECTD,
            "001",
            self.given.now,
            False,
            True,
            message.price,
        )
        self.run(self.store.commits.record(Facts(finals=[final, final])))
        self.run(self.store.commits.record(Facts(finals=[final])))
        known.state, known.ended, known.queued, known.node = State.FAILED, True, False, None
        self.model.balances[message.account] += message.price

    @precondition(lambda self: any(known.answered and not known.ended for known in self.model.messages.values()))
    @rule(data=st.data())
    def receipts_come(self, data: st.DataObject) -> None:
        waiting = [known for known in self.model.messages.values() if known.answered and not known.ended]
        known = data.draw(st.sampled_from(waiting))
        final = MessageEnd(
            known.message.account, known.message.key, Delivery.DELIVRD, "000", self.given.now, owed=False
        )
        self.run(self.store.commits.record(Facts(finals=[final])))
        known.ended = True

    @precondition(lambda self: any(known.ended or known.state == State.CANCELLED for known in self.known()))
    @rule(data=st.data(), failed=st.booleans())
    def a_final_comes_after_the_end(self, data: st.DataObject, failed: bool) -> None:
        over = [known for known in self.known() if known.ended or known.state == State.CANCELLED]
        message = data.draw(st.sampled_from(over)).message
        before = self.run(delivery_of(self.store, message.key))
        final = MessageEnd(
            message.account,
            message.key,
            Delivery.UNDELIV,
            "999",
            self.given.now,
            True,
            failed,
            message.price,
        )
        self.run(self.store.commits.record(Facts(finals=[final])))
        assert self.run(delivery_of(self.store, message.key)) == before

    def known(self) -> list[Known]:
        return list(self.model.messages.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", OPENERS)
def test_the_books_after_anything(name: str) -> None:
    machine = type("BooksOf", (Books,), {"opener_in": staticmethod(OPENERS[name])})
    chosen = settings(
        # a server's life takes many times as long as a file's
        max_examples=20 if name == "sqlite" else 4,
        stateful_step_count=40,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    run_state_machine_as_test(machine, settings=chosen)
