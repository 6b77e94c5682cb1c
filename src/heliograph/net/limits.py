"""Limits on the work and the time that a client may take of a listener, whatever protocol it speaks."""

WORK_OF_OCTET_S = 6e-9
"""Seconds of work that each octet of a refused request counts as, for having been read and looked at."""

WORK_OF_UNFINISHED_S = 0.001
"""Seconds of work that a slow request counts as, when it was closed to make room."""

WORK_OF_HANDSHAKE_S = 0.002
"""Seconds of work that a TLS handshake counts as of which no connection came."""

HANDSHAKE_TIMEOUT_S = 10.0
"""Seconds that a TLS handshake may take."""

GOODBYE_TIMEOUT_S = 2.0
"""Seconds that a client has for its part of the end of TLS."""

BURST_S = 1.0
"""Seconds of a client's share of requests and octets that it may use up at once."""

WORK_BURST_S = 0.5
"""The same of its share of work on refused requests."""

MOST_WAIT_S = 10.0
"""Seconds that a client has to wait at most, however much it had."""

UNFINISHED_SPARE_S = 1.0
"""Seconds that a request may be unfinished when its connection has to make room."""
