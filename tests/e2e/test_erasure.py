"""One phone, planted through every door of a gateway, erased, and looked for: in all files as octets, and in all tables
column by column. What may have it afterwards is named in docs/privacy.md, and here."""

import contextlib
import json
import os
import re
import sqlite3
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import asyncpg
import httpx
import pytest

from tests.support.background_sink import BackgroundSink
from tests.support.customer import Customer
from tests.support.postgres import Server
from tests.support.process import Admin, GatewayProcess, eventually
from tests.support.sink import Answer
from tests.support.timeouts import PATIENCE_S

pytestmark = pytest.mark.slow

PHONE, TEXT = "4915550417263", "Zwetschgenkompott 7Q4X"
"""A phone that somebody has erased, and what was written to and by it. No setting names it."""

NAMED = "4915550839471"
"""Another one, which users and customers have named in settings, references and notes as well."""

KEPT = {
    "message.sender", "message.reference", "batch.reference", "reference.reference", "ledger.note", "template.text",
    "sender.sender", "sender.note", "number.number", "price.prefix", "route.prefix", "changed_row.prefix",
    "account.prefixes", "admin_factor.title", "deed.target", "deed.details",
}  # fmt: skip
"""Columns that docs/privacy.md names as out of an erasure's reach."""

PLANTED = {
    "message.destination", "message.content", "message.callback_url", "inbound.sender", "inbound.content",
    "inbound.octets", "inbound_part.octets", "queue.phone", "suppression.number",
}  # fmt: skip
"""Columns that must have had it before, or its erasure shows nothing."""


