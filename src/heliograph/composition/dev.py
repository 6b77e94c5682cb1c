"""The extras of a development run: a demo account, a demo user, and a board with the received receipts.

The demo account's secrets are public, and so is the password of the user `admin`, who signs in to the console. They
work only while a development run lasts: a real run on the same data directory suspends the account and removes the
user.
"""

import contextlib
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import msgspec

from heliograph.app.configuration import Account, Connector
from heliograph.app.ports import Clock, Journal, Secrets, Store
from heliograph.app.records import UserRole
from heliograph.app.resources import accounts, numbers, users
from heliograph.app.resources.desk import AlreadyThere, Desk, needed
from heliograph.domain.money.amounts import MICRO
from heliograph.domain.security.secret_text import digest
from heliograph.http.asgi import Receive, Scope, Send, respond

if TYPE_CHECKING:
    from heliograph.console.request import KnobView, SimulatedMessage
    from heliograph.simulator.smsc import Simulator

SIMULATOR = 0
"""The connector id of a development run's simulated operator; stored ones begin at 1."""

NAMES = {SIMULATOR: "simulator"}
"""Connectors outside the store, by id."""

LOOPBACK = ("127.0.0.0/8", "::1/128")
"""Networks that a development run may post callbacks to, beyond the setting `callbacks.allowed_networks`."""

DEMO_NAME = "demo"
DEMO_PASSWORD = "demo-password"  # noqa: S105 - public on purpose
DEMO_SMPP_PASSWORD = "demosmpp"  # noqa: S105 - public on purpose
DEMO_API_KEY = "demo-api-key"
DEMO_SIGNING_SECRET = b"a demonstration secret, 32 bytes"
DEMO_NUMBER = "3388"
DEMO_FIELDS: dict[str, Any] = {
    "list_interval": 1.0,
    "stop_text": "You get no more messages from us. START undoes that.",
    "help_text": "Heliograph's demonstration. STOP ends these messages.",
}
DEMO_CREDIT = 1_000_000 * MICRO

USER_NAME = "admin"
USER_PASSWORD = "demo-operator"  # noqa: S105 - public on purpose

BOARD_PATH = "/dev/receipts"
BOARD_RECEIPTS = 100
"""Most receipts on the board; older receipts are dropped."""

BOARD_OCTETS = 65_536
"""Octets of a callback's body that the board accepts; a longer body is refused."""


async def open_demo_account(desk: Desk) -> None:
    """Creates the demo account, or makes it usable again. Raises AlreadyThere if a real account has its name."""
    account = await _demo_account(desk)
    if account is not None:
        await accounts.change(desk, DEMO_NAME, suspended=False)
    else:
        credentials = accounts.Credentials(DEMO_PASSWORD, DEMO_API_KEY, DEMO_SIGNING_SECRET)
        await accounts.create(desk, DEMO_NAME, DEMO_CREDIT, credentials=credentials, **DEMO_FIELDS)
    if account is None or not account.smpp.password_hash:
        await accounts.set_smpp_password(desk, DEMO_NAME, DEMO_SMPP_PASSWORD)


async def close_demo_account(desk: Desk) -> bool:
    """Suspends the demo account before a real run. Returns True if it was active."""
    if not await was_last(desk):
        return False
    await accounts.change(desk, DEMO_NAME, suspended=True)
    return True


async def open_demo_number(desk: Desk) -> None:
    """Gives the demo account its number, unless another account has it."""
    with contextlib.suppress(AlreadyThere):
        await numbers.add(desk, DEMO_NUMBER, DEMO_NAME)


async def close_demo_number(desk: Desk) -> None:
    """Takes the number from the demo account before a real run, so that other accounts may have it."""
    for each in await numbers.find(desk):
        if (each["number"], each["account"]) == (DEMO_NUMBER, DEMO_NAME):
            await numbers.remove(desk, each["id"])


