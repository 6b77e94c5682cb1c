"""Takes receipts, messages from phones and notices, once each, and only genuine ones. It needs nothing but Python.

HELIOGRAPH_SIGNING_SECRET=whsec_... python receiver.py 8081
"""

import base64
import hashlib
import hmac
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

if len(sys.argv) < 2 or not os.environ.get("HELIOGRAPH_SIGNING_SECRET"):
    sys.exit(__doc__)

KEY = base64.b64decode(os.environ["HELIOGRAPH_SIGNING_SECRET"].removeprefix("whsec_"))
SEEN: set[str] = set()  # in a real program: a table, written in the transaction that uses the fields


def genuine(identity: str, moment: str, signatures: str, body: bytes) -> bool:
    if not moment.isdecimal() or abs(time.time() - int(moment)) > 300:
        return False
    signed = f"{identity}.{moment}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.digest(KEY, signed, hashlib.sha256)).decode()
    return any(hmac.compare_digest(expected.encode(), each.encode()) for each in signatures.split())


def read(media_type: str, body: bytes) -> dict[str, str]:
    if media_type.startswith("application/json"):
        return dict(json.loads(body))
    return {name: values[0] for name, values in parse_qs(body.decode(), keep_blank_values=True).items()}


def take(fields: dict[str, str]) -> None:
    if "message_status" in fields:
        print("receipt", fields["id"], fields["message_status"], fields["err"], flush=True)
    elif "from" in fields:
        print("inbound", fields["from"], fields["to"], fields["content"], flush=True)
    elif fields.get("type") == "account.low_balance":
        print("low balance", fields["account"], fields["balance"], flush=True)


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        names = ("webhook-id", "webhook-timestamp", "webhook-signature")
        identity, moment, signatures = (self.headers.get(name, "") for name in names)
        if not genuine(identity, moment, signatures, body):
            self.answer(401)
            return
        if identity not in SEEN:  # the same comes again if our answer was lost
            take(read(self.headers.get("Content-Type", ""), body))
            SEEN.add(identity)
        self.answer(204)

    def answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
