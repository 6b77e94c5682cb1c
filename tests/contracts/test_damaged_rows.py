"""An encrypted store with rows that cannot be opened: the gateway starts, ends what they owe, and does all else."""

import json
import random
from binascii import b2a_base64
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from heliograph.adapters.encryption.aes_gcm import AesGcmVault
from heliograph.adapters.system.clock import SystemClock
from heliograph.app.configuration import Account, Connector, Route
from heliograph.app.facts import CallbackRetry, Facts, InboundMessage, InboundPart, Message, MessageEnd, PartSet
from heliograph.app.ports import Carrier, CarrierEvents, Store
from heliograph.app.ports.backlog import QueueAction, QueueFilter, QueueOrder
from heliograph.app.records import InboundQuery
from heliograph.app.resources import connectors
from heliograph.app.resources.desk import Desk, Invalid
from heliograph.app.sending.directory import Directory
from heliograph.app.webhook_job import WebhookJob
from heliograph.composition.connectors import KINDS
from heliograph.composition.encryption import OpenedStore, sealed
from heliograph.domain.message.ids import to_hex
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.state import State
from heliograph.domain.message.way import Way
from heliograph.runtime.engine import Engine
from heliograph.runtime.environment import Environment, TimeLimits
from tests.simulation.faults import Odds, Operator, ScriptedCarrier, ScriptedSender
from tests.simulation.world import NoJournal, SeededIds
from tests.support.connectors import smpp_connector
from tests.support.postgres import PostgresOpener
from tests.support.store import CREDIT, SECOND, Given, SqliteOpener, delivery_of
from tests.support.timeouts import PATIENCE_S, until

Openers = SqliteOpener | PostgresOpener

VAULT = AesGcmVault("the master key of tests")
LATER = 10**15
URL = "http://example.com/receipt"
CREDITS = 100 * CREDIT


@pytest.fixture(params=[SqliteOpener, PostgresOpener])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Openers:
    made: Openers = request.param(tmp_path)
    return made


class Run:
    """A run of the engine on an encrypted store, with an operator and receivers who do as they should."""

    def __init__(self, opener: Openers) -> None:
        self.opener = opener
        self.chance = random.Random(1)
        self.clock = SystemClock()
        self.arrived: list[WebhookJob] = []

    async def open(self) -> None:
        """Opens an encrypted store with an account, a connector and a route."""
        self.opened: OpenedStore = await sealed(await self.opener(), VAULT, LATER)
        self.store: Store = self.opened.store
        await self.opened.encryption.begin(0, delay=0)
        await self.opened.encryption.refresh(LATER)
        self.given = Given(self.store, self.clock.now() - 2 * SECOND)
        self.account: Account = await self.given.account(
            credit=CREDITS, signing=b"s" * 32, callback_url=URL, inbound_url="http://example.com/inbound"
        )
        connector = await self.store.network.add_connector(smpp_connector(0, "op", "", 0, "", "", window=100))
        await self.store.network.add_route(Route(0, "", connector.id))
        self.operator = Operator(connector, self.chance, Odds(), self.clock.now)
        if isinstance(self.opener, PostgresOpener):  # as if an earlier node had the worker number of these keys
            await self.opener.execute("INSERT INTO worker (number, node) VALUES (0, NULL)")

    async def start(self) -> None:
        environment = Environment(
            store=self.store, directory=Directory(self.store.table_changes, self.store.accounts),
            sender=ScriptedSender(self.chance, Odds(), self.arrived.append), make_carrier=self.make_carrier,
            ids=SeededIds(self.chance), clock=self.clock, journal=NoJournal(), jitter=self.chance.random,
            encode_json=lambda fields: repr(fields).encode(), leases=self.store.leases,
        )  # fmt: skip
        self.engine = Engine(environment, TimeLimits(48, 24, 24), node=7)
        await self.engine.start()

    def make_carrier(self, connector: Connector, events: CarrierEvents) -> Carrier:
        return ScriptedCarrier(self.operator, connector, events)

    async def stop(self) -> None:
        """Stops the engine. Fails if one of its tasks has died."""
        assert not self.engine.failed.is_set()
        await self.engine.stop(PATIENCE_S)

    @property
    def sent(self) -> set[int]:
        """Keys of the messages that the operator got."""
        return {key for key, _ in self.operator.submits}

    async def state(self, message: Message) -> State:
        found = await self.store.customers.message(message.account, message.key, message.tail)
        assert found is not None
        return State(found.state)

    async def balance(self) -> int:
        ((_, balance),) = await self.store.accounts.all()
        return balance

    async def damage(self, table: str, column: str, where: str) -> None:
        """Replaces an envelope by octets of the same form that no key has sealed."""
        octets = b"\xffHG\x01" + (1).to_bytes(4, "big") + bytes(40)
        await self.opener.execute(f"UPDATE {table} SET {column} = {literal(self.opener, octets)} WHERE {where}")


