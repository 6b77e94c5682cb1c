"""Sources of settings: the file `heliograph.toml`, `HELIOGRAPH_*` variables, which win over it, and options."""

import errno
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from heliograph import files
from heliograph.config.entry import (
    LIST,
    PREFIX,
    SettingEntry,
    SettingsError,
    checked,
    entries,
    entry_of,
    from_text,
    no_section,
    no_setting,
    sections,
)
from heliograph.config.settings import DEFAULT_DATA, Settings
from heliograph.domain.display import did_you_mean

FILE_NAME = "heliograph.toml"

OTHER_VARIABLES = ("DATA", "CONFIG", "USER", "API_KEY", "URL", "CONTEXT", "TOKEN")
"""Variables that are not settings: the paths of the settings, the credentials of the `send` command, the context (a
remote gateway), and the token that `context add` stores.
"""

FILE_SUFFIX = "_FILE"
"""Behind the name of a setting's variable: the variable names a file with the value, such as a secret of Docker."""

_SERVICE_LINK = re.compile(r"HELIOGRAPH_(SERVICE_(HOST|PORT)(_.*)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_.*)?)").fullmatch
"""Names of variables that Kubernetes puts into every container beside a service that is called "heliograph"."""


def load(
    data: Path | None = None,
    config: Path | None = None,
    environ: Mapping[str, str] = MappingProxyType(os.environ),
) -> Settings:
    """Returns the settings in force. Arguments take precedence over variables, and variables over the file.

    The file is `config`, which must exist. Without `config` it is `heliograph.toml` in the data directory, if it
    exists. Raises SettingsError.
    """
    data = data or Path(environ.get(f"{PREFIX}DATA") or DEFAULT_DATA)
    if config is None and environ.get(f"{PREFIX}CONFIG"):
        config = Path(environ[f"{PREFIX}CONFIG"])
    path = config or data / FILE_NAME
    settings = Settings(data=data)
    document = _read(path, must_exist=config is not None)
    if document is not None:
        settings = _apply_file(replace(settings, file=path), document, str(path))
    return _apply_variables(settings, environ)


def changed(settings: Settings, key: str, value: object, where: str) -> Settings:
    """Returns a copy with another value of `section.name`, checked like a value of the file.

    `where` names the source of the value in error messages. Raises SettingsError.
    """
    found = entry_of(key)
    if found is None:
        raise no_setting(key, where)
    return _with(settings, found, checked(found, value, where))


def _read(path: Path, *, must_exist: bool) -> dict[str, Any] | None:
    try:
        text = files.read(path).decode()
    except files.UnusableFile as problem:
        if problem.errno not in (errno.ENOENT, errno.ENOTDIR):
            raise SettingsError(f"the settings file {path} cannot be read: {problem.strerror}") from None
        if must_exist:
            raise SettingsError(f"there is no settings file {path}") from None
        return None
    except UnicodeDecodeError as problem:
        raise SettingsError(f"the settings file {path} cannot be read: {problem}") from None
    import tomllib  # imported only if there is a file

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"the settings file {path} is not well-formed TOML: {error}") from error


def _apply_file(settings: Settings, document: dict[str, Any], where: str) -> Settings:
    for section, values in document.items():
        if section not in sections():
            raise no_section(section, where) if isinstance(values, dict) else no_setting(section, where)
        if not isinstance(values, dict):
            raise SettingsError(f"{section} in {where} must be a section: a line [{section}], its settings below it")
        for name, value in values.items():
            entry = entry_of(f"{section}.{name}")
            if entry is None:
                raise no_setting(f"{section}.{name}", where)
            settings = _with(settings, entry, checked(entry, value, where))
    return settings


def _apply_variables(settings: Settings, environ: Mapping[str, str]) -> Settings:
    by_variable = {entry.variable: entry for entry in entries()}
    for variable in sorted(environ):
        if not variable.startswith(PREFIX) or variable.removeprefix(PREFIX) in OTHER_VARIABLES:
            continue
        text = environ[variable]
        if _SERVICE_LINK(variable) or (variable == f"{PREFIX}PORT" and "://" in text):
            continue
        entry = by_variable.get(variable)
        where = f"the variable {variable}"
        if entry is None and (entry := by_variable.get(variable.removesuffix(FILE_SUFFIX))) is not None:
            if entry.variable in environ:
                raise SettingsError(f"{entry.variable} and {variable} are both set; set only one of them")
            text = _value_in(Path(text), where)
        if entry is None:
            hint = did_you_mean(variable, by_variable)
            raise SettingsError(f"the variable {variable} is no setting{hint} {LIST}")
        settings = _with(settings, entry, checked(entry, from_text(entry, text, where), where))
    return settings


def _value_in(path: Path, where: str) -> str:
    """Returns the content of the file without the end of its last line."""
    try:
        return files.read(path).decode().removesuffix("\n").removesuffix("\r")
    except files.UnusableFile as problem:
        raise SettingsError(f"the file {path} of {where} cannot be read: {problem.strerror}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"the file {path} of {where} is not UTF-8") from None


def _with(settings: Settings, entry: SettingEntry, value: Any) -> Settings:
    section = replace(getattr(settings, entry.section), **{entry.name: value})
    return replace(settings, **{entry.section: section})
