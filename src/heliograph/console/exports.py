"""Files that are written while they are sent: no more than so many at once, since each of them reads the store."""

RETRY_AFTER_S = 10


class TooManyExports(Exception):
    """No more files are written at once than the setting allows."""


class Exports:
    """Counts the files that are being written."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.running = 0

    def take(self) -> None:
        """Counts one more. Raises TooManyExports; then nothing was counted."""
        if self.running >= self.most:
            raise TooManyExports
        self.running += 1

    def release(self) -> None:
        """Counts one less, when its file was sent, or was not."""
        self.running -= 1
