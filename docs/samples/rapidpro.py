"""Passes receipts and messages from phones on to a RapidPro channel of the type External API.

HELIOGRAPH_SIGNING_SECRET=whsec_... python rapidpro.py 8082 https://rapidpro.example.com/c/ex/CHANNEL-UUID
"""

import base64
import hashlib
import hmac
import os
import sys
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

if len(sys.argv) < 3 or not os.environ.get("HELIOGRAPH_SIGNING_SECRET"):
    sys.exit(__doc__)

KEY = base64.b64decode(os.environ["HELIOGRAPH_SIGNING_SECRET"].removeprefix("whsec_"))
CHANNEL = sys.argv[2].rstrip("/")
STATES = {"DELIVRD": "delivered"} | dict.fromkeys(("UNDELIV", "REJECTD", "EXPIRED", "DELETED"), "failed")


def genuine(identity: str, moment: str, signatures: str, body: bytes) -> bool:
    if not moment.isdecimal() or abs(time.time() - int(moment)) > 300:
        return False
    signed = f"{identity}.{moment}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.digest(KEY, signed, hashlib.sha256)).decode()
    return any(hmac.compare_digest(expected.encode(), each.encode()) for each in signatures.split())


def fields_of(query: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(query, keep_blank_values=True).items()}


def tell(path: str, fields: dict[str, str]) -> int:
    """Posts to the channel. Returns the status of our own answer: 204, or 502 if the gateway must try again."""
    try:
        with urllib.request.urlopen(f"{CHANNEL}/{path}", urlencode(fields).encode(), timeout=8):
            return 204
    except OSError as error:
        print("RapidPro:", error, file=sys.stderr, flush=True)
        if isinstance(error, urllib.error.HTTPError):
            error.close()
        return 502


class Bridge(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        names = ("webhook-id", "webhook-timestamp", "webhook-signature")
        identity, moment, signatures = (self.headers.get(name, "") for name in names)
        self.answer(self.passed_on(fields_of(body.decode())) if genuine(identity, moment, signatures, body) else 401)

    def passed_on(self, notice: dict[str, str]) -> int:
        url = urlsplit(self.path)
        if url.path == "/receipt":
            state = STATES.get(notice["message_status"])  # ENROUTE, ACCEPTD and UNKNOWN change nothing in RapidPro
            return tell(state, {"uuid": fields_of(url.query)["uuid"]}) if state else 204
        return tell("receive", {"from": "+" + notice["from"], "text": notice["content"]})

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Bridge).serve_forever()
