"""Callback URLs: checks whether one may be used, as far as its text tells."""

import re
from collections.abc import Callable
from functools import lru_cache
from urllib.parse import urlsplit

from heliograph.domain.error import invalid
from heliograph.domain.limits import URL_CHARS

URLS_KEPT = 4096
"""Origins, or odd URLs, whose check is remembered."""

_URL = re.compile(r"[!-~]+").fullmatch
_NETLOC = re.compile(r"([A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]+\])(?::([0-9]{0,5}))?").fullmatch
_URL_RULE = "give an absolute http or https URL, such as https://example.com/receipts"

_PLAIN_URL = re.compile(
    r"(https?://[A-Za-z0-9.-]+(?::[0-9]{1,5})?)"
    r"(?:/[A-Za-z0-9/._~!$&'()*+,;=:-]*)?(?:\?[A-Za-z0-9/._~!$&'()*+,;=:?-]*)?"
).fullmatch
"""Matches a URL of which nothing but its origin, the first group, can be wrong. Those of one customer differ in the
rest."""


class CallbackUrls:
    """Checks callback URLs, and remembers the latest checks."""

    def __init__(self, is_forbidden_host: Callable[[str], str | None]) -> None:
        """`is_forbidden_host` says why callbacks may not go to a host, as far as its text tells; else None."""

        @lru_cache(maxsize=URLS_KEPT)
        def problem_of(url: str) -> str | None:
            problem, host = split_url(url)
            if problem is not None:
                return problem
            reason = is_forbidden_host(host)
            return None if reason is None else f"The dlr-url must not lead to {host} ({reason}); give a public address."

        self._problem_of = problem_of

    def check(self, url: str) -> None:
        """Raises Fault unless receipts may be posted there."""
        if len(url) > URL_CHARS:
            raise invalid("dlr-url", f"The dlr-url is too long: {len(url)} characters, the limit is {URL_CHARS}.")
        plain = _PLAIN_URL(url)
        problem = self._problem_of(url if plain is None else plain[1])
        if problem is not None:
            raise invalid("dlr-url", problem)


def split_url(url: str) -> tuple[str | None, str]:
    """Returns what is wrong with a callback URL, or None; and its host, without brackets."""
    if _URL(url) is None:
        return f"The dlr-url has characters that a URL cannot have; {_URL_RULE}.", ""
    try:
        parts = urlsplit(url)
    except ValueError:
        return f"The dlr-url cannot be read; {_URL_RULE}.", ""
    if parts.scheme not in ("http", "https"):
        return f"The dlr-url is not http or https; {_URL_RULE}.", ""
    if "@" in parts.netloc:
        return "The dlr-url must not carry a user name or password.", ""
    if "#" in url:
        return "The dlr-url must not have a fragment (#).", ""
    where = _NETLOC(parts.netloc)
    if where is None or (where[2] and not 0 < int(where[2]) < 65536):
        return f"The dlr-url has no host or port that can be reached; {_URL_RULE}.", ""
    return None, where[1].strip("[]")
