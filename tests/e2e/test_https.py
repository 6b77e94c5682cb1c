"""The installed program by HTTPS: customers, the console, administration by certificates, and renewals."""

import json
import os
import re
import signal
import ssl
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import httpx
import pytest

from tests.support.certificates import CertificateAuthority, IssuedCertificate
from tests.support.process import Admin, GatewayProcess, SimulatorProcess, eventually
from tests.support.timeouts import PATIENCE_S

pytestmark = pytest.mark.peer


class Https:
    """Files of a gateway by HTTPS, and clients that trust them."""

    def __init__(self, folder: Path) -> None:
        self.authority = CertificateAuthority(folder)
        self.shown = self.authority.issue()
        self.settings = {
            "HELIOGRAPH_HTTP_TLS_LISTEN": "127.0.0.1:0",
            "HELIOGRAPH_HTTP_CERT_FILE": str(self.shown.certificate),
            "HELIOGRAPH_HTTP_KEY_FILE": str(self.shown.key),
            "HELIOGRAPH_SMPP_SERVER_TLS_LISTEN": "127.0.0.1:0",
            "HELIOGRAPH_SMPP_SERVER_CERT_FILE": str(self.shown.certificate),
            "HELIOGRAPH_SMPP_SERVER_KEY_FILE": str(self.shown.key),
        }

    def client(self, gateway: GatewayProcess, shown: IssuedCertificate | None = None) -> httpx.Client:
        url = json.loads(gateway.first_line())["tls_url"]
        return httpx.Client(base_url=url, verify=self.authority.client(shown), timeout=PATIENCE_S)

    def renew(self, days: int) -> None:
        new = self.authority.issue(days=days)
        self.shown.key.write_bytes(new.key.read_bytes())
        self.shown.certificate.write_bytes(new.certificate.read_bytes())

    def ends(self, client: httpx.Client) -> dict[str, float]:
        """Returns when the certificates of new connections end, by listener or connector, by the metrics of the
        gateway."""
        found = re.findall(
            r'^heliograph_(?:tls|connector)_certificate_end_seconds\{(?:listener|connector)="(\w+)"\} (\S+)$',
            client.get("/metrics").text,
            re.MULTILINE,
        )
        return {name: float(end) for name, end in found}


@pytest.fixture
def https(tmp_path: Path) -> Https:
    return Https(tmp_path)


def ends_after(https: Https, client: httpx.Client, days: int) -> bool:
    ends = https.ends(client)
    assert ends.keys() == {"http", "smpp", "shown"}
    return min(ends["http"], ends["smpp"]) > time.time() + days * 86_400


def add_shown(admin: Admin, shown: IssuedCertificate) -> None:
    """Adds a connector, not routed to, with an operator that is shown a certificate."""
    operator = ("--host", "127.0.0.1", "--port", "1", "--system-id", "id", "--password", "pw", "--tls")
    admin("connector", "add", "shown", *operator)
    admin("connector", "set", "shown", f"cert_file={shown.certificate}", f"key_file={shown.key}")


def test_a_message_by_https_while_certificates_are_renewed(data: Path, tmp_path: Path, https: Https) -> None:
    admin = Admin(data, https.settings)
    account = admin.account()
    with SimulatorProcess(tmp_path) as operator:
        admin.operator(operator.port)
        add_shown(admin, https.shown)
        with GatewayProcess(data, settings=https.settings) as gateway, https.client(gateway) as client:
            client.auth = ("acme", account["api_key"])
            first = https.ends(client)["http"]
            told: list[Callable[[], object]] = [
                lambda: os.kill(gateway.pid, signal.SIGHUP),
                lambda: admin("reload"),
                lambda: None,  # it looks by itself
            ]
            for number, tell in enumerate(told):
                days = 120 + number
                https.renew(days)
                tell()
                eventually(partial(ends_after, https, client, days - 1), "renewed")
                fields = {"to": f"44770090012{number}", "from": "Helio", "content": "x"}
                sent = client.post("/api/v1/messages", json=fields)
                assert (sent.status_code, sent.headers["strict-transport-security"]) == (200, "max-age=31536000")
            assert https.ends(client)["http"] > first
            eventually(lambda: len(operator.submits()) == 3, "all are sent")
            https.shown.key.write_text("no key")
            kept = admin.run("reload")
            assert kept.returncode == 1
            assert "is no key of the certificate" in kept.stderr
            assert "the certificate in use stays" in kept.stderr
            with https.client(gateway) as another:
                assert another.get("/health/ready").status_code == 200
            looked = admin.run("doctor", "--no-binds")
            assert "certificate: " in looked.stdout
            assert "is no key of the certificate" in looked.stdout
            https.renew(3)
            assert "the certificate ends in 2 days" in admin.run("doctor", "--no-binds").stdout
            events = [line["event"] for line in gateway.log()]
            assert events.count("tls.renewed") >= 3
            assert "tls.not_renewed" in events


