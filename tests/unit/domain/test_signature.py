import json
import subprocess
import time

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from heliograph.domain.security.signature import format_secret, sign
from tests.support.peers import node_script
from tests.support.timeouts import COMMAND_S

SECRET = bytes(range(32))
TEXT = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="


def test_the_signature_is_that_of_openssl() -> None:
    # Of the octets `msg_1.1674087231.id=1&text=%E2%82%AC`, by `openssl dgst -sha256 -mac HMAC`.
    signature = sign(SECRET, "msg_1", 1674087231, b"id=1&text=%E2%82%AC")
    assert signature == "v1,oImy5AVZ65Bqdb8NZOpyczT2Z0ZSkkXBMpKiAZ8VYWc="


def test_every_input_counts() -> None:
    variants = [
        sign(SECRET, "a", 1, b"x"),
        sign(SECRET[::-1], "a", 1, b"x"),
        sign(SECRET, "b", 1, b"x"),
        sign(SECRET, "a", 2, b"x"),
        sign(SECRET, "a", 1, b"y"),
    ]
    assert len(set(variants)) == len(variants)


def test_secrets_as_text() -> None:
    assert format_secret(SECRET) == TEXT


def test_a_secret_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="32"):
        format_secret(b"short")


BODIES = ("id=1&text=%E2%82%AC", '{"text": "€, grüße"}')


def signed(body: str) -> dict[str, str]:
    """The headers of a callback that is posted now."""
    at = int(time.time())
    signature = sign(SECRET, "dlr_1", at, body.encode())
    return {"webhook-id": "dlr_1", "webhook-timestamp": str(at), "webhook-signature": signature}


@pytest.mark.parametrize("body", BODIES)
def test_the_library_of_standard_webhooks_takes_the_signature(body: str) -> None:
    judge = Webhook(TEXT)
    judge.verify(body.encode(), signed(body), json_parse=False)
    with pytest.raises(WebhookVerificationError):
        judge.verify(body.encode() + b" ", signed(body), json_parse=False)


@pytest.mark.peer
def test_the_library_of_standard_webhooks_for_node_takes_the_signature() -> None:
    command, environment = node_script("webhook.js", "standardwebhooks")
    cases = [[body + more, signed(body)] for body in BODIES for more in ("", " ")]
    ran = subprocess.run(
        command, input=json.dumps([TEXT, cases]), env=environment, capture_output=True, text=True, timeout=COMMAND_S,
        check=True,
    )  # fmt: skip
    assert json.loads(ran.stdout) == [True, False, True, False]
