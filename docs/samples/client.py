"""Sends a message and asks what became of it. It needs nothing but Python.

    HELIOGRAPH_URL=https://sms.example.net HELIOGRAPH_USER=acme HELIOGRAPH_API_KEY=... \
        python client.py 491701234567 'Hello, world' [URL for the receipt]
"""

import base64
import json
import os
import sys
import time
import urllib.error
import urllib.request
import uuid


class Refused(Exception):
    """The gateway said no: its HTTP status, its code, and its words."""

    def __init__(self, http_status: int, code: str, message: str) -> None:
        super().__init__(f"{http_status} {code}: {message}")
        self.http_status, self.code = http_status, code


class Heliograph:
    def __init__(self, url: str, user: str, api_key: str) -> None:
        self._url = url.rstrip("/")
        self._authorization = "Basic " + base64.b64encode(f"{user}:{api_key}".encode()).decode()

    def quote(self, to: str, sender: str, content: str) -> dict:
        """What it would cost. Nothing is sent."""
        return self._call("POST", "/api/v1/messages/quote", {"to": to, "from": sender, "content": content})

    def send(self, to: str, sender: str, content: str, **more: str) -> dict:
        """Sends it once, however often the connection breaks: all tries carry the same reference."""
        fields = {"to": to, "from": sender, "content": content, "reference": uuid.uuid4().hex, **more}
        return self._call("POST", "/api/v1/messages", fields, tries=5)

    def get(self, message: str) -> dict:
        return self._call("GET", f"/api/v1/messages/{message}")

    def cancel(self, message: str) -> dict:
        """Takes back a scheduled one, and its price."""
        return self._call("DELETE", f"/api/v1/messages/{message}", tries=5)

    def balance(self) -> str:
        return self._call("POST", "/api/v1/account/balance")["Message"]

    def _call(self, method: str, path: str, fields: dict | None = None, tries: int = 1) -> dict:
        body = None if fields is None else json.dumps(fields).encode()
        headers = {"Authorization": self._authorization, "Content-Type": "application/json"}
        for pause in range(1, tries + 1):
            try:
                request = urllib.request.Request(self._url + path, body, headers, method=method)
                with urllib.request.urlopen(request, timeout=30) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as error:
                if error.code not in (429, 503, 504) or pause == tries:
                    answer = json.load(error)
                    raise Refused(error.code, answer["Status"], answer["Message"]) from None
                time.sleep(float(error.headers.get("Retry-After", pause)))
            except OSError:  # no connection, or no answer in time
                if pause == tries:
                    raise
                time.sleep(pause)
        raise AssertionError("unreachable")


def main() -> None:
    settings = [os.environ.get(f"HELIOGRAPH_{name}") for name in ("URL", "USER", "API_KEY")]
    if len(sys.argv) < 3 or not all(settings):
        sys.exit(__doc__)
    to, content, *receipt_url = sys.argv[1:]
    gateway = Heliograph(*settings)
    quote = gateway.quote(to, "Heliograph", content)
    print("costs", quote["Rate"], "in", quote["Segments"], quote["Encoding"])
    sent = gateway.send(to, "Heliograph", content, **({"dlr": "yes", "dlr-url": receipt_url[0]} if receipt_url else {}))
    print("sent", sent["Id"])
    print("status", gateway.get(sent["Id"])["Status"])
    later = gateway.send(to, "Heliograph", content, time=str(int(time.time()) + 3600))
    gateway.cancel(later["Id"])
    print("cancelled", later["Id"])
    print("balance", gateway.balance())


if __name__ == "__main__":
    try:
        main()
    except Refused as refused:
        sys.exit(str(refused))
