"""Parts that all commands share: common options, requests to the admin API, answers and failures.

A command calls `Invocation.ask` with a resource and a request. The request goes to a gateway or a store:

    --context, HELIOGRAPH_CONTEXT or a context in use --> RemoteGateway: admin API over HTTP
    otherwise                                         --> OpenStore: dispatcher of the admin API, without a socket
"""

import json
import os
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click
from click.shell_completion import CompletionItem

from heliograph.cli.failure import Failure as Failure
from heliograph.cli.failure import needs_the_machine
from heliograph.cli.remote import contexts
from heliograph.domain.display import harmless

if TYPE_CHECKING:
    from msgspec import Struct

    from heliograph.app.resources.description import Asked, Resource
    from heliograph.app.resources.desk import Desk
    from heliograph.cli.open_store import OpenStore
    from heliograph.cli.remote.gateway import RemoteGateway
    from heliograph.config import Settings

COMPLETES: Final = "_HELIOGRAPH_COMPLETE"
"""The variable by which the script of a shell asks for completions."""

Answer = TypeVar("Answer")


@dataclass
class Invocation:
    """The common options of a command, which may stand before or after its name."""

    data: Path | None = None
    """`--data`, the data directory."""
    config: Path | None = None
    """`--config`, the settings file."""
    database_url: str | None = None
    """`--database-url`, the PostgreSQL database."""
    context: str | None = None
    """`--context`, the name of a context."""
    as_json: bool = False
    """`--json`."""
    _store: "OpenStore | None" = None

    def settings(self) -> "Settings":
        """Returns the settings in force on this machine. Raises Failure."""
        from heliograph.config import SettingsError, changed, load

        if self.context not in (None, contexts.LOCAL):
            raise needs_the_machine(str(self.context))

        try:
            settings = load(self.data, self.config, os.environ)
            if self.database_url is None:
                return settings
            return changed(settings, "store.url", self.database_url, "--database-url")
        except SettingsError as error:
            raise Failure(str(error), "Correct the setting and try again.", "heliograph settings --example") from error

    def at_desk(self, work: "Callable[[Desk], Awaitable[Answer]]", *, may_make: bool = False) -> Answer:
        """Runs a use case that the admin API lacks, on the store of this machine. Raises Failure.

        `may_make`: makes the store if there is none.
        """
        with self._opened(may_make=may_make) as opened:
            return opened.run(work)

    def gateway(self) -> "RemoteGateway | None":
        """Returns the gateway of the context, or None for the store of this machine. Raises Failure.

        The context is that of `--context`, else of HELIOGRAPH_CONTEXT, else the context in use. `--data`, `--config`
        and `--database-url` also mean the store of this machine.
        """
        here = [name for name in ("data", "config", "database_url") if getattr(self, name) is not None]
        if here and self.context not in (None, contexts.LOCAL):
            option = here[0].replace("_", "-")
            raise Failure(f"--{option} is for a gateway on this machine, --context for another machine; give only one.")
        name = self.context or os.environ.get(contexts.VARIABLE) or ""
        if here or name == contexts.LOCAL:
            return None
        from heliograph.cli.remote.client import BadUrl
        from heliograph.cli.remote.gateway import RemoteGateway

        try:
            known = contexts.load(contexts.path(os.environ))
            name = name or known.current
            if not name:
                return None
            if name not in known.known:
                raise Failure(f"there is no context {name}", command="heliograph context list")
            return RemoteGateway(name, known.known[name])
        except (contexts.BadContexts, BadUrl) as problem:
            raise Failure(str(problem), command="heliograph context list") from problem

    def need_the_machine(self) -> None:
        """Raises Failure if a context with another machine is in use."""
        if (gateway := self.gateway()) is not None:
            raise needs_the_machine(gateway.name)

    def ask(self, resource: "Resource", operation: str, given: Mapping[str, Any] | None = None) -> Any:
        """Makes a request to the admin API, and returns the JSON object. Raises Failure.

        The request goes to the gateway of the context, or to the store of this machine. The store stays open until the
        command ends.
        """
        given = given or {}
        for name, value in given.items():
            if not is_utf8(value):
                raise Failure(
                    f"{name}: it has octets that are not UTF-8", "Type it again, in a terminal that uses UTF-8."
                )
        asked = resource.operation(operation).asked(given)
        if resource.is_local:
            self.need_the_machine()
        if (gateway := self.gateway()) is not None:
            return self._send(gateway, asked)
        if self._store is None:
            stack = ExitStack()
            click.get_current_context().call_on_close(stack.close)
            self._store = stack.enter_context(self._opened(may_make=operation in _FIRST))
        with self.explained():
            return self._store.run(lambda desk: ask_at_desk(desk, resource, asked))

    def _send(self, gateway: "RemoteGateway", asked: "Asked") -> Any:
        from heliograph.cli.remote.gateway import RemoteRefusal

        try:
            return gateway.send(asked)
        except RemoteRefusal as error:
            command = "heliograph context list" if error.status in (0, 401) else ""
            if error.status in (404, 409):
                command = listing(str(error), self)
            raise Failure(str(error), command=command) from error

    @contextmanager
    def _opened(self, *, may_make: bool) -> "Iterator[OpenStore]":
        """Opens the store of this machine. Raises Failure, without `may_make` also if there is no store."""
        from heliograph.cli.open_store import OpenStore
        from heliograph.composition.commands import has_store

        self.need_the_machine()
        settings = self.settings()
        if not has_store(settings):
            # An empty new store would look to a person in the wrong directory as if all accounts were lost.
            is_given = self.data is not None or "HELIOGRAPH_DATA" in os.environ
            if not may_make:
                raise Failure(
                    f"there is no store in {settings.data.resolve()}.",
                    f"{'Correct' if is_given else 'Give'} its directory with --data or HELIOGRAPH_DATA. "
                    "If this is the place for a new store, make it with the first account.",
                    self.typed("account create NAME --credit 100"),
                )
            advice = "there was none" if is_given else "for another directory, use --data or HELIOGRAPH_DATA"
            click.echo(f"A new store is made in {settings.data.resolve()}; {advice}.", err=True)
        with self.explained():
            store = OpenStore(settings)
            try:
                yield store
            finally:
                store.close()

    @contextmanager
    def explained(self) -> "Iterator[None]":
        """Turns errors of the store and of use cases into a Failure with the next step."""
        from heliograph.app.ports import DamagedRow, Unavailable
        from heliograph.app.ports.encryption import KeyRefused
        from heliograph.app.resources.desk import AlreadyThere, Invalid, NoSuch
        from heliograph.domain.error import CONFLICT, NOT_FOUND, Fault

        try:
            yield
        except KeyRefused as error:
            raise Failure(f"{error}.", "Nothing was changed.", "heliograph settings") from error
        except Invalid as error:
            raise Failure(str(error), "Nothing was changed.", self._help()) from error
        except Fault as error:
            if error.entry is NOT_FOUND:
                found_by = "account list" if error.field == "account" else "message find"
                raise Failure(error.message, command=listing(error.message, self, found_by)) from error
            if error.entry is CONFLICT and _KIND(error.message) is not None:
                raise Failure(error.message, command=listing(error.message, self)) from error
            raise Failure(error.message, "Nothing was changed.", self._help() if error.field else "") from error
        except (NoSuch, AlreadyThere) as error:
            raise Failure(str(error), command=listing(str(error), self)) from error
        except DamagedRow as error:
            raise Failure(f"{error}.", "Nothing was changed.", self.typed("doctor")) from error
        except (Unavailable, OSError) as error:
            settings = self.settings()
            raise Failure(
                f"the store {settings.kept} is unavailable: {error}",
                "Check that the database runs, and that its URL is right."
                if settings.store.url
                else "Check that you may write to the directory, and that the disk has space.",
                self.typed("doctor"),
            ) from error

    def show(self, result: dict[str, Any], people: Callable[[], None]) -> None:
        """Prints the answer: the object with `--json`, otherwise the lines that `people` prints."""
        if self.as_json:
            echo_json(result)
        else:
            people()

    def typed(self, command: str) -> str:
        """Returns a command with the options for the same store, for example `heliograph doctor --data /srv/sms`."""
        where = f" --data {self.data}" if self.data is not None else ""
        # URL is a placeholder, because the real URL has a password.
        where += " --database-url URL" if self.database_url is not None else ""
        where += f" --context {self.context}" if self.context is not None else ""
        return f"heliograph {command}{where}"

    def _help(self) -> str:
        context = click.get_current_context(silent=True)
        return f"{context.command_path} --help" if context else "heliograph --help"


