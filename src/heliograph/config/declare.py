"""The declaration of a setting, with all that parsing, error messages and the reference page need."""

from collections.abc import Callable
from dataclasses import field
from typing import Any


def setting(
    default: object,
    doc: str,
    *,
    unit: str = "",
    least: float | None = None,
    most: float | None = None,
    check: Callable[[Any], str | None] | None = None,
    variable: str = "",
    secret: bool = False,
) -> Any:
    """Declares a field of a section.

    `check`: returns the problem of a value of the right type, or None.

    `variable`: its variable's name after HELIOGRAPH_, if it differs from section and name. For example DATABASE_URL.

    `secret`: never shown.
    """
    metadata = {
        "doc": doc,
        "unit": unit,
        "least": least,
        "most": most,
        "check": check,
        "own_variable": variable,
        "secret": secret,
    }
    return field(default=default, metadata=metadata, repr=not secret)
