"""Limits on the octets and the time that a client may take of a server that faces the internet.

There is no timer for each request. Each connection notes what it waits for and since when; once a second the server
closes connections that have waited too long.
"""

MAX_HEAD_OCTETS = 65_536
"""Octets of a request line and its headers that may arrive before the head is complete. Also the limit for trailers and
for chunk headers.
"""

MAX_HEADERS = 200
"""Headers that may arrive without completing the head, about: each takes many times its octets."""

MAX_TARGET_OCTETS = 8_192
"""Octets of a path with its query."""

SLICE_OCTETS = 4_096
"""Octets that are parsed at once. Requests within a slice may wait for one another; later octets wait for all of them.
"""

BODY_AHEAD_OCTETS = 65_536
"""Octets of a body that may have come before the application asks for them; then nothing is read until it does."""

LEAVE_OCTETS = 16 * 1024 * 1024
"""Octets that a client may still send after its last answer; they are discarded."""

FREE_WORK_S = 0.0005
"""Seconds of work on a refused request that its client is not charged for. Nearly all take less: they are no more of a
burden than good ones."""

IDLE_TIMEOUT_S = 75.0
"""Seconds that a connection may be open without a request."""

SPARE_TIMEOUT_S = 5.0
"""Seconds that a connection may be open without a request when there is no room for another."""

HEAD_TIMEOUT_S = 10.0
"""Seconds from the first octet of a request to the end of its headers."""

BODY_TIMEOUT_S = 60.0
"""Seconds from the end of the headers to the end of the body."""

WRITE_TIMEOUT_S = 60.0
"""Seconds in which a client must begin to take an answer that does not fit the socket."""

LEAVE_TIMEOUT_S = 10.0
"""Seconds for which the rest of the client's octets is discarded, so that the client gets to read its last answer."""
