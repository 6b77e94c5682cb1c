"""What any octets may do to what people write: files of settings, variables, tables of recipients, lists of numbers.

Each target takes octets and returns nothing; what it raises is a finding.
"""

import contextlib
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from heliograph.app.admin.number_list import NumberList
from heliograph.cli.lists.recipients_file import BadFile, RecipientsFile
from heliograph.config import SettingsError
from heliograph.config.entry import entries
from heliograph.config.sources import FILE_NAME, load
from heliograph.console import recipients
from heliograph.domain.numbers import phone

LONGEST_COMPLAINT: Final = 20_000
"""Characters of a complaint about one input; the input has fewer."""

_FOLDER: Final = tempfile.TemporaryDirectory(
    prefix="heliograph-fuzz-", dir=next((str(each) for each in (Path("/dev/shm"),) if each.is_dir()), None)
)
_PATH: Final = Path(_FOLDER.name)


def toml(octets: bytes) -> None:
    """A settings file: it is read, or refused in a sentence."""
    file = _PATH / FILE_NAME
    file.write_bytes(octets)
    try:
        settings = load(data=_PATH, environ={})
    except SettingsError as problem:
        _is_sentence(str(problem))
    else:
        assert settings.file == file


def settings(octets: bytes) -> None:
    """A variable of the environment, of a name that is known or nearly so."""
    if len(octets) < 3:
        return
    known = entries()
    variable = known[(octets[0] << 8 | octets[1]) % len(known)].variable + ("_X" if octets[2] < 8 else "")
    text = octets[3:].replace(b"\0", b"").decode("utf-8", "surrogateescape")  # as the system gives them
    try:
        load(data=_PATH / "empty", environ={variable: text})
    except SettingsError as problem:
        _is_sentence(str(problem))


def recipients_file(octets: bytes) -> None:
    """A file of `heliograph send --file`: its rows are read twice alike, or it is refused as a whole."""
    file = _PATH / "recipients.csv"
    file.write_bytes(octets)
    for defaults in ({"from": "Helio"}, {"from": "Helio", "content": "Dear {name}, {{so}} {to"}):
        try:
            found = RecipientsFile(file, defaults, "campaign")
            rows = list(found)
        except BadFile as problem:
            _is_sentence(str(problem))
            continue
        assert len(rows) == found.count
        references = [
            row.fields["reference"] for row in rows if row.fields.get("reference", "").startswith("campaign.")
        ]
        assert references == [
            row.fields["reference"] for row in found if row.fields["reference"].startswith("campaign.")
        ]


def recipients_pasted(octets: bytes) -> None:
    """A table that somebody pastes into the console, and a text with places for its columns."""
    text = octets.decode("utf-8", "replace").replace("\0", "")
    try:
        table = recipients.read(text)
    except recipients.Unreadable as problem:
        _is_sentence(str(problem))
        return
    place = table.guess()
    assert len(set(table.columns)) == len(table.columns), table.columns
    for row in table.rows:
        assert len(row) == len(table.columns)
        number = phone.number_of(row[place])
        assert phone.is_destination(number) in (True, False)
        recipients.fill(text[:200], table.columns, row)
    recipients.columns_in(text)


def number_list(octets: bytes) -> None:
    """A list of numbers that are to be suppressed: each line is a number, or a mistake that has its line."""
    lines = octets.decode("utf-8", "replace").splitlines()
    found = NumberList(lines)
    assert len(found) + len(found.bad) <= len(lines)
    assert all(1 <= bad.line <= len(lines) for bad in found.bad)
    for batch in found.batches(7):
        assert all(phone.is_destination(number) for number in batch)


def _is_sentence(problem: str) -> None:
    assert problem
    assert len(problem) < LONGEST_COMPLAINT
    with contextlib.suppress(UnicodeEncodeError):
        problem.encode()


TEXT_TARGETS: Final[dict[str, Callable[[bytes], None]]] = {
    "toml": toml,
    "settings": settings,
    "recipients_file": recipients_file,
    "recipients_pasted": recipients_pasted,
    "number_list": number_list,
}
