"""Operators as they are, and the whole gateway between them and a customer: nothing lost, doubled or mixed up."""

import contextlib
import re
import time
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.background_sink import BackgroundSink
from tests.support.customer import Customer
from tests.support.load import Load
from tests.support.ports import free_port
from tests.support.process import Admin, GatewayProcess, SimulatorProcess, eventually
from tests.support.slowness import Slowness
from tests.support.timeouts import COMMAND_S

pytestmark = pytest.mark.slow

QUICK = {"HELIOGRAPH_SMPP_RECONNECT_FIRST_S": "0.1", "HELIOGRAPH_SMPP_RECONNECT_MOST_S": "0.2"}


@contextlib.contextmanager
def running(data: Path, account: dict[str, Any], **settings: str) -> Iterator[tuple[GatewayProcess, Customer]]:
    with (
        GatewayProcess(data, settings=QUICK | settings) as gateway,
        Customer(gateway.url, "acme", account["api_key"]) as customer,
    ):
        yield gateway, customer
        assert gateway.stop() == 0


def send_all(customer: Customer, sink: BackgroundSink, numbers: list[str], content: str = "Hi") -> dict[str, str]:
    """The ids of messages to these numbers, with receipts."""
    receipt = {"dlr": "yes", "dlr_url": sink.url()}
    return {number: customer.send(1, to=number, content=content, **receipt)["Id"] for number in numbers}


def states(sink: BackgroundSink, sent: dict[str, str], *, killed: bool = False) -> dict[str, str]:
    """Returns the state that customers were told of each message, by number, and checks that they were told once. A
    gateway that is `killed` posts again, with the same identifier, whatever callbacks were under way."""
    found = {number: sink.receipt(message).form["message_status"] for number, message in sent.items()}
    for message in sent.values():
        told = [received.headers["webhook-id"] for received in sink.receipts(message)]
        assert len(set(told) if killed else told) == 1
    return found


def numbers(count: int, prefix: str = "4917") -> list[str]:
    return [f"{prefix}{n:08d}" for n in range(count)]


@pytest.mark.extended
def test_an_operator_that_takes_fifty_a_second_gets_fifty(tmp_path: Path, admin: Admin, data: Path) -> None:
    account = admin.account("acme", "100000")
    # a whole window may come at once, as it does after each moment for which the operator had no processor
    with SimulatorProcess(tmp_path, throttle_per_s=50, throttle_burst=25, latency_ms=50) as simulator:
        # the log has answers to receipts too
        admin.operator(simulator.port, "slow", "", "--window", "20", "--option", "receipts=asked")
        with GatewayProcess(data) as gateway, Slowness() as slowness:
            # as fast as it accepts them, which is above 200 a second: they wait in line
            with Load(gateway.url, "acme", account["api_key"], most=1_250) as load:
                load.join()
            assert len(load.accepted) == 1_250
            eventually(
                lambda: answers(simulator)["ESME_ROK"] >= 1_200, "the operator has taken them", COMMAND_S, pause=0.5
            )
            gateway.stop()
        given = lines(simulator, "answer", 1_200)
    taken = [moment(line) for line in given if line["pdu"]["status"] == "ESME_ROK"]
    settled, end = taken[0] + 10, taken[0] + 23
    goodput = sum(settled <= at < end for at in taken) / (end - settled)
    throttled = sum(settled <= moment(line) < end and "THROTTLED" in line["pdu"]["status"] for line in given)
    assert goodput >= 48.0 * slowness.share()
    # in virtual time less than one in a hundred is throttled; here each moment without a processor leads to some more
    accepted = goodput * (end - settled)
    assert accepted / (accepted + throttled) >= 0.98 * slowness.share()


def lines(simulator: SimulatorProcess, event: str, count: int) -> list[dict[str, Any]]:
    """What it wrote of such events, once there are so many."""
    found = [line for line in simulator.seen() if line["event"] == event]
    return found if len(found) >= count else []


def moment(line: dict[str, Any]) -> float:
    return datetime.fromisoformat(line["at"]).timestamp()


def answers(simulator: SimulatorProcess) -> Counter[str]:
    return Counter(line["pdu"]["status"] for line in simulator.seen() if line["event"] == "answer")


