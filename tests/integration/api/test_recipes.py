"""The recipes of docs/recipes.md: each product's request, made from the page's configuration, sends a message.

A function here does with the configuration what the product's source does: it fills the product's own template, and
encodes and labels the body. The page names the versions that were read.
"""

import asyncio
import base64
import http.client
import importlib.util
import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar
from urllib.parse import parse_qs, quote, quote_plus, urlencode, urlsplit

import pytest
import yaml  # type: ignore[import-untyped]

from heliograph.api.serve import serve
from heliograph.app.facts import Verdict
from heliograph.domain.security.signature import sign
from tests.support.gateway import API_KEY, Gateway, Reply
from tests.support.peers import foreign_program
from tests.support.timeouts import COMMAND_S

DOCS = Path(__file__).parents[3] / "docs"
PAGE = (DOCS / "recipes.md").read_text(encoding="utf-8")

FORM = "application/x-www-form-urlencoded"
TO = "491701234567"
BOTH = ["491701234567", "491707654321"]
AWKWARD = 'Disk "sda1": 90% full + <rest> & Größe = 5 km/h'
"""A text that a wrong encoding of JSON or of a form would change."""


def section(product: str) -> str:
    return PAGE.split(f"\n## {product}\n", 1)[1].split("\n## ", 1)[0].replace("API-KEY", API_KEY)


def block(product: str, language: str) -> str:
    """Returns the only code block of this language in a recipe."""
    (found,) = re.findall(rf"^ *```{language}\n(.*?)^ *```$", section(product), re.DOTALL | re.MULTILINE)
    return str(found).replace(base64.b64encode(b"acme:API-KEY").decode(), credentials())


def table(product: str) -> dict[str, str]:
    """Returns the second column of a recipe's table by its first, without the marks of code."""
    rows = re.findall(r"^ *\| (.+?) \| (.+) \|$", section(product), re.MULTILINE)
    return {name.strip("`"): value.strip("`") for name, value in rows}


def credentials() -> str:
    return base64.b64encode(f"acme:{API_KEY}".encode()).decode()


async def post(gateway: Gateway, url: str, body: str, kind: str, authorization: str | None = None) -> Reply:
    path = urlsplit(url).path
    assert url == f"https://sms.example.com{path}"
    header = authorization or f"Basic {credentials()}"
    return await gateway.call("POST", path, body.encode(), headers={"Content-Type": kind}, auth=header.encode())


def sent(gateway: Gateway) -> list[tuple[str, str, str]]:
    """Returns recipient, sender and text of each accepted message."""
    return [
        (message.destination, message.sender, message.content)
        for accept in gateway.intake.accepted
        if accept.verdict is Verdict.ACCEPTED
        for message in accept.messages
    ]


def filled(template: str, known: Mapping[str, str]) -> str:
    """Replaces the expressions between braces. An expression that is not expected is an error."""
    return re.sub(
        r"\{\{-?\s*(.*?)\s*-?\}\}", lambda found: known[" ".join(found[1].split())], template, flags=re.DOTALL
    )


TEXT = '(printf "%s %s: %.200s" (.Status | toUpper) .CommonLabels.alertname (index .Alerts 0).Annotations.summary)'


@pytest.mark.parametrize("summary", [AWKWARD, "x" * 5000], ids=["awkward", "long"])
async def test_alertmanager(gateway: Gateway, summary: str) -> None:
    (receiver,) = yaml.safe_load(block("Alertmanager", "yaml"))["receivers"]
    (webhook,) = receiver["webhook_configs"]
    text = f"FIRING DiskFull: {summary[:200]}"
    rendered = {"content": text, "from": "Alerts", "to": ",".join(BOTH)}
    # Go's encoder of JSON escapes the signs of HTML.
    body = json.dumps(rendered, ensure_ascii=False)
    for sign_of_html in "<>&":
        body = body.replace(sign_of_html, f"\\u00{ord(sign_of_html):x}")
    expression = f'dict "to" "{",".join(BOTH)}" "from" "Alerts" "content" {TEXT} | toJson'
    assert filled(webhook["payload"], {expression: body}) == body
    assert webhook["http_config"]["basic_auth"]["username"] == "acme"
    reply = await post(gateway, webhook["url"], body + "\n", "application/json")
    assert (reply.status, sent(gateway)) == (200, [(to, "Alerts", text) for to in BOTH])