class People:
    """A customer, a user of the console and one with commands, who all have to do with a phone."""

    def __init__(self, gateway: GatewayProcess, admin: Admin, sink: BackgroundSink) -> None:
        self.gateway, self.admin, self.sink = gateway, admin, sink
        self.console = httpx.Client(base_url=f"{gateway.url}/console", timeout=PATIENCE_S)
        signed_in = self.console.post("/sign-in", data={"name": "admin", "password": "demo-operator"})
        assert signed_in.status_code == 303, signed_in.text
        found = re.search(r'name="csrf" value="([^"]+)"', self.console.get("/").text)
        assert found is not None
        self.csrf = found[1]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.console.close()

    def post(self, path: str, **form: str) -> httpx.Response:
        answered = self.console.post(path, data={"csrf": self.csrf, **form})
        assert answered.status_code < 500, answered.text
        return answered

    def customer(self, *, version: int = 1, account: str = "demo") -> Customer:
        return Customer(self.gateway.url, account, "demo-api-key" if version == 1 else "demo-password")

    def send_all_ways(self, phone: str) -> None:
        """Sends at once, later, to several, under a reference, by both versions, and from the console."""
        gone = {"dlr": "yes", "dlr-url": self.sink.url("/gone") + (f"?for={phone}" if phone == NAMED else "")}
        refused = {"dlr": "yes", "dlr-url": self.sink.url("/refused")}
        fields = {"to": phone, "from": "Acme", "content": TEXT}
        with self.customer() as customer:
            _taken(customer.document("/api/v1/messages", fields | {"dlr": "yes", "dlr-url": self.sink.url()}))
            _taken(customer.form("/api/v1/messages", fields | gone))
            _taken(customer.document("/api/v1/messages", fields | refused))
            _taken(customer.document("/api/v1/messages", fields | {"time": round(time.time()) + 86_400, **refused}))
            _taken(
                customer.document("/api/v1/messages", fields | {"to": [phone, "4917000000001"], "content": "to two"})
            )
            _taken(
                customer.document(
                    "/api/v1/messages", fields | {"reference": f"once-{phone[-3:]}", "content": TEXT * 20}
                )
            )
            quoted = customer.document("/api/v1/messages/quote", fields)
            assert quoted.status == 200, quoted
        with self.customer(version=2) as customer:
            _taken(customer.document("/api/v2/messages", fields | {"from": "Acme2"}))
        draft = {"account": "demo", "recipients": f"number,name\n{phone},Ada", "column": "0", "sender": "Acme"}
        draft |= {"content": f"{TEXT} {{name}}", "kind": "text"}
        for path in ("/send/quote", "/send/preview", "/send/start"):
            self.post(path, **draft)

    def be_refused(self, phone: str) -> None:
        """Names it in each field of requests that are answered with an error, in paths, queries and credentials."""
        good = {"to": phone, "from": "Acme", "content": TEXT, "reference": "r1"}
        bad: list[dict[str, Any]] = [
            {"to": f"+{phone}"}, {"to": f"{phone} "}, {"to": f"{phone}9999"}, {"to": [phone, "12"]},
            {"to": f"x{phone}"},
            {"from": f"{TEXT}{phone}"}, {"from": f"+{phone}"}, {"content": ""}, {"content": TEXT * 9_000},
            {"time": f"{phone}-{TEXT}"}, {"type": f"{phone}"}, {"dlr": f"{phone}"},
            {"dlr-url": f"ftp://{phone}.example/{TEXT}"}, {"reference": f"{phone}" * 40}, {"validity": f"{phone}x"},
            {"priority": phone}, {"udh": f"{phone}"}, {"coding": phone}, {"tlvs": {phone: TEXT}}, {"dlrUrl": phone},
            {"dlr": "yes", "dlr-url": f"http://10.0.0.1/{phone}"},
        ]  # fmt: skip
        with self.customer() as customer:
            for more in bad:
                answered = customer.document("/api/v1/messages", good | more)
                assert 400 <= answered.status < 500, (more, answered)
            assert customer.document("/api/v2/messages", good).status == 401
            for path in (f"/api/v1/messages/{phone}", f"/account/v1/suppressions/+{phone}", f"/nothing/{phone}/{TEXT}",
                         f"/api/v1/messages?start={phone}&q={TEXT}", f"/account/v1/inbound/{phone}",
                         f"/admin/v1/messages?number={phone}", f"/console/messages?q={phone}",
                         f"/account/v1/suppressions?after=+{phone}", f"/operators/x/{phone}"):  # fmt: skip
                customer.get(quote(path, safe="/?=&+"))
            customer.request("DELETE", f"/api/v1/messages/{phone}")
            customer.request("PUT", f"/api/v1/messages/{phone}", json.dumps({"time": phone}).encode())
            customer.request("POST", "/api/v1/messages", f'{{"to": "{phone}", "content": "{TEXT}'.encode())
        for name, secret in ((phone, "x"), ("demo", phone)):
            with Customer(self.gateway.url, name, secret) as stranger:
                assert stranger.document("/api/v1/messages", good).status == 401
        self.console.post("/sign-in", data={"name": phone, "password": TEXT})

    def opt_out(self, phone: str) -> None:
        """Suppresses it by each door, sends to it nevertheless, and lifts it again."""
        with self.customer() as customer:
            assert customer.request("PUT", f"/account/v1/suppressions/{phone}").status < 300
            refused = customer.document("/api/v1/messages", {"to": phone, "from": "Acme", "content": TEXT})
            assert (refused.status, refused.json["Status"]) == (403, "06")
            assert customer.request("DELETE", f"/account/v1/suppressions/{phone}").status < 300
        self.admin("suppression", "add", phone, "--account", "demo")
        self.admin("suppression", "remove", phone, "--account", "demo")
        self.post("/conversation/suppress", account="demo", phone=phone)
        self.post("/suppressions/import", account="demo", numbers=phone)

    def write_from(self, phone: str) -> None:
        """Has the phone write to the customer, in one part and in several, and to nobody."""
        for number, text in (("3388", TEXT), ("3388", TEXT * 20), ("7777", TEXT)):
            self.post("/simulator/phone", phone=phone, number=number, text=text)
        self.gateway.until(lambda: self._written_by(phone) == 3, "all messages of the phone")

    def _written_by(self, phone: str) -> int:
        told = self.admin("inbound", "list", "--limit", "1000")["messages"]
        return sum(each["from"] == phone for each in told)

    def look_for(self, phone: str) -> None:
        """Searches for it everywhere, downloads what is found, and has what waits held by the guard."""
        asked = f"q={phone}&sender=Acme"
        pages = (f"/messages?{asked}", f"/messages.csv?{asked}", f"/inbound.csv?q={phone}", f"/inbound?q={phone}",
                 f"/conversation?account=demo&phone={phone}", f"/suppressions?q={phone}",
                 f"/prices?q={phone}", f"/routing?q={phone}")  # fmt: skip
        for page in pages:
            self.console.get(page)
        self.admin("message", "find", phone)
        self.admin.run("template", "check", "--sender", "Acme", "--text", f"{TEXT} {phone}")
        self.admin.run("route", "explain", phone)
        found = self.admin("message", "find", phone)["messages"]
        for each in found[:3]:
            self.admin.run("message", "cancel", each["id"])
            self.console.get(f"/messages/{each['id']}")
        self.post("/recipients/find", number=phone)
        self.admin("erase", phone, "--dry-run")

    def hold(self, phone: str) -> None:
        """Has the guard hold what a young account sends to numbers in a row, of which it is the last."""
        self.admin("account", "create", "young", "--credit", "1000")
        self.admin("account", "set", "young", "guard=hold")
        secret = self.admin("key", "create", "young")["api_key"]
        with Customer(self.gateway.url, "young", secret) as customer:

            def held() -> bool:
                for number in range(80):
                    customer.send(to=str(int(phone) - 80 + number), content="x")
                return any(hold["messages"] for hold in self.admin("guard", "list")["holds"])

            # the gateway hears of a hold a moment after there is one
            eventually(held, "a hold with messages in it", 60, 1.0)
            customer.send(to=phone, content=TEXT)

    def name_in_settings(self, phone: str) -> None:
        """Names it where people write what they like."""
        self.admin("number", "add", phone, "--account", "demo")
        self.admin("sender", "add", phone, "--account", "demo", "--state", "approved", "--note", f"is {phone}")
        self.admin("sender", "add", "Acme", "Acme2", "--account", "demo", "--state", "approved")
        self.admin("template", "add", "called", "--text", f"Call {phone}", "--sender", "Acme")
        self.admin("account", "top-up", "demo", "1", "--note", f"for {phone}")
        self.admin("account", "set", "demo", f"prefixes={phone},49,44,1")
        self.admin("price", "set", "--plan", "default", "--prefix", phone, "--price", "1")
        fields = {"to": "4917000000002", "from": phone, "content": "to another"}
        with self.customer() as customer:
            _taken(customer.document("/api/v1/messages", fields | {"reference": f"for {phone}"}))
            several = ["4917000000003", "4917000000004"]
            _taken(customer.document("/api/v1/messages", fields | {"to": several, "reference": f"all of {phone}"}))

    def erase(self, phone: str) -> None:
        """Erases it until nothing is left; what was in flight goes a while after."""
        self.gateway.until(lambda: self.sink.requests, "callbacks")
        eventually(self._callbacks_are_over, "the end of all callbacks", pause=1.0)
        eventually(lambda: self._left(phone) == 0, "nothing of it left", 120, 2.0)

    def _callbacks_are_over(self) -> bool:
        """Gives up those that a receiver refuses, of which there may be more a moment later."""
        for host in re.findall(r'name="host" value="([^"]+)"', self.console.get("/callbacks?tab=hosts").text):
            self.post("/callbacks/drop", host=host)
        return not self.admin("callbacks", "status")["pending"]

    def _left(self, phone: str) -> int:
        return sum(line["found"] for line in self.admin("erase", phone)["lines"])


