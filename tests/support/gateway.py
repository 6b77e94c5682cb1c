"""The HTTP API on fakes: a store in memory, a clock that is set by hand, an intake that commits at once."""

import asyncio
import base64
import contextlib
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote_plus, urlencode

import msgspec

from heliograph.api.app import Api
from heliograph.api.send_fields import read_fields
from heliograph.api.services import Services
from heliograph.app.configuration import Account, ApiKey, Price, Route
from heliograph.app.connector_kind import LanePolicy
from heliograph.app.facts import Accept, Facts, InboundMessage, Verdict
from heliograph.app.inbound.pull import Pulling
from heliograph.app.inbound.suppression_list import SuppressionList
from heliograph.app.observing.refusals import Refusals
from heliograph.app.observing.series_counter import SeriesCounter
from heliograph.app.ports import Unavailable
from heliograph.app.sending.authenticate import Authenticator
from heliograph.app.sending.browse import Browse
from heliograph.app.sending.compose import Composer, SendRules
from heliograph.app.sending.directory import Directory
from heliograph.app.sending.failure_register import FailureRegister
from heliograph.app.sending.feedback import FeedbackList
from heliograph.app.sending.fields import Fields
from heliograph.app.sending.principal import Principal
from heliograph.app.sending.reschedule import Rescheduling
from heliograph.app.sending.send import Sending
from heliograph.domain.limits.defaults import LIST_INTERVAL_S, LOGIN_WINDOW_S
from heliograph.domain.message.ids import IdSequence
from heliograph.domain.money.amounts import parse_credits
from heliograph.http.asgi import Asgi, Event, Scope
from heliograph.runtime.listening import NoticeListeners
from heliograph.runtime.long_polls import LongPolls
from tests.support.connectors import smpp_connector
from tests.support.memory_store import MemoryStore
from tests.support.secrets import rehash

START = 1_800_000_000_000
"""2027-01-15 08:00:00 UTC, in milliseconds."""

PASSWORD = "correct horse"
API_KEY = "key-0123456789abcdef"

Form = Mapping[str, str | list[str]]


class HandClock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.ms = START

    def now(self) -> int:
        return self.ms

    def monotonic(self) -> float:
        return self.ms / 1000

    def forward(self, seconds: float) -> None:
        self.ms += round(seconds * 1000)


def failure_register(clock: HandClock, window: float) -> FailureRegister:
    """An empty register of failures."""
    return FailureRegister("test", window, bytes(32), clock.now)


class PlainSecrets:
    """Verifiers that are quick and prove nothing."""

    def __init__(self) -> None:
        self.verified = 0

    def hash_password(self, password: str) -> str:
        return f"hash of {password}"

    def verify_password(self, hashed: str, password: str) -> bool:
        self.verified += 1
        return hashed.removeprefix("old ") == self.hash_password(password)

    def is_outdated(self, hashed: str) -> bool:
        return hashed.startswith("old ")

    def token(self, octets: int) -> str:
        return "t" * octets

    def octets(self, count: int) -> bytes:
        return bytes(range(count))


class MemoryJournal:
    def __init__(self) -> None:
        self.lines: list[tuple[str, str, dict[str, Any]]] = []

    def log(self, level: str, event: str, **fields: Any) -> None:
        self.lines.append((level, event, fields))


def unwatched(task: asyncio.Task[None]) -> None:
    """Takes a task that the test does not watch."""


