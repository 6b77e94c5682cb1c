"""`heliograph send` against a pretend gateway that keeps what it is sent, and answers as it is told."""

import csv
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from click.testing import CliRunner, Result

from heliograph.cli.main import heliograph
from heliograph.cli.remote import client
from heliograph.domain.message import ids

NOW = 1_800_000_000_000


class Gateway:
    """Accepts each reference once; `refuse` gives status and headers for a request that is to fail."""

    def __init__(self) -> None:
        self.requests: list[dict[str, str]] = []
        self.authorizations: set[str] = set()
        self.accepted: dict[str, str] = {}
        self.refuse: Callable[[dict[str, str]], tuple[int, dict[str, str]] | None] = lambda _fields: None
        self.refused_field = "to"
        self._lock = threading.Lock()
        self._sequence = ids.IdSequence(0)

    def answer(self, fields: dict[str, str]) -> tuple[int, dict[str, str], dict[str, Any]]:
        with self._lock:
            self.requests.append(fields)
            refused = self.refuse(fields)
            if refused:
                status, headers = refused
                return (
                    status,
                    headers,
                    {"Status": "03", "Message": f"refused with {status}", "Field": self.refused_field},
                )
            reference = fields["reference"]
            headers = {"Idempotency-Replayed": "true"} if reference in self.accepted else {}
            if reference not in self.accepted:
                self.accepted[reference] = ids.to_hex(self._sequence.next(NOW), 1)
            body = {"Status": "00", "Id": self.accepted[reference], "Rate": 0.035, "MessageStatus": "Sent"}
            return 200, headers, body


@pytest.fixture
def gateway() -> Gateway:
    return Gateway()