def _taken(reply: Any) -> None:
    assert reply.status == 200, reply


class Look:
    """Looks at everything that is at rest."""

    def __init__(self, data: Path, server: Server | None) -> None:
        self.data, self._server = data, server

    def octets(self) -> Mapping[str, bytes]:
        """All files of the data directory, and of the database's server but for those that it takes away meanwhile."""
        found = {}
        for folder in [self.data] if self._server is None else [self.data, self._server.folder]:
            for place, _, names in os.walk(folder):
                for file in (Path(place) / name for name in names):
                    with contextlib.suppress(FileNotFoundError):
                        if file.is_file():
                            found[str(file)] = file.read_bytes()
        return found

    def log_of_the_server(self) -> bytes:
        return b"" if self._server is None else (self._server.folder / "log").read_bytes()

    async def columns_with(self, *markers: str) -> set[str]:
        """Returns the columns that have one of the markers, by table, in whatever form."""
        return {
            f"{table}.{column}"
            for table, rows in (await self._tables()).items()
            for row in rows
            for column, value in row.items()
            if _holds(value, markers)
        }

    async def _tables(self) -> dict[str, list[dict[str, Any]]]:
        if self._server is None:
            with contextlib.closing(sqlite3.connect(self.data / "heliograph.db")) as db:
                db.row_factory = sqlite3.Row
                names = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
                return {name: [dict(row) for row in db.execute(f'SELECT * FROM "{name}"')] for name in names}
        db = await asyncpg.connect(self._server.url())
        try:
            found = await db.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'heliograph'")
            names = [name for (name,) in found]
            return {name: [dict(row) for row in await db.fetch(f'SELECT * FROM heliograph."{name}"')] for name in names}
        finally:
            await db.close()