def literal(opener: Openers, octets: bytes) -> str:
    """Returns octets in SQL."""
    return f"x'{octets.hex()}'" if isinstance(opener, SqliteOpener) else f"'\\x{octets.hex()}'::bytea"


@pytest.fixture
async def run(opener: Openers) -> AsyncIterator[Run]:
    made = Run(opener)
    await made.open()
    yield made
    await made.store.close()


async def test_a_message_with_a_damaged_text_fails_and_is_refunded(run: Run) -> None:
    given, account = run.given, run.account.id
    damaged = [
        await given.sent(account, content="first", callback_url=URL),
        await given.scheduled(account, after=0, content="second", callback_url=URL),
    ]
    whole = [await given.sent(account, content="third"), await given.scheduled(account, after=0, content="fourth")]
    for message in damaged:
        await run.damage("message", "content", f"key = {message.key}")
    await run.start()

    async def done() -> bool:
        states = [await run.state(message) for message in damaged]
        return states == [State.FAILED] * 2 and len(run.sent) == 2 and len(run.arrived) == 2

    await until(done, "the end of all messages")
    assert run.sent == {message.key for message in whole}
    for message in damaged:
        end = await delivery_of(run.store, message.key)
        assert end is not None
        assert end[:2] == (Delivery.REJECTD, "")
    assert await run.balance() == CREDITS - 2 * CREDIT
    assert await run.store.upkeep.audit() == []
    await run.stop()


async def test_a_part_that_may_have_been_sent_stays_charged(run: Run) -> None:
    given, account = run.given, run.account.id
    message = await given.scheduled(account, after=0, content="x" * 200, segments=2, price=2 * CREDIT)
    await run.damage("message", "content", f"key = {message.key}")
    await run.opener.execute(f"UPDATE queue SET attempted = {sql_true(run.opener)} WHERE key = {message.key}")
    await run.opener.execute(f"UPDATE message SET state = {+State.SENT} WHERE key = {message.key}")
    await run.start()

    async def done() -> bool:
        record = await run.store.messages.trace(message.key)
        assert record is not None
        return record.queued is None

    await until(done, "the end of all messages")
    assert run.sent == set()
    assert await run.state(message) is State.SENT
    assert await run.balance() == CREDITS - 2 * CREDIT
    assert await run.store.upkeep.audit() == []
    await run.stop()


def sql_true(opener: Openers) -> str:
    return "1" if isinstance(opener, SqliteOpener) else "true"


