"""`heliograph send`: sends a message, or the messages of a CSV file, through a running gateway."""

import csv
import os
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from heliograph.cli.command import Command, Failure, Invocation, examples, print_fields, print_line
from heliograph.domain.calendar import with_seconds
from heliograph.domain.csv_lines import harmless
from heliograph.domain.display import counted
from heliograph.domain.numbers.phone import number_of

if TYPE_CHECKING:
    from heliograph.cli.lists.recipients_file import RecipientsFile, Row
    from heliograph.cli.remote.client import Client, SendOutcome

_MAX_CONNECTIONS = 64
_COLUMNS = ("line", "to", "reference", "result", "id", "rate", "problem")


@click.command(
    cls=Command,
    epilog=examples(
        "heliograph send --user acme --key hk_... --to 447700900123 --from ACME --content 'Hello'",
        "heliograph send --to 447700900123,447700900124 --from ACME --content 'Hi' --at '2030-01-31 09:00'",
        "heliograph send --file contacts.csv --from ACME --content 'Dear {name}, your code is {code}'",
        "heliograph send --to 447700900123 --from ACME --type binary --udh 0605040B8423F0 --coding 0xF5 --content 0106",
        "",
        "# if HELIOGRAPH_USER and HELIOGRAPH_API_KEY are set, --user and --key can be left out",
        "# contacts.csv: numbers, each on a line; or a heading with a column to, mobile or the like, optional columns",
        "# from, content, time, dlr-url, and columns for the text. Semicolons, tabs or commas separate cells. Such as:",
        "#   to;name;code",
        "#   +44 7700 900123;Ada;4711",
    ),
)
@click.option("--to", multiple=True, metavar="NUMBER", help="Destination; repeatable, or several separated by commas.")
@click.option("--from", "sender", metavar="SENDER", help="Sender ID.")
@click.option("--content", metavar="TEXT", help="The text; with --file, {column} stands for the row's cell.")
@click.option(
    "--at", metavar="TIME", help="When to send: YYYY-MM-DD HH:MM in the account's time zone, with seconds, or ISO 8601."
)
@click.option("--type", "kind", metavar="TYPE", help="text, unicode, flash or binary [text].")
@click.option("--dlr-url", metavar="URL", help="The URL that receipts are posted to.")
@click.option(
    "--validity", metavar="TIME", help="How long delivery is tried: seconds (at least 60), or a time as --at."
)
@click.option("--priority", metavar="0-3", help="SMPP's priority_flag; the operator decides about its effect.")
@click.option("--udh", metavar="HEX", help="A user data header, beginning with its length octet.")
@click.option("--coding", metavar="NUMBER", help="The data_coding of a binary message, 0 to 255 or 0x00 to 0xFF.")
@click.option(
    "--tlv",
    "tlvs",
    multiple=True,
    metavar="NAME=VALUE",
    help="An optional parameter (TLV), by its number or the connector's name for it; repeatable.",
)
@click.option("--progress", is_flag=True, help="With --dlr-url: also post receipts with ENROUTE and ACCEPTD.")
@click.option(
    "--reference", metavar="TEXT", help="Your name for the message. A repetition with the same name is not sent again."
)
@click.option(
    "--file", "file", type=click.Path(path_type=Path, dir_okay=False), help="A CSV file with a message in each row."
)
@click.option(
    "--to-column",
    metavar="COLUMN",
    help="With --file: the column of the numbers, by name, or as `column 2` if there is no heading [to, else the only "
    "column with a name or with cells that look like phone numbers].",
)
@click.option(
    "--campaign",
    metavar="NAME",
    help="With --file: a name for this run. Another run with the same name does not send rows again that were "
    "sent. Use another name to send them again [the file's name].",
)
@click.option(
    "--results",
    type=click.Path(path_type=Path, dir_okay=False),
    help="With --file: write a CSV file with the result of each row.",
)
@click.option(
    "--connections",
    type=click.IntRange(1, _MAX_CONNECTIONS),
    default=8,
    show_default=True,
    help="With --file: concurrent requests.",
)
@click.option("--user", metavar="NAME", help="The account [HELIOGRAPH_USER].")
@click.option("--key", metavar="KEY", help="Its API key [HELIOGRAPH_API_KEY].")
@click.option("--url", metavar="URL", help="The gateway [HELIOGRAPH_URL, else the setting http.listen].")
@click.pass_context
def send(
    context: click.Context,
    /,
    to: tuple[str, ...],
    file: Path | None,
    to_column: str | None,
    campaign: str | None,
    results: Path | None,
    connections: int,
    user: str | None,
    key: str | None,
    url: str | None,
    tlvs: tuple[str, ...],
    progress: bool,
    **given: str | None,
) -> None:
    """Sends messages as a customer, over HTTP.

    Numbers may be written as +49 (0)170 1234567 or 0049-170-1234567. A file is in UTF-8 or UTF-16. The exit code is
    0 if all messages were accepted, otherwise 1.
    """
    from heliograph.cli.remote.client import BadUrl, Client

    invocation = context.find_object(Invocation) or Invocation()
    names = {"sender": "from", "at": "time", "kind": "type", "dlr_url": "dlr-url"}
    fields = {names.get(name, name): value for name, value in given.items() if value is not None}
    if "time" in fields:
        fields["time"] = with_seconds(fields["time"])
    fields |= _tlv_fields(tlvs) | ({"progress": "yes"} if progress else {})
    user = user or os.environ.get("HELIOGRAPH_USER")
    key = key or os.environ.get("HELIOGRAPH_API_KEY")
    if not user or not key:
        raise Failure(
            "The account's name and API key are missing.",
            "Give --user and --key, or set HELIOGRAPH_USER and HELIOGRAPH_API_KEY.",
            invocation.typed("account create NAME --credit 100"),
        )
    address = url or os.environ.get("HELIOGRAPH_URL") or own_url(invocation)
    try:
        Client(address, user, key)
    except BadUrl as error:
        raise Failure(f"--url: {error}") from error

    def connect() -> Client:
        return Client(address, user, key)

    if file is None:
        if results is not None or campaign is not None or to_column is not None:
            raise Failure("--results, --campaign and --to-column need --file.")
        accepted = _send_one(invocation, connect(), to, fields)
    else:
        if to or "reference" in fields:
            raise Failure("With --file, give destinations and references as columns of the file.")
        rows = _rows_of(file, fields, campaign or file.stem, to_column or "")
        if rows.assumed and not invocation.as_json:
            print_line(rows.assumed, err=True)
        accepted = _send_file(invocation, connect, rows, results, connections)
    if not accepted:
        context.exit(1)


