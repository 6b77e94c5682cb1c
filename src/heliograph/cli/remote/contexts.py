"""Contexts: gateways on other machines, each with the token of its admin API.

They are in a file of the user with mode 0600. For example:

    {"current": "prod", "contexts": {"prod": {"server": "https://sms.example.net", "token": "hat_..."}}}
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

LOCAL = "local"
"""A reserved name: the store on this machine instead of a context."""

VARIABLE = "HELIOGRAPH_CONTEXT"


class BadContexts(Exception):
    """The file of contexts cannot be read. The text has the reason."""


@dataclass(slots=True)
class GatewayContext:
    """A gateway on another machine."""

    server: str
    """The address, for example `https://sms.example.net`."""
    token: str = field(repr=False)
    """A token of its admin API."""


@dataclass(slots=True)
class Contexts:
    """The contexts of a user."""

    known: dict[str, GatewayContext] = field(default_factory=dict)
    current: str = ""
    """The context of commands without `--context`; empty: the store on this machine."""


def path(environment: Mapping[str, str]) -> Path:
    """Returns the path of the user's file of contexts."""
    home = environment.get("XDG_CONFIG_HOME") or str(Path(environment.get("HOME") or Path.home()) / ".config")
    return Path(home) / "heliograph" / "contexts.json"


def load(file: Path) -> Contexts:
    """Reads the contexts. A missing file has no contexts. Raises BadContexts."""
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
        reason = getattr(problem, "strerror", None) or problem
        raise BadContexts(f"{file} cannot be read: {reason}") from problem
    return Contexts(known, current if current in known else "")


def save(file: Path, contexts: Contexts) -> None:
    """Writes the contexts with mode 0600, all or nothing; they are on disk when it returns. Raises OSError."""
    from heliograph.runtime.disk import make_folder, replace_file  # few commands need it

    make_folder(file.parent)
    content = {
        "current": contexts.current,
        "contexts": {name: {"server": each.server, "token": each.token} for name, each in contexts.known.items()},
    }
    replace_file(file, f"{json.dumps(content, indent=2)}\n".encode())