async def test_alertmanager_fills_in_nothing_by_yaml(gateway: Gateway) -> None:
    """Versions 0.32 and 0.33 make an object of `content`: refused, nothing is sent with a wrong text."""
    body = json.dumps({"content": {"FIRING DiskFull": "full"}, "from": "Alerts", "to": TO})
    assert (await gateway.send(json.loads(body))).fault == (400, "03", "content")


@pytest.mark.peer
async def test_alertmanager_by_its_executor(gateway: Gateway) -> None:
    server = await serve(gateway.app, "127.0.0.1", 0)
    try:
        script = block("Alertmanager", "bash").replace("https://sms.example.com", f"http://127.0.0.1:{server.port}")
        script = script.replace("curl ", foreign_program("curl") + " ", 1)
        environment = {"AMX_STATUS": "firing", "AMX_LABEL_alertname": "DiskFull", "AMX_ANNOTATION_summary": AWKWARD}
        process = await asyncio.create_subprocess_exec("/bin/sh", "-c", script, env=environment)
        assert await process.wait() == 0
    finally:
        await server.stop(1.0)
    assert sent(gateway) == [(to, "Alerts", f"firing DiskFull: {AWKWARD}") for to in BOTH]


async def test_grafana(gateway: Gateway) -> None:
    template = block("Grafana", "").strip()
    text = f"FIRING DiskFull: {AWKWARD}"
    fields = {"to": ",".join(BOTH), "from": "Grafana", "content": text}
    for name in ("to", "from"):
        assert f"`{name}` =" in section("Grafana")
        assert f"`{fields[name]}`" in section("Grafana")
    expressions = {
        'define "heliograph"': "",
        f'coll.Dict "to" .Vars.to "from" .Vars.from "content" {TEXT} | data.ToJSON': json.dumps(fields),
        "end": "",
    }
    body = filled(template, expressions).strip()
    reply = await post(gateway, "https://sms.example.com/api/v1/messages", body, "application/json")
    assert (reply.status, sent(gateway)) == (200, [(to, "Grafana", text) for to in BOTH])


class ScriptRun:
    """Runs Zabbix's script with a stand-in for its object `HttpRequest`, which prints the request."""

    FRAME = """
    class HttpRequest {
        constructor() { this.headers = []; }
        addHeader(line) { this.headers.push(line); }
        post(url, body) { console.log(JSON.stringify({url, body, headers: this.headers})); return ANSWER; }
        getStatus() { return STATUS; }
    }
    function script(value) { SCRIPT }
    try { console.log(JSON.stringify({returned: script(VALUE)})); }
    catch (error) { console.log(JSON.stringify({thrown: String(error)})); }
    """

    def __init__(self, parameters: dict[str, str], status: int, answer: str) -> None:
        program = self.FRAME.replace("ANSWER", json.dumps(answer)).replace("STATUS", str(status))
        program = program.replace("VALUE", json.dumps(json.dumps(parameters)))
        program = program.replace("SCRIPT", block("Zabbix", "javascript"))
        command = [foreign_program("node"), "-e", program]
        run = subprocess.run(command, capture_output=True, text=True, timeout=COMMAND_S, check=True)
        self.request, self.end = (json.loads(line) for line in run.stdout.splitlines())


