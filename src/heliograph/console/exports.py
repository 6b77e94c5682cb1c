"""The limit of files that are written at a time. Each of them reads the store while it is sent."""

RETRY_AFTER_S = 10


class TooManyExports(Exception):
    """As many files are being written as the setting `console.exports` allows."""


class Exports:
    """Counts the files that are being written."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.running = 0

    def take(self) -> None:
        """Counts a file that begins. Raises TooManyExports without counting it."""
        if self.running >= self.most:
            raise TooManyExports
        self.running += 1

    def release(self) -> None:
        """Counts a file that ended, sent completely or not."""
        self.running -= 1
