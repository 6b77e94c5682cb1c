"""A finding of `heliograph doctor`."""

from dataclasses import dataclass
from typing import Literal


@dataclass(slots=True)
class Finding:
    """`note` is worth a look, and nothing that keeps a gateway from its work; `advice` is what to do about it."""

    check: str
    result: Literal["ok", "note", "fail"]
    detail: str
    advice: str = ""
