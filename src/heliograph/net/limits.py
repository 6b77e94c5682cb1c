"""Limits on the work and the time that a client may cost a listener, for any protocol.

Work on refused requests is measured in seconds of the event loop. A client that has used up its share waits.
"""

WORK_OF_OCTET_S = 6e-9
"""Seconds of work that each octet of a refused request counts as, for reading and searching it: 6 ms for 1 MiB."""

WORK_OF_UNFINISHED_S = 0.001
"""Seconds of work that a slow request counts as when it is closed to make room. So a client that keeps opening such
requests runs into its share.
"""

WORK_OF_HANDSHAKE_S = 0.002
"""Seconds of work that a failed TLS handshake counts as: its cryptography takes a millisecond or two."""

HANDSHAKE_TIMEOUT_S = 10.0
"""Seconds that a TLS handshake may take; then its connection is closed."""

GOODBYE_TIMEOUT_S = 2.0
"""Seconds that a client has for its part of the end of TLS. After that the connection is cut."""

BURST_S = 1.0
"""Seconds. Burst: a client may use its share of requests and octets of this much time at once."""

WORK_BURST_S = 0.5
"""Seconds. Burst of refused requests: a client may use its share of this work of this much time at once. Shorter than
`BURST_S`, because this work delays others."""

MOST_WAIT_S = 10.0
"""Seconds that a client waits, at most, however much it overdrew its share. A proxy without trust, whose clients count
as one, is then served again soon.
"""

UNFINISHED_SPARE_S = 1.0
"""Seconds for which a request may be unfinished before its connection is closed to make room. A request in a single
packet usually arrives sooner, even on a slow link.
"""
