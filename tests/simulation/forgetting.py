"""Properties of retention: it does not disturb a working gateway, and has done its work at the end."""

from urllib.parse import parse_qs

from heliograph.app.facts import Message
from tests.support.memory_retention import settled
from tests.support.memory_rows import Rows


def submitted(message: Message) -> list[str]:
    """Nothing goes to an operator that was redacted before it had left."""
    return [] if message.content and message.destination else [f"{message.key} was redacted before it was sent"]


def told(key: int, body: bytes) -> list[str]:
    """No customer is told of a message that was redacted before he was: the receipt quotes its text."""
    return [] if "text" in parse_qs(body.decode()) else [f"{key} was redacted before its customer was told"]


def end(rows: Rows, retain_s: tuple[float, float, float]) -> list[str]:
    """At the end, when all messages are old, each has lost its text, number or row."""
    texts, numbers, drops = retain_s
    wrong = [f"the row of {key} is still there" for key in rows.messages if drops and settled(rows, key)]
    for key, message in rows.messages.items():
        if texts and message.content:
            wrong.append(f"the text of {key} is still there")
        if numbers and message.destination:
            wrong.append(f"the number of {key} is still there")
    noted = [key for _, _, key in rows.kept if key in rows.messages]
    return wrong + [f"{key} is noted to be looked at again for ever" for key in noted]