def test_receipts_before_their_answers_survive_a_kill(
    tmp_path: Path, admin: Admin, data: Path, sink: BackgroundSink
) -> None:
    account = admin.account()
    knobs: dict[str, Any] = {"latency_ms": 1_500, "receipt_early_share": 1, "receipt_early_ms": 1_200}
    with SimulatorProcess(tmp_path, **knobs) as simulator:
        admin.operator(simulator.port, "early", "", "--window", "100")
        with GatewayProcess(data, settings=QUICK) as gateway:
            with Customer(gateway.url, "acme", account["api_key"]) as customer:
                sent = send_all(customer, sink, numbers(30))
            seen = simulator.seen
            eventually(lambda: any(line["event"] == "receipt" for line in seen()), "a receipt before its answer")
            gateway.kill()
        with running(data, account):
            assert set(states(sink, sent, killed=True).values()) == {"DELIVRD"}
    admin.assert_books_right()


def test_two_operators_that_count_alike_are_not_mixed_up(
    tmp_path: Path, admin: Admin, data: Path, sink: BackgroundSink
) -> None:
    account = admin.account()
    good = SimulatorProcess(tmp_path, name="good", first_message_id=1, receipt_delay_ms=200, receipt_other_bind_share=1)
    bad = SimulatorProcess(tmp_path, name="bad", first_message_id=1, receipt_delay_ms=100, undelivered_share=1)
    with good, bad:
        admin.operator(good.port, "good", "44", "--binds", "2")
        admin.operator(bad.port, "bad", "49")
        with running(data, account) as (_, customer):
            sent = send_all(customer, sink, [*numbers(20, "4477"), *numbers(20, "4917")])
            told = states(sink, sent)
    assert {told[number] for number in sent if number.startswith("44")} == {"DELIVRD"}
    assert {told[number] for number in sent if number.startswith("49")} == {"UNDELIV"}


@pytest.mark.parametrize(
    ("answered", "reported"),
    [("hex", "decimal"), ("decimal", "upper_hex"), ("zero_decimal", "decimal"), ("upper_hex", "zero_hex")],
)
@pytest.mark.extended
def test_an_id_may_be_written_in_other_ways_in_receipts(
    tmp_path: Path, admin: Admin, data: Path, sink: BackgroundSink, answered: str, reported: str
) -> None:
    account = admin.account()
    # ids from 10 on: hexadecimal 10 is the decimal 16 of another message
    knobs: dict[str, Any] = {
        "answer_id": answered,
        "receipt_id": reported,
        "receipt_form": "text",
        "first_message_id": 10,
    }
    with SimulatorProcess(tmp_path, undelivered_share=0.5, seed=3, **knobs) as simulator:
        admin.operator(simulator.port)
        with running(data, account) as (_, customer):
            sent = send_all(customer, sink, numbers(30))
            told = states(sink, sent)
        seen = eventually(lambda: lines(simulator, "receipt", 30), "what it wrote of its receipts")
        reported_as = {line["source_addr"]: line["state"] for line in seen}
    assert told == reported_as
    assert set(told.values()) == {"DELIVRD", "UNDELIV"}
    assert admin("receipts", "unmatched")["receipts"] == []


def test_who_waits_for_word_sends_nothing_twice(tmp_path: Path, admin: Admin, data: Path, sink: BackgroundSink) -> None:
    account = admin.account()
    with SimulatorProcess(tmp_path, withhold_share=1, receipt_delay_ms=2_500) as simulator:
        admin.operator(simulator.port, "mute", "", "--window", "50")
        # so long that the kill comes before: what has been left alone by then waits in the queue, and its receipts too
        admin("connector", "set", "mute", "unknown=wait", "unknown_wait_s=600", "response_timeout_s=120")
        with GatewayProcess(data, settings=QUICK) as gateway:
            with Customer(gateway.url, "acme", account["api_key"]) as customer:
                sent = send_all(customer, sink, numbers(20))
            eventually(lambda: len(simulator.submits()) == 20, "all with the operator")
            gateway.kill()
        with running(data, account):
            assert set(states(sink, sent, killed=True).values()) == {"DELIVRD"}
        assert Counter(simulator.destinations()) == Counter(sent.keys())
    admin.assert_books_right()