async def _demo_account(desk: Desk) -> Account | None:
    """Returns the account with the demo's name and public key, if there is one."""
    found = await desk.store.accounts.find(DEMO_NAME)
    if found is None or all(key.digest != digest(DEMO_API_KEY) for key in found[1]):
        return None
    return found[0]


async def was_last(desk: Desk) -> bool:
    """True if the last run was a development run: any other run suspends the demo account."""
    account = await _demo_account(desk)
    return account is not None and not account.suspended


async def open_demo_user(desk: Desk) -> bool:
    """Makes the console's demo user; False if another user has the name."""
    user = await desk.store.users.find(USER_NAME)
    if user is None:
        await users.create(desk, USER_NAME, UserRole.ADMIN, USER_PASSWORD)
        return True
    return needed(desk.secrets).verify_password(user.password_hash, USER_PASSWORD)


async def remove_demo_user(desk: Desk) -> bool:
    """Removes the user with the public password before a real run. Returns True if it existed."""
    user = await desk.store.users.find(USER_NAME)
    if user is None or not needed(desk.secrets).verify_password(user.password_hash, USER_PASSWORD):
        return False
    await users.remove(desk, USER_NAME)
    return True


async def prepare(store: Store, secrets: Secrets, clock: Clock, journal: Journal, *, dev: bool) -> None:
    """Opens the demo account and user before a development run, and closes them before a real run."""
    desk = Desk(store, clock, secrets=secrets)
    if not dev:
        if await close_demo_account(desk):
            journal.log("warning", "demo_account.suspended")
        await close_demo_number(desk)
        if await remove_demo_user(desk):
            journal.log("warning", "demo_operator.removed")
        return
    try:
        await open_demo_account(desk)
        await open_demo_number(desk)
    except AlreadyThere:
        journal.log("warning", "demo_account.name_taken")
    if not await open_demo_user(desk):
        journal.log("warning", "demo_operator.name_taken")


class SimulatedOperator:
    """A running simulator, the connector that binds to it, and its knobs for the console."""

    def __init__(self, simulator: "Simulator", port: int) -> None:
        self._simulator = simulator
        self.connector = Connector(
            id=SIMULATOR,
            name=NAMES[SIMULATOR],
            settings={"host": "127.0.0.1", "port": port, "system_id": "dev", "password": "dev"},
            window=200,
        )

    @classmethod
    async def start(cls) -> "SimulatedOperator":
        from heliograph.simulator.behaviour import Behaviour
        from heliograph.simulator.smsc import Simulator

        simulator = Simulator(Behaviour(receipt_delay_ms=300, inbound_to=DEMO_NUMBER))
        return cls(simulator, await simulator.start("127.0.0.1", 0))

    async def stop(self) -> None:
        await self._simulator.stop()

    def recent(self, limit: int) -> "list[SimulatedMessage]":
        from heliograph.console.request import SimulatedMessage

        return [
            SimulatedMessage(
                at=round(each.at_s * 1000),
                sender=each.source_addr,
                destination=each.destination_addr,
                text=each.text,
                parts=each.parts,
                total=each.total,
                state=each.state.name,
                err=each.err,
            )
            for each in self._simulator.recent(limit)
        ]

    def counters(self) -> dict[str, int]:
        return self._simulator.counters.by_name()

    def knobs(self) -> "list[KnobView]":
        from heliograph.console.request import KnobView
        from heliograph.simulator.behaviour import KNOBS

        behaviour = self._simulator.behaviour
        return [
            KnobView(
                knob.name, _plain(getattr(behaviour, knob.name)), knob.what, knob.unit, _plain(knob.default), knob.group
            )
            for knob in KNOBS
        ]

    def turn(self, texts: Mapping[str, str]) -> None:
        """Sets knobs, all or none. Raises ValueError with a sentence for people."""
        from heliograph.simulator.behaviour import KNOBS

        values = {knob.name: knob.read(texts[knob.name]) for knob in KNOBS if knob.name in texts}
        self._simulator.behaviour = replace(self._simulator.behaviour, **values)

    def cut_links(self) -> None:
        self._simulator.cut_links()

    def send_from_phone(self, phone: str, number: str, text: str) -> int:
        """Raises ValueError with a sentence for people."""
        return self._simulator.send_from_phone(phone, number, text)


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