@pytest.mark.peer
async def test_zabbix(gateway: Gateway) -> None:
    parameters = {name: value for name, value in table("Zabbix").items() if name.islower() and name.isalpha()}
    assert (parameters["to"], parameters["text"]) == ("{ALERT.SENDTO}", "{ALERT.SUBJECT}")
    parameters |= {"to": "+49 170 1234567", "text": "Problem: " + AWKWARD}
    run = ScriptRun(parameters, 200, '{"Status":"00","Id":"0198"}')
    headers = dict(line.split(": ", 1) for line in run.request["headers"])
    reply = await post(
        gateway, run.request["url"], run.request["body"], headers["Content-Type"], headers["Authorization"]
    )
    assert (reply.status, sent(gateway)) == (200, [(TO, "Zabbix", "Problem: " + AWKWARD)])
    assert run.end == {"returned": "0198"}
    refused = await gateway.send_form({"to": "+49", "from": "Zabbix", "content": "x"})
    run = ScriptRun(parameters, refused.status, refused.body.decode())
    assert run.end == {"thrown": f"Heliograph answered 400: {refused.body.decode()}"}


async def test_uptime_kuma(gateway: Gateway) -> None:
    headers = json.loads(block("Uptime Kuma", "json"))
    text = "[Shop] [🔴 Down] " + AWKWARD
    body = filled(block("Uptime Kuma", "liquid").strip(), {"msg | truncate: 200 | url_encode": quote_plus(text)})
    kind, authorization = headers["Content-Type"], headers["Authorization"]
    reply = await post(gateway, "https://sms.example.com/api/v1/messages", body, kind, authorization)
    assert (reply.status, sent(gateway)) == (200, [(to, "UptimeKuma", text) for to in BOTH])


async def test_home_assistant(gateway: Gateway) -> None:
    notify, action = re.findall(r"^```yaml\n(.*?)^```$", section("Home Assistant"), re.DOTALL | re.MULTILINE)
    (service,) = yaml.safe_load(notify.replace("!secret heliograph_key", API_KEY))["notify"]
    data = yaml.safe_load(action)["data"]
    assert (service["method"], service["authentication"]) == ("POST", "basic")
    # `target` becomes a list, of which the first entry is sent.
    form = {service["message_param_name"]: data["message"], service["target_param_name"]: [data["target"]][0]}
    authorization = base64.b64encode(f"{service['username']}:{service['password']}".encode()).decode()
    body = urlencode(form | service["data"])
    reply = await post(gateway, service["resource"], body, FORM, f"Basic {authorization}")
    assert (reply.status, sent(gateway)) == (200, [(to, "HomeAssist", "Water in the cellar") for to in BOTH])


async def test_n8n_sends_once_however_often_it_tries(gateway: Gateway) -> None:
    (node,) = json.loads(block("n8n", "json"))["nodes"]
    parameters = node["parameters"]
    known = {"$json.to": TO, "$json.text": AWKWARD, "$execution.id": "231", "$itemIndex": "0"}
    fields = {
        each["name"]: filled(each["value"].removeprefix("="), known)
        for each in parameters["bodyParameters"]["parameters"]
    }
    assert (parameters["contentType"], parameters["genericAuthType"]) == ("form-urlencoded", "httpBasicAuth")
    first = await post(gateway, parameters["url"], urlencode(fields, quote_via=quote), FORM)
    again = await post(gateway, parameters["url"], urlencode(fields, quote_via=quote), FORM)
    assert (first.status, again.status, first.json["Id"]) == (200, 200, again.json["Id"])
    assert again.headers["idempotency-replayed"] == "true"
    assert (sent(gateway), await gateway.balance()) == ([(TO, "n8n", AWKWARD)], "999")


