"""Log lines through `logging`."""

import json
import logging
import re
import sys
from datetime import UTC, datetime
from typing import Any, TextIO

from heliograph.domain.display import harmless
from heliograph.domain.numbers.phone import mask

LOGGER = "heliograph"

_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}

_SECRET = frozenset({"password", "api_key", "secret", "signing_secret", "authorization", "password_hash"})
_NUMBER = frozenset({"to", "destination", "msisdn", "number"})
_TEXT = frozenset({"content", "text", "body"})
_SENDER_NUMBER = re.compile(r"\+?[0-9]{7,15}").fullmatch


class LogJournal:
    """Writes happenings as log lines. Cheap; never raises.

    Secrets are left out whatever the settings say; message texts are left out, and numbers shown in part,
    unless `sensitive`. This is the last line of defence: callers do not pass them in the first place.
    """

    __slots__ = ("_logger", "_sensitive")

    def __init__(self, *, sensitive: bool = False) -> None:
        self._logger = logging.getLogger(LOGGER)
        self._sensitive = sensitive

    def log(self, level: str, event: str, **fields: Any) -> None:
        """Writes a log line. `event` is a few constant words, for example "operator refused the bind". Variable values
        go into `fields`. `error` may be an exception.
        """
        number = _LEVELS.get(level, logging.ERROR)
        if self._logger.isEnabledFor(number):
            shown = {name: self._shown(name, value) for name, value in fields.items() if name not in _SECRET}
            self._logger.log(number, "%s", event, extra={"heliograph_fields": shown})

    def _shown(self, name: str, value: Any) -> Any:
        if isinstance(value, BaseException):
            return f"{type(value).__name__}: {value}" if str(value) else type(value).__name__
        if self._sensitive:
            return value
        if name in _TEXT:
            return f"<{len(value)} characters>" if isinstance(value, str | bytes) else "<hidden>"
        if isinstance(value, str) and (name in _NUMBER or (name in ("from", "sender") and _SENDER_NUMBER(value))):
            return mask(value)
        return value


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    """Returns the fields of an event, and the ids of the trace if a filter gave it some."""
    fields: dict[str, Any] = getattr(record, "heliograph_fields", {})
    return fields | {name: getattr(record, name) for name in ("trace_id", "span_id") if hasattr(record, name)}


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class JsonFormatter(logging.Formatter):
    """Formats an event as a JSON object a line: `time`, `level`, `event`, then the fields."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        if record.name != LOGGER:
            line["logger"] = record.name
        line.update((name, value) for name, value in _fields(record).items() if name not in line)
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return harmless(json.dumps(line, ensure_ascii=False, default=str))


class TextFormatter(logging.Formatter):
    """Formats an event as a line for people: time of day, level, event, `name=value`..."""

    def format(self, record: logging.LogRecord) -> str:
        event = record.getMessage()
        if record.name != LOGGER:
            event = f"{record.name}: {event}"
        fields = "".join(f" {name}={_word(value)}" for name, value in _fields(record).items())
        line = f"{_time(record)[11:23]} {record.levelname.lower():7} {event}{fields}"
        return harmless(f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line)


def _word(value: Any) -> str:
    text = str(value)
    return (
        text if text and text.isprintable() and not set(text) & set(" \"'=") else json.dumps(text, ensure_ascii=False)
    )


def configure_logging(level: str, form: str, stream: TextIO | None = None) -> None:
    """Sends all log lines of the process to `stream` (default: standard error), and replaces earlier configuration.

    `form` is `text`, `json` or `auto`: text on a terminal, JSON elsewhere.
    """
    stream = stream if stream is not None else sys.stderr
    as_text = form == "text" or (form == "auto" and stream.isatty())
    handler = logging.StreamHandler(stream)
    handler.setFormatter(TextFormatter() if as_text else JsonFormatter())
    root = logging.getLogger()
    for old in root.handlers[:]:
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger(LOGGER).setLevel(_LEVELS[level])
