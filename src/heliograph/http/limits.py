"""Limits on the octets and the time that a client may take of a server that faces the internet.

There is no timer for each request. Each connection notes what it waits for and since when; once a second the server
closes connections that have waited too long.
"""

MAX_HEAD_OCTETS = 65_536
"""Octets of a request line and its headers that may arrive before the head is complete. Also the limit for trailers and
for chunk headers.
"""

MAX_HEADERS = 200
"""About the most headers that may arrive before the head is complete: each takes many times its octets of memory."""

MAX_TARGET_OCTETS = 8_192
"""Octets of a path with its query."""

SLICE_OCTETS = 4_096
"""Octets that are parsed at once. Requests within a slice may wait for one another; later octets wait for all of them.
"""

BODY_AHEAD_OCTETS = 65_536
"""Octets of a body that are read ahead of the application. Beyond that, reading pauses until the application asks for
more."""

LEAVE_OCTETS = 16 * 1024 * 1024
"""Octets that a client may still send after its last answer; they are discarded."""

FREE_WORK_S = 0.0005
"""Seconds of work on a refused request that are not charged to its client. Nearly all requests take less, refused or
not."""

IDLE_TIMEOUT_S = 75.0
"""Seconds that a connection may be open without a request."""

SPARE_TIMEOUT_S = 5.0
"""Seconds that a connection may be open without a request while the server is full."""

HEAD_TIMEOUT_S = 10.0
"""Seconds from the first octet of a request to the end of its headers."""

BODY_TIMEOUT_S = 60.0
"""Seconds from the end of the headers to the end of the body."""

WRITE_TIMEOUT_S = 60.0
"""Seconds. A client must begin to take an answer that does not fit the socket within this time."""

LEAVE_TIMEOUT_S = 10.0
"""Seconds for which the rest of the client's octets is discarded, so that the client gets to read its last answer."""