class PromptIntake:
    """Commits the facts of each turn of the loop."""

    def __init__(self, store: MemoryStore, clock: HandClock) -> None:
        self.full = False
        self.away = False
        self.loses_answers = False
        """Commits are done, and nobody learns of it."""
        self.may_commit = asyncio.Event()
        self.may_commit.set()
        self.accepted: list[Accept] = []
        self._store = store
        self._clock = clock
        self._ids = IdSequence(0)
        self._tails = 0
        self.waiting: list[tuple[Accept, Callable[[Accept], None]]] = []
        self.tasks: set[asyncio.Task[None]] = set()

    def accept(self, accept: Accept, then: Callable[[Accept], None]) -> bool:
        if self.full or self.away:
            return False
        self.waiting.append((accept, then))
        task = asyncio.get_running_loop().create_task(self._commit())
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return True

    async def receive(self, message: InboundMessage) -> None:
        """Commits a message from a phone."""
        message.key, message.tail = self._ids.next(self._clock.now()), self._tail()
        await self._store.commits.record(Facts(inbound=[message]))

    async def _commit(self) -> None:
        await self.may_commit.wait()
        waiting, self.waiting = self.waiting, []
        for accept, _ in waiting:
            self._name(accept)
        with contextlib.suppress(Unavailable):
            await self._store.commits.record(Facts(accepts=[accept for accept, _ in waiting]))
        for accept, then in waiting:
            if self.loses_answers:
                accept.verdict = Verdict.IN_DOUBT
            self.accepted.append(accept)
            then(accept)

    def _name(self, accept: Accept) -> None:
        now = self._clock.now()
        if accept.batch:
            accept.key, accept.tail = self._ids.next(now), self._tail()
        for message in accept.messages:
            message.key, message.tail = self._ids.next(now), self._tail()
        if not accept.batch:
            accept.key, accept.tail = accept.messages[0].key, accept.messages[0].tail

    def _tail(self) -> int:
        self._tails += 1
        return int.from_bytes(hashlib.sha256(b"%d" % self._tails).digest()[:8]) >> 2


@dataclass(slots=True)
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body, parse_float=str)

    @property
    def fault(self) -> tuple[int, str, str | None]:
        """HTTP status, Status and Field of an error, which must be complete and in its shape."""
        document = self.json
        assert document.keys() <= {"Status", "Message", "Field"}
        assert len(document["Message"]) > 10
        return self.status, document["Status"], document.get("Field")


@dataclass(slots=True)
class Gateway:
    store: MemoryStore
    clock: HandClock
    secrets: PlainSecrets
    journal: MemoryJournal
    intake: PromptIntake
    directory: Directory
    composer: Composer
    sending: Sending
    authenticator: Authenticator
    app: Api
    long_polls: LongPolls
    withdrawn: list[tuple[int, str, int]]
    """Numbers that were suppressed, each with its account and the first key that is not withdrawn."""
    corrections: SeriesCounter
    """Counts the words of customers that contradict a receipt."""
    addresses: list[str] = field(default_factory=lambda: ["192.0.2.7"])

    async def change_account(self, name: str = "acme", **changes: Any) -> None:
        found = await self.store.accounts.find(name)
        assert found is not None
        await self.store.accounts.update(found[0].id, changes)
        await self.directory.refresh()

    async def call(
        self,
        method: str,
        path: str,
        body: bytes | list[bytes] = b"",
        *,
        headers: Mapping[str, str] | None = None,
        auth: str | bytes | None = "acme",
        query: str = "",
        stays: bool = False,
    ) -> Reply:
        """Makes a request to the application. `auth`: the account with the right secret. A client that does not stay
        has gone when its body has been read."""
        sent = {"content-length": str(len(body))} if isinstance(body, bytes) and body else {}
        sent |= {name.lower(): value for name, value in (headers or {}).items()}
        raw = [(name.encode(), value.encode("latin-1")) for name, value in sent.items()]
        if isinstance(auth, str):
            secret = PASSWORD if path.startswith("/api/v2") else API_KEY
            raw.append((b"authorization", basic(auth, secret)))
        elif auth is not None:
            raw.append((b"authorization", auth))
        scope = {
            "type": "http", "method": method, "path": path, "query_string": query.encode("latin-1"), "headers": raw,
            "client": (self.addresses[0], 50000), "http_version": "1.1",
        }  # fmt: skip
        return await run_asgi(self.app, scope, [body] if isinstance(body, bytes) else body, stays=stays)

    async def send(self, fields: Mapping[str, Any], path: str = "/api/v1/messages", **kwargs: Any) -> Reply:
        return await self.call(
            "POST", path, json.dumps(fields).encode(), headers={"Content-Type": "application/json"}, **kwargs
        )

    async def send_form(self, fields: Form, path: str = "/api/v1/messages", **kwargs: Any) -> Reply:
        body = urlencode(fields, doseq=True, quote_via=quote_plus).encode()
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        return await self.call("POST", path, body, headers=kind, **kwargs)

    async def balance(self) -> str:
        reply = await self.call("POST", "/api/v1/account/balance")
        return str(reply.json["Message"])


