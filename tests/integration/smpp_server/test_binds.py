"""Clients on real sockets, over a gateway on fakes: binds, submissions, questions, the end."""

import asyncio
import fcntl
import json
import sys
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from heliograph.adapters.smpp_server import connection, requests, server
from heliograph.adapters.smpp_server import submission as submission_module
from heliograph.adapters.smpp_server.connection import (
    ANSWER_S,
    MAX_OCTETS_BEFORE_BIND,
    MAX_UNREAD_OCTETS,
    PORTION_OCTETS,
)
from heliograph.adapters.smpp_server.content import read_content
from heliograph.adapters.smpp_server.deliverer import BindDeliverer
from heliograph.adapters.smpp_server.overload import WORK_OF_DESTINATION_S
from heliograph.adapters.smpp_server.registry import Binds
from heliograph.adapters.smpp_server.resubmissions import Resubmissions
from heliograph.adapters.smpp_server.server import SmppServer
from heliograph.adapters.smpp_server.services import Services
from heliograph.adapters.smpp_server.times import absolute
from heliograph.app.configuration import Price, SmppTerms
from heliograph.app.facts import CallbackEnd, Facts, MessageEnd
from heliograph.app.notice import Notice, TriedNotice
from heliograph.app.observing.counters import BindCounters
from heliograph.app.observing.refusals import Refusals
from heliograph.app.ports import Unavailable
from heliograph.app.sending import password_queue
from heliograph.app.sending.reschedule import Rescheduling
from heliograph.domain.error import Reason
from heliograph.domain.message import ids
from heliograph.domain.message.receipt import Delivery
from heliograph.domain.message.state import State
from heliograph.domain.message.way import Way
from heliograph.domain.money.amounts import MICRO
from heliograph.net.proxies import Proxies
from heliograph.net.tls import DONE, FAILED, CertificateFiles, Tls
from heliograph.smpp import codec, tlv
from heliograph.smpp import constants as c
from heliograph.smpp import pdu as p
from heliograph.smpp.constants import CommandStatus
from heliograph.smpp.pdu import Address
from heliograph.smpp.state import SessionState
from tests.support.certificates import CertificateAuthority
from tests.support.esme import Esme
from tests.support.gateway import Gateway, open_gateway
from tests.support.memory_rows import Rows
from tests.support.smsc import wait_until
from tests.support.use_case_fakes import PortedServer

SUBMISSION = p.SubmitSm(source_addr="Helio", destination_addr="491701234567", short_message=b"x")

JSMPP = Path(__file__).parents[2] / "vectors" / "smpp" / "jsmpp.json"

TERMS = SmppTerms(password_hash="hash of smpp-pw")


class Rig:
    """A gateway with an SMPP server, and the clients of a test."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self.failures: list[str] = []
        """Names of the server's tasks that ended by an error."""
        self.binds = Binds(BindCounters())
        self.refusals = Refusals()
        self.services = Services(
            gateway.authenticator,
            gateway.sending,
            Rescheduling(gateway.store.customers, gateway.composer),
            gateway.store.customers,
            gateway.directory,
            gateway.clock,
            gateway.journal,
            self.refusals,
            lambda: None,
            gateway.store.binds,
            1,
            172_800_000,
            Proxies(()),
        )
        self.deliverer = BindDeliverer(self.binds, {}, gateway.clock, 72, lambda: None)  # type: ignore[arg-type] # no notices here
        self.server = SmppServer(self.services, self.binds, self.deliverer, 20, self.watch)
        self.port = 0
        self.clients: list[Esme] = []

    def watch(self, task: asyncio.Task[None]) -> None:
        def ended(task: asyncio.Task[None]) -> None:
            if not task.cancelled() and task.exception() is not None:
                self.failures.append(task.get_name())

        task.add_done_callback(ended)

    async def connect(self) -> Esme:
        client = await Esme.connect(self.port)
        self.clients.append(client)
        return client

    async def bound(self, **bind: Any) -> Esme:
        client = await self.connect()
        assert await client.bind(**bind) == 0
        return client

    @property
    def rows(self) -> Rows:
        return self.gateway.store._place.rows

    async def change(self, **terms: Any) -> None:
        await self.gateway.change_account(smpp=replace(TERMS, **terms))


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    rig = Rig(await open_gateway())
    await rig.change()
    rig.port = await rig.server.listen("127.0.0.1", 0)
    yield rig
    for client in rig.clients:
        client.close()
    await rig.server.stop(1.0)


# --- binds


@pytest.mark.parametrize("kind", ["tx", "rx", "trx"])
@pytest.mark.parametrize("version", [0x33, 0x34, 0x50])
async def test_a_client_binds(rig: Rig, kind: str, version: int) -> None:
    client = await rig.bound(kind=kind, version=version)
    (bind,) = rig.binds.all()
    assert (bind.account, bind.state.kind[:2]) == (1, "re" if kind == "rx" else "tr")
    assert (bind.room > 0) is (kind != "tx")
    assert rig.binds.counts.receiving() == ([] if kind == "tx" else [1])
    client.close()
    await wait_until(lambda: not len(rig.binds))


@pytest.mark.parametrize(("name", "password"), [("acme", "wrong"), ("nobody", "smpp-pw"), ("other", "smpp-pw")])
async def test_unknown_users_and_wrong_passwords_look_the_same(rig: Rig, name: str, password: str) -> None:
    client = await rig.connect()
    assert await client.bind(name, password) == CommandStatus.ESME_RINVPASWD
    await client.until(lambda: client.gone)
    assert rig.refusals.counts == {Reason.CREDENTIALS: 1}


