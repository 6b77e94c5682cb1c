"""`heliograph listen`: forwards the notices of an account to a program on the developer's machine."""

import json
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import click

from heliograph.cli.command import Command, Failure, Invocation, examples, print_line
from heliograph.domain.display import counted

_WAIT_S = 25
_TRY_AGAIN_S = 2.0
_LOCAL_S = 10.0


@click.command(
    cls=Command,
    epilog=examples(
        "heliograph listen --user acme --key hk_... --forward http://127.0.0.1:8081/receipts",
        "HELIOGRAPH_USER=acme HELIOGRAPH_API_KEY=hk_... heliograph listen --server https://sms.example.net \\",
        "    --forward http://127.0.0.1:8081/",
        "heliograph listen --user acme --key hk_... --json | jq .body",
    ),
)
@click.option("--forward", metavar="URL", help="The program that each notice is posted to [notices are only shown].")
@click.option("--user", metavar="NAME", envvar="HELIOGRAPH_USER", required=True, help="The account [HELIOGRAPH_USER].")
@click.option(
    "--key", metavar="KEY", envvar="HELIOGRAPH_API_KEY", required=True, help="Its API key [HELIOGRAPH_API_KEY]."
)
@click.option(
    "--server",
    metavar="URL",
    envvar="HELIOGRAPH_URL",
    help="The gateway [HELIOGRAPH_URL, else the setting http.listen].",
)
@click.option("--count", type=click.IntRange(1), metavar="N", help="End after N notices [never].")
@click.pass_obj
def listen(
    invocation: Invocation, forward: str | None, user: str, key: str, server: str | None, count: int | None
) -> None:
    """Forwards the callbacks of an account to a local program.

    Use it to develop a receiver of callbacks on a machine that the gateway cannot reach. The command fetches each
    notice over the API as soon as it is made, and posts it with the body, headers and signature of a real callback. It
    shows the answer of your program.

    The gateway ignores these answers. It still posts to the callback URLs of the account, if it has any."""
    from heliograph.cli.commands.send import own_url
    from heliograph.cli.remote.client import BadUrl

    address = server or own_url(invocation)
    try:
        stream = NoticeStream(address, user, key)
        local = None if forward is None else LocalProgram(forward)
    except BadUrl as problem:
        raise Failure(str(problem)) from problem
    if not invocation.as_json:
        where = "" if forward is None else f"; forwarding to {forward}"
        print_line(f"Listening to {address} for {user}{where}. Press Ctrl-C to stop.")
        click.echo(f"{'TIME':19}  {'KIND':7}  {'NOTICE':44}  ANSWER")
    try:
        for number, notice in enumerate(stream.notices(), 1):
            answer = "" if local is None else local.post(notice)
            _show(invocation, notice, answer)
            if number == count:
                return
    except KeyboardInterrupt:
        click.echo("", err=True)


class NoticeStream:
    """Fetches notices from the gateway by successive long polls."""

    def __init__(self, address: str, user: str, key: str) -> None:
        """Raises BadUrl."""
        import base64

        from heliograph.cli.remote.gateway import parse_server

        self._tls, self._host, self._port, self._base = parse_server(address)
        self._address = address.partition("://")[2].partition("/")[0].rpartition("@")[2]
        credentials = base64.b64encode(f"{user}:{key}".encode()).decode("ascii")
        self._headers = {"Authorization": f"Basic {credentials}", "Accept": "application/json"}

    def notices(self) -> Iterator[dict[str, Any]]:
        """Yields notices without end. Raises Failure for an answer that a retry would not change."""
        import http.client

        from heliograph.cli.remote.client import reason_of

        cursor, lost = "", False
        # The first request returns at once with the cursor of now. Notices that are made before the first long poll
        # arrives are then not missed.
        wait = 0
        while True:
            query = {"limit": "100", "wait": str(wait)} | ({"after": cursor} if cursor else {})
            try:
                status, body = self._ask(urlencode(query))
            except (OSError, http.client.HTTPException, ValueError) as problem:
                if not cursor:
                    raise Failure(f"no answer from {self._address}: {reason_of(problem)}") from problem
                if not lost:
                    print_line(f"no answer from {self._address}; retrying", err=True)
                lost = True
                time.sleep(_TRY_AGAIN_S)
                continue
            if status in (429, 503):
                time.sleep(_TRY_AGAIN_S)
                continue
            if status != 200:
                raise Failure(str(body.get("Message") or f"the gateway answers {status}"))
            lost, wait = False, _WAIT_S
            cursor = str(body["cursor"])
            if body["missed"]:
                print_line(f"{counted(body['missed'], 'notice')} missed: the gateway no longer has them", err=True)
            yield from body["notices"]

    def _ask(self, query: str) -> tuple[int, dict[str, Any]]:
        import http.client

        kind = http.client.HTTPSConnection if self._tls else http.client.HTTPConnection
        connection = kind(self._host, self._port, timeout=_WAIT_S + 15)
        try:
            connection.request("GET", f"{self._base}/account/v1/notices?{query}", None, self._headers)
            response = connection.getresponse()
            body = json.loads(response.read())
            if not isinstance(body, dict):
                raise ValueError("the answer is not from a gateway")  # noqa: TRY004 - handled like invalid JSON
            return response.status, body
        finally:
            connection.close()


class LocalProgram:
    """The program that notices are posted to."""

    def __init__(self, url: str) -> None:
        """Raises BadUrl."""
        from heliograph.cli.remote.client import BadUrl

        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise BadUrl(f"{url!r} is not a URL, such as http://127.0.0.1:8081/receipts")
        self._parts = parts
        self._path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")

    def post(self, notice: dict[str, Any]) -> str:
        """Posts a notice like a real callback. Returns the status, such as `200 in 12 ms`, or the error."""
        import http.client

        host, port = str(self._parts.hostname), self._parts.port
        kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(host, port, timeout=_LOCAL_S)
        began = time.monotonic()
        try:
            connection.request("POST", self._path, notice["Body"].encode(), notice["Headers"])
            response = connection.getresponse()
            response.read()
        except (OSError, http.client.HTTPException) as problem:
            return f"no answer: {str(problem) or type(problem).__name__}"
        else:
            return f"{response.status} in {1_000 * (time.monotonic() - began):.0f} ms"
        finally:
            connection.close()


def _show(invocation: Invocation, notice: dict[str, Any], answer: str) -> None:
    if invocation.as_json:
        from heliograph.cli.command import echo_json

        named = {name.lower(): value for name, value in notice.items()}
        echo_json({**named, "answer": answer or None})
        return
    print_line(f"{notice['Time']:19}  {notice['Kind']:7}  {_summary(notice):44}  {answer}".rstrip())


def _summary(notice: dict[str, Any]) -> str:
    """Returns a notice in a few words, for example `DELIVRD 000 0198c5f2...`."""
    body = notice["Body"]
    try:
        fields = json.loads(body) if body.startswith("{") else {name: each[0] for name, each in parse_qs(body).items()}
        if notice["Kind"] == "receipt":
            return f"{fields['message_status']} {fields['err']} {fields['id']}"
        return f"{fields['from']} to {fields['to']}: {fields.get('content', '')[:24]}"
    except (ValueError, KeyError, TypeError):
        return str(notice["Headers"].get("webhook-id", ""))
