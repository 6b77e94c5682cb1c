"""HTTPS: clients of all kinds, hostile handshakes, and certificates that are renewed under load."""

import asyncio
import contextlib
import socket
import ssl
import subprocess
import time
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from heliograph.admin_api.checks import CertificateEndpoint
from heliograph.api.serve import serve as serve_api
from heliograph.composition import certificates
from heliograph.composition.certificates import RenewableCertificate
from heliograph.http.server import Server, serve
from heliograph.net import limits
from heliograph.net.clients import Clients, Shares
from heliograph.net.tls import DONE, FAILED, LATE, REFUSED, CertificateFiles, Tls, read_validity
from tests.integration.http.test_listeners import says
from tests.support.certificates import CertificateAuthority
from tests.support.connectors import smpp_connector
from tests.support.gateway import API_KEY, Gateway, MemoryJournal, basic, open_gateway
from tests.support.peers import foreign_program
from tests.support.timeouts import PATIENCE_S
from tests.unit.http.test_connection import Words

pytestmark = pytest.mark.peer

SEND = {"to": "447700900123", "from": "Helio", "content": "Hello"}
RENEWALS = 5


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> CertificateAuthority:
    return CertificateAuthority(tmp_path_factory.mktemp("authority"))


class Secured:
    """The API by HTTPS."""

    def __init__(self, gateway: Gateway, server: Server, tls: Tls, authority: CertificateAuthority) -> None:
        self.gateway = gateway
        self.server = server
        self.tls = tls
        self.authority = authority
        self.url = f"https://localhost:{server.port}"

    def client(self) -> httpx.AsyncClient:
        headers = {"Authorization": basic("acme", API_KEY).decode()}
        return httpx.AsyncClient(base_url=self.url, verify=self.authority.client(), headers=headers, timeout=PATIENCE_S)


@pytest.fixture
async def secured(authority: CertificateAuthority) -> AsyncIterator[Secured]:
    gateway, tls = await open_gateway(), Tls(authority.issue().files.load(), hsts_days=2)
    server = await serve_api(gateway.app, "127.0.0.1", 0, tls=tls)
    yield Secured(gateway, server, tls, authority)
    await server.stop(PATIENCE_S)


async def until(look: Callable[[], Any], what: str) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not look():  # noqa: ASYNC110 - there is nothing to wait for but turns of the loop
            await asyncio.sleep(0.01)
    assert look(), what


async def run(*words: str, text: str = "") -> subprocess.CompletedProcess[str]:
    """A foreign client's run."""
    command = [foreign_program(words[0]), *words[1:]]
    return await asyncio.to_thread(
        subprocess.run, command, input=text, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )


async def test_clients_send_by_https_and_are_told_to_stay_there(secured: Secured) -> None:
    async with secured.client() as client:
        for _ in range(3):
            sent = await client.post("/api/v1/messages", json=SEND)
            assert (sent.status_code, sent.headers["strict-transport-security"]) == (200, "max-age=172800")
        refused = await client.post("/api/v1/messages", content=b"{")
        assert (refused.status_code, refused.headers["strict-transport-security"]) == (400, "max-age=172800")
        missing = await client.get("/nothing")
        assert missing.headers["strict-transport-security"] == "max-age=172800"
    assert len(secured.gateway.intake.accepted) == 3
    assert secured.tls.handshakes[DONE] == 1


async def test_without_tls_or_the_setting_nobody_is_told_to_come_by_https(secured: Secured) -> None:
    plain = await serve_api(secured.gateway.app, "127.0.0.1", 0)
    other = await serve_api(secured.gateway.app, "127.0.0.1", 0, tls=Tls(secured.authority.issue().files.load()))
    async with secured.client() as client:
        for url in (f"http://127.0.0.1:{plain.port}", f"https://127.0.0.1:{other.port}"):
            answered = await client.get(f"{url}/health/live")
            assert answered.status_code == 200
            assert "strict-transport-security" not in answered.headers
    await plain.stop(0)
    await other.stop(0)


async def test_curl_sends_and_agrees_on_http_1_1(secured: Secured) -> None:
    done = await run(
        "curl", "-sv", "--http2", "--cacert", str(secured.authority.certificate), "-u", f"acme:{API_KEY}",
        "-H", "Content-Type: application/json", "-d", '{"to":"447700900123","from":"Helio","content":"x"}',
        f"{secured.url}/api/v1/messages",
    )  # fmt: skip
    assert '"Status":"00"' in done.stdout, done
    assert "HTTP/1.1 200 OK" in done.stderr
    assert "server accepted http/1.1" in done.stderr


