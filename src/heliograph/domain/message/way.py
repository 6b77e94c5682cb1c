"""Ways: how a notice reaches the account that it is owed to."""

from enum import IntEnum


class Way(IntEnum):
    """A way in which an account gets a message's states, or inbound messages."""

    NONE = 0
    """The account gets no notice; it can query."""
    WEBHOOK = 1
    """An HTTP request to a URL of the customer. Such a notice is called a callback."""
    BIND = 2
    """A deliver_sm over an SMPP bind of the customer."""
