"""A gateway that is told to stop while clients send ahead of their answers: what is answered 200 is kept, and nothing
that was refused is done. While an operator goes on with receipts: what is not acknowledged comes again."""

import asyncio
import base64
import json
import os
import signal
import time
from collections import Counter, deque
from itertools import count
from pathlib import Path

import pytest

from heliograph.smpp import constants as c
from heliograph.smpp.constants import CommandStatus
from tests.support.background_sink import BackgroundSink
from tests.support.customer import Customer
from tests.support.load import Load
from tests.support.process import Admin, GatewayProcess, SimulatorProcess, eventually
from tests.support.slowness import Slowness
from tests.support.smsc import Smsc, SmscLink, receipt, wait_until

pytestmark = pytest.mark.slow

CLIENTS = 24
AHEAD = 5
"""Requests that each client has on their way at once."""
CREDIT = 100_000


class Clients:
    """They send until they are hung up on."""

    def __init__(self, port: int, key: str) -> None:
        self._port = port
        self._authorization = base64.b64encode(f"acme:{key}".encode()).decode()
        self._numbers = count(491_700_000_000)
        self.kept: dict[str, str] = {}
        """The ids of what was answered 200, by destinations."""
        self.refused: dict[str, int] = {}
        self.unanswered: set[str] = set()

    async def live(self, number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        under_way: deque[str] = deque()
        try:
            while True:
                while len(under_way) < AHEAD:
                    to = str(next(self._numbers))
                    writer.write(self._request(to, short_cut=number % 2 == 0))
                    under_way.append(to)
                head = (await reader.readuntil(b"\r\n\r\n")).decode("ascii").lower()
                length = int(head.partition("content-length: ")[2].partition("\r")[0])
                body = await reader.readexactly(length)
                to, status = under_way.popleft(), int(head.split()[1])
                if status == 200:
                    self.kept[to] = json.loads(body)["Id"]
                else:
                    self.refused[to] = status
        except (OSError, asyncio.IncompleteReadError):
            self.unanswered.update(under_way)
        finally:
            writer.transport.abort()

    def _request(self, to: str, *, short_cut: bool) -> bytes:
        body = f"to={to}&from=Heliograph&content=Hi"
        more = "" if short_cut else "X-Forwarded-For: 192.0.2.1\r\n"
        return (
            f"POST /api/v1/messages HTTP/1.1\r\nHost: x\r\nAuthorization: Basic {self._authorization}\r\n{more}"
            f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(body)}\r\n\r\n{body}"
        ).encode()


async def test_whoever_sent_ahead_is_answered_truly_or_not_at_all(tmp_path: Path, admin: Admin, data: Path) -> None:
    account = await asyncio.to_thread(admin.account, "acme", str(CREDIT))
    key = account["api_key"]
    with SimulatorProcess(tmp_path, magic=False, latency_ms=5) as simulator:
        admin.operator(simulator.port)
        with GatewayProcess(data) as gateway:
            clients = Clients(gateway.port, key)
            living = asyncio.gather(*(clients.live(number) for number in range(CLIENTS)))
            while len(clients.kept) < 20 * CLIENTS:
                assert not living.done()
                await asyncio.sleep(0.01)
            assert await asyncio.to_thread(gateway.stop) == 0
            await living
        with GatewayProcess(data) as gateway:
            await asyncio.to_thread(
                eventually, lambda: set(clients.kept) <= set(simulator.destinations()), "all are sent", pause=0.2
            )
            with Customer(gateway.url, "acme", key) as customer:
                for to, message in list(clients.kept.items())[-CLIENTS:]:
                    assert customer.get(f"/api/v1/messages/{message}").json["To"] == to
            await asyncio.to_thread(eventually, lambda: admin("restored")["unsent"] == 0, "nothing is left", pause=0.5)
            assert await asyncio.to_thread(gateway.stop) == 0
        await asyncio.to_thread(simulator.until_left)
        sent = Counter(simulator.destinations())
    assert set(clients.refused.values()) <= {503}
    assert not sent.keys() & clients.refused.keys(), "what was refused is neither sent nor charged"
    assert sent.keys() <= clients.kept.keys() | clients.unanswered
    assert set(sent.values()) == {1}
    assert admin.balance() == str(CREDIT - len(sent))
    await asyncio.to_thread(admin.assert_books_right)


