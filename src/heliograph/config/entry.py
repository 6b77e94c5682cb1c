"""A single setting: its key, its variable, its valid values, and the messages for invalid values."""

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache, partial
from typing import Any, Literal, get_args, get_origin, get_type_hints

from heliograph.config.settings import Settings
from heliograph.domain.display import did_you_mean

PREFIX = "HELIOGRAPH_"
"""Prefix of the environment variables of all settings."""

LIST = "(`heliograph settings` lists them all)"


class SettingsError(Exception):
    """A setting that cannot be used. The message has its name, its source, and the valid values."""


@dataclass(frozen=True, slots=True)
class SettingEntry:
    """A setting in the form for the reference."""

    section: str
    name: str
    type: Any
    default: Any
    doc: str
    unit: str
    least: float | None
    most: float | None
    check: Callable[[Any], str | None] | None
    own_variable: str
    secret: bool

    @property
    def key(self) -> str:
        return f"{self.section}.{self.name}"

    @property
    def variable(self) -> str:
        return PREFIX + (self.own_variable or f"{self.section}_{self.name}".upper())

    @property
    def expected(self) -> str:
        """Returns the valid values in words, for example "a whole number from 1 to 65535"."""
        if get_origin(self.type) is Literal:
            return "one of " + ", ".join(get_args(self.type))
        words = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
        text = words.get(self.type, "a list of texts")
        if self.least is not None:
            text += f" from {self.least:g}" if self.least < 1e6 else f" from {self.least}"
        if self.most is not None:
            text += f" to {int(self.most) if self.most == int(self.most) else self.most}"
        return text + (f" ({self.unit})" if self.unit else "")


@cache
def sections() -> dict[str, type]:
    """The sections of the file, in its order, with their classes."""
    hints = get_type_hints(Settings)
    return {each.name: hints[each.name] for each in fields(Settings) if each.name not in ("data", "file")}


@cache
def entries() -> tuple[SettingEntry, ...]:
    """Every setting, in the order of the file."""
    return tuple(
        SettingEntry(section=section, name=each.name, type=hints[each.name], default=each.default, **each.metadata)
        for section, kind, hints in ((name, kind, get_type_hints(kind)) for name, kind in sections().items())
        for each in fields(kind)
    )


def entry_of(key: str) -> SettingEntry | None:
    return next((entry for entry in entries() if entry.key == key), None)


def from_text(entry: SettingEntry, text: str, where: str) -> Any:
    """Converts a variable's text to the setting's type; returns text that does not fit for `checked` to refuse."""
    if entry.type is bool:
        words = {
            "true": True,
            "1": True,
            "yes": True,
            "on": True,
            "false": False,
            "0": False,
            "no": False,
            "off": False,
        }
        return words.get(text.strip().lower(), text)
    if entry.type is int or entry.type is float:
        try:
            return entry.type(text)
        except ValueError:
            raise _wrong(entry, text, where) from None
    if get_origin(entry.type) is tuple:
        return [part.strip() for part in text.split(",") if part.strip()]
    return text


def checked(entry: SettingEntry, value: Any, where: str) -> Any:
    """Returns the value in the form of its field. Raises SettingsError."""
    wrong = partial(_wrong, entry, value, where)
    if get_origin(entry.type) is Literal:
        if value not in get_args(entry.type):
            raise wrong()
    elif get_origin(entry.type) is tuple:
        if not isinstance(value, list | tuple) or not all(isinstance(part, str) for part in value):
            raise wrong()
        value = tuple(value)
    elif entry.type is float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise wrong()
        value = float(value)
    elif type(value) is not entry.type:
        raise wrong()
    too_small = entry.least is not None and value < entry.least
    too_large = entry.most is not None and value > entry.most
    if too_small or too_large:
        raise wrong()
    problem = entry.check(value) if entry.check else None
    if problem:
        raise wrong(problem)
    return value


def no_setting(key: str, where: str) -> SettingsError:
    name = key.rpartition(".")[2]
    # without a similar key: the right name in the wrong section, or outside all sections
    elsewhere = [f"; did you mean {entry.key}?" for entry in entries() if entry.name == name]
    hint = did_you_mean(key, [entry.key for entry in entries()]) or "".join(elsewhere[:1])
    return SettingsError(f"there is no setting {key} ({where}){hint} {LIST}")


def no_section(name: str, where: str) -> SettingsError:
    hint = did_you_mean(f"[{name}]", [f"[{each}]" for each in sections()])
    return SettingsError(f"there is no section [{name}] ({where}){hint} {LIST}")


def _wrong(entry: SettingEntry, value: object, where: str, problem: str | None = None) -> SettingsError:
    if problem is not None:
        return SettingsError(f"{entry.key} in {where} is wrong: {problem}")
    shown = "it is not" if entry.secret else f"it is {value!r}"
    return SettingsError(f"{entry.key} in {where} must be {entry.expected}: {shown}")