@pytest.mark.parametrize(
    ("words", "is_welcome"),
    [
        (("-tls1_3",), True),
        (("-tls1_2",), True),
        (("-tls1_2", "-cipher", "ECDHE-ECDSA-CHACHA20-POLY1305"), True),
        (("-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA:@SECLEVEL=0"), False),
        (("-tls1_1", "-cipher", "ALL:@SECLEVEL=0"), False),
        (("-tls1", "-cipher", "ALL:@SECLEVEL=0"), False),
    ],
)
async def test_old_versions_and_weak_ciphers_are_not_spoken(
    secured: Secured, words: tuple[str, ...], is_welcome: bool
) -> None:
    request = "GET /health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    to = f"127.0.0.1:{secured.server.port}"
    done = await run("openssl", "s_client", "-connect", to, "-ign_eof", "-alpn", "h2,http/1.1", *words, text=request)
    assert ("HTTP/1.1 200 OK" in done.stdout) == is_welcome, done
    assert ("ALPN protocol: http/1.1" in done.stdout) == is_welcome
    await until(lambda: sum(secured.tls.handshakes.values()) == 1, "it is counted")
    assert secured.tls.handshakes[FAILED] == (not is_welcome)


async def test_a_client_cannot_renegotiate(secured: Secured) -> None:
    to = f"127.0.0.1:{secured.server.port}"
    done = await run("openssl", "s_client", "-connect", to, "-tls1_2", text="R\n")
    assert "no renegotiation" in done.stderr, done


