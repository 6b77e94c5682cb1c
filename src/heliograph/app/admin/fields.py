"""Amounts, and the settings and options of connectors, read from texts."""

import re
from collections.abc import Mapping
from typing import Any

from heliograph.app.connector_kind import Setting
from heliograph.app.resources.desk import Invalid
from heliograph.app.text_values import untyped
from heliograph.domain.money import amounts

_OPTION = re.compile(r"[a-z][a-z0-9_]{0,63}").fullmatch


def amount(field: str, text: str) -> int:
    """Parses decimal credits; returns micro-credits. Raises Invalid."""
    try:
        return amounts.parse_credits(text)
    except ValueError as error:
        raise Invalid(field, str(error)) from None


def parse_changes(fields: Mapping[str, Setting], texts: Mapping[str, str]) -> dict[str, Any]:
    """The values of several fields. Raises Invalid, for a field that is none too."""
    changes: dict[str, Any] = {}
    for name, text in texts.items():
        field = fields.get(name)
        if field is None:
            raise Invalid(name, f"there is no such field; there are {', '.join(fields)}")
        try:
            changes[name] = field.parse(text)
        except ValueError as error:
            raise Invalid(name, str(error)) from None
    return changes


def parse_option(name: str, text: str) -> bool | int | float | str | None:
    """Parses a connector's option: true, false, a number, or else text; None (remove it) if empty.

    Digits that a number would not give back as they were written stay text, such as the address range `0044`. Raises
    Invalid.
    """
    if _OPTION(name) is None:
        raise Invalid(f"option.{name}", "an option's name consists of a-z, 0-9 and _, and begins with a letter")
    return untyped(text) if text else None
