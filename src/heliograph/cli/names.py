"""Completion of names in the shell: of accounts, connectors, routes and others.

Each key press starts a process. So the kind of a name is found in two small tables, without the modules of the
commands. They need half a second; a name must come within 200 ms. If no name can be had, nothing is printed.
"""

import itertools
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
)

from heliograph.cli.command import Invocation
from heliograph.cli.remote import contexts

WITHIN_S: Final = 0.15
"""Seconds for the store or the admin API to answer. With the start of the program that makes 200 ms."""

_OPTIONS: Final = {
    "--account": "account",
    "--connector": "connector",
    "--context": "context",
    "--plan": "plan",
    "--user": "account",
}
"""The kind of the name that follows an option."""

_WITH_A_VALUE: Final = frozenset({*_OPTIONS, "--config", "--data", "--database-url"})
_WITHOUT: Final = frozenset({"--json"})

_ARGUMENTS: Final = {
    "account": "account",
    "admin": "user",
    "admin token": "token",
    "connector": "connector",
    "context": "context",
    "key": "account",
    "number": "number",
    "plan": "plan",
    "route": "route",
    "sender-rule": "sender-rule",
    "sending-list": "sending-list",
    "template": "template",
}
"""The kind of the first argument of a group's commands."""

_WITHOUT_NAME: Final = frozenset({"add", "check", "coverage", "create", "explain", "import", "list", "log"})
"""Commands of these groups whose first argument is a new name, or that have no argument."""

_IDS: Final = frozenset({"number", "route", "sender-rule", "sending-list"})
"""Kinds that are named by an id."""

_ON_THE_MACHINE: Final = frozenset({"token", "user"})
"""Kinds that the admin API does not have."""

MOST: Final = 200
"""The most names of an answer."""

Pairs = list[tuple[str, str]]
"""Names, each with a hint such as `49 by op1`, which may be empty."""


def kind_of(words: Sequence[str], begin: str) -> str:
    """Returns the kind of the name that is typed after the words; empty if it is no name.

    For example `account` for `["account", "show"]` and for `["queue", "hold", "--account"]`.
    """
    if begin.startswith("-") or not words:
        return ""
    if words[-1] in _OPTIONS:
        return _OPTIONS[words[-1]]
    if words[-1] == "--to" and words[0] == "queue":
        return "connector"
    left = list(words)
    path: list[str] = []
    while left:
        word = left.pop(0)
        if word in _WITH_A_VALUE:
            del left[:1]
        elif word.startswith("-") and word not in _WITHOUT and "=" not in word:
            return ""  # the command's description would say whether a value follows
        elif not word.startswith("-"):
            path.append(word)
    is_group = " ".join(path) in _ARGUMENTS
    return "" if is_group or path[-1] in _WITHOUT_NAME else _ARGUMENTS.get(" ".join(path[:-1]), "")


def complete_names(words: Sequence[str], kind: str, begin: str) -> Pairs:
    """Returns names of a kind that begin with `begin`, with hints, from the store or the gateway that the words choose.

    Raises any error of either.
    """
    if kind == "context":
        known = contexts.load(contexts.path(os.environ)).known
        return [(name, each.server) for name, each in sorted(known.items()) if name.startswith(begin)]
    chosen = Invocation()
    for option, value in itertools.pairwise(words):
        if option in ("--data", "--config"):
            setattr(chosen, option.removeprefix("--"), Path(value))
        elif option in ("--database-url", "--context"):
            setattr(chosen, option.removeprefix("--").replace("-", "_"), value)
    if (gateway := chosen.gateway()) is None:
        from heliograph.composition.names import stored_names

        return stored_names(chosen.settings(), kind, begin, WITHIN_S)
    if kind in _ON_THE_MACHINE:
        return []
    plural = f"{kind}s".replace("-", "_")
    answer = gateway.get(f"/{kind}s", WITHIN_S)
    values = (str(each["id" if kind in _IDS else "name"]) for each in answer[plural])
    return [(value, "") for value in values if value.startswith(begin)][:MOST]


class _WithNames(ShellComplete):
    """Completes names, and leaves other words to click."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        kind = kind_of(args, incomplete)
        if not kind:
            return super().get_completions(args, incomplete)
        with suppress(Exception):  # an error at a key press would be printed into the line that is typed
            return [CompletionItem(name, help=hint or None) for name, hint in complete_names(args, kind, incomplete)]
        return []


class _Bash(_WithNames, BashComplete):
    source_template = BashComplete.source_template.replace(
        "    return 0\n", "    [[ ${#COMPREPLY[@]} == 1 && $COMPREPLY == *= ]] && compopt -o nospace\n    return 0\n"
    )
    """The value follows a KEY= at once."""


class _Zsh(_WithNames, ZshComplete):
    pass


class _Fish(_WithNames, FishComplete):
    pass


def install_completion() -> None:
    """Makes the program complete names in all shells."""
    for kind in (_Bash, _Zsh, _Fish):
        add_completion_class(kind)