async def test_refusals_reach_their_clients_though_tls_has_no_half_of_an_end(
    secured: Secured, caplog: pytest.LogCaptureFixture
) -> None:
    for octets, status in (
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\n\r\n", b"400"),
        (b"POST /api/v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 5000000\r\n\r\n" + b"x" * 3_000_000, b"401"),
    ):
        reader, writer = await asyncio.open_connection("localhost", secured.server.port, ssl=secured.authority.client())
        async with asyncio.timeout(PATIENCE_S):
            writer.write(octets)
            assert (await reader.readuntil(b"\r\n")).split()[1] == status
            writer.close()
    reader, writer = await asyncio.open_connection("localhost", secured.server.port, ssl=secured.authority.client())
    writer.write(b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n" * 3)
    writer.close()  # while answers are on their way
    await until(lambda: secured.server.connections == 0, "all have gone")
    assert [record.getMessage() for record in caplog.records] == []
    assert secured.gateway.journal.lines == []


# --- hostile handshakes


def silent(port: int, count: int, host: str = "127.0.0.3") -> list[socket.socket]:
    """Clients that connect and say nothing."""
    found = []
    for _ in range(count):
        one = socket.socket()
        one.bind((host, 0))
        one.connect(("127.0.0.1", port))
        found.append(one)
    return found


async def test_thousands_of_half_open_handshakes_keep_nobody_out(
    secured: Secured, authority: CertificateAuthority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "UNFINISHED_SPARE_S", PATIENCE_S)  # so that they are too many and not too old
    words, tls = Words(), Tls(authority.issue().files.load())
    shares = Shares(connections_of_one=1_024, unfinished_of_one=128)
    server = await serve(says(b"here"), words, "127.0.0.1", 0, tls=tls, clients=Clients(shares, words.note_turned_away))
    hostile: list[socket.socket] = []
    for _ in range(12):
        hostile += await asyncio.to_thread(silent, server.port, 100)
    await until(lambda: tls.handshakes[REFUSED] > 1_000, "the address has too many")
    async with httpx.AsyncClient(verify=authority.client(), timeout=PATIENCE_S) as client:
        for _ in range(10):
            assert (
                await client.get(f"https://localhost:{server.port}/", headers={"Connection": "close"})
            ).text == "here"
    assert tls.handshakes[DONE] == 10
    assert {client for _, client in words.turned_away} == {"127.0.0.3"}
    async with asyncio.timeout(limits.HANDSHAKE_TIMEOUT_S / 2):
        await server.stop(PATIENCE_S)  # waits for no handshake
    for each in hostile:
        each.close()


async def test_a_slow_handshake_ends(secured: Secured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "HANDSHAKE_TIMEOUT_S", 0.2)
    (connected,) = silent(secured.server.port, 1)
    connected.setblocking(False)
    connected.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")  # the beginning of a hello
    with contextlib.suppress(ConnectionResetError):
        async with asyncio.timeout(PATIENCE_S):
            assert await asyncio.get_running_loop().sock_recv(connected, 100) == b""
    connected.close()
    await until(lambda: secured.tls.handshakes[LATE] == 1, "it is counted")


async def test_garbage_is_no_handshake_and_costs_its_client_its_share(authority: CertificateAuthority) -> None:
    words, tls = Words(), Tls(authority.issue().files.load())
    clients = Clients(Shares(refused_work=0.02), words.note_turned_away)
    server = await serve(says(b"here"), words, "127.0.0.1", 0, tls=tls, clients=clients)
    for garbage in (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\0" * 2_000, b"\x16\x03\x01" + b"\xff" * 500, b"\x80" * 99):
        (connected,) = silent(server.port, 1)
        await asyncio.to_thread(connected.sendall, garbage)
        connected.close()
    await until(lambda: tls.handshakes[FAILED] + tls.handshakes[LATE] == 4, "all four failed")
    while not tls.handshakes[REFUSED]:
        (connected,) = silent(server.port, 1)
        with contextlib.suppress(OSError):
            await asyncio.to_thread(connected.sendall, b"nonsense\r\n\r\n")
            await asyncio.to_thread(connected.recv, 100)
        connected.close()
    assert ("share", "127.0.0.3") in words.turned_away
    async with httpx.AsyncClient(verify=authority.client(), timeout=PATIENCE_S) as client:
        assert (await client.get(f"https://localhost:{server.port}/")).text == "here"
    await server.stop(0)


# --- renewal


def put(path: Path, octets: bytes) -> None:
    """Puts these octets in the place of a file, as a renewing program does: nobody reads half of them."""
    new = path.with_suffix(".new")
    new.write_bytes(octets)
    new.replace(path)


def replace(files: CertificateFiles, by: CertificateFiles) -> None:
    """Puts a key and then its certificate in the place of those that are there."""
    assert files.key is not None
    assert by.key is not None
    put(files.key, by.key.read_bytes())
    put(files.certificate, by.certificate.read_bytes())


@pytest.fixture
async def renewable(
    authority: CertificateAuthority, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[RenewableCertificate, CertificateFiles, MemoryJournal]]:
    monkeypatch.setattr(certificates, "LOOK_S", 0.02)
    files, journal = authority.issue().files, MemoryJournal()
    found = RenewableCertificate(files, 0, journal)
    yield found, files, journal
    await found.stop()


Renewable = tuple[RenewableCertificate, CertificateFiles, MemoryJournal]


def renewed(journal: MemoryJournal, times: int) -> bool:
    return [event for _, event, _ in journal.lines].count("tls.renewed") >= times


def reached(answered: list[int], enough: list[int]) -> bool:
    return all(number >= least for number, least in zip(answered, enough, strict=True))


async def test_a_renewal_under_load_fails_no_request(renewable: Renewable, authority: CertificateAuthority) -> None:
    certificate, files, journal = renewable
    server = await serve(says(b"here"), Words(), "127.0.0.1", 0, tls=certificate.tls)
    over = asyncio.Event()
    answered = [0, 0]

    async def ask(*, anew: bool) -> None:
        async with httpx.AsyncClient(verify=authority.client(), timeout=PATIENCE_S) as client:
            while not over.is_set():
                headers = {"Connection": "close"} if anew else {}
                assert (await client.get(f"https://localhost:{server.port}/", headers=headers)).text == "here"
                answered[anew] += 1

    async with asyncio.TaskGroup() as group:
        for anew in (True, True, False, False):
            group.create_task(ask(anew=anew))
        for renewals in range(1, RENEWALS + 1):
            replace(files, authority.issue(days=90 + renewals).files)
            await until(partial(renewed, journal, renewals), "renewed")
            enough = [number + 5 for number in answered]
            await until(partial(reached, answered, enough), "both go on")
        over.set()
    seen = await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", server.port))
    assert seen.split() == files.certificate.read_text().split()
    assert certificate.tls.handshakes[FAILED] == 0
    await server.stop(0)


async def test_bad_new_files_leave_those_in_use(renewable: Renewable, authority: CertificateAuthority) -> None:
    certificate, files, journal = renewable
    assert files.key is not None
    first, other = certificate.tls.loaded, authority.issue(days=91).files
    assert other.key is not None
    put(files.certificate, other.certificate.read_bytes())  # its key is not there yet
    await until(lambda: journal.lines, "told")
    assert "is no key of the certificate" in await certificate.renew()
    put(files.certificate, b"nothing")
    assert "no certificate in PEM" in await certificate.renew()
    replace(files, authority.issue(password="secret").files)
    assert "the key is encrypted" in await certificate.renew()
    assert certificate.tls.loaded is first
    events = [(level, event) for level, event, _ in journal.lines]
    assert set(events) == {("error", "tls.not_renewed")}
    assert len(events) == len({fields["problem"] for _, _, fields in journal.lines}), "each problem is told once"
    replace(files, other)
    await until(lambda: certificate.tls.loaded is not first, "taken by itself")
    assert journal.lines[-1][:2] == ("info", "tls.renewed")


async def test_a_certificate_that_ends_soon_is_warned_of(authority: CertificateAuthority) -> None:
    journal = MemoryJournal()
    found = RenewableCertificate(authority.issue(days=3).files, 0, journal)
    await found.stop()
    assert [(level, event) for level, event, _ in journal.lines] == [("warning", "tls.ends_soon")]
    assert "ends in 2 days" in journal.lines[0][2]["problem"]


async def test_a_certificate_that_is_not_renewed_is_warned_of_while_the_gateway_runs(
    renewable: Renewable, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, _, journal = renewable
    left = certificate.tls.loaded.validity.end - time.time()
    monkeypatch.setattr(certificates, "SOON_S", left + 1)
    await until(lambda: journal.lines, "told")
    monkeypatch.setattr(certificates, "WARN_AGAIN_S", 0.0)
    await until(lambda: len(journal.lines) > 1, "told again")
    assert {(level, event) for level, event, _ in journal.lines} == {("warning", "tls.ends_soon")}


async def test_a_certificate_for_an_operator_is_read_again_and_warned_of_once_a_day(
    authority: CertificateAuthority, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal, issued = MemoryJournal(), authority.issue(days=3)
    options = {"tls": True, "cert_file": str(issued.certificate), "key_file": str(issued.key)}
    connectors = [
        smpp_connector(1, "op", "h", 1, "", "", **options),
        smpp_connector(2, "plain", "h", 1, "", "", **options | {"tls": False}),
        smpp_connector(3, "broken", "h", 1, "", "", **options | {"cert_file": "/nowhere.pem"}),
    ]
    found = certificates.ClientCertificates(lambda: connectors, journal)
    for _ in range(2):
        await found.look()
    assert found.ends == {"op": read_validity(issued.certificate).end}
    ((level, event, fields),) = journal.lines
    assert (level, event, fields["connector"]) == ("warning", "tls.ends_soon", "op")
    assert "ends in 2 days" in fields["problem"]
    monkeypatch.setattr(certificates, "WARN_AGAIN_S", 0.0)
    await found.look()
    assert len(journal.lines) == 2
    put(issued.certificate, authority.issue(days=90).certificate.read_bytes())
    await found.look()
    assert found.ends["op"] > time.time() + 80 * 86_400
    assert len(journal.lines) == 2
    del connectors[0]
    await found.look()
    assert found.ends == {}


# --- certificates of clients


async def test_who_shows_no_certificate_is_refused_at_the_admin_api_alone(
    authority: CertificateAuthority, tmp_path: Path
) -> None:
    files = authority.issue().files
    tls = Tls(CertificateFiles(files.certificate, files.key, authority.certificate).load())
    gateway = await open_gateway()
    gateway.app.mount("/admin", CertificateEndpoint(says(b"administered")))
    secure = await serve_api(gateway.app, "127.0.0.1", 0, tls=tls)
    plain = await serve_api(gateway.app, "127.0.0.1", 0, trusted_proxies=["127.0.0.0/8"])
    ours, strangers = authority.issue("ada"), CertificateAuthority(tmp_path, "stranger").issue("ada")

    async def ask(path: str, context: ssl.SSLContext, url: str = f"https://localhost:{secure.port}") -> httpx.Response:
        claims = {"X-Forwarded-Proto": "https", "X-SSL-Client-Verify": "SUCCESS", "X-Client-Cert": "ada"}
        async with httpx.AsyncClient(verify=context, timeout=PATIENCE_S) as client:
            return await client.get(url + path, headers=claims)

    welcome = await ask("/admin/v1/accounts", authority.client(ours))
    assert (welcome.status_code, welcome.text) == (200, "administered")
    for path in ("/admin", "/admin/v1/accounts", "/admin/v1/openapi.json", "/%61dmin/v1/accounts"):
        for refused in (
            await ask(path, authority.client()),
            await ask(path, authority.client(), f"http://127.0.0.1:{plain.port}"),
        ):
            assert refused.status_code == 403
            assert "admin.client_ca_file" in refused.json()["Message"]
    assert (await ask("/health/live", authority.client())).status_code == 200
    with pytest.raises(httpx.HTTPError):
        await ask("/admin/v1/accounts", authority.client(strangers))
    await secure.stop(0)
    await plain.stop(0)