@pytest.fixture
def url(gateway: Gateway) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            octets = self.rfile.read(int(self.headers["Content-Length"]))
            fields = {name: values[0] for name, values in parse_qs(octets.decode(), strict_parsing=True).items()}
            gateway.authorizations.add(self.headers["Authorization"])
            status, headers, body = gateway.answer(fields)
            answer = json.dumps(body).encode()
            self.send_response_only(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def send(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HELIOGRAPH_USER", "acme")
    monkeypatch.setenv("HELIOGRAPH_API_KEY", "hk_1")
    monkeypatch.setenv("HELIOGRAPH_URL", url)

    def run(*arguments: str) -> Result:
        return CliRunner().invoke(heliograph, ["send", *arguments], prog_name="heliograph")

    return run


def write_contacts(folder: Path, count: int) -> Path:
    path = folder / "contacts.csv"
    rows = [f"44770090{number:04},Name{number}" for number in range(count)]
    path.write_text("\n".join(["to,name", *rows]) + "\n", encoding="utf-8")
    return path


def test_one_message(send: Callable[..., Result], gateway: Gateway) -> None:
    result = send(
        "--to", "447700900123,447700900124", "--to", "447700900125", "--from", "ACME", "--content", "50% off & ü",
        "--at", "2030-01-01 00:00:00", "--type", "text", "--dlr-url", "https://example.com/", "--reference", "r-1",
        "--json",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["Rate"] == 0.035
    assert gateway.requests == [
        {
            "to": "447700900123,447700900124,447700900125",
            "from": "ACME",
            "content": "50% off & ü",
            "time": "2030-01-01 00:00:00",
            "type": "text",
            "dlr-url": "https://example.com/",
            "reference": "r-1",
        }
    ]
    assert gateway.authorizations == {"Basic YWNtZTpoa18x"}


def test_a_message_with_wishes(send: Callable[..., Result], gateway: Gateway) -> None:
    result = send(
        "--to", "447700900123", "--from", "ACME", "--type", "binary", "--content", "0106", "--reference", "r-2",
        "--validity", "600", "--priority", "2", "--udh", "0605040B8423F0", "--coding", "0xF5", "--progress",
        "--tlv", "entity=1101", "--tlv", "0x1401=a=b",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    sent = {"to": "447700900123", "from": "ACME", "type": "binary", "content": "0106", "reference": "r-2"}
    wishes = {"validity": "600", "priority": "2", "udh": "0605040B8423F0", "coding": "0xF5", "progress": "yes"}
    assert gateway.requests == [sent | wishes | {"tlv_entity": "1101", "tlv_0x1401": "a=b"}]


@pytest.mark.parametrize(
    ("tlvs", "words"),
    [
        (("entity",), "--tlv entity: give a name or number"),
        (("=1",), "--tlv =1: give a name or number"),
        (("a=1", "a=2"), "--tlv a is given twice"),
    ],
)
def test_tlvs_that_cannot_be_read(
    send: Callable[..., Result], gateway: Gateway, tlvs: tuple[str, ...], words: str
) -> None:
    given = [word for each in tlvs for word in ("--tlv", each)]
    result = send("--to", "447700900123", "--from", "ACME", "--content", "x", *given)
    assert result.exit_code == 1
    assert words in result.stderr
    assert gateway.requests == []


def test_a_refusal_is_a_failure(send: Callable[..., Result], gateway: Gateway) -> None:
    gateway.refuse = lambda _fields: (402, {})
    result = send("--to", "447700900123", "--from", "ACME", "--content", "x", "--json")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "to: refused with 402" in result.stderr
    assert "heliograph account top-up" in result.stderr
    assert len(gateway.requests) == 1


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_too_early_or_in_doubt_is_tried_again_with_the_same_reference(
    send: Callable[..., Result], gateway: Gateway, status: int
) -> None:
    gateway.refuse = lambda _fields: (status, {"Retry-After": "0"}) if len(gateway.requests) < 3 else None
    result = send("--to", "447700900123", "--from", "ACME", "--content", "x")
    assert result.exit_code == 0, result.stderr
    assert len(gateway.requests) == 3
    assert len({request["reference"] for request in gateway.requests}) == 1


def test_a_file_is_sent_once_however_often_it_is_run(
    send: Callable[..., Result], gateway: Gateway, tmp_path: Path
) -> None:
    write_contacts(tmp_path, 50)
    command = ("--file", "contacts.csv", "--from", "ACME", "--content", "Hi {name}", "--results", "out.csv", "--json")
    first = send(*command)
    assert first.exit_code == 0, first.stderr
    summary = json.loads(first.stdout)
    assert (summary["accepted"], summary["sent_before"], summary["credits"]) == (50, 0, "1.75")
    assert {request["content"] for request in gateway.requests} == {f"Hi Name{number}" for number in range(50)}
    write_contacts(tmp_path, 60)
    again = json.loads(send(*command).stdout)
    assert (again["accepted"], again["sent_before"], again["credits"]) == (60, 50, "0.35")
    assert len(gateway.accepted) == 60
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert sorted(int(row["line"]) for row in rows) == list(range(2, 62))
    assert {row["id"] for row in rows} == set(gateway.accepted.values())
    assert [row["result"] for row in rows].count("sent before") == 50
    other = json.loads(send(*command, "--campaign", "again").stdout)
    assert (other["accepted"], other["sent_before"]) == (60, 0)


def test_the_results_have_no_formulas(send: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "contacts.csv").write_text("to;reference\n447700900123;=1+1\n", "utf-8")
    result = send("--file", "contacts.csv", "--from", "ACME", "--content", "Hi", "--results", "out.csv")
    assert result.exit_code == 0, result.stderr
    with (tmp_path / "out.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["to"], row["reference"]) == ("447700900123", "'=1+1")


@pytest.mark.parametrize("status", [0, 504])
def test_a_row_whose_answer_was_lost_is_of_this_run(
    send: Callable[..., Result], gateway: Gateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    write_contacts(tmp_path, 1)
    post, posts = client.Client._post, []

    def lossy(self: client.Client, body: bytes) -> tuple[client.SendOutcome, float | None]:
        posts.append(post(self, body))
        return posts[-1] if len(posts) > 1 else (client.SendOutcome(status, {}, "no answer"), None)

    monkeypatch.setattr(client.Client, "_post", lossy)
    summary = json.loads(send("--file", "contacts.csv", "--from", "ACME", "--content", "x", "--json").stdout)
    assert (len(posts), posts[-1][0].repeated) == (2, False)
    assert (summary["accepted"], summary["sent_before"], summary["credits"]) == (1, 0, "0.035")


def test_rows_that_are_refused_do_not_stop_the_others(
    send: Callable[..., Result], gateway: Gateway, tmp_path: Path
) -> None:
    write_contacts(tmp_path, 20)
    gateway.refuse = lambda fields: (400, {}) if fields["to"].endswith("5") else None
    result = send("--file", "contacts.csv", "--from", "ACME", "--content", "x", "--json")
    assert result.exit_code == 1
    summary = json.loads(result.stdout)
    assert (summary["accepted"], summary["failed"], summary["not_tried"]) == (18, 2, 0)
    assert [each["line"] for each in summary["problems"]] == [7, 17]
    assert "line 7: to: refused with 400" in result.stderr


def test_no_credit_stops_the_run_and_it_can_go_on_later(
    send: Callable[..., Result], gateway: Gateway, tmp_path: Path
) -> None:
    write_contacts(tmp_path, 200)
    gateway.refuse = lambda _fields: (402, {}) if len(gateway.accepted) >= 20 else None
    command = ("--file", "contacts.csv", "--from", "ACME", "--content", "x", "--connections", "4", "--json")
    result = send(*command)
    assert result.exit_code == 1
    assert "stopped at line" in result.stderr
    assert json.loads(result.stdout)["accepted"] == 20
    assert len(gateway.requests) < 60
    gateway.refuse = lambda _fields: None
    assert send(*command).exit_code == 0
    assert len(gateway.accepted) == 200


def test_no_gateway_is_told_of(send: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "TRIES", 1)
    result = send("--to", "447700900123", "--from", "ACME", "--content", "x", "--url", "http://127.0.0.1:1")
    assert result.exit_code == 1
    assert "no answer from 127.0.0.1:1: Connection refused" in result.stderr
    assert "heliograph doctor" in result.stderr


def test_numbers_are_read_as_people_write_them(send: Callable[..., Result], gateway: Gateway) -> None:
    result = send("--to", "+49 (0)170 1234567, 0044-7700-900123", "--from", "ACME", "--content", "x")
    assert result.exit_code == 0, result.stderr
    assert [request["to"] for request in gateway.requests] == ["491701234567,447700900123"]


@pytest.mark.parametrize("at", ["2030-01-01 09:00", "2030-01-01 09:00:00"])
def test_times_need_no_seconds(send: Callable[..., Result], gateway: Gateway, tmp_path: Path, at: str) -> None:
    (tmp_path / "timed.csv").write_text(f"to;time\n447700900123;{at}\n", encoding="utf-8")
    assert send("--file", "timed.csv", "--from", "ACME", "--content", "x").exit_code == 0
    assert send("--to", "447700900123", "--from", "ACME", "--content", "x", "--at", at).exit_code == 0
    assert [request["time"] for request in gateway.requests] == ["2030-01-01 09:00:00"] * 2


def test_the_numbers_of_a_file_may_be_in_another_column(
    send: Callable[..., Result], gateway: Gateway, tmp_path: Path
) -> None:
    (tmp_path / "people.csv").write_text("name;Mobil\nAnn;+49 170 1234567\n")
    options = ("--file", "people.csv", "--from", "ACME", "--content", "Hi {name}")
    found = send(*options)
    assert (found.exit_code, found.stderr) == (0, "The numbers are in the column Mobil of people.csv.\n")
    assert send(*options, "--to-column", "Mobil", "--campaign", "2").stderr == ""
    assert json.loads(send(*options, "--json", "--campaign", "3").stdout)["to_column"] == "Mobil"
    assert [(each["to"], each["content"]) for each in gateway.requests] == [("491701234567", "Hi Ann")] * 3
    (tmp_path / "people.csv").write_text("name;Mobil;Phone\nAnn;+49 170 1234567;+49 228 1234567\n")
    assert "The numbers may be in Mobil or Phone." in send(*options).stderr
    assert len(gateway.requests) == 3


def test_a_refused_sender_is_answered_with_the_command_that_registers_it(
    send: Callable[..., Result], gateway: Gateway
) -> None:
    gateway.refuse, gateway.refused_field = lambda _fields: (403, {}), "from"
    result = send("--to", "447700900123", "--from", "Foo", "--content", "x")
    assert "heliograph sender add SENDER --account NAME --state approved" in result.stderr
    gateway.refused_field = "to"
    assert "heliograph account show NAME" in send("--to", "447700900123", "--from", "Foo", "--content", "x").stderr


def test_a_file_that_cannot_be_used_sends_nothing(
    send: Callable[..., Result], gateway: Gateway, tmp_path: Path
) -> None:
    write_contacts(tmp_path, 3)
    result = send("--file", "contacts.csv", "--from", "ACME", "--content", "Hi {nam}", "--json")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "--content has {nam}" in result.stderr
    assert gateway.requests == []
    for extra in (("--to", "447700900123"), ("--reference", "r")):
        assert send("--file", "contacts.csv", "--from", "ACME", "--content", "x", *extra).exit_code == 1
    for option in (("--results", "o.csv"), ("--to-column", "name")):
        assert send("--to", "1", "--from", "ACME", "--content", "x", *option).exit_code == 1
    assert gateway.requests == []
