"""The declaration of one setting, with all that parsing, messages and the reference page need of it."""

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
    """A field of a section. `check` gives what is wrong with a value of the right type, or None.

    `variable` is its variable's name after HELIOGRAPH_, where that is not made of the section and the name. A
    `secret` is shown nowhere.
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