async def test_a_password_that_cannot_be_checked_now_does_not_look_wrong(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(password_queue, "A_LINE", 0)
    assert await (await rig.connect()).bind() == CommandStatus.ESME_RSYSERR
    assert rig.refusals.counts == {Reason.UNAVAILABLE: 1}


async def test_an_account_has_so_many_binds(rig: Rig) -> None:
    await rig.change(binds=2)
    first, _ = await rig.bound(), await rig.bound(kind="rx")
    assert await (await rig.connect()).bind() == CommandStatus.ESME_RALYBND
    first.close()
    await wait_until(lambda: len(rig.binds) == 1)
    await rig.bound()


async def test_a_client_binds_from_the_networks_of_its_account(rig: Rig) -> None:
    await rig.gateway.change_account(networks=("192.0.2.0/24",))
    assert await (await rig.connect()).bind() == CommandStatus.ESME_RBINDFAIL
    assert rig.refusals.counts == {Reason.ADDRESS: 1}


async def test_a_suspended_account_binds_for_its_receipts_and_sends_nothing(rig: Rig) -> None:
    await rig.gateway.change_account(suspended=True)
    client = await rig.bound()
    assert (await client.submit()).status == CommandStatus.ESME_RSUBMITFAIL


async def test_a_client_whose_password_changed_is_unbound(rig: Rig) -> None:
    client = await rig.bound()
    await rig.change(password_hash="hash of another")
    await client.submit()
    await client.until(lambda: client.gone)


async def test_nothing_but_a_bind_is_taken_before_the_bind(rig: Rig) -> None:
    client = await rig.connect()
    client.session._enter(SessionState.BOUND_TRX)
    assert (await client.submit()).status == CommandStatus.ESME_RINVBNDSTS


async def test_octets_that_are_no_smpp_end_their_connection_alone(rig: Rig) -> None:
    client, hostile = await rig.bound(), await rig.connect()
    hostile._transport.write(b"GET / HTTP/1.1\r\n\r\n" * 10)
    await hostile.until(lambda: hostile.gone)
    assert (await client.submit()).status == 0


async def test_a_full_server_closes_the_client_that_is_slowest_to_bind(rig: Rig) -> None:
    await rig.change(binds=100)
    bound = [await rig.bound() for _ in range(10)]
    slow = [await rig.connect() for _ in range(10)]
    await wait_until(lambda: len(rig.server._connections) == 20)
    bound += [await rig.bound() for _ in range(10)]
    for client in slow:
        await client.until(lambda gone=client: gone.gone)  # type: ignore[misc]
    late = await rig.connect()
    await late.until(lambda: late.gone)
    assert not any(client.gone for client in bound)


async def test_an_address_has_so_many_connections_without_a_bind(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "UNBOUND_OF_ONE", 3)
    for _ in range(3):
        await rig.connect()
    await wait_until(lambda: len(rig.server._connections) == 3)
    late = await rig.connect()
    await late.until(lambda: late.gone)
    rig.services.proxies = Proxies(("127.0.0.1",))
    await rig.bound()


@pytest.mark.slow
async def test_a_client_that_reads_nothing_is_not_read_either(rig: Rig) -> None:
    client = await rig.bound()
    client._transport.pause_reading()
    pdu = codec.encode(p.EnquireLink(1))
    (read,) = rig.server._connections
    for _ in range(5_000):  # until the buffers of the system are full
        if "writing" in read._reading_stopped:
            break
        client._transport.write(pdu * 1_000)
        await asyncio.sleep(0)
    await wait_until(lambda: "writing" in read._reading_stopped)
    assert read._transport is not None
    assert read._transport.get_write_buffer_size() < MAX_UNREAD_OCTETS + 2 * PORTION_OCTETS


async def test_before_the_bind_a_client_may_send_little(rig: Rig) -> None:
    client = await rig.connect()
    client._transport.write(codec.encode(p.EnquireLink(1)) * (MAX_OCTETS_BEFORE_BIND // 16 + 1))
    await client.until(lambda: client.gone)
    assert len(client.session.data_to_send()) == 0
    await rig.bound()


async def test_pdus_without_sense_are_told_once_and_end_at_some_point(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "MAX_ERRORS", 100)
    client = await rig.bound()
    client._transport.write(codec.HEADER.pack(16, 0x1234, 0, 1) * 100)
    assert (await client.submit()).status == 0
    client._transport.write(codec.HEADER.pack(16, 0x1234, 0, 1))
    await client.until(lambda: client.gone)
    lines = [fields for _, event, fields in rig.gateway.journal.lines if event == "esme.protocol_error"]
    assert len(lines) == 1


async def test_a_bind_whose_end_the_store_did_not_take_is_forgotten_later(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "REPORT_S", 0.01)
    await rig.change(binds=1)
    client, leave = await rig.bound(), rig.services.store.leave

    async def away(number: int) -> None:
        raise Unavailable("the disk is full")

    monkeypatch.setattr(rig.services.store, "leave", away)
    client.close()
    await wait_until(lambda: rig.services.departed)
    assert await (await rig.connect()).bind() == CommandStatus.ESME_RALYBND
    monkeypatch.setattr(rig.services.store, "leave", leave)
    reporting = asyncio.create_task(rig.server.report())
    await wait_until(lambda: not rig.services.departed)
    reporting.cancel()
    await rig.bound()


async def test_tasks_of_the_server_are_watched(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its reports the server would go on, and count binds that have ended."""

    async def fail(*_: Any) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(rig.services.store, "report", fail)
    monkeypatch.setattr(rig.services.resubmissions, "reload", fail)
    monkeypatch.setattr(server, "REPORT_S", 0.01)
    monkeypatch.setattr(server, "SETTLE_S", 0.01)
    other = SmppServer(rig.services, rig.binds, rig.deliverer, 20, rig.watch)
    await other.listen("127.0.0.1", 0)
    await wait_until(lambda: sorted(rig.failures) == ["arrived answers", "reports of binds"])
    await other.stop(0)


async def test_a_bind_that_ends_while_it_is_reported_is_forgotten(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "REPORT_S", 0.01)
    client, report = await rig.bound(), rig.services.store.report

    async def late(*reported: Any) -> list[int]:
        client.close()
        await wait_until(lambda: not rig.server._connections and not rig.services.tasks)
        return await report(*reported)

    monkeypatch.setattr(rig.services.store, "report", late)
    reporting = asyncio.create_task(rig.server.report())
    await wait_until(lambda: rig.services.departed)
    await wait_until(lambda: not rig.services.departed)
    reporting.cancel()
    assert await rig.services.store.all(rig.gateway.clock.now()) == []


async def test_a_connection_that_ends_while_it_binds_leaves_no_bind(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    enter = rig.services.store.enter

    async def cut_before(*entry: Any) -> bool:
        (cut,) = rig.server._connections
        cut.abort()
        await cut.ended
        return await enter(*entry)

    monkeypatch.setattr(rig.services.store, "enter", cut_before)
    assert await (await rig.connect()).bind() == -1
    await wait_until(lambda: not rig.services.tasks)
    assert await rig.services.store.all(rig.gateway.clock.now()) == []


async def test_a_busy_client_has_its_answers_before_it_is_unbound(rig: Rig) -> None:
    client = await rig.bound()
    for _ in range(20):
        client.begin(SUBMISSION)
    (bind,), intake = rig.binds.all(), rig.gateway.intake
    await wait_until(lambda: len(intake.accepted) >= 20)
    intake.may_commit.clear()
    client.begin(SUBMISSION)
    await wait_until(lambda: intake.waiting)
    bind.unbind()
    intake.may_commit.set()
    while not client.gone:
        if client.session.bound:
            client.begin(SUBMISSION)  # after our unbind it is refused: its answer might not arrive
        await asyncio.sleep(0)
    taken = sum(len(accept.messages) for accept in intake.accepted)
    assert sum(answer.status == 0 for answer in client.answers.values()) == taken >= 20


async def test_submissions_that_cross_our_unbind_are_answered(rig: Rig) -> None:
    client = await rig.bound()
    (bind,) = rig.binds.all()
    bind.unbind()
    numbers = [client.begin(SUBMISSION) for _ in range(40)]  # more octets than are taken before a bind
    await client.until(lambda: client.gone)
    assert [client.answers[number].status for number in numbers] == [CommandStatus.ESME_RMSGQFUL] * 40
    assert not rig.gateway.intake.accepted


async def test_a_client_that_unbinds_as_the_server_does_has_its_answers(rig: Rig) -> None:
    client, intake = await rig.bound(), rig.gateway.intake
    (bind,) = rig.server._connections
    intake.may_commit.clear()
    number = client.begin(SUBMISSION)
    await wait_until(lambda: intake.waiting)
    client._transport.write(codec.encode(p.Unbind(99)))
    await wait_until(lambda: bind.session.state is SessionState.UNBOUND)
    bind.unbind()
    intake.may_commit.set()
    await client.until(lambda: client.gone)
    assert client.answers[number].status == 0


async def test_a_password_that_changes_while_a_client_binds_ends_the_bind(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    enter = rig.services.store.enter

    async def changed_before(*entry: Any) -> bool:
        await rig.change(password_hash="hash of another")
        return await enter(*entry)

    monkeypatch.setattr(rig.services.store, "enter", changed_before)
    client = await rig.bound()
    client.begin(p.EnquireLink())
    await client.until(lambda: client.gone)


@pytest.mark.peer
async def test_a_client_binds_with_tls(rig: Rig, tmp_path: Path) -> None:
    authority = CertificateAuthority(tmp_path)
    made = authority.issue()
    tls = Tls(CertificateFiles(made.certificate, made.key, protocols=()).load())
    rig.port = await rig.server.listen("127.0.0.1", 0, tls)
    client = await Esme.connect(rig.port, tls=authority.client())
    rig.clients.append(client)
    assert await client.bind() == 0
    assert (await client.submit()).status == 0
    (bind,) = rig.binds.all()
    assert bind.state.tls
    plain = await rig.connect()
    assert await plain.bind() == -1
    assert tls.handshakes[DONE] == 1
    await wait_until(lambda: tls.handshakes[FAILED] == 1)
    assert len(rig.server._connections) == 1, "a handshake that failed leaves nothing"


@pytest.mark.parametrize("header", [b"PROXY TCP4 192.0.2.1 127.0.0.1 40112 2775\r\n", b""])
async def test_a_trusted_proxy_tells_its_clients_address(rig: Rig, header: bytes) -> None:
    rig.services.proxies = Proxies(("127.0.0.1",))
    await rig.gateway.change_account(networks=("192.0.2.0/24",))
    client = await rig.connect()
    client._transport.write(header)
    assert await client.bind() == (0 if header else CommandStatus.ESME_RBINDFAIL)
    if header:
        (bind,) = rig.binds.all()
        assert bind.state.address == "192.0.2.1:40112"


async def test_others_cannot_tell_another_address(rig: Rig) -> None:
    client = await rig.connect()
    client._transport.write(b"PROXY TCP4 192.0.2.1 127.0.0.1 40112 2775\r\n")
    assert await client.bind() == -1


# --- submissions


async def test_ok_means_stored_and_charged(rig: Rig) -> None:
    client = await rig.bound()
    answer = await client.submit("Hello, world", registered_delivery=1)
    assert answer.status == 0
    (message,) = rig.gateway.intake.accepted[-1].messages
    assert (message.content, message.sender, message.way) == ("Hello, world", "Helio", Way.BIND)
    record = (await rig.gateway.call("GET", f"/api/v1/messages/{answer.message_id}")).json
    assert (record["To"], record["Status"]) == ("491701234567", "Sent")
    assert await rig.gateway.balance() == "999"


@pytest.mark.parametrize(("form", "digits"), [("decimal", 19), ("hex16", 16)])
async def test_ids_have_the_form_of_the_account(rig: Rig, form: str, digits: int) -> None:
    await rig.change(id_form=form)
    client = await rig.bound()
    name = (await client.submit()).message_id
    assert int(name, 16 if form == "hex16" else 10) == rig.gateway.intake.accepted[-1].key
    assert len(name) <= digits
    assert (await client.ask(p.QuerySm(message_id=name))).message_state == 1


REFUSED = [
    ({"to": "123"}, CommandStatus.ESME_RINVDSTADR),
    ({"source_addr": "no sender!"}, CommandStatus.ESME_RINVSRCADR),
    ({"text": ""}, CommandStatus.ESME_RINVMSGLEN),
    ({"schedule_delivery_time": "990101000000000+"}, CommandStatus.ESME_RINVSCHED),
    ({"data_coding": 5}, CommandStatus.ESME_RSUBMITFAIL),
    ({"tlvs": ((0x1400, b"1"),)}, CommandStatus.ESME_ROPTPARNOTALLWD),
]


@pytest.mark.parametrize(("fields", "status"), REFUSED)
async def test_a_refusal_has_its_status(rig: Rig, fields: dict[str, Any], status: CommandStatus) -> None:
    client = await rig.bound()
    answer = await client.submit(**fields)
    assert (answer.status, answer.message_id, answer.tlvs) == (status, "", ())
    assert rig.gateway.intake.accepted == []
    (bind,) = rig.binds.all()
    assert bind.state.last_error.startswith(status.name)


async def test_credit_and_rate_have_their_statuses(rig: Rig) -> None:
    await rig.gateway.change_account(rate=1.0)
    client = await rig.bound()
    assert (await client.submit()).status == 0
    assert (await client.submit()).status == CommandStatus.ESME_RTHROTTLED
    rig.gateway.clock.forward(60)
    await rig.gateway.change_account(credit_limit=-1_000_000_000)
    assert (await client.submit()).status == CommandStatus.ESME_RSUBMITFAIL
    await rig.change(statuses=(("credit", 0x401),))
    rig.gateway.clock.forward(60)
    await client.submit()
    rig.gateway.clock.forward(60)
    assert (await client.submit()).status == 0x401


async def test_version_5_and_data_sm_are_told_why(rig: Rig) -> None:
    client = await rig.bound(version=0x50)
    text = tlv.find((await client.submit(to="123")).tlvs, tlv.ADDITIONAL_STATUS_INFO_TEXT)
    assert text is not None
    assert b"destination" in text
    older = await rig.bound()
    answer = await older.ask(p.DataSm(source_addr="Helio", destination_addr="1", tlvs=((0x424, b"Hi"),)))
    assert (answer.status, bool(answer.tlvs)) == (CommandStatus.ESME_RINVDSTADR, True)


async def test_a_full_queue_is_told_at_once(rig: Rig) -> None:
    client = await rig.bound()
    rig.gateway.intake.full = True
    assert (await client.submit()).status == CommandStatus.ESME_RMSGQFUL


async def test_while_the_oldest_submission_waits_long_new_ones_are_refused(rig: Rig) -> None:
    client = await rig.bound(version=0x50)
    number = rig.services.delay.begin(rig.gateway.clock.monotonic())
    rig.gateway.clock.forward(0.5)
    refused = await client.submit()
    assert (refused.status, len(refused.tlvs)) == (CommandStatus.ESME_RMSGQFUL, 1), "version 5.0 is told why"
    await rig.change(statuses=(("unavailable", 0x402),))
    await client.submit()
    begun = [client.begin(SUBMISSION) for _ in range(5)]
    await client.until(lambda: all(sequence in client.answers for sequence in begun))
    assert {client.answers[sequence].status for sequence in begun} == {0x402}, "the account's own status"
    (bind,) = rig.binds.all()
    assert (bind.state.submitted, bind.state.refused) == (7, 7)
    assert rig.services.refusals.counts == {Reason.UNAVAILABLE: 7}
    rig.services.delay.end(number, rig.gateway.clock.monotonic())
    assert (await client.submit()).status == 0


async def test_beyond_the_window_a_client_is_not_read(rig: Rig) -> None:
    await rig.change(window=5)
    client = await rig.bound()
    begun = [client.begin(SUBMISSION) for _ in range(200)]
    await client.until(lambda: all(number in client.answers for number in begun))
    assert {client.answers[number].status for number in begun} == {0}


async def test_a_submission_with_a_field_longer_than_ours_has_a_name(rig: Rig) -> None:
    await rig.change(dedupe_s=60)
    client = await rig.bound()
    body = b"longer than six\0" + codec.encode_body(SUBMISSION)[1:]
    sequence = client.session.send_request(c.SUBMIT_SM, body, None, 0.0)
    client._flush()
    await client.until(lambda: sequence in client.answers)
    assert client.answers[sequence].status == 0


async def test_a_customer_that_causes_much_work_is_read_for_two_thirds_of_the_time(rig: Rig) -> None:
    services = rig.services
    assert services.rest_of(1, 10.0, 0.1) == pytest.approx(0.05)
    assert services.rest_of(2, 10.1, 0.1) == pytest.approx(0.05), "another has its own share"
    assert services.rest_of(1, 10.1, 0.1) == pytest.approx(0.1), "its binds share"
    assert services.rest_of(1, 99.0, 0.1) == pytest.approx(0.05), "what is long ago does not count"
    await rig.change(window=1_000)
    client = await rig.bound()
    (read,) = rig.server._connections
    services.busy_until[1] = rig.gateway.clock.monotonic() + 0.05
    begun = [client.begin(SUBMISSION) for _ in range(200)]
    await wait_until(lambda: "rest" in read._reading_stopped)
    rig.gateway.clock.forward(0.1)
    await client.until(lambda: all(number in client.answers for number in begun))
    assert {client.answers[number].status for number in begun} == {0}


async def test_submissions_that_may_have_waited_unread_for_long_are_refused(rig: Rig) -> None:
    client = await rig.bound()
    (read,) = rig.server._connections
    rig.services.busy_until[1] = rig.gateway.clock.monotonic() + 0.05
    await client.submit()
    assert "rest" in read._reading_stopped
    late = client.begin(SUBMISSION)
    rig.gateway.clock.forward(0.5)
    await client.until(lambda: late in client.answers)
    assert client.answers[late].status == CommandStatus.ESME_RMSGQFUL
    await wait_until(lambda: "rest" not in read._reading_stopped)
    rig.gateway.clock.forward(60)
    assert (await client.submit()).status == 0, "idle since then"


async def test_a_reference_is_charged_once(rig: Rig) -> None:
    await rig.change(reference="0x1402")
    client = await rig.bound()
    first = await client.submit(tlvs=((0x1402, b"order-7\0"),))
    assert (await client.submit(tlvs=((0x1402, b"order-7\0"),))).message_id == first.message_id
    assert await rig.gateway.balance() == "999"
    other = await client.submit("Another", tlvs=((0x1402, b"order-7\0"),))
    assert other.status == CommandStatus.ESME_RSUBMITFAIL


async def test_the_octets_of_jsmpp_are_served(rig: Rig) -> None:
    """jSMPP has no package that tests could install: `tests/vectors/smpp/jsmpp.json` has a session of it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", rig.port)
    statuses: dict[str, list[int]] = {}
    for row in json.loads(JSMPP.read_text(encoding="utf-8")):
        octets = bytes.fromhex(row["hex"])
        if row["command"] == "bind_transceiver":
            bind = codec.decode(octets)
            assert isinstance(bind, p.BindTransceiver)
            octets = codec.encode(replace(bind, system_id="acme", password="smpp-pw"))
        writer.write(octets)
        if not row["command"].endswith("_resp"):
            head = await reader.readexactly(16)
            answer = codec.decode(head + await reader.readexactly(int.from_bytes(head[:4]) - 16))
            assert answer.sequence == row["sequence"]
            statuses.setdefault(row["command"], []).append(answer.status)
    assert await reader.read() == b""
    writer.close()
    assert statuses == {
        "bind_transceiver": [0], "submit_sm": [0, 0, 0], "submit_multi": [0], "data_sm": [0], "enquire_link": [0],
        "unbind": [0], "query_sm": [CommandStatus.ESME_RQUERYFAIL], "cancel_sm": [CommandStatus.ESME_RCANCELFAIL],
    }  # fmt: skip


# --- submissions that come again (smpp_dedupe_s)


async def lose_an_answer(rig: Rig, client: Esme, count: int = 1, **fields: Any) -> None:
    """Submits, and loses the connection before the commit."""
    rig.gateway.intake.may_commit.clear()
    for _ in range(count):
        client.begin(submission(**fields))
    await wait_until(lambda: len(rig.gateway.intake.waiting) == count)
    bound = len(rig.binds)
    client.close()
    await wait_until(lambda: len(rig.binds) < bound)
    rig.gateway.intake.may_commit.set()
    await wait_until(lambda: not rig.gateway.intake.waiting)


def key_of(answer: p.Pdu) -> int:
    assert isinstance(answer, p.SubmitSmResp)
    found = ids.parse(answer.message_id)
    assert found is not None
    return found[0]


def submission(**fields: Any) -> p.SubmitSm:
    usual: dict[str, Any] = {"source_addr": "Helio", "destination_addr": "491701234567", "short_message": b"x"}
    return p.SubmitSm(**{**usual, **fields})


async def test_a_submission_whose_answer_was_lost_is_charged_once(rig: Rig) -> None:
    await rig.change(dedupe_s=60)
    await lose_an_answer(rig, await rig.bound(), schedule_delivery_time="000000010000000R")
    (key,) = rig.rows.messages
    client = await rig.bound()
    rig.gateway.clock.forward(1)  # a relative time means another moment by now
    again = await client.ask(submission(schedule_delivery_time="000000010000000R"))
    assert (again.status, key_of(again)) == (0, key)
    other = await client.ask(submission(short_message=b"y"))
    assert (other.status, other.message_id != again.message_id) == (0, True)
    assert await rig.gateway.balance() == "998"


async def test_a_submission_comes_again_while_its_first_commit_is_under_way(rig: Rig) -> None:
    await rig.change(dedupe_s=60)
    rig.gateway.intake.may_commit.clear()
    client = await rig.bound()
    numbers = [client.begin(submission()) for _ in range(3)]
    await wait_until(lambda: len(rig.gateway.intake.waiting) == len(numbers))
    client.close()
    await wait_until(lambda: not len(rig.binds))
    client = await rig.bound()
    numbers = [client.begin(submission()) for _ in range(3)]
    await wait_until(lambda: len(rig.gateway.intake.waiting) == 2 * len(numbers))
    rig.gateway.intake.may_commit.set()
    await client.until(lambda: all(number in client.answers for number in numbers))
    assert {key_of(client.answers[number]) for number in numbers} == set(rig.rows.messages)
    assert await rig.gateway.balance() == "997"


async def test_a_submission_that_was_refused_after_its_connection_ended_leaves_no_name(rig: Rig) -> None:
    await rig.change(dedupe_s=60)
    await rig.gateway.change_account(suspended=True)
    await lose_an_answer(rig, await rig.bound())
    assert not rig.services.resubmissions._accounts


async def test_a_submission_in_doubt_may_come_again_on_the_same_bind(rig: Rig) -> None:
    await rig.change(dedupe_s=60)
    client = await rig.bound()
    rig.gateway.intake.loses_answers = True
    assert (await client.ask(submission())).status == CommandStatus.ESME_RSYSERR
    rig.gateway.intake.loses_answers = False
    (kept,) = rig.rows.messages
    assert key_of(await client.ask(submission())) == kept
    assert await rig.gateway.balance() == "999"


async def begin_two(rig: Rig) -> tuple[Esme, int]:
    """Submits two equal messages, and loses the connection of the second before the commit. Returns the client of the
    first, and its sequence number."""
    staying, going = await rig.bound(), await rig.bound()
    rig.gateway.intake.may_commit.clear()
    first = staying.begin(submission())
    await wait_until(lambda: len(rig.gateway.intake.waiting) == 1)
    going.begin(submission())
    await wait_until(lambda: len(rig.gateway.intake.waiting) == 2)
    going.close()
    await wait_until(lambda: len(rig.binds) == 1)
    return staying, first


async def commit_two(rig: Rig, staying: Esme, first: int) -> int:
    """Commits these two messages, and has the name of the first forgotten. Returns the key of the second."""
    rig.gateway.intake.may_commit.set()
    await staying.until(lambda: first in staying.answers)
    await wait_until(lambda: len(rig.rows.references) == 1)  # the first answer has arrived
    (second,) = rig.rows.messages.keys() - {key_of(staying.answers[first])}
    return second


async def test_a_repeat_that_is_refused_while_the_store_is_away_is_charged_once(rig: Rig) -> None:
    await rig.change(dedupe_s=60)
    key = await commit_two(rig, *await begin_two(rig))
    client = await rig.bound()
    rig.gateway.intake.away = True
    assert (await client.ask(submission())).status == CommandStatus.ESME_RMSGQFUL
    rig.gateway.intake.away = False
    assert key_of(await client.ask(submission())) == key
    assert await rig.gateway.balance() == "998"


async def test_a_repeat_whose_connection_ends_while_the_store_is_away_is_charged_once(rig: Rig) -> None:
    await rig.change(dedupe_s=60)
    key = await commit_two(rig, *await begin_two(rig))
    client = await rig.bound()
    rig.gateway.intake.may_commit.clear()
    client.begin(submission())
    await wait_until(lambda: len(rig.gateway.intake.waiting) == 1)
    client.close()
    await wait_until(lambda: len(rig.binds) == 1)
    again = await rig.bound()
    rig.gateway.store.broken = True
    rig.gateway.intake.may_commit.set()
    await wait_until(lambda: not rig.gateway.intake.waiting)
    rig.gateway.store.broken = False
    assert key_of(await again.ask(submission())) == key
    assert await rig.gateway.balance() == "998"


async def test_a_repeat_over_the_rate_is_charged_once_if_the_first_commit_is_under_way(rig: Rig) -> None:
    await rig.change(dedupe_s=60)
    await rig.gateway.change_account(rate=2.0)
    staying, first = await begin_two(rig)
    client = await rig.bound()
    assert (await client.ask(submission())).status == CommandStatus.ESME_RTHROTTLED
    key = await commit_two(rig, staying, first)
    rig.gateway.clock.forward(60)
    assert key_of(await client.ask(submission())) == key
    assert await rig.gateway.balance() == "998"


async def test_copies_whose_answers_were_lost_are_as_many_as_before(rig: Rig) -> None:
    await rig.change(dedupe_s=60)
    await lose_an_answer(rig, await rig.bound(), 3)
    kept = set(rig.rows.messages)
    client = await rig.bound()
    assert {key_of(await client.ask(submission())) for _ in range(3)} == kept
    assert key_of(await client.ask(submission())) not in kept
    assert await rig.gateway.balance() == "996"


async def test_the_same_octets_are_another_message_while_answers_arrive(rig: Rig) -> None:
    await rig.change(dedupe_s=60)
    client = await rig.bound()
    numbers = [client.begin(submission()) for _ in range(20)]
    await client.until(lambda: all(number in client.answers for number in numbers))
    keys = {key_of(client.answers[number]) for number in numbers}
    assert len(keys) == 20
    await wait_until(lambda: not rig.rows.references)  # the answers have arrived
    client.close()
    await wait_until(lambda: not len(rig.binds))
    assert key_of(await (await rig.bound()).ask(submission())) not in keys


async def test_answers_arrive_on_a_link_with_octets_under_way_at_each_look(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def latest(number: int, request: int, octets: bytearray) -> int:
        octets[:] = (50).to_bytes(4, sys.byteorder)  # of the last answer, which has 53
        return 0

    monkeypatch.setattr(fcntl, "ioctl", latest)
    await rig.change(dedupe_s=60)
    client = await rig.bound()
    (bind,) = rig.server._connections
    for number in range(30):
        assert (await client.submit(str(number))).status == 0
        bind.settle()
    await rig.services.resubmissions.flush()
    assert bind._client is not None
    assert len(bind._client.given.names) == len(rig.rows.references) <= 2


async def test_what_was_lost_is_found_by_another_run_until_it_is_too_old(rig: Rig) -> None:
    await rig.change(dedupe_s=60)
    await lose_an_answer(rig, await rig.bound())
    rig.services.resubmissions = Resubmissions(rig.gateway.store.binds, rig.gateway.clock)
    assert (await (await rig.bound()).ask(submission())).status == 0
    assert await rig.gateway.balance() == "999"
    await lose_an_answer(rig, await rig.bound(), short_message=b"y")
    rig.services.resubmissions = Resubmissions(rig.gateway.store.binds, rig.gateway.clock)
    rig.gateway.clock.forward(61)
    client = await rig.bound()
    await rig.services.resubmissions.flush()
    assert (await client.ask(submission(short_message=b"y"))).status == 0
    assert await rig.gateway.balance() == "997"


async def test_a_bind_is_refused_while_the_names_of_an_earlier_run_cannot_be_read(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A repeat over it could be charged a second time."""
    await rig.change(dedupe_s=60)
    await lose_an_answer(rig, await rig.bound())
    rig.services.resubmissions = Resubmissions(rig.gateway.store.binds, rig.gateway.clock)

    async def away(account: int) -> list[tuple[str, int]]:
        raise Unavailable("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(rig.services.store, "submissions", away)
        assert await (await rig.connect()).bind() == CommandStatus.ESME_RSYSERR
    assert (await (await rig.bound()).ask(submission())).status == 0
    assert await rig.gateway.balance() == "999"


async def test_a_reference_that_looks_like_a_name_ends_no_bind(rig: Rig) -> None:
    await rig.change(dedupe_s=60)
    await lose_an_answer(rig, await rig.bound())
    (((account, _), used),) = rig.rows.references.items()
    rig.rows.references |= {(account, name): used for name in ("smpp:order-17", "smpp:a:b", "smpp::1")}
    rig.services.resubmissions = Resubmissions(rig.gateway.store.binds, rig.gateway.clock)
    assert (await (await rig.bound()).ask(submission())).status == 0
    assert await rig.gateway.balance() == "999"


async def test_a_submission_that_would_be_refused_by_now_gets_its_first_answer(rig: Rig) -> None:
    await rig.change(dedupe_s=60)
    await lose_an_answer(rig, await rig.bound())
    await rig.gateway.change_account(senders=("Other",))
    client = await rig.bound()
    assert (await client.ask(submission())).status == 0
    assert (await client.ask(submission())).status == CommandStatus.ESME_RINVSRCADR


# --- other requests


async def test_submit_multi_names_the_destinations_that_it_refused(rig: Rig) -> None:
    client = await rig.bound()
    numbers = ("491701234567", "123", "+491701234568")
    answer = await client.ask(
        p.SubmitMulti(source_addr="Helio", destinations=tuple(Address(1, 1, each) for each in numbers),
                      short_message=b"Hi")
    )  # fmt: skip
    assert answer.status == 0
    assert [(each.number, each.status) for each in answer.unsuccess_sme] == [("123", CommandStatus.ESME_RINVDSTADR)]
    assert [each.destination for each in rig.gateway.intake.accepted[-1].messages] == ["491701234567", "491701234568"]


async def test_submit_multi_with_a_number_that_no_answer_has_room_for(rig: Rig) -> None:
    client = await rig.bound()
    good, long = (Address(1, 1, digits) for digits in ("491701234567", "9" * 20))
    body = codec.encode_body(p.SubmitMulti(source_addr="Helio", destinations=(good, long), short_message=b"Hi"))
    body = body.replace(b"9" * 20, b"9" * 60)
    sequence = client.session.send_request(c.SUBMIT_MULTI, body, None, 0.0)
    client._flush()
    await client.until(lambda: sequence in client.answers)
    answer = client.answers[sequence]
    assert isinstance(answer, p.SubmitMultiResp)
    assert [each.number for each in answer.unsuccess_sme] == ["9" * 20]


async def test_submit_multi_without_a_good_destination_is_refused(rig: Rig) -> None:
    client = await rig.bound()
    answer = await client.ask(
        p.SubmitMulti(source_addr="Helio", destinations=(Address(1, 1, "1"),), short_message=b"x")
    )
    assert answer.status == CommandStatus.ESME_RINVDSTADR
    lists = await client.ask(p.SubmitMulti(source_addr="Helio", destinations=(p.DistributionList("all"),)))
    assert lists.status == CommandStatus.ESME_RINVDLNAME


async def test_submit_multi_with_much_nonsense_costs_little(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []

    def counted(*content: Any) -> Any:
        read.append(1)
        return read_content(*content)

    monkeypatch.setattr(submission_module, "read_content", counted)
    client = await rig.bound()
    numbers = [*map(str, range(253)), "491701234567"]
    answer = await client.ask(
        p.SubmitMulti(source_addr="Helio", destinations=tuple(Address(1, 1, each) for each in numbers),
                      tlvs=((tlv.MESSAGE_PAYLOAD, b"x" * 1_000),))
    )  # fmt: skip
    assert (answer.status, len(answer.unsuccess_sme), len(read)) == (0, 253, 2)


async def test_submit_multi_with_a_slow_text_leaves_others_their_time(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, sending, turns, composed = rig.gateway.clock, rig.services.sending, 0, Counter[int]()

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    def slow(*given: Any) -> Any:
        composed[turns] += 1
        clock.forward(0.001)
        return compose(*given)

    compose = sending.compose
    monkeypatch.setattr(sending, "compose", slow)
    client = await rig.bound()
    running = asyncio.create_task(others())
    begun = clock.monotonic()
    numbers = [f"49170123{number:04}" for number in range(250)]
    answer = await client.ask(
        p.SubmitMulti(source_addr="Helio", destinations=tuple(Address(1, 1, each) for each in numbers),
                      short_message=b"Hi")
    )  # fmt: skip
    running.cancel()
    assert (answer.status, answer.unsuccess_sme) == (0, ())
    assert max(composed.values()) <= 25
    assert rig.services.busy_until[1] - begun > 0.25 * 1.4, "two thirds of the time at most"


async def test_work_that_fails_is_answered(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: Any) -> None:
        raise KeyError("secret")

    monkeypatch.setattr(rig.services.customers, "tail", broken)
    client = await rig.bound()
    answer = await client.ask(p.QuerySm(message_id="019e2b1c-5f3a-7000-8c1d-e1f5a0b7c3d2"))
    assert answer.status == CommandStatus.ESME_RSYSERR
    monkeypatch.setattr(rig.services.store, "enter", broken)
    assert await (await rig.connect()).bind() == -1
    failed = [fields for _, event, fields in rig.gateway.journal.lines if event == "answer.failed"]
    assert [(each["problem"], each["where"].partition(":")[0]) for each in failed] == [("KeyError", "broken")] * 2
    assert "secret" not in str(failed)


async def test_a_scheduled_message_is_cancelled_once(rig: Rig) -> None:
    client = await rig.bound()
    name = (await client.submit(schedule_delivery_time="000001000000000R")).message_id
    assert await rig.gateway.balance() == "999"
    assert (await client.ask(p.CancelSm(message_id=name))).status == 0
    assert await rig.gateway.balance() == "1000"
    assert (await client.ask(p.CancelSm(message_id=name))).status == CommandStatus.ESME_RCANCELFAIL
    assert (await client.ask(p.QuerySm(message_id=name))).message_state == 4
    (message,) = rig.gateway.intake.accepted[-1].messages
    found = await rig.gateway.store.customers.message(message.account, message.key, message.tail)
    assert found is not None
    assert found.state == State.CANCELLED


async def test_scheduled_messages_are_cancelled_by_their_addresses(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "CANCELLED_AT_ONCE", 2)
    client = await rig.bound()
    later = "000001000000000R"
    for _ in range(3):
        await client.submit(schedule_delivery_time=later)
    await client.submit(to="491709999999", schedule_delivery_time=later)
    await client.submit()
    by_addresses = p.CancelSm(source_addr="Helio", destination_addr="+491701234567", dest_addr_ton=1)
    for other in (replace(by_addresses, source_addr="Other"), replace(by_addresses, destination_addr="")):
        assert (await client.ask(other)).status == CommandStatus.ESME_RCANCELFAIL
    assert await rig.gateway.balance() == "995"
    assert (await client.ask(by_addresses)).status == 0
    assert await rig.gateway.balance() == "998", "another destination, and a message that is not scheduled, stay"
    assert (await client.ask(by_addresses)).status == CommandStatus.ESME_RCANCELFAIL


async def test_searches_of_an_account_wait_for_one_another(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    running, most = 0, 0

    async def scheduled(*_: object) -> list[tuple[int, int]]:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return []

    monkeypatch.setattr(rig.services.store, "scheduled", scheduled)
    client = await rig.bound()
    numbers = [client.begin(p.CancelSm(source_addr="Helio", destination_addr="491701234567")) for _ in range(5)]
    await client.until(lambda: all(number in client.answers for number in numbers))
    assert most == 1


async def test_messages_of_others_are_unknown(rig: Rig) -> None:
    await rig.gateway.change_account("other", smpp=TERMS)
    name = (await (await rig.bound()).submit()).message_id
    other = await rig.bound(name="other")
    assert (await other.ask(p.QuerySm(message_id=name))).status == CommandStatus.ESME_RQUERYFAIL
    assert (await other.ask(p.CancelSm(message_id=name))).status == CommandStatus.ESME_RCANCELFAIL
    assert (await other.ask(p.ReplaceSm(message_id=name))).status == CommandStatus.ESME_RREPLACEFAIL


async def submit_two(client: Esme, **fields: Any) -> str:
    """Submits to two numbers; returns the id."""
    numbers = tuple(Address(1, 1, each) for each in ("491701234567", "+491701234568"))
    answer = await client.ask(p.SubmitMulti(source_addr="Helio", destinations=numbers, short_message=b"x", **fields))
    assert answer.status == 0
    return str(answer.message_id)


@pytest.mark.parametrize("form", ["uuid", "decimal", "hex16"])
async def test_the_id_of_a_submit_multi_has_the_state_of_its_messages(rig: Rig, form: str) -> None:
    await rig.change(id_form=form)
    client = await rig.bound()
    query = p.QuerySm(message_id=await submit_two(client))
    first, second = rig.gateway.intake.accepted[-1].messages
    found = await client.ask(query)
    assert (found.status, found.message_id, found.message_state) == (0, query.message_id, 1)
    commits, at = rig.gateway.store.commits, rig.gateway.clock.now()
    await commits.record(Facts(finals=[MessageEnd(1, first.key, Delivery.DELIVRD, "000", at, owed=False)]))
    found = await client.ask(query)
    assert (found.message_state, found.final_date) == (1, ""), "the other is under way"
    await commits.record(Facts(finals=[MessageEnd(1, second.key, Delivery.DELIVRD, "000", at + 5_000, owed=False)]))
    found = await client.ask(query)
    assert (found.message_state, found.final_date) == (2, absolute(at + 5_000))


async def test_a_submit_multi_whose_messages_ended_otherwise_has_no_state(rig: Rig) -> None:
    client = await rig.bound()
    name = await submit_two(client)
    ends = (Delivery.DELIVRD, Delivery.UNDELIV)
    messages = rig.gateway.intake.accepted[-1].messages
    finals = [MessageEnd(1, each.key, end, "", 5, owed=False) for each, end in zip(messages, ends, strict=True)]
    await rig.gateway.store.commits.record(Facts(finals=finals))
    assert (await client.ask(p.QuerySm(message_id=name))).status == CommandStatus.ESME_RQUERYFAIL


async def test_a_batch_of_more_messages_than_a_submit_multi_has_no_state(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = await rig.bound()
    name = await submit_two(client)
    monkeypatch.setattr(requests, "MOST_DESTINATIONS", 1)
    rests: list[float] = []

    def rest_of(_: Services, account: int, begun: float, work_s: float) -> float:
        rests.append(work_s)
        return 0.0

    monkeypatch.setattr(Services, "rest_of", rest_of)
    assert (await client.ask(p.QuerySm(message_id=name))).status == CommandStatus.ESME_RQUERYFAIL
    assert 2 * WORK_OF_DESTINATION_S in rests, "the client rests for the messages that were read"


@pytest.mark.parametrize(
    ("to", "balance", "again"),
    [("", "1000", CommandStatus.ESME_RCANCELFAIL), ("+491701234567", "999", CommandStatus.ESME_ROK)],
)
async def test_a_submit_multi_is_cancelled_whole_or_for_a_destination(
    rig: Rig, to: str, balance: str, again: CommandStatus
) -> None:
    client = await rig.bound()
    name = await submit_two(client, schedule_delivery_time="000001000000000R")
    other = p.CancelSm(message_id=name, destination_addr="491709999999")
    assert (await client.ask(other)).status == CommandStatus.ESME_RCANCELFAIL
    assert (await client.ask(p.CancelSm(message_id=name, destination_addr=to))).status == 0
    assert await rig.gateway.balance() == balance
    assert (await client.ask(p.CancelSm(message_id=name))).status == again
    assert await rig.gateway.balance() == "1000"
    assert (await client.ask(p.QuerySm(message_id=name))).message_state == 4


# --- SMPP 3.3, which has no TLVs


@pytest.mark.parametrize(("version", "tlvs"), [(0x00, 0), (0x33, 0), (0x34, 1), (0x50, 1)])
async def test_no_answer_to_a_client_of_3_3_has_tlvs(rig: Rig, version: int, tlvs: int) -> None:
    client = await rig.bound(version=version)
    assert len(client.bind_tlvs) == tlvs
    submission = p.DataSm(source_addr="Helio", destination_addr="1", tlvs=((0x424, b"Hi"),))
    refused = await client.ask(submission)
    assert (refused.status, len(refused.tlvs)) == (CommandStatus.ESME_RINVDSTADR, tlvs)
    number = rig.services.delay.begin(rig.gateway.clock.monotonic())
    rig.gateway.clock.forward(0.5)
    shed = await client.ask(submission)
    assert (shed.status, len(shed.tlvs)) == (CommandStatus.ESME_RMSGQFUL, tlvs)
    rig.services.delay.end(number, rig.gateway.clock.monotonic())


PARTS = [codec.encode_body(p.DeliverSm(short_message=b"part %d" % number)) for number in range(3)]


def deliver_parts(rig: Rig) -> list[TriedNotice]:
    """Delivers a notice in three parts over the bind; returns the list that gets its result."""
    tried: list[TriedNotice] = []
    rig.deliverer.on_tried(tried.extend)
    (bind,) = rig.server._connections
    bind.deliver(Notice(1, 5, None, rig.gateway.clock.now(), way=Way.BIND), PARTS)
    return tried


def delivered(client: Esme) -> list[bytes]:
    return [pdu.short_message for pdu in client.delivered]


async def test_each_part_follows_the_answer_to_the_part_before(rig: Rig) -> None:
    await rig.change(window=1)
    client = await rig.bound(version=0x33)
    tried = deliver_parts(rig)
    await wait_until(lambda: tried)
    assert delivered(client) == [b"part 0", b"part 1", b"part 2"]
    assert [(each.key, each.end) for each in tried] == [(5, CallbackEnd.DELIVERED)]
    (bind,) = rig.binds.all()
    assert (bind.state.delivered, rig.binds.counts.deliveries) == (1, {0: 1})


async def test_after_a_part_that_is_put_off_no_other_follows(rig: Rig) -> None:
    client = await rig.bound(version=0x33)
    client._answer = lambda pdu: CommandStatus.ESME_RTHROTTLED if pdu.short_message == b"part 1" else 0
    tried = deliver_parts(rig)
    await wait_until(lambda: tried)
    assert [(each.end, each.code) for each in tried] == [(None, CommandStatus.ESME_RTHROTTLED)]
    assert delivered(client) == [b"part 0", b"part 1"]
    client._answer = lambda _: 0
    again = deliver_parts(rig)
    await wait_until(lambda: again)
    assert delivered(client)[2:] == [b"part 0", b"part 1", b"part 2"]


async def test_parts_of_a_client_that_unbinds_wait_for_its_next_bind(rig: Rig) -> None:
    client = await rig.bound(version=0x33)
    client._answer = lambda _: None
    tried = deliver_parts(rig)
    await client.until(lambda: bool(client.delivered))
    answer = p.DeliverSmResp(client.delivered[0].sequence)
    client._transport.write(codec.encode(p.Unbind(99)) + codec.encode(answer))
    await wait_until(lambda: tried)
    assert [(each.end, each.away) for each in tried] == [(None, True)]


async def shrunk(rig: Rig) -> tuple[Esme, list[TriedNotice]]:
    """Delivers a notice in three parts and two in one part, and then makes the window smaller. Returns the client,
    which has answered nothing, and the list that gets the results."""
    await rig.change(window=3)
    client = await rig.bound(version=0x33)
    client._answer = lambda _: None
    tried = deliver_parts(rig)
    (bind,) = rig.server._connections
    for key in (6, 7):
        bind.deliver(Notice(1, key, None, rig.gateway.clock.now(), way=Way.BIND), PARTS[:1])
    await client.until(lambda: len(client.delivered) == 3)
    await rig.change(window=1)
    client.begin(p.EnquireLink())
    await wait_until(lambda: bind.session.window_limit == 1)
    return client, tried


async def test_parts_wait_for_a_slot_when_the_window_becomes_smaller(rig: Rig) -> None:
    client, tried = await shrunk(rig)
    client._answer = lambda _: 0
    first = b"".join(codec.encode(p.DeliverSmResp(pdu.sequence)) for pdu in client.delivered[:2])
    client._transport.write(first)
    await wait_until(lambda: tried)
    assert len(client.delivered) == 3
    client._transport.write(codec.encode(p.DeliverSmResp(client.delivered[2].sequence)))
    await wait_until(lambda: len(tried) == 3)
    assert [(each.key, each.end) for each in tried] == [(key, CallbackEnd.DELIVERED) for key in (6, 7, 5)]
    assert delivered(client)[3:] == [b"part 1", b"part 2"]


async def test_a_notice_that_waits_for_a_slot_is_lost_with_its_bind(rig: Rig) -> None:
    client, tried = await shrunk(rig)
    client._transport.write(codec.encode(p.DeliverSmResp(client.delivered[0].sequence)))
    (bind,) = rig.server._connections
    await wait_until(lambda: bind.session.in_flight == 2)
    client.close()
    await wait_until(lambda: len(tried) == 3)
    assert [(each.key, each.end, each.away) for each in tried] == [(key, None, True) for key in (6, 7, 5)]


async def test_a_part_without_an_answer_is_put_off_and_one_of_a_lost_bind_waits(rig: Rig) -> None:
    client = await rig.bound(version=0x33)
    client._answer = lambda _: None
    tried = deliver_parts(rig)
    await client.until(lambda: bool(client.delivered))
    (bind,) = rig.server._connections
    rig.gateway.clock.forward(ANSWER_S + 1)
    bind._on_timer()
    assert [(each.key, each.end, each.away) for each in tried] == [(5, None, False)]
    assert not bind._left
    lost = deliver_parts(rig)
    client.close()
    await wait_until(lambda: lost)
    assert [(each.key, each.end, each.away) for each in lost] == [(5, None, True)]


# --- the end


async def test_a_stop_answers_first_and_unbinds(rig: Rig) -> None:
    client = await rig.bound()
    number = client.begin(p.SubmitSm(source_addr="Helio", destination_addr="491701234567", short_message=b"x"))
    await wait_until(lambda: rig.gateway.intake.waiting or rig.gateway.intake.accepted)
    await rig.server.stop(5.0)
    await client.until(lambda: client.gone)
    assert client.answers[number].status == 0
    with pytest.raises(ConnectionRefusedError):
        await rig.connect()


async def test_a_bind_is_dropped(rig: Rig) -> None:
    client = await rig.bound()
    (bind,) = rig.binds.all()
    assert rig.binds.drop(bind.id)
    await client.until(lambda: client.gone)
    await wait_until(lambda: not len(rig.binds))
    assert not rig.binds.drop(bind.id)


async def test_the_network_of_a_number_is_found_before_a_submission_is_stored(rig: Rig) -> None:
    directory = rig.gateway.directory
    directory.ported = ported = PortedServer(known=())
    await rig.gateway.store.network.set_price(Price("default", "", 3 * MICRO, network="23433"))
    await directory.refresh()
    client = await rig.bound()
    for number in ("447700900123", "447700900124"):
        assert (await client.ask(submission(destination_addr=number))).status == 0
    several = tuple(Address(1, 1, number) for number in ("447700900123", "447700900125"))
    assert (await client.ask(p.SubmitMulti(source_addr="Helio", destinations=several, short_message=b"Hi"))).status == 0
    assert ported.asked == ["447700900123", "447700900124", "447700900125"]
    networks = {message.destination: message.network for message in rig.rows.messages.values()}
    assert networks == {"447700900123": "23433", "447700900124": "", "447700900125": ""}
    prices = {message.destination: message.price for message in rig.rows.messages.values()}
    assert prices == {"447700900123": 3 * MICRO, "447700900124": MICRO, "447700900125": MICRO}
