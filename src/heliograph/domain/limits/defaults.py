"""The limits on what customers send and on how long the gateway waits: the defaults of the settings."""

MAX_BODY_OCTETS = 1 << 20
"""Octets of a request body."""

MAX_DESTINATIONS = 1_000
"""Destinations of one request, repeats not counted."""

MAX_SEGMENTS = 10
"""Segments of one message."""

MAX_SEGMENTS_CEILING = 255
"""Segments that the setting can allow: the number of parts is one octet (3GPP TS 23.040, 9.2.3.24.1)."""

MAX_CHARGE = 10**15
"""Micro-credits of one request: a thousand million credits. Whatever is added up of such must fit 64 bits."""

MAX_BALANCE = 10**18
"""Micro-credits that top-ups raise a balance to, at most: far from what 64 bits hold, with all sums of it."""

HORIZON_DAYS = 366
"""Days ahead that a message can be scheduled."""

REFERENCE_CHARS = 64
"""Characters (code points) of a `reference`."""

URL_CHARS = 2_048
"""Characters of a `dlr-url`."""

LIST_LIMIT = 100
"""Messages of one page; both the default and the most."""

LIST_INTERVAL_S = 10
"""Seconds between two list queries of one account; 0 turns the interval off."""

PULL_LIMIT = 1_000
"""Inbound messages, or suppressions, of one page below /account/v1."""

PULL_DEFAULT = 100
"""The same where no limit is asked for."""

PULL_WAIT_S = 30
"""Seconds that a request may wait for the next inbound message."""

RECEIPT_TEXT_CHARS = 20
"""Characters (code points) of the message that its receipt repeats."""

VALIDITY_HOURS = 48
"""Hours in which a message is to be delivered, from when it was accepted or due."""

RECEIPT_GRACE_HOURS = 24
"""Hours beyond the validity in which the operator's receipt may still come; then the state is UNKNOWN."""

CALLBACK_TIMEOUT_S = 10
"""Seconds in which a customer's receiver has to answer a callback."""

CALLBACK_RETRY_HOURS = 24
"""Hours in which a callback is retried, from its first attempt."""

LOGIN_FAILURES = 10
"""Failures of one user from one address within LOGIN_WINDOW_S from which further ones are slowed down."""

LOGIN_FAILURES_AN_ADDRESS = 30
"""Failures of all users from one address within LOGIN_WINDOW_S from which further ones are slowed down."""

LOGIN_WINDOW_S = 60
"""Seconds in which failures to log in are counted together."""

DRAIN_S = 30
"""Seconds that a graceful stop may take."""

ARGON2_MEMORY_MIB = 19
ARGON2_PASSES = 2
ARGON2_LANES = 1
"""OWASP's recommendation for argon2id on servers: about 15 ms of CPU."""
