"""`heliograph message`: looking after messages from a terminal."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from heliograph.adapters.store.sqlite import SqliteStore
from heliograph.app.facts import Message
from heliograph.app.resources.description import Resource
from heliograph.app.resources.message_export import COLUMNS
from heliograph.cli.command import Invocation
from heliograph.composition.commands import STORE_FILE
from heliograph.domain.message import ids
from tests.integration.cli.test_commands import Run, answer
from tests.support.store import HOUR, Given

LATER = 100_000 * HOUR
"""Beyond the machine's clock, which the commands go by, from where the test's begins. Milliseconds."""


@pytest.fixture
def messages(run: Run, tmp_path: Path) -> list[Message]:
    """One that was sent and one that waits."""
    for name in ("acme", "other"):
        assert run("account", "create", name, "--credit", "100").exit_code == 0

    async def write() -> list[Message]:
        store = await SqliteStore.open(tmp_path / "data" / STORE_FILE)
        given = Given(store)
        found = [
            await given.sent(1, reference="order-1"),
            await given.scheduled(1, after=LATER, destination="431234567"),
        ]
        await store.close()
        return found

    return asyncio.run(write())


def id_of(message: Message) -> str:
    return ids.to_hex(message.key, message.tail)


def test_messages_are_exported_page_by_page(
    run: Run, messages: list[Message], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def ask(invocation: Invocation, resource: Resource, operation: str, given: dict[str, object]) -> Any:
        asked.append(given["cursor"])
        return real(invocation, resource, operation, {**given, "limit": 1})

    real = Invocation.ask
    monkeypatch.setattr(Invocation, "ask", ask)
    sent, waits = (id_of(message) for message in messages)
    heading, *rows = run("message", "export", "--account", "acme").output.splitlines()
    assert heading == ",".join(COLUMNS)
    assert [row.split(",")[0] for row in rows] == [waits, sent]
    assert len(asked) == 2
    file = tmp_path / "found.jsonl"
    written = run("message", "export", "--country", "DE", "--format", "jsonl", "--output", str(file))
    assert (written.exit_code, written.output) == (0, "")
    (line,) = file.read_text().splitlines()
    values = json.loads(line)
    assert (values["id"], values["reference"], values["price"], values["error"]) == (sent, "order-1", "1", None)
    assert "no connector op1" in run("message", "export", "--connector", "op1").stderr


def test_messages_are_found(run: Run, messages: list[Message]) -> None:
    sent, waits = (id_of(message) for message in messages)

    def found(*arguments: str) -> list[str]:
        return [each["id"] for each in answer(run("message", "find", *arguments, "--json"))["messages"]]

    assert found() == [waits, sent]
    assert found("order-1") == [sent]
    assert found("+43 1234567") == [waits]
    assert found(sent) == [sent]
    assert found("--account", "acme", "--status", "scheduled") == [waits]
    assert found("--account", "other") == []
    assert [found("--held", *text) for text in ((), ("order-1",), (sent,))] == [[], [], []]
    assert found("--country", "at", "--sender", "heliograph") == [waits]
    assert found("--country", "DE") == [sent]
    assert found("--error", "011") == []
    assert [found(text, "--country", "AT") for text in (sent, waits)] == [[], [waits]]
    assert "no connector op1" in run("message", "find", "--connector", "op1").stderr
    assert "There is no account nobody" in run("message", "find", "--account", "nobody").stderr
    assert "No messages were found." in run("message", "find", "order-2").stdout
    assert "431234567" in run("message", "find").stdout


def test_a_message_is_shown_moved_and_cancelled(run: Run, messages: list[Message]) -> None:
    waits = id_of(messages[1])
    shown = answer(run("message", "show", waits, "--json"))
    assert (shown["status"], shown["content"], shown["account"]) == ("scheduled", "Guten Tag", "acme")
    assert [event["event"] for event in shown["history"]] == ["Accepted", "Charged", "Scheduled"]
    assert "No route covers the number" in run("message", "show", waits).stdout
    past = run("message", "reschedule", waits, "2001-01-01 00:00:00")
    assert past.exit_code == 1
    assert "The time has passed" in past.stderr
    time = datetime.now(UTC) + timedelta(days=30)
    moved = answer(run("message", "reschedule", waits, time.strftime("%Y-%m-%d %H:%M:%S"), "--json"))
    assert moved == {"id": waits, "done": True, "time": time.strftime("%Y-%m-%dT%H:%M:%S.000Z")}
    assert answer(run("message", "cancel", waits, "--json")) == {"id": waits, "cancelled": True}
    again = run("message", "cancel", waits)
    assert again.exit_code == 1
    assert "only a scheduled message can be cancelled" in again.stderr
    assert answer(run("account", "show", "acme", "--json"))["balance"] == "99"
    (entry, *_) = answer(run("admin", "log", "--json"))["entries"]
    assert (entry["action"], entry["target"]) == ("message.cancel", waits)


@pytest.mark.parametrize("command", ["show", "cancel"])
def test_what_is_no_message_is_told(run: Run, messages: list[Message], command: str) -> None:
    assert "is not an id of a message" in run("message", command, "x").stderr
    assert "There is no such message." in run("message", command, "019e2b1c5f3a70008c1de1f5a0b7c3d2").stderr
