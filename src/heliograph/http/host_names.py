"""Names that requests ask for: the host in the address, as the client wrote it.

A page of anybody can have its own name resolved to this machine, and so reach what its visitor reaches (DNS rebinding).
The browser takes it for one more page of that name: it sends no cookie of ours, and the name stands in the header Host.
"""

from ipaddress import ip_address

from heliograph.http.asgi import Scope


def asked_host(scope: Scope) -> str:
    """Returns the host that a request asks for, in lower case and without its port or a dot at the end; empty where it
    names none."""
    text = next((value for name, value in scope["headers"] if name == b"host"), b"").decode("latin-1")
    bare = text.rpartition("]")[0].removeprefix("[") if text.startswith("[") else text.partition(":")[0]
    return bare.lower().removesuffix(".")


def is_own_name(host: str) -> bool:
    """Whether the host is an address, or a name that a machine has for itself: no page of another name asks for it."""
    if not host or host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
