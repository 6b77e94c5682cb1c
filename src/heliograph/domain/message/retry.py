"""The schedule by which failed callbacks are tried again."""

FIRST_PAUSE_MS = 5_000
LONGEST_PAUSE_MS = 3_600_000
JITTER_PERCENT = 20

# The pause without jitter stays so far below the limit that the largest jitter just reaches it. So the pauses of many
# callbacks stay spread out at the limit.
_LONGEST_BASE_MS = LONGEST_PAUSE_MS * 100 // (100 + JITTER_PERCENT)


def next_pause(attempt: int, jitter: float) -> int:
    """Milliseconds to wait after the given failed attempt (the first is 1).

    About 5 s after the first, then about double each time, never above an hour. `jitter`, from 0 up to but
    not including 1, moves the pause within 20 % to either side.
    """
    if attempt < 1:
        raise ValueError(f"attempts are counted from 1, not {attempt}")
    base = min(FIRST_PAUSE_MS << min(attempt - 1, 20), _LONGEST_BASE_MS)
    spread = base * JITTER_PERCENT // 100
    return base - spread + int(2 * spread * jitter)