async def ask_at_desk(desk: "Desk", resource: "Resource", asked: "Asked") -> Any:
    """Makes a request to the dispatcher of the admin API, without a socket. Raises Fault."""
    from heliograph.admin_api.dispatch import Dispatcher
    from heliograph.admin_api.drawn import operations_of
    from heliograph.app.records import Scope
    from heliograph.app.resources.desk import Actor

    actor = Actor(desk.actor, frozenset(Scope), "")
    return await Dispatcher(operations_of(resource), desk).ask(actor, asked)


_FIRST: Final = frozenset({"create", "add", "set", "put", "import"})
"""Operations that may make a new store. All others read, change or remove things, which a new store lacks."""

_KIND = re.compile(r"there is no (.+)|the (.+) exists already(?:\.|;.+)?", re.IGNORECASE).fullmatch
_LISTS = {
    "admin user": "admin list",
    "second factor": "admin list",
    "token": "admin token list",
    "suppression": "suppression list --account NAME",
    "sender rule": "sender-rule list",
    "key": "key list NAME",
}
_WITH_A_LIST = ("account", "connector", "route", "plan", "price", "cost", "number", "inbound", "template", "sender")


def listing(problem: str, invocation: Invocation, otherwise: str = "") -> str:
    """Returns the command that lists the kind of things in a sentence: `heliograph account list` for "there is no
    account acme". For other sentences it returns `otherwise` with the options for the store, or ""."""
    found = _KIND(problem)
    kind = (found[1] or found[2]) if found else ""
    for word, command in (_LISTS | {each: f"{each} list" for each in _WITH_A_LIST}).items():
        if kind.startswith(word):
            return invocation.typed(command)
    return invocation.typed(otherwise) if otherwise else ""