def _holds(value: object, markers: tuple[str, ...]) -> bool:
    octets = value if isinstance(value, bytes) else str(value).encode()
    return any(form in octets for marker in markers for form in _forms(marker))


def _forms(marker: str) -> set[bytes]:
    plain = marker.encode()
    return {
        plain,
        marker.encode("utf-16-be"),
        plain.hex().encode(),
        quote(marker).encode(),
        marker.replace(" ", "+").encode(),
    }


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.extended)])
def server(request: pytest.FixtureRequest) -> Iterator[Server | None]:
    if request.param == "sqlite":
        yield None
        return
    server = Server()
    try:
        server.start()
        yield server
    finally:
        server.remove()


def test_the_columns_out_of_reach_are_documented() -> None:
    pages = (Path(__file__).parents[2] / "docs" / "privacy.md").read_text()
    assert {column for column in KEPT if f"`{column}`" not in pages} == set()


def live(people: People) -> None:
    """Has both phones come by every door."""
    for phone in (PHONE, NAMED):
        people.write_from(phone)
        people.send_all_ways(phone)
        people.be_refused(phone)
        people.look_for(phone)
        people.opt_out(phone)
    people.hold(PHONE)
    people.name_in_settings(NAMED)


def settings_of(server: Server | None) -> dict[str, str]:
    return {"HELIOGRAPH_LOG_LEVEL": "debug", **({} if server is None else {"HELIOGRAPH_DATABASE_URL": server.url()})}


async def test_a_phone_is_planted_everywhere_and_erased(
    data: Path, sink: BackgroundSink, server: Server | None
) -> None:
    settings = settings_of(server)
    admin, look = Admin(data, settings), Look(data, server)
    sink.sink.script(*[Answer(status=410)] * 20, path="/gone")
    sink.sink.script(*[Answer(status=500)] * 100, path="/refused")
    with GatewayProcess(data, dev=True, settings=settings) as gateway, People(gateway, admin, sink) as people:
        live(people)
        planted = await look.columns_with(PHONE, NAMED, TEXT)
        assert planted >= PLANTED, f"no marker in {PLANTED - planted}"
        for phone in (PHONE, NAMED):
            people.erase(phone)
        assert gateway.stop() == 0
        assert not _holds(gateway.err + gateway.out, (PHONE, NAMED, TEXT))
    assert await look.columns_with(PHONE, TEXT) == set()
    found = await look.columns_with(NAMED)
    assert found <= KEPT
    assert {"message.sender", "reference.reference", "number.number", "deed.details"} <= found
    files = look.octets()
    if server is None:  # PostgreSQL's files have dead rows until it overwrites them
        assert {name for name, octets in files.items() if _holds(octets, (PHONE, TEXT))} == set()
        named = {Path(name).name for name, octets in files.items() if _holds(octets, (NAMED,))}
        assert named <= {"heliograph.db", "heliograph.db-wal"}
    assert not _holds(look.log_of_the_server(), (PHONE, NAMED, TEXT))
    assert admin("audit")["problems"] == []


@pytest.mark.extended
async def test_an_encrypted_store_has_it_in_no_file(
    data: Path, sink: BackgroundSink, server: Server | None, tmp_path: Path
) -> None:
    settings = settings_of(server) | {"HELIOGRAPH_ENCRYPTION_KEY": "a master key of thirty-two characters"}
    admin, look = Admin(data, settings), Look(data, server)
    admin("encryption", "on")
    sink.sink.script(*[Answer(status=410)] * 20, path="/gone")
    sink.sink.script(*[Answer(status=500)] * 100, path="/refused")
    with GatewayProcess(data, dev=True, settings=settings) as gateway, People(gateway, admin, sink) as people:
        eventually(lambda: admin("encryption", "status")["resealing"] is None, "all rows", 120, 1)
        live(people)
        assert await look.columns_with(TEXT) == set()
        if server is None:
            admin("backup", str(data / "backup.db"))
        else:
            await server.execute("CHECKPOINT")
        files = look.octets()
        assert {name for name, octets in files.items() if _holds(octets, (TEXT,))} == set()
        assert gateway.stop() == 0
    assert {name for name, octets in look.octets().items() if _holds(octets, (TEXT,))} == set()
    assert len(files) > (3 if server is None else 500)