def test_nothing_is_tried_while_the_link_is_down(tmp_path: Path, admin: Admin, data: Path) -> None:
    account = admin.account()
    port = free_port()
    admin.operator(port)
    with running(data, account) as (gateway, customer):
        sent = {number: customer.send(1, to=number, content="Hi")["Id"] for number in numbers(20)}
        eventually(
            lambda: sum(line["event"] == "smpp.not_bound" for line in gateway.log()) >= 1, "several tries to bind"
        )
        assert {tuple(customer.events(message)) for message in sent.values()} == {("Accepted", "Charged")}
        # without receipts, which would be looked at too or not
        with SimulatorProcess(tmp_path, port=port, name="back", receipt_missing_share=1) as simulator:
            eventually(lambda: len(simulator.submits()) == 20, "all with the operator")
            eventually(lambda: all("Submitted" in customer.events(each) for each in sent.values()), "all answers")
            assert {tuple(customer.events(each)) for each in sent.values()} == {("Accepted", "Charged", "Submitted")}
            assert Counter(simulator.destinations()) == Counter(sent.keys())


@pytest.mark.extended
def test_an_operator_that_hangs_holds_up_nobody_else(
    tmp_path: Path, admin: Admin, data: Path, sink: BackgroundSink
) -> None:
    account = admin.account()
    hung = SimulatorProcess(tmp_path, name="hung", half_open_after=1)
    with hung, SimulatorProcess(tmp_path, name="well", receipt_delay_ms=10) as well:
        admin.operator(hung.port, "hung", "44")
        # nothing but a place of its own keeps the others from waiting as long as this one does
        admin("connector", "set", "hung", "response_timeout_s=600", "enquire_interval_s=600")
        admin.operator(well.port, "well", "49")
        with running(data, account) as (_, customer):
            for number in numbers(100, "4477"):
                customer.send(1, to=number, content="Hi")
            sent = send_all(customer, sink, numbers(50))
            assert set(states(sink, sent).values()) == {"DELIVRD"}


def test_an_operator_that_answers_nothing_is_seen_while_its_link_stands(
    tmp_path: Path, admin: Admin, data: Path
) -> None:
    account = admin.account()
    with SimulatorProcess(tmp_path, half_open_after=1) as hung:
        admin.operator(hung.port, "hung")
        admin("connector", "set", "hung", "response_timeout_s=16", "enquire_interval_s=600")
        with running(data, account) as (gateway, customer):
            eventually(lambda: gateway.bound("hung"), "the bind")

            def state() -> str:
                # a part in flight, always: silence ends with the timeout of the last one
                customer.send(1, to="491701234567", content="Hi")
                word: str = admin("connector", "list")["connectors"][0]["bind_state"]
                return word

            eventually(lambda: state() == "silent", "the list of connectors says so", COMMAND_S, pause=0.2)
            (said,) = admin("connector", "show", "hung")["links"]
            assert said["state"]["bound"] == 1, "which is true, and was all that anybody was told"
            assert "the operator has not responded for" in said["state"]["summary"]
            assert "the operator has not responded for" in admin.run("connector", "show", "hung").stdout
            metrics = customer.get("/metrics").body.decode()
            (seconds,) = re.findall(r'heliograph_connector_silent_seconds{connector="hung"} (\S+)', metrics)
            assert float(seconds) >= 1.0
            (seen,) = admin("top", "--once", "--interval", "0.2")["connectors"]
            assert seen["silent_s"] >= 1.0
            hung.kill()  # so that the stop waits for no answer