@pytest.mark.parametrize("strips", [True, False], ids=["strips the plus", "older"])
async def test_keycloak(gateway: Gateway, strips: bool) -> None:
    settings = table("Keycloak")
    assert [settings[name] for name in ("URL encode data", "Strip + from phone number")] == ["on", "on"]
    text = "Your SMS code is 123456 and is valid for 5 minutes."
    number = TO if strips else f"+{TO}"
    fields = {
        "": settings["API Secret"],  # the empty "API Secret Token Attribute" is sent all the same
        settings["Message Attribute"]: text,
        settings["Receiver Phone Number Attribute"]: number,
        settings["Sender Phone Number Attribute"]: settings["SenderId"],
    }
    authorization = base64.b64encode(f"{settings['Basic Auth Username']}:{settings['API Secret']}".encode()).decode()
    if not strips:
        assert "relaxed=on" in section("Keycloak")
        await gateway.change_account(relaxed="on")
    reply = await post(gateway, settings["SMS API URL"], urlencode(fields), FORM, f"Basic {authorization}")
    assert (reply.status, sent(gateway)) == (200, [(TO, "Keycloak", text)])


async def test_nextcloud_through_nginx(gateway: Gateway) -> None:
    lines = dict(
        re.findall(
            r"^\s+(\w+(?: \$body| Authorization| Content-Type)?) (.+);$", block("Nextcloud", "nginx"), re.MULTILINE
        )
    )
    await gateway.change_account(relaxed="on")
    assert "acme relaxed=on" in section("Nextcloud")
    text = "Nextcloud verification code: 123456"
    query = {"app": "ws", "u": "any", "h": "SHARED-SECRET", "op": "pv", "to": f"+{TO}", "msg": text}
    raw = dict(part.split("=") for part in urlencode(query, quote_via=quote).split("&"))
    assert re.findall(r"\$arg_h != \"(.+?)\"", section("Nextcloud")) == [raw["h"]]
    # nginx puts the arguments into the body as they stand in the query: encoded.
    body = re.sub(r"\$arg_(\w+)", lambda found: raw[found[1]], lines["set $body"].strip('"'))
    assert lines["rewrite"] == "^ /api/v1/messages? break"
    url, kind = lines["proxy_pass"] + "/api/v1/messages", lines["proxy_set_header Content-Type"]
    reply = await post(gateway, url, body, kind, lines["proxy_set_header Authorization"].strip('"'))
    assert (reply.status, sent(gateway)) == (200, [(TO, "Nextcloud", text)])


def courier_request(**variables: str) -> str:
    return filled(block("RapidPro", "text").strip(), {name: quote_plus(value) for name, value in variables.items()})


UUID = "019a5f0c-1111-7222-8333-944455556666"


async def test_rapidpro(gateway: Gateway) -> None:
    channel = table("RapidPro")
    authorization = channel["Authorization Header Value"].split("`")[0]
    authorization = authorization.replace(base64.b64encode(b"acme:API-KEY").decode(), credentials())
    body = courier_request(to_no_plus=TO, from_no_plus="491771789012", text=AWKWARD, uuid=UUID)
    reply = await post(gateway, channel["Send URL"], body, FORM, authorization)
    assert (reply.status, sent(gateway)) == (200, [(TO, "491771789012", AWKWARD)])
    assert channel["MT Response check"] in reply.body.decode()
    (accept,) = gateway.intake.accepted
    assert accept.messages[0].callback_url == f"https://bridge.example.com/receipt?uuid={UUID}"


SECRET = b"s" * 32


