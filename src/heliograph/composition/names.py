"""Names in the store of this machine, for completion in a shell; see `adapters/store/names.py`."""

from heliograph.adapters.store.names import names_in_database, names_in_file
from heliograph.config import Settings

STORE_FILE = "heliograph.db"


def stored_names(settings: Settings, kind: str, begin: str, seconds: float) -> list[tuple[str, str]]:
    """Returns names of a kind that begin with `begin`, with hints, within `seconds`. Raises the errors of the store."""
    if settings.store.url:
        return names_in_database(settings.store.url, kind, begin, seconds)
    return names_in_file(settings.data / STORE_FILE, kind, begin, seconds)
