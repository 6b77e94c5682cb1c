"""Reads files with lists and tables, with progress on a terminal, and prints the changes that a list makes."""

import codecs
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TextIO, TypeVar

import click

from heliograph.app.admin.csv_rows import BadLine, ignored_columns
from heliograph.app.resources.desk import Invalid
from heliograph.cli.command import Failure, Invocation, print_fields, print_line
from heliograph.domain.display import counted

Table = TypeVar("Table")

SHOWN = 20
"""The most bad lines that are printed."""


UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""The first octets of a file in UTF-16, such as "Unicode text" of a spreadsheet."""


@contextmanager
def open_list(path: Path, errors: str = "strict", newline: str | None = None) -> Iterator[TextIO]:
    """Opens a file in UTF-16 if it begins with the mark of that, else in UTF-8. Raises OSError.

    Other encodings, such as Windows-1252, have no mark. A guess would send wrong letters to phones. The file is opened
    once, because it may be a pipe.
    """
    with path.open("rb") as octets:
        encoding = "utf-16" if octets.peek(2)[:2] in UTF_16 else "utf-8"
        with TextIOWrapper(octets, encoding, errors, newline) as lines:
            yield lines


def not_utf8(file: str) -> str:
    """Returns the problem of a file that cannot be decoded, with the ways out."""
    named = shlex.quote(file)
    return (
        f"{file} is not UTF-8. Save it as `CSV UTF-8`, as Excel calls it, or convert it. For a file of Windows in "
        f"western Europe or America: iconv -f WINDOWS-1252 -t UTF-8 {named} > utf8.csv"
    )


def read_file(file: str, read: Callable[[Any], Table], *, errors: str = "strict") -> Table:
    """Returns the result of `read` for the lines of a file, or of standard input for `-`. Raises Failure."""
    nothing = "Nothing was imported."
    try:
        opened = (
            click.open_file(file, encoding="utf-8", errors=errors) if file == "-" else open_list(Path(file), errors)
        )
        with opened as lines:
            return read(lines)
    except Invalid as problem:
        raise Failure(f"--{problem.field}: {problem.problem}", nothing) from problem
    except UnicodeDecodeError as problem:
        raise Failure(not_utf8(file), nothing) from problem
    except OSError as problem:
        raise Failure(f"{file} cannot be read: {problem.strerror or problem}", nothing) from problem


def refuse_bad(bad: Sequence[BadLine], file: str, ignored: Sequence[str] = ()) -> None:
    """Prints ignored columns and the first bad lines. Raises Failure if there are bad lines."""
    if ignored:
        print_line(f"Ignored: {ignored_columns(ignored)}.", err=True)
    for line in bad[:SHOWN]:
        print_line(str(line), err=True)
    if len(bad) > SHOWN:
        print_line(f"... and {len(bad) - SHOWN} more", err=True)
    if bad:
        raise Failure(f"{counted(len(bad), 'line')} of {file} cannot be used.", "Nothing was imported.")


def show_changes(invocation: Invocation, result: Mapping[str, Any]) -> None:
    """Prints the result of an import: the counts `added`, `changed`, `same` and `removed`, and `dry_run`."""
    would = "would be " if result["dry_run"] else ""
    lines = [
        (f"{would}added", result["added"]),
        (f"{would}changed", result["changed"]),
        ("unchanged", result["same"]),
        (f"{would}removed", result["removed"]),
    ]
    invocation.show(dict(result), lambda: print_fields(lines))


@contextmanager
def elapsed(what: str, *, hidden: bool) -> Iterator[None]:
    """Shows the seconds of a long request on standard error if it is a terminal: `writing 200,000 prices 0:00:07`."""
    if hidden or not sys.stderr.isatty():
        yield
        return
    from rich import progress as bars
    from rich.console import Console

    columns = (bars.TextColumn(what), bars.SpinnerColumn(), bars.TimeElapsedColumn())
    with bars.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        bar.add_task(what, total=None)
        yield


@contextmanager
def progress(what: str, total: int | None, *, hidden: bool) -> Iterator[Callable[[int], None]]:
    """Shows a progress bar on standard error if it is a terminal, or a count if the total is unknown."""
    if hidden or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich import progress as bars
    from rich.console import Console

    known = (bars.BarColumn(), bars.MofNCompleteColumn(), bars.TimeRemainingColumn())
    counting = (bars.SpinnerColumn(), bars.MofNCompleteColumn(), bars.TimeElapsedColumn())
    columns = (bars.TextColumn(what), *(counting if total is None else known))
    with bars.Progress(*columns, console=Console(stderr=True), transient=total is None) as bar:
        task = bar.add_task(what, total=total)
        yield lambda count: bar.advance(task, count)