async def run_asgi(app: Asgi, scope: Scope, pieces: list[bytes], *, stays: bool = False) -> Reply:
    """Makes a request with its body in pieces. The answer must be complete, and match its declared length."""
    left = list(pieces)
    sent: list[Event] = []

    async def receive() -> Event:
        if not left:
            if stays:
                await asyncio.get_running_loop().create_future()
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

    async def send(message: Event) -> None:
        sent.append(message)

    await app(scope, receive, send)
    start, *rest = sent
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in start["headers"]}
    body = b"".join(message.get("body", b"") for message in rest)
    assert headers["x-request-id"]
    if scope["method"] != "HEAD":
        is_file = "content-disposition" in headers
        assert is_file or int(headers["content-length"]) == len(body)
        if headers["content-type"] == "application/json":
            assert msgspec.json.format(body, indent=-1) == body, "JSON that is not compact"
    return Reply(start["status"], headers, body)


def basic(user: str, secret: str) -> bytes:
    return b"Basic " + base64.b64encode(f"{user}:{secret}".encode())


def read(who: Principal, *, form: bool = False, **values: Any) -> Fields:
    """The fields that the API reads, by the names that they have here."""
    names = {"sender": "from", "kind": "type", "dlr_url": "dlr-url"}
    return read_fields({names.get(name, name): value for name, value in values.items()}, who, is_form=form)


USUAL = LanePolicy()


async def open_gateway(
    *,
    rules: SendRules | None = None,
    forbidden: Callable[[str], str | None] = lambda host: "loopback" if host in ("127.0.0.1", "::1") else None,
    max_body: int = 1 << 20,
    credit: str = "1000",
    routes: tuple[str, ...] = ("",),
    list_interval: float = LIST_INTERVAL_S,
    policy: LanePolicy = USUAL,
) -> Gateway:
    """With the accounts `acme` and `other`, a connector with a `policy`, and routes to it."""
    store, clock, secrets, journal = MemoryStore(), HandClock(), PlainSecrets(), MemoryJournal()
    for name in ("acme", "other"):
        account = Account(0, name, secrets.hash_password(PASSWORD), bytes(32), created=START)
        key = ApiKey(f"k-{name}", 0, hashlib.sha256(API_KEY.encode()).digest(), START)
        await store.accounts.create(account, key, parse_credits(credit), [])
    connector = await store.network.add_connector(smpp_connector(0, "operator", "127.0.0.1", 2775, "id", "pw"))
    for prefix in routes:
        await store.network.add_route(Route(0, prefix, connector.id))
    directory = Directory(store.table_changes, store.accounts, policy=lambda _: policy)
    await directory.refresh()

    async def verify(hashed: str, password: str, line: bytes = b"", *, first: bool = False) -> bool:
        await asyncio.sleep(0)
        return secrets.verify_password(hashed, password)

    authenticator = Authenticator(
        directory, secrets, verify, failure_register(clock, LOGIN_WINDOW_S), rehash(secrets, store)
    )
    composer = Composer(directory, forbidden, rules or SendRules())
    intake = PromptIntake(store, clock)
    sending = Sending(composer, store.customers, intake, clock)
    long_polls = LongPolls(store.pulls)
    withdrawn: list[tuple[int, str, int]] = []
    corrections = SeriesCounter()
    app = Api(
        Services(
            authenticator,
            sending,
            Rescheduling(store.customers, composer),
            Browse(store.customers, list_interval),
            Pulling(store.pulls),
            long_polls,
            SuppressionList(store.suppressions, clock, lambda *gone: withdrawn.append(gone)),
            FeedbackList(store.receipts, clock, corrections),
            NoticeListeners(store.messages, clock, msgspec.json.encode, "7f", "Heliograph/test"),
            clock,
            journal,
            store.upkeep.probe,
            lambda: intake.away,
            Refusals(),
            "test",
            max_body,
        )
    )
    return Gateway(
        store, clock, secrets, journal, intake, directory, composer, sending, authenticator, app, long_polls, withdrawn,
        corrections,
    )  # fmt: skip


async def set_price(gateway: Gateway, prefix: str, price: str, plan: str = "default") -> None:
    await gateway.store.network.set_price(Price(plan, prefix, parse_credits(price)))
    await gateway.directory.refresh()
