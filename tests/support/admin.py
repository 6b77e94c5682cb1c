"""The admin API and the console on a store in memory, called without a server."""

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import unquote, urlencode

from heliograph.adapters.system.passkeys import WebauthnPasskeys
from heliograph.admin_api.app import AdminApi
from heliograph.admin_api.request import AdminServices, Exports
from heliograph.app.admin.second_factors import ManageFactors
from heliograph.app.admin.sign_in import WINDOW_S, SignIn
from heliograph.app.admin.signed_state import SignedState
from heliograph.app.configuration import Connector
from heliograph.app.connector_kind import ConnectorKind
from heliograph.app.ports import CarrierState
from heliograph.app.ports.carrier_state import BindCounters, BindState
from heliograph.app.records import AuditEntry, AuditQuery, UserRole
from heliograph.app.resources import users
from heliograph.app.resources.desk import Desk
from heliograph.app.sending.failure_register import DAY_S
from heliograph.console import PATH
from heliograph.console.app import Console
from heliograph.console.render import Renderer
from heliograph.console.request import SESSION_COOKIE, ConsoleServices, KnobView, SimulatedMessage
from heliograph.http.asgi import Asgi, Event
from heliograph.runtime.recent_activity import RecentActivity
from tests.support.connectors import kinds, smpp_connector
from tests.support.gateway import START, Gateway, failure_register, open_gateway
from tests.support.secrets import CountingSecrets, rehash

ADDRESS = "192.0.2.7"

STATE = CarrierState(
    connector="operator",
    summary="It is bound.",
    bound=1,
    capacity=10,
    in_flight=2,
    counters=BindCounters(submitted=9, accepted=8, throttled=1, receipts=7),
    binds=[
        BindState(
            bind=1, role="transceiver", state="bound", host="127.0.0.1:2775", since=1_800_000_000_000,
            in_flight=2, window=10, answer_ms=12.5,
        )
    ],
)  # fmt: skip
"""State that the connector `operator` reports."""


@dataclass(slots=True)
class Answered:
    status: int
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()

    def header(self, name: str) -> str | None:
        return next((value for header, value in self.headers if header == name), None)

    @property
    def cookies(self) -> SimpleCookie:
        jar = SimpleCookie()
        for name, value in self.headers:
            if name == "set-cookie":
                jar.load(value)
        return jar


async def call_asgi(
    app: Asgi,
    method: str,
    path: str,
    body: bytes = b"",
    *,
    headers: Mapping[str, str] | None = None,
    query: str = "",
    scheme: str = "http",
) -> Answered:
    """Makes a request. The length of the answer must match its header."""
    raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in (headers or {}).items()]
    scope: dict[str, Any] = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": scheme,
        "path": path, "raw_path": path.encode(), "query_string": query.encode(), "root_path": "", "headers": raw,
        "client": (ADDRESS, 50000), "server": ("console.example", 80),
    }  # fmt: skip
    sent: list[Event] = []
    left = [body]

    async def receive() -> Event:
        if not left:
            await asyncio.get_running_loop().create_future()  # who waits for the answer stays
        return {"type": "http.request", "body": left.pop()}

    async def send(message: Event) -> None:
        sent.append(message)

    await app(scope, receive, send)
    start, *rest = sent
    answered = Answered(
        start["status"],
        [(name.decode("latin-1"), value.decode("latin-1")) for name, value in start["headers"]],
        b"".join(message.get("body", b"") for message in rest),
    )
    if method != "HEAD" and (length := answered.header("content-length")) is not None:
        assert int(length) == len(answered.body)
    return answered


class ToySimulator:
    """Implements `console.request.SimulatorControl`."""

    def __init__(self) -> None:
        self.turned: dict[str, str] = {}
        self.cut = 0
        self.from_phones: list[tuple[str, str, str]] = []

    def recent(self, limit: int) -> list[SimulatedMessage]:
        return [SimulatedMessage(1_800_000_000_000, "ACME", "491701234567", "<b>bold</b>", 1, 1, "DELIVERED", 0)][
            :limit
        ]

    def counters(self) -> dict[str, int]:
        return {"bound": 1, "submits": 5, "links": 1}

    def knobs(self) -> list[KnobView]:
        return [KnobView("latency_ms", self.turned.get("latency_ms", "0"), "answer later", "ms", "0", "answers")]

    def turn(self, texts: Mapping[str, str]) -> None:
        if texts.get("latency_ms") == "x":
            raise ValueError("latency_ms: 'x' is not ms")
        self.turned.update(texts)

    def cut_links(self) -> None:
        self.cut += 1

    def send_from_phone(self, phone: str, number: str, text: str) -> int:
        if not text:
            raise ValueError("the text has 1 to 1600 characters, not 0")
        self.from_phones.append((phone, number, text))
        return 1 + len(text) // 160