def _tlv_fields(tlvs: tuple[str, ...]) -> dict[str, str]:
    """Returns the form fields of optional parameters: `{"tlv_0x1400": "1101"}` for `0x1400=1101`."""
    fields: dict[str, str] = {}
    for each in tlvs:
        name, given, value = each.partition("=")
        if not name.strip() or not given:
            raise Failure(f"--tlv {each}: give a name or number, = and a value, such as 0x1400=1101.")
        if fields.setdefault(f"tlv_{name.strip()}", value) != value:
            raise Failure(f"--tlv {name.strip()} is given twice.")
    return fields


def own_url(invocation: Invocation) -> str:
    """Returns the URL of the gateway that these settings would start, for example `http://127.0.0.1:8080`."""
    from heliograph.config import parse_address

    host, port = parse_address(invocation.settings().http.listen)
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - to reach it, not to listen
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _send_one(invocation: Invocation, client: "Client", to: tuple[str, ...], fields: dict[str, str]) -> bool:
    missing = [name for name in ("from", "content") if not fields.get(name)]
    if not to or missing:
        named = "--to" if not to else f"--{missing[0]}"
        raise Failure(f"{named} is missing.", command="heliograph send --help")
    # With a reference, the client may repeat the request safely if the answer is lost.
    numbers = ",".join(number_of(each) for given in to for each in given.split(","))
    request = {"reference": f"cli.{secrets.token_hex(12)}", **fields, "to": numbers}
    outcome = client.send(request)
    client.close()
    if not outcome.sent:
        raise Failure(*_explain(outcome, invocation))
    body = outcome.body

    def people() -> None:
        count = len(body.get("Messages", [body]))
        kind = "message" if count == 1 else f"batch of {counted(count, 'message')}"
        if outcome.repeated:
            click.echo("It was accepted before, with the same reference. It is not sent or charged again.")
        print_line(
            f"{body.get('MessageStatus')}: {kind} {body.get('Id')} for {counted(str(body.get('Rate')), 'credit')}."
        )

    invocation.show(body, people)
    return True