class ReceiptBoard:
    """An ASGI application: takes callbacks by POST, shows the last ones by GET."""

    def __init__(self) -> None:
        self._receipts: deque[dict[str, Any]] = deque(maxlen=BOARD_RECEIPTS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "POST":
            body = await _read(receive)
            status = 200 if body is not None else 413
            if body is not None:
                headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
                self._receipts.append({"id": headers.get("webhook-id"), "receipt": _receipt(body)})
            document: dict[str, Any] = {"received": status == 200}
        elif scope["method"] in ("GET", "HEAD"):
            status, document = 200, {"count": len(self._receipts), "receipts": list(self._receipts)}
        else:
            status, document = 405, {"received": False}
        reply = msgspec.json.encode(document) + b"\n"
        headers_out = [(b"content-type", b"application/json"), (b"content-length", str(len(reply)).encode())]
        if status == 405:
            headers_out.append((b"allow", b"GET, HEAD, POST"))
        await respond(scope, send, status, headers_out, reply)


async def _read(receive: Receive) -> bytes | None:
    body = b""
    while True:
        event = await receive()
        body += bytes(event.get("body", b""))
        if len(body) > BOARD_OCTETS:
            return None
        if not event.get("more_body"):
            return body


def _receipt(body: bytes) -> dict[str, Any] | str:
    text = body.decode("utf-8", "replace")
    if text.startswith("{"):
        try:
            document = msgspec.json.decode(body)
        except msgspec.DecodeError:
            return text
        return document if isinstance(document, dict) else text
    return dict(parse_qsl(text, keep_blank_values=True))


def banner(url: str, smpp: str) -> str:
    """Returns the text on the terminal when a development run is ready: everything to paste. `smpp`: where SMPP clients
    bind."""
    return f"""
Heliograph is ready, with a simulated operator.

  Console    {url}/console      sign in as {USER_NAME} with {USER_PASSWORD}
  API        {url}/api/v1  and  {url}/api/v2
  Reference  {url}/docs  and  {url}/admin/docs
  Health     {url}/health/ready
  SMPP       {smpp}      bind as {DEMO_NAME} with {DEMO_SMPP_PASSWORD}
  Receipts   {url}{BOARD_PATH}   (what your callback URL would have got)

  Account    {DEMO_NAME}     v1 signs in with the API key  {DEMO_API_KEY}
                      v2 with the password         {DEMO_PASSWORD}

Send a message (v1):

  curl -w '\\n' -u {DEMO_NAME}:{DEMO_API_KEY} {url}/api/v1/messages \\
       -d to=491701234567 -d from=Heliograph --data-urlencode 'content=Hello, world'

Send one and get a receipt for it (v2), then look at the receipt:

  curl -w '\\n' -u {DEMO_NAME}:{DEMO_PASSWORD} {url}/api/v2/messages \\
       -d to=491701234567 -d from=Heliograph --data-urlencode 'content=Your code is 123456' \\
       -d dlr=yes --data-urlencode 'dlr-url={url}{BOARD_PATH}'
  curl {url}{BOARD_PATH}

Send one to a phone that answers, and take the answer (ending 9021 it would be STOP):

  curl -w '\\n' -u {DEMO_NAME}:{DEMO_API_KEY} {url}/api/v1/messages \\
       -d to=447700909024 -d from={DEMO_NUMBER} --data-urlencode 'content=Shall we deliver on Friday?'
  curl -w '\\n' -u {DEMO_NAME}:{DEMO_API_KEY} '{url}/account/v1/inbound?wait=20'

Stop with Ctrl-C.
"""