def test_the_console_s_cookies_are_secure_by_https(data: Path, https: Https) -> None:
    admin = Admin(data, https.settings)
    password = admin("admin", "create", "ada", "--role", "admin")["password"]
    with GatewayProcess(data, settings=https.settings) as gateway, https.client(gateway) as client:
        form = {"name": "ada", "password": password}
        signed_in = client.post("/console/sign-in", data=form)
        assert signed_in.status_code == 303, signed_in.text
        given = signed_in.headers["set-cookie"]
        # what the prefix takes, or browsers throw the cookie away
        assert given.startswith("__Host-heliograph_session=")
        assert {"Secure", "Path=/"} <= {part.strip() for part in given.split(";")}
        assert "Domain" not in given
        assert client.get("/console/").status_code == 200
        plain = httpx.post(f"{gateway.url}/console/sign-in", data=form, timeout=PATIENCE_S)
        given = plain.headers["set-cookie"]
        assert given.startswith("heliograph_session=")
        assert "Secure" not in given, "a browser would not send it back"
        planted = {"Cookie": given.partition(";")[0]}
        assert httpx.get(f"{gateway.url}/console/", headers=planted, timeout=PATIENCE_S).status_code == 200
        client.cookies.clear()
        assert client.get("/console/", headers=planted).status_code == 303, "anybody on the way could have set it"


def test_the_admin_api_by_certificates_alone(data: Path, https: Https) -> None:
    settings = {**https.settings, "HELIOGRAPH_ADMIN_CLIENT_CA_FILE": str(https.authority.certificate)}
    admin = Admin(data, settings)
    token = admin("admin", "token", "create", "billing", "--scope", "accounts:read")["secret"]
    given = {"Authorization": f"Bearer {token}"}
    with GatewayProcess(data, settings=settings) as gateway:
        with https.client(gateway, https.authority.issue("billing")) as client:
            assert client.get("/admin/v1/accounts", headers=given).status_code == 200
            assert client.get("/admin/v1/accounts").status_code == 401, "a certificate is no token"
        with https.client(gateway) as client:
            refused = client.get("/admin/v1/accounts", headers=given)
            assert (refused.status_code, refused.json()["Status"]) == (403, "06")
            assert client.get("/console/sign-in").status_code == 200
        assert httpx.get(f"{gateway.url}/admin/v1/accounts", headers=given, timeout=PATIENCE_S).status_code == 403


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"HELIOGRAPH_HTTP_CERT_FILE": ""}, "http.tls_listen is set and http.cert_file is not"),
        ({"HELIOGRAPH_HTTP_CERT_FILE": "/nowhere.pem"}, "the certificate /nowhere.pem cannot be read"),
        (
            {"HELIOGRAPH_HTTP_TLS_LISTEN": "", "HELIOGRAPH_ADMIN_CLIENT_CA_FILE": "/x"},
            "admin.client_ca_file is set and http.tls_listen is not",
        ),
    ],
)
def test_settings_that_contradict_each_other_are_told(
    data: Path, https: Https, changes: dict[str, str], sentence: str
) -> None:
    admin = Admin(data, https.settings | changes)
    started = admin.run("serve", "--listen", "127.0.0.1:0")
    assert started.returncode == 1
    assert sentence in started.stderr
    assert "Traceback" not in started.stderr
    assert sentence in admin.run("doctor", "--no-binds").stdout


def test_who_speaks_no_tls_hears_nothing(data: Path, https: Https) -> None:
    with GatewayProcess(data, settings=https.settings) as gateway, https.client(gateway) as client:
        plain = str(client.base_url).replace("https:", "http:")
        with pytest.raises(httpx.TransportError):
            httpx.get(f"{plain}/health/live", timeout=PATIENCE_S)
        strange = ssl.create_default_context()
        with pytest.raises(httpx.ConnectError), httpx.Client(verify=strange, timeout=PATIENCE_S) as distrustful:
            distrustful.get(f"{client.base_url}/health/live")
        assert client.get("/health/live").status_code == 200
