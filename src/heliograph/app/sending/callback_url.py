"""Callback URLs: checks whether a URL may be used, as far as its text shows."""

import re
from collections.abc import Callable
from functools import lru_cache
from urllib.parse import urlsplit

from heliograph.domain.error import invalid
from heliograph.domain.limits.defaults import URL_CHARS

URLS_KEPT = 4096
"""Most origins (or unusual URLs) with a remembered check."""

_URL = re.compile(r"[!-~]+").fullmatch
_NETLOC = re.compile(r"([A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]+\])(?::([0-9]{0,5}))?").fullmatch
_URL_RULE = "give an absolute http or https URL, such as https://example.com/receipts"

_DEFAULT_PORTS = {"http": 80, "https": 443}

_PLAIN_URL = re.compile(
    r"(https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?)"
    r"(?:/[A-Za-z0-9/._~!$&'()*+,;=:-]*)?(?:\?[A-Za-z0-9/._~!$&'()*+,;=:?-]*)?"
).fullmatch
"""Matches a URL in which only the origin, the first group, can be wrong. URLs of a customer differ mostly in the
rest.
"""


ForbiddenHost = Callable[[str], str | None]
ForbiddenPort = Callable[[int], str | None]


def any_port(port: int) -> str | None:  # noqa: ARG001 - the signature of ForbiddenPort
    """Forbids no port."""
    return None


class CallbackUrls:
    """Checks callback URLs, and remembers the latest checks."""

    def __init__(self, is_forbidden_host: ForbiddenHost, is_forbidden_port: ForbiddenPort = any_port) -> None:
        """`is_forbidden_host` returns why callbacks may not go to a host, as far as its text shows, or None.
        `is_forbidden_port` does the same for a port.
        """

        @lru_cache(maxsize=URLS_KEPT)
        def problem_of(url: str) -> str | None:
            problem, host, port = split_url(url)
            if problem is not None:
                return problem
            reason = is_forbidden_host(host)
            if reason is not None:
                return f"The dlr-url must not lead to {host} ({reason}); give a public address."
            reason = is_forbidden_port(port)
            return None if reason is None else f"The dlr-url must not lead there: {reason}."

        self._problem_of = problem_of
        self._is_forbidden_host = is_forbidden_host
        self._is_forbidden_port = is_forbidden_port

    def refusal(self, url: str) -> str | None:
        """Returns, for people, why the gateway would not post to a URL, or None."""
        problem, host, port = split_url(url)
        if problem is not None:
            return "it has no host or port that can be reached"
        reason = self._is_forbidden_host(host)
        if reason is not None:
            return f"it must not lead to {host} ({reason}); the setting callbacks.allowed_networks allows networks"
        reason = self._is_forbidden_port(port)
        return (
            None
            if reason is None
            else f"it must not lead there: {reason}; the setting callbacks.allowed_ports has them"
        )

    def check(self, url: str) -> None:
        """Raises Fault unless receipts may be posted there."""
        if len(url) > URL_CHARS:
            raise invalid("dlr-url", f"The dlr-url is too long: {len(url)} characters, the limit is {URL_CHARS}.")
        plain = _PLAIN_URL(url)
        problem = self._problem_of(url if plain is None else plain[1])
        if problem is not None:
            raise invalid("dlr-url", problem)


def split_url(url: str) -> tuple[str | None, str, int]:
    """Returns the error in a callback URL, or None; its host, without brackets; its port."""
    if _URL(url) is None:
        return f"The dlr-url has characters that a URL cannot have; {_URL_RULE}.", "", 0
    try:
        parts = urlsplit(url)
    except ValueError:
        return f"The dlr-url cannot be read; {_URL_RULE}.", "", 0
    if parts.scheme not in ("http", "https"):
        return f"The dlr-url is not http or https; {_URL_RULE}.", "", 0
    if "@" in parts.netloc:
        return "The dlr-url must not carry a user name or password.", "", 0
    if "#" in url:
        return "The dlr-url must not have a fragment (#).", "", 0
    where = _NETLOC(parts.netloc)
    if where is None or (where[2] and not 0 < int(where[2]) < 65536):
        return f"The dlr-url has no host or port that can be reached; {_URL_RULE}.", "", 0
    port = int(where[2]) if where[2] else _DEFAULT_PORTS[parts.scheme]
    return None, where[1].strip("[]"), port
