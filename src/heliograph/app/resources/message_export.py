"""The lines of exported messages, as CSV or JSON, with the same values."""

import json
from collections.abc import Mapping
from typing import Any, Final

from heliograph.app.records import ExportFormat
from heliograph.domain.calendar import format_utc
from heliograph.domain.csv_lines import csv_line
from heliograph.domain.message.status import MessageStatus
from heliograph.domain.money.amounts import format_credits
from heliograph.domain.numbers.country import country_of

COLUMNS: Final = (
    "id", "time", "account", "from", "to", "country", "state", "delivery", "error", "connector", "segments", "price",
    "reference",
)  # fmt: skip

_WITH_ERROR: Final = (MessageStatus.UNDELIVERED, MessageStatus.FAILED)


def heading(kind: ExportFormat) -> bytes:
    """Returns the first line of a file; empty if the format has none."""
    return csv_line(*COLUMNS) if kind is ExportFormat.CSV else b""


def line(kind: ExportFormat, values: Mapping[str, Any]) -> bytes:
    """Returns the line of a message, given by its values of COLUMNS."""
    if kind is ExportFormat.CSV:
        return csv_line(*cells_of(values))
    return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def exported(message: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the values of COLUMNS of a message, given as a JSON object of the admin API."""
    return {
        "id": message["id"],
        "time": message["time"],
        "account": message["account"],
        "from": message["sender"],
        "to": message["to"],
        "country": country_of(message["to"]),
        "state": message["status"],
        "delivery": message["delivery"],
        "error": message["err"] if message["status"] in _WITH_ERROR and message["delivery"] else None,
        "connector": message["connector"],
        "segments": message["segments"],
        "price": message["price"],
        "reference": message["reference"],
    }


def exported_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the same of a row of a use case, with its time in ms and its price in micro-credits."""
    return exported({**row, "time": format_utc(row["time"]), "price": format_credits(row["price"])})


def cells_of(values: Mapping[str, Any]) -> list[str]:
    """Returns the values of COLUMNS as cells of a table."""
    return ["" if value is None else str(value) for value in values.values()]
