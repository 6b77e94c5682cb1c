"""Defaults of the settings: limits on customers' requests and on waiting times."""

MAX_BODY_OCTETS = 1 << 20
"""Octets of a request body."""

MAX_DESTINATIONS = 1_000
"""Destinations of a request, repeats not counted."""

MAX_SEGMENTS = 10
"""Segments of a message."""

MAX_SEGMENTS_CEILING = 255
"""Most segments that the setting allows: the number of parts is an octet (3GPP TS 23.040, 9.2.3.24.1)."""

MAX_CHARGE = 10**15
"""Micro-credits of a request: a thousand million credits. Sums of such charges must fit 64 bits."""

MAX_BALANCE = 10**18
"""Micro-credits. Most that a top-up may raise a balance to; sums of balances stay far below 64 bits."""

HORIZON_DAYS = 366
"""Days ahead that a message can be scheduled."""

REFERENCE_CHARS = 64
"""Characters (code points) of a `reference`."""

URL_CHARS = 2_048
"""Characters of a `dlr-url`."""

LIST_LIMIT = 100
"""Messages of a page: the default and the maximum."""

LIST_INTERVAL_S = 10
"""Seconds between two list queries of an account; 0 turns the interval off."""

PULL_LIMIT = 1_000
"""Inbound messages, or suppressions, of a page below /account/v1."""

PULL_DEFAULT = 100
"""The default for requests without a limit."""

PULL_WAIT_S = 30
"""Seconds that a request may wait for the next inbound message."""

RECEIPT_TEXT_CHARS = 20
"""Characters (code points) of the message that its receipt repeats."""

VALIDITY_HOURS = 48
"""Hours of validity: a message must be delivered within this time after it was accepted or due."""

RECEIPT_GRACE_HOURS = 24
"""Hours beyond the validity in which the operator's receipt may still come. After that the state is UNKNOWN."""

CALLBACK_TIMEOUT_S = 10
"""Seconds in which a customer's receiver has to answer a callback."""

CALLBACK_RETRY_HOURS = 24
"""Hours in which a callback is retried, from its first attempt."""

LOGIN_FAILURES = 10
"""Failures of a user from an address within LOGIN_WINDOW_S; further attempts are slowed down."""

LOGIN_FAILURES_AN_ADDRESS = 30
"""Failures of all users from an address within LOGIN_WINDOW_S; further attempts are slowed down."""

LOGIN_WINDOW_S = 60
"""Seconds of the window in which failed sign-ins are counted."""

DRAIN_S = 30
"""Seconds that a graceful stop may take."""

ARGON2_MEMORY_MIB = 19
ARGON2_PASSES = 2
ARGON2_LANES = 1
"""OWASP's recommendation for argon2id on servers: about 15 ms of CPU."""
