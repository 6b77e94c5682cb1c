"""Time, randomness, secrets and the log of the machine that the gateway runs on."""

from heliograph.adapters.system.clock import RandomIds, SystemClock
from heliograph.adapters.system.journal import LogJournal, configure_logging
from heliograph.adapters.system.secrets import Argon2Secrets

__all__ = ["Argon2Secrets", "LogJournal", "RandomIds", "SystemClock", "configure_logging"]
