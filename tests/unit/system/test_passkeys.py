"""Passkeys: the answers that are taken, and all those that are not."""

import json
from typing import Any

import pytest

from heliograph.adapters.system.passkeys import WebauthnPasskeys
from tests.support.passkeys import PRESENT, SoftPasskey

HOST, ORIGIN = "sms.example.com", "https://sms.example.com"
ONE, OTHER = b"1" * 32, b"2" * 32
passkeys = WebauthnPasskeys()


def made(soft: SoftPasskey) -> bytes:
    options = passkeys.creation_options(HOST, "ada", [], ONE)
    return passkeys.created(HOST, ONE, soft.make(options, ORIGIN))


def test_a_passkey_is_made_and_used() -> None:
    soft, second = SoftPasskey(), SoftPasskey(b"j" * 16)
    known = [made(second), made(soft)]
    options = passkeys.request_options(HOST, known, OTHER)
    assert passkeys.proven(HOST, known, OTHER, soft.use(options, ORIGIN)) == 1
    assert passkeys.proven(HOST, known, OTHER, second.use(options, ORIGIN)) == 0


def test_options_are_json_and_name_what_is_known() -> None:
    known = [made(SoftPasskey())]
    made_options = passkeys.creation_options(HOST, "ada", known, ONE)["publicKey"]
    assert made_options["rp"]["id"] == HOST
    assert len(json.loads(json.dumps(made_options))["excludeCredentials"]) == 1
    used_options = passkeys.request_options(HOST, known, ONE)["publicKey"]
    assert used_options["rpId"] == HOST
    assert len(json.loads(json.dumps(used_options))["allowCredentials"]) == 1


@pytest.mark.parametrize(
    ("origin", "host", "challenge"),
    [
        ("https://sms.example.org", HOST, OTHER),
        ("http://sms.example.com", HOST, OTHER),
        ("https://blog.sms.example.com", HOST, OTHER),
        ("https://sms.example.com@evil.example", HOST, OTHER),
        ("ftp://sms.example.com", HOST, OTHER),
        ("null", HOST, OTHER),
        (ORIGIN, "other.example.com", OTHER),
        (ORIGIN, "example.com", OTHER),
        (ORIGIN, HOST, ONE),
    ],
)
def test_an_answer_elsewhere_or_to_something_else_proves_nothing(origin: str, host: str, challenge: bytes) -> None:
    soft = SoftPasskey()
    known = [made(soft)]
    answer = soft.use(passkeys.request_options(HOST, known, OTHER), origin)
    with pytest.raises(ValueError, match="no answer"):
        passkeys.proven(host, known, challenge, answer)
    with pytest.raises(ValueError, match="no answer"):
        passkeys.created(host, challenge, soft.make(passkeys.creation_options(HOST, "ada", [], OTHER), origin))


@pytest.mark.parametrize(("host", "taken"), [("localhost", True), ("sms.localhost", True), ("192.0.2.7", False)])
def test_plain_http_is_safe_on_the_same_machine_alone(host: str, taken: bool) -> None:
    soft, origin = SoftPasskey(), f"http://{host}:8080"
    answer = soft.make(passkeys.creation_options(host, "ada", [], ONE), origin)
    if taken:
        assert passkeys.created(host, ONE, answer)
    else:
        with pytest.raises(ValueError, match="no answer"):
            passkeys.created(host, ONE, answer)


def test_another_key_proves_nothing() -> None:
    soft = SoftPasskey()
    known = [made(soft)]
    options = passkeys.request_options(HOST, known, OTHER)
    for stranger in (SoftPasskey(), SoftPasskey(b"k" * 16)):
        with pytest.raises(ValueError, match="no answer"):
            passkeys.proven(HOST, known, OTHER, stranger.use(options, ORIGIN))
    with pytest.raises(ValueError, match="no answer"):
        passkeys.proven(HOST, known, OTHER, soft.use(options, ORIGIN, flags=0))
    assert passkeys.proven(HOST, known, OTHER, soft.use(options, ORIGIN, PRESENT)) == 0


@pytest.mark.parametrize(
    "answer",
    [{}, {"id": 1}, {"rawId": "é", "response": {}}, {"id": "a", "rawId": "a", "type": "public-key", "response": {}}],
)
def test_what_is_no_answer_is_refused_in_one_way(answer: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="no answer"):
        passkeys.proven(HOST, [made(SoftPasskey())], ONE, answer)
    with pytest.raises(ValueError, match="no answer"):
        passkeys.created(HOST, ONE, answer)
