"""A callback on the wire: its signed request (RFC 9112, Standard Webhooks), and the reply in its answer.

By Kannel's contract, an answer of `text/plain` is a message to the phone.
"""

import re
from typing import Final

from heliograph.app.webhook_job import WebhookJob
from heliograph.domain.security.signature import sign
from heliograph.http_client.requester import AnswerBody

_TEXT = re.compile(rb"\s*text/plain\s*(?:;(.*))?", re.IGNORECASE | re.DOTALL).fullmatch
_CHARSET = re.compile(rb"""charset\s*=\s*["']?([A-Za-z0-9._:+-]{1,40})""", re.IGNORECASE).search
_DEFAULT: Final = "utf-8"


def request(job: WebhookJob, path: str, standing: str, timestamp: int) -> bytes:
    """Returns head and body together. `timestamp` is in Unix seconds. Each secret makes one signature."""
    body = job.body
    secrets = job.secrets
    if len(secrets) == 1:
        signature = sign(secrets[0], job.webhook_id, timestamp, body)
    else:
        signature = " ".join([sign(secret, job.webhook_id, timestamp, body) for secret in secrets])
    trace = f"traceparent: {job.traceparent}\r\n" if job.traceparent else ""
    code = f"heliograph-operator-code: {job.operator_code}\r\n" if job.operator_code else ""
    head = (
        f"POST {path}{standing}Content-Type: {job.content_type}\r\nContent-Length: {len(body)}\r\n"
        f"webhook-id: {job.webhook_id}\r\nwebhook-timestamp: {timestamp}\r\nwebhook-signature: {signature}\r\n"
        f"{code}{trace}\r\n"
    )
    return head.encode("ascii") + body


def has_reply(code: int, answer: AnswerBody) -> bool:
    """Returns whether the body of an answer is a reply, by status and type: for example a 200 with `text/plain`."""
    return 200 <= code < 300 and _TEXT(answer.headers.get(b"content-type", b"")) is not None


def read_reply(answer: AnswerBody, most: int) -> tuple[str, str]:
    """Returns the text without surrounding blanks, and the reason if it cannot be read, such as "its text is
    compressed". `most`: octets that it may have."""
    if answer.is_too_long:
        return "", f"its text has more than {most} octets"
    if answer.headers.get(b"content-encoding", b"").strip().lower() not in (b"", b"identity"):
        return "", "its text is compressed"
    match = _TEXT(answer.headers.get(b"content-type", b""))
    charset = None if match is None else _CHARSET(match[1] or b"")
    name = _DEFAULT if charset is None else charset[1].decode("ascii")
    try:
        text = bytes(answer.body).decode(name)
        text.encode()  # some charsets decode to lone surrogates, which are no text
    except (LookupError, ValueError):
        return "", f"its text is not {name}"
    return text.strip(), ""
