"""Contexts: gateways elsewhere that commands may mean, each with the token of its admin API.

They are kept in one file of the user, which nobody else can read.
"""

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

LOCAL = "local"
"""The name of no context: the store on this machine."""

VARIABLE = "HELIOGRAPH_CONTEXT"


class BadContexts(Exception):
    """The file of contexts cannot be read; the text says why."""


@dataclass(slots=True)
class GatewayContext:
    """A gateway elsewhere: the address of its admin API, and the token for it."""

    server: str
    token: str = field(repr=False)


@dataclass(slots=True)
class Contexts:
    """The contexts of a user. `current` is the one that commands mean which name none; empty for none."""

    known: dict[str, GatewayContext] = field(default_factory=dict)
    current: str = ""


def path(environment: Mapping[str, str]) -> Path:
    """Returns where the contexts of this user are."""
    home = environment.get("XDG_CONFIG_HOME") or str(Path(environment.get("HOME") or Path.home()) / ".config")
    return Path(home) / "heliograph" / "contexts.json"


def load(file: Path) -> Contexts:
    """Reads the contexts; there are none where the file is not there. Raises BadContexts."""
    try:
        found = json.loads(file.read_text("utf-8"))
        known = {
            str(name): GatewayContext(str(each["server"]), str(each["token"]))
            for name, each in found["contexts"].items()
        }
        current = str(found.get("current", ""))
    except FileNotFoundError:
        return Contexts()
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
        raise BadContexts(f"{file} cannot be read: {problem}") from problem
    return Contexts(known, current if current in known else "")


def save(file: Path, contexts: Contexts) -> None:
    """Writes the contexts for their user alone (mode 0600), all or nothing. Raises OSError."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    told = {
        "current": contexts.current,
        "contexts": {name: {"server": each.server, "token": each.token} for name, each in contexts.known.items()},
    }
    # made with mode 0600, and only then given its name
    handle, new = tempfile.mkstemp(prefix=".contexts-", dir=file.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            json.dump(told, out, indent=2)
            out.write("\n")
        Path(new).replace(file)
    except BaseException:
        Path(new).unlink(missing_ok=True)
        raise
