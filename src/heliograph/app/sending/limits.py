"""Rates of accounts: the counters for the gate, in each process separately."""


class RateLimits:
    """Counts messages, or requests, against the rates of accounts. Times are seconds of a monotonic clock.

    A burst may be a second's worth, or `burst`. A larger request is accepted too, and delays the next requests until
    its messages would have been sent one by one.
    """

    def __init__(self) -> None:
        self._left: dict[int, _Left] = {}

    def take(self, account: int, rate: float, messages: int, now: float, burst: int = 0) -> float:
        """Counts the messages and returns 0 if they may go now. Otherwise counts nothing, and returns the seconds until
        they may, for example 0.25."""
        left = self._left.get(account)
        if left is None:
            left = self._left[account] = _Left(rate, burst, now)
        elif rate != left.rate or burst != left.burst:
            left.change(rate, burst, now)
        return left.take(messages, now)

    def give_back(self, account: int, messages: int) -> None:
        """Counts no longer what was taken, because it is taken once more."""
        left = self._left.get(account)
        if left is not None:
            left.give_back(messages)


class _Left:
    """Messages that the account may send now; negative after a request larger than the burst."""

    __slots__ = ("_at", "_most", "_number", "burst", "rate")

    def __init__(self, rate: float, burst: int, now: float) -> None:
        self.rate = rate
        self.burst = burst
        self._most = max(1.0, burst or rate)
        self._number = self._most
        self._at = now

    def take(self, messages: int, now: float) -> float:
        number = self._number
        most = self._most
        if now > self._at:
            number += (now - self._at) * self.rate
            if number > most:
                number = most
        if number < messages and number < most:
            wanted = min(messages, most)
            return (wanted - number) / self.rate
        self._number = number - messages
        if now > self._at:
            self._at = now
        return 0.0

    def give_back(self, messages: int) -> None:
        self._number = min(self._number + messages, self._most)

    def change(self, rate: float, burst: int, now: float) -> None:
        """Changes the rate. Messages already sent count under the new rate, too."""
        if now > self._at:
            self._number += (now - self._at) * self.rate
            self._at = now
        self.rate, self.burst = rate, burst
        self._most = max(1.0, burst or rate)
        self._number = min(self._number, self._most)
