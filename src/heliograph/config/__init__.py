"""The settings: a typed file, `heliograph.toml`, and `HELIOGRAPH_*` variables, which take precedence."""

from heliograph.config.check import ROLES, parse_address
from heliograph.config.entry import PREFIX, SettingEntry, SettingsError, entries, sections
from heliograph.config.settings import DEFAULT_DATA, MetricsSettings, Settings, StoreSettings
from heliograph.config.sources import FILE_NAME, OTHER_VARIABLES, changed, load

__all__ = [
    "DEFAULT_DATA",
    "FILE_NAME",
    "OTHER_VARIABLES",
    "PREFIX",
    "ROLES",
    "MetricsSettings",
    "SettingEntry",
    "Settings",
    "SettingsError",
    "StoreSettings",
    "changed",
    "entries",
    "load",
    "parse_address",
    "sections",
]