MESSAGES = 200
RECEIPTS_AHEAD = 50
"""Receipts that the operator has on their way at once."""
QUICKLY_S = 5.0
"""For a stop that has nothing to wait for; less than its limit."""


async def pour(link: SmscLink, numbers: dict[str, str]) -> set[str]:
    """Sends receipts as fast as they are answered until the link is gone: first of messages never sent, then again and
    again of those in `numbers`, by their ids. Returns the ids whose receipts were acknowledged."""
    sent = 0
    while not link.gone:
        while link.session.may_send(c.DELIVER_SM) and sent - len(link.receipts_answered) < RECEIPTS_AHEAD:
            known = list(numbers)[(sent // 2) % len(numbers)]
            if sent % 2:
                link.deliver(receipt(known, number=numbers[known]), known)
            else:
                link.deliver(receipt(f"never{sent}"))
            sent += 1
        await asyncio.sleep(0)
    return {str(token) for token, status in link.receipts_answered if status == CommandStatus.ESME_ROK and token}


async def test_an_operator_that_pours_receipts_does_not_hold_up_a_stop(
    admin: Admin, data: Path, sink: BackgroundSink
) -> None:
    account = await asyncio.to_thread(admin.account, "acme", str(CREDIT))
    async with Smsc() as smsc:
        await asyncio.to_thread(admin.operator, smsc.port)
        with GatewayProcess(data) as gateway:
            with Load(gateway.url, "acme", account["api_key"], most=MESSAGES, dlr_url=sink.url()) as load:
                await wait_until(lambda: len(smsc.submits) == MESSAGES, "for the messages")
                await asyncio.to_thread(load.join)
            numbers = {f"id{n}": submit.destination_addr for n, submit in enumerate(smsc.submits, 1)}
            pouring = asyncio.create_task(pour(smsc.link, numbers))
            await wait_until(lambda: len(smsc.link.receipts_answered) > 2 * RECEIPTS_AHEAD, "for it to begin")
            began = time.monotonic()
            with Slowness() as slowness:
                assert await asyncio.to_thread(gateway.stop) == 0
            took = time.monotonic() - began
            acknowledged = await pouring
        assert took < slowness.within(QUICKLY_S)
        assert smsc.link.unbound, "the operator was told"
        with GatewayProcess(data) as gateway:
            await wait_until(lambda: smsc.up, "for the bind")
            for known in numbers.keys() - acknowledged:
                smsc.link.deliver(receipt(known, number=numbers[known]), known)
            await asyncio.to_thread(
                eventually, lambda: set(load.accepted.values()) <= sink.ids(), "every receipt, acknowledged or repeated"
            )
            assert await asyncio.to_thread(gateway.stop) == 0
    await asyncio.to_thread(admin.assert_books_right)


@pytest.mark.extended
def test_a_notice_lets_a_balancer_turn_away_before_the_stop(data: Path) -> None:
    with GatewayProcess(data, dev=True, settings={"HELIOGRAPH_SHUTDOWN_NOTICE_S": "600"}) as gateway:
        os.kill(gateway.pid, signal.SIGTERM)
        gateway.until(lambda: "leaving" in gateway.err, "it gives notice")
        with Customer(gateway.url, "demo", "demo-api-key") as balancer:
            assert balancer.get("/health/ready").status == 503
            # customers that the balancer still sends are served
            reply = balancer.form("/api/v1/messages", {"to": "491700000001", "from": "Heliograph", "content": "Hi"})
            assert (reply.status, reply.headers["connection"]) == (200, "close")
        assert gateway.stop() == 0, "a second signal ends the notice"