def print_line(text: str, *, err: bool = False) -> None:
    """Prints a line, or several lines. Control characters in names and texts of other people are made harmless."""
    click.echo(harmless(text), err=err)


def echo_json(result: dict[str, Any], *, err: bool = False) -> None:
    click.echo(harmless(json.dumps(result, ensure_ascii=False)), err=err)


def _remember(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    # click also calls this for a missing option. It must not undo the option on the other side of the command's name.
    if value is not None and value is not False:
        setattr(context.ensure_object(Invocation), parameter.name or "", value)


def _common() -> list[click.Parameter]:
    return [
        click.Option(
            ["--data"],
            type=click.Path(path_type=Path, file_okay=False),
            expose_value=False,
            callback=_remember,
            help="The data directory [HELIOGRAPH_DATA, else ./heliograph-data].",
        ),
        click.Option(
            ["--config"],
            type=click.Path(path_type=Path, dir_okay=False),
            expose_value=False,
            callback=_remember,
            help="The settings file [HELIOGRAPH_CONFIG, else heliograph.toml in the data directory].",
        ),
        click.Option(
            ["--database-url"],
            metavar="URL",
            expose_value=False,
            callback=_remember,
            help="The PostgreSQL database [HELIOGRAPH_DATABASE_URL, else a file in the data directory].",
        ),
        click.Option(
            ["--context"],
            metavar="NAME",
            expose_value=False,
            callback=_remember,
            help="A gateway on another machine, over its admin API [HELIOGRAPH_CONTEXT, else the context in use].",
        ),
        click.Option(
            ["--json", "as_json"],
            is_flag=True,
            expose_value=False,
            callback=_remember,
            help="Print a JSON object on standard output.",
        ),
    ]


_COMMON_NAMES = frozenset({"--data", "--config", "--database-url", "--context", "--json", "--help"})


class _WithCommonOptions(click.Command):
    def get_help_option_names(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return ["-h", "--help"]

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        params = super().get_params(ctx)
        # click puts --help last; the common options go before it.
        return [*params[:-1], *_common(), *params[-1:]] if self.add_help_option else [*params, *_common()]

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Returns the words of the usage line, with required options: `--account NAME [OPTIONS] PREFIX`."""
        needed = [each for each in self.get_params(ctx) if isinstance(each, click.Option) and each.required]
        words = [f"{each.opts[0]} {each.make_metavar(ctx)}" for each in needed]
        return words + super().collect_usage_pieces(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        own: list[tuple[str, str]] = []
        others: list[tuple[str, str]] = []
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            # The usage line has the arguments. An argument is listed here only if it has a help text.
            if record is not None and (record[1] or isinstance(parameter, click.Option)):
                (others if _COMMON_NAMES.intersection(parameter.opts) else own).append(record)
        for title, records in (("Options", own), ("Options of every command", others)):
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def invoke(self, ctx: click.Context) -> Any:
        ctx.ensure_object(Invocation)
        return super().invoke(ctx)


class Command(_WithCommonOptions):
    """A command with the options --data, --config, --database-url, --context and --json."""


class Group(_WithCommonOptions, click.Group):
    """A group of commands. It takes the common options too, before the command's name."""

    command_class = Command

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Returns the names in the order of the code, not of the alphabet."""
        return list(self.commands)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(ctx, formatter)
        super().format_options(ctx, formatter)


Group.group_class = Group


class Root(Group):
    """The group of all commands. With `--json` it prints a failure as a JSON object on standard error.

    Its help and the completion of its commands import no command.
    """

    def __init__(self, *args: Any, summaries: Mapping[str, str], **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self._summaries = summaries

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(self._summaries.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        names = [
            CompletionItem(name, help=text) for name, text in self._summaries.items() if name.startswith(incomplete)
        ]
        return names + click.Command.shell_complete(self, ctx, incomplete)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta[_JSON_FAILURES] = "--json" in args
        with _json_failures(ctx):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        with _json_failures(ctx):
            return super().invoke(ctx)


_JSON_FAILURES: Final = "heliograph.json_failures"


@contextmanager
def _json_failures(ctx: click.Context) -> Iterator[None]:
    """Prints a failure as JSON and exits, for example `{"error": "there is no context prod", "try": "..."}`.

    The words of the command line decide, because click reads no option `--json` after a mistyped option.
    """
    try:
        yield
    except click.ClickException as error:
        if not ctx.meta[_JSON_FAILURES]:
            raise
        command = getattr(error, "command", "")
        if isinstance(error, click.UsageError) and error.ctx is not None:
            command = f"{error.ctx.command_path} --help"
        failure = {"error": error.format_message(), "hint": getattr(error, "hint", ""), "try": command}
        echo_json({name: text for name, text in failure.items() if text}, err=True)
        ctx.exit(error.exit_code)


def examples(*lines: str) -> str:
    """Returns an epilog with examples of a command line."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def parse_pairs(pairs: Iterable[str]) -> dict[str, str]:
    """Returns the texts of KEY=VALUE arguments: `{"rate": "50"}` for `rate=50`. Raises Failure."""
    found: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise Failure(f"{pair!r} is not KEY=VALUE, such as timezone=Europe/Berlin")
        if key in found:
            raise Failure(f"{key} is given twice")
        found[key] = value
    return found


def print_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, empty: str, right: Sequence[str] = ()
) -> None:
    """Prints a table, or the sentence `empty` if there are no rows. Columns in `right` are right-aligned."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, justify="right" if column in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text("" if cell is None else harmless(str(cell))) for cell in row))
    if not table.row_count:
        click.echo(empty)
        return
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=1000)
    console.print(table)


def print_fields(fields: Iterable[tuple[str, object]]) -> None:
    """Prints a line for each field, with its name and value."""
    pairs = list(fields)
    width = max(len(name) for name, _ in pairs)
    for name, value in pairs:
        click.echo(f"{name:{width}}  {'' if value is None else harmless(str(value))}".rstrip())


def as_json(answer: "Struct | dict[str, Any]") -> dict[str, Any]:
    """Converts an answer of the admin API to JSON values."""
    import msgspec

    result: dict[str, Any] = msgspec.to_builtins(answer)
    return result


def format_moment(at: int | None) -> str | None:
    """Returns a time in ms since the epoch as ISO 8601 in UTC, such as `2027-01-15T08:00:00Z`."""
    if at is None:
        return None
    from datetime import UTC, datetime

    return datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def is_utf8(value: object) -> bool:
    """Whether an argument, or each of several, can be stored and sent. Python hands over other octets of a command line
    as surrogates."""
    try:
        json.dumps(value, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError:
        return False
    return True
