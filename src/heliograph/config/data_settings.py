"""Sections of the settings about data that are kept: proved, sealed, and for how long."""

from dataclasses import dataclass

from heliograph.config.declare import setting
from heliograph.domain.message.retention import MOST_DAYS


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """The audit log of what users, tokens and commands changed."""

    key_file: str = setting(
        "",
        "A file with a secret of 32 characters or more, by which heads of the audit log that are exported are signed, "
        "and checked when the log is compared with them. Empty signs none.",
    )


@dataclass(frozen=True, slots=True)
class EncryptionSettings:
    """The master key of an encrypted store; one of these, or none."""

    key_file: str = setting(
        "",
        "A file with the master key: 32 random characters or more, such as `openssl rand -base64 32` writes.",
    )
    key_command: str = setting(
        "",
        "A command that writes the master key to its standard output, such as one that asks a key store. It is run at "
        "each start, without a shell.",
    )
    key: str = setting(
        "",
        "The master key itself. It belongs into the environment, as HELIOGRAPH_ENCRYPTION_KEY, and not into a file "
        "that lies beside the store.",
        secret=True,
    )


@dataclass(frozen=True, slots=True)
class PrivacySettings:
    """For how long customers' data are kept. An account may have its own; docs/privacy.md tells what goes when."""

    retain_text_days: float = setting(
        0.0,
        "Texts of messages are redacted so many days after they were to be sent, or came. 0 keeps them.",
        unit="days",
        least=0,
        most=MOST_DAYS,
    )
    retain_number_days: float = setting(
        0.0,
        "The same for the numbers of phones. What a number opted out of stays suppressed. 0 keeps them.",
        unit="days",
        least=0,
        most=MOST_DAYS,
    )
    retain_days: float = setting(
        0.0,
        "After so many days messages are dropped with all that became of them. The ledger stays. 0 keeps them.",
        unit="days",
        least=0,
        most=MOST_DAYS,
    )
