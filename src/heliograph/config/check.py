"""Checks of single settings. Each returns the problem, in words that follow "is wrong: ", or None."""

import ipaddress
import re

from heliograph.app import text_values
from heliograph.net.address_guard import PortSet

ROLES = ("api", "dispatch", "notify", "upkeep")


def parse_address(text: str) -> tuple[str, int]:
    """Returns host and port of `HOST:PORT` or `[IPV6]:PORT`. Raises ValueError with a sentence for people."""
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ValueError(f"an IPv6 address needs brackets: [{host}]:{port}")
    if not colon or not host:
        raise ValueError(f"{text!r} is not HOST:PORT, such as 127.0.0.1:8080")
    if not (port.isascii() and port.isdigit() and int(port) <= 65535):
        raise ValueError(f"the port {port!r} is not a number from 0 to 65535")
    return host, int(port)


def address_problem(text: str) -> str | None:
    try:
        parse_address(text)
    except ValueError as error:
        return str(error)
    return None


def optional_address_problem(text: str) -> str | None:
    return address_problem(text) if text else None


def networks_problem(networks: tuple[str, ...]) -> str | None:
    for network in networks:
        try:
            ipaddress.ip_network(network)
        except ValueError:
            return f"{network!r} is not a network; write it as 10.20.0.0/16 or fd00::/8, without host bits"
    return None


def ports_problem(ports: tuple[str, ...]) -> str | None:
    try:
        PortSet(ports)
    except ValueError as error:
        return str(error)
    return None


def hosts_problem(hosts: tuple[str, ...]) -> str | None:
    for host in hosts:
        numeric = not host.strip("0123456789./:")
        try:
            ipaddress.ip_network(host) if numeric or ":" in host else text_values.host(host)
        except ValueError:
            return f"{host!r} is no name, address or network; write smsc.example.net, 192.0.2.9 or 10.20.0.0/16"
    return None


def names_problem(names: tuple[str, ...]) -> str | None:
    for name in names:
        try:
            text_values.host(name)
        except ValueError:
            return f"{name!r} is no name; write sms.example.com, without a port"
    return None


def endpoint_problem(text: str) -> str | None:
    if text and not re.match(r"https?://[^/]", text):
        return "an endpoint begins with http:// or https://"
    return None


def alerts_problem(urls: tuple[str, ...]) -> str | None:
    for number, url in enumerate(urls, 1):
        if not re.match(r"[A-Za-z0-9]+://", url):
            # The message leaves the value out: it may contain a password.
            return f"number {number} is no URL of Apprise, such as mailtos://... or slack://..."
    return None


def header_problem(text: str) -> str | None:
    return None if text.isascii() and (not text or text.isprintable()) else "a header has visible ASCII characters"


def lookup_problem(url: str) -> str | None:
    if not url:
        return None
    if not re.match(r"https?://[^/{]", url):
        return "a URL begins with http:// or https://"
    host = url.partition("://")[2].partition("/")[0].partition("?")[0]
    if url.count("{number}") != 1 or "{" in host or "@" in host:
        return "the URL has no single {number} in its path or query, such as http://127.0.0.1:8080/networks/{number}"
    return None


def database_problem(url: str) -> str | None:
    if url and not url.startswith(("postgresql://", "postgres://")):
        # The message leaves the value out: it may contain a password.
        return "it does not begin with postgresql://"
    return None


def roles_problem(roles: tuple[str, ...]) -> str | None:
    if not roles:
        return "none is named"
    wrong = next((role for role in roles if role not in ROLES), None)
    return f"{wrong!r} is none of {', '.join(ROLES)}" if wrong is not None else None
