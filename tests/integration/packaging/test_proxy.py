"""A gateway behind a proxy that speaks TLS: it believes what such a one says of the client, and nobody else."""

from pathlib import Path
from urllib.parse import urlencode

import pytest

from heliograph.composition.dev import DEMO_API_KEY, DEMO_NAME, USER_NAME, USER_PASSWORD
from tests.support.customer import Customer
from tests.support.process import Admin, GatewayProcess, eventually

CLIENT = "198.51.100.7"

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("trusted", [True, False])
def test_who_the_client_is_and_how_it_came(trusted: bool, tmp_path: Path) -> None:
    settings = {"HELIOGRAPH_CONSOLE_NAMES": "sms.example.net"}
    if trusted:
        settings["HELIOGRAPH_HTTP_TRUSTED_PROXIES"] = "127.0.0.0/8"
    told = {"X-Forwarded-For": CLIENT, "X-Forwarded-Proto": "https", "Host": "sms.example.net"}
    with (
        GatewayProcess(tmp_path / "data", dev=True, settings=settings) as gateway,
        Customer(gateway.url, DEMO_NAME, DEMO_API_KEY) as customer,
    ):
        Admin(gateway.data)("account", "set", DEMO_NAME, f"networks={CLIENT}/32")
        # a change takes effect within five seconds; from then on loopback itself is refused
        eventually(lambda: customer.request("POST", "/api/v1/account/balance").status == 403, "networks in force")
        through = customer.request("POST", "/api/v1/account/balance", headers=told)
        assert through.status == (200 if trusted else 403)

        form = urlencode({"name": USER_NAME, "password": USER_PASSWORD}).encode()
        headers = told | {"Content-Type": "application/x-www-form-urlencoded"}
        signed_in = customer.request("POST", "/console/sign-in", form, headers)
        assert signed_in.status == 303, signed_in
        assert ("Secure" in signed_in.headers["set-cookie"].split("; ")) is trusted
        assert customer.request("GET", "/metrics", headers=told).status == 403
