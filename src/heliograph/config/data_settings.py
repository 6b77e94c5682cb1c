"""Sections of the settings about data that are kept: proved."""

from dataclasses import dataclass

from heliograph.config.declare import setting


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """The audit log of what users, tokens and commands changed."""

    key_file: str = setting(
        "",
        "A file with a secret of 32 characters or more, by which heads of the audit log that are exported are signed, "
        "and checked when the log is compared with them. Empty signs none.",
    )