def _explain(outcome: "SendOutcome", invocation: Invocation) -> tuple[str, str, str]:
    """Returns the message, the hint and the command of a failure."""
    hints = {
        0: ("Check that the gateway is running, and that --url is right.", invocation.typed("doctor")),
        401: ("Check --user and --key.", "heliograph key create NAME"),
        402: ("Top up the account.", "heliograph account top-up NAME AMOUNT"),
        403: ("Check whether the account is suspended or limited.", "heliograph account show NAME"),
    }
    if outcome.status == 403 and outcome.body.get("Field") == "from":
        hints[403] = (
            "Approve it, if the account may use it.",
            "heliograph sender add SENDER --account NAME --state approved",
        )
    hint, command = hints.get(outcome.status, ("", ""))
    return outcome.problem, hint, command


def _rows_of(file: Path, defaults: dict[str, str], campaign: str, to_column: str) -> "RecipientsFile":
    from heliograph.cli.lists.recipients_file import BadFile, RecipientsFile

    try:
        return RecipientsFile(file, defaults, campaign, to_column)
    except BadFile as error:
        raise Failure(str(error), "Nothing was sent.") from error


def _send_file(
    invocation: Invocation,
    connect: "Callable[[], Client]",
    contacts: "RecipientsFile",
    results: Path | None,
    connections: int,
) -> bool:
    from heliograph.cli.lists.file_run import FileRun
    from heliograph.domain.money.amounts import format_credits

    with ExitStack() as stack:
        write = stack.enter_context(_result_writer(results))
        advance = stack.enter_context(_progress(contacts.count, hidden=invocation.as_json))

        def settled(row: "Row", outcome: "SendOutcome", result: str) -> None:
            write(row, outcome, result)
            advance()

        tally = FileRun(connect, connections, settled).send(contacts)
    problems = sorted(tally.problems)
    left = contacts.count - tally.accepted - tally.failed
    summary: dict[str, Any] = {
        "rows": contacts.count,
        "to_column": contacts.to_column,
        "accepted": tally.accepted,
        "sent_before": tally.repeated,
        "failed": tally.failed,
        "not_tried": left,
        "credits": format_credits(tally.credit),
        "problems": [{"line": line, "problem": problem} for line, problem in problems],
        "stopped": tally.stopped or None,
    }

    def people() -> None:
        earlier = f", of them {tally.repeated} in an earlier run" if tally.repeated else ""
        print_fields(
            [
                ("rows", contacts.count),
                ("accepted", f"{tally.accepted}{earlier}"),
                ("failed", tally.failed),
                ("not tried", left),
                ("credits", format_credits(tally.credit)),
            ]
        )

    invocation.show(summary, people)
    for line, problem in problems:
        print_line(f"line {line}: {problem}", err=True)
    if tally.failed > len(tally.problems):
        click.echo(f"and {tally.failed - len(tally.problems)} more", err=True)
    if tally.stopped:
        raise Failure(tally.stopped, "Run the command again to send the rest. Accepted rows are not sent twice.")
    return tally.failed == 0


@contextmanager
def _result_writer(path: Path | None) -> "Iterator[Callable[[Row, SendOutcome, str], None]]":
    """Writes the result of each row at once, so that the file is complete even if the run is interrupted."""
    if path is None:
        yield lambda _row, _outcome, _result: None
        return
    try:
        stream = path.open("w", encoding="utf-8", newline="")
    except OSError as error:
        raise Failure(f"{path} cannot be written: {error.strerror or error}", "Nothing was sent.") from error
    with stream:
        rows = csv.writer(stream)
        rows.writerow(_COLUMNS)

        def write(row: "Row", outcome: "SendOutcome", result: str) -> None:
            reference, body = row.fields["reference"], outcome.body
            identity = (body.get("Id"), body.get("Rate")) if outcome.sent else ("", "")
            cells = (row.line, row.fields.get("to", ""), reference, result, *identity, outcome.problem)
            rows.writerow([harmless(str(cell)) for cell in cells])
            stream.flush()

        yield write


@contextmanager
def _progress(total: int, *, hidden: bool) -> Iterator[Callable[[], None]]:
    """Shows a progress bar on standard error if it is a terminal."""
    if hidden or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("sending"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("sending", total=total)
        yield lambda: progress.advance(task)