async def test_a_notice_of_a_damaged_message_from_a_phone_waits_for_a_replay(run: Run) -> None:
    given, account = run.given, run.account.id
    inbound = [
        InboundMessage(
            account, 1, "4917099887766", "3388", text, text.encode(), 0, given.now, key=given.key(), tail=1,
            way=Way.WEBHOOK,
        )
        for text in ("first", "second", "third")
    ]  # fmt: skip
    await run.store.commits.record(Facts(inbound=inbound))
    await run.opener.execute(f"CREATE TABLE backup AS SELECT content FROM inbound WHERE key = {inbound[0].key}")
    await run.damage("inbound", "content", f"key = {inbound[0].key}")
    await run.damage("inbound", "octets", f"key = {inbound[1].key}")
    await run.start()

    async def done() -> bool:
        return len(await run.store.notices.ended(9)) == 2 and len(run.arrived) == 1

    await until(done, "the ends of both damaged notices, and the callback of the third")
    assert run.arrived[0].key == inbound[2].key
    ended = await run.store.notices.ended(9)
    assert {each.key for each in ended} == {inbound[0].key, inbound[1].key}
    assert all("cannot be opened" in each.problem for each in ended)
    restored = f"UPDATE inbound SET content = (SELECT content FROM backup) WHERE key = {inbound[0].key}"
    await run.opener.execute(restored)
    await run.opener.execute("DROP TABLE backup")
    assert await run.store.notices.replay([inbound[0].key], run.clock.now()) == 1

    async def told() -> bool:
        return len(run.arrived) == 2

    await until(told, "the callback of the replayed message")
    assert b"first" in run.arrived[1].body
    await run.stop()


async def test_a_damaged_body_of_a_notice_is_made_again(run: Run) -> None:
    given, account = run.given, run.account.id
    message = await given.sent(account, callback_url=URL)
    end = MessageEnd(account, message.key, Delivery.DELIVRD, "", given.now, owed=True)
    retry = CallbackRetry(account, message.key, given.now, 1, b"a body", "no answer", given.now)
    await run.store.commits.record(Facts(finals=[end], callback_retries=[retry]))
    await run.damage("callback_retry", "body", f"key = {message.key}")
    await run.start()

    async def done() -> bool:
        return len(run.arrived) == 1

    await until(done, "the receipt")
    assert b"DELIVRD" in run.arrived[0].body
    await run.stop()


async def test_a_damaged_part_counts_as_missing(run: Run) -> None:
    sets = [PartSet(1, "4917099887766", "3388", number, 2) for number in (1, 2, 3)]
    parts = [InboundPart(of, n, 0, False, b"part%d" % n, run.given.now) for of in sets for n in (1, 2)]
    await run.store.commits.record(Facts(inbound_parts=parts))
    await run.damage("inbound_part", "octets", "reference = 1 AND number = 1")
    await run.damage("inbound_part", "octets", "reference = 3")
    await run.start()

    async def done() -> bool:
        return len(await run.store.inbound.find(InboundQuery(limit=9))) == 3

    await until(done, "three messages from phones")
    found = {
        (each.message.content, each.message.complete) for each in await run.store.inbound.find(InboundQuery(limit=9))
    }
    assert found == {("part2", False), ("part1part2", True), ("", False)}
    noted = [row for column, row in run.opened.encryption.unreadable.take_fresh() if column == "inbound_part.octets"]
    assert sorted(noted) == [f"part {n} of 2, connector 1, reference {of}" for n, of in ((1, 1), (1, 3), (2, 3))]
    await run.stop()


async def test_a_connector_and_an_account_with_damaged_secrets_do_not_stop_the_others(run: Run) -> None:
    other = await run.store.network.add_connector(smpp_connector(0, "other", "", 0, "", "", window=100))
    await run.given.account("third", signing=b"t" * 32)
    of_an_unknown_key = b2a_base64(b"\xffHG\x01" + (99).to_bytes(4, "big") + bytes(40), newline=False).decode()
    settings = json.dumps({"": of_an_unknown_key})
    await run.opener.execute(f"UPDATE connector SET settings = '{settings}' WHERE id = {other.id}")
    await run.damage("account", "signing_secret", "name = 'third'")
    message = await run.given.sent(run.account.id)
    await run.start()

    async def done() -> bool:
        return run.sent == {message.key}

    await until(done, "the submission over the whole connector")
    await run.stop()


async def test_a_connector_with_damaged_settings_stays_off_until_all_are_given_again(run: Run) -> None:
    await run.store.network.add_connector(smpp_connector(0, "other", "example.net", 2775, "acme", "pw"))
    damaged = json.dumps({"": b2a_base64(b"\xffHG\x01" + bytes(44), newline=False).decode()})
    await run.opener.execute(f"UPDATE connector SET settings = '{damaged}' WHERE name = 'other'")
    desk = Desk(run.store, run.clock, kinds=KINDS)
    with pytest.raises(Invalid, match="host"):
        await connectors.change(desk, "other", state="on")
    (sentence,) = await run.opened.encryption.damage()
    assert "connector.settings of other" in sentence, "its row can still be restored"
    await connectors.change(desk, "other", state="on", host="example.net", port="2775", system_id="acme", password="pw")
    assert await run.opened.encryption.damage() == []
    (found,) = [each for each in (await run.store.network.tables()).connectors if each.name == "other"]
    assert (found.state, found.settings["host"]) == ("on", "example.net")