@dataclass(slots=True)
class Browser:
    """A user at the console: keeps cookies, and sends the session's token with each form."""

    console: Console
    cookies: dict[str, str] = field(default_factory=dict)
    csrf: str = ""

    async def get(self, path: str, query: str = "", **headers: str) -> "Answered":
        return await self._call("GET", path, b"", query, **headers)

    async def post(
        self, path: str, form: Mapping[str, Any] | None = None, *, bare: bool = False, **headers: str
    ) -> "Answered":
        """`bare`: without the session's token."""
        fields = {**({} if bare else {"csrf": self.csrf}), **(form or {})}
        kind = {"content-type": "application/x-www-form-urlencoded"}
        return await self._call("POST", path, urlencode(fields, doseq=True).encode(), "", **(kind | headers))

    async def follow(self, answered: "Answered") -> "Answered":
        """The page that an answer leads to."""
        assert answered.status == 303, answered.text
        location = answered.header("location")
        assert location is not None
        path, _, query = location.removeprefix(PATH).partition("?")
        return await self.get(unquote(path) or "/", query)

    async def sign_in(self, name: str, password: str) -> "Answered":
        answered = await self.post("/sign-in", {"name": name, "password": password}, bare=True)
        if answered.status == 303:
            await self.look()
        return answered

    async def look(self) -> None:
        """Takes the session's token from a page."""
        match = re.search(r'name="csrf" value="([^"]+)"', (await self.get("/")).text)
        assert match is not None
        self.csrf = match[1]

    async def _call(self, method: str, path: str, body: bytes = b"", query: str = "", **headers: str) -> "Answered":
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.cookies:
            sent["cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        answered = await call_asgi(self.console, method, f"{PATH}{path}", body, headers=sent, query=query)
        for name, morsel in answered.cookies.items():
            if morsel["max-age"] == "0":
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = morsel.coded_value
        return answered


@dataclass(slots=True)
class AdminHouse:
    """A gateway with those who look after it. `probed` is what a test of a bind comes to."""

    gateway: Gateway
    admin: AdminServices
    desk: Desk
    """The use cases for a user at the machine's terminal."""
    api: AdminApi
    console: Console
    services: ConsoleServices
    simulator: ToySimulator
    probed: list[Connector] = field(default_factory=list)

    async def visitor(self, role: str = "admin", name: str = "ada") -> Browser:
        """A signed-in user with this role."""
        await users.create(self.desk, name, UserRole(role), "correct horse")
        browser = Browser(self.console)
        assert (await browser.sign_in(name, "correct horse")).status == 303
        assert SESSION_COOKIE in browser.cookies
        return browser

    async def entries(self) -> list[AuditEntry]:
        """Oldest first."""
        return (await self.gateway.store.audit_log.find(AuditQuery(limit=1000)))[::-1]

    async def token(self, *scopes: str) -> str:
        secret: str = (await users.create_token(self.desk, "test", scopes))["secret"]
        return secret

    async def ask(
        self, token: str | None, method: str, path: str, body: Any = None, query: str = "", **headers: str
    ) -> Answered:
        """A request to the admin API; the path is below /admin/v1."""
        sent = dict(headers)
        if token is not None:
            sent["authorization"] = f"Bearer {token}"
        octets = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        answered = await call_asgi(self.api, method, f"/admin/v1{path}", octets, headers=sent, query=query)
        is_file = answered.header("content-disposition") is not None
        assert is_file or answered.header("content-type") == "application/json"
        assert answered.header("cache-control") == "no-store"
        return answered


RENDERER = Renderer()
"""Shared by the consoles of all tests, since compiling a template takes longer than most tests of its page."""


async def no_pause(_: float) -> None:
    """Waits for no time at all."""


async def open_house(connector_kinds: Mapping[str, ConnectorKind] | None = None) -> AdminHouse:
    gateway = await open_gateway()
    secrets = CountingSecrets()
    probed: list[Connector] = []

    async def verify(hashed: str, password: str, line: bytes = b"", *, first: bool = False) -> bool:
        return secrets.verify_password(hashed, password)

    async def probe(connector: Connector) -> list[tuple[str, bool, str]]:
        probed.append(connector)
        return [("connect", True, "in 3 ms"), ("bind", False, "ESME_RINVPASWD")]

    def carrier_states() -> list[tuple[Connector, CarrierState]]:
        return [(smpp_connector(1, "operator", "h", 1, "s", "p"), STATE)]

    store, clock = gateway.store, gateway.clock
    tickets = SignedState(bytes(32), clock.now)
    admin = AdminServices(
        sign_in=SignIn(
            store,
            secrets,
            clock,
            verify,
            failure_register(clock, WINDOW_S),
            failure_register(clock, DAY_S),
            no_pause,
            rehash(secrets, store),
            tickets,
            WebauthnPasskeys(),
        ),
        desk=Desk(
            store,
            clock,
            secrets=secrets,
            composer=lambda: gateway.composer,
            kinds=kinds() if connector_kinds is None else connector_kinds,
            carrier_states=carrier_states,
            waiting=lambda: {1: (3, START - 5_000)},
            probe=probe,
        ),
        journal=gateway.journal,
        exports=Exports(4),
    )
    simulator = ToySimulator()
    services = ConsoleServices(
        admin=admin,
        factors=ManageFactors(store, secrets, clock, tickets, WebauthnPasskeys()),
        directory=gateway.directory,
        sending=gateway.sending,
        refusals=gateway.app.services.refusals,
        clock=clock,
        secrets=secrets,
        pulse=RecentActivity(dict, ("accepted", "submitted", "delivered", "failed")),
        status_name=lambda status: f"STATUS_{status:X}",
        simulated=simulator,
    )
    desk = Desk(store, clock, "cli:root", secrets=secrets)
    return AdminHouse(gateway, admin, desk, AdminApi(admin), Console(services, RENDERER), services, simulator, probed)