@pytest.mark.extended
def test_a_connector_drains_and_another_stays_within_its_cap(
    tmp_path: Path, admin: Admin, data: Path, sink: BackgroundSink
) -> None:
    account = admin.account()
    with (
        SimulatorProcess(tmp_path, name="old", receipt_delay_ms=8_000) as old,
        SimulatorProcess(tmp_path, name="new") as new,
        SimulatorProcess(tmp_path, name="last") as last,
    ):
        for place, operator in enumerate((old, new, last)):
            admin.operator(operator.port, f"op{place}", "4", "--max-day", "15" if operator is new else "0")
            admin("route", "add", "--prefix", "44", "--connector", f"op{place}", "--priority", str(9 - place))
        admin("connector", "set", "op0", "dest_strip=44", "dest_prefix=77#", "sender_default=INFO")
        with running(data, account) as (_, customer):
            sent = send_all(customer, sink, numbers(10, "4477"))
            eventually(lambda: len(old.destinations()) == 10, "all are sent")
            admin("connector", "drain", "op0")
            explain = ("route", "explain", "447700900123", "--account", "acme")
            eventually(lambda: admin(*explain)["connector"] == "op1", "the drain", COMMAND_S, pause=0.5)
            time.sleep(6.0)  # a gateway follows a change within five seconds
            later = send_all(customer, sink, numbers(40, "4478"))
            # receipts of the drained connector still come, with rewritten numbers
            assert set(states(sink, sent | later).values()) == {"DELIVRD"}
            shown = admin("connector", "show", "op1")
            assert (shown["used_day"], shown["max_day"]) == (15, 15)
            assert admin("connector", "show", "op0")["state"] == "drain"
        assert set(old.destinations()) == {f"77#{number[2:]}" for number in sent}
        assert len(new.destinations()) == 15
        assert set(new.destinations()) | set(last.destinations()) == set(later)
        assert len(last.destinations()) == 25


@pytest.mark.extended
def test_another_operator_tries_messages_that_the_first_did_not_deliver(
    tmp_path: Path, admin: Admin, data: Path, sink: BackgroundSink
) -> None:
    account = admin.account()
    with (
        SimulatorProcess(tmp_path, name="bad", undelivered_share=0.5, receipt_double_share=0.3) as bad,
        SimulatorProcess(tmp_path, name="good", receipt_early_share=0.3) as good,
    ):
        for place, operator in enumerate((bad, good)):
            admin.operator(operator.port, f"op{place}", "4", "--window", "50")
            admin("route", "add", "--prefix", "44", "--connector", f"op{place}", "--priority", str(9 - place))
        admin("connector", "set", "op0", "failover_receipts=UNDELIV 001")
        with running(data, account) as (_, customer):
            sent = send_all(customer, sink, numbers(60, "4477"), "Hello " * 40)
            assert set(states(sink, sent).values()) == {"DELIVRD", "UNDELIV"}, "some have a delivered part"
            short = send_all(customer, sink, numbers(100, "4478"))
            assert set(states(sink, short).values()) == {"DELIVRD"}
            tried = set(good.destinations())
            moved = next(message for number, message in short.items() if number in tried)
            history = [each["Detail"] for each in customer.get(f"/api/v1/messages/{moved}/events").json["events"]]
            assert any("to op1 as" in each and "since op0 did not deliver it (UNDELIV 001" in each for each in history)
            assert any(each.startswith("to op0 as") for each in history)
            assert customer.balance() == "780"
        first, then = Counter(bad.destinations()), Counter(good.destinations())
        assert first == dict.fromkeys(short, 1) | dict.fromkeys(sent, 2)
        assert then == {number: first[number] for number in tried}, "each is tried once, as a whole"
        assert 20 < len(tried & short.keys()) < 80


def test_a_connector_changes_while_messages_flow(
    tmp_path: Path, admin: Admin, data: Path, sink: BackgroundSink
) -> None:
    account = admin.account()
    with SimulatorProcess(tmp_path, name="old") as old, SimulatorProcess(tmp_path, name="new") as new:
        admin.operator(old.port, "op", "", "--window", "5", "--rate", "20")
        with running(data, account) as (_, customer):
            sent = send_all(customer, sink, numbers(10))
            assert set(states(sink, sent).values()) == {"DELIVRD"}
            admin("connector", "set", "op", f"port={new.port}", "window=30", "rate=0", "system_type=0011")
            eventually(lambda: any(line["event"] == "request" for line in new.seen()), "a bind to the new one")
            later = send_all(customer, sink, numbers(10, "4479"))
            assert set(states(sink, later).values()) == {"DELIVRD"}
            eventually(lambda: capacity(admin) == 30, "what the gateway says of it", pause=0.5)
            assert admin("connector", "show", "op")["options"] == {"system_type": "0011"}
            text = admin.run("connector", "show", "op").stdout
            assert "of 30 in use" in text
            assert "no limit is set" in text
            assert [each["bind_state"] for each in admin("connector", "list")["connectors"]] == ["bound"]
        binds = [line["pdu"] for line in new.seen() if line["event"] == "request" and "bind_" in line["pdu"]["command"]]
        assert {pdu["system_type"] for pdu in binds} == {"0011"}
        new.until_left()
        assert set(new.destinations()) == set(later)
        assert set(old.destinations()) == set(sent)