@contextmanager
def listening(handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Courier(BaseHTTPRequestHandler):
    """A channel of RapidPro. It keeps the last part of the path, and the fields."""

    status = 200
    taken: ClassVar[list[tuple[str, dict[str, str]]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.taken.append((self.path, {name: each[0] for name, each in parse_qs(body).items()}))
        self.send_response(self.status)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Stays silent."""


def bridge(channel: str, monkeypatch: pytest.MonkeyPatch) -> type[BaseHTTPRequestHandler]:
    """Returns the handler of samples/rapidpro.py, made for a channel."""
    monkeypatch.setattr(sys, "argv", ["rapidpro.py", "0", channel])
    monkeypatch.setenv("HELIOGRAPH_SIGNING_SECRET", "whsec_" + base64.b64encode(SECRET).decode())
    spec = importlib.util.spec_from_file_location("rapidpro_bridge", DOCS / "samples" / "rapidpro.py")
    assert spec is not None
    assert spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    handler: type[BaseHTTPRequestHandler] = module.Bridge
    monkeypatch.setattr(handler, "log_message", Courier.log_message)
    return handler


def notice(port: int, path: str, fields: dict[str, str], key: bytes = SECRET) -> int:
    """Posts as the gateway posts a receipt or a message from a phone. Returns the status of the answer."""
    body, moment = urlencode(fields).encode(), int(time.time())
    signature = sign(key, "dlr_1", moment, body)
    headers = {"webhook-id": "dlr_1", "webhook-timestamp": str(moment), "webhook-signature": signature}
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=COMMAND_S)
    connection.request("POST", path, body, headers | {"Content-Type": FORM})
    status = int(connection.getresponse().status)
    connection.close()
    return status


def test_the_bridge_tells_rapidpro_of_receipts_and_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    receipt = {"id": "019e2b1c-5f3a-7000-8c1d-e1f5a0b7c3d2", "err": "000", "text": "Hi"}
    phone = {"id": "x", "from": TO, "to": "491771789012", "content": AWKWARD, "time": "2027-01-15 08:00:00"}

    class Channel(Courier):
        taken: ClassVar[list[tuple[str, dict[str, str]]]] = []

    with listening(Channel) as courier, listening(bridge(f"http://127.0.0.1:{courier}/c/ex/1", monkeypatch)) as port:
        path = f"/receipt?uuid={UUID}"
        states = ("DELIVRD", "UNDELIV", "UNKNOWN", "ENROUTE")
        assert [notice(port, path, receipt | {"message_status": state}) for state in states] == [204] * 4
        assert notice(port, "/inbound", phone) == 204
        assert notice(port, "/inbound", phone, b"another secret") == 401
        Channel.status = 503
        assert notice(port, "/inbound", phone) == 502
    message = ("/c/ex/1/receive", {"from": f"+{TO}", "text": AWKWARD})
    assert Channel.taken == [
        ("/c/ex/1/delivered", {"uuid": UUID}), ("/c/ex/1/failed", {"uuid": UUID}), message, message,
    ]  # fmt: skip


async def test_dhis2(gateway: Gateway) -> None:
    config = json.loads(block("DHIS2", "json"))
    (header,) = config["parameters"]
    assert (header["key"], header["header"], header["encode"]) == ("Authorization", True, True)
    assert (config["useGet"], config["sendUrlParameters"], config["contentType"]) == (False, False, "FORM_URL_ENCODED")
    values = {"recipients": ",".join(BOTH), "text": quote_plus(AWKWARD)}
    body = re.sub(r"\$\{(\w+)\}", lambda found: values[found[1]], config["configurationTemplate"])
    # The header of DHIS2 begins with a blank.
    authorization = " Basic " + base64.b64encode(header["value"].encode()).decode()
    reply = await post(gateway, config["urlTemplate"], body, FORM, authorization.strip())
    assert (reply.status, sent(gateway)) == (200, [(to, "DHIS2", AWKWARD) for to in BOTH])


REFUSALS = [
    ({"to": "+491701234567"}, 400), ({"from": "Not a sender"}, 400), ({"content": "x" * 5000}, 400), ({}, 402),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "status"), REFUSALS)
async def test_products_see_an_error_by_its_status(gateway: Gateway, changes: dict[str, str], status: int) -> None:
    """All of the products judge by the status, and show or log the body: it has a sentence."""
    if status == 402:
        await gateway.change_account(daily_spend=1)
    reply = await gateway.send_form({"to": TO, "from": "Alerts", "content": "x"} | changes)
    assert (reply.status, sent(gateway)) == (status, [])
    assert len(reply.json["Message"]) > 20
