"""Sections of the settings about data that are kept: proved, sealed, and for how long."""

from dataclasses import dataclass

from heliograph.config.declare import setting
from heliograph.domain.message.retention import MOST_DAYS


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """The audit log of changes by users, tokens and commands."""

    key_file: str = setting(
        "",
        "File with a secret of 32 characters or more. Exported heads of the audit log are signed with it, and the "
        "signature is checked when the log is compared with them. Empty: no signatures.",
    )


@dataclass(frozen=True, slots=True)
class EncryptionSettings:
    """The master key of an encrypted store. Set at most one of these."""

    key_file: str = setting(
        "",
        "File with the master key: 32 random characters or more, such as the output of `openssl rand -base64 32`.",
    )
    key_command: str = setting(
        "",
        "Command that writes the master key to its standard output, such as a client of a key store. It runs at "
        "each start, without a shell.",
    )
    key: str = setting(
        "",
        "The master key itself. Set it in the environment, as HELIOGRAPH_ENCRYPTION_KEY. Do not put it into a "
        "file beside the store.",
        secret=True,
    )


@dataclass(frozen=True, slots=True)
class PrivacySettings:
    """How long customers' data are kept. An account may have its own limits; see docs/privacy.md."""

    retain_text_days: float = setting(
        0.0,
        "Days after which the text of a message is redacted, counted from its sending time or its arrival. 0 "
        "keeps texts.",
        unit="days",
        least=0,
        most=MOST_DAYS,
    )
    retain_number_days: float = setting(
        0.0,
        "Days after which the phone number of a message is redacted. Opted-out numbers stay suppressed. 0 keeps "
        "numbers.",
        unit="days",
        least=0,
        most=MOST_DAYS,
    )
    retain_days: float = setting(
        0.0,
        "Days after which a message is deleted with its receipts and callbacks. The ledger stays. 0 keeps messages.",
        unit="days",
        least=0,
        most=MOST_DAYS,
    )
