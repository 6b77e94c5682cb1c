"""Listeners and their peers, whatever protocol they speak: sockets, TLS, shares by address, proxies, and the guard of
addresses that the gateway calls."""
