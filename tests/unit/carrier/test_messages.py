"""What went wrong with a link, told so that somebody can do something about it."""

import ssl

import pytest

from heliograph.adapters.smpp.messages import why_not_connected


def untrusted(code: int, message: str) -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError(1, "certificate verify failed")
    error.verify_code, error.verify_message = code, message
    return error


@pytest.mark.parametrize(
    ("error", "tls", "advice"),
    [
        (TimeoutError(), False, "check the host, the port and firewalls on the way"),
        (TimeoutError(), True, "and whether it speaks TLS there"),
        (untrusted(10, "certificate has expired"), True, "has expired; tell the operator"),
        (untrusted(18, "self-signed certificate"), True, "(self-signed certificate); set ca_file"),
        (ConnectionRefusedError(), True, "refuses connections; check the port"),
    ],
)
def test_what_to_do(error: Exception, tls: bool, advice: str) -> None:
    told = why_not_connected(error, "smsc.example.net:2775", 10.0, tls=tls)
    assert "smsc.example.net:2775" in told
    assert advice in told


def test_only_what_has_tls_is_asked_about_it() -> None:
    assert "TLS" not in why_not_connected(TimeoutError(), "smsc.example.net:2775", 10.0, tls=False)
