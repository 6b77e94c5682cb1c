"""Ways: how a notice reaches the account that it is owed to."""

from enum import IntEnum


class Way(IntEnum):
    """A way by which an account is told of a message's states, or of a message from a phone."""

    NONE = 0
    """The account is not told; it can look."""
    WEBHOOK = 1
    """An HTTP request to a URL of the customer. Such a notice is called a callback."""
    BIND = 2
    """A deliver_sm over an SMPP bind of the customer."""