async def test_json_that_is_none_is_named_and_ends_no_rotation(run: Run) -> None:
    await run.store.backlog.order(QueueOrder(QueueAction.HOLD, QueueFilter(until=LATER, before=1)), run.clock.now())
    for table, column in (("connector", "settings"), ("queue_order", "body")):
        await run.opener.execute(f"UPDATE {table} SET {column} = '{{'")
    keys = run.opened.encryption
    assert await keys.damage() == ["The value connector.settings of op cannot be opened: its row is damaged."]
    (found,) = (await run.store.network.tables()).connectors
    assert (found.name, found.state, found.settings) == ("op", "off", {})
    assert await run.store.backlog.orders(0) == []
    assert keys.unreadable.take_fresh() == [("connector.settings", "op"), ("queue_order.body", "1")]
    await keys.begin(0, delay=0)
    await keys.refresh(LATER)
    while await keys.advance(LATER, 100):
        pass
    assert (await keys.state()).table is None


async def test_damaged_rows_stay_as_they_are_while_the_others_change_over(run: Run) -> None:
    given, account, keys = run.given, run.account.id, run.opened.encryption
    moved, torn, whole = [await given.sent(account, content=text) for text in ("first", "second", "third")]
    inbound = InboundMessage(
        account, 1, "4917099887766", "3388", "fourth", b"fourth", 0, given.now, key=given.key(), tail=1
    )
    await run.store.commits.record(Facts(inbound=[inbound]))
    await run.damage("message", "content", f"key = {moved.key}")
    beginning = literal(run.opener, b"\xfeHG\x01" + bytes(40))
    await run.opener.execute(f"UPDATE message SET content = {beginning} WHERE key = {torn.key}")
    await run.opener.execute(f"UPDATE inbound SET content = {beginning} WHERE key = {inbound.key}")
    ids = [to_hex(each.key, each.tail) for each in (moved, torn)]
    damaged = [("message", ids[0]), ("message", ids[1]), ("inbound", to_hex(inbound.key, inbound.tail))]
    sentences = [f"The value {table}.content of {id} cannot be opened: its row is damaged." for table, id in damaged]
    assert await keys.damage() == sentences
    for plain in (False, True):
        await keys.begin(0, delay=0, plain=plain)
        await keys.refresh(LATER)
        while await keys.advance(LATER, 2):
            pass
        assert (await keys.state()).table is None
        assert await keys.damage() == sentences
    await run.store.close()

    run.opened = await sealed(await run.opener(), None, LATER)
    run.store = run.opened.store
    assert await run.opened.encryption.damage() == sentences
    (found,) = await run.store.inbound.find(InboundQuery(limit=9))
    assert found.message.is_unreadable
    read = [await run.store.customers.message(account, each.key, each.tail) for each in (moved, torn, whole)]
    assert [(each.content, each.is_unreadable) for each in read if each is not None] == [
        ("", True), ("", True), ("third", False),
    ]  # fmt: skip
    await run.start()

    async def done() -> bool:
        return [await run.state(message) for message in (moved, torn)] == [State.FAILED] * 2

    await until(done, "the end of all messages")
    await run.stop()


async def test_each_damaged_value_is_noted_once(run: Run) -> None:
    message = await run.given.sent(run.account.id)
    await run.damage("message", "content", f"key = {message.key}")
    unreadable = run.opened.encryption.unreadable
    for _ in range(2):
        await run.state(message)
    assert len(unreadable) == 1
    assert unreadable.take_fresh() == [("message.content", to_hex(message.key, message.tail))]
    assert unreadable.take_fresh() == []
