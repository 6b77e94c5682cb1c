"""What `connector test` says of a connector."""

import ssl
from pathlib import Path
from typing import Any

import pytest

from heliograph.adapters.smpp.probe import probe
from heliograph.app.configuration import Connector
from heliograph.domain.security.host import AllowedHosts
from heliograph.smpp.constants import CommandStatus as Status
from tests.support.carrier_rig import connector
from tests.support.smsc import Smsc, receipt, speaking, wait_until
from tests.support.timeouts import PATIENCE_S

CERTIFICATES = Path(__file__).parent / "certificates"


def names(steps: list[tuple[str, bool, str]]) -> list[str]:
    return [name for name, _, _ in steps]


async def failure(wanted: Connector, timeout_s: float = PATIENCE_S) -> tuple[str, str]:
    """The step that failed, and what was said of it."""
    report = await probe(wanted, timeout_s)
    assert not report.ok
    assert all(ok for _, ok, _ in report.steps[:-1])
    name, ok, detail = report.steps[-1]
    assert not ok
    return name, detail


async def test_a_good_connector_goes_through_all_steps() -> None:
    async with Smsc() as smsc:
        report = await probe(connector(smsc.port))
        assert report.ok
        assert names(report.steps) == ["resolve", "connect", "bind", "enquire_link", "unbind"]
        assert "bind_transceiver as helio" in report.steps[2][2]
        assert smsc.link.unbound
        assert smsc.link.enquiries == 1
        await wait_until(lambda: smsc.link.gone)
        assert "hunter2" not in str(report)


async def test_a_pair_is_tried_as_both_and_every_host_is_tried() -> None:
    async with Smsc() as smsc:
        options = {"hosts": f"localhost:{smsc.port}"}
        report = await probe(connector(smsc.port, bind="transmitter+receiver", options=options))
        assert report.ok
        assert names(report.steps) == ["resolve", "connect", "bind", "enquire_link", "unbind"] * 4
        assert "bind_transmitter" in report.steps[2][2]
        assert "bind_receiver" in report.steps[7][2]


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (Status.ESME_RINVPASWD, "the password is wrong"),
        (Status.ESME_RINVSYSID, "does not know this system_id"),
        (Status.ESME_RALYBND, "more binds than it allows"),
        (Status.ESME_RBINDFAIL, "refused the bind"),
        (Status.ESME_RPROHIBITED, "ask the operator"),
        (0x499, "0x00000499"),
    ],
)
async def test_a_refused_bind_says_why(status: int, words: str) -> None:
    async with Smsc() as smsc:
        smsc.bind_status = status
        name, detail = await failure(connector(smsc.port))
        assert name == "bind"
        assert words in detail


async def test_nobody_listens() -> None:
    async with Smsc() as smsc:
        await smsc.close()
        name, detail = await failure(connector(smsc.port))
        assert name == "connect"
        assert "refuses connections" in detail


async def test_a_name_that_nobody_has() -> None:
    name, detail = await failure(connector(2775, host="a..b"))
    assert name == "resolve"
    assert detail


@pytest.mark.parametrize("entries", [("127.0.0.0/8", "::1"), ("LOCALHOST",)])
async def test_a_host_that_the_settings_allow_is_tried(entries: tuple[str, ...]) -> None:
    async with Smsc() as smsc:
        report = await probe(connector(smsc.port, host="localhost"), allowed=AllowedHosts(entries))
        assert report.ok, report.steps


async def test_a_name_does_not_lead_past_the_allowed_hosts() -> None:
    async with Smsc() as smsc:
        report = await probe(connector(smsc.port, host="localhost"), allowed=AllowedHosts(["192.0.2.0/24"]))
        assert names(report.steps) == ["resolve"]
        assert "smpp.allowed_hosts does not allow localhost, which is " in report.steps[0][2]
        assert not smsc.links


async def test_a_bind_that_is_not_answered() -> None:
    async with Smsc() as smsc:
        smsc.bind_status = None
        name = detail = ""
        # where it took longer to connect, that says something of the machine
        for seconds in (0.2, 2.0, 20.0):
            name, detail = await failure(connector(smsc.port), seconds)
            if name == "bind":
                break
        assert name == "bind"
        assert f"no answer to bind within {seconds:g} s" in detail


async def test_a_connection_that_is_closed_at_once() -> None:
    async with Smsc() as smsc:
        smsc.hang_up = True
        name, detail = await failure(connector(smsc.port))
        assert name == "bind"
        assert "closed the connection" in detail


async def test_a_port_that_speaks_something_else() -> None:
    async with speaking(b"220 mail.example.test ESMTP\r\n") as port:
        name, detail = await failure(connector(port))
        assert name == "bind"
        assert "does not speak SMPP" in detail


async def test_wrong_options_are_named_before_anything_is_tried() -> None:
    async with Smsc() as smsc:
        name, detail = await failure(connector(smsc.port, options={"concatination": "sar"}))
        assert name == "options"
        assert "concatination" in detail
        assert not smsc.links


async def test_receipts_that_come_meanwhile_are_put_off() -> None:
    async with Smsc() as smsc:
        smsc.greet = lambda link: link.deliver(receipt("id1"), "one")
        report = await probe(connector(smsc.port))
        assert report.ok
        assert smsc.link.receipts_answered == [("one", Status.ESME_RX_T_APPN)]
        assert "1 receipts or messages" in report.steps[-1][2]


@pytest.mark.parametrize(
    ("options", "step", "words"),
    [
        ({"tls_server_name": "smsc.example.test"}, "unbind", "agreed"),
        ({}, "tls", "is not trusted"),
        ({"tls_verify": False}, "unbind", "agreed"),
        ({"cert_file": "/nowhere.pem"}, "tls", "cert_file"),
    ],
)
async def test_tls(options: dict[str, Any], step: str, words: str) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(CERTIFICATES / "smsc.pem")
    async with Smsc(context) as smsc:
        options = {"ca_file": str(CERTIFICATES / "authority.pem"), **options}
        report = await probe(connector(smsc.port, tls=True, options=options), PATIENCE_S)
        name, ok, detail = report.steps[-1]
        assert (name, ok) == (step, step == "unbind")
        assert words in detail
        if ok:
            told = {name: detail for name, _, detail in report.steps}["tls"]
            assert ("NOT verified" in told) is ("tls_verify" in options)
