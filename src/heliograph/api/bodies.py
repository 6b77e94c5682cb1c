"""Long bodies on their way: how much of them each account may leave in memory before they are whole."""

from heliograph.domain.error import TOO_EARLY, Fault

ACCOUNT_OCTETS = 16 * 1024 * 1024
"""Octets of one account's bodies that come in pieces, over all its connections. There may be thousands of these, and
each has a minute for a body."""

PAUSE_S = 1
"""Seconds after which a client is told to come back."""


class Bodies:
    """Octets of bodies that are not whole yet, by account."""

    def __init__(self) -> None:
        self._octets: dict[int, int] = {}

    def add(self, account: int, octets: int) -> None:
        """Counts octets that were received. Raises Fault above ACCOUNT_OCTETS; then nothing was counted."""
        total = self._octets.get(account, 0) + octets
        if total > ACCOUNT_OCTETS:
            problem = "Too many long requests of this account are on their way; send this one again a little later."
            raise Fault(TOO_EARLY, problem, None, PAUSE_S)
        self._octets[account] = total

    def release(self, account: int, octets: int) -> None:
        """Takes off the octets of a body that is complete or was given up."""
        left = self._octets.get(account, 0) - octets
        if left > 0:
            self._octets[account] = left
        else:
            self._octets.pop(account, None)
