"""The limit of open files, and so of connections, that the system sets the process."""

import resource

RESERVED = 512
"""Files for other things than customers' connections: the store, operators, receivers of callbacks."""


def most_connections(wanted: int) -> int:
    """Raises the process's soft limit of open files for `wanted` connections, up to the hard limit. Returns how many
    connections are possible: at most half of the files if files are few.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return wanted
    needed = wanted + RESERVED
    if soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return min(wanted, max(soft - RESERVED, soft // 2))