@pytest.mark.extended
def test_rates_by_time_of_day_change_at_their_second_and_on_the_same_bind(
    tmp_path: Path, admin: Admin, data: Path
) -> None:
    account = admin.account()
    with SimulatorProcess(tmp_path) as simulator:
        admin.operator(simulator.port, "op", "", "--window", "50", "--rate", "1")
        with running(data, account) as (_, customer):
            begin = int(time.time()) + 20
            off, slow, end = (time.strftime("%H:%M:%S", time.gmtime(begin + at)) for at in (0, 5, 60))
            admin("connector", "set", "op", f"rates={end}-{off} off, {off}-{slow} 20, {slow}-{end} 0")
            eventually(lambda: "nothing is sent until" in shown(admin), "the span that holds", pause=0.3)
            assert f"{off}Z" in shown(admin)
            for number in numbers(200):
                customer.send(1, to=number, content="Hi")
            eventually(lambda: len(simulator.submits()) >= 200, "all with the operator", pause=0.3)
            eventually(lambda: "no limit is set until" in shown(admin), "the last span", pause=0.3)
        seen = [line for line in simulator.seen() if line["event"] == "request"]
    times = [moment(line) - begin for line in seen if line["pdu"]["command"] == "submit_sm"]
    assert len(times) == 200
    assert times[0] >= 0
    assert sum(at < 5 for at in times) <= 5 * 20 + 3
    assert times[-1] >= 5
    assert max(moment(line) - begin for line in seen if "bind_" in line["pdu"]["command"]) < 0


def shown(admin: Admin) -> str:
    return admin.run("connector", "show", "op").stdout


def capacity(admin: Admin) -> int:
    """The window of the connector `op`, as its gateway says."""
    links = admin("connector", "show", "op")["links"]
    return int(links[-1]["state"]["capacity"]) if links else 0


@pytest.mark.extended
def test_receipts_that_never_come_are_asked_for_also_after_a_kill(
    tmp_path: Path, admin: Admin, data: Path, sink: BackgroundSink
) -> None:
    account = admin.account()
    with SimulatorProcess(tmp_path, receipt_missing_share=1, receipt_delay_ms=100) as simulator:
        admin.operator(simulator.port, "mute")
        admin("connector", "set", "mute", "query_after_s=60")
        expected = {"491700000001": "DELIVRD", "491700009001": "UNDELIV", "491700000003": "DELIVRD"}
        with GatewayProcess(data, settings=QUICK) as gateway:
            with Customer(gateway.url, "acme", account["api_key"]) as customer:
                sent = send_all(customer, sink, list(expected), "Two parts. " * 20)
                eventually(lambda: len(simulator.submits()) == 6, "two parts of each")
            gateway.kill()
        with running(data, account) as (gateway, _):
            for message in sent.values():
                sink.receipt(message, COMMAND_S)
            assert states(sink, sent) == expected
            told = {"asked": 6, "told": 6, "queries_off": ""}
            eventually(lambda: query_state(admin) == told, "the gateway has said so", pause=0.3)
        simulator.until_left()
        queries = [line["pdu"] for line in simulator.seen() if line["event"] == "request"]
        queries = [pdu for pdu in queries if pdu["command"] == "query_sm"]
        assert {pdu["source_addr"] for pdu in queries} == {"Heliograph"}
        assert len({pdu["message_id"] for pdu in queries}) == len(queries) == 6
    admin.assert_books_right()


def query_state(admin: Admin) -> dict[str, Any]:
    """Returns the counts of questions that the running gateway has said last."""
    state = admin("connector", "show", "mute")["links"][-1]["state"]
    return {name: state[name] for name in ("asked", "told", "queries_off")}
