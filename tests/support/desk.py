"""The admin API and the console on a store in memory, called without a server."""

import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from typing import Any

from heliograph.admin.app import AdminApi
from heliograph.admin.call import Desk, Probed
from heliograph.app.access import Access
from heliograph.app.accounts import Connector
from heliograph.app.administer import Administration
from heliograph.app.operators import Deed, DeedQuery
from heliograph.app.oversee import Oversight
from heliograph.app.plan import Plan
from heliograph.app.staff import Staff
from tests.support.gateway import Gateway, open_gateway

ADDRESS = "192.0.2.7"

Asgi = Callable[
    [
        MutableMapping[str, Any],
        Callable[[], Awaitable[MutableMapping[str, Any]]],
        Callable[[MutableMapping[str, Any]], Awaitable[None]],
    ],
    Awaitable[None],
]


class CountingSecrets:
    """Secrets that can be foretold, each another one."""

    def __init__(self) -> None:
        self._count = 0

    def hash_password(self, password: str) -> str:
        return f"hash of {password}"

    def verify_password(self, hashed: str, password: str) -> bool:
        return hashed == f"hash of {password}"

    def token(self, octets: int) -> str:
        return self.octets(octets).hex()

    def octets(self, count: int) -> bytes:
        self._count += 1
        return self._count.to_bytes(2, "big") * (count // 2) + b"\0" * (count % 2)


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
    """One request; the length of the answer must be what it says."""
    raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in (headers or {}).items()]
    scope: dict[str, Any] = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": scheme,
        "path": path, "raw_path": path.encode(), "query_string": query.encode(), "root_path": "", "headers": raw,
        "client": (ADDRESS, 50000), "server": ("console.example", 80),
    }  # fmt: skip
    sent: list[MutableMapping[str, Any]] = []
    left = [body]

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": left.pop()} if left else {"type": "http.disconnect"}

    async def send(message: MutableMapping[str, Any]) -> None:
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


@dataclass(slots=True)
class House:
    """A gateway with those who look after it. `probed` is what a test of a bind comes to."""

    gateway: Gateway
    desk: Desk
    staff: Staff
    api: AdminApi
    probed: list[Connector] = field(default_factory=list)

    async def deeds(self) -> list[Deed]:
        """Oldest first."""
        return (await self.gateway.store.deeds(DeedQuery(limit=1000)))[::-1]

    async def token(self, *scopes: str) -> str:
        return (await self.staff.create_token("test", scopes)).secret

    async def ask(
        self, token: str | None, method: str, path: str, body: Any = None, query: str = "", **headers: str
    ) -> Answered:
        """A request to the admin API; the path is below /admin/v1."""
        sent = dict(headers)
        if token is not None:
            sent["authorization"] = f"Bearer {token}"
        octets = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        answered = await call_asgi(self.api, method, f"/admin/v1{path}", octets, headers=sent, query=query)
        assert answered.header("content-type") == "application/json"
        assert answered.header("cache-control") == "no-store"
        return answered


async def open_house() -> House:
    gateway = await open_gateway()
    secrets = CountingSecrets()
    probed: list[Connector] = []

    async def verify(hashed: str, password: str) -> bool:
        return secrets.verify_password(hashed, password)

    async def probe(connector: Connector) -> Probed:
        probed.append(connector)
        return Probed(False, [("connect", True, "in 3 ms"), ("bind", False, "ESME_RINVPASWD")])

    def links() -> list[tuple[Connector, dict[str, Any]]]:
        return [(Connector(1, "operator", "h", 1, "s", "p"), {"summary": "It is bound."})]

    store, clock = gateway.store, gateway.clock
    desk = Desk(
        access=Access(store, secrets, clock, verify),
        administration=Administration(store, secrets, clock),
        oversight=Oversight(store, gateway.directory, Plan(store, gateway.submit), clock),
        journal=gateway.journal,
        probe=probe,
        links=links,
    )
    return House(gateway, desk, Staff(store, secrets, clock, "cli:root"), AdminApi(desk), probed)
